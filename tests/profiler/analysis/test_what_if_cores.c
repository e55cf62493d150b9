/* SPDX-License-Identifier: MIT */
/*
 * What-if across cores. Method: hand-made programs of two cores, in which core 1 changes semaphore
 * 3 of core 0 by a WRITE to its register. The length after each change is known by construction.
 */
#include <string.h>

#include "profiler/output/answers/output_analysis.h"
#include "tests/profiler/analysis/what_if_check.h"
#include "tests/support/hand_answers.h"
#include "tests/support/unit.h"

#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)
#define NONE NTK_ISA_NO_SEMAPHORE
#define PE NTK_ISA_ENGINE_PE
#define ACT NTK_ISA_ENGINE_ACT
#define DVE NTK_ISA_ENGINE_DVE
#define SP NTK_ISA_ENGINE_SP
#define AXI NTK_NTFF_ENGINE_AXI
#define VECTOR NTK_NTFF_ENGINE_VECTOR
/* As in captures: the register of a core that increments its semaphore 0. */
#define REGISTER UINT64_C(0x802802701800)
#define REGISTER_OF(core) (REGISTER + ((core) ? 0x1000000000 : 0))

/* A vendor's WRITE to the register of semaphore 3 of a core; it waits for semaphore 9 to be at
 * least `wait` (0: not). */
static uint32_t write_to(struct hand_trace *h, size_t core, unsigned engine, size_t to_core,
                         uint8_t wait)
{
    uint8_t slot[NTK_NTFF_SLOT_BYTES] = { [0] = NTK_NTFF_OPCODE_WRITE,
                                          [1] = 0x10,
                                          [4] = wait ? 5 : 0,
                                          [5] = wait ? 9 : 0,
                                          [8] = wait,
                                          [12] = 4,
                                          [32] = 1 };
    uint64_t address = REGISTER_OF(to_core) + UINT64_C(4) * 3;

    for (unsigned b = 0; b < 8; b++) {
        slot[16 + b] = (uint8_t)(address >> (8 * b));
    }
    return hand_trace_slot(h, core, engine, slot);
}

struct chain { /* slots */
    uint32_t softmax, tail, write, product;
};

static struct chain chain_open(struct hand_trace *h)
{
    return (struct chain){ .softmax = hand_trace_nop(h, 1, DVE, NONE, 0, 9),
                           .tail = hand_trace_nop(h, 1, DVE, NONE, 0, NONE),
                           .write = write_to(h, 1, ACT, 0, 1),
                           .product = hand_trace_nop(h, 0, PE, 3, 1, NONE) };
}

/* Core 1: Vector 0-600 and 600-620, Scalar waits for the first (610) and writes until 700. Core 0:
 * the change comes at 800, Tensor runs 810-1000. */
static void chain_run(struct hand_trace *h, const struct chain *chain, int64_t at_ns)
{
    hand_trace_run(h, 1, DVE, chain->softmax, at_ns, at_ns + 600);
    hand_trace_run(h, 1, DVE, chain->tail, at_ns + 600, at_ns + 620);
    hand_trace_change(h, 1, VECTOR, 9, 1, at_ns + 600);
    hand_trace_run(h, 1, ACT, chain->write, at_ns + 610, at_ns + 700);
    hand_trace_change(h, 0, AXI, 3, 1, at_ns + 800);
    hand_trace_run(h, 0, PE, chain->product, at_ns + 810, at_ns + 1000);
}

static void a_change_in_one_core_moves_the_wait_of_the_other(void **state)
{
    static const struct {
        const char *changes;
        int64_t total_ns;
    } rows[] = {
        { "vector=2", 700 },  /* 300 less */
        { "vector", 400 },    /* 600 less */
        { "scalar=2", 955 },  /* half of the write */
        { "tensor=2", 905 },  /* half of its own time */
        { "engines=2", 560 }, /* 300 + 10 + 45 + 100 + 10 + 95 */
        { "latency", 880 },   /* 10 + 100 + 10 less */
        { "wait:9", 620 },    /* 0 - 90 - 190 - 200 - 390; Vector ends last */
        { "wait:3", 700 },    /* Tensor ends at 190, Scalar of core 1 ends last */
        { "vector=0.5", 1600 }, { "dma=2", 1000 },
    };
    struct hand_trace h;
    struct hand_answers a;

    (void)state;
    hand_trace_begin(&h, 2, "trn2.3xlarge", 1000);
    struct chain chain = chain_open(&h);
    chain_run(&h, &chain, 0);
    hand_answers_ask(&h, &a);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect(&a, rows[i].changes, rows[i].total_ns);
    }
    struct ntk_what_if result = what_if(&a, "vector=2");
    assert_int_equal(result.unknown_wait_count, 0);
    assert_int_equal(result.outside_wait_count, 0);
    assert_false(result.rows[0].has_bounds);
    assert_int_equal(result.tight_ps, NS(1000));
    /* The new path goes through both cores. */
    assert_int_equal(result.rows[0].item_count, 3);
    assert_int_equal(result.rows[0].items[0].core, 1);
    assert_int_equal(result.rows[0].items[0].path_ps, NS(300));
    assert_int_equal(result.rows[0].items[1].core, 0);
    assert_int_equal(result.rows[0].items[1].path_ps, NS(190));
    assert_int_equal(result.rows[0].path_ps[NTK_WHAT_IF_ON_LATENCY], NS(10 + 100 + 10));
    assert_int_equal(result.rows[0].path_ps[NTK_WHAT_IF_ON_WAIT], 0);
    ntk_what_if_fini(&result);
    hand_answers_done(&h, &a);
}

static void each_execution_waits_for_its_own_changes(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    (void)state;
    hand_trace_begin(&h, 2, "trn2.3xlarge", 3200);
    struct chain chain = chain_open(&h);
    for (int64_t i = 0; i < 3; i++) { /* with a pause of 100 */
        chain_run(&h, &chain, 1100 * i);
    }
    hand_answers_ask(&h, &a);

    assert_int_equal(a.program->execution_count, 3);
    expect(&a, "vector=2", 3200 - 3 * 300);
    expect(&a, "tensor=2", 3200 - 3 * 95);
    expect(&a, "vector=0.5", 3200 + 3 * 600);
    hand_answers_done(&h, &a);
}

/* The number of rounds, and an engine on each core. */
static void alternate(struct hand_trace *h, int64_t rounds, const unsigned engines[2])
{
    uint32_t writes[2];

    hand_trace_begin(h, 2, "trn2.3xlarge", rounds * 400);
    for (size_t c = 0; c < 2; c++) {
        writes[c] = write_to(h, c, engines[c], 1 - c, 0);
    }
    for (int64_t i = 0; i < rounds; i++) {
        for (size_t c = 0; c < 2; c++) {
            int64_t from_ns = 400 * i + (c ? 150 : 0);
            int64_t until_ns = from_ns + (c ? 200 : 100);
            uint32_t wait = (uint32_t)(i + (int64_t)c);
            uint32_t work = hand_trace_nop(h, c, engines[c], wait ? 3 : NONE, wait, NONE);
            hand_trace_run(h, c, engines[c], work, from_ns, until_ns - 10);
            if (i < rounds - 1 || c == 0) {
                hand_trace_run(h, c, engines[c], writes[c], until_ns - 10, until_ns);
                hand_trace_change(h, 1 - c, AXI, 3, (uint32_t)i + 1, until_ns + 50);
            }
        }
    }
}

/* Ten rounds: core 0 works 100 ns and writes to core 1, which works 200 ns and writes back; each
 * change comes 50 ns after the write. The last write is missing: 10 * 100 + 9 * 200 + 190 ns of
 * work, 19 changes, and 60 ns until the end of the capture. */
static void two_cores_that_alternate_wait_for_each_other(void **state)
{
    const unsigned engines[2] = { PE, DVE };
    const unsigned same[2] = { ACT, ACT };
    struct hand_trace h;
    struct hand_answers a;

    (void)state;
    alternate(&h, 10, engines);
    hand_answers_ask(&h, &a);
    expect(&a, "tensor=2", 4000 - 500);
    expect(&a, "vector=2", 4000 - 995);
    expect(&a, "tensor,vector", 4000 - 1000 - 1990);
    expect(&a, "latency", 4000 - 19 * 50);
    expect(&a, "latency=5", 4000 - 19 * 40);
    hand_answers_done(&h, &a);

    alternate(&h, 10, same);
    hand_answers_ask(&h, &a);
    expect(&a, "scalar=2", 4000 - 500 - 995);
    hand_answers_done(&h, &a);
}

/* Tensor works until 900 and does not wait for the change of core 1 at 800, unless it is faster. */
static void a_core_that_became_faster_waits_for_the_other(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    (void)state;
    hand_trace_begin(&h, 2, "trn2.3xlarge", 1000);
    run(&h, 1, DVE, NONE, 0, 9, 0, 600);
    hand_trace_change(&h, 1, VECTOR, 9, 1, 600);
    hand_trace_run(&h, 1, ACT, write_to(&h, 1, ACT, 0, 1), 610, 700);
    hand_trace_change(&h, 0, AXI, 3, 1, 800);
    run(&h, 0, PE, NONE, 0, NONE, 0, 900);
    run(&h, 0, PE, 3, 1, NONE, 900, 1000);
    hand_answers_ask(&h, &a);

    expect(&a, "tensor=1.25", 880); /* ready at 720 */
    expect(&a, "tensor=2", 850);    /* ready at 450 */
    expect(&a, "vector=2", 1000);
    expect(&a, "tensor=2,vector=2", 550); /* the change comes at 500 */
    expect(&a, "vector=0.5", 1500);       /* the change comes at 1400 */
    hand_answers_done(&h, &a);
}

/* A group of the open encoding changes semaphore 3 of the other core when its load is complete: 600
 * ns after the instruction. */
static void transfers_of_another_core_become_faster(void **state)
{
    uint16_t remote[] = { 3 };
    struct hand_trace h;
    struct hand_answers a;

    (void)state;
    hand_trace_begin(&h, 2, "trn2.3xlarge", 1000);
    struct ntk_neff_dma_group group = { .id = 5,
                                        .queue_set = hand_trace_queue(&h, 1, "qSPIO0", 20),
                                        .semaphore = 20,
                                        .event = NTK_NEFF_NONE,
                                        .remote_semaphore_count = 1,
                                        .remote_semaphores = remote,
                                        .function_start = "" };
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
    trigger.queue = (uint16_t)group.queue_set;
    trigger.group_id = 5;
    h.neff_subgraphs[1].engines[SP].groups = &group;
    h.neff_subgraphs[1].engines[SP].group_count = 1;
    hand_trace_run(&h, 1, SP, hand_trace_open(&h, 1, SP, &trigger), 0, 100);
    hand_trace_change(&h, 1, AXI, 20, 1, 700);
    hand_trace_change(&h, 0, AXI, 3, 1, 700);
    run(&h, 0, PE, 3, 1, NONE, 700, 1000);
    hand_answers_ask(&h, &a);

    expect(&a, "dma=2", 700);
    expect(&a, "dma", 400);
    expect(&a, "sync=2", 950);
    expect(&a, "tensor=2", 850);
    hand_answers_done(&h, &a);
}

/* ---- changes from outside ---- */

static void expect_bounds(const struct hand_answers *a, const char *changes, int64_t total_ns,
                          int64_t least_gain_ns, int64_t largest_gain_ns)
{
    struct ntk_what_if result = what_if(a, changes);
    const struct ntk_what_if_row *row = &result.rows[0];
    struct ntk_buf out = { 0 };
    char wanted[200];

    assert_int_equal(result.unknown_wait_count, 1);
    assert_int_equal(result.outside_wait_count, 1);
    assert_true(row->has_bounds);
    assert_int_equal(row->total_ps, NS(total_ns));
    assert_int_equal(row->largest_total_ps, NS(1000 - least_gain_ns));
    assert_int_equal(row->least_total_ps, NS(1000 - largest_gain_ns));
    ntk_output_what_if_text(a->program, &result, &out);
    snprintf(wanted, sizeof wanted,
             "The gain is at least %.3f us if other cores keep their times, and at most %.3f us",
             (double)least_gain_ns / 1e3, (double)largest_gain_ns / 1e3);
    if (!strstr(ntk_buf_text_get(&out), wanted)) {
        fail_msg("%s: not '%s' in:\n%s", changes, wanted, ntk_buf_text_get(&out));
    }
    ntk_buf_fini(&out);
    ntk_what_if_fini(&result);
}

/* Core 1 is in the capture, but not selected: nothing shows what its change at 800 waited for. */
static void a_change_by_a_core_without_records_gives_bounds(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    (void)hand_trace_queue(&h, 0, "qSPIO0", 20);
    run(&h, 0, PE, NONE, 0, NONE, 0, 100);
    hand_trace_change(&h, 0, AXI, 3, 1, 800);
    run(&h, 0, PE, 3, 1, NONE, 810, 1000);
    h.ntff.subgraph_count++;
    hand_answers_ask(&h, &a);

    /* 50 + 710 + 95; at 810 + 95; at 50 + 95 */
    expect_bounds(&a, "tensor=2", 855, 95, 855);
    /* 200 + 710 + 380; at 810 + 380; at 200 + 380 */
    expect_bounds(&a, "tensor=0.5", 1290, -290, 420);
    hand_answers_done(&h, &a);
}

/* The same wait inside an instruction of the runtime: EVENT_SEMAPHORE from 110 to 810. */
static void a_wait_inside_an_instruction_gives_bounds(void **state)
{
    const uint8_t slot[NTK_NTFF_SLOT_BYTES] = {
        [0] = NTK_NTFF_OPCODE_EVENT_SEMAPHORE, [1] = 0x10, [32] = 1, [33] = 3, [36] = 1
    };
    struct hand_trace h;
    struct hand_answers a;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    (void)hand_trace_queue(&h, 0, "qSPIO0", 20);
    run(&h, 0, PE, NONE, 0, NONE, 0, 100);
    hand_trace_run(&h, 0, PE, hand_trace_slot(&h, 0, PE, slot), 110, 810);
    hand_trace_change(&h, 0, AXI, 3, 1, 800);
    run(&h, 0, PE, NONE, 0, NONE, 810, 1000);
    h.ntff.subgraph_count++;
    hand_answers_ask(&h, &a);

    /* 50 + 10 + 700 + 95; at 810 + 95; 60 + 95 */
    expect_bounds(&a, "tensor=2", 855, 95, 845);
    hand_answers_done(&h, &a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_in_one_core_moves_the_wait_of_the_other),
        cmocka_unit_test(each_execution_waits_for_its_own_changes),
        cmocka_unit_test(two_cores_that_alternate_wait_for_each_other),
        cmocka_unit_test(a_core_that_became_faster_waits_for_the_other),
        cmocka_unit_test(transfers_of_another_core_become_faster),
        cmocka_unit_test(a_change_by_a_core_without_records_gives_bounds),
        cmocka_unit_test(a_wait_inside_an_instruction_gives_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
