/* SPDX-License-Identifier: MIT */
/*
 * Method: hand-made pipelines, each limited by a single cause. The comment of each states the cause
 * and the reason; the path must agree to the picosecond.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/support/hand_answers.h"
#include "tests/support/unit.h"

#define NONE NTK_ISA_NO_SEMAPHORE
#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)
#define PE NTK_ISA_ENGINE_PE
#define ACT NTK_ISA_ENGINE_ACT
#define DVE NTK_ISA_ENGINE_DVE
#define SP NTK_ISA_ENGINE_SP
#define POOL NTK_ISA_ENGINE_POOL

/* An instruction of hardware without operands. */
static uint32_t plain(struct hand_trace *h, unsigned engine, uint8_t opcode)
{
    const uint8_t slot[NTK_NTFF_SLOT_BYTES] = { opcode, 0x10 };

    return hand_trace_slot(h, 0, engine, slot);
}

/* LDWEIGHTS or MATMUL of hardware over this number of bfloat16 columns; waits for semaphore >=
 * value, adds 1 to signal; 0: neither. */
static uint32_t tensor(struct hand_trace *h, uint8_t opcode, uint16_t columns, uint8_t wait,
                       uint8_t value, uint8_t signal)
{
    uint8_t slot[NTK_NTFF_SLOT_BYTES] = {
        [0] = opcode, [1] = 0x10, [20] = 1,   [28] = 1, [30] = 1, [32] = 6, [38] = 128,
        [39] = 128,   [44] = 0xf, [45] = 0xf, [52] = 1, [60] = 1, [62] = 1
    };

    memcpy(slot + 26, &columns, sizeof columns);
    memcpy(slot + 58, &columns, sizeof columns);
    if (wait) {
        slot[4] = 5;
        slot[5] = wait;
        slot[8] = value;
    }
    if (signal) {
        slot[6] = 0x13;
        slot[7] = signal;
    }
    return hand_trace_slot(h, 0, PE, slot);
}

/* The share of an opcode of an engine in the path; all 0: it is not on the path. */
static void expect_opcode(const struct hand_answers *a, unsigned engine, uint8_t opcode,
                          int64_t path_ns, int64_t issue_ns, int64_t drain_ns)
{
    struct ntk_path_share found = { 0 };

    for (size_t i = 0; i < a->path.opcodes.count; i++) {
        const struct ntk_path_share *one = &a->path.opcodes.shares[i];
        if (one->engine == engine && one->opcode == opcode) {
            found = *one;
        }
    }
    assert_int_equal(found.path_ps, NS(path_ns));
    assert_int_equal(found.issue_ps, NS(issue_ns));
    assert_int_equal(found.drain_ps, NS(drain_ns));
}

static void expect_kind(const struct hand_answers *a, enum ntk_path_kind kind, int64_t ns)
{
    assert_int_equal(a->path.kinds_ps[kind], NS(ns));
}

/* ---- the tensor engine ---- */

/* A MATMUL of 444 columns starts every 188 ns, the full rate of columns at 2.4 GHz, and ends 350 ns
 * after its start. The weights of the next one load meanwhile, in 60 ns. More weights, fewer
 * weights or other latencies change nothing: the products limit the run. */
static void a_full_product_stream_is_bound_by_products(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 188 * 39 + 350);
    uint32_t product = tensor(&h, NTK_NTFF_OPCODE_MATMUL, 444, 0, 0, 0);
    uint32_t load = tensor(&h, NTK_NTFF_OPCODE_LDWEIGHTS, 128, 0, 0, 0);
    for (int64_t i = 0; i < 40; i++) {
        hand_trace_run(&h, 0, PE, product, 188 * i, 188 * i + 350);
        hand_trace_run(&h, 0, PE, load, 188 * i + 2, 188 * i + 62);
    }
    hand_answers_ask(&h, &a);
    expect_opcode(&a, PE, NTK_NTFF_OPCODE_MATMUL, 188 * 39 + 350, 0, 162);
    expect_opcode(&a, PE, NTK_NTFF_OPCODE_LDWEIGHTS, 0, 0, 0);
    expect_kind(&a, NTK_PATH_INSTRUCTION, 188 * 40);
    expect_kind(&a, NTK_PATH_LATENCY, 0);
    hand_answers_done(&h, &a);
}

/* As before, but ACT waits for every third product, and the weights of the next one wait for ACT.
 * ACT ends while the third product is still recorded as running: it drains. Per period of 862 ns:
 * three products start 188 ns apart and the last ends 350 ns after its start (726), 4 ns later ACT
 * works 122 ns, 2 ns later the weights load, 8 ns later the next product starts. */
static void a_gap_inside_a_drain_is_attributed_to_its_cause(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 862 * 10);
    uint32_t product = tensor(&h, NTK_NTFF_OPCODE_MATMUL, 444, 0, 0, 0);
    uint32_t third = tensor(&h, NTK_NTFF_OPCODE_MATMUL, 444, 0, 0, 5);
    uint32_t load = tensor(&h, NTK_NTFF_OPCODE_LDWEIGHTS, 128, 0, 0, 0);
    for (uint8_t i = 0; i < 10; i++) {
        int64_t at = 862 * i;
        uint32_t first =
            i ? tensor(&h, NTK_NTFF_OPCODE_LDWEIGHTS, 128, 9, i, 0) : load; /* for ACT */
        uint32_t act = hand_trace_nop(&h, 0, ACT, 5, i + 1, 9);
        hand_trace_run(&h, 0, PE, first, i ? at - 8 : at, i ? at + 52 : at);
        hand_trace_run(&h, 0, PE, product, at, at + 350);
        hand_trace_run(&h, 0, PE, load, at + 2, at + 62);
        hand_trace_run(&h, 0, PE, product, at + 188, at + 188 + 350);
        hand_trace_run(&h, 0, PE, load, at + 190, at + 250);
        hand_trace_run(&h, 0, PE, third, at + 376, at + 726);
        hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 5, i + 1U, at + 726);
        hand_trace_run(&h, 0, ACT, act, at + 730, at + 852);
        hand_trace_change(&h, 0, NTK_NTFF_ENGINE_SCALAR, 9, i + 1U, at + 852);
    }
    hand_answers_ask(&h, &a);
    expect_opcode(&a, PE, NTK_NTFF_OPCODE_MATMUL, 726 * 10, 0, 162 * 10);
    expect_opcode(&a, PE, NTK_NTFF_OPCODE_LDWEIGHTS, 8 * 9, 0, 0);
    assert_int_equal(a.path.kinds_ps[NTK_PATH_LATENCY], NS(4 * 10 + 2 * 9));
    expect_kind(&a, NTK_PATH_END, 10);
    hand_answers_done(&h, &a);
}

/* One column each: the array waits 25 ns for 128 columns of weights and 1 ns for the product. Both
 * are recorded as running much longer, and overlap (as in decoding of single tokens). */
static void a_stream_of_single_columns_is_bound_by_weight_loads(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 26 * 19 + 25 + 165);
    uint32_t product = tensor(&h, NTK_NTFF_OPCODE_MATMUL, 1, 0, 0, 0);
    uint32_t load = tensor(&h, NTK_NTFF_OPCODE_LDWEIGHTS, 128, 0, 0, 0);
    for (int64_t i = 0; i < 20; i++) {
        hand_trace_run(&h, 0, PE, load, 26 * i, 26 * i + 104);
        hand_trace_run(&h, 0, PE, product, 26 * i + 25, 26 * i + 25 + 165);
    }
    hand_answers_ask(&h, &a);
    expect_opcode(&a, PE, NTK_NTFF_OPCODE_LDWEIGHTS, 25 * 20, 0, 0);
    expect_opcode(&a, PE, NTK_NTFF_OPCODE_MATMUL, 19 + 165, 0, 139);
    hand_answers_done(&h, &a);
}

/* Nothing overlaps: every 20 ns of product need 146 ns of weights. */
static void time_of_weights_loaded_between_products_is_separate(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 166 * 20);
    uint32_t product = tensor(&h, NTK_NTFF_OPCODE_MATMUL, 48, 0, 0, 0);
    uint32_t load = tensor(&h, NTK_NTFF_OPCODE_LDWEIGHTS, 128, 0, 0, 0);
    for (int64_t i = 0; i < 20; i++) {
        hand_trace_run(&h, 0, PE, load, 166 * i, 166 * i + 146);
        hand_trace_run(&h, 0, PE, product, 166 * i + 146, 166 * i + 166);
    }
    hand_answers_ask(&h, &a);
    expect_opcode(&a, PE, NTK_NTFF_OPCODE_LDWEIGHTS, 146 * 20, 0, 0);
    expect_opcode(&a, PE, NTK_NTFF_OPCODE_MATMUL, 20 * 20, 0, 0);
    hand_answers_done(&h, &a);
}

/* DRAIN is issued while a product runs, and ends 10 ns after it: only those are its own. */
static void a_drain_waits_for_the_preceding_product(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 400);
    uint32_t product = tensor(&h, NTK_NTFF_OPCODE_MATMUL, 444, 0, 0, 0);
    uint32_t drain = plain(&h, PE, NTK_NTFF_OPCODE_DRAIN);
    hand_trace_run(&h, 0, PE, product, 0, 390);
    hand_trace_run(&h, 0, PE, drain, 10, 400);
    hand_answers_ask(&h, &a);
    expect_opcode(&a, PE, NTK_NTFF_OPCODE_MATMUL, 390, 0, 0);
    expect_opcode(&a, PE, NTK_NTFF_OPCODE_DRAIN, 10, 0, 0);
    hand_answers_done(&h, &a);
}

/* ---- between engines ---- */

/* Each load waits for the one before it, the products for the loads: per period SP starts a
 * transfer in 10 ns, its data arrives 490 ns later, and 2 ns later SP starts the next one. */
static void products_that_wait_for_loads_are_bound_by_dma(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 502 * 19 + 605);
    struct ntk_isa_instr copy = hand_trace_load(&h, 0, 4);
    for (uint16_t i = 0; i < 20; i++) {
        int64_t at = 502 * i;
        if (i) {
            copy.wait_semaphore = 20;
            copy.wait_value = i;
        }
        uint32_t load = hand_trace_open(&h, 0, SP, &copy);
        uint32_t product = hand_trace_nop(&h, 0, PE, 20, i + 1U, NONE);
        hand_trace_run(&h, 0, SP, load, at, at + 10);
        hand_trace_change(&h, 0, NTK_NTFF_ENGINE_AXI, 20, i + 1U, at + 500);
        hand_trace_run(&h, 0, PE, product, at + 505, at + 605);
    }
    hand_answers_ask(&h, &a);
    expect_kind(&a, NTK_PATH_TRANSFER, 490 * 20);
    expect_kind(&a, NTK_PATH_LATENCY, 2 * 19 + 5);
    expect_kind(&a, NTK_PATH_INSTRUCTION, 10 * 20 + 100);
    assert_string_equal(a.path.resources.shares[0].name, "qSPIO0");
    hand_answers_done(&h, &a);
}

/* PE and ACT alternate: 10 ns of work, then 15 ns until the other one starts. */
static void engines_that_alternate_by_semaphores_are_bound_by_latency(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 25 * 39 + 10);
    for (uint32_t i = 0; i < 40; i++) {
        bool is_pe = i % 2 == 0;
        unsigned number = is_pe ? 9 : 10;
        unsigned other = is_pe ? 10 : 9;
        uint32_t slot =
            hand_trace_nop(&h, 0, is_pe ? PE : ACT, i ? other : NONE, (i + 1) / 2, number);
        hand_trace_run(&h, 0, is_pe ? PE : ACT, slot, 25 * i, 25 * i + 10);
        hand_trace_change(&h, 0, is_pe ? NTK_NTFF_ENGINE_TENSOR : NTK_NTFF_ENGINE_SCALAR, number,
                          i / 2 + 1, 25 * i + 12);
    }
    hand_answers_ask(&h, &a);
    expect_kind(&a, NTK_PATH_LATENCY, 15 * 39);
    expect_kind(&a, NTK_PATH_INSTRUCTION, 10 * 40);
    assert_int_equal(a.path.resources.shares[0].kind, NTK_PATH_LATENCY);
    hand_answers_done(&h, &a);
}

/* PE works 30 ns, then ACT 70 ns, without a pause in between. */
static void two_alternating_engines_share_the_critical_path(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 100 * 20);
    for (uint32_t i = 0; i < 20; i++) {
        uint32_t pe = hand_trace_nop(&h, 0, PE, i ? 10 : NONE, i, 9);
        uint32_t act = hand_trace_nop(&h, 0, ACT, 9, i + 1, 10);
        hand_trace_run(&h, 0, PE, pe, 100 * i, 100 * i + 30);
        hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 9, i + 1, 100 * i + 30);
        hand_trace_run(&h, 0, ACT, act, 100 * i + 30, 100 * i + 100);
        hand_trace_change(&h, 0, NTK_NTFF_ENGINE_SCALAR, 10, i + 1, 100 * i + 100);
    }
    hand_answers_ask(&h, &a);
    assert_int_equal(a.path.resources.count, 2);
    assert_int_equal(a.path.resources.shares[0].engine, ACT);
    assert_int_equal(a.path.resources.shares[0].path_ps, NS(70 * 20));
    assert_int_equal(a.path.resources.shares[1].path_ps, NS(30 * 20));
    hand_answers_done(&h, &a);
}

/* ACT works 95 ns during every 100 ns of PE and does not limit the run. */
static void an_engine_overlapped_by_a_slower_one_is_not_on_the_critical_path(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 100 * 20);
    uint32_t pe = hand_trace_nop(&h, 0, PE, NONE, 0, 9);
    for (uint32_t i = 0; i < 20; i++) {
        hand_trace_run(&h, 0, PE, pe, 100 * i, 100 * i + 100);
        hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 9, i + 1, 100 * i + 100);
        if (i) {
            uint32_t act = hand_trace_nop(&h, 0, ACT, 9, i, NONE);
            hand_trace_run(&h, 0, ACT, act, 100 * i, 100 * i + 95);
        }
    }
    hand_answers_ask(&h, &a);
    assert_int_equal(a.path.resources.count, 1);
    assert_int_equal(a.path.resources.shares[0].engine, PE);
    hand_answers_done(&h, &a);
}

/* ---- one engine ---- */

/* GpSimd has an instruction of 20 ns every 100 ns and nothing to wait for. */
static void small_instructions_are_bound_by_their_issue(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 100 * 19 + 20);
    uint32_t slot = plain(&h, POOL, NTK_NTFF_OPCODE_COPY);
    for (int64_t i = 0; i < 20; i++) {
        hand_trace_run(&h, 0, POOL, slot, 100 * i, 100 * i + 20);
    }
    hand_answers_ask(&h, &a);
    expect_opcode(&a, POOL, NTK_NTFF_OPCODE_COPY, 100 * 19 + 20, 80 * 19, 0);
    expect_kind(&a, NTK_PATH_LATENCY, 0);
    hand_answers_done(&h, &a);
}

/* Vector starts an operation every 120 ns that takes 200 ns: its last 80 ns drain. ACT waits for
 * the last one, and therefore for its drain. */
static void the_consumer_of_a_pipeline_waits_for_its_drain(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 120 * 9 + 200 + 50);
    uint32_t dve = hand_trace_nop(&h, 0, DVE, NONE, 0, NONE);
    uint32_t last = hand_trace_nop(&h, 0, DVE, NONE, 0, 9);
    uint32_t act = hand_trace_nop(&h, 0, ACT, 9, 1, NONE);
    for (int64_t i = 0; i < 10; i++) {
        hand_trace_run(&h, 0, DVE, i < 9 ? dve : last, 120 * i, 120 * i + 200);
    }
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_VECTOR, 9, 1, 120 * 9 + 200);
    hand_trace_run(&h, 0, ACT, act, 120 * 9 + 200, 120 * 9 + 250);
    hand_answers_ask(&h, &a);
    expect_kind(&a, NTK_PATH_DRAIN, 80);
    expect_kind(&a, NTK_PATH_INSTRUCTION, 120 * 10 + 50);
    hand_answers_done(&h, &a);
}

/* A long operation of 500 ns with short ones of another opcode inside it; the last of them ends 20
 * ns after it. */
static void overlapping_short_instructions_are_attributed_to_the_long_one(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 520);
    uint32_t slow = plain(&h, POOL, NTK_NTFF_OPCODE_DMA_DIRECT2D);
    uint32_t quick = plain(&h, POOL, NTK_NTFF_OPCODE_COPY);
    hand_trace_run(&h, 0, POOL, slow, 0, 500);
    hand_trace_run(&h, 0, POOL, quick, 100, 120);
    hand_trace_run(&h, 0, POOL, quick, 200, 220);
    hand_trace_run(&h, 0, POOL, quick, 490, 520);
    hand_answers_ask(&h, &a);
    expect_opcode(&a, POOL, NTK_NTFF_OPCODE_DMA_DIRECT2D, 500, 0, 0);
    expect_opcode(&a, POOL, NTK_NTFF_OPCODE_COPY, 20, 0, 0);
    hand_answers_done(&h, &a);
}

/* The weights wait for a semaphore with lost changes: the gap is not issue. */
static void a_wait_without_a_recorded_change_is_unknown(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t load = tensor(&h, NTK_NTFF_OPCODE_LDWEIGHTS, 128, 0, 0, 0);
    uint32_t waits = tensor(&h, NTK_NTFF_OPCODE_LDWEIGHTS, 128, 7, 3, 0);
    hand_trace_run(&h, 0, PE, load, 0, 100);
    hand_trace_run(&h, 0, PE, waits, 900, 1000);
    hand_answers_ask(&h, &a);
    expect_kind(&a, NTK_PATH_WAIT, 800);
    expect_kind(&a, NTK_PATH_ISSUE, 0);
    hand_answers_done(&h, &a);
}

/* The record of one product extends to the end of the trace, another one has no duration. The other
 * parts still sum to the total, and the path reaches its end. */
static void path_parts_still_sum_to_the_total_with_invalid_records(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 5000);
    uint32_t product = tensor(&h, NTK_NTFF_OPCODE_MATMUL, 444, 0, 0, 0);
    uint32_t load = tensor(&h, NTK_NTFF_OPCODE_LDWEIGHTS, 128, 0, 0, 0);
    for (int64_t i = 0; i < 20; i++) {
        int64_t length = i == 7 ? 4500 - 188 * i : i == 12 ? 0 : 350;
        hand_trace_run(&h, 0, PE, product, 188 * i, 188 * i + length);
        hand_trace_run(&h, 0, PE, load, 188 * i + 2, 188 * i + 62);
    }
    hand_answers_ask(&h, &a);
    expect_kind(&a, NTK_PATH_END, 500);
    hand_answers_done(&h, &a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_product_stream_is_bound_by_products),
        cmocka_unit_test(a_gap_inside_a_drain_is_attributed_to_its_cause),
        cmocka_unit_test(a_stream_of_single_columns_is_bound_by_weight_loads),
        cmocka_unit_test(time_of_weights_loaded_between_products_is_separate),
        cmocka_unit_test(a_drain_waits_for_the_preceding_product),
        cmocka_unit_test(products_that_wait_for_loads_are_bound_by_dma),
        cmocka_unit_test(engines_that_alternate_by_semaphores_are_bound_by_latency),
        cmocka_unit_test(two_alternating_engines_share_the_critical_path),
        cmocka_unit_test(an_engine_overlapped_by_a_slower_one_is_not_on_the_critical_path),
        cmocka_unit_test(small_instructions_are_bound_by_their_issue),
        cmocka_unit_test(the_consumer_of_a_pipeline_waits_for_its_drain),
        cmocka_unit_test(overlapping_short_instructions_are_attributed_to_the_long_one),
        cmocka_unit_test(a_wait_without_a_recorded_change_is_unknown),
        cmocka_unit_test(path_parts_still_sum_to_the_total_with_invalid_records),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
