/* SPDX-License-Identifier: MIT */
/* Method: spans written down by hand; every gap's causes add up to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "profiler/analysis/host_gaps.h"

#define SPAN(kind, from, to, core)                                                   \
    {                                                                                \
        .type = (kind), .name = "", .start_ns = (from), .end_ns = (to), .nc = (core) \
    }
#define COUNT(a) (sizeof(a) / sizeof *(a))

static void a_gap_has_the_causes_that_the_host_shows(void **state)
{
    /* Core 2 runs 100-200, 500-600 and 600-700 (no gap); the first gap: the call returns until 220, the application until
     * 300, a tensor is written until 350 inside of which memory is copied, a model is loaded until 400, another
     * call until 420, the application until 450, the next execution is prepared until 500. */
    struct ntk_system_span spans[] = {
        SPAN("nrt_execute", 90, 220, 2),
        SPAN("nc_exec_running", 100, 200, 2),
        SPAN("nrt_tensor_write", 300, 350, 2),
        SPAN("dmem_buf_copyin", 310, 340, 2),
        SPAN("nrt_load", 350, 400, 2),
        SPAN("nrt_get_model_info", 400, 420, 2),
        SPAN("nrt_execute", 450, 610, 2),
        SPAN("nc_exec_running", 500, 600, 2),
        SPAN("nc_exec_running", 600, 700, 2),
        SPAN("nrt_tensor_write", 200, 500, 5), /* of another core */
        SPAN("nc_exec_running", 250, 260, 5),
    };
    struct ntk_system_trace trace = { .spans = spans, .span_count = COUNT(spans) };
    struct ntk_host_gaps gaps;

    (void)state;
    assert_int_equal(ntk_analysis_host_gaps(&trace, &gaps), 0);
    assert_int_equal(gaps.core_count, 2);
    const struct ntk_gap_core *core = &gaps.cores[0];
    assert_int_equal(core->nc, 2);
    assert_int_equal(core->run_count, 3);
    assert_int_equal(core->run_ns, 300);
    assert_int_equal(core->span_ns, 600);
    assert_int_equal(core->gap_count, 1);
    assert_int_equal(core->gap_ns, 300);
    assert_int_equal(core->longest_ns, 300);
    assert_int_equal(core->longest_at_ns, 200);
    assert_int_equal(core->cause_ns[NTK_GAP_TENSORS], 50);
    assert_int_equal(core->cause_ns[NTK_GAP_MODEL], 50);
    assert_int_equal(core->cause_ns[NTK_GAP_EXECUTION], 20 + 50);
    assert_int_equal(core->cause_ns[NTK_GAP_OTHER_CALL], 20);
    assert_int_equal(core->cause_ns[NTK_GAP_APPLICATION], 80 + 30);
    assert_int_equal(gaps.cores[1].gap_count, 0);
    ntk_host_gaps_fini(&gaps);
}

static void gaps_are_measured_by_their_median_and_the_longest(void **state)
{
    struct ntk_system_span spans[] = {
        SPAN("nc_exec_running", 0, 10, 0),
        SPAN("nc_exec_running", 20, 30, 0),
        SPAN("nc_exec_running", 60, 70, 0),
        SPAN("nc_exec_running", 65, 80, 0), /* the core's pair */
        SPAN("nc_exec_running", 85, 100, 0),
    };
    struct ntk_system_trace trace = { .spans = spans, .span_count = COUNT(spans) };
    struct ntk_host_gaps gaps;

    (void)state;
    assert_int_equal(ntk_analysis_host_gaps(&trace, &gaps), 0);
    assert_int_equal(gaps.cores[0].gap_count, 3); /* 10, 30, 5 */
    assert_int_equal(gaps.cores[0].gap_ns, 45);
    assert_int_equal(gaps.cores[0].median_ns, 10);
    assert_int_equal(gaps.cores[0].longest_ns, 30);
    assert_int_equal(gaps.cores[0].longest_at_ns, 30);
    assert_int_equal(gaps.cores[0].cause_ns[NTK_GAP_APPLICATION], 45);
    ntk_host_gaps_fini(&gaps);
}

static void what_has_no_end_is_no_run(void **state)
{
    struct ntk_system_span spans[] = { SPAN("nc_exec_running", 0, 10, 0) };
    struct ntk_system_trace trace = { .spans = spans, .span_count = 1 };
    struct ntk_system_trace none = { 0 };
    struct ntk_host_gaps gaps;

    (void)state;
    spans[0].is_partial = true;
    assert_int_equal(ntk_analysis_host_gaps(&trace, &gaps), 0);
    assert_int_equal(gaps.core_count, 0);
    ntk_host_gaps_fini(&gaps);
    assert_int_equal(ntk_analysis_host_gaps(&none, &gaps), 0);
    assert_int_equal(gaps.core_count, 0);
    ntk_host_gaps_fini(&gaps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gap_has_the_causes_that_the_host_shows),
        cmocka_unit_test(gaps_are_measured_by_their_median_and_the_longest),
        cmocka_unit_test(what_has_no_end_is_no_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
