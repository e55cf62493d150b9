/* SPDX-License-Identifier: MIT */
/* Method: measures written down by hand on both sides; and the measures of a trace put together by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/analysis/comparison.h"
#include "tests/support/hand_trace.h"

static void put(struct ntk_measures *measures, enum ntk_measure_kind kind, const char *name,
                double value)
{
    assert_int_equal(ntk_measures_add(measures, kind, name, value), 0);
}

static const struct ntk_comparison_row *row(const struct ntk_comparison *c, const char *name)
{
    for (size_t i = 0; i < c->row_count; i++) {
        if (strcmp(c->rows[i].name, name) == 0) {
            return &c->rows[i];
        }
    }
    fail_msg("no row %s", name);
    return NULL;
}

/* Five executions a side: one operation is slower in each, one varies, one is gone, one is new. */
static void what_changed_is_told_from_what_varies(void **state)
{
    static const double varying[] = { 10, 14, 11, 13, 12 };
    static const double varying_too[] = { 13, 10, 14, 12, 12 };
    struct ntk_measures before[5] = { 0 };
    struct ntk_measures after[5] = { 0 };
    struct ntk_comparison c;

    (void)state;
    for (int i = 0; i < 5; i++) {
        put(&before[i], NTK_MEASURE_OPERATION, "slower", 100 + i);
        put(&after[i], NTK_MEASURE_OPERATION, "slower", 200 + i);
        put(&before[i], NTK_MEASURE_OPERATION, "varying", varying[i]);
        put(&after[i], NTK_MEASURE_OPERATION, "varying", varying_too[i] + 0.5);
        put(&before[i], NTK_MEASURE_QUEUE, "gone", 50);
        put(&after[i], NTK_MEASURE_LAYER, "new", 60);
        put(&before[i], NTK_MEASURE_ENGINE, "same", 7);
        put(&after[i], NTK_MEASURE_ENGINE, "same", 7);
    }
    assert_int_equal(ntk_analysis_comparison(before, 5, after, 5, &c), 0);

    assert_true(c.can_tell);
    assert_int_equal(c.row_count, 5);
    assert_int_equal(c.rows[0].kind, NTK_MEASURE_LAYER); /* by kind */
    assert_string_equal(c.rows[1].name, "slower");       /* then by change */
    assert_true(row(&c, "slower")->before == 102 && row(&c, "slower")->after == 202);
    assert_true(row(&c, "slower")->is_significant);
    assert_true(fabs(row(&c, "slower")->p - 2.0 / 252) < 1e-9);
    assert_false(row(&c, "varying")->is_significant);
    assert_false(row(&c, "gone")->has_after);
    assert_true(row(&c, "gone")->after == 0 && row(&c, "gone")->is_significant);
    assert_false(row(&c, "new")->has_before);
    assert_false(row(&c, "same")->is_significant);
    assert_true(row(&c, "same")->p >= 1);
    ntk_comparison_fini(&c);

    /* One of each: the same medians, no test. */
    assert_int_equal(ntk_analysis_comparison(before, 1, after, 1, &c), 0);
    assert_false(c.can_tell);
    assert_false(row(&c, "slower")->has_p);
    assert_false(row(&c, "slower")->is_significant);
    ntk_comparison_fini(&c);
    for (int i = 0; i < 5; i++) {
        ntk_measures_fini(&before[i]);
        ntk_measures_fini(&after[i]);
    }
}

static double value(const struct ntk_measures *measures, enum ntk_measure_kind kind,
                    const char *name)
{
    const struct ntk_measure *measure = ntk_measures_find(measures, kind, name);

    if (!measure) {
        fail_msg("no measure %s", name);
    }
    return measure->value;
}

static void the_measures_of_an_execution_are_those_of_its_analyses(void **state)
{
    struct hand_trace h;
    struct ntk_program *program;
    struct ntk_dependencies dependencies;
    struct ntk_critical_path path;
    struct ntk_cost_table costs;
    struct ntk_measures measures;

    (void)state;
    hand_trace_begin(&h, 2, "trn2.3xlarge", 1000);
    for (size_t core = 0; core < 2; core++) {
        uint32_t slot = hand_trace_nop(&h, core, NTK_ISA_ENGINE_PE, NTK_ISA_NO_SEMAPHORE, 0,
                                       NTK_ISA_NO_SEMAPHORE);
        hand_trace_run(&h, core, NTK_ISA_ENGINE_PE, slot, 100 * (int64_t)core, 800);
        hand_trace_packet(&h, core, 0, 14, NTK_TRACE_DMA_INSTRUCTION, 64, 0, 10);
    }
    hand_trace_end(&h);
    assert_int_equal(ntk_program_create(&h.trace, &program), 0);
    assert_int_equal(ntk_analysis_dependencies(program, &dependencies), 0);
    assert_int_equal(ntk_analysis_critical_path(program, &dependencies, &path), 0);
    assert_int_equal(ntk_analysis_cost_table(program, &path, &costs), 0);
    assert_int_equal(ntk_analysis_measures(program, &path, &costs, &measures), 0);

    assert_true(value(&measures, NTK_MEASURE_TOTAL, "execution") == 1e6);
    assert_true(value(&measures, NTK_MEASURE_RESOURCE, "Tensor engine") == 8e5);
    assert_true(value(&measures, NTK_MEASURE_OPERATION, "Tensor NOP") == 8e5);
    assert_true(value(&measures, NTK_MEASURE_ENGINE, "Tensor") == 8e5);
    assert_true(value(&measures, NTK_MEASURE_ENGINE, "Vector") == 0);
    assert_true(value(&measures, NTK_MEASURE_BYTES, "(instruction)") == 128); /* both cores */
    ntk_measures_fini(&measures);
    ntk_cost_table_fini(&costs);
    ntk_critical_path_fini(&path);
    ntk_dependencies_fini(&dependencies);
    ntk_program_destroy(program);
    hand_trace_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_changed_is_told_from_what_varies),
        cmocka_unit_test(the_measures_of_an_execution_are_those_of_its_analyses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
