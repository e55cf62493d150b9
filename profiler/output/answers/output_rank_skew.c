/* SPDX-License-Identifier: MIT */
/* output_rank_skew - writes the time differences between ranks at the start of the same work. */
#include "profiler/output/answers/system_answers.h"

#include <errno.h>
#include <stdio.h>

#include "profiler/analysis/rank_skew.h"
#include "profiler/output/answers/output_cells.h"

static void kind_text(const struct ntk_skew_kind *kind, struct ntk_buf *text)
{
    static const char *const heads[] = { "WORKER", "SPANS",     "TOTAL US",
                                         "LAST",   "BEHIND US", "WAITED US" };
    struct ntk_text_table table;
    char which[112] = "";

    if (kind->most_count > kind->step_count) {
        (void)snprintf(which, sizeof which,
                       " (a worker has up to %llu; only the %s ones are common to all workers)",
                       (unsigned long long)kind->most_count, kind->is_from_end ? "last" : "first");
    }
    ntk_buf_add_format(text,
                       "%s: %llu steps%s of %zu workers; last start - first start: median %.1f us, "
                       "maximum %.1f us\n",
                       kind->type, (unsigned long long)kind->step_count, which, kind->rank_count,
                       (double)kind->median_ns / 1e3, (double)kind->greatest_ns / 1e3);
    ntk_text_table_init(&table, 6, 0, heads);
    for (size_t r = 0; r < kind->rank_count; r++) {
        const struct ntk_skew_rank *rank = &kind->ranks[r];

        ntk_cell_u64(&table, rank->worker);
        ntk_cell_u64(&table, rank->span_count);
        ntk_cell_host_us(&table, rank->total_ns);
        ntk_cell_share(&table, (double)rank->late_count, (double)kind->step_count);
        ntk_cell_host_us(&table, rank->behind_ns);
        ntk_cell_host_us(&table, rank->waited_ns);
    }
    ntk_text_table_put(&table, text);
    ntk_text_table_fini(&table);
}

static void kind_json(const struct ntk_skew_kind *kind, struct ntk_json *json)
{
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "type", kind->type);
    ntk_json_key_u64(json, "step_count", kind->step_count);
    ntk_json_key_bool(json, "from_end", kind->is_from_end);
    ntk_json_key_u64(json, "skew_ns", kind->skew_ns);
    ntk_json_key_u64(json, "median_ns", kind->median_ns);
    ntk_json_key_u64(json, "greatest_ns", kind->greatest_ns);
    ntk_json_key_u64(json, "greatest_at_ns", kind->greatest_at_ns);
    ntk_json_key_array_begin(json, "workers");
    for (size_t r = 0; r < kind->rank_count; r++) {
        const struct ntk_skew_rank *rank = &kind->ranks[r];

        ntk_json_object_begin(json);
        ntk_json_key_u64(json, "worker_gid", rank->worker);
        ntk_json_key_u64(json, "span_count", rank->span_count);
        ntk_json_key_u64(json, "total_ns", rank->total_ns);
        ntk_json_key_u64(json, "last_count", rank->late_count);
        ntk_json_key_u64(json, "behind_ns", rank->behind_ns);
        ntk_json_key_u64(json, "waited_ns", rank->waited_ns);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}

int ntk_output_rank_skew(const struct ntk_system_asked *asked, struct ntk_buf *text,
                         struct ntk_json *json)
{
    const struct ntk_system_trace *const *traces = asked->traces;
    size_t trace_count = asked->trace_count;
    struct ntk_rank_skew skew;
    int ret = ntk_analysis_rank_skew(traces, trace_count, &skew);

    if (ret < 0 || skew.kind_count == 0) {
        if (ret == 0) {
            ntk_rank_skew_fini(&skew);
        }
        return ret < 0 ? ret : -ENODATA;
    }
    if (json) {
        ntk_json_array_begin(json);
    }
    for (size_t k = 0; k < skew.kind_count; k++) {
        if (json) {
            kind_json(&skew.kinds[k], json);
        } else {
            kind_text(&skew.kinds[k], text);
        }
    }
    if (json) {
        ntk_json_array_end(json);
    }
    ntk_rank_skew_fini(&skew);
    return 0;
}
