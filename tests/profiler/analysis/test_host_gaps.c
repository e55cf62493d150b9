/* SPDX-License-Identifier: MIT */
/* Method: hand-written spans; the causes of every gap add up to it. */
#include <stdlib.h>

#include "profiler/analysis/host_gaps.h"
#include "tests/profiler/analysis/span_script.h"
#include "tests/support/unit.h"

#define SPAN(kind, from, to, core)                                                   \
    {                                                                                \
        .type = (kind), .name = "", .start_ns = (from), .end_ns = (to), .nc = (core) \
    }
#define COUNT(a) (sizeof(a) / sizeof *(a))

static void a_gap_between_runs_has_its_host_causes(void **state)
{
    /* Core 2 runs 100-200, 500-600 and 600-700 (no gap); the first gap: the call returns until 220,
     * the application until 300, a tensor is written until 350 while memory is copied, a
     * model is loaded until 400, another call until 420, the application until 450, and preparing
     * the next execution takes until 500. */
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

/* Two runs of 100 ns with 100 ns in between, if not written otherwise. */
static void gaps_of_generated_programs_are_found(void **state)
{
    static const struct {
        const char *what, *script;
        uint64_t count, gap_ns, median_ns, longest_ns;
        uint64_t causes_ns[NTK_GAP_CAUSE_COUNT]; /* tensors, model, execution, call, application */
    } rows[] = {
        { "no gap", "run 0-100 run 100-200", 0, 0, 0, 0, { 0 } },
        { "runs that overlap", "run 0-100 run 90-200", 0, 0, 0, 0, { 0 } },
        { "nothing is recorded", "run 0-100 run 200-300", 1, 100, 100, 100, { 0, 0, 0, 0, 100 } },
        { "the call returns late",
          "exec 0-150 run 0-100 run 200-300",
          1,
          100,
          100,
          100,
          { 0, 0, 50, 0, 50 } },
        { "the next call starts early",
          "run 0-100 exec 130-310 run 200-300",
          1,
          100,
          100,
          100,
          { 0, 0, 70, 0, 30 } },
        { "inputs are written",
          "run 0-100 write 110-190 run 200-300",
          1,
          100,
          100,
          100,
          { 80, 0, 0, 0, 20 } },
        { "a model is loaded",
          "run 0-100 load 100-175 run 200-300",
          1,
          100,
          100,
          100,
          { 0, 75, 0, 0, 25 } },
        { "another call",
          "run 0-100 call 140-150 run 200-300",
          1,
          100,
          100,
          100,
          { 0, 0, 0, 10, 90 } },
        { "inputs are written within the call",
          "exec 0-310 run 0-100 write 120-140 run 200-300",
          1,
          100,
          100,
          100,
          { 20, 0, 80, 0, 0 } },
        { "two threads write",
          "run 0-100 write 100-160 write 140-200 run 200-300",
          1,
          100,
          100,
          100,
          { 100, 0, 0, 0, 0 } },
        { "a thread of another core writes",
          "run 0-100 write 100-200@3 run 200-300",
          1,
          100,
          100,
          100,
          { 0, 0, 0, 0, 100 } },
        { "gaps of 10, 30 and 1",
          "run 0-10 run 20-30 run 60-70 run 71-80",
          3,
          41,
          10,
          30,
          { 0, 0, 0, 0, 41 } },
        { "work before and after the runs",
          "write 0-50 run 100-200 run 250-300 write 300-400",
          1,
          50,
          50,
          50,
          { 0, 0, 0, 0, 50 } },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct span_script s;
        struct ntk_host_gaps gaps;

        span_script_read(&s, rows[i].script);
        assert_int_equal(ntk_analysis_host_gaps(&s.trace, &gaps), 0);
        assert_int_equal(gaps.core_count, 1);
        const struct ntk_gap_core *core = &gaps.cores[0];
        if (core->gap_count != rows[i].count || core->gap_ns != rows[i].gap_ns ||
            core->median_ns != rows[i].median_ns || core->longest_ns != rows[i].longest_ns ||
            memcmp(core->cause_ns, rows[i].causes_ns, sizeof rows[i].causes_ns) != 0) {
            fail_msg("%s: %llu gaps, %llu ns, median %llu, longest %llu", rows[i].what,
                     (unsigned long long)core->gap_count, (unsigned long long)core->gap_ns,
                     (unsigned long long)core->median_ns, (unsigned long long)core->longest_ns);
        }
        ntk_host_gaps_fini(&gaps);
    }
}

static void runs_on_a_core_pair_are_counted_once(void **state)
{
    struct ntk_system_span spans[] = {
        SPAN("nc_exec_running", 100, 200, 1), SPAN("nc_exec_running", 100, 190, 1),
        SPAN("nc_exec_running", 300, 400, 1), SPAN("nc_exec_running", 310, 400, 1),
        SPAN("nc_exec_running", 500, 600, 1), /* its other half is lost */
    };
    struct ntk_system_trace trace = { .spans = spans, .span_count = COUNT(spans) };
    struct ntk_host_gaps gaps;

    for (size_t i = 0; i < COUNT(spans); i++) {
        spans[i].device_core = i % 2 == 0 ? 2 : 3;
    }
    assert_int_equal(ntk_analysis_host_gaps(&trace, &gaps), 0);
    assert_int_equal(gaps.cores[0].run_count, 3);
    assert_int_equal(gaps.cores[0].gap_count, 2);
    ntk_host_gaps_fini(&gaps);
}

static void gaps_are_reported_with_median_and_maximum(void **state)
{
    struct ntk_system_span spans[] = {
        SPAN("nc_exec_running", 0, 10, 0),
        SPAN("nc_exec_running", 20, 30, 0),
        SPAN("nc_exec_running", 60, 70, 0),
        SPAN("nc_exec_running", 65, 80, 0), /* the pair of the core */
        SPAN("nc_exec_running", 85, 100, 0),
    };
    struct ntk_system_trace trace = { .spans = spans, .span_count = COUNT(spans) };
    struct ntk_host_gaps gaps;

    assert_int_equal(ntk_analysis_host_gaps(&trace, &gaps), 0);
    assert_int_equal(gaps.cores[0].gap_count, 3); /* 10, 30 and 5 ns */
    assert_int_equal(gaps.cores[0].gap_ns, 45);
    assert_int_equal(gaps.cores[0].median_ns, 10);
    assert_int_equal(gaps.cores[0].longest_ns, 30);
    assert_int_equal(gaps.cores[0].longest_at_ns, 30);
    assert_int_equal(gaps.cores[0].cause_ns[NTK_GAP_APPLICATION], 45);
    ntk_host_gaps_fini(&gaps);
}

static void a_run_without_an_end_is_ignored(void **state)
{
    struct ntk_system_span spans[] = { SPAN("nc_exec_running", 0, 10, 0) };
    struct ntk_system_trace trace = { .spans = spans, .span_count = 1 };
    struct ntk_system_trace none = { 0 };
    struct ntk_host_gaps gaps;

    spans[0].is_partial = true;
    assert_int_equal(ntk_analysis_host_gaps(&trace, &gaps), 0);
    assert_int_equal(gaps.core_count, 0);
    ntk_host_gaps_fini(&gaps);
    assert_int_equal(ntk_analysis_host_gaps(&none, &gaps), 0);
    assert_int_equal(gaps.core_count, 0);
    ntk_host_gaps_fini(&gaps);
}

/* Random runs and calls: each ns between runs belongs to the first cause that holds at that time;
 * this test counts them one by one. */
static void every_moment_of_a_gap_has_one_cause(void **state)
{
    static const char *const types[] = { "nrt_tensor_write", "nrt_load", "nrt_execute",
                                         "nrt_anything", "cc_running" /* of the device */ };
    enum { SPANS = 24, END = 1000 };
    uint32_t chance = 1;

    for (int round = 0; round < 100; round++) {
        struct ntk_system_span spans[SPANS];
        struct ntk_system_trace trace = { .spans = spans, .span_count = SPANS };
        struct ntk_host_gaps gaps;
        uint64_t causes[NTK_GAP_CAUSE_COUNT] = { 0 };

        for (int i = 0; i < SPANS; i++) {
            chance = chance * 1664525u + 1013904223u;
            uint64_t start_ns = (chance >> 8) % END;
            uint64_t length_ns = (chance >> 18) % 60;
            struct ntk_system_span span =
                SPAN(i % 3 ? types[i % 5] : "nc_exec_running", start_ns, start_ns + length_ns, 4);
            spans[i] = span;
        }
        assert_int_equal(ntk_analysis_host_gaps(&trace, &gaps), 0);
        const struct ntk_gap_core *core = &gaps.cores[0];
        uint64_t first = UINT64_MAX;
        uint64_t last = 0;
        for (int i = 0; i < SPANS; i += 3) {
            first = spans[i].start_ns < first ? spans[i].start_ns : first;
            last = spans[i].end_ns > last ? spans[i].end_ns : last;
        }
        for (uint64_t ns = first; ns < last; ns++) {
            bool is_run = false;
            size_t cause = NTK_GAP_APPLICATION;
            for (int i = 0; i < SPANS; i++) {
                bool is_on = spans[i].start_ns <= ns && ns < spans[i].end_ns;
                is_run = is_run || (is_on && i % 3 == 0);
                if (is_on && i % 3 && i % 5 < 4 && (size_t)(i % 5) < cause) {
                    cause = (size_t)(i % 5); /* types are in the order of causes */
                }
            }
            causes[cause] += !is_run;
        }
        uint64_t sum = 0;
        for (int c = 0; c < NTK_GAP_CAUSE_COUNT; c++) {
            assert_int_equal(core->cause_ns[c], causes[c]);
            sum += causes[c];
        }
        assert_int_equal(core->gap_ns, sum);
        assert_int_equal(core->run_ns + core->gap_ns, core->span_ns);
        assert_int_equal(core->span_ns, last - first);
        assert_true(core->median_ns <= core->longest_ns && core->longest_ns <= core->gap_ns);
        ntk_host_gaps_fini(&gaps);
    }
}

/* As many cores as spans: one pass over all spans per core would be 40,000,000,000 steps and take
 * minutes. */
static void gap_analysis_time_is_linear_for_a_trace_with_only_cores(void **state)
{
    enum { SPANS = 200000 };
    struct ntk_system_span *spans = calloc(SPANS, sizeof *spans);
    struct ntk_system_trace trace = { .spans = spans, .span_count = SPANS };
    struct ntk_host_gaps gaps;

    assert_non_null(spans);
    for (uint32_t i = 0; i < SPANS; i++) {
        spans[i] = (struct ntk_system_span)SPAN("nc_exec_running", i, i + 7, SPANS - 1 - i / 2);
    }
    assert_int_equal(ntk_analysis_host_gaps(&trace, &gaps), 0);
    assert_int_equal(gaps.core_count, SPANS / 2);
    for (uint32_t c = 0; c < SPANS / 2; c++) {
        assert_int_equal(gaps.cores[c].nc, SPANS / 2 + c);
        assert_int_equal(gaps.cores[c].run_count, 2);
        assert_int_equal(gaps.cores[c].run_ns, 8);
    }
    ntk_host_gaps_fini(&gaps);
    free(spans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gap_between_runs_has_its_host_causes),
        cmocka_unit_test(gaps_of_generated_programs_are_found),
        cmocka_unit_test(runs_on_a_core_pair_are_counted_once),
        cmocka_unit_test(gaps_are_reported_with_median_and_maximum),
        cmocka_unit_test(a_run_without_an_end_is_ignored),
        cmocka_unit_test(every_moment_of_a_gap_has_one_cause),
        cmocka_unit_test(gap_analysis_time_is_linear_for_a_trace_with_only_cores),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
