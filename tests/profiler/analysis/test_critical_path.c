/* SPDX-License-Identifier: MIT */
/*
 * Method: hand-made traces with one decisive chain and others that do not matter; the steps must be
 * contiguous from the start of the execution to its end.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/support/hand_answers.h"
#include "tests/support/unit.h"

#define NONE NTK_ISA_NO_SEMAPHORE
#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)

static void expect_step(const struct hand_answers *a, size_t index, enum ntk_path_kind kind,
                        int64_t start_ns, int64_t end_ns)
{
    assert_true(index < a->path.step_count);
    assert_string_equal(ntk_path_kind_name(a->path.steps[index].kind), ntk_path_kind_name(kind));
    assert_int_equal(a->path.steps[index].start_ps, NS(start_ns));
    assert_int_equal(a->path.steps[index].end_ps, NS(end_ns));
}

/*
 * SP starts a load 0-50 (layer "load"), its data arrives at 500. PE multiplies 510-700 (layer
 * "product", semaphore 9). ACT works 0-600 on something else and waits for PE: 700-900. DVE 0-300
 * does not matter.
 */
static void the_critical_path_includes_the_load_and_the_product(void **state)
{
    struct hand_trace h;
    struct hand_answers a;
    struct ntk_isa_instr product = ntk_isa_instr_make(NTK_ISA_OP_NOP);

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    struct ntk_isa_instr copy = hand_trace_load(&h, 0, 4);
    copy.name_id = hand_trace_name(&h, 0, NTK_ISA_ENGINE_SP, "load");
    product.imm[0] = 1;
    product.wait_semaphore = 20;
    product.wait_value = 1;
    product.signal_semaphore = 9;
    product.signal_value = 1;
    product.name_id = hand_trace_name(&h, 0, NTK_ISA_ENGINE_PE, "product");
    uint32_t load = hand_trace_open(&h, 0, NTK_ISA_ENGINE_SP, &copy);
    uint32_t multiply = hand_trace_open(&h, 0, NTK_ISA_ENGINE_PE, &product);
    uint32_t other = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, NONE, 0, NONE);
    uint32_t last = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, 9, 1, NONE);
    uint32_t aside = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_DVE, NONE, 0, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_SP, load, 0, 50);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, multiply, 510, 700);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, other, 0, 600);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, last, 700, 900);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE, aside, 0, 300);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_AXI, 20, 1, 500);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 9, 1, 700);
    hand_answers_ask(&h, &a);

    assert_int_equal(a.path.step_count, 6);
    expect_step(&a, 0, NTK_PATH_INSTRUCTION, 0, 50);
    expect_step(&a, 1, NTK_PATH_TRANSFER, 50, 500);
    assert_string_equal(a.path.steps[1].queue, "qSPIO0");
    expect_step(&a, 2, NTK_PATH_LATENCY, 500, 510);
    expect_step(&a, 3, NTK_PATH_INSTRUCTION, 510, 700);
    expect_step(&a, 4, NTK_PATH_INSTRUCTION, 700, 900);
    expect_step(&a, 5, NTK_PATH_END, 900, 1000);
    assert_int_equal(a.path.resources.shares[0].path_ps, NS(450)); /* the queue, which is longest */
    assert_string_equal(a.path.resources.shares[0].name, "qSPIO0");
    assert_string_equal(a.path.layers.shares[0].name, "load");
    assert_int_equal(a.path.layers.shares[0].path_ps, NS(500));
    /* ACT; the end belongs to no layer. */
    assert_string_equal(a.path.layers.shares[1].name, "(no layer)");
    assert_int_equal(a.path.layers.shares[1].path_ps, NS(200));
    assert_string_equal(a.path.layers.shares[2].name, "product"); /* including its latency */
    assert_int_equal(a.path.layers.shares[2].path_ps, NS(200));
    hand_answers_done(&h, &a);
}

/* The engine's own previous instruction ended later than the change, so that was the obstacle. */
static void an_early_semaphore_change_is_not_on_the_critical_path(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 400);
    uint32_t first = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, 9);
    uint32_t busy = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, NONE, 0, NONE);
    uint32_t then = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, 9, 1, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, first, 0, 100);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 9, 1, 100);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, busy, 0, 300);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, then, 310, 400);
    hand_answers_ask(&h, &a);

    assert_int_equal(a.path.step_count, 3);
    expect_step(&a, 0, NTK_PATH_INSTRUCTION, 0, 300);
    expect_step(&a, 1, NTK_PATH_ISSUE, 300, 310);
    expect_step(&a, 2, NTK_PATH_INSTRUCTION, 310, 400);
    assert_int_equal(a.path.resources.shares[0].engine, NTK_NTFF_ENGINE_SCALAR);
    hand_answers_done(&h, &a);
}

/* Two instructions overlap on one engine, so that 5 ns of them are drain, followed by a chain of
 * 100 that each wait for the other engine: ACT has two steps each time, except for the last. */
static void the_critical_path_search_terminates_for_overlapping_chains(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1005);
    uint32_t pe = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, 10, 1, 9);
    uint32_t act = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, 9, 1, 10);
    for (uint32_t i = 0; i < 100; i++) {
        bool is_pe = i % 2 == 0;
        hand_trace_run(&h, 0, is_pe ? NTK_ISA_ENGINE_PE : NTK_ISA_ENGINE_ACT, is_pe ? pe : act,
                       10 * i, 10 * i + 10);
        hand_trace_change(&h, 0, is_pe ? NTK_NTFF_ENGINE_TENSOR : NTK_NTFF_ENGINE_SCALAR,
                          is_pe ? 9 : 10, 1, 10 * i + 10);
        hand_trace_change(&h, 0, is_pe ? NTK_NTFF_ENGINE_TENSOR : NTK_NTFF_ENGINE_SCALAR,
                          is_pe ? 10 : 9, 0, 10 * i + 5);
    }
    uint32_t free = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, NONE, 0, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, free, 995, 1005);
    hand_answers_ask(&h, &a);

    assert_int_equal(a.path.step_count, 151);
    assert_int_equal(a.path.resources.count, 2);
    assert_int_equal(a.path.resources.shares[0].path_ps, NS(505)); /* ACT */
    assert_int_equal(a.path.resources.shares[1].path_ps, NS(500)); /* PE */
    hand_answers_done(&h, &a);
}

/* The runtime's EVENT_SEMAPHORE waits while it runs: the path leaves it where it was released. */
static void the_critical_path_leaves_a_runtime_barrier_at_its_release(void **state)
{
    static const uint8_t barrier[64] = {
        [0] = 0xa0, [1] = 0x10, [32] = 0x01, [33] = 2, [34] = 0x13, [35] = 2, [36] = 1, [40] = 1
    };
    static const uint8_t opener[64] = { 0x02, 0x10, 0, 0, 0, 0, 0x13, 2 };
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 500);
    uint32_t wait = hand_trace_slot(&h, 0, NTK_ISA_ENGINE_SP, barrier);
    uint32_t open = hand_trace_slot(&h, 0, NTK_ISA_ENGINE_PE, opener);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_SP, wait, 0, 500);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, open, 100, 450);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 2, 1, 460);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_SYNC, 2, 2,
                      500); /* its own, which it did not wait for */
    hand_answers_ask(&h, &a);

    assert_int_equal(a.path.step_count, 4);
    expect_step(&a, 0, NTK_PATH_START, 0, 100);
    expect_step(&a, 1, NTK_PATH_INSTRUCTION, 100, 450);
    expect_step(&a, 2, NTK_PATH_LATENCY, 450, 460);
    expect_step(&a, 3, NTK_PATH_INSTRUCTION, 460, 500);
    hand_answers_done(&h, &a);
}

/* A change long after the only instruction that signals it has another source: the path waits, and
 * does not invent 5 us of latency. */
static void a_change_without_a_known_source_is_shown_as_a_wait(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 7000);
    uint32_t signal = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, 9);
    uint32_t wait = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, 9, 2, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, signal, 0, 100);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 9, 1, 100);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 9, 2, 6000);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, wait, 6010, 7000);
    hand_answers_ask(&h, &a);

    assert_int_equal(a.path.step_count, 3);
    expect_step(&a, 0, NTK_PATH_WAIT, 0, 6000);
    expect_step(&a, 1, NTK_PATH_LATENCY, 6000, 6010);
    expect_step(&a, 2, NTK_PATH_INSTRUCTION, 6010, 7000);
    hand_answers_done(&h, &a);
}

/* Two that wait while they run, each released by the other at the very end: the releases form a
 * circle, which the path leaves. */
static void the_critical_path_search_terminates_for_cyclic_waits(void **state)
{
    static const uint8_t one[64] = {
        [0] = 0xa0, [1] = 0x10, [32] = 0x05, [33] = 2, [34] = 0x13, [35] = 3, [36] = 1
    };
    static const uint8_t other[64] = {
        [0] = 0xa0, [1] = 0x10, [32] = 0x05, [33] = 3, [34] = 0x13, [35] = 2, [36] = 1
    };
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 500);
    uint32_t first = hand_trace_slot(&h, 0, NTK_ISA_ENGINE_SP, one);
    uint32_t second = hand_trace_slot(&h, 0, NTK_ISA_ENGINE_PE, other);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_SP, first, 100, 500);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, second, 200, 500);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_SYNC, 3, 1, 500);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 2, 1, 500);
    hand_answers_ask(&h, &a);

    assert_int_equal(a.path.step_count, 1);
    expect_step(&a, 0, NTK_PATH_WAIT, 0, 500);
    hand_answers_done(&h, &a);
}

/* The instruction starts, then waits for semaphore 2. No change of it was recorded, so the time of
 * the instruction is the wait, not the time before its start. */
static void an_instruction_that_only_waits_for_an_unrecorded_change_is_a_wait(void **state)
{
    static const uint8_t waits[64] = {
        [0] = 0xa0, [1] = 0x10, [32] = 0x05, [33] = 2, [34] = 0x13, [35] = 3, [36] = 1
    };
    struct hand_trace h;
    struct hand_answers a;
    char name[64];

    hand_trace_begin(&h, 1, "trn2.3xlarge", 500);
    hand_trace_run(
        &h, 0, NTK_ISA_ENGINE_SP,
        hand_trace_nop(&h, 0, NTK_ISA_ENGINE_SP, NTK_ISA_NO_SEMAPHORE, 0, NTK_ISA_NO_SEMAPHORE), 0,
        100);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_SP, hand_trace_slot(&h, 0, NTK_ISA_ENGINE_SP, waits), 150,
                   500);
    hand_answers_ask(&h, &a);

    assert_int_equal(a.path.step_count, 3);
    expect_step(&a, 0, NTK_PATH_INSTRUCTION, 0, 100);
    expect_step(&a, 1, NTK_PATH_ISSUE, 100, 150);
    expect_step(&a, 2, NTK_PATH_WAIT, 150, 500);
    ntk_path_resource_name(&a.path.resources.shares[0], name, sizeof name);
    assert_string_equal(name, "wait for a semaphore change that was not recorded");
    hand_answers_done(&h, &a);

    /* With a record of a change that no instruction makes, only the origin is unknown. */
    hand_trace_begin(&h, 1, "trn2.3xlarge", 500);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_SP, hand_trace_slot(&h, 0, NTK_ISA_ENGINE_SP, waits), 0,
                   500);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 2, 1, 480);
    hand_answers_ask(&h, &a);

    assert_int_equal(a.path.step_count, 2);
    expect_step(&a, 0, NTK_PATH_WAIT, 0, 480);
    expect_step(&a, 1, NTK_PATH_INSTRUCTION, 480, 500);
    ntk_path_resource_name(&a.path.resources.shares[0], name, sizeof name);
    assert_string_equal(name, "wait for a semaphore change of unknown origin");
    hand_answers_done(&h, &a);
}

static void without_instructions_the_critical_path_is_the_start_step(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 2, "trn2.3xlarge", 100);
    hand_answers_ask(&h, &a);
    assert_int_equal(a.path.step_count, 1);
    expect_step(&a, 0, NTK_PATH_START, 0, 100);
    hand_answers_done(&h, &a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_critical_path_includes_the_load_and_the_product),
        cmocka_unit_test(an_early_semaphore_change_is_not_on_the_critical_path),
        cmocka_unit_test(the_critical_path_search_terminates_for_overlapping_chains),
        cmocka_unit_test(the_critical_path_leaves_a_runtime_barrier_at_its_release),
        cmocka_unit_test(a_change_without_a_known_source_is_shown_as_a_wait),
        cmocka_unit_test(the_critical_path_search_terminates_for_cyclic_waits),
        cmocka_unit_test(an_instruction_that_only_waits_for_an_unrecorded_change_is_a_wait),
        cmocka_unit_test(without_instructions_the_critical_path_is_the_start_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
