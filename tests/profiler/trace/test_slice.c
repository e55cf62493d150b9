/* SPDX-License-Identifier: MIT */
/* Method: a hand-made trace of two executions with every kind of row, cut at its border. */
#include "profiler/trace/slice.h"

#include "tests/support/hand_trace.h"
#include "tests/support/unit.h"

#define PE NTK_ISA_ENGINE_PE
#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)

static void a_slice_has_the_rows_that_start_in_it(void **state)
{
    struct hand_trace h;
    struct ntk_trace *slice;

    (void)state;
    hand_trace_begin(&h, 2, "trn2.3xlarge", 1000);
    for (size_t c = 0; c < 2; c++) {
        uint32_t slot = hand_trace_nop(&h, c, PE, NTK_ISA_NO_SEMAPHORE, 0, NTK_ISA_NO_SEMAPHORE);
        hand_trace_run(&h, c, PE, slot, 0, 100);
        hand_trace_run(&h, c, PE, slot, 400, 500 + 100 * (int64_t)c);
        hand_trace_packet(&h, c, 0, 3, NTK_TRACE_DMA_IO, 64, 300, 450);
        hand_trace_packet(&h, c, 0, 3, NTK_TRACE_DMA_IO, 32, 400, 410);
        hand_trace_change(&h, c, NTK_NTFF_ENGINE_AXI, 5, 1, 399);
        hand_trace_change(&h, c, NTK_NTFF_ENGINE_AXI, 5, 2, 400);
    }
    hand_trace_end(&h);

    assert_int_equal(ntk_trace_slice_create(&h.trace, 0, NS(400), &slice), 0);
    assert_int_equal(slice->total_ps, NS(400));
    assert_int_equal(slice->core_count, 2);
    assert_int_equal(slice->cores[1].instruction_count, 1);
    assert_int_equal(slice->cores[1].packet_count, 1);
    assert_int_equal(slice->cores[1].packets[0].end_ps, NS(400)); /* clipped */
    assert_int_equal(slice->cores[1].event_count, 1);
    assert_int_equal(slice->cores[1].end_ps, NS(100));
    ntk_trace_destroy(slice);

    assert_int_equal(ntk_trace_slice_create(&h.trace, NS(400), 0, &slice), 0);
    assert_int_equal(slice->total_ps, NS(600));
    assert_int_equal(slice->cores[1].instruction_count, 1);
    assert_int_equal(slice->cores[1].instructions[0].start_ps, 0);
    assert_int_equal(slice->cores[1].end_ps, NS(200));
    assert_int_equal(slice->cores[0].packet_count, 1);
    assert_int_equal(slice->cores[0].packets[0].start_ps, 0);
    assert_int_equal(slice->cores[0].packets[0].end_ps, NS(10));
    assert_int_equal(slice->cores[0].events[0].value, 2);
    assert_int_equal(slice->cores[0].events[0].time_ps, 0);
    assert_int_equal(slice->cores[0].t0_ps, h.trace.cores[0].t0_ps + NS(400));
    assert_ptr_equal(slice->ntff, h.trace.ntff);
    ntk_trace_destroy(slice);

    assert_int_equal(ntk_trace_slice_create(&h.trace, NS(700), NS(800), &slice), 0);
    assert_int_equal(slice->cores[0].instruction_count, 0); /* a slice without rows */
    assert_int_equal(slice->total_ps, NS(100));
    ntk_trace_destroy(slice);
    hand_trace_fini(&h);
}

/* Lists that are in a temporary file, because each may use no heap. */
static void a_slice_of_long_lists_is_in_a_file(void **state)
{
    struct hand_trace h;
    struct ntk_trace *slice;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t slot = hand_trace_nop(&h, 0, PE, NTK_ISA_NO_SEMAPHORE, 0, NTK_ISA_NO_SEMAPHORE);
    for (int64_t i = 0; i < 1000; i++) {
        hand_trace_run(&h, 0, PE, slot, i, i + 1);
    }
    hand_trace_end(&h);
    h.trace.list_bytes = 1;
    assert_int_equal(ntk_trace_slice_create(&h.trace, NS(250), NS(750), &slice), 0);
    assert_true(slice->cores[0].is_mapped.instructions);
    assert_int_equal(slice->cores[0].instruction_count, 500);
    assert_int_equal(slice->cores[0].instructions[499].end_ps, NS(500));
    ntk_trace_destroy(slice);
    hand_trace_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slice_has_the_rows_that_start_in_it),
        cmocka_unit_test(a_slice_of_long_lists_is_in_a_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
