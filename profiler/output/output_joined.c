/* SPDX-License-Identifier: MIT */
#include "profiler/output/output_joined.h"

#include <errno.h>
#include <stdio.h>

#include "profiler/output/output_cells.h"

static double us(uint64_t ns)
{
    return (double)ns / 1e3;
}

static uint64_t exposed_ns(const struct ntk_joined_rank *rank)
{
    return rank->part_ns[NTK_JOINED_WAIT] + rank->part_ns[NTK_JOINED_LINK];
}

/* ---- text ---- */

static void notes_text(const struct ntk_joined *joined, struct ntk_buf *text)
{
    if (joined->absent_count > 0) {
        ntk_buf_add_format(text, "%llu workers have no trace here, the first is %u\n",
                           (unsigned long long)joined->absent_count, joined->absent_first);
    }
    if (joined->twice_count > 0) {
        ntk_buf_add_format(text,
                           "%llu workers have several traces, as after a restart, and are left "
                           "out; the first is %u\n",
                           (unsigned long long)joined->twice_count, joined->twice_first);
    }
}

static void ranks_text(const struct ntk_joined *joined, struct ntk_buf *text)
{
    static const char *const heads[] = { "WORKER", "SPAN US", "RUN",       "HOST", "WAIT",
                                         "LINK",   "INSIDE",  "WAITED US", "LAST", "ON PATH" };
    struct ntk_text_table table;

    ntk_text_table_init(&table, sizeof heads / sizeof *heads, 0, heads);
    for (size_t r = 0; r < joined->rank_count; r++) {
        const struct ntk_joined_rank *rank = &joined->ranks[r];
        uint64_t path_ns = 0;

        ntk_cell_u64(&table, rank->worker);
        ntk_text_table_format(&table, "%.1f", us(rank->span_ns));
        for (unsigned p = 0; p < NTK_JOINED_PART_COUNT; p++) {
            ntk_cell_share(&table, (double)rank->part_ns[p], (double)rank->span_ns);
            path_ns += rank->path_ns[p];
        }
        ntk_text_table_format(&table, "%.1f", us(rank->waited_ns));
        ntk_cell_share(&table, (double)rank->last_count, (double)(joined->joint_count - 1));
        ntk_cell_share(&table, (double)path_ns, (double)joined->total_ns);
    }
    ntk_text_table_put(&table, text);
    ntk_text_table_fini(&table);
}

static void clocks_text(const struct ntk_joined *joined, struct ntk_buf *text)
{
    for (size_t r = 0; r < joined->rank_count; r++) {
        const struct ntk_joined_rank *rank = &joined->ranks[r];

        if (rank->has_other_clock) {
            ntk_buf_add_format(text,
                               "worker %u: its clock is %.1f us ahead of worker %u's, by the ends "
                               "of collectives, half of which lie within %.1f us; taken off\n",
                               rank->worker, (double)rank->offset_ns / 1e3, joined->ranks[0].worker,
                               us(rank->offset_apart_ns));
        }
    }
}

static void pieces_text(const struct ntk_joined *joined, struct ntk_buf *text)
{
    static const char *const heads[] = { "COLLECTIVES", "MEAN SKEW US", "LATEST", "LATE US" };
    struct ntk_text_table table;
    char which[48];

    ntk_text_table_init(&table, sizeof heads / sizeof *heads, 1, heads);
    for (size_t p = 0; p < joined->piece_count; p++) {
        const struct ntk_joined_piece *piece = &joined->pieces[p];

        (void)snprintf(which, sizeof which, "%llu to %llu", (unsigned long long)piece->first_joint,
                       (unsigned long long)(piece->first_joint + piece->joint_count - 1));
        ntk_text_table_text(&table, which);
        ntk_text_table_format(&table, "%.1f", us(piece->skew_ns) / (double)piece->joint_count);
        if (piece->late_ns > 0) {
            ntk_cell_u64(&table, piece->worker);
        } else {
            ntk_text_table_text(&table, "-");
        }
        ntk_text_table_format(&table, "%.1f", us(piece->late_ns));
    }
    ntk_text_table_put(&table, text);
    ntk_text_table_fini(&table);
}

static void joined_text(const struct ntk_joined *joined, bool has_changes, struct ntk_buf *text)
{
    uint64_t path_ns[NTK_JOINED_PART_COUNT] = { 0 };

    notes_text(joined, text);
    if (joined->unknown) {
        ntk_buf_add_format(text, "Unknown: %s\n", joined->unknown);
        return;
    }
    for (size_t r = 0; r < joined->rank_count; r++) {
        for (unsigned p = 0; p < NTK_JOINED_PART_COUNT; p++) {
            path_ns[p] += joined->ranks[r].path_ns[p];
        }
    }
    ntk_buf_add_format(text, "%zu workers joined at %llu collectives", joined->rank_count,
                       (unsigned long long)joined->joint_count);
    if (joined->most_count > joined->joint_count) {
        ntk_buf_add_format(text, " (of up to %llu: the %s ones that all have)",
                           (unsigned long long)joined->most_count,
                           joined->is_from_end ? "last" : "first");
    }
    ntk_buf_add_format(text,
                       "; critical path %.1f us: run %.1f, host %.1f, link %.1f\n"
                       "Exposed communication is wait + link; of inside, only a capture tells what "
                       "engines did\n",
                       us(joined->total_ns), us(path_ns[NTK_JOINED_RUN]),
                       us(path_ns[NTK_JOINED_HOST]), us(path_ns[NTK_JOINED_LINK]));
    clocks_text(joined, text);
    ranks_text(joined, text);
    ntk_buf_add_char(text, '\n');
    pieces_text(joined, text);
    if (has_changes) {
        ntk_buf_add_format(text, "\nEstimate with these changes: %.1f us in place of %.1f us\n",
                           us(joined->estimate_ns), us(joined->model_ns));
    }
}

/* ---- JSON ---- */

static void parts_json(const uint64_t *parts, const char *key, struct ntk_json *json)
{
    ntk_json_key_object_begin(json, key);
    for (unsigned p = 0; p < NTK_JOINED_PART_COUNT; p++) {
        ntk_json_key_u64(json, ntk_joined_part_name(p), parts[p]);
    }
    ntk_json_object_end(json);
}

static void ranks_json(const struct ntk_joined *joined, struct ntk_json *json)
{
    ntk_json_key_array_begin(json, "workers");
    for (size_t r = 0; r < joined->rank_count; r++) {
        const struct ntk_joined_rank *rank = &joined->ranks[r];

        ntk_json_object_begin(json);
        ntk_json_key_u64(json, "worker_gid", rank->worker);
        ntk_json_key_u64(json, "span_ns", rank->span_ns);
        parts_json(rank->part_ns, "parts_ns", json);
        ntk_json_key_u64(json, "exposed_ns", exposed_ns(rank));
        ntk_json_key_u64(json, "waited_ns", rank->waited_ns);
        ntk_json_key_u64(json, "last_count", rank->last_count);
        parts_json(rank->path_ns, "path_ns", json);
        if (rank->has_other_clock) {
            ntk_json_key_i64(json, "clock_ahead_ns", rank->offset_ns);
            ntk_json_key_u64(json, "clock_apart_ns", rank->offset_apart_ns);
        }
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    ntk_json_key_array_begin(json, "over_time");
    for (size_t p = 0; p < joined->piece_count; p++) {
        const struct ntk_joined_piece *piece = &joined->pieces[p];

        ntk_json_object_begin(json);
        ntk_json_key_u64(json, "first_collective", piece->first_joint);
        ntk_json_key_u64(json, "collective_count", piece->joint_count);
        ntk_json_key_u64(json, "skew_ns", piece->skew_ns);
        ntk_json_key(json, "latest_worker_gid");
        if (piece->late_ns > 0) {
            ntk_json_u64(json, piece->worker);
        } else {
            ntk_json_null(json);
        }
        ntk_json_key_u64(json, "late_ns", piece->late_ns);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
}

static void joined_json(const struct ntk_joined *joined, bool has_changes, struct ntk_json *json)
{
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "unknown", joined->unknown);
    ntk_json_key_u64(json, "absent_count", joined->absent_count);
    ntk_json_key_u64(json, "restarted_count", joined->twice_count);
    if (!joined->unknown) {
        ntk_json_key_u64(json, "collective_count", joined->joint_count);
        ntk_json_key_bool(json, "from_end", joined->is_from_end);
        ntk_json_key_u64(json, "total_ns", joined->total_ns);
        ranks_json(joined, json);
        if (has_changes) {
            ntk_json_key_u64(json, "estimate_ns", joined->estimate_ns);
            ntk_json_key_u64(json, "unchanged_ns", joined->model_ns);
        }
    }
    ntk_json_object_end(json);
}

int ntk_output_joined(const struct ntk_system_trace *const *traces, size_t trace_count,
                      const struct ntk_joined_options *options, struct ntk_buf *text,
                      struct ntk_json *json)
{
    bool has_changes = options && options->change_count > 0;
    struct ntk_joined joined;
    int ret = ntk_analysis_joined(traces, trace_count, options, &joined);

    if (ret < 0) {
        return ret;
    }
    if (joined.rank_count + joined.twice_count < 2) {
        ret = -ENODATA;
    } else if (json) {
        joined_json(&joined, has_changes, json);
    } else {
        joined_text(&joined, has_changes, text);
    }
    ntk_joined_fini(&joined);
    return ret;
}
