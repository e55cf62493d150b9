/* SPDX-License-Identifier: MIT */
/*
 * What-if of programs that meet other cores: barriers, exchanges and collectives. Method: hand-made
 * programs. The estimate keeps the time of the meeting; the bounds are the lengths if the other
 * cores keep their times, and if they always arrive first. All three are known by construction.
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
#define POOL NTK_ISA_ENGINE_POOL
#define SP NTK_ISA_ENGINE_SP

struct wanted {
    const char *changes;
    int64_t least_ns, total_ns, largest_ns;
};

static void expect_range(const struct hand_answers *a, uint64_t meeting_count,
                         const struct wanted *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct ntk_what_if result = what_if(a, wanted[i].changes);
        const struct ntk_what_if_row *row = &result.rows[0];
        int64_t measured_ps = a->program->trace->total_ps;
        struct ntk_buf out = { 0 };
        char text[200];

        assert_int_equal(result.meeting_count, meeting_count);
        assert_true(row->has_bounds);
        if (row->total_ps != NS(wanted[i].total_ns) ||
            row->least_total_ps != NS(wanted[i].least_ns) ||
            row->largest_total_ps != NS(wanted[i].largest_ns)) {
            fail_msg("%s: %lld within %lld to %lld ps, not %lld within %lld to %lld ns",
                     wanted[i].changes, (long long)row->total_ps, (long long)row->least_total_ps,
                     (long long)row->largest_total_ps, (long long)wanted[i].total_ns,
                     (long long)wanted[i].least_ns, (long long)wanted[i].largest_ns);
        }
        snprintf(
            text, sizeof text,
            "The gain is at least %.3f us if other cores keep their times, and at most %.3f us",
            (double)(measured_ps - NS(wanted[i].largest_ns)) / 1e6,
            (double)(measured_ps - NS(wanted[i].least_ns)) / 1e6);
        ntk_output_what_if_text(a->program, &result, &out);
        if (!strstr(ntk_buf_text_get(&out), text)) {
            fail_msg("%s: not '%s' in:\n%s", wanted[i].changes, text, ntk_buf_text_get(&out));
        }
        ntk_buf_fini(&out);
        ntk_what_if_fini(&result);
    }
}

#define EXPECT_RANGE(a, meeting_count, wanted) \
    expect_range(a, meeting_count, wanted, sizeof(wanted) / sizeof *(wanted))

static uint32_t barrier(struct hand_trace *h, size_t core, unsigned engine)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_CORE_BARRIER);

    return hand_trace_open(h, core, engine, &instr);
}

static uint32_t named(struct hand_trace *h, unsigned engine, const char *name, unsigned wait,
                      unsigned signal)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_NOP);

    instr.wait_semaphore = (uint16_t)wait;
    instr.wait_value = wait != NONE;
    instr.signal_semaphore = (uint16_t)signal;
    instr.signal_value = signal != NONE;
    instr.name_id = hand_trace_name(h, 0, engine, name);
    return hand_trace_open(h, 0, engine, &instr);
}

/* Tensor 0-100, then it waits for the other core until 800, 10 ns of barrier, 190 ns of work. */
static void a_barrier_opens_when_measured_or_at_once(void **state)
{
    static const struct wanted wanted[] = {
        { "tensor=2", 150, 850, 900 },      /* 50 + (0, 700, until 800) + 5 + 95 */
        { "tensor=0.5", 600, 1300, 1300 },  /* 200 + (0, 700) + 20 + 380; until 800: 1200 */
        { "tensor=0.1", 3000, 3700, 3700 }, /* this core arrives last, at 1000: 700 is too much */
        { "tensor", 0, 700, 800 },
        { "dma=2", 300, 1000, 1000 }, /* nothing changes, unless the other core is faster */
    };
    struct hand_trace h;
    struct hand_answers a;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    run(&h, 0, PE, NONE, 0, NONE, 0, 100);
    hand_trace_run(&h, 0, PE, barrier(&h, 0, PE), 800, 810);
    run(&h, 0, PE, NONE, 0, NONE, 810, 1000);
    hand_answers_ask(&h, &a);
    EXPECT_RANGE(&a, 1, wanted);
    hand_answers_done(&h, &a);
}

/* Vector of core 1 works 300 ns, Tensor of core 0 only 100. After the barrier of 10 ns, both work
 * 100 ns. The bounds are those of each core alone; the true length of the pair is between them. */
static void the_bounds_of_a_pair_contain_its_true_length(void **state)
{
    static const struct wanted wanted[] = {
        { "vector=2", 210, 410, 410 },   /* 100 + 10 + 100 of core 0; the truth: 150 + 110 */
        { "vector=10", 210, 410, 410 },  /* the truth: core 0 arrives last */
        { "tensor=2", 410, 410, 410 },   /* core 1 still works 300 + 10 + 100, which is the truth */
        { "vector=0.5", 820, 820, 820 }, /* core 1 works 600 + 20 + 200, which is the truth */
    };
    struct hand_trace h;
    struct hand_answers a;

    (void)state;
    hand_trace_begin(&h, 2, "trn2.3xlarge", 410);
    run(&h, 0, PE, NONE, 0, NONE, 0, 100);
    hand_trace_run(&h, 0, PE, barrier(&h, 0, PE), 300, 310);
    run(&h, 0, PE, NONE, 0, NONE, 310, 410);
    run(&h, 1, DVE, NONE, 0, NONE, 0, 300);
    hand_trace_run(&h, 1, DVE, barrier(&h, 1, DVE), 300, 310);
    run(&h, 1, DVE, NONE, 0, NONE, 310, 410);
    hand_answers_ask(&h, &a);
    EXPECT_RANGE(&a, 2, wanted);
    hand_answers_done(&h, &a);
}

/* SP offers a tile 0-100; the tile of the other core arrives at 800, Tensor works 800-1000. */
static void an_exchange_ends_when_measured_or_at_once(void **state)
{
    static const struct wanted wanted[] = {
        { "tensor=2", 200, 900, 900 }, /* 100 + (0, 700) + 100 */
        { "sync=2", 250, 950, 1000 },  /* 50 + (0, 700, until 800) + 200 */
        { "sync=0.2", 700, 1400, 1400 },
        { "dma=2", 300, 650, 1000 }, /* all of the 700 ns may be data */
    };
    struct ntk_isa_instr exchange = ntk_isa_instr_make(NTK_ISA_OP_SENDRECV);
    struct hand_trace h;
    struct hand_answers a;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    exchange.queue = (uint16_t)hand_trace_queue(&h, 0, "qSPIO0", 20);
    exchange.done_semaphore = 20;
    exchange.done_value = 1;
    exchange.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 1, 16, NTK_DTYPE_FLOAT32);
    exchange.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(64, 1, 16, NTK_DTYPE_FLOAT32);
    hand_trace_run(&h, 0, SP, hand_trace_open(&h, 0, SP, &exchange), 0, 100);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_AXI, 20, 1, 800);
    run(&h, 0, PE, 20, 1, NONE, 800, 1000);
    hand_answers_ask(&h, &a);
    EXPECT_RANGE(&a, 1, wanted);
    hand_answers_done(&h, &a);
}

/* Tensor 0-100, GpSimd runs the collective 100-700, Tensor 700-1000. */
static void a_collective_takes_its_time_or_none(void **state)
{
    static const struct wanted wanted[] = {
        { "tensor=2", 200, 800, 850 },     /* 50 + (0, 600, until 700) + 150 */
        { "tensor=0.5", 800, 1400, 1400 }, /* 200 + (0, 600) + 600; until 700: 1400 as well */
        { "gpsimd=2", 400, 700, 1000 },    /* 100 + (0, 300, until 700) + 300 */
        { "wait:4", 400, 700, 700 }, /* Tensor does not wait: the collective or Tensor ends last */
    };
    struct hand_trace h;
    struct hand_answers a;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    run(&h, 0, PE, NONE, 0, 3, 0, 100);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 3, 1, 100);
    hand_trace_run(&h, 0, POOL, named(&h, POOL, "layer1/all-reduce.2", 3, 4), 100, 700);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_GPSIMD, 4, 1, 700);
    run(&h, 0, PE, 4, 1, NONE, 700, 1000);
    hand_answers_ask(&h, &a);
    EXPECT_RANGE(&a, 1, wanted);
    hand_answers_done(&h, &a);
}

/* The same collective in each of three executions with a pause of 100 ns. */
static void the_bounds_of_executions_add_up(void **state)
{
    static const struct wanted wanted[] = {
        { "tensor=2", 3 * 200 + 200, 3 * 800 + 200, 3 * 850 + 200 },
        { "gpsimd=2", 3 * 400 + 200, 3 * 700 + 200, 3 * 1000 + 200 },
    };
    struct hand_trace h;
    struct hand_answers a;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 3200);
    uint32_t first = hand_trace_nop(&h, 0, PE, NONE, 0, 3);
    uint32_t last = hand_trace_nop(&h, 0, PE, 4, 1, NONE);
    uint32_t collective = named(&h, POOL, "AllGather", 3, 4);
    for (int64_t i = 0; i < 3; i++) {
        hand_trace_run(&h, 0, PE, first, 1100 * i, 1100 * i + 100);
        hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 3, 1, 1100 * i + 100);
        hand_trace_run(&h, 0, POOL, collective, 1100 * i + 100, 1100 * i + 700);
        hand_trace_change(&h, 0, NTK_NTFF_ENGINE_GPSIMD, 4, 1, 1100 * i + 700);
        hand_trace_run(&h, 0, PE, last, 1100 * i + 700, 1100 * i + 1000);
    }
    hand_answers_ask(&h, &a);
    assert_int_equal(a.program->execution_count, 3);
    EXPECT_RANGE(&a, 3, wanted);
    hand_answers_done(&h, &a);
}

/* GpSimd runs the collective 0-600, Tensor waits for its change at 700 and works until 1000. Scalar
 * runs 700 instructions until 700, so the end of the collective is no longer a recent one. */
static void the_bounds_of_an_early_collective_are_restored(void **state)
{
    static const struct wanted wanted[] = {
        { "tensor=2", 700, 850, 850 }, /* (0, 600) + 100 + 150; Scalar ends at 700 */
        { "scalar=7", 400, 1000, 1000 },
        { "scalar=7,tensor=3", 200, 800, 800 },
    };
    struct hand_trace h;
    struct hand_answers a;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    hand_trace_run(&h, 0, POOL, named(&h, POOL, "reduce_scatter", NONE, 4), 0, 600);
    uint32_t step = hand_trace_nop(&h, 0, ACT, NONE, 0, NONE);
    for (int64_t i = 0; i < 700; i++) {
        hand_trace_run(&h, 0, ACT, step, i, i + 1);
    }
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_GPSIMD, 4, 1, 700);
    run(&h, 0, PE, 4, 1, NONE, 700, 1000);
    hand_answers_ask(&h, &a);
    EXPECT_RANGE(&a, 1, wanted);
    hand_answers_done(&h, &a);
}

static void a_program_without_meetings_has_no_bounds(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 300);
    hand_trace_run(&h, 0, PE, named(&h, PE, "reduce/all", NONE, NONE), 0, 300);
    hand_answers_ask(&h, &a);
    struct ntk_what_if result = what_if(&a, "tensor=2");
    assert_int_equal(result.meeting_count, 0);
    assert_false(result.rows[0].has_bounds);
    ntk_what_if_fini(&result);
    hand_answers_done(&h, &a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_barrier_opens_when_measured_or_at_once),
        cmocka_unit_test(the_bounds_of_a_pair_contain_its_true_length),
        cmocka_unit_test(an_exchange_ends_when_measured_or_at_once),
        cmocka_unit_test(a_collective_takes_its_time_or_none),
        cmocka_unit_test(the_bounds_of_executions_add_up),
        cmocka_unit_test(the_bounds_of_an_early_collective_are_restored),
        cmocka_unit_test(a_program_without_meetings_has_no_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
