/* SPDX-License-Identifier: MIT */
/* Registers, jumps and loops; the expected results are computed here in plain C. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/runtime-hooks/engine/flow_fixture.h"
#include "tests/support/unit.h"

/* Computed in 64 bits and truncated, unlike the engine. */
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

static void every_register_operator_returns_its_defined_result(void **state)
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

            /* Eleven results; the second operand comes from a register and from the instruction in
             * turn. */
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
            flow_must_run(f);
            for (size_t b = 0; b < VALUES; b++) {
                if (flow_output(f)[b] != reference(name, values[a], values[b])) {
                    fail_msg("%d %s %d = %d, not %d", values[a], name, values[b], flow_output(f)[b],
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
        flow_must_run(f);
        assert_int_equal(flow_output(f)[1], cases[i].value);
        assert_int_equal((uint32_t)flow_output(f)[2], cases[i].stored);
    }
}

static void each_engine_has_separate_registers_that_start_at_zero(void **state)
{
    struct engine_fixture *f = *state;

    engine_fixture_assemble(f, NTK_ISA_ENGINE_ACT,
                            "register_store ra=r7 D=sbuf(0:1):int32[1]\n"
                            "register_move rd=r7 imm0=5\n"
                            "register_store ra=r7 D=sbuf(0:1)+4:int32[1] signal=s9+1\n");
    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP,
                            "register_store ra=r7 D=sbuf(0:1)+8:int32[1] wait=s9>=1\n" STORE);
    for (int run = 0; run < 2; run++) {
        flow_must_run(f);
        assert_int_equal(flow_output(f)[0], 0);
        assert_int_equal(flow_output(f)[1], 5);
        assert_int_equal(flow_output(f)[2], 0);
    }
}

/* Fibonacci numbers: only a correct loop yields the 40th. */
static void a_loop_runs_the_number_of_rounds_in_its_counter(void **state)
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
    flow_must_run(f);
    assert_int_equal(flow_output(f)[0], 102334155);
    /* 2 before, 40 rounds of 6, a last comparison, the store, the copy: 64 cycles each. */
    assert_int_equal(f->result.instruction_count[NTK_ENGINE_SP], 2 + 40 * 6 + 3);
    assert_int_equal(f->result.busy_ns[NTK_ENGINE_SP], (2 + 40 * 6 + 3) * CYCLES_64_PS / 1000ULL);
}

static void the_number_of_loop_rounds_may_be_read_from_memory(void **state)
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
        flow_must_run(f);
        for (int i = 0; i < 16; i++) {
            assert_int_equal(flow_output(f)[i], rounds);
        }
    }
}

/* More transfers than the program has instructions, so no buffer can be sized by them. */
static void a_loop_can_start_more_transfers_than_there_are_instructions(void **state)
{
    struct engine_fixture *f = *state;

    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP,
                            "    register_move rd=r1 imm0=5000\n"
                            "l:  dma_copy D=sbuf(0:1):int32[16] A=var1:int32[16]\n"
                            "    register_alu op0=subtract rd=r1 ra=r1 imm0=1\n"
                            "    compare_branch op0=greater ra=r1 imm0=0 to=l\n" STORE);
    memset(engine_fixture_memory(f, 1), 0x11, 64);
    flow_must_run(f);
    assert_int_equal(f->result.dma_transfer_count, 5001);
    assert_int_equal(f->result.dma_bytes, 5001 * 64);
    assert_memory_equal(flow_output(f), engine_fixture_memory(f, 1), 64);
    /* From the first byte to the last, without a gap longer than it takes to start a transfer. */
    assert_true(f->result.busy_ns[NTK_ENGINE_DMA] < f->result.duration_ns);
    assert_true(f->result.busy_ns[NTK_ENGINE_DMA] > 100000);
}

static void jumps_outside_the_program_are_rejected(void **state)
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
          "Pool slot 0: jumps to slot 3, outside its function" },
        { "nop\nfunction name=1\ncompare_branch to=0\n",
          "Pool slot 2: jumps to slot 0, outside its function" },
        { "nop\nfunction name=1\ncompare_branch to=1\n",
          "Pool slot 2: jumps to slot 1, outside its function" },
        { "call to=1\nnop\n", "Pool slot 0: calls slot 1, which is not a later function" },
        { "nop\nfunction name=1\ncall to=1\n",
          "Pool slot 2: calls slot 1, which is not a later function" },
        { "nop\nfunction name=1\nnop\nfunction name=2\ncall to=1\n",
          "Pool slot 4: calls slot 1, which is not a later function" },
        { "nop\nfunction name=1\nfunction name=1\n", "Pool: duplicate function 'f'" },
        { "nop\nfunction name=3\n", "Pool slot 1: a function with an empty name" },
        { "nop\nfunction name=9\n", "Pool slot 1: unknown name number 9: the engine has 3 names" },
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        FLOW_TEST(every_register_operator_returns_its_defined_result),
        FLOW_TEST(registers_load_and_store_every_width),
        FLOW_TEST(each_engine_has_separate_registers_that_start_at_zero),
        FLOW_TEST(a_loop_runs_the_number_of_rounds_in_its_counter),
        FLOW_TEST(the_number_of_loop_rounds_may_be_read_from_memory),
        FLOW_TEST(a_loop_can_start_more_transfers_than_there_are_instructions),
        FLOW_TEST(jumps_outside_the_program_are_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
