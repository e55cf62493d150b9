/* SPDX-License-Identifier: MIT */
/* Method: hand-written measures on both sides; and the measures of a hand-made trace. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/comparison.h"
#include "profiler/output/answers/analyses.h"
#include "profiler/output/answers/output_analysis.h"
#include "tests/support/hand_trace.h"
#include "tests/support/unit.h"

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

/* Five executions per side: one operation is slower in each, one varies, one is gone, one is
 * new. */
static void significant_changes_are_distinguished_from_variation(void **state)
{
    static const double varying[] = { 10, 14, 11, 13, 12 };
    static const double varying_too[] = { 13, 10, 14, 12, 12 };
    struct ntk_measures before[5] = { 0 };
    struct ntk_measures after[5] = { 0 };
    struct ntk_comparison c;

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

    /* One execution each: the same medians, no test. */
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

static void measures_of_an_execution_match_its_analyses(void **state)
{
    struct hand_trace h;
    struct ntk_program *program;
    struct ntk_dependencies dependencies;
    struct ntk_critical_path path;
    struct ntk_cost_table costs;
    struct ntk_measures measures;

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
    assert_int_equal(ntk_analysis_measures(program, &path, &costs, NULL, &measures, NULL), 0);

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

/* A run of 100 us with 50 in an engine, and one of 50 us with 40: shares of a half and four
 * fifths. */
static void compared_shares_are_fractions_of_the_time_of_their_own_run(void **state)
{
    struct ntk_measures before = { 0 };
    struct ntk_measures after = { 0 };
    struct ntk_comparison c;
    struct ntk_buf text = { 0 };
    double share = 0;

    (void)state;
    put(&before, NTK_MEASURE_TOTAL, "execution", 100e6);
    put(&after, NTK_MEASURE_TOTAL, "execution", 50e6);
    put(&before, NTK_MEASURE_ENGINE, "Tensor", 50e6);
    put(&after, NTK_MEASURE_ENGINE, "Tensor", 40e6);
    put(&after, NTK_MEASURE_QUEUE, "q", 5e6);
    put(&before, NTK_MEASURE_REGION, "loop", 10e6);
    put(&before, NTK_MEASURE_BYTES, "q", 10);
    put(&before, NTK_MEASURE_USE, "MFU", 0.25);
    put(&after, NTK_MEASURE_USE, "MFU", 0.5);
    assert_int_equal(ntk_analysis_comparison(&before, 1, &after, 1, &c), 0);
    assert_true(ntk_comparison_share(&c, row(&c, "Tensor"), false, &share) && share == 0.5);
    assert_true(ntk_comparison_share(&c, row(&c, "Tensor"), true, &share) && share == 0.8);
    for (size_t i = 0; i < c.row_count; i++) { /* not part of a run, or absent on that side */
        const struct ntk_comparison_row *one = &c.rows[i];
        bool is_part =
            one->kind == NTK_MEASURE_ENGINE || (one->kind == NTK_MEASURE_QUEUE && one->has_after);
        assert_int_equal(ntk_comparison_share(&c, one, true, &share), is_part);
    }
    ntk_output_comparison_text(&c, NULL, &text);
    assert_non_null(strstr(ntk_buf_text_get(&text), "50.000      50.0%    40.000     80.0%"));
    assert_non_null(strstr(ntk_buf_text_get(&text), "MFU       25.00%  50.00%"));
    ntk_buf_fini(&text);
    ntk_comparison_fini(&c);
    ntk_measures_fini(&before);
    ntk_measures_fini(&after);
}

static void measure_sample(enum ntk_metrics_version version, struct ntk_measures *out)
{
    struct ntk_trace_options options = { .metrics = version };
    struct ntk_analyses *analyses;
    struct ntk_ntff *ntff;
    struct ntk_trace *trace;
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/tests/corpus/ntff/sample_v6.ntff",
                   getenv("NTK_SOURCE_DIR"));
    assert_int_equal(ntk_ntff_open(path, &ntff, NULL), 0);
    assert_int_equal(ntk_trace_create(ntff, NULL, &options, &trace, NULL), 0);
    assert_int_equal(ntk_analyses_create(trace, &analyses), 0);
    assert_int_equal(ntk_analysis_measures(analyses->program,
                                           analyses->has_path ? &analyses->path : NULL,
                                           &analyses->costs, NULL, out, NULL),
                     0);
    ntk_analyses_destroy(analyses);
    ntk_trace_destroy(trace);
    ntk_ntff_close(ntff);
}

/* In a program without products only MFU depends on the version. */
static void measures_are_the_same_in_every_metrics_version(void **state)
{
    struct ntk_measures current;
    struct ntk_measures older;

    (void)state;
    measure_sample(NTK_METRICS_2_32, &current);
    measure_sample(NTK_METRICS_2_28, &older);
    assert_true(current.items.count > NTK_MEASURE_KIND_COUNT);
    assert_int_equal(older.items.count, current.items.count);
    ntk_vec_each(const struct ntk_measure, measure, &current.items) {
        assert_true(value(&older, measure->kind, measure->name) == measure->value);
    }
    ntk_measures_fini(&current);
    ntk_measures_fini(&older);
}

/* ---- repeated executions that vary ---- */

#define LAYERS 8
#define REPEATS 6

/* Numbers that look random and are the same on every machine (splitmix64). */
static double draw(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

/* How executions vary, and in some cases which layer is slower and by which factor. */
struct world {
    double noise, outliers; /* up to this share longer; this share takes twice as long */
    int slowed;
    double factor;
};

static void one_execution(uint64_t *chance, const struct world *world, bool is_slowed,
                          struct ntk_measures *out)
{
    double total = 0;

    for (int l = 0; l < LAYERS; l++) {
        char name[16];
        double layer_ps = 1e6 * (l + 1) * (1 + world->noise * draw(chance));

        layer_ps *= draw(chance) < world->outliers ? 2 : 1;
        layer_ps *= is_slowed && l == world->slowed ? world->factor : 1;
        (void)snprintf(name, sizeof name, "layer %d", l);
        put(out, NTK_MEASURE_LAYER, name, layer_ps);
        total += layer_ps;
    }
    put(out, NTK_MEASURE_TOTAL, "execution", total);
}

static enum ntk_comparison_verdict compare(uint64_t *chance, const struct world *world,
                                           char *out_most, size_t most_bytes)
{
    struct ntk_measures before[REPEATS] = { 0 };
    struct ntk_measures after[REPEATS] = { 0 };
    struct ntk_comparison c;

    for (int i = 0; i < REPEATS; i++) {
        one_execution(chance, world, false, &before[i]);
        one_execution(chance, world, true, &after[i]);
    }
    assert_int_equal(ntk_analysis_comparison(before, REPEATS, after, REPEATS, &c), 0);
    enum ntk_comparison_verdict verdict = c.verdict;
    assert_non_null(c.total);
    (void)snprintf(out_most, most_bytes, "%s", c.most ? c.most->name : "");
    ntk_comparison_fini(&c);
    for (int i = 0; i < REPEATS; i++) {
        ntk_measures_fini(&before[i]);
        ntk_measures_fini(&after[i]);
    }
    return verdict;
}

/* Of 400 comparisons of a program with itself, 5 % (20) may find a change, and hardly ever 40. */
static void repeated_executions_of_a_program_show_no_change(void **state)
{
    const struct world world = { 0.06, 0.02, -1, 1 };
    uint64_t chance = 1;
    unsigned found = 0;
    char most[32];

    for (int i = 0; i < 400; i++) {
        enum ntk_comparison_verdict verdict = compare(&chance, &world, most, sizeof most);
        assert_int_not_equal(verdict, NTK_COMPARISON_SAME);
        assert_true(verdict != NTK_COMPARISON_CHANCE || most[0] == '\0');
        found += verdict != NTK_COMPARISON_CHANCE;
    }
    assert_true(found < 40);
    assert_true(found > 0); /* otherwise it could not find anything */
}

/* One layer that is a third slower shows in the length of the execution. If a few executions vary
 * much more than that, the layer is still named. */
static void a_slowed_layer_is_reported_by_name(void **state)
{
    static const struct world worlds[] = { { 0.06, 0, 0, 1.33 }, { 0.06, 0.02, 0, 1.33 } };
    uint64_t chance = 2;

    for (int w = 0; w < 2; w++) {
        unsigned named = 0;
        unsigned slower = 0;
        for (int i = 0; i < 200; i++) {
            struct world world = worlds[w];
            char most[32];
            char wanted[16];

            world.slowed = 4 + i % 4; /* at least a seventh of the execution */
            slower += compare(&chance, &world, most, sizeof most) == NTK_COMPARISON_SLOWER;
            (void)snprintf(wanted, sizeof wanted, "layer %d", world.slowed);
            named += strcmp(most, wanted) == 0;
        }
        assert_true(named >= (w == 0 ? 195 : 160));
        assert_true(slower >= (w == 0 ? 190 : 60));
    }
}

/* If before and after are exchanged, every change has the opposite sign; p and significance are
 * equal. */
static void a_reversed_comparison_has_the_opposite_changes(void **state)
{
    const struct world world = { 0.06, 0, 6, 1.5 };
    uint64_t chance = 3;
    struct ntk_measures sides[2][REPEATS] = { 0 };
    struct ntk_comparison forth;
    struct ntk_comparison back;

    for (int i = 0; i < REPEATS; i++) {
        one_execution(&chance, &world, false, &sides[0][i]);
        one_execution(&chance, &world, true, &sides[1][i]);
    }
    assert_int_equal(ntk_analysis_comparison(sides[0], REPEATS, sides[1], REPEATS, &forth), 0);
    assert_int_equal(ntk_analysis_comparison(sides[1], REPEATS, sides[0], REPEATS, &back), 0);
    assert_int_equal(forth.row_count, back.row_count);
    for (size_t i = 0; i < forth.row_count; i++) {
        assert_string_equal(forth.rows[i].name, back.rows[i].name);
        assert_true(forth.rows[i].before == back.rows[i].after);
        assert_true(fabs(forth.rows[i].p - back.rows[i].p) < 1e-12);
        assert_int_equal(forth.rows[i].is_significant, back.rows[i].is_significant);
    }
    assert_int_equal(forth.verdict, NTK_COMPARISON_SLOWER);
    assert_int_equal(back.verdict, NTK_COMPARISON_FASTER);
    assert_string_equal(forth.most->name, "layer 6");
    assert_string_equal(back.most->name, "layer 6");
    ntk_comparison_fini(&forth);
    ntk_comparison_fini(&back);
    for (int i = 0; i < REPEATS; i++) {
        ntk_measures_fini(&sides[0][i]);
        ntk_measures_fini(&sides[1][i]);
    }
}

/* One execution each shows a difference, but not whether it is more than chance. */
static void single_executions_are_compared_by_differences_of_their_measures(void **state)
{
    struct ntk_measures before = { 0 };
    struct ntk_measures after = { 0 };
    struct ntk_comparison c;

    put(&before, NTK_MEASURE_TOTAL, "execution", 100);
    put(&before, NTK_MEASURE_RESOURCE, "Tensor engine", 60);
    put(&before, NTK_MEASURE_RESOURCE, "Vector engine", 40);
    put(&after, NTK_MEASURE_TOTAL, "execution", 110);
    put(&after, NTK_MEASURE_RESOURCE, "Tensor engine", 40);
    put(&after, NTK_MEASURE_RESOURCE, "Vector engine", 70);
    assert_int_equal(ntk_analysis_comparison(&before, 1, &before, 1, &c), 0);
    assert_int_equal(c.verdict, NTK_COMPARISON_SAME);
    assert_int_equal(c.changed_count, 0);
    ntk_comparison_fini(&c);
    assert_int_equal(ntk_analysis_comparison(&before, 1, &after, 1, &c), 0);
    assert_int_equal(c.verdict, NTK_COMPARISON_SLOWER);
    assert_int_equal(c.changed_count, 3);
    assert_string_equal(c.most->name, "Vector engine");
    ntk_comparison_fini(&c);
    put(&after, NTK_MEASURE_TOTAL, "execution", -10); /* adds up: 100 again */
    assert_int_equal(ntk_analysis_comparison(&before, 1, &after, 1, &c), 0);
    assert_int_equal(c.verdict, NTK_COMPARISON_PARTS);
    assert_int_equal(c.changed_count, 2);
    ntk_comparison_fini(&c);
    ntk_measures_fini(&before);
    ntk_measures_fini(&after);
}

/* Layers and regions belong to a program; engines, queues and names in parentheses do not. */
static void programs_without_common_parts_are_unrelated(void **state)
{
    struct ntk_measures before = { 0 };
    struct ntk_measures after = { 0 };
    struct ntk_comparison c;
    struct ntk_buf text = { 0 };

    put(&before, NTK_MEASURE_TOTAL, "execution", 100e6);
    put(&before, NTK_MEASURE_LAYER, "(no layer)", 20e6);
    put(&before, NTK_MEASURE_LAYER, "attention", 80e6);
    put(&before, NTK_MEASURE_REGION, "softmax", 10e6);
    put(&before, NTK_MEASURE_ENGINE, "Tensor", 60e6);
    put(&after, NTK_MEASURE_TOTAL, "execution", 110e6);
    put(&after, NTK_MEASURE_LAYER, "(no layer)", 20e6);
    assert_int_equal(ntk_analysis_comparison(&before, 1, &after, 1, &c), 0);
    assert_false(c.is_unrelated); /* one side has no layers: unknown */
    ntk_comparison_fini(&c);
    put(&after, NTK_MEASURE_LAYER, "mlp", 90e6);
    put(&after, NTK_MEASURE_ENGINE, "Tensor", 50e6);
    put(&after, NTK_MEASURE_ENGINE, "Vector", 5e6);
    assert_int_equal(ntk_analysis_comparison(&before, 1, &after, 1, &c), 0);
    assert_true(c.is_unrelated);
    ntk_output_comparison_text(&c, NULL, &text);
    assert_non_null(strstr(ntk_buf_text_get(&text),
                           "Different programs: they share 0 of 2 layers and regions before and 1 "
                           "after\nAFTER takes 10.000 us more than BEFORE (+10.0%)"));
    assert_non_null(strstr(ntk_buf_text_get(&text), "Vector     "));
    assert_non_null(strstr(ntk_buf_text_get(&text), "new"));
    assert_null(strstr(ntk_buf_text_get(&text), "mlp"));
    ntk_buf_fini(&text);
    ntk_comparison_fini(&c);
    put(&after, NTK_MEASURE_REGION, "softmax", 10e6);
    assert_int_equal(ntk_analysis_comparison(&before, 1, &after, 1, &c), 0);
    assert_false(c.is_unrelated);
    ntk_comparison_fini(&c);
    ntk_measures_fini(&before);
    ntk_measures_fini(&after);
}

/* For example, regions are unknown in a capture of several executions. */
static void unknown_parts_do_not_make_programs_unrelated(void **state)
{
    struct ntk_measures before = { 0 };
    struct ntk_measures after = { .unknown = 1u << NTK_MEASURE_REGION };
    struct ntk_comparison c;

    (void)state;
    put(&before, NTK_MEASURE_LAYER, "attention", 80e6);
    put(&after, NTK_MEASURE_LAYER, "attention", 80e6);
    for (int i = 0; i < 60; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "tile %d", i);
        put(&before, NTK_MEASURE_REGION, name, 1e6);
    }
    assert_int_equal(ntk_analysis_comparison(&before, 1, &after, 1, &c), 0);
    assert_int_equal(c.unknown_count, 60);
    assert_false(c.is_unrelated);
    ntk_comparison_fini(&c);
    ntk_measures_fini(&before);
    ntk_measures_fini(&after);
}

/* One execution each. The later one lacks the records of queues and the length; a peak is unknown
 * before. Method: the verdict, the rows, the text. */
static void figures_missing_on_one_side_do_not_count_as_changed(void **state)
{
    struct ntk_measures before = { 0 };
    struct ntk_measures after = { .unknown = 1u << NTK_MEASURE_QUEUE };
    struct ntk_comparison c;
    struct ntk_buf text = { 0 };

    put(&before, NTK_MEASURE_TOTAL, "execution", 100e6);
    put(&before, NTK_MEASURE_QUEUE, "qSyncIO0", 20e6);
    put(&before, NTK_MEASURE_OPERATION, "Tensor MATMUL", 5e6);
    put(&after, NTK_MEASURE_MEMORY, "SBUF peak per partition", 1000);
    put(&after, NTK_MEASURE_OPERATION, "Tensor MATMUL", 5e6);
    assert_int_equal(ntk_analysis_comparison(&before, 1, &after, 1, &c), 0);
    assert_int_equal(c.verdict, NTK_COMPARISON_PARTS); /* neither the same nor faster */
    assert_int_equal(c.changed_count, 0);
    assert_int_equal(c.unknown_count, 3);
    assert_true(row(&c, "execution")->is_unknown && row(&c, "execution")->has_before);
    assert_true(row(&c, "qSyncIO0")->is_unknown);
    assert_true(row(&c, "SBUF peak per partition")->is_unknown);
    assert_false(row(&c, "Tensor MATMUL")->is_unknown);
    ntk_output_comparison_text(&c, NULL, &text);
    assert_non_null(strstr(ntk_buf_text_get(&text), "The duration of an execution is unknown\n"));
    assert_non_null(strstr(ntk_buf_text_get(&text), "unknown after\n"));
    assert_non_null(strstr(ntk_buf_text_get(&text), "unknown before\n"));
    assert_non_null(strstr(ntk_buf_text_get(&text), "\n1 unknown AFTER\n"));
    assert_null(strstr(ntk_buf_text_get(&text), "gone"));
    assert_null(strstr(ntk_buf_text_get(&text), "new"));
    ntk_buf_fini(&text);
    ntk_comparison_fini(&c);

    put(&after, NTK_MEASURE_TOTAL, "execution", 100e6);
    after.unknown = 0; /* the execution uses no queue */
    assert_int_equal(ntk_analysis_comparison(&before, 1, &after, 1, &c), 0);
    assert_false(row(&c, "qSyncIO0")->is_unknown);
    assert_int_equal(c.changed_count, 1);
    ntk_comparison_fini(&c);
    ntk_measures_fini(&before);
    ntk_measures_fini(&after);
}

/* Of five executions after, three lack all records: the other two decide, not three zeros. */
static void executions_without_a_figure_are_excluded_from_medians(void **state)
{
    struct ntk_measures before[5] = { 0 };
    struct ntk_measures after[5] = { 0 };
    struct ntk_comparison c;

    for (int i = 0; i < 5; i++) {
        put(&before[i], NTK_MEASURE_TOTAL, "execution", 100 + i);
        put(&before[i], NTK_MEASURE_ENGINE, "Tensor", 10);
        after[i].unknown = i < 3 ? 1u << NTK_MEASURE_ENGINE : 0;
        if (i >= 3) {
            put(&after[i], NTK_MEASURE_TOTAL, "execution", 100 + i);
            put(&after[i], NTK_MEASURE_ENGINE, "Tensor", 10);
        }
    }
    assert_int_equal(ntk_analysis_comparison(before, 5, after, 5, &c), 0);
    assert_true(row(&c, "execution")->after == 103.5);
    assert_true(row(&c, "Tensor")->after == 10);
    assert_int_equal(c.changed_count, 0);
    ntk_comparison_fini(&c);
    for (int i = 0; i < 5; i++) {
        ntk_measures_fini(&before[i]);
        ntk_measures_fini(&after[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(significant_changes_are_distinguished_from_variation),
        cmocka_unit_test(compared_shares_are_fractions_of_the_time_of_their_own_run),
        cmocka_unit_test(measures_of_an_execution_match_its_analyses),
        cmocka_unit_test(measures_are_the_same_in_every_metrics_version),
        cmocka_unit_test(repeated_executions_of_a_program_show_no_change),
        cmocka_unit_test(a_slowed_layer_is_reported_by_name),
        cmocka_unit_test(a_reversed_comparison_has_the_opposite_changes),
        cmocka_unit_test(single_executions_are_compared_by_differences_of_their_measures),
        cmocka_unit_test(programs_without_common_parts_are_unrelated),
        cmocka_unit_test(unknown_parts_do_not_make_programs_unrelated),
        cmocka_unit_test(figures_missing_on_one_side_do_not_count_as_changed),
        cmocka_unit_test(executions_without_a_figure_are_excluded_from_medians),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
