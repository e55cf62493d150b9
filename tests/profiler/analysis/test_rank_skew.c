/* SPDX-License-Identifier: MIT */
/* Method: hand-written traces of three ranks, one of them late. */
#include <stdlib.h>

#include "profiler/analysis/rank_skew.h"
#include "tests/profiler/analysis/span_script.h"
#include "tests/support/unit.h"

#define SPAN(kind, rank, from, to)                                                       \
    {                                                                                    \
        .type = (kind), .name = "", .worker = (rank), .start_ns = (from), .end_ns = (to) \
    }
#define COUNT(a) (sizeof(a) / sizeof *(a))

static void the_latest_rank_of_every_step_is_found(void **state)
{
    struct ntk_system_span first[] = {
        SPAN("cc_running", 0, 100, 200),
        SPAN("cc_running", 0, 300, 400),
        SPAN("cc_running", 0, 500, 600),
        SPAN("nc_exec_running", 0, 90, 600),
    };
    /* Two ranks in one process; rank 2 is late by 50, 10 and 0, rank 1 only in the last step. */
    struct ntk_system_span others[] = {
        SPAN("cc_running", 2, 150, 200), SPAN("cc_running", 1, 100, 200),
        SPAN("cc_running", 2, 310, 400), SPAN("cc_running", 1, 305, 400),
        SPAN("cc_running", 2, 500, 600), SPAN("cc_running", 1, 520, 600),
        SPAN("cc_running", 2, 700, 800), /* a step that the other ranks do not have */
    };
    struct ntk_system_trace traces[] = { { .spans = first, .span_count = COUNT(first) },
                                         { .spans = others, .span_count = COUNT(others) } };
    const struct ntk_system_trace *list[] = { &traces[0], &traces[1] };
    struct ntk_rank_skew skew;

    assert_int_equal(ntk_analysis_rank_skew(list, 2, &skew), 0);
    assert_int_equal(skew.kind_count, 1); /* executions belong to a single rank */
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

static void the_skew_of_generated_programs_is_found(void **state)
{
    static const struct {
        const char *what, *script;
        uint64_t steps, skew_ns, median_ns, greatest_ns;
        uint64_t behind_ns, waited_ns; /* of rank 1 */
    } rows[] = {
        { "together", "cc 0-10@0 cc 0-10@1", 1, 0, 0, 0, 0, 0 },
        { "rank 1 is late", "cc 0-10@0 cc 5-10@1", 1, 5, 5, 5, 5, 0 },
        { "rank 1 waits", "cc 5-10@0 cc 0-10@1", 1, 5, 5, 5, 0, 5 },
        { "late in turns", "cc 0-10@0 cc 4-10@1 cc 26-30@0 cc 20-30@1", 2, 10, 4, 6, 4, 6 },
        { "always the same rank", "cc 0-9@0 cc 3-9@1 cc 20-29@0 cc 23-29@1 cc 40-49@0 cc 43-49@1",
          3, 9, 3, 3, 9, 0 },
        { "later with each step", "cc 0-9@0 cc 1-9@1 cc 20-29@0 cc 22-29@1 cc 40-49@0 cc 44-49@1",
          3, 7, 2, 4, 7, 0 },
        { "one slow step of three",
          "cc 0-9@0 cc 0-9@1 cc 20-99@0 cc 90-99@1 cc 120-129@0 cc 120-129@1", 3, 70, 0, 70, 70,
          0 },
        { "three ranks, the middle one", "cc 0-10@0 cc 4-10@1 cc 9-10@2", 1, 9, 9, 9, 4, 5 },
        { "three ranks, two late", "cc 0-10@0 cc 9-10@1 cc 9-10@2", 1, 9, 9, 9, 9, 0 },
        { "executions of two ranks", "run 0-10@0 run 7-10@1", 1, 7, 7, 7, 7, 0 },
        { "a step that only rank 0 has", "cc 0-9@0 cc 2-9@1 cc 20-29@0", 1, 2, 2, 2, 2, 0 },
        { "a step as long as the run", "cc 0-1000@0 cc 999-1000@1", 1, 999, 999, 999, 999, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct span_script s;
        struct ntk_rank_skew skew;
        const struct ntk_system_trace *list[] = { &s.trace };

        span_script_read(&s, rows[i].script);
        assert_int_equal(ntk_analysis_rank_skew(list, 1, &skew), 0);
        assert_int_equal(skew.kind_count, 1);
        const struct ntk_skew_kind *kind = &skew.kinds[0];
        if (kind->step_count != rows[i].steps || kind->skew_ns != rows[i].skew_ns ||
            kind->median_ns != rows[i].median_ns || kind->greatest_ns != rows[i].greatest_ns ||
            kind->ranks[1].behind_ns != rows[i].behind_ns ||
            kind->ranks[1].waited_ns != rows[i].waited_ns) {
            fail_msg("%s: %llu steps, skew %llu, median %llu, greatest %llu, %llu behind, %llu "
                     "waited",
                     rows[i].what, (unsigned long long)kind->step_count,
                     (unsigned long long)kind->skew_ns, (unsigned long long)kind->median_ns,
                     (unsigned long long)kind->greatest_ns,
                     (unsigned long long)kind->ranks[1].behind_ns,
                     (unsigned long long)kind->ranks[1].waited_ns);
        }
        ntk_rank_skew_fini(&skew);
    }
}

/* If both physical cores of a logical core run an execution, that is one step. */
static void both_cores_of_a_pair_are_counted_as_one_rank(void **state)
{
    struct ntk_system_span spans[] = {
        SPAN("nc_exec_running", 0, 100, 200), SPAN("nc_exec_running", 0, 101, 210),
        SPAN("nc_exec_running", 0, 300, 400), SPAN("nc_exec_running", 1, 130, 230),
        SPAN("nc_exec_running", 1, 320, 420),
    };
    struct ntk_system_trace trace = { .spans = spans, .span_count = COUNT(spans) };
    const struct ntk_system_trace *list[] = { &trace };
    struct ntk_rank_skew skew;

    spans[0].exec_id = spans[1].exec_id = spans[3].exec_id = 1;
    spans[2].exec_id = spans[4].exec_id = 2;
    spans[1].device_core = 1;
    assert_int_equal(ntk_analysis_rank_skew(list, 1, &skew), 0);
    assert_int_equal(skew.kind_count, 1);
    assert_int_equal(skew.kinds[0].step_count, 2);
    assert_int_equal(skew.kinds[0].skew_ns, 30 + 20);
    assert_int_equal(skew.kinds[0].ranks[0].total_ns, 110 + 100);
    ntk_rank_skew_fini(&skew);
}

/* Three collectives of one execution are three steps, on both cores of a pair, with one a little
 * late. */
static void collectives_of_one_execution_are_separate_steps(void **state)
{
    struct ntk_system_span spans[12];
    struct ntk_system_trace trace = { .spans = spans, .span_count = 0 };
    const struct ntk_system_trace *list[] = { &trace };
    struct ntk_rank_skew skew;

    for (uint64_t step = 0; step < 3; step++) {
        for (uint32_t rank = 0; rank < 2; rank++) {
            for (uint32_t core = 0; core < 2; core++) {
                uint64_t start_ns = 1000 * step + 100 * rank + 10 * core;
                struct ntk_system_span span = SPAN("cc_running", rank, start_ns, start_ns + 50);
                span.exec_id = 7;
                span.device_core = core;
                spans[trace.span_count++] = span;
            }
        }
    }
    assert_int_equal(ntk_analysis_rank_skew(list, 1, &skew), 0);
    assert_int_equal(skew.kinds[0].step_count, 3);
    assert_int_equal(skew.kinds[0].skew_ns, 3 * 100);
    assert_int_equal(skew.kinds[0].ranks[0].total_ns, 3 * 60); /* without the time in between */
    assert_int_equal(skew.kinds[0].ranks[1].late_count, 3);
    ntk_rank_skew_fini(&skew);
}

/* The rings of rank 1 lost its first two steps, so its steps are the last ones of rank 0. */
static void steps_are_matched_from_the_end_if_records_were_lost(void **state)
{
    struct ntk_system_span all[] = {
        SPAN("cc_running", 0, 100, 150),
        SPAN("cc_running", 0, 200, 250),
        SPAN("cc_running", 0, 300, 350),
        SPAN("cc_running", 0, 400, 450),
    };
    struct ntk_system_span rest[] = { SPAN("cc_running", 1, 303, 350),
                                      SPAN("cc_running", 1, 404, 450) };
    struct ntk_system_trace traces[] = { { .spans = all, .span_count = 4 },
                                         { .spans = rest, .span_count = 2, .lost = 2 } };
    const struct ntk_system_trace *list[] = { &traces[0], &traces[1] };
    struct ntk_rank_skew skew;

    assert_int_equal(ntk_analysis_rank_skew(list, 2, &skew), 0);
    assert_true(skew.kinds[0].is_from_end);
    assert_int_equal(skew.kinds[0].step_count, 2);
    assert_int_equal(skew.kinds[0].most_count, 4);
    assert_int_equal(skew.kinds[0].skew_ns, 3 + 4);
    ntk_rank_skew_fini(&skew);

    /* It joined late or ended early: unknown, so steps are counted from the start. */
    traces[1].lost = 0;
    assert_int_equal(ntk_analysis_rank_skew(list, 2, &skew), 0);
    assert_int_equal(skew.kinds[0].skew_ns, 203 + 204);
    ntk_rank_skew_fini(&skew);
}

/* For any times: in each step, the delay after the first rank plus the time before the last rank is
 * the same for every rank. */
static void delay_and_wait_sum_to_the_skew(void **state)
{
    struct ntk_system_span spans[4 * 50];
    struct ntk_system_trace trace = { .spans = spans };
    const struct ntk_system_trace *list[] = { &trace };
    struct ntk_rank_skew skew;
    uint32_t chance = 1;

    for (uint64_t step = 0; step < 50; step++) {
        for (uint32_t rank = 0; rank < 4; rank++) {
            chance = chance * 1664525u + 1013904223u;
            uint64_t start_ns = 10000 * step + chance % 9000;
            struct ntk_system_span span = SPAN("nc_exec_running", rank, start_ns, start_ns + 500);
            spans[trace.span_count++] = span;
        }
    }
    assert_int_equal(ntk_analysis_rank_skew(list, 1, &skew), 0);
    const struct ntk_skew_kind *kind = &skew.kinds[0];
    uint64_t late = 0;
    for (size_t r = 0; r < kind->rank_count; r++) {
        assert_int_equal(kind->ranks[r].behind_ns + kind->ranks[r].waited_ns, kind->skew_ns);
        late += kind->ranks[r].late_count;
    }
    assert_int_equal(late, kind->step_count);
    assert_true(kind->median_ns <= kind->greatest_ns && kind->greatest_ns <= kind->skew_ns);
    assert_true(kind->greatest_ns < 9000);
    ntk_rank_skew_fini(&skew);
}

static void a_single_rank_has_no_skew(void **state)
{
    struct ntk_system_span span = SPAN("cc_running", 0, 1, 2);
    struct ntk_system_trace trace = { .spans = &span, .span_count = 1 };
    const struct ntk_system_trace *list[] = { &trace };
    struct ntk_rank_skew skew;

    assert_int_equal(ntk_analysis_rank_skew(list, 1, &skew), 0);
    assert_int_equal(skew.kind_count, 0);
    ntk_rank_skew_fini(&skew);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_latest_rank_of_every_step_is_found),
        cmocka_unit_test(the_skew_of_generated_programs_is_found),
        cmocka_unit_test(both_cores_of_a_pair_are_counted_as_one_rank),
        cmocka_unit_test(collectives_of_one_execution_are_separate_steps),
        cmocka_unit_test(steps_are_matched_from_the_end_if_records_were_lost),
        cmocka_unit_test(delay_and_wait_sum_to_the_skew),
        cmocka_unit_test(a_single_rank_has_no_skew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
