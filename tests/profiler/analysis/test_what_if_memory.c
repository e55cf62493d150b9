/* SPDX-License-Identifier: MIT */
/*
 * What what-if keeps of each instruction: differences that fit into 32 bits, others in full, and
 * memory that cores use one after the other. Method: hand-made traces with a known length after
 * each change is known by construction.
 */
#include "tests/profiler/analysis/what_if_check.h"
#include "tests/support/hand_answers.h"
#include "tests/support/unit.h"

#define NONE NTK_ISA_NO_SEMAPHORE
#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)
#define PE NTK_ISA_ENGINE_PE
#define ACT NTK_ISA_ENGINE_ACT

/* Ten rounds of 2 ms: a row moves by more than 32 bits of ps within one block of instructions. */
static void what_if_time_shifts_beyond_32_bits_are_kept(void **state)
{
    const int64_t ms = 1000000;
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 20 * ms);
    for (unsigned i = 0; i < 10; i++) {
        run(&h, 0, PE, i ? 10 : NONE, i, 9, 2 * ms * i, 2 * ms * i + ms);
        run(&h, 0, ACT, 9, i + 1, 10, 2 * ms * i + ms, 2 * ms * (i + 1));
        hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 9, i + 1, 2 * ms * i + ms);
        hand_trace_change(&h, 0, NTK_NTFF_ENGINE_SCALAR, 10, i + 1, 2 * ms * (i + 1));
    }
    hand_answers_ask(&h, &a);

    expect(&a, "tensor=2", 15 * ms);
    expect(&a, "tensor", 10 * ms);
    expect(&a, "tensor=0.5", 30 * ms);
    expect(&a, "engines=4", 5 * ms);
    hand_answers_done(&h, &a);
}

/* One core runs 300 instructions, the other one five that take longer: memory of the first one is
 * used again. */
static void what_if_times_of_cores_of_unequal_size_are_not_mixed(void **state)
{
    for (size_t large = 0; large < 2; large++) {
        struct hand_trace h;
        struct hand_answers a;

        hand_trace_begin(&h, 2, "trn2.3xlarge", 4000);
        uint32_t slot = hand_trace_nop(&h, large, PE, NONE, 0, NONE);
        for (int64_t i = 0; i < 300; i++) {
            hand_trace_run(&h, large, PE, slot, 10 * i, 10 * i + 10);
        }
        for (int64_t i = 0; i < 5; i++) {
            run(&h, 1 - large, PE, i ? 9 : NONE, (unsigned)i, 9, 800 * i, 800 * i + 800);
            hand_trace_change(&h, 1 - large, NTK_NTFF_ENGINE_TENSOR, 9, (uint32_t)i + 1,
                              800 * i + 800);
        }
        hand_answers_ask(&h, &a);

        expect(&a, "tensor=2", 2000);
        expect(&a, "tensor=8", 500);
        expect(&a, "tensor=0.5", 8000);
        hand_answers_done(&h, &a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_if_time_shifts_beyond_32_bits_are_kept),
        cmocka_unit_test(what_if_times_of_cores_of_unequal_size_are_not_mixed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
