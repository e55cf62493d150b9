/* SPDX-License-Identifier: MIT */
/* Method: traces of three ranks written down by hand, one of which is late. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "profiler/analysis/rank_skew.h"

#define SPAN(kind, rank, from, to)                                                       \
    {                                                                                    \
        .type = (kind), .name = "", .worker = (rank), .start_ns = (from), .end_ns = (to) \
    }
#define COUNT(a) (sizeof(a) / sizeof *(a))

static void the_late_rank_is_found_step_by_step(void **state)
{
    struct ntk_system_span first[] = {
        SPAN("cc_running", 0, 100, 200),
        SPAN("cc_running", 0, 300, 400),
        SPAN("cc_running", 0, 500, 600),
        SPAN("nc_exec_running", 0, 90, 600),
    };
    /* Two ranks in one process; rank 2 is 50, 10 and 0 behind, rank 1 never but in the last step. */
    struct ntk_system_span others[] = {
        SPAN("cc_running", 2, 150, 200), SPAN("cc_running", 1, 100, 200),
        SPAN("cc_running", 2, 310, 400), SPAN("cc_running", 1, 305, 400),
        SPAN("cc_running", 2, 500, 600), SPAN("cc_running", 1, 520, 600),
        SPAN("cc_running", 2, 700, 800), /* a step that the others do not have */
    };
    struct ntk_system_trace traces[] = { { .spans = first, .span_count = COUNT(first) },
                                         { .spans = others, .span_count = COUNT(others) } };
    const struct ntk_system_trace *list[] = { &traces[0], &traces[1] };
    struct ntk_rank_skew skew;

    (void)state;
    assert_int_equal(ntk_analysis_rank_skew(list, 2, &skew), 0);
    assert_int_equal(skew.kind_count, 1); /* executions are of one rank alone */
    const struct ntk_skew_kind *kind = &skew.kinds[0];
    assert_string_equal(kind->type, "cc_running");
    assert_int_equal(kind->rank_count, 3);
    assert_int_equal(kind->step_count, 3);
    assert_int_equal(kind->skew_ns, 50 + 10 + 20);
    assert_int_equal(kind->median_ns, 20);
    assert_int_equal(kind->greatest_ns, 50);
    assert_int_equal(kind->greatest_at_ns, 100);
    assert_int_equal(kind->ranks[2].late_count, 2);
    assert_int_equal(kind->ranks[2].behind_ns, 60);
    assert_int_equal(kind->ranks[2].waited_ns, 20);
    assert_int_equal(kind->ranks[2].span_count, 4);
    assert_int_equal(kind->ranks[0].waited_ns, 50 + 10 + 20);
    assert_int_equal(kind->ranks[0].total_ns, 300);
    assert_int_equal(kind->ranks[1].late_count, 1);
    ntk_rank_skew_fini(&skew);
}

/* Both physical cores of a logical one run an execution: that is one step. */
static void the_cores_of_a_pair_are_one_rank(void **state)
{
    struct ntk_system_span spans[] = {
        SPAN("nc_exec_running", 0, 100, 200), SPAN("nc_exec_running", 0, 101, 210),
        SPAN("nc_exec_running", 0, 300, 400), SPAN("nc_exec_running", 1, 130, 230),
        SPAN("nc_exec_running", 1, 320, 420),
    };
    struct ntk_system_trace trace = { .spans = spans, .span_count = COUNT(spans) };
    const struct ntk_system_trace *list[] = { &trace };
    struct ntk_rank_skew skew;

    (void)state;
    spans[0].exec_id = spans[1].exec_id = spans[3].exec_id = 1;
    spans[2].exec_id = spans[4].exec_id = 2;
    assert_int_equal(ntk_analysis_rank_skew(list, 1, &skew), 0);
    assert_int_equal(skew.kind_count, 1);
    assert_int_equal(skew.kinds[0].step_count, 2);
    assert_int_equal(skew.kinds[0].skew_ns, 30 + 20);
    assert_int_equal(skew.kinds[0].ranks[0].total_ns, 110 + 100);
    ntk_rank_skew_fini(&skew);
}

static void one_rank_has_no_skew(void **state)
{
    struct ntk_system_span span = SPAN("cc_running", 0, 1, 2);
    struct ntk_system_trace trace = { .spans = &span, .span_count = 1 };
    const struct ntk_system_trace *list[] = { &trace };
    struct ntk_rank_skew skew;

    (void)state;
    assert_int_equal(ntk_analysis_rank_skew(list, 1, &skew), 0);
    assert_int_equal(skew.kind_count, 0);
    ntk_rank_skew_fini(&skew);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_late_rank_is_found_step_by_step),
        cmocka_unit_test(the_cores_of_a_pair_are_one_rank),
        cmocka_unit_test(one_rank_has_no_skew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
