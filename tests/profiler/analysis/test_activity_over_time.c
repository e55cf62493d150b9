/* SPDX-License-Identifier: MIT */
/* Method: hand-made spans over ten pieces of 100 ns; ten programs of one engine over four pieces of
 * 250 ns. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/activity_over_time.h"
#include "tests/support/hand_trace.h"
#include "tests/support/unit.h"

#define NONE NTK_ISA_NO_SEMAPHORE

static void expect_pieces(const struct ntk_activity_row *row, const float expected[10])
{
    for (int p = 0; p < 10; p++) {
        if (fabsf(row->pieces[p] - expected[p]) > 1e-5F) {
            fail_msg("piece %d is %g, not %g", p, (double)row->pieces[p], (double)expected[p]);
        }
    }
}

static void work_is_counted_in_every_interval_that_it_overlaps(void **state)
{
    static const float engine[10] = { 0, 0.5F, 1, 1, 0.2F, 0, 0, 0, 0, 1 };
    static const float queue[10] = { 0.1F, 0, 0, 0, 0, 0.75F, 0, 0, 0, 0 };
    static struct ntk_ntff_queue names[] = { { .engine = 3, .queue = 1, .name = "qSPIO0" },
                                             { .engine = 4, .queue = 1, .name = "qSPIO0" } };
    struct ntk_isa_instr only = ntk_isa_instr_make(NTK_ISA_OP_EVENT_SEMAPHORE);
    struct hand_trace h;
    struct ntk_activity_over_time a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    h.subgraphs[0].queues = names;
    h.subgraphs[0].queue_count = 2;
    uint32_t work = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, NONE, 0, NONE);
    uint32_t wait = hand_trace_open(&h, 0, NTK_ISA_ENGINE_ACT, &only);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, work, 150, 380);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, work, 300, 420); /* overlaps: counted once */
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, wait, 500, 800); /* no work */
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, work, 900, 1000);
    hand_trace_packet(&h, 0, 3, 1, NTK_TRACE_DMA_IO, 64, 0, 10);
    hand_trace_packet(&h, 0, 3, 1, NTK_TRACE_DMA_IO, 64, 500, 550);
    hand_trace_packet(&h, 0, 4, 1, NTK_TRACE_DMA_IO, 64, 525,
                      575); /* another engine, the same queue */
    hand_trace_end(&h);
    assert_int_equal(ntk_analysis_activity_over_time(&h.trace, 10, &a), 0);

    assert_int_equal(a.row_count, 2); /* a row that never works is omitted */
    assert_int_equal(a.rows[0].engine, NTK_NTFF_ENGINE_SCALAR);
    expect_pieces(&a.rows[0], engine);
    assert_true(fabs(a.rows[0].busy_ratio - 0.37) < 1e-9);
    assert_int_equal(a.rows[1].engine, NTK_NTFF_ENGINE_AXI);
    assert_string_equal(a.rows[1].name, "qSPIO0");
    expect_pieces(&a.rows[1], queue);
    assert_true(fabs(a.rows[1].busy_ratio - 0.085) < 1e-9);
    ntk_activity_over_time_fini(&a);

    /* A single piece is the whole. */
    assert_int_equal(ntk_analysis_activity_over_time(&h.trace, 1, &a), 0);
    assert_true(fabsf(a.rows[0].pieces[0] - 0.37F) < 1e-5F);
    ntk_activity_over_time_fini(&a);
    hand_trace_fini(&h);
}

static void rows_are_separated_by_core_and_unnamed_rings_by_kind(void **state)
{
    struct hand_trace h;
    struct ntk_activity_over_time a;

    hand_trace_begin(&h, 2, "trn2.3xlarge", 1000);
    uint32_t slot = hand_trace_nop(&h, 1, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    hand_trace_run(&h, 1, NTK_ISA_ENGINE_PE, slot, 0, 10);
    hand_trace_packet(&h, 1, 0, 14, NTK_TRACE_DMA_INSTRUCTION, 64, 0, 10);
    hand_trace_packet(&h, 0, 0, 14, NTK_TRACE_DMA_INSTRUCTION, 64, 0, 10);
    hand_trace_end(&h);
    assert_int_equal(ntk_analysis_activity_over_time(&h.trace, 10, &a), 0);
    assert_int_equal(a.row_count, 3);
    assert_int_equal(a.rows[0].core, 0);
    assert_null(a.rows[0].name);
    assert_int_equal(a.rows[0].dma_class, NTK_TRACE_DMA_INSTRUCTION);
    assert_int_equal(a.rows[1].core, 1);
    assert_int_equal(a.rows[1].engine, NTK_NTFF_ENGINE_TENSOR);
    assert_int_equal(a.rows[2].engine, NTK_NTFF_ENGINE_AXI);
    ntk_activity_over_time_fini(&a);
    h.trace.has_total = false;
    assert_int_equal(ntk_analysis_activity_over_time(&h.trace, 10, &a), -ENODATA);
    hand_trace_fini(&h);
}

/* 177 / (236 / 40) is slightly less than 30, where the thirty-first piece starts. */
static void work_that_starts_on_an_interval_boundary_is_counted(void **state)
{
    struct hand_trace h;
    struct ntk_activity_over_time a;
    double sum = 0;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t slot = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, slot, 0, 1);
    hand_trace_end(&h);
    h.trace.total_ps = 236;
    h.trace.cores[0].instructions[0].start_ps = 177;
    h.trace.cores[0].instructions[0].end_ps = 236;
    assert_int_equal(ntk_analysis_activity_over_time(&h.trace, 40, &a), 0);
    for (int p = 0; p < 40; p++) {
        sum += (double)a.rows[0].pieces[p];
    }
    assert_true(fabs(sum - 10) < 1e-4);
    ntk_activity_over_time_fini(&a);
    hand_trace_fini(&h);
}

/* Runs from, to in ns of 1000; their shares of each piece are computed by hand. */
static const struct {
    const char *what;
    int64_t runs[3][2];
    float pieces[4];
} programs[] = {
    { "all of it", { { 0, 1000 } }, { 1, 1, 1, 1 } },
    { "one piece", { { 250, 500 } }, { 0, 1, 0, 0 } },
    { "half of two", { { 125, 375 } }, { 0.5F, 0.5F, 0, 0 } },
    { "both ends", { { 0, 50 }, { 950, 1000 } }, { 0.2F, 0, 0, 0.2F } },
    { "overlap", { { 0, 500 }, { 250, 750 } }, { 1, 1, 1, 0 } },
    { "one in another", { { 0, 1000 }, { 400, 600 } }, { 1, 1, 1, 1 } },
    { "one after another", { { 0, 250 }, { 250, 500 } }, { 1, 1, 0, 0 } },
    { "across an edge", { { 249, 251 } }, { 0.004F, 0.004F, 0, 0 } },
    { "three", { { 100, 200 }, { 350, 450 }, { 600, 700 } }, { 0.4F, 0.4F, 0.4F, 0 } },
    { "the last ns", { { 999, 1000 } }, { 0, 0, 0, 0.004F } },
};

static void each_program_has_the_expected_share_of_each_interval(void **state)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct hand_trace h;
        struct ntk_activity_over_time a;

        hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
        uint32_t work = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, NONE, 0, NONE);
        for (size_t r = 0; r < 3 && programs[i].runs[r][1]; r++) {
            hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, work, programs[i].runs[r][0],
                           programs[i].runs[r][1]);
        }
        hand_trace_end(&h);
        assert_int_equal(ntk_analysis_activity_over_time(&h.trace, 4, &a), 0);
        assert_int_equal(a.row_count, 1);
        float sum = 0;
        for (int p = 0; p < 4; p++) {
            sum += programs[i].pieces[p] / 4;
            if (fabsf(a.rows[0].pieces[p] - programs[i].pieces[p]) > 1e-5F) {
                fail_msg("%s: piece %d is %g", programs[i].what, p, (double)a.rows[0].pieces[p]);
            }
        }
        assert_true(fabs(a.rows[0].busy_ratio - (double)sum) < 1e-5);
        ntk_activity_over_time_fini(&a);
        hand_trace_fini(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_counted_in_every_interval_that_it_overlaps),
        cmocka_unit_test(each_program_has_the_expected_share_of_each_interval),
        cmocka_unit_test(rows_are_separated_by_core_and_unnamed_rings_by_kind),
        cmocka_unit_test(work_that_starts_on_an_interval_boundary_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
