/* SPDX-License-Identifier: MIT */
/*
 * Method: hand-made traces with one fault, and one without; the advice contains the figure of the
 * injected fault.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/advice.h"
#include "profiler/output/answers/output_analysis.h"
#include "tests/support/hand_answers.h"
#include "tests/support/hand_positions.h"
#include "tests/support/unit.h"

#define NONE NTK_ISA_NO_SEMAPHORE

struct answers {
    struct hand_answers all;
    struct ntk_advice advice;
};

static void ask_with(struct hand_trace *h, struct ntk_neff_positions *positions,
                     const struct ntk_tensor_traffic *tensors, const struct ntk_hbm_traffic *hbm,
                     struct answers *a)
{
    hand_answers_ask_with(h, positions, &a->all);
    struct ntk_advice_input input = {
        a->all.program, &a->all.idle, &a->all.path, &a->all.costs,
        &a->all.dma,    hbm,          tensors,      &a->all.transfers
    };
    if (h->cores[0].instruction_count == 0) { /* only packets: gains are unknown */
        input.path = NULL;
    }
    assert_int_equal(ntk_analysis_advice(&input, &a->advice), 0);
    for (size_t i = 1; i < a->advice.count; i++) {
        const struct ntk_advice_item *item = &a->advice.items[i - 1];
        assert_true(!item[1].has_gain || item->rule == NTK_ADVICE_INCOMPLETE ||
                    (item->has_gain && item->gain >= item[1].gain));
    }
}

static void ask(struct hand_trace *h, const struct ntk_tensor_traffic *tensors,
                const struct ntk_hbm_traffic *hbm, struct answers *a)
{
    ask_with(h, NULL, tensors, hbm, a);
}

static void done(struct hand_trace *h, struct answers *a)
{
    ntk_advice_fini(&a->advice);
    hand_answers_done(h, &a->all);
}

static const struct ntk_advice_item *find(const struct answers *a, enum ntk_advice_rule rule)
{
    for (size_t i = 0; i < a->advice.count; i++) {
        if (a->advice.items[i].rule == rule) {
            return &a->advice.items[i];
        }
    }
    return NULL;
}

static void expect(const struct answers *a, enum ntk_advice_rule rule, double value,
                   const char *text)
{
    const struct ntk_advice_item *item = find(a, rule);

    if (!item) {
        fail_msg("no advice %s", ntk_advice_id(rule));
    } else if (fabs(item->value - value) > 1e-9 || !strstr(item->text, text)) {
        fail_msg("%s: %.12g, \"%s\"", ntk_advice_id(rule), item->value, item->text);
    }
}

/* Gain and bound are shares of the execution. */
static void expect_gain(const struct answers *a, enum ntk_advice_rule rule, double gain,
                        double bound)
{
    const struct ntk_advice_item *item = find(a, rule);

    if (!item || !item->has_gain || fabs(item->gain - gain) > 1e-9 ||
        fabs(item->gain_bound - bound) > 1e-9) {
        fail_msg("%s: gain %.12g, at most %.12g", ntk_advice_id(rule), item ? item->gain : -1,
                 item ? item->gain_bound : -1);
    }
}

/* Three engines share the path evenly and never wait for each other. */
static void no_advice_is_printed_for_a_program_without_a_fault(void **state)
{
    struct hand_trace h;
    struct answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t pe = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, 9);
    uint32_t act = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, 9, 1, 10);
    uint32_t dve = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_DVE, 10, 1, NONE);
    uint32_t busy = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_DVE, NONE, 0, NONE);
    uint32_t busy_too = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, NONE, 0, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, pe, 0, 330);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, busy_too, 0, 300);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, act, 330, 660);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE, busy, 0, 600);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE, dve, 660, 1000);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 9, 1, 330);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_SCALAR, 10, 1, 660);
    ask(&h, NULL, NULL, &a);
    assert_int_equal(a.advice.count, 0);
    done(&h, &a);
}

/* PE works 200 ns, then waits 500 ns for a load on the path. */
static void dma_on_the_critical_path_is_reported_with_the_waiting_engine(void **state)
{
    struct hand_trace h;
    struct answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    struct ntk_isa_instr copy = hand_trace_load(&h, 0, 4);
    uint32_t load = hand_trace_open(&h, 0, NTK_ISA_ENGINE_SP, &copy);
    uint32_t before = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    uint32_t after = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, 20, 1, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_SP, load, 0, 50);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, before, 0, 200);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, after, 700, 1000);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_AXI, 20, 1, 700);
    ask(&h, NULL, NULL, &a);
    expect(&a, NTK_ADVICE_PATH_DMA, 0.65,
           "65.0% of the execution is spent waiting for DMA: 0.650 us in 1 transfer on");
    expect(&a, NTK_ADVICE_PATH_DMA, 0.65, "qSyncIO0");
    expect(&a, NTK_ADVICE_WAIT, 0.5,
           "Tensor of core 0 is busy for 50.0% of the execution and idle for 50.0%");
    /* Tensor works until 200; the first 50 start it. */
    expect_gain(&a, NTK_ADVICE_PATH_DMA, 0.5, 0.7);
    expect_gain(&a, NTK_ADVICE_WAIT, 0.5, 0.5);
    assert_null(find(&a, NTK_ADVICE_PATH_ENGINE));
    assert_int_equal(a.advice.items[0].rule, NTK_ADVICE_INCOMPLETE); /* no packet */
    assert_int_equal(a.advice.items[1].rule, NTK_ADVICE_PATH_DMA);
    done(&h, &a);
}

/* The same with lines: slot s of each engine is line 10 + s. The load, in small packets of a spill
 * queue, is line 10; line 11 waits for it. */
static void advice_names_the_waiting_line_and_its_cause(void **state)
{
    static struct ntk_ntff_queue queue = { .engine = 0, .queue = 1, .name = "qSPIO0" };
    static const struct ntk_neff_position reader = { 1, 10, 0 };
    struct ntk_tensor_row row = { .name = "x",
                                  .kind = "weight",
                                  .size_bytes = 2048,
                                  .read_bytes = 4096,
                                  .has_reload = true,
                                  .reload_ratio = 2 };
    struct ntk_tensor_traffic tensors = { 1, &row };
    struct hand_trace h;
    struct answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    struct ntk_isa_instr copy = hand_trace_load(&h, 0, 4);
    h.subgraphs[0].queues = &queue;
    h.subgraphs[0].queue_count = 1;
    uint32_t load = hand_trace_open(&h, 0, NTK_ISA_ENGINE_SP, &copy);
    uint32_t before = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    uint32_t after = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, 20, 1, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_SP, load, 0, 50);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, before, 0, 200);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, after, 700, 1000);
    hand_trace_packet(&h, 0, 0, 1, NTK_TRACE_DMA_IO, 1024, 50, 300);
    hand_trace_packet(&h, 0, 0, 1, NTK_TRACE_DMA_IO, 1024, 300, 690);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_AXI, 20, 1, 700);
    ntk_line_costs_add(&row.readers, &reader, NULL, 4096);
    ask_with(&h, hand_positions("/k/a.py", 1, 4, 10), &tensors, NULL, &a);
    expect(&a, NTK_ADVICE_PATH_DMA, 0.65, ", most at a.py:11 for a.py:10 (0.650 us)");
    expect(&a, NTK_ADVICE_WAIT, 0.5,
           "(0.500 us), waiting for DMA, most at a.py:11 for a.py:10 (0.500 us)");
    expect(&a, NTK_ADVICE_SMALL_PACKETS, 1, ", most started at a.py:10 (2 packets)");
    expect(&a, NTK_ADVICE_DMA_EFFICIENCY, find(&a, NTK_ADVICE_DMA_EFFICIENCY)->value,
           ", most started at a.py:10 (0.640 us)");
    expect(&a, NTK_ADVICE_RELOAD, 2,
           ", most at a.py:10 (4096 bytes); a.py:11 waits for it (0.500 us)");
    double efficiency = find(&a, NTK_ADVICE_DMA_EFFICIENCY)->value;
    /* The 2048 bytes take 640 ns, and at the full rate 2048 / 23 or less. */
    double excess = 1 - 2048 / (a.all.dma.engine_bytes_per_second * 640e-9);
    expect_gain(&a, NTK_ADVICE_SMALL_PACKETS, 0.65 * excess / 2, 0.65 * excess);
    expect(&a, NTK_ADVICE_SMALL_PACKETS, 1,
           "(2 of 2) are smaller than 2048 bytes (1.0KB on average): they move 100.0% of its bytes "
           "in 100.0% of its packet time");
    assert_true(0.65 * (1 - efficiency) > 0.5);
    expect_gain(&a, NTK_ADVICE_DMA_EFFICIENCY, 0.5, 0.64); /* Tensor works for the other half */
    expect_gain(&a, NTK_ADVICE_RELOAD, 0.5 / 2, 0.7);
    ntk_line_costs_fini(&row.readers);
    done(&h, &a);
}

/* One engine does everything, with gaps between its instructions, so no engine waits for
 * another. */
static void gaps_between_instructions_of_a_single_engine_are_reported(void **state)
{
    struct hand_trace h;
    struct answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t slot = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, NONE, 0, NONE);
    for (int i = 0; i < 10; i++) {
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, slot, 100 * i, 100 * i + 70);
    }
    ask(&h, NULL, NULL, &a);
    expect(&a, NTK_ADVICE_PATH_ENGINE, 0.97,
           "97.0% of the execution is spent in the Scalar engine: 0.970 us in 19 steps on the "
           "critical path (70.0% execution, 27.0% issue, 0.0% drain)");
    expect(&a, NTK_ADVICE_PATH_ISSUE, 0.27,
           "the Scalar engine issues instructions for 27.0% of the execution");
    expect_gain(&a, NTK_ADVICE_PATH_ENGINE, 0.97 / 2, 0.97);
    expect_gain(&a, NTK_ADVICE_PATH_ISSUE, 0.27 / 2, 0.27);
    assert_null(find(&a, NTK_ADVICE_PATH_LATENCY));
    done(&h, &a);
}

/* Scalar's change comes 0.9 us after its end, Vector's after 0.05 us, and Tensor starts 0.5 us
 * after that: only the first one is late, and larger steps would not help. */
static void late_semaphore_changes_are_not_reported_as_latency(void **state)
{
    struct hand_trace h;
    struct answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 5000);
    uint32_t first = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, NONE, 0, 9);
    uint32_t second = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_DVE, 9, 1, 10);
    uint32_t third = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, 10, 1, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, first, 0, 700);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_SCALAR, 9, 1, 1600);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE, second, 1600, 3950);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_VECTOR, 10, 1, 4000);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, third, 4500, 5000);
    ask(&h, NULL, NULL, &a);
    expect(&a, NTK_ADVICE_PATH_LATE, 0.18,
           "18.0% of the execution is spent waiting for 1 semaphore change on the critical path "
           "that arrives at least 0.5 us late: 0.900 us in total, at most 0.900 us for one");
    expect_gain(&a, NTK_ADVICE_PATH_LATE, 0.09, 0.18);
    assert_null(find(&a, NTK_ADVICE_PATH_LATENCY)); /* 11 % */
    done(&h, &a);
}

/* GpSimd works 0 to 970 and is the only bottleneck; Scalar works 0 to 900 in parallel. At twice the
 * speed GpSimd ends at 485, and Scalar becomes the bottleneck: the gain is 70 ns, not half of the
 * 970. */
static void an_estimated_gain_is_limited_by_the_next_busiest_engine(void **state)
{
    struct hand_trace h;
    struct answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t slot = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_POOL, NONE, 0, NONE);
    uint32_t other = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, NONE, 0, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, other, 0, 900);
    for (int i = 0; i < 10; i++) {
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_POOL, slot, 97 * i, 97 * i + 97);
    }
    ask(&h, NULL, NULL, &a);
    expect_gain(&a, NTK_ADVICE_GPSIMD_CONTROL, 0.07, 0.97);
    done(&h, &a);
}

/* GpSimd starts a load from 0 to 100 and moves a register until 150, then copies until 1000. Both
 * parts have separate advice, with their operations, lines and gains. */
static void operations_and_control_code_of_gpsimd_have_separate_advice(void **state)
{
    static const uint8_t move[64] = { [0] = NTK_NTFF_OPCODE_REGISTER_MOVE, [1] = 0x10 };
    static const uint8_t copy[64] = { [0] = NTK_NTFF_OPCODE_COPY, [1] = 0x10 };
    struct hand_trace h;
    struct answers a;
    char text[300];

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    struct ntk_isa_instr load = hand_trace_load(&h, 0, 4);
    uint32_t start = hand_trace_open(&h, 0, NTK_ISA_ENGINE_POOL, &load);
    uint32_t address = hand_trace_slot(&h, 0, NTK_ISA_ENGINE_POOL, move);
    uint32_t work = hand_trace_slot(&h, 0, NTK_ISA_ENGINE_POOL, copy);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_POOL, start, 0, 100);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_POOL, address, 100, 150);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_POOL, work, 150, 600);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_POOL, work, 600, 1000);
    ask_with(&h, hand_positions("/k/a.py", 1, work + 1, 10), NULL, NULL, &a);
    snprintf(text, sizeof text,
             "85.0%% of the execution is spent in the GpSimd engine, which executes operations: "
             "0.850 us in 2 steps on the critical path: COPY 0.850 us, most at a.py:%u (0.850 us); "
             "it is occupied for 100.0%% of the execution in total",
             10 + work);
    expect(&a, NTK_ADVICE_GPSIMD, 0.85, text);
    expect_gain(&a, NTK_ADVICE_GPSIMD, 0.85 / 2, 0.85);
    expect(&a, NTK_ADVICE_GPSIMD_CONTROL, 0.15,
           "which executes control code: 0.150 us in 2 steps on");
    expect(&a, NTK_ADVICE_GPSIMD_CONTROL, 0.15,
           "0.100 us, REGISTER_MOVE 0.050 us, most at a.py:10 (0.100 us)");
    expect_gain(&a, NTK_ADVICE_GPSIMD_CONTROL, 0.15 / 2, 0.15);
    assert_null(find(&a, NTK_ADVICE_PATH_ENGINE));
    done(&h, &a);
}

/* Scalar executes for 960 ns, and GpSimd for 40: it is not a bottleneck. */
static void little_work_on_gpsimd_has_no_advice(void **state)
{
    struct hand_trace h;
    struct answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t first = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_POOL, NONE, 0, 9);
    uint32_t second = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, 9, 1, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_POOL, first, 0, 40);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_GPSIMD, 9, 1, 40);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, second, 40, 1000);
    ask(&h, NULL, NULL, &a);
    assert_null(find(&a, NTK_ADVICE_GPSIMD));
    assert_null(find(&a, NTK_ADVICE_GPSIMD_CONTROL));
    expect(&a, NTK_ADVICE_PATH_ENGINE, 0.96, "Scalar");
    done(&h, &a);
}

/* As in dma_on_the_critical_path_is_reported_with_the_waiting_engine. Vector only waits while data
 * moves, which is not work: 500 ns are idle, minus the 10 before its wait. */
static void an_engine_that_only_waits_is_not_counted_as_busy_during_dma(void **state)
{
    struct ntk_isa_instr only = ntk_isa_instr_make(NTK_ISA_OP_EVENT_SEMAPHORE);
    struct hand_trace h;
    struct answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    struct ntk_isa_instr copy = hand_trace_load(&h, 0, 4);
    uint32_t load = hand_trace_open(&h, 0, NTK_ISA_ENGINE_SP, &copy);
    uint32_t before = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    uint32_t after = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, 20, 1, NONE);
    uint32_t wait = hand_trace_open(&h, 0, NTK_ISA_ENGINE_DVE, &only);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_SP, load, 0, 50);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, before, 0, 200);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE, wait, 10, 690);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, after, 700, 1000);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_AXI, 20, 1, 700);
    ask(&h, NULL, NULL, &a);
    assert_true(find(&a, NTK_ADVICE_PATH_DMA)->gain > 0.3);
    done(&h, &a);
}

/* ACT starts 300 ns after PE released it. */
static void slow_synchronisation_between_engines_is_reported(void **state)
{
    struct hand_trace h;
    struct answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t first = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, 9);
    uint32_t second = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, 9, 1, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, first, 0, 350);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 9, 1, 350);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, second, 650, 1000);
    ask(&h, NULL, NULL, &a);
    expect(&a, NTK_ADVICE_PATH_LATENCY, 0.3, "30.0% of the execution is semaphore latency");
    expect_gain(&a, NTK_ADVICE_PATH_LATENCY, 0.15, 0.3);
    assert_null(find(&a, NTK_ADVICE_PATH_ISSUE));
    done(&h, &a);
}

/* 40 products of 128 by 128 by 444 in bfloat16, one every 188 ns, with weights loaded meanwhile:
 * 94% of the engine's capacity. Only less work would help. */
static void larger_tiles_are_not_advised_for_a_tensor_engine_at_its_peak(void **state)
{
    static const uint8_t product[64] = {
        [0] = 2,    [1] = 0x10, [20] = 1, [26] = 0xbc, [27] = 1, [28] = 1, [30] = 1, [32] = 6,
        [38] = 128, [39] = 128, [52] = 1, [58] = 0xbc, [59] = 1, [60] = 1, [62] = 1
    };
    static const uint8_t load[64] = { [0] = 1,  [1] = 0x10, [20] = 1,   [26] = 128, [28] = 1,
                                      [30] = 1, [32] = 6,   [38] = 128, [39] = 128 };
    struct hand_trace h;
    struct answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 188 * 39 + 350);
    uint32_t stream = hand_trace_slot(&h, 0, NTK_ISA_ENGINE_PE, product);
    uint32_t weights = hand_trace_slot(&h, 0, NTK_ISA_ENGINE_PE, load);
    for (int64_t i = 0; i < 40; i++) {
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, stream, 188 * i, 188 * i + 350);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, weights, 188 * i + 2, 188 * i + 62);
    }
    ask(&h, NULL, NULL, &a);
    expect(&a, NTK_ADVICE_PATH_COMPUTE, 1, "100.0% of the execution is spent in the Tensor engine");
    expect_gain(&a, NTK_ADVICE_PATH_COMPUTE, 0, 1); /* without transposes */
    assert_int_equal(a.advice.count, 1);
    done(&h, &a);
}

static void critical_path_advice_names_source_lines(void **state)
{
    struct hand_trace h;
    struct answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t first = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, NONE, 0, NONE);
    uint32_t second = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, NONE, 0, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, first, 0, 300);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, second, 600, 1000);
    ask_with(&h, hand_positions("/k/a.py", 1, 4, 10), NULL, NULL, &a);
    expect(&a, NTK_ADVICE_PATH_ENGINE, 1, ", most at a.py:11 (0.700 us)");
    expect(&a, NTK_ADVICE_PATH_ISSUE, 0.3,
           ", most at a.py:11 (0.300 us)"); /* not all of its time */
    done(&h, &a);
}

/* Four products of one line, 100 ns each and 25 ns apart, and one of another line: the tensor
 * engine is busy for 175 + 100 ns, not for 500. */
static void times_of_source_lines_sum_to_the_engine_time(void **state)
{
    static const uint8_t product[64] = {
        [0] = 0x02, [1] = 0x10, [26] = 64, [28] = 1, [30] = 1, [32] = 6, [38] = 128, [39] = 128
    };
    struct hand_trace h;
    struct answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t first = hand_trace_slot(&h, 0, NTK_ISA_ENGINE_PE, product);
    uint32_t second = hand_trace_slot(&h, 0, NTK_ISA_ENGINE_PE, product);
    for (int64_t i = 0; i < 4; i++) {
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, first, 25 * i, 25 * i + 100);
    }
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, second, 400, 500);
    ask_with(&h, hand_positions("/k/a.py", 1, 4, 10), NULL, NULL, &a);
    expect(&a, NTK_ADVICE_TENSOR_RATE, 5 * 64 / (275 * 2.4), ", most at a.py:10 (0.175 us)");
    done(&h, &a);
}

static void small_packets_spills_and_reloads_are_reported(void **state)
{
    static struct ntk_ntff_queue queues[] = {
        { .engine = 0, .queue = 1, .name = "qSPIO0" },
        { .engine = 0, .queue = 2, .name = "qActSpillReload0" },
        { .engine = 1, .queue = 2, .name = "qSPSpillReload0" },
    };
    struct ntk_tensor_row rows[] = {
        { .name = "x",
          .kind = "input",
          .size_bytes = 100,
          .read_bytes = 250,
          .read_count = 5,
          .has_reload = true,
          .reload_ratio = 2.5 },
        { .name = "s",
          .kind = "scratch",
          .size_bytes = 100,
          .read_bytes = 750,
          .read_count = 5,
          .has_reload = true,
          .reload_ratio = 7.5 },
    };
    struct ntk_tensor_traffic tensors = { 2, rows };
    struct ntk_hbm_traffic hbm = { true, 2000, 2000 };
    struct hand_trace h;
    struct answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    h.subgraphs[0].queues = queues;
    h.subgraphs[0].queue_count = 3;
    hand_trace_packet(&h, 0, 0, 1, NTK_TRACE_DMA_IO, 1024, 0, 100);
    hand_trace_packet(&h, 0, 0, 1, NTK_TRACE_DMA_IO, 4096, 100, 280); /* close to the full rate */
    hand_trace_packet(&h, 0, 0, 2, NTK_TRACE_DMA_DATA, 2300, 300, 700);
    hand_trace_packet(&h, 0, 1, 2, NTK_TRACE_DMA_DATA, 4, 400, 600); /* at the same time; no data */
    ask(&h, &tensors, &hbm, &a);
    expect(&a, NTK_ADVICE_SMALL_PACKETS, 0.5, "50.0% of the packets of qSyncIO0 (1 of 2)");
    expect(&a, NTK_ADVICE_DMA_EFFICIENCY, 0.25, "qScalarSpillReload0 moved 25.0%");
    expect(&a, NTK_ADVICE_SPILL, 2300.0 / 4000, "57.5% of the device memory traffic (2.2KB)");
    assert_true(fabs(find(&a, NTK_ADVICE_SPILL)->share - 0.4) < 1e-9); /* each moment counts once */
    expect(&a, NTK_ADVICE_RELOAD, 2.5, "input x is read 2.50 times");
    /* A quarter of the bytes, in the 680 ns of DMA. */
    assert_true(fabs(find(&a, NTK_ADVICE_RELOAD)->share - 0.25 * 0.68) < 1e-9);
    done(&h, &a);
}

/* The NEFF is that of core 0, which runs three times. Core 1 runs another model twice, longer. */
static void inputs_are_read_once_per_execution_of_their_model(void **state)
{
    struct ntk_tensor_row row = { .name = "x",
                                  .kind = "input",
                                  .size_bytes = 100,
                                  .read_bytes = 600,
                                  .read_count = 6,
                                  .has_reload = true,
                                  .reload_ratio = 6 };
    struct ntk_tensor_traffic tensors = { 1, &row };
    struct hand_trace h;
    struct answers a;

    (void)state;
    hand_trace_begin(&h, 2, "trn2.3xlarge", 1000);
    h.trace.neff = &h.neff;
    h.cores[0].neff = &h.neff_subgraphs[0];
    for (size_t core = 0; core < 2; core++) {
        uint32_t first = hand_trace_nop(&h, core, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
        uint32_t last = hand_trace_nop(&h, core, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
        int64_t ns = core ? 50 : 10;

        for (int64_t at_ns = 0; at_ns < (core ? 600 : 900); at_ns += 300) {
            hand_trace_run(&h, core, NTK_ISA_ENGINE_PE, first, at_ns, at_ns + ns);
            hand_trace_run(&h, core, NTK_ISA_ENGINE_PE, last, at_ns + ns, at_ns + 2 * ns);
        }
    }
    hand_trace_packet(&h, 0, 0, 1, NTK_TRACE_DMA_IO, 4096, 100, 280);
    hand_answers_ask(&h, &a.all);
    struct ntk_advice_input input = { .program = a.all.program,
                                      .dma = &a.all.dma,
                                      .tensors = &tensors };
    assert_int_equal(ntk_analysis_advice(&input, &a.advice), 0);
    expect(&a, NTK_ADVICE_RELOAD, 2, "input x is read 2.00 times per execution");
    done(&h, &a);
}

/* A queue of each core has its own name. */
static void queues_of_several_cores_are_distinguished(void **state)
{
    static struct ntk_ntff_queue queue = { .engine = 0, .queue = 1, .name = "qSPIO0" };
    struct hand_trace h;
    struct answers a;

    hand_trace_begin(&h, 2, "trn2.3xlarge", 1000);
    for (size_t core = 0; core < 2; core++) {
        h.subgraphs[core].queues = &queue;
        h.subgraphs[core].queue_count = 1;
        hand_trace_packet(&h, core, 0, 1, NTK_TRACE_DMA_IO, 1024, 0, 50 + 10 * (int64_t)core);
    }
    ask(&h, NULL, NULL, &a);
    expect(&a, NTK_ADVICE_SMALL_PACKETS, 1, "of qSyncIO0 of core 1 ");
    assert_non_null(strstr(a.advice.items[1].text, "of qSyncIO0 of core 0 "));
    done(&h, &a);
}

static void idle_cores_slow_runtimes_and_throttling_are_reported(void **state)
{
    struct ntk_ntff_insertion inserted = { NTK_NTFF_ENGINE_TENSOR, 0, 1, 0 };
    struct ntk_trace_throttle throttle = { 600 * NTK_TRACE_PS_PER_NS, 1, 4, 8 };
    struct hand_trace h;
    struct answers a;

    hand_trace_begin(&h, 2, "trn2.3xlarge", 1000);
    h.subgraphs[0].insertions = &inserted;
    h.subgraphs[0].insertion_count = 1;
    h.cores[0].throttles = &throttle;
    h.cores[0].throttle_count = 1;
    uint32_t runtime = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    uint32_t own = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    uint32_t other = hand_trace_nop(&h, 1, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, runtime, 0, 700);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, own, 700, 1000);
    hand_trace_run(&h, 1, NTK_ISA_ENGINE_PE, other, 0, 100);
    ask(&h, NULL, NULL, &a);
    expect(&a, NTK_ADVICE_RUNTIME, 0.7,
           "70.0% of the execution is spent in the prologue and epilogue");
    expect(&a, NTK_ADVICE_IDLE_CORE, 0.9, "core 1 is idle for 90.0%");
    expect(&a, NTK_ADVICE_THROTTLING, 0.3,
           "core 0 was throttled while its tensor engine executed, for 30.0%");
    expect_gain(&a, NTK_ADVICE_RUNTIME, 0.35, 0.7);
    expect_gain(&a, NTK_ADVICE_IDLE_CORE, 0.15, 0.45); /* half of the 300 ns that are work */
    assert_false(find(&a, NTK_ADVICE_THROTTLING)->has_gain);
    assert_int_equal(a.advice.items[0].rule, NTK_ADVICE_RUNTIME); /* ranked above the idle core */
    assert_null(find(&a, NTK_ADVICE_PATH_ENGINE)); /* work of the runtime is not an engine's work */
    done(&h, &a);
}

/* Tensor runs code of the runtime until 800 ns, then the program. The records are the execution,
 * and ranges with and without its start and end. */
static void a_time_range_inside_the_execution_has_no_prologue_or_epilogue(void **state)
{
    static const struct {
        bool is_part, is_open;
        int64_t from_ns, to_ns;
        bool has_runtime;
    } ranges[] = {
        { false, false, 0, 0, true },       { true, true, 0, 1000, true },
        { true, false, 500, 1500, false },  { true, false, 0, 1000, true },
        { true, true, 1000, 2000, false }, /* the code reaches back before the range */
        { true, false, 1000, 2000, false }, { true, false, 0, 2000, true },
    };

    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        struct ntk_ntff_insertion inserted = { NTK_NTFF_ENGINE_TENSOR, 0, 1, 0 };
        struct hand_trace h;
        struct answers a;

        hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
        h.subgraphs[0].insertions = &inserted;
        h.subgraphs[0].insertion_count = 1;
        h.trace.is_part = ranges[i].is_part;
        h.trace.part.is_open = ranges[i].is_open;
        h.trace.part.from_ps = ranges[i].from_ns * NTK_TRACE_PS_PER_NS;
        h.trace.part.to_ps = ranges[i].to_ns * NTK_TRACE_PS_PER_NS;
        h.trace.part.total_ps = 2000 * NTK_TRACE_PS_PER_NS;
        uint32_t runtime = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, runtime, 0, 800);
        uint32_t work = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, work, 800, 1000);
        ask(&h, NULL, NULL, &a);
        if (!find(&a, NTK_ADVICE_RUNTIME) == ranges[i].has_runtime) {
            fail_msg("range %zu", i);
        }
        done(&h, &a);
    }
}

/* Runtime code at the end of a range counts if the range includes the end of the execution. */
static void a_time_range_at_the_end_of_the_execution_has_its_epilogue(void **state)
{
    for (unsigned is_open = 0; is_open < 2; is_open++) {
        struct ntk_ntff_insertion inserted = { NTK_NTFF_ENGINE_TENSOR, 1, 1, 0 };
        struct hand_trace h;
        struct answers a;

        hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
        h.subgraphs[0].insertions = &inserted;
        h.subgraphs[0].insertion_count = 1;
        h.trace.is_part = true;
        h.trace.part.is_open = is_open;
        h.trace.part.from_ps = 1000 * NTK_TRACE_PS_PER_NS;
        h.trace.part.to_ps = 2000 * NTK_TRACE_PS_PER_NS;
        h.trace.part.total_ps = is_open ? h.trace.part.to_ps : 3000 * NTK_TRACE_PS_PER_NS;
        uint32_t own = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
        uint32_t runtime = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, own, 0, 600);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, runtime, 600, 1000);
        ask(&h, NULL, NULL, &a);
        if (is_open) {
            expect(&a, NTK_ADVICE_RUNTIME, 0.4, "40.0% of the execution is spent in the prologue");
        } else {
            assert_null(find(&a, NTK_ADVICE_RUNTIME));
        }
        done(&h, &a);
    }
}

/* Tensor works 0 to 200, and 500 to 600 twice at the same time; other engines work until the end.
 * Limits without work, and full rates, do not count. */
static void throttling_counts_only_while_the_tensor_engine_executes(void **state)
{
    static const struct {
        int64_t from_ns[3]; /* of limits of 4/8, 8/8, 4/8 */
        double share;
    } cases[] = {
        { { 200, 500, 600 }, 0 },    { { 600, 700, 800 }, 0 },  { { 100, 200, 700 }, 0.1 },
        { { 100, 550, 900 }, 0.15 }, { { 0, 100, 550 }, 0.15 }, { { 0, 50, 60 }, 0.29 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ntk_trace_throttle throttles[3];
        struct hand_trace h;
        struct answers a;

        hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
        for (size_t t = 0; t < 3; t++) {
            throttles[t] = (struct ntk_trace_throttle){ cases[i].from_ns[t] * NTK_TRACE_PS_PER_NS,
                                                        0, t == 1 ? 8 : 4, 8 };
        }
        h.cores[0].throttles = throttles;
        h.cores[0].throttle_count = 3;
        uint32_t pe = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
        uint32_t act = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, NONE, 0, NONE);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, pe, 0, 200);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, pe, 500, 600);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, pe, 500, 600);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, act, 0, 1000);
        ask(&h, NULL, NULL, &a);
        if (cases[i].share > 0) {
            expect(&a, NTK_ADVICE_THROTTLING, cases[i].share, "while its tensor engine executed");
        } else {
            assert_null(find(&a, NTK_ADVICE_THROTTLING));
        }
        done(&h, &a);
    }
}

static void transposes_and_partially_filled_products_are_reported(void **state)
{
    static const uint8_t product[64] = {
        [0] = 0x02, [1] = 0x10, [26] = 64, [28] = 1, [30] = 1, [32] = 6, [38] = 128, [39] = 128
    };
    static const uint8_t turn[64] = { [0] = 0x02, [1] = 0x10, [26] = 16,  [28] = 1,  [30] = 1,
                                      [34] = 1,   [32] = 6,   [38] = 128, [39] = 128 };
    struct hand_trace h;
    struct answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t p = hand_trace_slot(&h, 0, NTK_ISA_ENGINE_PE, product);
    uint32_t t = hand_trace_slot(&h, 0, NTK_ISA_ENGINE_PE, turn);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, p, 0, 100);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, t, 100, 200);
    ask(&h, NULL, NULL, &a);
    expect(&a, NTK_ADVICE_TRANSPOSES, 0.2, "20.0% of tensor engine operations");
    expect(&a, NTK_ADVICE_TENSOR_RATE, 64 / (200 * 2.4), "the tensor engine reaches 13.3%");
    double rate = 64 / (200 * 2.4);
    expect_gain(&a, NTK_ADVICE_TRANSPOSES, 0.2 * 0.2, 0.2);
    expect_gain(&a, NTK_ADVICE_TENSOR_RATE, 0.2 * (1 - rate / 0.5), 0.2 * (1 - rate));
    done(&h, &a);
}

/* The note is only for lists of several gains. */
static void a_list_of_gains_says_once_that_they_overlap(void **state)
{
    for (size_t count = 0; count < 4; count++) {
        struct ntk_advice_item items[3] = { { .what = "a" }, { .what = "b" }, { .what = "c" } };
        struct ntk_advice advice = { .total_ps = 1e6, .count = 3, .items = items };
        struct ntk_buf out = { 0 };

        for (size_t i = 0; i < count; i++) {
            items[i].has_gain = true;
        }
        ntk_output_advice_text(&advice, &out);
        const char *text = ntk_buf_text_get(&out);
        const char *note = strstr(text, "Estimated gains overlap");
        assert_int_equal(note == text, count > 1);
        assert_null(strstr(note ? note + 1 : text, "Estimated gains overlap"));
        ntk_buf_fini(&out);
    }
}

/* PE works 0 to 100, and waits until 1000 for ACT (950 to 1000), which waited for a load (320 to
 * 950), which waited for DVE (0 to 300). The load takes 630 of the 900 ns, although DVE is at the
 * start of the chain; PE, with 1100 ns of work, could hide all of them. */
static void the_root_of_a_wait_is_the_largest_part_of_its_chain(void **state)
{
    struct hand_trace h;
    struct answers a;
    struct ntk_buf out = { 0 };

    hand_trace_begin(&h, 1, "trn2.3xlarge", 2000);
    struct ntk_isa_instr copy = hand_trace_load(&h, 0, 4);
    copy.wait_semaphore = 9;
    copy.wait_value = 1;
    uint32_t load = hand_trace_open(&h, 0, NTK_ISA_ENGINE_SP, &copy);
    uint32_t softmax = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_DVE, NONE, 0, 9);
    uint32_t cast = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, 20, 1, 21);
    uint32_t early = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    uint32_t product = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_PE, 21, 1, NONE);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, early, 0, 100);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE, softmax, 0, 300);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_VECTOR, 9, 1, 300);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_SP, load, 300, 320);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_AXI, 20, 1, 950);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, cast, 950, 1000);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_SCALAR, 21, 1, 1000);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, product, 1000, 2000);
    ask(&h, NULL, NULL, &a);
    expect(&a, NTK_ADVICE_WAIT, 0.45,
           "waiting for Scalar, the largest part (70.0% of that time) for DMA queue ");
    expect_gain(&a, NTK_ADVICE_WAIT, 0.315, 0.45);

    /* The table of causes names the same root. */
    ntk_output_idle_text(a.all.program, &a.all.idle, &out);
    const char *causes = strstr(ntk_buf_text_get(&out), "largest part is the root cause");
    assert_non_null(causes);
    assert_non_null(strstr(causes, "DMA queue"));
    const char *link = strstr(causes, "(70.0%)");
    assert_non_null(link);
    while (*link != '\n' && link > causes) {
        link--;
    }
    assert_non_null(strstr(link, "  DMA queue"));
    assert_true(strstr(link, "  DMA queue") < strstr(link, "(70.0%)"));
    ntk_buf_fini(&out);
    done(&h, &a);
}

static void every_advice_rule_has_an_id_a_threshold_and_a_text(void **state)
{
    for (unsigned r = 0; r < NTK_ADVICE_RULE_COUNT; r++) {
        assert_true(strlen(ntk_advice_id(r)) > 0);
        assert_true(ntk_advice_threshold(r) > 0);
        assert_true(strlen(ntk_advice_measured(r)) > 0);
        assert_true(strlen(ntk_advice_what(r)) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_advice_is_printed_for_a_program_without_a_fault),
        cmocka_unit_test(dma_on_the_critical_path_is_reported_with_the_waiting_engine),
        cmocka_unit_test(advice_names_the_waiting_line_and_its_cause),
        cmocka_unit_test(gaps_between_instructions_of_a_single_engine_are_reported),
        cmocka_unit_test(late_semaphore_changes_are_not_reported_as_latency),
        cmocka_unit_test(an_estimated_gain_is_limited_by_the_next_busiest_engine),
        cmocka_unit_test(operations_and_control_code_of_gpsimd_have_separate_advice),
        cmocka_unit_test(little_work_on_gpsimd_has_no_advice),
        cmocka_unit_test(an_engine_that_only_waits_is_not_counted_as_busy_during_dma),
        cmocka_unit_test(slow_synchronisation_between_engines_is_reported),
        cmocka_unit_test(larger_tiles_are_not_advised_for_a_tensor_engine_at_its_peak),
        cmocka_unit_test(critical_path_advice_names_source_lines),
        cmocka_unit_test(times_of_source_lines_sum_to_the_engine_time),
        cmocka_unit_test(small_packets_spills_and_reloads_are_reported),
        cmocka_unit_test(inputs_are_read_once_per_execution_of_their_model),
        cmocka_unit_test(queues_of_several_cores_are_distinguished),
        cmocka_unit_test(idle_cores_slow_runtimes_and_throttling_are_reported),
        cmocka_unit_test(a_time_range_inside_the_execution_has_no_prologue_or_epilogue),
        cmocka_unit_test(a_time_range_at_the_end_of_the_execution_has_its_epilogue),
        cmocka_unit_test(throttling_counts_only_while_the_tensor_engine_executes),
        cmocka_unit_test(transposes_and_partially_filled_products_are_reported),
        cmocka_unit_test(a_list_of_gains_says_once_that_they_overlap),
        cmocka_unit_test(the_root_of_a_wait_is_the_largest_part_of_its_chain),
        cmocka_unit_test(every_advice_rule_has_an_id_a_threshold_and_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
