/* SPDX-License-Identifier: MIT */
/*
 * Registers, jumps, functions. Programs are written as listings, so that the assembler's labels are
 * tested by what runs; results are computed here in plain C.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runtime-hooks/engine/engine_fixture.h"
#include "tests/support/unit.h"

#define CYCLES_64_PS 45714 /* at 1400 MHz */

static int set_up(void **state)
{
    struct engine_fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    engine_fixture_init(f, 2);
    engine_fixture_queue(f, 1);
    engine_fixture_var(f, NTK_NEFF_VAR_INPUT, 64);
    engine_fixture_var(f, NTK_NEFF_VAR_OUTPUT, 64);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    engine_fixture_fini(*state);
    free(*state);
    return 0;
}

/* The state buffer's first bytes, by way of an output. */
#define STORE "dma_copy D=var2:int32[16] A=sbuf(0:1):int32[16]\n"

static const int32_t *output(struct engine_fixture *f)
{
    return engine_fixture_memory(f, 2);
}

static void must_run(struct engine_fixture *f)
{
    if (engine_fixture_run(f, NULL, 0) != NTK_RUN_OK) {
        fail_msg("%s at slot %u", ntk_engine_outcome_name(f->result.outcome), f->result.fault_slot);
    }
}

/* --- registers -------------------------------------------------------------------------------- */

/* In 64 bits, cut afterwards: another way than the engine's. */
static int32_t reference(const char *op, int32_t a32, int32_t b32)
{
    int64_t a = a32;
    int64_t b = b32;
    int64_t r = 0;
    uint64_t shift = (uint32_t)b32;

    if (!strcmp(op, "invert")) {
        r = -a - 1;
    } else if (!strcmp(op, "bitwise_and")) {
        r = a & b;
    } else if (!strcmp(op, "bitwise_or")) {
        r = a | b;
    } else if (!strcmp(op, "bitwise_xor")) {
        r = (a | b) - (a & b);
    } else if (!strcmp(op, "left_shift")) {
        r = shift > 31 ? 0 : (int64_t)((uint64_t)a << shift);
    } else if (!strcmp(op, "right_shift")) {
        int64_t by = shift > 31 ? 0 : INT64_C(1) << shift;

        r = by == 0 ? 0 : (a - ((a % by) + by) % by) / by; /* towards minus infinity */
    } else if (!strcmp(op, "add")) {
        r = a + b;
    } else if (!strcmp(op, "subtract")) {
        r = a - b;
    } else if (!strcmp(op, "multiply")) {
        r = a * b;
    } else if (!strcmp(op, "maximum")) {
        r = a < b ? b : a;
    } else if (!strcmp(op, "minimum")) {
        r = a < b ? a : b;
    } else if (!strcmp(op, "equal")) {
        r = a - b == 0;
    } else if (!strcmp(op, "not_equal")) {
        r = a - b != 0;
    } else if (!strcmp(op, "greater_equal")) {
        r = a - b >= 0;
    } else if (!strcmp(op, "greater")) {
        r = a - b > 0;
    } else if (!strcmp(op, "less_equal")) {
        r = a - b <= 0;
    } else if (!strcmp(op, "less")) {
        r = a - b < 0;
    } else if (!strcmp(op, "logical_and")) {
        r = a && b;
    } else if (!strcmp(op, "logical_or")) {
        r = a || b;
    } else if (!strcmp(op, "logical_xor")) {
        r = !a != !b;
    } else if (!strcmp(op, "abs_max")) {
        r = llabs(a) > llabs(b) ? llabs(a) : llabs(b);
    } else if (!strcmp(op, "abs_min")) {
        r = llabs(a) < llabs(b) ? llabs(a) : llabs(b);
    } else if (!strcmp(op, "abs")) {
        r = llabs(a);
    } else if (!strcmp(op, "square")) {
        r = a * a;
    } else if (!strcmp(op, "relu")) {
        r = a > 0 ? a : 0;
    } else {
        fail_msg("no reference for %s", op);
    }
    return (int32_t)(uint32_t)(uint64_t)r;
}

static void every_operator_on_registers_gives_what_it_says(void **state)
{
    static const int32_t values[] = { 0, 1, -1, 2, 7, -8, 31, 32, 65537, INT32_MAX, INT32_MIN };
    enum { VALUES = sizeof values / sizeof values[0] };
    struct engine_fixture *f = *state;
    size_t tried = 0;

    for (unsigned op = 0; op < NTK_ISA_ALU_COUNT; op++) {
        const char *name = ntk_isa_alu_name(op);
        bool takes_one = !strcmp(name, "invert") ||
                         ntk_isa_alu_kind_get((enum ntk_isa_alu)op) == NTK_ISA_ALU_KIND_UNARY;

        if (!strcmp(name, "none") || !strcmp(name, "power") || !strcmp(name, "rsqrt") ||
            !strcmp(name, "reciprocal")) {
            continue;
        }
        for (size_t a = 0; a < VALUES; a++) {
            char line[256];

            /* Eleven results, the second value from a register and from the instruction in turn. */
            engine_fixture_clear(f);
            for (size_t b = 0; b < VALUES; b++) {
                char second[40] = "";

                if (!takes_one && b % 2) {
                    snprintf(second, sizeof second, "rb=r63");
                } else if (!takes_one) {
                    snprintf(second, sizeof second, "imm0=%d", values[b]);
                }
                snprintf(line, sizeof line,
                         "register_move rd=r0 imm0=%d\nregister_move rd=r63 imm0=%d\n"
                         "register_alu rd=r5 ra=r0 op0=%s %s\n"
                         "register_store ra=r5 D=sbuf(0:1)+%zu:int32[1]\n",
                         values[a], values[b], name, second, 4 * b);
                engine_fixture_assemble(f, NTK_ISA_ENGINE_SP, line);
            }
            engine_fixture_assemble(f, NTK_ISA_ENGINE_SP, STORE);
            must_run(f);
            for (size_t b = 0; b < VALUES; b++) {
                if (output(f)[b] != reference(name, values[a], values[b])) {
                    fail_msg("%d %s %d = %d, not %d", values[a], name, values[b], output(f)[b],
                             reference(name, values[a], values[b]));
                }
                tried++;
            }
        }
    }
    assert_true(tried > 2000);
}

static void registers_load_and_store_every_width(void **state)
{
    static const struct {
        const char *dtype;
        int32_t value; /* of the bytes 0xfe 0xff 0xff 0xff */
        uint32_t stored;
    } cases[] = {
        { "int8", -2, 0xfe },        { "uint8", 254, 0xfe },      { "int16", -2, 0xfffe },
        { "uint16", 65534, 0xfffe }, { "int32", -2, 0xfffffffe }, { "uint32", -2, 0xfffffffe },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct engine_fixture *f = *state;
        uint8_t *in = engine_fixture_memory(f, 1);
        char line[512];

        memset(in, 0, 64);
        in[0] = 0xfe;
        in[1] = in[2] = in[3] = 0xff;
        engine_fixture_clear(f);
        snprintf(line, sizeof line,
                 "dma_copy D=sbuf(0:1):int32[16] A=var1:int32[16] done=s9+1\n"
                 "register_load rd=r1 A=sbuf(0:1):%s[1] wait=s9>=1\n"
                 "register_store ra=r1 D=sbuf(0:1)+4:int32[1]\n"
                 "register_store ra=r1 D=sbuf(0:1)+8:%s[1]\n" STORE,
                 cases[i].dtype, cases[i].dtype);
        engine_fixture_assemble(f, NTK_ISA_ENGINE_POOL, line);
        must_run(f);
        assert_int_equal(output(f)[1], cases[i].value);
        assert_int_equal((uint32_t)output(f)[2], cases[i].stored);
    }
}

static void each_engine_has_registers_of_its_own_that_begin_at_zero(void **state)
{
    struct engine_fixture *f = *state;

    engine_fixture_assemble(f, NTK_ISA_ENGINE_ACT,
                            "register_store ra=r7 D=sbuf(0:1):int32[1]\n"
                            "register_move rd=r7 imm0=5\n"
                            "register_store ra=r7 D=sbuf(0:1)+4:int32[1] signal=s9+1\n");
    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP,
                            "register_store ra=r7 D=sbuf(0:1)+8:int32[1] wait=s9>=1\n" STORE);
    for (int run = 0; run < 2; run++) {
        must_run(f);
        assert_int_equal(output(f)[0], 0);
        assert_int_equal(output(f)[1], 5);
        assert_int_equal(output(f)[2], 0);
    }
}

/* --- jumps ------------------------------------------------------------------------------------ */

/* Fibonacci numbers: nothing but a loop that is right gives the 40th. */
static void a_loop_runs_as_often_as_its_counter_says(void **state)
{
    struct engine_fixture *f = *state;

    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP,
                            "       register_move rd=r1 imm0=1\n"
                            "       register_move rd=r3 imm0=40\n"
                            "loop:  compare_branch op0=less_equal ra=r3 imm0=0 to=done\n"
                            "       register_alu op0=add rd=r2 ra=r0 rb=r1\n"
                            "       register_move rd=r0 ra=r1\n"
                            "       register_move rd=r1 ra=r2\n"
                            "       register_alu op0=subtract rd=r3 ra=r3 imm0=1\n"
                            "       compare_branch to=loop\n"
                            "done:  register_store ra=r0 D=sbuf(0:1):int32[1]\n" STORE);
    must_run(f);
    assert_int_equal(output(f)[0], 102334155);
    /* 2 before, 40 rounds of 6, a last comparison, the store, the copy: 64 cycles each. */
    assert_int_equal(f->result.instruction_count[NTK_ENGINE_SP], 2 + 40 * 6 + 3);
    assert_int_equal(f->result.busy_ns[NTK_ENGINE_SP], (2 + 40 * 6 + 3) * CYCLES_64_PS / 1000ULL);
}

static void the_number_of_rounds_may_come_from_memory(void **state)
{
    struct engine_fixture *f = *state;

    engine_fixture_assemble(
        f, NTK_ISA_ENGINE_DVE,
        "    dma_copy D=sbuf(0:1):int32[16] A=var1:int32[16] done=s9+1\n"
        "    register_load rd=r1 A=sbuf(0:1):int32[1] wait=s9>=1\n"
        "    memset D=sbuf(0:1):int32[16]\n"
        "l:  compare_branch op0=equal ra=r1 imm0=0 to=e\n"
        "    tensor_scalar op0=add imm0=1.0 D=sbuf(0:1):int32[16] A=sbuf(0:1):int32[16]\n"
        "    register_alu op0=subtract rd=r1 ra=r1 imm0=1\n"
        "    compare_branch to=l\n"
        "e:  " STORE);
    for (int32_t rounds = 0; rounds < 200; rounds += 37) {
        memcpy(engine_fixture_memory(f, 1), &rounds, sizeof rounds);
        must_run(f);
        for (int i = 0; i < 16; i++) {
            assert_int_equal(output(f)[i], rounds);
        }
    }
}

/* More transfers than the program has instructions: nothing was sized for them. */
static void a_loop_may_start_any_number_of_transfers(void **state)
{
    struct engine_fixture *f = *state;

    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP,
                            "    register_move rd=r1 imm0=5000\n"
                            "l:  dma_copy D=sbuf(0:1):int32[16] A=var1:int32[16]\n"
                            "    register_alu op0=subtract rd=r1 ra=r1 imm0=1\n"
                            "    compare_branch op0=greater ra=r1 imm0=0 to=l\n" STORE);
    memset(engine_fixture_memory(f, 1), 0x11, 64);
    must_run(f);
    assert_int_equal(f->result.dma_transfer_count, 5001);
    assert_int_equal(f->result.dma_bytes, 5001 * 64);
    assert_memory_equal(output(f), engine_fixture_memory(f, 1), 64);
    /* From the first byte to the last, without a gap longer than what it takes to start one. */
    assert_true(f->result.busy_ns[NTK_ENGINE_DMA] < f->result.duration_ns);
    assert_true(f->result.busy_ns[NTK_ENGINE_DMA] > 100000);
}

static void jumps_that_lead_nowhere_are_refused(void **state)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        { "nop\ncompare_branch to=3\n",
          "Pool slot 1: jumps to slot 3, where no instruction starts" },
        { "nop\ncompare_branch to=4294967295\n",
          "Pool slot 1: jumps to slot 4294967295, where no instruction starts" },
        { "compare_branch to=2\nmemset D=sbuf(0:1):float32[1]\nnop\n",
          "Pool slot 0: jumps to slot 2, where no instruction starts" },
        { "compare_branch to=3\nfunction name=1\nnop\nnop\n",
          "Pool slot 0: jumps to slot 3, out of its function" },
        { "nop\nfunction name=1\ncompare_branch to=0\n",
          "Pool slot 2: jumps to slot 0, out of its function" },
        { "nop\nfunction name=1\ncompare_branch to=1\n",
          "Pool slot 2: jumps to slot 1, out of its function" },
        { "call to=1\nnop\n",
          "Pool slot 0: calls slot 1, which is not a function behind this one" },
        { "nop\nfunction name=1\ncall to=1\n",
          "Pool slot 2: calls slot 1, which is not a function behind this one" },
        { "nop\nfunction name=1\nnop\nfunction name=2\ncall to=1\n",
          "Pool slot 4: calls slot 1, which is not a function behind this one" },
        { "nop\nfunction name=1\nfunction name=1\n", "Pool: function \"f\" is there twice" },
        { "nop\nfunction name=3\n", "Pool slot 1: a function whose name is empty" },
        { "nop\nfunction name=9\n", "Pool slot 1: name 9 of 3" },
    };
    struct engine_fixture *f = *state;
    const char *names[] = { "f", "g", "" };

    f->subgraph.engines[NTK_ISA_ENGINE_POOL].names = names;
    f->subgraph.engines[NTK_ISA_ENGINE_POOL].name_count = 3;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        engine_fixture_clear(f);
        engine_fixture_assemble(f, NTK_ISA_ENGINE_POOL, cases[i].text);
        assert_int_equal(engine_fixture_make(f), -EBADMSG);
        assert_string_equal(f->err.text, cases[i].sentence);
    }
}

/* --- endless loops ---------------------------------------------------------------------------- */

/* The limit is two hours of device time: played through, this would take longer than the test
 * may. */
#define HOURS_NS 7200000000000ULL

static void a_loop_that_changes_nothing_is_ended_at_the_limit(void **state)
{
    static const char *const loops[] = {
        "l: compare_branch to=l\n",
        "l: nop imm0=100\nregister_alu op0=bitwise_and rd=r1 ra=r1 imm0=1\ncompare_branch to=l\n",
        /* A period of 255 rounds. */
        "l: register_alu op0=add rd=r1 ra=r1 imm0=1\n"
        "register_alu op0=bitwise_and rd=r1 ra=r1 imm0=255\n"
        "compare_branch op0=not_equal ra=r1 imm0=256 to=l\n",
        "l: memset D=sbuf(0:1):float32[64]\ncompare_branch to=l\n",
        "l: dma_copy D=sbuf(0:1):int32[16] A=var1:int32[16] done=s9+1\nnop wait=s9>=1/take\n"
        "compare_branch to=l\n",
    };

    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        struct engine_fixture *f = *state;

        engine_fixture_clear(f);
        engine_fixture_assemble(f, NTK_ISA_ENGINE_POOL, loops[i]);
        assert_int_equal(engine_fixture_run(f, NULL, HOURS_NS), NTK_RUN_TIMEOUT);
        assert_int_equal(f->result.duration_ns, HOURS_NS);
        assert_int_equal(f->result.fault_engine, NTK_ENGINE_POOL);
        /* The engine was busy the whole time; in the last loop it mostly waits for transfers that
         * mostly wait themselves, for the 1300 ns before their first byte. */
        assert_true(f->result.busy_ns[NTK_ENGINE_POOL] >
                    (i < 4 ? HOURS_NS / 10 * 9 : HOURS_NS / 20));
        assert_true(f->result.busy_ns[NTK_ENGINE_DMA] > 0 ? i == 4 : i < 4);
        assert_true(f->result.busy_ns[NTK_ENGINE_POOL] <= HOURS_NS);
        assert_true(f->result.busy_ns[NTK_ENGINE_DMA] <= HOURS_NS);
    }
}

/* It looks at memory each time, which nobody changes: for ever. With somebody who does it is
 * played. */
static void a_loop_that_looks_for_what_never_comes_is_ended_at_the_limit(void **state)
{
    struct engine_fixture *f = *state;

    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP,
                            "l: register_load rd=r1 A=sbuf(0:1):int32[1]\n"
                            "compare_branch op0=equal ra=r1 imm0=0 to=l\n");
    assert_int_equal(engine_fixture_run(f, NULL, HOURS_NS), NTK_RUN_TIMEOUT);
    assert_int_equal(f->result.duration_ns, HOURS_NS);
    assert_true(f->result.busy_ns[NTK_ENGINE_SP] > HOURS_NS / 10 * 9);
    /* The loop itself counts in memory, up to the value it waits for; its registers are the same
     * each time. */
    engine_fixture_clear(f);
    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP,
                            "l: register_load rd=r1 A=sbuf(0:1)+64:int32[1]\n"
                            "register_alu op0=add rd=r1 ra=r1 imm0=1\n"
                            "register_store ra=r1 D=sbuf(0:1)+64:int32[1]\n"
                            "register_alu op0=less rd=r2 ra=r1 imm0=5000\n"
                            "register_move rd=r1 imm0=0\n"
                            "compare_branch op0=not_equal ra=r2 imm0=0 to=l\n");
    assert_int_equal(engine_fixture_run(f, NULL, HOURS_NS), NTK_RUN_OK);
    assert_int_equal(f->result.instruction_count[NTK_ENGINE_SP], 6 * 5000);
}

/* By hand: a branch of 64 cycles at 1.4 GHz, an hour. */
static void endless_loops_count_what_they_would_have_done(void **state)
{
    struct engine_fixture *f = *state;
    uint64_t expected = 3600000000000000ULL / CYCLES_64_PS;

    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP, "l: compare_branch to=l\n");
    assert_int_equal(engine_fixture_run(f, NULL, 3600000000000ULL), NTK_RUN_TIMEOUT);
    assert_true(f->result.instruction_count[NTK_ENGINE_SP] >= expected - 1000);
    assert_true(f->result.instruction_count[NTK_ENGINE_SP] <= expected);
}

static void two_engines_that_play_ball_for_ever_are_seen_through(void **state)
{
    struct engine_fixture *f = *state;

    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP,
                            "l: nop imm0=7 wait=s9>=1/take signal=s10+1\n"
                            "compare_branch to=l\n");
    engine_fixture_assemble(f, NTK_ISA_ENGINE_DVE,
                            "nop signal=s9+1\nl: nop imm0=31 wait=s10>=1/take signal=s9+1\n"
                            "compare_branch to=l\n");
    assert_int_equal(engine_fixture_run(f, NULL, HOURS_NS), NTK_RUN_TIMEOUT);
    assert_int_equal(f->result.engines_not_done, 1U << NTK_ENGINE_SP | 1U << NTK_ENGINE_DVE);
}

/* A loop that looks like the others, but another engine ends it: it must not be taken for
 * endless. */
static void a_loop_that_waits_for_something_ends_when_it_comes(void **state)
{
    struct engine_fixture *f = *state;

    /* SP polls the state buffer; the pool engine writes there after a millisecond. */
    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP,
                            "l: register_load rd=r1 A=sbuf(0:1):int32[1]\n"
                            "compare_branch op0=equal ra=r1 imm0=0 to=l\n" STORE);
    engine_fixture_assemble(f, NTK_ISA_ENGINE_POOL,
                            "nop imm0=1400000\nmemset D=sbuf(0:1):int32[16] imm0=1\n");
    assert_int_equal(engine_fixture_run(f, NULL, HOURS_NS), NTK_RUN_OK);
    assert_int_equal(output(f)[0], 1);
    assert_true(f->result.duration_ns > 1000000 && f->result.duration_ns < 1010000);
}

/* A counter that runs over is a loop of 2^32 different rounds: the limit ends it. */
static void a_loop_that_counts_for_ever_is_ended_by_the_limit(void **state)
{
    struct engine_fixture *f = *state;

    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP,
                            "l: register_alu op0=add rd=r1 ra=r1 imm0=1\n"
                            "compare_branch to=l\n");
    assert_int_equal(engine_fixture_run(f, NULL, 50000000), NTK_RUN_TIMEOUT);
    assert_int_equal(f->result.duration_ns, 50000000);
}

/* --- functions -------------------------------------------------------------------------------- */

static const char *const names[] = { "leaf", "middle", "f", "g" };

static void name_functions(struct engine_fixture *f, enum ntk_isa_engine engine)
{
    f->subgraph.engines[engine].names = (const char **)(uintptr_t)names;
    f->subgraph.engines[engine].name_count = 4;
}

static void functions_return_to_where_they_were_called(void **state)
{
    struct engine_fixture *f = *state;

    name_functions(f, NTK_ISA_ENGINE_SP);
    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP,
                            "call to=middle\n"
                            "call to=leaf\n"
                            "call to=middle\n"
                            "register_store ra=r1 D=sbuf(0:1):int32[1]\n"
                            "register_store ra=r2 D=sbuf(0:1)+4:int32[1]\n" STORE
                            "middle: function name=2\n"
                            "register_alu op0=add rd=r2 ra=r2 imm0=100\n"
                            "call to=leaf\n"
                            "compare_branch op0=greater ra=r2 imm0=100 to=out\n"
                            "call to=leaf\n"
                            "out: return\n"
                            "register_move rd=r1 imm0=-1\n"
                            "leaf: function name=1\n"
                            "register_alu op0=multiply rd=r1 ra=r1 imm0=3\n"
                            "register_alu op0=add rd=r1 ra=r1 imm0=1\n");
    must_run(f);
    /* leaf ran 2 + 1 + 1 times: x := 3x + 1 from 0. */
    assert_int_equal(output(f)[0], 40);
    assert_int_equal(output(f)[1], 200);
}

static void instructions_after_the_end_of_main_are_not_run(void **state)
{
    struct engine_fixture *f = *state;

    name_functions(f, NTK_ISA_ENGINE_SP);
    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP, "nop\nfunction name=1\nnop\nnop\n");
    must_run(f);
    assert_int_equal(f->result.instruction_count[NTK_ENGINE_SP], 1);
}

static void calls_go_as_deep_as_the_core_remembers(void **state)
{
    struct engine_fixture *f = *state;
    static const char *many[32];
    static char texts[32][8];

    for (int depth = 16; depth <= 17; depth++) {
        engine_fixture_clear(f);
        f->subgraph.engines[NTK_ISA_ENGINE_SP].names = many;
        f->subgraph.engines[NTK_ISA_ENGINE_SP].name_count = 32;
        for (int d = 0; d < depth; d++) {
            char line[64];

            snprintf(texts[d], sizeof texts[d], "f%d", d);
            many[d] = texts[d];
            /* Slots: the call of main, then a head and a call per function. */
            snprintf(line, sizeof line, "call to=%d\nfunction name=%d\n", 1 + 2 * d, 1 + d);
            engine_fixture_assemble(f, NTK_ISA_ENGINE_SP, line);
        }
        engine_fixture_assemble(f, NTK_ISA_ENGINE_SP, "nop\n");
        if (depth == 16) {
            must_run(f);
            assert_int_equal(f->result.instruction_count[NTK_ENGINE_SP], 17);
        } else {
            assert_int_equal(engine_fixture_make(f), -EBADMSG);
            assert_string_equal(f->err.text, "SP slot 0: more than 16 calls inside one another");
        }
    }
}

/* A copy of 4 bytes from the start of the input to a place of the output. */
static void group_of(struct engine_fixture *f, uint32_t id, const char *function, uint64_t from,
                     uint64_t to)
{
    struct ntk_neff_transfer *t = engine_fixture_group(f, NTK_ISA_ENGINE_SP, 0, id, 0xffff);
    uint32_t g = f->subgraph.engines[NTK_ISA_ENGINE_SP].group_count - 1;

    f->groups[NTK_ISA_ENGINE_SP][g].function_start = function;
    t->from->var = 1;
    t->to.var = 2;
    t->from->offset = from;
    t->to.offset = to;
    t->from->dtype = t->to.dtype = NTK_DTYPE_UINT8;
    t->from->dim_count = t->to.dim_count = 1;
    t->from->steps[0] = t->to.steps[0] = 1;
    t->from->sizes[0] = t->to.sizes[0] = 4;
}

/* The same id means another group in each function, and none of the others' may be started. */
static void groups_belong_to_the_function_that_starts_with_them(void **state)
{
    struct engine_fixture *f = *state;

    for (uint8_t i = 0; i < 64; i++) {
        ((uint8_t *)engine_fixture_memory(f, 1))[i] = i;
    }
    name_functions(f, NTK_ISA_ENGINE_SP);
    group_of(f, 0, "", 0, 0);
    group_of(f, 0, "f", 4, 4);
    group_of(f, 1, "", 8, 8); /* f's too */
    group_of(f, 0, "g", 12, 12);
    group_of(f, 0, "", 16, 16); /* g's too: one id, two groups */
    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP,
                            "dma_trigger\ncall to=g\ncall to=f\n"
                            "f: function name=3\ndma_trigger group=1\n"
                            "g: function name=4\ndma_trigger\n");
    must_run(f);
    assert_int_equal(f->result.dma_transfer_count, 4);
    for (int i = 0; i < 5; i++) {
        const uint8_t *in = engine_fixture_memory(f, 1);

        assert_int_equal(((const uint8_t *)output(f))[4 * i + 1], i == 1 ? 0 : in[4 * i + 1]);
    }
    engine_fixture_clear(f);
    group_of(f, 0, "f", 0, 0);
    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP, "dma_trigger\nfunction name=3\nnop\n");
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    assert_string_equal(f->err.text, "SP slot 0: queue set 0 has no DMA group 0");
    engine_fixture_clear(f);
    group_of(f, 0, "nowhere", 0, 0);
    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP, "nop\nfunction name=3\nnop\n");
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    assert_string_equal(f->err.text,
                        "SP: DMA group 0 starts function \"nowhere\", which the binary has not");
}

/* Every byte of a program of loops and calls is spoilt; it is refused, or ends within its limit. */
static void spoilt_jumps_end_or_are_refused(void **state)
{
    struct engine_fixture *f = *state;
    size_t refused = 0;
    size_t ran = 0;

    name_functions(f, NTK_ISA_ENGINE_SP);
    group_of(f, 0, "", 0, 0);
    group_of(f, 0, "f", 4, 4);
    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP,
                            "register_move rd=r1 imm0=3\n"
                            "l: call to=f\n"
                            "register_alu op0=subtract rd=r1 ra=r1 imm0=1\n"
                            "register_load rd=r2 A=sbuf(0:1):int8[1]\n"
                            "register_store ra=r2 D=sbuf(0:1):int8[1]\n"
                            "compare_branch op0=greater ra=r1 imm0=0 to=l\n"
                            "dma_trigger\n"
                            "f: function name=3\n"
                            "dma_trigger\n"
                            "call to=g\n"
                            "return\n"
                            "g: function name=4\n"
                            "compare_branch to=e\n"
                            "nop\n"
                            "e: drain\n");
    must_run(f);
    for (size_t at = 0; at < f->subgraph.engines[NTK_ISA_ENGINE_SP].code_bytes; at++) {
        uint8_t keep = f->code[NTK_ISA_ENGINE_SP][at];

        for (unsigned spoil = 0; spoil < 256; spoil += at % 64 < 42 ? 5 : 51) {
            f->code[NTK_ISA_ENGINE_SP][at] = (uint8_t)spoil;
            if (engine_fixture_make(f) < 0) {
                assert_true(strlen(f->err.text) > 0);
                refused++;
            } else {
                engine_fixture_run(f, NULL, 2000000);
                assert_true(f->result.duration_ns <= 2000000);
                ran++;
            }
        }
        f->code[NTK_ISA_ENGINE_SP][at] = keep;
    }
    assert_true(refused > 10000 && ran > 500);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(every_operator_on_registers_gives_what_it_says),
        TEST(registers_load_and_store_every_width),
        TEST(each_engine_has_registers_of_its_own_that_begin_at_zero),
        TEST(a_loop_runs_as_often_as_its_counter_says),
        TEST(the_number_of_rounds_may_come_from_memory),
        TEST(a_loop_may_start_any_number_of_transfers),
        TEST(jumps_that_lead_nowhere_are_refused),
        TEST(a_loop_that_changes_nothing_is_ended_at_the_limit),
        TEST(a_loop_that_looks_for_what_never_comes_is_ended_at_the_limit),
        TEST(endless_loops_count_what_they_would_have_done),
        TEST(two_engines_that_play_ball_for_ever_are_seen_through),
        TEST(a_loop_that_waits_for_something_ends_when_it_comes),
        TEST(a_loop_that_counts_for_ever_is_ended_by_the_limit),
        TEST(functions_return_to_where_they_were_called),
        TEST(instructions_after_the_end_of_main_are_not_run),
        TEST(calls_go_as_deep_as_the_core_remembers),
        TEST(groups_belong_to_the_function_that_starts_with_them),
        TEST(spoilt_jumps_end_or_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
