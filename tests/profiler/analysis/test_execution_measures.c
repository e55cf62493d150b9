/* SPDX-License-Identifier: MIT */
/* Method: a hand-made trace of two executions. One of them lacks a known number of records. */
#include "profiler/output/answers/execution_measures.h"

#include <string.h>

#include "tests/support/hand_trace.h"
#include "tests/support/unit.h"

#define PE NTK_ISA_ENGINE_PE
#define NONE NTK_ISA_NO_SEMAPHORE
#define SLOTS 10

struct seen {
    size_t count;
    uint64_t lost, executions;
    unsigned lacks;
};

static void see(const struct ntk_program *program, void *ctx)
{
    struct seen *seen = ctx;

    seen->count++;
    seen->lost = program->dropped.instructions.lost;
    seen->executions = program->execution_count;
    seen->lacks = ntk_program_lacks(program);
}

/* Two executions of ten instructions; slot `lost` of execution `of` has no record. */
static void trace_make(struct hand_trace *h, uint64_t counts[HAND_TRACE_SLOTS], int of, int lost)
{
    hand_trace_begin(h, 1, "trn2.3xlarge", 1000);
    for (int i = 0; i < SLOTS; i++) {
        uint32_t slot = hand_trace_nop(h, 0, PE, NONE, 0, NONE);

        for (int e = 0; e < 2; e++) {
            if (e != of || i != lost) {
                hand_trace_run(h, 0, PE, slot, 500 * e + 40 * i, 500 * e + 40 * i + 30);
                counts[slot]++;
            }
        }
    }
    hand_trace_end(h);
    h->cores[0].has_slot_counts = true;
    h->cores[0].slot_counts[NTK_NTFF_ENGINE_TENSOR] = counts;
}

static void lost_records_of_any_execution_are_found(void **state)
{
    (void)state;
    for (int of = -1; of < 2; of++) {
        uint64_t counts[HAND_TRACE_SLOTS] = { 0 };
        struct ntk_execution_measures found = { 0 };
        struct seen seen = { 0 };
        struct hand_trace h;

        trace_make(&h, counts, of, 4);
        assert_int_equal(
            ntk_execution_measures_add(&found, &h.trace, NULL, "run.ntff", true, see, &seen), 0);
        assert_int_equal(found.measures.count, 2);
        assert_int_equal(seen.count, 1); /* once per capture */
        assert_int_equal(seen.executions, 2);
        assert_int_equal(seen.lost, of >= 0);
        assert_int_equal(seen.lacks, of >= 0 ? NTK_LACK_INSTRUCTIONS : 0);
        for (size_t i = 0; i < 2; i++) {
            const struct ntk_measures *one = ntk_vec_at(&found.measures, i);

            assert_string_equal(one->source, i ? "run.ntff, execution 2" : "run.ntff, execution 1");
            assert_int_equal(ntk_measures_have(one, NTK_MEASURE_OPERATION), of < 0);
            assert_int_equal(ntk_measures_have(one, NTK_MEASURE_ENGINE), of < 0);
            /* From the first instruction to the last; after the last one, to the end. */
            assert_true(ntk_measures_find(one, NTK_MEASURE_TOTAL, NTK_MEASURE_TOTAL_NAME)->value ==
                        (i ? 500e3 : 390e3));
        }
        ntk_execution_measures_fini(&found);
        hand_trace_fini(&h);
    }
}

/* The page has the analyses of the whole capture already. */
static void given_analyses_of_the_whole_give_the_same_measures(void **state)
{
    uint64_t counts[HAND_TRACE_SLOTS] = { 0 };
    struct ntk_execution_measures found[2] = { 0 };
    struct ntk_analyses *whole;
    struct hand_trace h;

    (void)state;
    trace_make(&h, counts, -1, 0);
    assert_int_equal(ntk_analyses_create(&h.trace, &whole), 0);
    for (size_t f = 0; f < 2; f++) {
        assert_int_equal(ntk_execution_measures_add(&found[f], &h.trace, f ? whole : NULL, NULL,
                                                    false, NULL, NULL),
                         0);
        assert_int_equal(found[f].measures.count, 2);
    }
    for (size_t i = 0; i < 2; i++) {
        const struct ntk_measures *own = ntk_vec_at(&found[0].measures, i);
        const struct ntk_measures *given = ntk_vec_at(&found[1].measures, i);

        assert_true(own->items.count > 5);
        assert_int_equal(own->items.count, given->items.count);
        ntk_vec_each(const struct ntk_measure, measure, &own->items) {
            assert_true(ntk_measures_find(given, measure->kind, measure->name)->value ==
                        measure->value);
        }
    }
    ntk_execution_measures_fini(&found[0]);
    ntk_execution_measures_fini(&found[1]);
    ntk_analyses_destroy(whole);
    hand_trace_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_records_of_any_execution_are_found),
        cmocka_unit_test(given_analyses_of_the_whole_give_the_same_measures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
