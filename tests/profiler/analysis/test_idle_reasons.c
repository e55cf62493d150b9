/* SPDX-License-Identifier: MIT */
/*
 * Method: hand-made traces in which each gap has one cause; the reasons and the work of every
 * engine must add up to the execution.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/answers/output_analysis.h"
#include "tests/support/hand_answers.h"
#include "tests/support/unit.h"

#define NONE NTK_ISA_NO_SEMAPHORE
#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)

static const struct ntk_idle_engine *engine_of(const struct hand_answers *a, unsigned engine)
{
    for (size_t i = 0; i < a->idle.engine_count; i++) {
        if (a->idle.engines[i].engine == engine) {
            return &a->idle.engines[i];
        }
    }
    fail_msg("engine %u has no answer", engine);
    return NULL;
}

/* PE works 100-300 and signals 9 at 300; ACT waits for it from 0, starts at 310, ends at 400; 1000
 * in total. */
static void a_wait_is_attributed_to_the_engine_that_ended_it(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t work = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, 9);
    uint32_t after = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, 9, 1, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, work, 100, 300);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, after, 310, 400);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 9, 1, 300);
    hand_answers_ask(&h, &a);

    const struct ntk_idle_engine *act = engine_of(&a, NTK_NTFF_ENGINE_SCALAR);
    assert_int_equal(act->busy_ps, NS(90));
    assert_int_equal(act->reasons_ps[NTK_IDLE_ENGINE], NS(300));
    assert_int_equal(act->reasons_ps[NTK_IDLE_ISSUE], NS(10));
    assert_int_equal(act->reasons_ps[NTK_IDLE_END], NS(600));
    assert_int_equal(act->rows[0].reason, NTK_IDLE_ENGINE);
    assert_int_equal(act->rows[0].number, 9);
    assert_int_equal(act->rows[0].source, NTK_NTFF_ENGINE_TENSOR);
    assert_int_equal(act->rows[0].opcode, NTK_NTFF_OPCODE_NOP);
    assert_int_equal(act->rows[0].longest_ps, NS(300));
    assert_int_equal(act->rows[2].reason, NTK_IDLE_END); /* longer, but not a cause */
    const struct ntk_idle_engine *pe = engine_of(&a, NTK_NTFF_ENGINE_TENSOR);
    assert_int_equal(pe->busy_ps, NS(200));
    assert_int_equal(pe->reasons_ps[NTK_IDLE_ISSUE], NS(100));
    assert_int_equal(pe->reasons_ps[NTK_IDLE_END], NS(700));
    hand_answers_done(&h, &a);
}

/* POOL issues a copy that waits for 9, then an instruction that waits for 20, which changed long
 * ago. Descriptors of the copy are generated at 700, so it is recorded after the instruction that
 * it delayed. */
static void an_instruction_delayed_by_an_earlier_wait_has_that_wait_as_reason(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t work = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, NONE, 0, 9);
    uint32_t first = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_POOL, NONE, 0, NONE);
    uint32_t copy = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_POOL, 9, 1, NONE);
    uint32_t after = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_POOL, 20, 1, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_POOL, first, 0, 100);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_AXI, 20, 1, 50);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, work, 100, 500);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_SCALAR, 9, 1, 500);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_POOL, after, 510, 600);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_POOL, copy, 700, 1000);
    hand_answers_ask(&h, &a);

    const struct ntk_idle_engine *pool = engine_of(&a, NTK_NTFF_ENGINE_GPSIMD);
    assert_int_equal(pool->reasons_ps[NTK_IDLE_ENGINE], NS(400));
    assert_int_equal(pool->reasons_ps[NTK_IDLE_ISSUE], NS(10 + 100));
    assert_int_equal(pool->rows[0].number, 9);
    assert_int_equal(pool->rows[0].source, NTK_NTFF_ENGINE_SCALAR);
    hand_answers_done(&h, &a);
}

/* A loop of two: the second one is not followed by one that it overtook. */
static void a_repeated_loop_instruction_is_not_treated_as_overtaken(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t work = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, NONE, 0, 9);
    uint32_t first = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_POOL, 9, 1, NONE);
    uint32_t second = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_POOL, NONE, 0, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, work, 0, 200);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_SCALAR, 9, 1, 200);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_POOL, first, 200, 300);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_POOL, second, 500, 600);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_POOL, first, 600, 700);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_POOL, second, 700, 1000);
    hand_answers_ask(&h, &a);

    assert_int_equal(engine_of(&a, NTK_NTFF_ENGINE_GPSIMD)->reasons_ps[NTK_IDLE_ISSUE], NS(200));
    hand_answers_done(&h, &a);
}

/* The runtime's EVENT_SEMAPHORE: waits inside until semaphore 2 is the value, adds 1. */
static uint32_t barrier(struct hand_trace *h, unsigned engine, uint8_t value)
{
    const uint8_t slot[64] = {
        [0] = 0xa0, [1] = 0x10, [32] = 0x01, [33] = 2, [34] = 0x13, [35] = 2, [36] = value, [40] = 1
    };

    return hand_trace_slot(h, 0, engine, slot);
}

/* SP has no program, ACT ends its own at 300, PE at 800; all wait in the barrier at the end, which
 * PE reaches last. SP has nothing left to do from the start of PE on, and ACT from 300 on, until
 * 800; then the runtime ends the execution. */
static void waiting_in_the_last_barrier_is_reported_as_no_work_left(void **state)
{
    struct ntk_ntff_insertion inserted[] = { { NTK_NTFF_ENGINE_TENSOR, 1, 1, 0 },
                                             { NTK_NTFF_ENGINE_SCALAR, 1, 1, 0 },
                                             { NTK_NTFF_ENGINE_SYNC, 0, 1, 0 } };
    static const unsigned engines[] = { NTK_ISA_ENGINE_PE, NTK_ISA_ENGINE_ACT, NTK_ISA_ENGINE_SP };
    static const int64_t until[] = { 800, 300, 0 };
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    h.subgraphs[0].insertions = inserted;
    h.subgraphs[0].insertion_count = 3;
    for (size_t i = 0; i < 3; i++) {
        if (until[i]) {
            uint32_t work = hand_trace_nop(&h, 0, engines[i], NONE, 0, NONE);
            hand_trace_run(&h, 0, engines[i], work, 100, until[i]);
        }
        uint32_t last = barrier(&h, engines[i], 3);
        hand_trace_run(&h, 0, engines[i], last, until[i], 1000);
    }
    hand_answers_ask(&h, &a);

    const struct ntk_idle_engine *act = engine_of(&a, NTK_NTFF_ENGINE_SCALAR);
    assert_int_equal(act->reasons_ps[NTK_IDLE_END], NS(500));
    assert_int_equal(act->reasons_ps[NTK_IDLE_RUNTIME], NS(200));
    assert_int_equal(act->rows[0].reason, NTK_IDLE_ISSUE); /* shorter, but not the barrier */
    assert_int_equal(act->rows[1].reason, NTK_IDLE_END);
    const struct ntk_idle_engine *sp = engine_of(&a, NTK_NTFF_ENGINE_SYNC);
    assert_int_equal(sp->reasons_ps[NTK_IDLE_RUNTIME], NS(100 + 200));
    assert_int_equal(sp->reasons_ps[NTK_IDLE_END], NS(700));
    const struct ntk_idle_engine *pe = engine_of(&a, NTK_NTFF_ENGINE_TENSOR);
    assert_int_equal(pe->reasons_ps[NTK_IDLE_END], 0);
    assert_int_equal(pe->reasons_ps[NTK_IDLE_RUNTIME], NS(200));
    hand_answers_done(&h, &a);
}

/* DVE works 0-600 (its softmax), SP waits for it and starts a load in 10 ns, with data arriving at
 * 1000; PE waits for the load from 100 on. PE's root is DVE, not DMA. */
static void a_wait_is_traced_to_its_root(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1200);
    struct ntk_isa_instr copy = hand_trace_load(&h, 0, 4);
    copy.wait_semaphore = 9;
    copy.wait_value = 1;
    uint32_t load = hand_trace_open(&h, 0, NTK_ISA_ENGINE_SP, &copy);
    uint32_t softmax = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_DVE, NONE, 0, 9);
    uint32_t early = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    uint32_t product = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, 20, 1, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, early, 0, 100);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE, softmax, 0, 600);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_VECTOR, 9, 1, 600);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_SP, load, 610, 620);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_AXI, 20, 1, 1000);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, product, 1000, 1200);
    hand_answers_ask(&h, &a);

    const struct ntk_idle_engine *pe = engine_of(&a, NTK_NTFF_ENGINE_TENSOR);
    assert_int_equal(pe->chains.count, 1);
    const struct ntk_wait_chain *chain = &pe->chains.chains[0];
    assert_int_equal(chain->link_count, 2); /* SP only passed the wait on */
    assert_int_equal(chain->idle_ps, NS(900));
    assert_true(chain->links[0].is_transfer);
    assert_string_equal(chain->links[0].queue, "qSPIO0");
    assert_int_equal(chain->links[0].part_ps, NS(380));
    assert_int_equal(chain->links[1].engine, NTK_NTFF_ENGINE_VECTOR);
    assert_int_equal(chain->links[1].part_ps, NS(500));
    assert_false(chain->is_unknown);
    /* SP waited only for DVE, from 0 to 600 */
    const struct ntk_idle_engine *sp = engine_of(&a, NTK_NTFF_ENGINE_SYNC);
    assert_int_equal(sp->chains.count, 1);
    assert_int_equal(sp->chains.chains[0].link_count, 1);
    hand_answers_done(&h, &a);
}

/* The same, but DVE waits for a semaphore with lost changes: the root is unknown. */
static void a_wait_chain_that_ends_at_a_lost_change_has_no_root_cause(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t first = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_DVE, NONE, 0, NONE);
    uint32_t softmax = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_DVE, 30, 1, 9);
    uint32_t product = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, 9, 1, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE, first, 0, 10);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE, softmax, 500, 900);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_VECTOR, 9, 1, 900);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, product, 900, 1000);
    hand_answers_ask(&h, &a);

    const struct ntk_idle_engine *pe = engine_of(&a, NTK_NTFF_ENGINE_TENSOR);
    assert_int_equal(pe->chains.count, 1);
    assert_true(pe->chains.chains[0].is_unknown);
    assert_int_equal(pe->chains.chains[0].links[0].engine, NTK_NTFF_ENGINE_VECTOR);
    assert_int_equal(pe->chains.chains[0].links[0].part_ps, NS(400));
    hand_answers_done(&h, &a);
}

/* Instructions of ACT overlap one another until the end; the last signals 9 at 900, which PE waits
 * for. Going back leads to earlier instructions, but to no earlier time. The first is short: the
 * overlap is not the drain of its opcode. */
static void a_wait_chain_without_an_earlier_time_has_no_root_cause(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 3000);
    uint32_t first = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, NONE, 0, NONE);
    uint32_t last = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, NONE, 0, 9);
    uint32_t product = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, 9, 1, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, first, 0, 1);
    for (int64_t i = 1; i < 800; i++) {
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, first, i, 2000 + i);
    }
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, last, 800, 2900);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_SCALAR, 9, 1, 900);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, product, 900, 1000);
    hand_answers_ask(&h, &a);

    const struct ntk_idle_engine *pe = engine_of(&a, NTK_NTFF_ENGINE_TENSOR);
    assert_int_equal(pe->chains.count, 1);
    assert_true(pe->chains.chains[0].is_unknown);
    assert_int_equal(pe->chains.chains[0].idle_ps, NS(900));
    assert_int_equal(pe->chains.chains[0].link_count, 0);
    struct ntk_buf out = { 0 };
    ntk_output_idle_text(a.program, &a.idle, &out);
    assert_non_null(strstr(ntk_buf_text_get(&out), " unknown"));
    assert_null(strstr(ntk_buf_text_get(&out), "other chains"));
    ntk_buf_fini(&out);
    hand_answers_done(&h, &a);
}

static void the_missing_part_of_a_truncated_file_is_not_idle_time(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t work = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, 9);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, work, 0, 300);
    h.trace.cores[0].is_cut.instructions = true;
    hand_answers_ask(&h, &a);

    const struct ntk_idle_engine *pe = engine_of(&a, NTK_NTFF_ENGINE_TENSOR);
    assert_int_equal(pe->busy_ps, NS(300));
    assert_int_equal(pe->reasons_ps[NTK_IDLE_END], 0);
    assert_int_equal(pe->reasons_ps[NTK_IDLE_UNKNOWN], NS(700));
    hand_answers_done(&h, &a);
}

/* The instruction that started the transfer names the queue; half of the wait had passed when PE
 * reached it. */
static void a_wait_for_dma_names_the_queue_and_starts_when_the_engine_is_free(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    struct ntk_isa_instr copy = hand_trace_load(&h, 0, 4);
    uint32_t load = hand_trace_open(&h, 0, NTK_ISA_ENGINE_SP, &copy);
    uint32_t before = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    uint32_t after = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, 20, 1, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_SP, load, 0, 50);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, before, 0, 400);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, after, 800, 1000);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_AXI, 20, 1, 800);
    hand_answers_ask(&h, &a);

    const struct ntk_idle_engine *pe = engine_of(&a, NTK_NTFF_ENGINE_TENSOR);
    assert_int_equal(pe->busy_ps, NS(600));
    assert_int_equal(pe->reasons_ps[NTK_IDLE_DMA], NS(400));
    assert_int_equal(pe->row_count, 1);
    assert_string_equal(pe->rows[0].queue, "qSPIO0");
    assert_int_equal(pe->rows[0].longest_at_ps, NS(400));
    hand_answers_done(&h, &a);
}

/* 5 counts up at 100, 200, 300, 400; a wait for 3 ended at 300, not later. */
static void a_wait_is_ended_by_the_change_that_satisfies_its_condition(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 600);
    uint32_t count = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, 9);
    uint32_t wait = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_DVE, 9, 3, NONE);
    for (int i = 0; i < 4; i++) {
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, count, 100 * i, 100 * i + 100);
        hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 9, (uint32_t)i + 1, 100 * i + 100);
    }
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE, wait, 450, 600);
    hand_answers_ask(&h, &a);

    const struct ntk_idle_engine *dve = engine_of(&a, NTK_NTFF_ENGINE_VECTOR);
    assert_int_equal(dve->reasons_ps[NTK_IDLE_ENGINE], NS(300));
    assert_int_equal(dve->reasons_ps[NTK_IDLE_ISSUE], NS(150));
    hand_answers_done(&h, &a);
}

/* EVENT_SEMAPHORE is not work, and ends where the next instruction starts. */
static void semaphore_instructions_count_as_idle_time(void **state)
{
    struct hand_trace h;
    struct hand_answers a;
    struct ntk_isa_instr only = ntk_isa_instr_make(NTK_ISA_OP_EVENT_SEMAPHORE);

    hand_trace_begin(&h, 1, "trn2.3xlarge", 500);
    uint32_t semaphore = hand_trace_open(&h, 0, NTK_ISA_ENGINE_PE, &only);
    uint32_t work = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, semaphore, 0, 200);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, work, 150, 500);
    hand_answers_ask(&h, &a);

    const struct ntk_idle_engine *pe = engine_of(&a, NTK_NTFF_ENGINE_TENSOR);
    assert_int_equal(pe->instruction_count, 2);
    assert_int_equal(pe->busy_ps, NS(350));
    assert_int_equal(pe->reasons_ps[NTK_IDLE_ISSUE], NS(150));
    hand_answers_done(&h, &a);
}

/* The head of a vendor's slot for Trainium1 and 2; the waits of later generations are unknown. */
static void waits_in_vendor_instructions_are_read_for_known_layouts(void **state)
{
    static const uint8_t waiting[64] = { 0x42, 0x10, 0, 0, 0x05, 9, 0x13, 6, 1 };
    static const uint8_t signalling[64] = { 0x02, 0x10, 0, 0, 0, 0, 0x13, 9 };

    static const char *const machines[] = { "trn1.2xlarge", "trn3.48xlarge", "inf1.xlarge" };

    for (int m = 0; m < 3; m++) {
        bool is_known = m < 2;
        struct hand_trace h;
        struct hand_answers a;

        hand_trace_begin(&h, 1, machines[m], 1000);
        uint32_t signal = hand_trace_slot(&h, 0, NTK_ISA_ENGINE_PE, signalling);
        uint32_t wait = hand_trace_slot(&h, 0, NTK_ISA_ENGINE_DVE, waiting);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, signal, 0, 300);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE, wait, 300, 1000);
        hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 9, 1, 300);
        hand_answers_ask(&h, &a);
        const struct ntk_idle_engine *dve = engine_of(&a, NTK_NTFF_ENGINE_VECTOR);
        assert_int_equal(dve->reasons_ps[is_known ? NTK_IDLE_ENGINE : NTK_IDLE_UNKNOWN], NS(300));
        if (is_known) {
            assert_int_equal(dve->rows[0].opcode, NTK_NTFF_OPCODE_MATMUL);
        }
        hand_answers_done(&h, &a);
    }
}

/* A vendor's EVENT_SEMAPHORE of the program starts, then waits: issued 0-100, waiting for PE
 * 100-310, at its end at 500. */
static void waits_inside_a_running_instruction_are_counted(void **state)
{
    static const uint8_t barrier[64] = { [0] = 0xa0, [1] = 0x10, [32] = 0x05, [33] = 2, [36] = 1 };
    static const uint8_t opener[64] = { 0x02, 0x10, 0, 0, 0, 0, 0x13, 2 };
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t wait = hand_trace_slot(&h, 0, NTK_ISA_ENGINE_SP, barrier);
    uint32_t open = hand_trace_slot(&h, 0, NTK_ISA_ENGINE_PE, opener);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, open, 0, 300);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_SP, wait, 100, 500);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 2, 1, 310);
    hand_answers_ask(&h, &a);

    const struct ntk_idle_engine *sync = engine_of(&a, NTK_NTFF_ENGINE_SYNC);
    assert_int_equal(sync->busy_ps, 0);
    assert_int_equal(sync->reasons_ps[NTK_IDLE_ISSUE], NS(100 + 190));
    assert_int_equal(sync->reasons_ps[NTK_IDLE_ENGINE], NS(210));
    assert_int_equal(sync->reasons_ps[NTK_IDLE_END], NS(500));
    hand_answers_done(&h, &a);
}

static void runtime_code_is_a_separate_idle_reason(void **state)
{
    struct hand_trace h;
    struct hand_answers a;
    struct ntk_ntff_insertion inserted = { NTK_NTFF_ENGINE_TENSOR, 0, 1, 0 };

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    h.subgraphs[0].insertions = &inserted;
    h.subgraphs[0].insertion_count = 1;
    uint32_t runtime = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    uint32_t own = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, runtime, 600, 700);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, own, 750, 1000);
    hand_answers_ask(&h, &a);

    const struct ntk_idle_engine *pe = engine_of(&a, NTK_NTFF_ENGINE_TENSOR);
    assert_int_equal(pe->reasons_ps[NTK_IDLE_RUNTIME], NS(600));
    assert_int_equal(pe->reasons_ps[NTK_IDLE_ISSUE], NS(50));
    assert_int_equal(pe->busy_ps, NS(350));
    hand_answers_done(&h, &a);
}

static void an_unknown_trace_length_returns_no_result(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 0);
    hand_trace_end(&h);
    assert_int_equal(ntk_program_create(&h.trace, &a.program), 0);
    assert_int_equal(ntk_analysis_dependencies(a.program, &a.dependencies), 0);
    assert_int_equal(ntk_analysis_idle_reasons(a.program, &a.dependencies, &a.idle), -ENODATA);
    ntk_dependencies_fini(&a.dependencies);
    ntk_program_destroy(a.program);
    hand_trace_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_is_attributed_to_the_engine_that_ended_it),
        cmocka_unit_test(an_instruction_delayed_by_an_earlier_wait_has_that_wait_as_reason),
        cmocka_unit_test(a_repeated_loop_instruction_is_not_treated_as_overtaken),
        cmocka_unit_test(waiting_in_the_last_barrier_is_reported_as_no_work_left),
        cmocka_unit_test(a_wait_is_traced_to_its_root),
        cmocka_unit_test(a_wait_chain_that_ends_at_a_lost_change_has_no_root_cause),
        cmocka_unit_test(a_wait_chain_without_an_earlier_time_has_no_root_cause),
        cmocka_unit_test(a_wait_for_dma_names_the_queue_and_starts_when_the_engine_is_free),
        cmocka_unit_test(a_wait_is_ended_by_the_change_that_satisfies_its_condition),
        cmocka_unit_test(the_missing_part_of_a_truncated_file_is_not_idle_time),
        cmocka_unit_test(semaphore_instructions_count_as_idle_time),
        cmocka_unit_test(waits_in_vendor_instructions_are_read_for_known_layouts),
        cmocka_unit_test(waits_inside_a_running_instruction_are_counted),
        cmocka_unit_test(runtime_code_is_a_separate_idle_reason),
        cmocka_unit_test(an_unknown_trace_length_returns_no_result),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
