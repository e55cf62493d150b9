/* SPDX-License-Identifier: MIT */
/*
 * What-if of captures of several executions. Method: programs with a known length after each
 * change, executed several times: back to back, with a gap, and with time after the last one. Each
 * execution must have the length of the program alone, and the time between them must stay.
 */
#include <string.h>

#include "tests/profiler/analysis/what_if_check.h"
#include "tests/support/hand_answers.h"
#include "tests/support/unit.h"

#define NONE NTK_ISA_NO_SEMAPHORE
#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)
#define PE NTK_ISA_ENGINE_PE
#define ACT NTK_ISA_ENGINE_ACT
#define DVE NTK_ISA_ENGINE_DVE
#define POOL NTK_ISA_ENGINE_POOL
#define SP NTK_ISA_ENGINE_SP
#define STEPS 16
#define ANSWERS 6
#define SEMAPHORES 64
#define EXECUTIONS 3
#define GAP_NS 300 /* between the second and the third execution */
#define END_NS 40  /* after the last execution */

struct step {
    unsigned core, engine, wait, wait_value, signal;
    int64_t start_ns, end_ns; /* since the start of the execution; end 0: the last step */
    int64_t load_ns; /* unless 0: it starts a load for semaphore `signal`, which ends then */
};

struct program {
    const char *name;
    int64_t length_ns;
    struct step steps[STEPS];
    struct {
        const char *changes;
        int64_t length_ns;
    } answers[ANSWERS];
};

static const struct program programs[] = {
    { "one engine streams",
      400,
      { { 0, PE, NONE, 0, NONE, 0, 100, 0 },
        { 0, PE, NONE, 0, NONE, 100, 200, 0 },
        { 0, PE, NONE, 0, NONE, 200, 300, 0 },
        { 0, PE, NONE, 0, NONE, 300, 400, 0 } },
      { { "tensor=2", 200 }, { "tensor=0.5", 800 }, { "tensor", 0 }, { "dma=2", 400 } } },
    { "an engine waits for a load",
      1080,
      { { 0, SP, NONE, 0, 20, 0, 50, 1050 },
        { 0, SP, NONE, 0, NONE, 50, 60, 0 },
        { 0, PE, 20, 1, NONE, 1060, 1070, 0 },
        { 0, PE, NONE, 0, NONE, 1070, 1080, 0 } },
      /* 50 for the start of the load, half of 1000, and 30 after it */
      { { "dma=2", 580 },
        { "dma", 80 },
        { "dma=0.5", 2080 },
        { "latency", 1070 },
        { "sync=2", 1055 },
        { "wait:20", 60 } } },
    { "two engines alternate",
      600,
      { { 0, PE, NONE, 0, 9, 0, 100, 0 },
        { 0, ACT, 9, 1, 10, 100, 200, 0 },
        { 0, PE, 10, 1, 9, 200, 300, 0 },
        { 0, ACT, 9, 2, 10, 300, 400, 0 },
        { 0, PE, 10, 2, 9, 400, 500, 0 },
        { 0, ACT, 9, 3, 10, 500, 600, 0 } },
      { { "tensor=2", 450 },
        { "engines=2", 300 },
        { "tensor", 300 },
        { "wait:9", 300 },
        { "scalar=0.5", 900 } } },
    { "a hidden dependency",
      700,
      { { 0, PE, NONE, 0, 9, 0, 500, 0 },
        { 0, ACT, NONE, 0, NONE, 0, 600, 0 },
        { 0, ACT, 9, 1, NONE, 600, 700, 0 } },
      { { "scalar=10", 510 },
        { "scalar=10,tensor=10", 70 },
        { "tensor=10", 700 },
        { "tensor=0.5", 1100 } } },
    { "two branches join",
      500,
      { { 0, PE, NONE, 0, 9, 0, 100, 0 },
        { 0, ACT, 9, 1, 10, 100, 400, 0 },
        { 0, DVE, 9, 1, 11, 100, 250, 0 },
        { 0, PE, 11, 1, NONE, 250, 300, 0 },
        { 0, PE, 10, 1, NONE, 400, 500, 0 } },
      { { "scalar=3", 400 },
        { "vector=3", 500 },
        { "scalar=3,vector=3", 300 },
        { "wait:10", 400 } } },
    { "time that nothing explains stays",
      600,
      { { 0, DVE, NONE, 0, NONE, 0, 100, 0 },
        { 0, DVE, NONE, 0, NONE, 100, 200, 0 },
        { 0, DVE, NONE, 0, NONE, 500, 600, 0 } },
      { { "vector=2", 450 }, { "vector", 300 }, { "latency", 600 } } },
    { "the first engine starts late",
      500,
      { { 0, ACT, NONE, 0, 9, 150, 300, 0 },
        { 0, PE, 9, 1, NONE, 300, 400, 0 },
        { 0, PE, NONE, 0, NONE, 400, 500, 0 } },
      { { "scalar=3", 400 }, { "engines=2", 325 }, { "tensor", 300 } } },
    { "the slower of two cores",
      1000,
      { { 0, ACT, NONE, 0, NONE, 0, 600, 0 },
        { 0, ACT, NONE, 0, NONE, 600, 1000, 0 },
        { 1, PE, NONE, 0, NONE, 0, 350, 0 },
        { 1, PE, NONE, 0, NONE, 350, 700, 0 } },
      { { "scalar=10", 700 },
        { "tensor=10", 1000 },
        { "engines=10", 100 },
        { "tensor=0.5", 1400 } } },
    { "a wait of unknown cause keeps its length",
      620,
      { { 0, ACT, 33, 1, NONE, 500, 600, 0 },
        { 0, DVE, NONE, 0, NONE, 0, 100, 0 },
        { 0, DVE, NONE, 0, NONE, 100, 620, 0 } },
      { { "vector=2", 600 }, { "scalar=2", 620 }, { "vector=2,scalar=2", 550 } } },
    { "a load for the second half",
      900,
      { { 0, SP, NONE, 0, 20, 0, 50, 650 },
        { 0, SP, NONE, 0, NONE, 50, 60, 0 },
        { 0, PE, NONE, 0, NONE, 0, 300, 0 },
        { 0, PE, 20, 1, NONE, 700, 900, 0 } },
      { { "dma=2", 600 }, { "dma=100", 500 }, { "tensor=2", 800 }, { "dma", 500 } } },
};

struct executed { /* a program in the code of a trace */
    const struct program *program;
    uint32_t slots[STEPS];
};

static void code_add(struct hand_trace *h, const struct program *program, struct executed *out)
{
    out->program = program;
    for (size_t i = 0; program->steps[i].end_ns; i++) {
        const struct step *step = &program->steps[i];
        if (step->load_ns) {
            struct ntk_isa_instr copy = hand_trace_load(h, step->core, 4);
            out->slots[i] = hand_trace_open(h, step->core, step->engine, &copy);
        } else {
            out->slots[i] = hand_trace_nop(h, step->core, step->engine, step->wait,
                                           step->wait_value, step->signal);
        }
    }
}

/* Semaphores start with 0. No instruction sets semaphore 33. */
static void execute(struct hand_trace *h, const struct executed *code, int64_t at_ns)
{
    uint32_t values[2][SEMAPHORES] = { 0 };

    for (size_t i = 0; code->program->steps[i].end_ns; i++) {
        const struct step *step = &code->program->steps[i];
        hand_trace_run(h, step->core, step->engine, code->slots[i], at_ns + step->start_ns,
                       at_ns + step->end_ns);
        if (step->signal != NONE) {
            uint32_t value = ++values[step->core][step->signal];
            hand_trace_change(h, step->core, step->load_ns ? NTK_NTFF_ENGINE_AXI : step->engine,
                              step->signal, value,
                              at_ns + (step->load_ns ? step->load_ns : step->end_ns));
        }
        if (step->wait == 33) {
            hand_trace_change(h, step->core, NTK_NTFF_ENGINE_GPSIMD, 33, 1, at_ns + step->start_ns);
        }
    }
}

static size_t cores_of(const struct program *program)
{
    size_t count = 1;

    for (size_t i = 0; program->steps[i].end_ns; i++) {
        count = program->steps[i].core > 0 ? 2 : count;
    }
    return count;
}

static void each_of_several_executions_is_timed_again_by_itself(void **state)
{
    (void)state;
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
        const struct program *program = &programs[p];
        int64_t total_ns = EXECUTIONS * program->length_ns + GAP_NS + END_NS;
        struct hand_trace h;
        struct hand_answers a;
        struct executed code;

        print_message("%s\n", program->name);
        hand_trace_begin(&h, cores_of(program), "trn2.3xlarge", total_ns);
        code_add(&h, program, &code);
        execute(&h, &code, 0);
        execute(&h, &code, program->length_ns);
        execute(&h, &code, 2 * program->length_ns + GAP_NS);
        hand_answers_ask(&h, &a);
        assert_int_equal(a.program->borders.count, EXECUTIONS);
        for (size_t i = 0; i < ANSWERS && program->answers[i].changes; i++) {
            int64_t gain_ns = program->length_ns - program->answers[i].length_ns;
            expect(&a, program->answers[i].changes, total_ns - EXECUTIONS * gain_ns);
        }
        hand_answers_done(&h, &a);
    }
}

/* The same program alone: its answers are those of the table. */
static void programs_have_the_same_lengths_alone(void **state)
{
    (void)state;
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
        struct hand_trace h;
        struct hand_answers a;
        struct executed code;

        print_message("%s\n", programs[p].name);
        hand_trace_begin(&h, cores_of(&programs[p]), "trn2.3xlarge", programs[p].length_ns);
        code_add(&h, &programs[p], &code);
        execute(&h, &code, 0);
        hand_answers_ask(&h, &a);
        for (size_t i = 0; i < ANSWERS && programs[p].answers[i].changes; i++) {
            expect(&a, programs[p].answers[i].changes, programs[p].answers[i].length_ns);
        }
        hand_answers_done(&h, &a);
    }
}

static void parts_bounds_and_unknown_waits_of_executions_are_added_up(void **state)
{
    struct hand_trace h;
    struct hand_answers a;
    struct executed code;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 3 * 620 + GAP_NS + END_NS);
    code_add(&h, &programs[8], &code);
    execute(&h, &code, 0);
    execute(&h, &code, 620);
    execute(&h, &code, 2 * 620 + GAP_NS);
    hand_answers_ask(&h, &a);

    struct ntk_what_if result = what_if(&a, "vector=2");
    assert_int_equal(result.unknown_wait_count, 3);
    assert_int_equal(result.as_is.path_ps[NTK_NTFF_ENGINE_VECTOR], NS(3 * 620));
    assert_int_equal(result.as_is.path_ps[NTK_WHAT_IF_ON_START], NS(GAP_NS));
    assert_int_equal(result.as_is.path_ps[NTK_WHAT_IF_ON_END], NS(END_NS));
    assert_int_equal(result.as_is.bound_ps, NS(3 * 620));
    assert_int_equal(result.rows[0].bound_ps, NS(3 * 310));
    assert_int_equal(result.rows[0].bound_by, NTK_NTFF_ENGINE_VECTOR);
    assert_int_equal(result.rows[0].path_ps[NTK_NTFF_ENGINE_SCALAR], NS(3 * 100));
    assert_int_equal(result.rows[0].path_ps[NTK_WHAT_IF_ON_START], NS(3 * 500 + GAP_NS));
    /* Two instructions, each with its time of all executions. */
    assert_int_equal(result.as_is.item_count, 2);
    assert_int_equal(result.as_is.items[0].path_ps, NS(3 * 520));
    ntk_what_if_fini(&result);
    hand_answers_done(&h, &a);
}

/* Core 0 is slower in the first execution, core 1 in the second one. */
static void each_execution_ends_with_its_own_slowest_core(void **state)
{
    struct hand_trace h;
    struct hand_answers a;
    uint32_t act[2];
    uint32_t pe[2];

    (void)state;
    hand_trace_begin(&h, 2, "trn2.3xlarge", 1900);
    for (unsigned i = 0; i < 2; i++) {
        act[i] = hand_trace_nop(&h, 0, ACT, NONE, 0, NONE);
        pe[i] = hand_trace_nop(&h, 1, PE, NONE, 0, NONE);
    }
    hand_trace_run(&h, 0, ACT, act[0], 0, 600);
    hand_trace_run(&h, 0, ACT, act[1], 600, 1000);
    hand_trace_run(&h, 1, PE, pe[0], 0, 300);
    hand_trace_run(&h, 1, PE, pe[1], 300, 700);
    hand_trace_run(&h, 0, ACT, act[0], 1000, 1300);
    hand_trace_run(&h, 0, ACT, act[1], 1300, 1500);
    hand_trace_run(&h, 1, PE, pe[0], 1000, 1500);
    hand_trace_run(&h, 1, PE, pe[1], 1500, 1900);
    hand_answers_ask(&h, &a);

    expect(&a, "scalar=10", 700 + 900);
    expect(&a, "tensor=10", 1000 + 500);
    expect(&a, "engines=10", 100 + 90);
    struct ntk_what_if result = what_if(&a, "scalar=10");
    assert_int_equal(result.as_is.path_ps[NTK_NTFF_ENGINE_SCALAR], NS(1000));
    assert_int_equal(result.as_is.path_ps[NTK_NTFF_ENGINE_TENSOR], NS(900));
    assert_int_equal(result.as_is.item_count, 4);
    assert_int_equal(result.rows[0].path_ps[NTK_NTFF_ENGINE_TENSOR], NS(700 + 900));
    assert_int_equal(result.rows[0].item_count, 2);
    assert_int_equal(result.rows[0].items[0].core, 1);
    ntk_what_if_fini(&result);
    hand_answers_done(&h, &a);
}

/* The second execution starts on core 0 while core 1 is in its last instruction. */
static void an_execution_does_not_wait_for_what_ends_after_its_start(void **state)
{
    struct hand_trace h;
    struct hand_answers a;
    uint32_t act[2];
    uint32_t pe[2];

    (void)state;
    hand_trace_begin(&h, 2, "trn2.3xlarge", 2000);
    for (unsigned i = 0; i < 2; i++) {
        act[i] = hand_trace_nop(&h, 0, ACT, NONE, 0, NONE);
        pe[i] = hand_trace_nop(&h, 1, PE, NONE, 0, NONE);
    }
    hand_trace_run(&h, 0, ACT, act[0], 0, 900);
    hand_trace_run(&h, 0, ACT, act[1], 900, 1000);
    hand_trace_run(&h, 1, PE, pe[0], 0, 990);
    hand_trace_run(&h, 1, PE, pe[1], 990, 1050);
    hand_trace_run(&h, 0, ACT, act[0], 1000, 1900);
    hand_trace_run(&h, 0, ACT, act[1], 1900, 2000);
    hand_trace_run(&h, 1, PE, pe[0], 1060, 1500);
    hand_trace_run(&h, 1, PE, pe[1], 1500, 1600);
    hand_answers_ask(&h, &a);

    expect(&a, "tensor=2", 2000);
    expect(&a, "scalar=2", 990 + 600); /* PE starts 60 after the second start */
    expect(&a, "engines=2", 500 + 500);
    hand_answers_done(&h, &a);
}

static struct ntk_ntff_queue queues[] = { { .name = "qSPIO0", .engine = 0, .queue = 3 } };
static struct ntk_neff_var vars[] = {
    { .name = "SB", .type = NTK_NEFF_VAR_STATE_BUFFER },
    { .name = "x", .type = NTK_NEFF_VAR_INPUT, .var_id = 1, .bytes_count = 32768 },
};

/* Adds a queue; returns the copy that starts a transfer of one packet. */
static struct ntk_isa_instr queue_add(struct hand_trace *h)
{
    struct ntk_isa_instr copy = hand_trace_load(h, 0, 64);

    h->neff_subgraphs[0].queue_sets[0].semaphores[1] = 21;
    h->neff_subgraphs[0].queue_sets[0].semaphore_count = 2;
    h->neff_subgraphs[0].vars = vars;
    h->neff_subgraphs[0].var_count = 2;
    h->subgraphs[0].queues = queues;
    h->subgraphs[0].queue_count = 1;
    return copy;
}

/* Two loads of 500 ns each share a DMA engine, in each execution. */
static void transfers_of_each_execution_run_in_sequence(void **state)
{
    struct hand_trace h;
    struct hand_answers a;
    uint32_t loads[2];

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 3 * 1200 + GAP_NS);
    struct ntk_isa_instr copy = queue_add(&h);
    for (unsigned i = 0; i < 2; i++) {
        copy.done_semaphore = (uint16_t)(20 + i);
        loads[i] = hand_trace_open(&h, 0, SP, &copy);
    }
    uint32_t wait = hand_trace_nop(&h, 0, PE, 21, 1, NONE);
    for (int64_t at = 0; at < 3 * 1200 + GAP_NS; at += at ? 1200 + GAP_NS : 1200) {
        for (unsigned i = 0; i < 2; i++) {
            hand_trace_run(&h, 0, SP, loads[i], at + 50 * i, at + 50 * i + 50);
            hand_trace_packet(&h, 0, 0, 3, NTK_TRACE_DMA_IO, 32768, at + 100 + 500 * i,
                              at + 600 + 500 * i);
            hand_trace_change(&h, 0, NTK_NTFF_ENGINE_AXI, 20 + i, 1, at + 600 + 500 * i);
        }
        hand_trace_run(&h, 0, PE, wait, at + 1100, at + 1200);
    }
    hand_answers_ask(&h, &a);

    assert_int_equal(a.program->borders.count, 3);
    assert_int_equal(a.transfers.cores[0].unknown_count, 0);
    expect(&a, "dma=2", 3 * 700 + GAP_NS); /* 100 + 2 x 250 + 100 */
    expect(&a, "dma=0.5", 3 * 2200 + GAP_NS);
    expect(&a, "dma-latency", 3 * 1150 + GAP_NS);
    expect(&a, "wait:qSPIO0", 3 * 1100 + GAP_NS);
    struct ntk_what_if result = what_if(&a, "tensor=2");
    assert_int_equal(result.rows[0].bound_by, NTK_WHAT_IF_ON_DMA);
    assert_int_equal(result.rows[0].bound_ps, NS(3 * 1000));
    ntk_what_if_fini(&result);
    hand_answers_done(&h, &a);
}

/* The transfer ends after the instructions: before the next execution or within it. */
static void the_next_execution_follows_a_transfer_that_ends_before_it(void **state)
{
    static const struct {
        int64_t packet_end_ns;
        int64_t dma_twice_ns, tensor_ten_ns;
    } rows[] = {
        /* 100 + 350 = 450 instead of 800; 200 until the next start */
        { 800, 2000 - 2 * 350, 2000 },
        /* The first one ends within the second execution, which then lasts until its own packet. */
        { 1300, 1000 + 1000, 100 + 900 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t length_ns = rows[i].packet_end_ns > 1000 ? 1000 : 200;
        struct hand_trace h;
        struct hand_answers a;

        hand_trace_begin(&h, 1, "trn2.3xlarge", 2000);
        struct ntk_isa_instr copy = queue_add(&h);
        uint32_t load = hand_trace_open(&h, 0, SP, &copy);
        uint32_t pe[2];
        pe[0] = hand_trace_nop(&h, 0, PE, NONE, 0, NONE);
        pe[1] = hand_trace_nop(&h, 0, PE, NONE, 0, NONE);
        for (int64_t at = 0; at < 2000; at += 1000) {
            int64_t packet_ns = at && length_ns == 1000 ? 900 : rows[i].packet_end_ns;
            hand_trace_run(&h, 0, SP, load, at, at + 50);
            hand_trace_packet(&h, 0, 0, 3, NTK_TRACE_DMA_IO, 32768,
                              at && length_ns == 1000 ? at + 400 : at + 100, at + packet_ns);
            hand_trace_run(&h, 0, PE, pe[0], at, at + length_ns / 2);
            hand_trace_run(&h, 0, PE, pe[1], at + length_ns / 2, at + length_ns);
        }
        hand_answers_ask(&h, &a);
        assert_int_equal(a.program->borders.count, 2);
        expect(&a, "dma=2", rows[i].dma_twice_ns);
        expect(&a, "tensor=10", rows[i].tensor_ten_ns);
        hand_answers_done(&h, &a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_have_the_same_lengths_alone),
        cmocka_unit_test(each_of_several_executions_is_timed_again_by_itself),
        cmocka_unit_test(parts_bounds_and_unknown_waits_of_executions_are_added_up),
        cmocka_unit_test(each_execution_ends_with_its_own_slowest_core),
        cmocka_unit_test(an_execution_does_not_wait_for_what_ends_after_its_start),
        cmocka_unit_test(transfers_of_each_execution_run_in_sequence),
        cmocka_unit_test(the_next_execution_follows_a_transfer_that_ends_before_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
