/* SPDX-License-Identifier: MIT */
/*
 * Method: hand-made programs in which every gap of every engine is known: where it is, how long it
 * is, and its cause. hand_answers also asserts for each that gaps add up to the idle time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/answers/output_analysis.h"
#include "tests/support/hand_answers.h"
#include "tests/support/unit.h"

#define NONE NTK_ISA_NO_SEMAPHORE
#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)
#define PE NTK_ISA_ENGINE_PE
#define ACT NTK_ISA_ENGINE_ACT
#define DVE NTK_ISA_ENGINE_DVE
#define SP NTK_ISA_ENGINE_SP
#define TENSOR NTK_NTFF_ENGINE_TENSOR
#define SCALAR NTK_NTFF_ENGINE_SCALAR
#define VECTOR NTK_NTFF_ENGINE_VECTOR
#define SYNC NTK_NTFF_ENGINE_SYNC
#define AXI NTK_NTFF_ENGINE_AXI

struct wanted {
    unsigned engine;
    int64_t start_ns, end_ns, due_ns;
    enum ntk_idle_reason reason;
};

/* The gap of the engine that starts at this time; NULL if there is none. */
static const struct ntk_bubble *gap_at(const struct ntk_bubbles *bubbles, unsigned engine,
                                       int64_t start_ns)
{
    for (size_t i = 0; i < bubbles->cause_count; i++) {
        for (size_t b = 0; b < bubbles->causes[i].bubble_count; b++) {
            const struct ntk_bubble *one = &bubbles->causes[i].bubbles[b];
            if (one->engine == engine && one->start_ps == NS(start_ns)) {
                return one;
            }
        }
    }
    return NULL;
}

/* These gaps and no others. */
static void expect(const struct ntk_bubbles *bubbles, const struct wanted *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct ntk_bubble *found = gap_at(bubbles, wanted[i].engine, wanted[i].start_ns);
        if (!found) {
            fail_msg("engine %u has no gap from %lld ns on", wanted[i].engine,
                     (long long)wanted[i].start_ns);
            return;
        }
        assert_int_equal(found->end_ps, NS(wanted[i].end_ns));
        assert_int_equal(bubbles->causes[found->cause].reason, wanted[i].reason);
        assert_int_equal(found->cause_ps, NS(wanted[i].due_ns));
    }
    assert_int_equal(bubbles->count, count);
}
#define EXPECT(bubbles, ...)                                       \
    do {                                                           \
        const struct wanted wanted[] = { __VA_ARGS__ };            \
        expect((bubbles), wanted, sizeof wanted / sizeof *wanted); \
    } while (0)

static const struct ntk_bubble_cause *cause_of(const struct ntk_bubbles *bubbles,
                                               enum ntk_idle_reason reason)
{
    for (size_t i = 0; i < bubbles->cause_count; i++) {
        if (bubbles->causes[i].reason == reason) {
            return &bubbles->causes[i];
        }
    }
    fail_msg("no gap for reason %d", (int)reason);
    return NULL;
}

/* ---- programs -------------------------------------------------------------------------------- */

/* PE works alone from 0 to the end. */
static void a_continuously_busy_engine_has_no_gap(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 400);
    uint32_t work = hand_trace_nop(&h, 0, PE, NONE, 0, NONE);
    for (int64_t i = 0; i < 4; i++) {
        hand_trace_run(&h, 0, PE, work, 100 * i, 100 * i + 100);
    }
    hand_answers_ask(&h, &a);
    assert_int_equal(a.bubbles.count, 0);
    assert_int_equal(a.bubbles.cause_count, 0);
    assert_int_equal(a.bubbles.idle_ps, 0);
    struct ntk_buf out = { 0 };
    ntk_output_bubbles_text(a.program, &a.bubbles, 0, &out);
    assert_string_equal(ntk_buf_text_get(&out),
                        "0 gaps of 1 engines, 0.000 us of idle time in an execution of 0.400 us. "
                        "Grouped by the cause of the largest part of each gap\n");
    ntk_buf_fini(&out);
    hand_answers_done(&h, &a);
}

/* Instructions overlap: time covered by another instruction is not a gap, wherever the first ones
 * end. */
static void overlapping_instructions_have_no_gap(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 500);
    uint32_t work = hand_trace_nop(&h, 0, PE, NONE, 0, NONE);
    hand_trace_run(&h, 0, PE, work, 0, 300);
    hand_trace_run(&h, 0, PE, work, 50, 100);
    hand_trace_run(&h, 0, PE, work, 290, 450);
    hand_answers_ask(&h, &a);
    EXPECT(&a.bubbles, { TENSOR, 450, 500, 50, NTK_IDLE_END });
    hand_answers_done(&h, &a);
}

/* PE starts every 100 ns and works for 70: nine gaps of 30 ns, and one at the end. */
static void gaps_after_each_instruction_are_attributed_to_issue_time(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t work = hand_trace_nop(&h, 0, PE, NONE, 0, NONE);
    for (int64_t i = 0; i < 10; i++) {
        hand_trace_run(&h, 0, PE, work, 100 * i, 100 * i + 70);
    }
    hand_answers_ask(&h, &a);
    const struct ntk_bubble_cause *issue = cause_of(&a.bubbles, NTK_IDLE_ISSUE);
    assert_int_equal(issue->count, 9);
    assert_int_equal(issue->gaps_ps, NS(270));
    assert_int_equal(issue->cause_ps, NS(270));
    assert_int_equal(issue->bubbles[0].start_ps, NS(70)); /* equal gaps in time order */
    assert_int_equal(issue->bubbles[8].start_ps, NS(870));
    assert_int_equal(cause_of(&a.bubbles, NTK_IDLE_END)->gaps_ps, NS(30));
    assert_int_equal(a.bubbles.idle_ps, NS(300));
    assert_ptr_equal(issue, &a.bubbles.causes[0]); /* nothing left to do is last */
    hand_answers_done(&h, &a);
}

/* PE works 100-300 and signals 9 at 300; ACT waits for it from 0, starts at 310. The wait and the
 * issue after it are one gap, caused by PE. */
static void a_wait_and_the_following_issue_time_are_one_gap(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t work = hand_trace_nop(&h, 0, PE, NONE, 0, 9);
    uint32_t after = hand_trace_nop(&h, 0, ACT, 9, 1, NONE);
    hand_trace_run(&h, 0, PE, work, 100, 300);
    hand_trace_run(&h, 0, ACT, after, 310, 400);
    hand_trace_change(&h, 0, TENSOR, 9, 1, 300);
    hand_answers_ask(&h, &a);
    EXPECT(&a.bubbles, { TENSOR, 0, 100, 100, NTK_IDLE_ISSUE },
           { TENSOR, 300, 1000, 700, NTK_IDLE_END }, { SCALAR, 0, 310, 300, NTK_IDLE_ENGINE },
           { SCALAR, 400, 1000, 600, NTK_IDLE_END });
    const struct ntk_bubble_cause *cause = cause_of(&a.bubbles, NTK_IDLE_ENGINE);
    assert_int_equal(cause->maker.engine, TENSOR);
    assert_int_equal(cause->maker.opcode, NTK_NTFF_OPCODE_NOP);
    assert_int_equal(cause->gaps_ps, NS(310));
    assert_int_equal(cause->cause_ps, NS(300));
    const struct ntk_bubble *gap = gap_at(&a.bubbles, SCALAR, 0);
    assert_int_equal(h.trace.cores[0].instructions[gap->next].start_ps, NS(310));
    assert_int_equal(gap_at(&a.bubbles, SCALAR, 400)->next, NTK_NO_INDEX);
    assert_false(gap->has_root); /* PE itself */
    hand_answers_done(&h, &a);
}

/* ACT is free at 280, PE signals at 300, but ACT starts only at 400: most of the gap is issue. */
static void a_gap_is_attributed_to_the_cause_with_the_longest_share(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 500);
    uint32_t work = hand_trace_nop(&h, 0, PE, NONE, 0, 9);
    uint32_t first = hand_trace_nop(&h, 0, ACT, NONE, 0, NONE);
    uint32_t after = hand_trace_nop(&h, 0, ACT, 9, 1, NONE);
    hand_trace_run(&h, 0, PE, work, 0, 300);
    hand_trace_run(&h, 0, ACT, first, 0, 280);
    hand_trace_run(&h, 0, ACT, after, 400, 500);
    hand_trace_change(&h, 0, TENSOR, 9, 1, 300);
    hand_answers_ask(&h, &a);
    EXPECT(&a.bubbles, { SCALAR, 280, 400, 100, NTK_IDLE_ISSUE },
           { TENSOR, 300, 500, 200, NTK_IDLE_END });
    hand_answers_done(&h, &a);
}

/* PE and ACT alternate over two semaphores, 100 ns each, 10 rounds: each waits for the other. */
static void two_alternating_engines_have_one_gap_per_engine_and_round(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 2000);
    for (uint8_t i = 0; i < 10; i++) {
        uint32_t ping = hand_trace_nop(&h, 0, PE, i ? 8 : NONE, i, 9);
        uint32_t pong = hand_trace_nop(&h, 0, ACT, 9, i + 1U, 8);
        hand_trace_run(&h, 0, PE, ping, 200 * i, 200 * i + 100);
        hand_trace_change(&h, 0, TENSOR, 9, i + 1U, 200 * i + 100);
        hand_trace_run(&h, 0, ACT, pong, 200 * i + 100, 200 * i + 200);
        hand_trace_change(&h, 0, SCALAR, 8, i + 1U, 200 * i + 200);
    }
    hand_answers_ask(&h, &a);
    /* ACT waits 10 times for PE, PE 9 times for ACT, which has nothing left to do at the end. */
    assert_int_equal(a.bubbles.count, 20);
    assert_int_equal(a.bubbles.cause_count, 3);
    assert_int_equal(a.bubbles.causes[0].maker.engine, TENSOR);
    assert_int_equal(a.bubbles.causes[0].count, 10);
    assert_int_equal(a.bubbles.causes[0].gaps_ps, NS(1000));
    assert_int_equal(a.bubbles.causes[1].maker.engine, SCALAR);
    assert_int_equal(a.bubbles.causes[1].count, 9);
    assert_int_equal(a.bubbles.causes[2].reason, NTK_IDLE_END);
    assert_int_equal(a.bubbles.idle_ps, NS(2000));
    hand_answers_done(&h, &a);
}

/* Loads by one queue and two semaphores of the same program that arrive after PE is free: one
 * cause. */
static void waits_for_the_same_queue_are_one_gap_cause(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 2000);
    struct ntk_isa_instr copy = hand_trace_load(&h, 0, 4);
    uint32_t load = hand_trace_open(&h, 0, SP, &copy);
    uint32_t before = hand_trace_nop(&h, 0, PE, NONE, 0, NONE);
    hand_trace_run(&h, 0, PE, before, 0, 400);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t after = hand_trace_nop(&h, 0, PE, 20, i + 1, NONE);
        hand_trace_run(&h, 0, SP, load, 50 * i, 50 * i + 50);
        hand_trace_run(&h, 0, PE, after, 800 + 600 * i, 1000 + 600 * i);
        hand_trace_change(&h, 0, AXI, 20, i + 1, 800 + 600 * i);
    }
    hand_answers_ask(&h, &a);
    EXPECT(&a.bubbles, { TENSOR, 400, 800, 400, NTK_IDLE_DMA },
           { TENSOR, 1000, 1400, 400, NTK_IDLE_DMA }, { TENSOR, 1600, 2000, 400, NTK_IDLE_END },
           { SYNC, 100, 2000, 1900, NTK_IDLE_END });
    const struct ntk_bubble_cause *cause = cause_of(&a.bubbles, NTK_IDLE_DMA);
    assert_true(cause->maker.is_transfer);
    assert_string_equal(cause->maker.queue, "qSPIO0");
    assert_int_equal(cause->count, 2);
    hand_answers_done(&h, &a);
}

/* DVE works 0-600; SP waits for it and starts a load, with data arriving at 1000; PE waits for the
 * load from 100 on. The cause is the queue, the root is DVE. */
static void a_gap_is_reported_with_its_root_cause(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1200);
    struct ntk_isa_instr copy = hand_trace_load(&h, 0, 4);
    copy.wait_semaphore = 9;
    copy.wait_value = 1;
    uint32_t load = hand_trace_open(&h, 0, SP, &copy);
    uint32_t softmax = hand_trace_nop(&h, 0, DVE, NONE, 0, 9);
    uint32_t early = hand_trace_nop(&h, 0, PE, NONE, 0, NONE);
    uint32_t product = hand_trace_nop(&h, 0, PE, 20, 1, NONE);
    hand_trace_run(&h, 0, PE, early, 0, 100);
    hand_trace_run(&h, 0, DVE, softmax, 0, 600);
    hand_trace_change(&h, 0, VECTOR, 9, 1, 600);
    hand_trace_run(&h, 0, SP, load, 610, 620);
    hand_trace_change(&h, 0, AXI, 20, 1, 1000);
    hand_trace_run(&h, 0, PE, product, 1000, 1200);
    hand_answers_ask(&h, &a);
    EXPECT(&a.bubbles, { TENSOR, 100, 1000, 900, NTK_IDLE_DMA },
           { VECTOR, 600, 1200, 600, NTK_IDLE_END }, { SYNC, 0, 610, 600, NTK_IDLE_ENGINE },
           { SYNC, 620, 1200, 580, NTK_IDLE_END });
    const struct ntk_bubble *gap = gap_at(&a.bubbles, TENSOR, 100);
    assert_true(gap->has_root && !gap->is_root_unknown);
    assert_int_equal(gap->root.engine, VECTOR);
    struct ntk_buf out = { 0 };
    ntk_output_bubbles_text(a.program, &a.bubbles, 1, &out);
    assert_non_null(strstr(ntk_buf_text_get(&out), "The 1 longest gaps;"));
    assert_non_null(strstr(ntk_buf_text_get(&out), "waits for DMA queue qSyncIO0"));
    assert_non_null(strstr(ntk_buf_text_get(&out), "Vector NOP"));
    ntk_buf_fini(&out);
    hand_answers_done(&h, &a);
}

/* The record of DVE's own wait was lost: the chain of PE's gap ends there. */
static void a_gap_with_an_unknown_root_cause_is_marked(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t first = hand_trace_nop(&h, 0, DVE, NONE, 0, NONE);
    uint32_t softmax = hand_trace_nop(&h, 0, DVE, 30, 1, 9);
    uint32_t product = hand_trace_nop(&h, 0, PE, 9, 1, NONE);
    hand_trace_run(&h, 0, DVE, first, 0, 10);
    hand_trace_run(&h, 0, DVE, softmax, 500, 900);
    hand_trace_change(&h, 0, VECTOR, 9, 1, 900);
    hand_trace_run(&h, 0, PE, product, 900, 1000);
    hand_answers_ask(&h, &a);
    EXPECT(&a.bubbles, { TENSOR, 0, 900, 900, NTK_IDLE_ENGINE },
           { VECTOR, 10, 500, 490, NTK_IDLE_UNKNOWN }, { VECTOR, 900, 1000, 100, NTK_IDLE_END });
    assert_true(gap_at(&a.bubbles, TENSOR, 0)->is_root_unknown);
    hand_answers_done(&h, &a);
}

/* Records after the truncation are lost, so the cause of the last gap is unknown. */
static void the_time_after_truncation_is_not_a_known_gap(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t work = hand_trace_nop(&h, 0, PE, NONE, 0, NONE);
    hand_trace_run(&h, 0, PE, work, 0, 300);
    h.trace.cores[0].is_cut.instructions = true;
    hand_answers_ask(&h, &a);
    EXPECT(&a.bubbles, { TENSOR, 300, 1000, 700, NTK_IDLE_UNKNOWN });
    hand_answers_done(&h, &a);
}

/* The runtime's code starts at 600, the program's at 750. */
static void startup_code_of_the_runtime_is_a_gap_cause(void **state)
{
    struct hand_trace h;
    struct hand_answers a;
    struct ntk_ntff_insertion inserted = { TENSOR, 0, 1, 0 };

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    h.subgraphs[0].insertions = &inserted;
    h.subgraphs[0].insertion_count = 1;
    uint32_t runtime = hand_trace_nop(&h, 0, PE, NONE, 0, NONE);
    uint32_t own = hand_trace_nop(&h, 0, PE, NONE, 0, NONE);
    hand_trace_run(&h, 0, PE, runtime, 600, 700);
    hand_trace_run(&h, 0, PE, own, 750, 1000);
    hand_answers_ask(&h, &a);
    EXPECT(&a.bubbles, { TENSOR, 0, 600, 600, NTK_IDLE_RUNTIME },
           { TENSOR, 700, 750, 50, NTK_IDLE_ISSUE });
    hand_answers_done(&h, &a);
}

/* A vendor's EVENT_SEMAPHORE waits while it runs: 0-100 issue, 100-310 for PE, 310-500 its end,
 * then nothing. All of it is one gap, since waiting is idle. */
static void a_semaphore_instruction_does_not_split_a_gap(void **state)
{
    static const uint8_t barrier[64] = { [0] = 0xa0, [1] = 0x10, [32] = 0x05, [33] = 2, [36] = 1 };
    static const uint8_t opener[64] = { 0x02, 0x10, 0, 0, 0, 0, 0x13, 2 };
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t wait = hand_trace_slot(&h, 0, SP, barrier);
    uint32_t open = hand_trace_slot(&h, 0, PE, opener);
    hand_trace_run(&h, 0, PE, open, 0, 300);
    hand_trace_run(&h, 0, SP, wait, 100, 500);
    hand_trace_change(&h, 0, TENSOR, 2, 1, 310);
    hand_answers_ask(&h, &a);
    EXPECT(&a.bubbles, { SYNC, 0, 1000, 500, NTK_IDLE_END },
           { TENSOR, 300, 1000, 700, NTK_IDLE_END });
    hand_answers_done(&h, &a);
}

/* Two cores wait for queues of the same name: one cause, and each gap names its core. */
static void a_queue_on_two_cores_is_one_gap_cause(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 2, "trn2.3xlarge", 1000);
    for (size_t c = 0; c < 2; c++) {
        struct ntk_isa_instr copy = hand_trace_load(&h, c, 4);
        uint32_t load = hand_trace_open(&h, c, SP, &copy);
        uint32_t after = hand_trace_nop(&h, c, PE, 20, 1, NONE);
        hand_trace_run(&h, c, SP, load, 0, 50);
        hand_trace_run(&h, c, PE, after, 500 + 100 * (int64_t)c, 1000);
        hand_trace_change(&h, c, AXI, 20, 1, 500 + 100 * (int64_t)c);
    }
    hand_answers_ask(&h, &a);
    const struct ntk_bubble_cause *cause = cause_of(&a.bubbles, NTK_IDLE_DMA);
    assert_int_equal(cause->count, 2);
    assert_int_equal(cause->gaps_ps, NS(500 + 600));
    assert_int_equal(cause->bubbles[0].core, 1); /* longest first */
    assert_int_equal(cause->bubbles[1].core, 0);
    hand_answers_done(&h, &a);
}

/* ---- options --------------------------------------------------------------------------------- */

/* Gaps of 1, 2 ... 60 ns in shuffled order: with a limit the longest are listed, and all are
 * counted. */
static void a_gap_limit_keeps_the_longest_gaps_and_counts_all_gaps(void **state)
{
    struct hand_trace h;
    struct hand_answers a;
    struct ntk_bubbles few;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 60 * 100);
    uint32_t work = hand_trace_nop(&h, 0, PE, NONE, 0, NONE);
    for (int64_t i = 0; i < 60; i++) {
        int64_t gap = 1 + (i * 37) % 60; /* before each run except the first */
        hand_trace_run(&h, 0, PE, work, i ? 100 * i + gap - 60 : 0, 100 * i + 40);
    }
    hand_answers_ask(&h, &a);
    const struct ntk_bubbles_options options = { .limit = 7 };
    assert_int_equal(ntk_analysis_bubbles(a.program, &a.dependencies, &options, &few), 0);
    const struct ntk_bubble_cause *all = cause_of(&a.bubbles, NTK_IDLE_ISSUE);
    const struct ntk_bubble_cause *some = cause_of(&few, NTK_IDLE_ISSUE);
    assert_int_equal(all->bubble_count, all->count);
    assert_int_equal(some->bubble_count, 7);
    assert_int_equal(some->count, all->count);
    assert_int_equal(some->gaps_ps, all->gaps_ps);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(some->bubbles[i].start_ps, all->bubbles[i].start_ps);
        assert_int_equal(some->bubbles[i].end_ps - some->bubbles[i].start_ps, NS(60 - (int64_t)i));
    }
    ntk_bubbles_fini(&few);
    hand_answers_done(&h, &a);
}

static void an_engine_filter_keeps_only_gaps_of_these_engines(void **state)
{
    struct hand_trace h;
    struct hand_answers a;
    struct ntk_bubbles only;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t work = hand_trace_nop(&h, 0, PE, NONE, 0, 9);
    uint32_t after = hand_trace_nop(&h, 0, ACT, 9, 1, NONE);
    hand_trace_run(&h, 0, PE, work, 100, 300);
    hand_trace_run(&h, 0, ACT, after, 300, 400);
    hand_trace_change(&h, 0, TENSOR, 9, 1, 300);
    hand_answers_ask(&h, &a);
    const struct ntk_bubbles_options options = { .engines = 1U << SCALAR };
    assert_int_equal(ntk_analysis_bubbles(a.program, &a.dependencies, &options, &only), 0);
    EXPECT(&only, { SCALAR, 0, 300, 300, NTK_IDLE_ENGINE },
           { SCALAR, 400, 1000, 600, NTK_IDLE_END });
    assert_int_equal(only.idle_ps, NS(900));
    assert_int_equal(only.engine_count, 1);
    ntk_bubbles_fini(&only);
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
    assert_int_equal(ntk_analysis_bubbles(a.program, &a.dependencies, NULL, &a.bubbles), -ENODATA);
    ntk_dependencies_fini(&a.dependencies);
    ntk_program_destroy(a.program);
    hand_trace_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_continuously_busy_engine_has_no_gap),
        cmocka_unit_test(overlapping_instructions_have_no_gap),
        cmocka_unit_test(gaps_after_each_instruction_are_attributed_to_issue_time),
        cmocka_unit_test(a_wait_and_the_following_issue_time_are_one_gap),
        cmocka_unit_test(a_gap_is_attributed_to_the_cause_with_the_longest_share),
        cmocka_unit_test(two_alternating_engines_have_one_gap_per_engine_and_round),
        cmocka_unit_test(waits_for_the_same_queue_are_one_gap_cause),
        cmocka_unit_test(a_gap_is_reported_with_its_root_cause),
        cmocka_unit_test(a_gap_with_an_unknown_root_cause_is_marked),
        cmocka_unit_test(the_time_after_truncation_is_not_a_known_gap),
        cmocka_unit_test(startup_code_of_the_runtime_is_a_gap_cause),
        cmocka_unit_test(a_semaphore_instruction_does_not_split_a_gap),
        cmocka_unit_test(a_queue_on_two_cores_is_one_gap_cause),
        cmocka_unit_test(a_gap_limit_keeps_the_longest_gaps_and_counts_all_gaps),
        cmocka_unit_test(an_engine_filter_keeps_only_gaps_of_these_engines),
        cmocka_unit_test(an_unknown_trace_length_returns_no_result),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
