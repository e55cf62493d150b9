/* SPDX-License-Identifier: MIT */
/*
 * Analyses of a trace with arbitrary times and sizes: sums stop at the largest number, and never
 * wrap around to 0.
 *
 * Method: spans that last for all time, several of each kind, on one core and for two ranks.
 */
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/execution_split.h"
#include "profiler/analysis/host_gaps.h"
#include "profiler/analysis/joined.h"
#include "profiler/analysis/load_split.h"
#include "profiler/analysis/memory_use.h"
#include "profiler/analysis/rank_skew.h"
#include "profiler/analysis/system_tables.h"
#include "tests/support/unit.h"

#define EVER UINT64_MAX
#define COUNT(a) (sizeof(a) / sizeof *(a))

#define SPAN(kind, rank, exec, from, to)                                                          \
    {                                                                                             \
        .type = (kind), .name = "", .worker = (rank), .exec_id = (exec), .start_ns = (from),      \
        .end_ns = (to), .device_start_ns = (from), .device_end_ns = (to), .has_clock_zero = true, \
        .bytes = EVER, .parent = NTK_SYSTEM_NO_PARENT                                             \
    }

/* By start. */
static const struct ntk_system_span spans[] = {
    SPAN("kbl_exec_pre", 0, 1, 0, EVER),      SPAN("kbl_exec_pre", 0, 1, 0, EVER),
    SPAN("kmgr_exec_core", 0, 1, 0, EVER),    SPAN("kmgr_exec_core", 0, 1, 0, EVER),
    SPAN("kbl_exec_wait", 0, 1, 0, EVER),     SPAN("kbl_exec_wait", 0, 1, 0, EVER),
    SPAN("kbl_exec_post", 0, 1, 0, EVER),     SPAN("kbl_exec_post", 0, 1, 0, EVER),
    SPAN("nc_exec_running", 0, 1, 0, EVER),   SPAN("nc_exec_running", 0, 1, 0, EVER),
    SPAN("nrt_load", 0, 0, 0, EVER),          SPAN("dmem_buf_copyin", 0, 0, 0, EVER),
    SPAN("dmem_buf_copyin", 0, 0, 0, EVER),   SPAN("nrt_dma_mem_alloc", 0, 0, 0, EVER),
    SPAN("nrt_dma_mem_alloc", 0, 0, 0, EVER), SPAN("cc_running", 0, 0, 0, EVER),
    SPAN("cc_running", 0, 0, 1, EVER),        SPAN("cc_running", 1, 0, EVER - 1, EVER),
    SPAN("cc_running", 1, 0, EVER, EVER),
};

static struct ntk_system_trace trace = { .spans = (struct ntk_system_span *)spans,
                                         .span_count = COUNT(spans) };

static void rank_skews_do_not_overflow(void **state)
{
    const struct ntk_system_trace *list[] = { &trace };
    struct ntk_rank_skew skew;

    assert_int_equal(ntk_analysis_rank_skew(list, 1, &skew), 0);
    assert_int_equal(skew.kind_count, 1);
    assert_true(skew.kinds[0].skew_ns == EVER);
    assert_true(skew.kinds[0].ranks[0].total_ns == EVER);
    assert_true(skew.kinds[0].ranks[0].waited_ns == EVER);
    assert_true(skew.kinds[0].ranks[1].behind_ns == EVER);
    ntk_rank_skew_fini(&skew);
}

static void thread_and_execution_tables_do_not_overflow(void **state)
{
    struct ntk_system_tables tables;

    assert_int_equal(ntk_analysis_system_tables(&trace, &tables), 0);
    assert_int_equal(tables.execution_count, 1);
    assert_true(tables.executions[0].check_ns == EVER);
    assert_true(tables.executions[0].queue_ns == EVER);
    assert_true(tables.executions[0].wait_ns == EVER);
    assert_true(tables.executions[0].after_ns == EVER);
    assert_true(tables.executions[0].device_ns == EVER);
    for (size_t i = 0; i < tables.thread_row_count; i++) {
        assert_true(tables.thread_rows[i].total_ns >= EVER - 1);
    }
    ntk_system_tables_fini(&tables);
}

static void execution_and_load_times_do_not_overflow(void **state)
{
    struct ntk_execution_split executions;
    struct ntk_load_split loads;

    assert_int_equal(ntk_analysis_execution_split(&trace, &executions), 0);
    assert_int_equal(executions.count, 1);
    assert_true(executions.items[0].device_ns == INT64_MAX);
    assert_true(executions.items[0].total_ns == INT64_MAX);
    assert_int_equal(executions.items[0].host_ns, 0);
    ntk_execution_split_fini(&executions);
    assert_int_equal(ntk_analysis_load_split(&trace, &loads), 0);
    assert_int_equal(loads.count, 1);
    assert_int_equal(loads.items[0].copy_count, 2);
    assert_true(loads.items[0].copy_bytes == EVER);
    assert_true(loads.items[0].alloc_bytes == EVER);
    assert_true(loads.items[0].alloc_ns == EVER);
    assert_int_equal(loads.items[0].rest_ns, 0);
    ntk_load_split_fini(&loads);
}

static void gap_and_memory_figures_do_not_overflow(void **state)
{
    struct ntk_host_gaps gaps;
    struct ntk_memory_use use;

    assert_int_equal(ntk_analysis_host_gaps(&trace, &gaps), 0);
    assert_int_equal(gaps.core_count, 1);
    assert_true(gaps.cores[0].run_ns == EVER && gaps.cores[0].span_ns == EVER);
    assert_int_equal(gaps.cores[0].gap_ns, 0);
    ntk_host_gaps_fini(&gaps);
    assert_int_equal(ntk_analysis_memory_use(&trace, &use), 0);
    assert_true(use.peak_bytes == EVER);
    ntk_memory_use_fini(&use);
}

/* Values that are not times are ignored. */
static void ranks_are_joined_without_impossible_times(void **state)
{
    const struct ntk_system_trace *list[] = { &trace };
    struct ntk_joined joined;

    assert_int_equal(ntk_analysis_joined(list, 1, NULL, &joined), 0);
    assert_non_null(joined.unknown);
    assert_int_equal(joined.rank_count, 0);
    ntk_joined_fini(&joined);
}

/* All uses are copied at each peak. */
static void memory_uses_are_limited(void **state)
{
    enum { USES = 2000 };
    struct ntk_system_span *all = calloc(USES, sizeof *all);
    char(*names)[16] = calloc(USES, sizeof *names);
    struct ntk_memory_use use;

    for (size_t i = 0; i < USES; i++) {
        (void)snprintf(names[i], sizeof names[i], "use %zu", i);
        all[i] = (struct ntk_system_span){
            .type = "nrt_dma_mem_alloc", .name = names[i], .start_ns = i, .bytes = 1
        };
    }
    assert_int_equal(ntk_analysis_memory_use(
                         &(struct ntk_system_trace){ .spans = all, .span_count = USES }, &use),
                     0);
    assert_int_equal(use.peak_bytes, USES);
    assert_in_range(use.part_count, 100, 300);
    assert_string_equal(use.parts[0].name, "other");
    assert_int_equal(use.parts[0].peak_bytes, USES - (use.part_count - 1));
    ntk_memory_use_fini(&use);
    free(all);
    free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_skews_do_not_overflow),
        cmocka_unit_test(thread_and_execution_tables_do_not_overflow),
        cmocka_unit_test(execution_and_load_times_do_not_overflow),
        cmocka_unit_test(gap_and_memory_figures_do_not_overflow),
        cmocka_unit_test(ranks_are_joined_without_impossible_times),
        cmocka_unit_test(memory_uses_are_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
