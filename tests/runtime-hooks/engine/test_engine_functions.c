/* SPDX-License-Identifier: MIT */
/* Functions: calls, returns, and their own groups; also damaged jumps. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/runtime-hooks/engine/flow_fixture.h"
#include "tests/support/unit.h"

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
    flow_must_run(f);
    /* leaf ran 2 + 1 + 1 times: x := 3x + 1 from 0. */
    assert_int_equal(flow_output(f)[0], 40);
    assert_int_equal(flow_output(f)[1], 200);
}

static void instructions_after_the_end_of_main_are_not_executed(void **state)
{
    struct engine_fixture *f = *state;

    name_functions(f, NTK_ISA_ENGINE_SP);
    engine_fixture_assemble(f, NTK_ISA_ENGINE_SP, "nop\nfunction name=1\nnop\nnop\n");
    flow_must_run(f);
    assert_int_equal(f->result.instruction_count[NTK_ENGINE_SP], 1);
}

static void calls_are_limited_to_the_depth_of_the_call_stack(void **state)
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
            flow_must_run(f);
            assert_int_equal(f->result.instruction_count[NTK_ENGINE_SP], 17);
        } else {
            assert_int_equal(engine_fixture_make(f), -EBADMSG);
            assert_string_equal(f->err.text, "SP slot 0: too many nested calls (at most 16)");
        }
    }
}

/* Copies 4 bytes from the start of the input to a place in the output. */
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

/* The same id means a different group in each function, and a function must not start another's. */
static void dma_groups_belong_to_the_function_they_are_declared_in(void **state)
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
    flow_must_run(f);
    assert_int_equal(f->result.dma_transfer_count, 4);
    for (int i = 0; i < 5; i++) {
        const uint8_t *in = engine_fixture_memory(f, 1);

        assert_int_equal(((const uint8_t *)flow_output(f))[4 * i + 1], i == 1 ? 0 : in[4 * i + 1]);
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
    assert_string_equal(
        f->err.text, "SP: DMA group 0 starts function 'nowhere', which is missing from the binary");
}

/* Damages every byte of a program of loops and calls; it is rejected, or ends within its limit. */
static void programs_with_corrupted_jumps_end_or_are_rejected(void **state)
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
    flow_must_run(f);
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
    const struct CMUnitTest tests[] = {
        FLOW_TEST(functions_return_to_where_they_were_called),
        FLOW_TEST(instructions_after_the_end_of_main_are_not_executed),
        FLOW_TEST(calls_are_limited_to_the_depth_of_the_call_stack),
        FLOW_TEST(dma_groups_belong_to_the_function_they_are_declared_in),
        FLOW_TEST(programs_with_corrupted_jumps_end_or_are_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
