/* SPDX-License-Identifier: MIT */
/*
 * Lengths of executions, and what one slow execution does to a comparison. Method: hand-written
 * lengths; median, outliers and verdict are known by construction.
 */
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/baseline.h"
#include "profiler/output/answers/output_analysis.h"
#include "tests/support/unit.h"

#define MOST 12
#define MANY 64

/* Lengths in us; 0 ends the list, a negative one is unknown. */
static size_t lengths_put(const double *lengths_us, struct ntk_measures *out)
{
    size_t count = 0;

    for (; count < MOST && lengths_us[count] != 0; count++) {
        char source[32];

        out[count] = (struct ntk_measures){ 0 };
        (void)snprintf(source, sizeof source, "run.ntff, execution %zu", count + 1);
        out[count].source = strdup(source);
        if (lengths_us[count] > 0) {
            assert_int_equal(ntk_measures_add(&out[count], NTK_MEASURE_TOTAL,
                                              NTK_MEASURE_TOTAL_NAME, lengths_us[count] * 1e6),
                             0);
        }
    }
    return count;
}

static void measures_fini(struct ntk_measures *measures, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ntk_measures_fini(&measures[i]);
    }
}

static void outliers_are_far_from_the_median(void **state)
{
    static const struct {
        double lengths_us[MOST];
        double least, median, most;
        const char *outliers; /* numbers from 1 */
    } programs[] = {
        { { 100 }, 100, 100, 100, "" },
        { { 100, 200 }, 100, 150, 200, "" }, /* either may be the usual one */
        { { 100, 100, 200 }, 100, 100, 200, "3" },
        { { 200, 100, 100 }, 100, 100, 200, "1" },
        { { 100, 40, 100 }, 40, 100, 100, "2" },       /* an execution that stopped early */
        { { 100, 100, 104 }, 100, 100, 104, "" },      /* below 5 % */
        { { 100, 100, 105.1 }, 100, 100, 105.1, "3" }, /* above */
        { { 90, 95, 100, 105, 110, 120 }, 90, 102.5, 120, "" }, /* noise: 7.5 typical */
        { { 90, 95, 100, 105, 110, 140 }, 90, 102.5, 140, "6" },
        { { 100, 101, 100, 99, 300, 101, 100, 300 }, 99, 100.5, 300, "58" }, /* two do not hide */
        { { 10, 10, 10, 50, 50, 50 }, 10, 30, 50, "" }, /* two kinds: neither is an outlier */
        { { -1, 100, 100, 100, 700 }, 100, 100, 700, "5" },
    };

    (void)state;
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
        struct ntk_measures measures[MOST];
        struct ntk_spread spread;
        size_t count = lengths_put(programs[p].lengths_us, measures);
        char outliers[MOST + 1] = "";

        assert_int_equal(ntk_spread_find(measures, count, &spread), 0);
        for (size_t i = 0; i < spread.outlier_count; i++) {
            outliers[i] = (char)('1' + spread.outliers[i].execution);
        }
        if (spread.least != programs[p].least * 1e6 || spread.median != programs[p].median * 1e6 ||
            spread.most != programs[p].most * 1e6 || strcmp(outliers, programs[p].outliers) != 0) {
            fail_msg("program %zu: %g, %g, %g, outliers '%s'", p, spread.least, spread.median,
                     spread.most, outliers);
        }
        ntk_spread_fini(&spread);
        measures_fini(measures, count);
    }
}

static void one_slow_execution_is_not_a_slower_program(void **state)
{
    static const struct {
        double before_us[MOST], after_us[MOST];
        enum ntk_comparison_verdict verdict;
        bool is_beyond; /* a limit of 5 % */
    } programs[] = {
        { { 100 }, { 100 }, NTK_COMPARISON_SAME, false },
        { { 100 }, { 110 }, NTK_COMPARISON_SLOWER, true },
        { { 100, 101 }, { 100, 150 }, NTK_COMPARISON_CHANCE, false }, /* medians: +25 % */
        { { 100, 101 }, { 110, 150 }, NTK_COMPARISON_SLOWER, true },
        { { 100, 150 }, { 100, 101 }, NTK_COMPARISON_CHANCE, false },
        { { 100, 101, 102 }, { 100, 101, 500 }, NTK_COMPARISON_SAME, false },
        { { 100, 101, 102 }, { 99, 103, 500 }, NTK_COMPARISON_CHANCE, false },
        { { 100 }, { 99, 101, 500 }, NTK_COMPARISON_CHANCE, false },
        { { 120, 121, 122 }, { 90, 91, 92 }, NTK_COMPARISON_FASTER, false },
        { { 100, 101, 102, 103 }, { 100, 101, 102, 900 }, NTK_COMPARISON_SAME, false },
        { { 100, 101, 102, 103 }, { 120, 121, 122, 900 }, NTK_COMPARISON_SLOWER, true },
        { { 100, 101, 102, 900 }, { 120, 121, 122, 123, 124, 125 }, NTK_COMPARISON_CHANCE, false },
    };

    (void)state;
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
        struct ntk_measures before[MOST];
        struct ntk_measures after[MOST];
        size_t before_count = lengths_put(programs[p].before_us, before);
        size_t after_count = lengths_put(programs[p].after_us, after);
        struct ntk_baseline_limit limit;
        struct ntk_baseline_result result;
        struct ntk_comparison comparison;
        struct ntk_err err = { 0 };

        assert_int_equal(
            ntk_analysis_comparison(before, before_count, after, after_count, &comparison), 0);
        assert_int_equal(ntk_baseline_limit_parse("total=5%", &limit, &err), 0);
        assert_int_equal(ntk_baseline_check(&comparison, &limit, 1, &result, &err), 0);
        if (comparison.verdict != programs[p].verdict ||
            (result.beyond_count > 0) != programs[p].is_beyond) {
            fail_msg("program %zu: %s, %zu beyond", p,
                     ntk_comparison_verdict_name(comparison.verdict), result.beyond_count);
        }
        ntk_baseline_result_fini(&result);
        ntk_comparison_fini(&comparison);
        measures_fini(before, before_count);
        measures_fini(after, after_count);
    }
}

/* The verdict on `count` executions before, with lengths around 100 us, and on one after them. */
static void one_is_compared_with(size_t count, double one_us, bool is_before,
                                 enum ntk_comparison_verdict verdict, bool is_beyond)
{
    struct ntk_measures many[MANY] = { 0 };
    struct ntk_measures one = { 0 };
    struct ntk_baseline_limit limit;
    struct ntk_baseline_result result;
    struct ntk_comparison comparison;
    struct ntk_err err = { 0 };

    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ntk_measures_add(&many[i], NTK_MEASURE_TOTAL, NTK_MEASURE_TOTAL_NAME,
                                          (95 + (double)(i % 11)) * 1e6),
                         0);
    }
    assert_int_equal(
        ntk_measures_add(&one, NTK_MEASURE_TOTAL, NTK_MEASURE_TOTAL_NAME, one_us * 1e6), 0);
    assert_int_equal(is_before ? ntk_analysis_comparison(&one, 1, many, count, &comparison)
                               : ntk_analysis_comparison(many, count, &one, 1, &comparison),
                     0);
    assert_int_equal(ntk_baseline_limit_parse("total=5%", &limit, &err), 0);
    assert_int_equal(ntk_baseline_check(&comparison, &limit, 1, &result, &err), 0);
    if (comparison.can_tell || comparison.verdict != verdict ||
        (result.beyond_count > 0) != is_beyond) {
        fail_msg("%zu and one of %g us: %s, %zu beyond", count, one_us,
                 ntk_comparison_verdict_name(comparison.verdict), result.beyond_count);
    }
    ntk_baseline_result_fini(&result);
    ntk_comparison_fini(&comparison);
    measures_fini(many, count);
    ntk_measures_fini(&one);
}

/* One execution is too few for the test, however many the other side has. */
static void one_execution_is_compared_with_many(void **state)
{
    static const size_t counts[] = { 4, 38, 39, 40, MANY };

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        one_is_compared_with(counts[i], 300, false, NTK_COMPARISON_SLOWER, true);
        one_is_compared_with(counts[i], 30, true, NTK_COMPARISON_SLOWER, true);
        one_is_compared_with(counts[i], 300, true, NTK_COMPARISON_FASTER, false);
        one_is_compared_with(counts[i], 97.5, false, NTK_COMPARISON_CHANCE, false);
    }
}

/* Only one of five executions after records its operations. */
static void a_measure_with_few_values_is_compared_without_the_test(void **state)
{
    struct ntk_measures sides[2][5] = { 0 };
    struct ntk_comparison comparison;

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        for (size_t s = 0; s < 2; s++) {
            assert_int_equal(
                ntk_measures_add(&sides[s][i], NTK_MEASURE_TOTAL, NTK_MEASURE_TOTAL_NAME, 1e6), 0);
            sides[s][i].unknown = s && i ? 1u << NTK_MEASURE_OPERATION : 0;
            if (ntk_measures_have(&sides[s][i], NTK_MEASURE_OPERATION)) {
                assert_int_equal(ntk_measures_add(&sides[s][i], NTK_MEASURE_OPERATION, "Vector ADD",
                                                  s ? 3e5 : 1e5),
                                 0);
            }
        }
    }
    assert_int_equal(ntk_analysis_comparison(sides[0], 5, sides[1], 5, &comparison), 0);
    assert_true(comparison.can_tell);
    assert_int_equal(comparison.verdict, NTK_COMPARISON_PARTS);
    assert_int_equal(comparison.changed_count, 1);
    ntk_comparison_fini(&comparison);
    measures_fini(sides[0], 5);
    measures_fini(sides[1], 5);
}

/* Four executions on each side are enough, however many other measures vary. */
static void a_slow_program_is_found_among_varying_measures(void **state)
{
    static const double varying[2][4] = { { 10, 12, 14, 16 }, { 11, 13, 14.5, 15 } };
    struct ntk_measures sides[2][4] = { 0 };
    struct ntk_comparison comparison;

    (void)state;
    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(ntk_measures_add(&sides[s][i], NTK_MEASURE_TOTAL,
                                              NTK_MEASURE_TOTAL_NAME,
                                              (s ? 3e8 : 1e8) + 1e6 * (double)i),
                             0);
            for (int o = 0; o < 50; o++) {
                char name[16];

                (void)snprintf(name, sizeof name, "operation %d", o);
                assert_int_equal(ntk_measures_add(&sides[s][i], NTK_MEASURE_OPERATION, name,
                                                  1e6 * varying[s][i]),
                                 0);
            }
        }
    }
    assert_int_equal(ntk_analysis_comparison(sides[0], 4, sides[1], 4, &comparison), 0);
    assert_int_equal(comparison.verdict, NTK_COMPARISON_SLOWER);
    assert_int_equal(comparison.changed_count, 1);
    ntk_comparison_fini(&comparison);
    measures_fini(sides[0], 4);
    measures_fini(sides[1], 4);
}

static void the_text_names_the_slow_execution(void **state)
{
    static const double before_us[] = { 100, 100, 100, 0 };
    static const double after_us[] = { 100, 180, 100, 0 };
    struct ntk_measures before[MOST];
    struct ntk_measures after[MOST];
    struct ntk_comparison comparison;
    struct ntk_buf out = { 0 };

    (void)state;
    size_t before_count = lengths_put(before_us, before);
    size_t after_count = lengths_put(after_us, after);
    free(after[1].source);
    after[1].source = NULL; /* as in a baseline of an older version */
    assert_int_equal(ntk_analysis_comparison(before, before_count, after, after_count, &comparison),
                     0);
    ntk_output_spreads_text(&comparison, "before", "after", &out);
    assert_non_null(strstr(ntk_buf_text_get(&out), "180.000  number 2 (180.000 us)\n"));
    assert_null(strstr(ntk_buf_text_get(&out), "--execution")); /* the capture is unknown */
    after[1].source = strdup("run.ntff, execution 2");
    ntk_comparison_fini(&comparison);
    ntk_buf_reset(&out);
    assert_int_equal(ntk_analysis_comparison(before, before_count, after, after_count, &comparison),
                     0);
    ntk_output_spreads_text(&comparison, "before", "after", &out);
    assert_non_null(
        strstr(ntk_buf_text_get(&out), "100.000  180.000  run.ntff, execution 2 (180.000 us)\n"));
    assert_non_null(strstr(ntk_buf_text_get(&out), "; neuron-profile analyze --execution N"));
    ntk_comparison_fini(&comparison);
    ntk_buf_fini(&out);
    measures_fini(before, before_count);
    measures_fini(after, after_count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outliers_are_far_from_the_median),
        cmocka_unit_test(one_slow_execution_is_not_a_slower_program),
        cmocka_unit_test(one_execution_is_compared_with_many),
        cmocka_unit_test(a_measure_with_few_values_is_compared_without_the_test),
        cmocka_unit_test(a_slow_program_is_found_among_varying_measures),
        cmocka_unit_test(the_text_names_the_slow_execution),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
