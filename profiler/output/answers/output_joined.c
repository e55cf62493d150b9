/* SPDX-License-Identifier: MIT */
#include "profiler/output/answers/output_joined.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profiler/output/answers/output_cells.h"

#define LINK_SHARE_REPORTED 0.1 /* share of the critical path above which link is doubtful */

static double us(uint64_t ns)
{
    return (double)ns / 1e3;
}

static uint64_t exposed_ns(const struct ntk_joined_rank *rank)
{
    return rank->part_ns[NTK_JOINED_WAIT] + rank->part_ns[NTK_JOINED_LINK];
}

/* Overlap: time in collectives while a core executes, relative to all time in collectives. */
struct overlap {
    uint64_t all_ns, run_ns;
};

static struct overlap overlap_of(const struct ntk_joined *joined)
{
    struct overlap overlap = { 0 };

    for (size_t r = 0; r < joined->rank_count; r++) {
        const uint64_t *parts = joined->ranks[r].part_ns;

        overlap.run_ns += parts[NTK_JOINED_INSIDE];
        overlap.all_ns += exposed_ns(&joined->ranks[r]) + parts[NTK_JOINED_INSIDE];
    }
    return overlap;
}

/* ---- text ---- */

static void notes_text(const struct ntk_joined *joined, struct ntk_buf *text)
{
    if (joined->absent_count > 0) {
        ntk_buf_add_format(text, "%llu %s have no trace in this folder; the first is %u\n",
                           (unsigned long long)joined->absent_count,
                           joined->has_world ? "ranks of the world" : "workers",
                           joined->absent_first);
    }
    if (joined->twice_count > 0) {
        ntk_buf_add_format(text,
                           "%llu workers with several traces covering the same time are omitted; "
                           "the first is %u\n",
                           (unsigned long long)joined->twice_count, joined->twice_first);
    }
    for (size_t r = 0; r < joined->rank_count; r++) {
        if (joined->ranks[r].restart_count > 0) {
            ntk_buf_add_format(text, "restarts of worker %u: %u\n", joined->ranks[r].number,
                               joined->ranks[r].restart_count);
        }
    }
    if (joined->partial_count > 0 && joined->is_numbered) {
        ntk_buf_add_format(
            text,
            "%llu collectives are missing from the traces of some of their ranks: the "
            "time in them and around the missing ones is unknown\n",
            (unsigned long long)joined->partial_count);
    }
    if (joined->doubted_count > 0 && joined->is_numbered) {
        ntk_buf_add_format(text,
                           "%llu collectives differ too much in time or kind to be matched: the "
                           "time in them is unknown\n",
                           (unsigned long long)joined->doubted_count);
    }
}

/* Returns true if the traces leave time unexplained, because a column of zeros is useless. */
static bool has_unknown(const struct ntk_joined *joined)
{
    for (size_t r = 0; r < joined->rank_count; r++) {
        if (joined->ranks[r].part_ns[NTK_JOINED_UNKNOWN] > 0) {
            return true;
        }
    }
    return false;
}

static void ranks_text(const struct ntk_joined *joined, struct ntk_buf *text)
{
    static const char *const heads[] = { "WORKER", "SPAN US", "RUN",       "HOST", "WAIT",   "LINK",
                                         "INSIDE", "UNKNOWN", "WAITED US", "LAST", "ON PATH" };
    const char *shown[sizeof heads / sizeof *heads];
    bool is_open = has_unknown(joined);
    unsigned part_count = is_open ? NTK_JOINED_PART_COUNT : NTK_JOINED_UNKNOWN;
    struct ntk_text_table table;
    size_t count = 0;

    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        if (is_open || strcmp(heads[i], "UNKNOWN") != 0) {
            shown[count++] = heads[i];
        }
    }
    ntk_text_table_init(&table, count, 0, shown);
    for (size_t r = 0; r < joined->rank_count; r++) {
        const struct ntk_joined_rank *rank = &joined->ranks[r];
        uint64_t path_ns = 0;

        ntk_cell_u64(&table, rank->number);
        ntk_text_table_format(&table, "%.1f", us(rank->span_ns));
        for (unsigned p = 0; p < part_count; p++) {
            ntk_cell_share(&table, (double)rank->part_ns[p], (double)rank->span_ns);
        }
        for (unsigned p = 0; p < NTK_JOINED_PART_COUNT; p++) {
            path_ns += rank->path_ns[p];
        }
        ntk_text_table_format(&table, "%.1f", us(rank->waited_ns));
        ntk_cell_share(&table, (double)rank->last_count, (double)(joined->joint_count - 1));
        ntk_cell_share(&table, (double)path_ns, (double)joined->total_ns);
    }
    ntk_text_table_put(&table, text);
    ntk_text_table_fini(&table);
}

/* Writes the activity of the last ranks to arrive, as shares of all waiting. */
static void causes_text(const struct ntk_joined *joined, struct ntk_buf *text)
{
    uint64_t cause_ns[NTK_JOINED_CAUSE_COUNT] = { 0 };
    uint64_t waited_ns = 0;
    bool is_first = true;

    for (size_t r = 0; r < joined->rank_count; r++) {
        for (unsigned c = 0; c < NTK_JOINED_CAUSE_COUNT; c++) {
            cause_ns[c] += joined->ranks[r].cause_ns[c];
        }
        waited_ns += joined->ranks[r].waited_ns;
    }
    if (waited_ns == 0) {
        return;
    }
    ntk_buf_add_format(text, "Of the %.1f us that ranks waited for the last one, that rank",
                       us(waited_ns));
    for (unsigned c = 0; c < NTK_JOINED_CAUSE_COUNT; c++) {
        static const char *const did[] = { "executed for", "was on the host for",
                                           "was in another collective for",
                                           "was in an unknown state for" };

        if (cause_ns[c] > 0) {
            ntk_buf_add_format(text, "%s %s %.1f%%", is_first ? "" : ",", did[c],
                               100.0 * (double)cause_ns[c] / (double)waited_ns);
            is_first = false;
        }
    }
    ntk_buf_add_char(text, '\n');
}

static void hosts_text(const struct ntk_joined *joined, struct ntk_buf *text)
{
    size_t first = joined->ranks[0].host;

    for (size_t h = 0; h < joined->host_count; h++) {
        const struct ntk_joined_host *host = &joined->hosts[h];

        if (h == first || host->rank_count == 0) {
            continue;
        }
        ntk_buf_add_format(text, "%s, %zu workers: ", host->name, host->rank_count);
        if (host->has_offset) {
            ntk_buf_add_format(text,
                               "its clock is %.1f us ahead of that of %s, according to the ends of "
                               "collectives (half are within %.1f us); corrected\n",
                               (double)host->offset_ns / 1e3, joined->hosts[first].name,
                               us(host->apart_ns));
        } else {
            ntk_buf_add_text(
                text, "its clock offset is unknown: the traces contain no collective with ranks of "
                      "other hosts\n");
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

/* Returns the rank of a capture; NULL if it is not joined, or if the capture is omitted. */
static const struct ntk_joined_rank *rank_of(const struct ntk_joined *joined,
                                             const struct ntk_rank_capture *capture)
{
    for (size_t r = 0; r < joined->rank_count && !capture->omitted_reason && !joined->unknown;
         r++) {
        if (joined->ranks[r].host == capture->host && joined->ranks[r].worker == capture->worker) {
            return &joined->ranks[r];
        }
    }
    return NULL;
}

static const char *omitted_reason(const struct ntk_rank_capture *capture,
                                  const struct ntk_joined_rank *rank)
{
    return capture->omitted_reason ? capture->omitted_reason
           : rank                  ? NULL
                                   : "its worker is not joined";
}

/* Returns the time at which its execution started on the core, after the first joined
 * collective. */
static int64_t after_ns(const struct ntk_joined *joined, const struct ntk_rank_capture *capture,
                        const struct ntk_joined_rank *rank)
{
    return capture->start_ns - rank->offset_ns - joined->begin_ns;
}

static void captures_text(const struct ntk_joined *joined, const struct ntk_rank_list *list,
                          struct ntk_buf *text)
{
    if (list->captures.count > 0) {
        ntk_buf_add_char(text, '\n');
    }
    ntk_vec_each(const struct ntk_rank_capture, capture, &list->captures) {
        const struct ntk_joined_rank *rank = rank_of(joined, capture);

        if (rank) {
            int64_t after = after_ns(joined, capture, rank);

            ntk_buf_add_format(
                text,
                "Capture %s: worker %u; its execution started %.1f us %s the first collective\n",
                capture->path, rank->number, fabs((double)after) / 1e3,
                after < 0 ? "before" : "after");
        } else {
            ntk_buf_add_format(text, "Capture %s is omitted: %s\n", capture->path,
                               omitted_reason(capture, rank));
        }
    }
}

static void joined_text(const struct ntk_joined *joined, const struct ntk_rank_list *list,
                        bool has_changes, struct ntk_buf *text)
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
    if (joined->most_count > joined->joint_count && !joined->is_numbered) {
        ntk_buf_add_format(
            text, " (a worker has up to %llu; only the %s ones are common to all workers)",
            (unsigned long long)joined->most_count, joined->is_from_end ? "last" : "first");
    }
    ntk_buf_add_format(text,
                       "; critical path %.1f us: run %.1f, host %.1f, link %.1f\n"
                       "Exposed communication is wait + link; only captures can split the INSIDE "
                       "column by engine\n",
                       us(joined->total_ns), us(path_ns[NTK_JOINED_RUN]),
                       us(path_ns[NTK_JOINED_HOST]), us(path_ns[NTK_JOINED_LINK]));
    if ((double)path_ns[NTK_JOINED_LINK] >= LINK_SHARE_REPORTED * us(joined->total_ns) * 1000) {
        ntk_buf_add_text(text, "Link is the same for all ranks of a collective: traces do not "
                               "contain the wait of each rank, so they cannot show slow links; use "
                               "neuron-monitor slow while the job runs\n");
    }
    struct overlap overlap = overlap_of(joined);
    if (overlap.all_ns > 0) {
        ntk_buf_add_format(
            text,
            "Of the %.1f us that all ranks spent in collectives, a core was executing for %.1f%%\n",
            us(overlap.all_ns), 100.0 * (double)overlap.run_ns / (double)overlap.all_ns);
    }
    if (path_ns[NTK_JOINED_UNKNOWN] > 0) {
        ntk_buf_add_format(text, "%.1f us of the path are unknown\n",
                           us(path_ns[NTK_JOINED_UNKNOWN]));
    }
    hosts_text(joined, text);
    ranks_text(joined, text);
    causes_text(joined, text);
    ntk_buf_add_char(text, '\n');
    pieces_text(joined, text);
    if (has_changes) {
        ntk_buf_add_format(text,
                           "\n"
                           "Estimate with these changes: %.1f us instead of %.1f us\n",
                           us(joined->estimate_ns), us(joined->model_ns));
    }
    captures_text(joined, list, text);
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

static void causes_json(const struct ntk_joined_rank *rank, struct ntk_json *json)
{
    ntk_json_key_object_begin(json, "wait_causes_ns");
    for (unsigned c = 0; c < NTK_JOINED_CAUSE_COUNT; c++) {
        ntk_json_key_u64(json, ntk_joined_cause_name(c), rank->cause_ns[c]);
    }
    ntk_json_object_end(json);
}

static void hosts_json(const struct ntk_joined *joined, struct ntk_json *json)
{
    ntk_json_key_array_begin(json, "hosts");
    for (size_t h = 0; h < joined->host_count; h++) {
        const struct ntk_joined_host *host = &joined->hosts[h];
        bool is_first = h == joined->ranks[0].host;

        if (host->rank_count > 0) {
            ntk_json_object_begin(json);
            ntk_json_key_text(json, "name", host->name);
            ntk_json_key_u64(json, "worker_count", host->rank_count);
            if (is_first || host->has_offset) {
                ntk_json_key_i64(json, "clock_ahead_ns", host->offset_ns);
                ntk_json_key_u64(json, "clock_apart_ns", host->apart_ns);
            }
            ntk_json_object_end(json);
        }
    }
    ntk_json_array_end(json);
}

static void ranks_json(const struct ntk_joined *joined, struct ntk_json *json)
{
    ntk_json_key_array_begin(json, "workers");
    for (size_t r = 0; r < joined->rank_count; r++) {
        const struct ntk_joined_rank *rank = &joined->ranks[r];

        ntk_json_object_begin(json);
        ntk_json_key_u64(json, "number", rank->number);
        ntk_json_key_u64(json, "worker_gid", rank->worker);
        ntk_json_key_text(json, "host", joined->hosts[rank->host].name);
        ntk_json_key_u64(json, "restart_count", rank->restart_count);
        ntk_json_key_u64(json, "span_ns", rank->span_ns);
        parts_json(rank->part_ns, "parts_ns", json);
        causes_json(rank, json);
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
            ntk_json_u64(json, joined->ranks[piece->rank].worker);
        } else {
            ntk_json_null(json);
        }
        ntk_json_key_u64(json, "late_ns", piece->late_ns);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
}

static void captures_json(const struct ntk_joined *joined, const struct ntk_rank_list *list,
                          struct ntk_json *json)
{
    ntk_json_key_array_begin(json, "captures");
    ntk_vec_each(const struct ntk_rank_capture, capture, &list->captures) {
        const struct ntk_joined_rank *rank = rank_of(joined, capture);

        ntk_json_object_begin(json);
        ntk_json_key_text(json, "path", capture->path);
        ntk_json_key_text(json, "omitted_reason", omitted_reason(capture, rank));
        if (rank) {
            ntk_json_key_u64(json, "number", rank->number);
            ntk_json_key_i64(json, "start_ns", capture->start_ns);
            ntk_json_key_i64(json, "after_ns", after_ns(joined, capture, rank));
        }
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
}

static void joined_json(const struct ntk_joined *joined, const struct ntk_rank_list *list,
                        bool has_changes, struct ntk_json *json)
{
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "unknown", joined->unknown);
    ntk_json_key_u64(json, "absent_count", joined->absent_count);
    ntk_json_key_u64(json, "twice_count", joined->twice_count);
    if (!joined->unknown) {
        ntk_json_key_u64(json, "collective_count", joined->joint_count);
        ntk_json_key_bool(json, "from_end", joined->is_from_end);
        ntk_json_key_bool(json, "numbered", joined->is_numbered);
        ntk_json_key_u64(json, "partial_count", joined->partial_count);
        ntk_json_key_u64(json, "doubted_count", joined->doubted_count);
        ntk_json_key_u64(json, "total_ns", joined->total_ns);
        struct overlap overlap = overlap_of(joined);
        ntk_json_key_u64(json, "in_collectives_ns", overlap.all_ns);
        ntk_json_key_u64(json, "overlapped_ns", overlap.run_ns);
        hosts_json(joined, json);
        ranks_json(joined, json);
        captures_json(joined, list, json);
        if (has_changes) {
            ntk_json_key_u64(json, "estimate_ns", joined->estimate_ns);
            ntk_json_key_u64(json, "unchanged_ns", joined->model_ns);
        }
    }
    ntk_json_object_end(json);
}

/* Collects the whole input in lists. */
static int gather(const struct ntk_system_asked *asked, struct ntk_rank_list *list)
{
    struct ntk_err err = { 0 };
    int ret = 0;

    for (size_t t = 0; t < asked->trace_count && ret == 0; t++) {
        ret = ntk_rank_list_add(list, asked->traces[t], &err);
    }
    if (asked->trace_count == 0 && asked->folders) {
        ntk_vec_each(char *, folder, asked->folders) {
            ret = ret ? ret : ntk_rank_list_add_folder(list, *folder, &err);
        }
    }
    ntk_vec_each(char *, warning, &list->warnings) {
        fprintf(stderr, "neuron-profile: %s\n", *warning);
        if (asked->has_warned) {
            *asked->has_warned = true;
        }
    }
    return ret ? ret : ntk_rank_list_finish(list);
}

int ntk_output_joined_list(struct ntk_rank_list *list, const struct ntk_joined_options *options,
                           struct ntk_buf *text, struct ntk_json *json, struct ntk_err *err)
{
    bool has_changes = options && options->change_count > 0;
    struct ntk_joined joined = { 0 };
    int ret = ntk_analysis_joined_list(list, options, &joined);

    if (ret < 0) {
        return ret;
    }
    if (joined.rank_count + joined.twice_count < 2) {
        ret = -ENODATA;
    } else if (ntk_joined_changes_check(options, &joined, err) < 0) {
        ret = -ENOENT;
    } else if (json) {
        joined_json(&joined, list, has_changes, json);
    } else {
        joined_text(&joined, list, has_changes, text);
    }
    ntk_joined_fini(&joined);
    return ret;
}

int ntk_output_joined(const struct ntk_system_asked *asked, struct ntk_buf *text,
                      struct ntk_json *json)
{
    struct ntk_rank_list list;

    ntk_rank_list_init(&list);
    int ret = gather(asked, &list);
    ret = ret ? ret : ntk_output_joined_list(&list, asked->options, text, json, asked->err);
    ntk_rank_list_fini(&list);
    return ret;
}
