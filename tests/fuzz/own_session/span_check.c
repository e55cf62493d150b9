/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/own_session/span_check.h"

#include <stdlib.h>

#include "profiler/analysis/execution_split.h"
#include "profiler/analysis/host_gaps.h"
#include "profiler/analysis/load_split.h"
#include "profiler/analysis/memory_use.h"
#include "profiler/analysis/out_of_memory.h"
#include "profiler/analysis/rank_skew.h"
#include "profiler/analysis/system_tables.h"

static void require(bool is_true)
{
    if (!is_true) {
        abort();
    }
}

void span_check_order(const struct ntk_system_trace *trace)
{
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct ntk_system_span *span = &trace->spans[i];

        require(span->type && span->name && span->end_ns >= span->start_ns);
        require(i == 0 || trace->spans[i - 1].start_ns <= span->start_ns);
        require(span->parent == NTK_SYSTEM_NO_PARENT ||
                (span->parent < i && trace->spans[span->parent].end_ns >= span->end_ns));
    }
}

static void check_gaps(const struct ntk_system_trace *trace)
{
    struct ntk_host_gaps gaps;

    if (ntk_analysis_host_gaps(trace, &gaps) < 0) {
        return;
    }
    for (size_t c = 0; c < gaps.core_count; c++) {
        const struct ntk_gap_core *core = &gaps.cores[c];
        uint64_t cause_ns = 0;

        for (unsigned i = 0; i < NTK_GAP_CAUSE_COUNT; i++) {
            cause_ns += core->cause_ns[i];
        }
        require(cause_ns == core->gap_ns && core->run_ns + core->gap_ns == core->span_ns);
        require(core->longest_ns <= core->gap_ns && core->median_ns <= core->longest_ns);
    }
    ntk_host_gaps_fini(&gaps);
}

static void check_executions(const struct ntk_system_trace *trace)
{
    struct ntk_execution_split split;
    struct ntk_system_tables tables;

    if (ntk_analysis_execution_split(trace, &split) == 0) {
        for (size_t i = 0; i < split.count; i++) {
            const struct ntk_split_execution *one = &split.items[i];

            require(one->queue_busy_ns <= one->queue_ns && one->host_ns <= one->total_ns);
            require(one->total_ns >= 0 || one->total_ns == NTK_SPLIT_ABSENT);
            require(one->host_ns >= 0 || one->host_ns == NTK_SPLIT_ABSENT);
        }
        ntk_execution_split_fini(&split);
    }
    if (ntk_analysis_system_tables(trace, &tables) == 0) {
        for (size_t i = 0; i < tables.thread_row_count; i++) {
            const struct ntk_system_thread_row *row = &tables.thread_rows[i];

            require(row->median_ns <= row->max_ns && row->max_ns <= row->total_ns);
        }
        ntk_system_tables_fini(&tables);
    }
}

static void check_loads(const struct ntk_system_trace *trace)
{
    struct ntk_load_split split;

    if (ntk_analysis_load_split(trace, &split) < 0) {
        return;
    }
    for (size_t i = 0; i < split.count; i++) {
        const struct ntk_split_load *load = &split.items[i];

        require(load->rest_ns <= load->duration_ns && load->alloc_ns <= load->duration_ns &&
                load->copy_ns <= load->duration_ns);
    }
    ntk_load_split_fini(&split);
}

static void check_memory(const struct ntk_system_trace *trace)
{
    struct ntk_out_of_memory out;
    struct ntk_memory_use use;

    if (ntk_analysis_memory_use(trace, &use) == 0) {
        require(use.end_bytes <= use.peak_bytes);
        ntk_memory_use_fini(&use);
    }
    if (ntk_analysis_out_of_memory(trace, &out) == 0) {
        require(out.usage_count <= NTK_OOM_USAGES_MAX);
        require(out.largest_count <= NTK_OOM_LARGEST_MAX);
    }
}

static void check_skew(const struct ntk_system_trace *trace)
{
    struct ntk_rank_skew skew;

    if (ntk_analysis_rank_skew(&trace, 1, &skew) < 0) {
        return;
    }
    for (size_t k = 0; k < skew.kind_count; k++) {
        const struct ntk_skew_kind *kind = &skew.kinds[k];

        require(kind->median_ns <= kind->greatest_ns && kind->greatest_ns <= kind->skew_ns);
        for (size_t r = 0; r < kind->rank_count; r++) {
            require(kind->ranks[r].behind_ns <= kind->skew_ns &&
                    kind->ranks[r].waited_ns <= kind->skew_ns);
        }
    }
    ntk_rank_skew_fini(&skew);
}

void span_check_analyses(const struct ntk_system_trace *trace)
{
    check_gaps(trace);
    check_executions(trace);
    check_loads(trace);
    check_memory(trace);
    check_skew(trace);
}
