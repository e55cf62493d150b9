/* SPDX-License-Identifier: MIT */
/*
 * Method: hand-made traces with stacks and times that are known by construction, as text
 * "outermost;...;innermost busy_ns instructions". Busy times of an engine always add up to its
 * active time.
 */
#include <stdio.h>
#include <string.h>

#include "profiler/analysis/engine_activity.h"
#include "profiler/analysis/flame_stacks.h"
#include "shared/base/buf.h"
#include "tests/support/hand_positions.h"
#include "tests/support/hand_trace.h"
#include "tests/support/unit.h"

#define ACT NTK_ISA_ENGINE_ACT
#define PE NTK_ISA_ENGINE_PE

struct asked {
    struct ntk_program *program;
    struct ntk_regions regions;
    struct ntk_flame flame;
    struct ntk_buf text;
};

static void put_frames(const struct ntk_flame *flame, uint32_t index, struct ntk_buf *out)
{
    const struct ntk_flame_frame *frame = ntk_vec_at(&flame->frames, index);

    if (frame->parent) {
        put_frames(flame, frame->parent - 1, out);
        ntk_buf_add_char(out, ';');
    }
    ntk_buf_add_text(out, frame->name);
}

/* positions become the program's; NULL: none. */
static void ask(struct hand_trace *h, struct ntk_neff_positions *positions, struct asked *asked)
{
    struct ntk_activity activity;
    int64_t sums[NTK_NTFF_ENGINE_COUNT] = { 0 };

    memset(asked, 0, sizeof *asked);
    hand_trace_end(h);
    assert_int_equal(ntk_program_create(&h->trace, &asked->program), 0);
    asked->program->positions = positions;
    assert_int_equal(ntk_analysis_regions(asked->program, &asked->regions), 0);
    assert_int_equal(ntk_analysis_flame(asked->program, &asked->regions, &asked->flame), 0);
    ntk_vec_each(const struct ntk_flame_stack, stack, &asked->flame.stacks) {
        put_frames(&asked->flame, stack->frame, &asked->text);
        ntk_buf_add_format(&asked->text, " %lld %llu\n", (long long)stack->busy_ns,
                           (unsigned long long)stack->instruction_count);
        sums[stack->engine] += stack->busy_ns;
    }
    ntk_analysis_engine_activity(&h->trace, &activity);
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT && h->trace.core_count == 1; e++) {
        assert_int_equal(sums[e], activity.engines[e].active_ps / NTK_TRACE_PS_PER_NS);
    }
}

static void done(struct hand_trace *h, struct asked *asked)
{
    ntk_buf_fini(&asked->text);
    ntk_flame_fini(&asked->flame);
    ntk_regions_fini(&asked->regions);
    ntk_program_destroy(asked->program);
    hand_trace_fini(h);
}

static void expect(struct hand_trace *h, struct ntk_neff_positions *positions, const char *wanted)
{
    struct asked asked;

    ask(h, positions, &asked);
    assert_string_equal(ntk_buf_text_get(&asked.text), wanted);
    done(h, &asked);
}

static uint32_t slot_on(struct hand_trace *h, size_t core, unsigned engine, enum ntk_isa_op op,
                        const char *name)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(op);

    if (op == NTK_ISA_OP_TENSOR_COPY) {
        instr.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 128, 16, NTK_DTYPE_BFLOAT16);
        instr.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(512, 128, 16, NTK_DTYPE_BFLOAT16);
    }
    if (name) {
        instr.name_id = hand_trace_name(h, core, engine, name);
    }
    return hand_trace_open(h, core, engine, &instr);
}

/* The copy executes from 100 to 200, the drain from 150 to 260, inside it a NOP from 210 to 220. */
static void overlapping_time_belongs_to_the_instruction_that_started_first(void **state)
{
    struct hand_trace h;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t copy = slot_on(&h, 0, ACT, NTK_ISA_OP_TENSOR_COPY, NULL);
    uint32_t drain = slot_on(&h, 0, ACT, NTK_ISA_OP_DRAIN, NULL);
    uint32_t nop = slot_on(&h, 0, ACT, NTK_ISA_OP_NOP, NULL);
    hand_trace_run(&h, 0, ACT, copy, 100, 200);
    hand_trace_run(&h, 0, ACT, drain, 150, 260);
    hand_trace_run(&h, 0, ACT, nop, 210, 220);
    expect(&h, NULL,
           "Scalar;COPY 100 1\n"
           "Scalar;DRAIN 60 1\n"
           "Scalar;NOP 0 1\n");
}

/* A wait of 300 ns between two copies is an instruction and no time. */
static void waiting_for_a_semaphore_is_not_busy(void **state)
{
    struct hand_trace h;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t copy = slot_on(&h, 0, ACT, NTK_ISA_OP_TENSOR_COPY, NULL);
    uint32_t wait = slot_on(&h, 0, ACT, NTK_ISA_OP_NOP, NULL);
    hand_trace_run(&h, 0, ACT, copy, 0, 100);
    hand_trace_run(&h, 0, ACT, wait, 100, 400);
    h.cores[0].instructions[1].opcode = NTK_NTFF_OPCODE_EVENT_SEMAPHORE;
    expect(&h, NULL,
           "Scalar;COPY 100 1\n"
           "Scalar;EVENT_SEMAPHORE 0 1\n");
}

/* 10.6 ns each: 10, then the rest of 21.2 and of 31.8; the sum is truncated once. */
static void fractions_of_nanoseconds_are_summed_before_rounding(void **state)
{
    static const enum ntk_isa_op ops[] = { NTK_ISA_OP_TENSOR_COPY, NTK_ISA_OP_DRAIN,
                                           NTK_ISA_OP_NOP };
    struct hand_trace h;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    for (int i = 0; i < 3; i++) {
        uint32_t slot = slot_on(&h, 0, ACT, ops[i], NULL);
        hand_trace_run(&h, 0, ACT, slot, 100 * i, 100 * i + 10);
        h.cores[0].instructions[i].end_ps += 600;
    }
    expect(&h, NULL,
           "Scalar;COPY 10 1\n"
           "Scalar;DRAIN 11 1\n"
           "Scalar;NOP 10 1\n");
}

/* Ten times two slots, between one instruction before and one after. */
static void a_loop_is_a_flame_graph_frame(void **state)
{
    struct hand_trace h;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t before = slot_on(&h, 0, ACT, NTK_ISA_OP_NOP, NULL);
    uint32_t one = slot_on(&h, 0, ACT, NTK_ISA_OP_NOP, NULL);
    uint32_t two = slot_on(&h, 0, ACT, NTK_ISA_OP_TENSOR_COPY, NULL);
    uint32_t after = slot_on(&h, 0, ACT, NTK_ISA_OP_NOP, NULL);
    hand_trace_run(&h, 0, ACT, before, 0, 5);
    for (int i = 0; i < 10; i++) {
        hand_trace_run(&h, 0, ACT, one, 10 + 30 * i, 15 + 30 * i);
        hand_trace_run(&h, 0, ACT, two, 15 + 30 * i, 35 + 30 * i);
    }
    hand_trace_run(&h, 0, ACT, after, 400, 407);
    expect(&h, NULL,
           "Scalar;NOP 12 2\n"
           "Scalar;loop NOP COPY;NOP 50 10\n"
           "Scalar;loop NOP COPY;COPY 200 10\n");
}

static void parts_of_a_layer_are_flame_graph_frames(void **state)
{
    struct hand_trace h;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t scores = slot_on(&h, 0, ACT, NTK_ISA_OP_TENSOR_COPY, "enc/attention/scores");
    uint32_t values = slot_on(&h, 0, ACT, NTK_ISA_OP_TENSOR_COPY, "enc/attention/values");
    uint32_t drain = slot_on(&h, 0, PE, NTK_ISA_OP_DRAIN, "enc/attention/values");
    hand_trace_run(&h, 0, ACT, scores, 0, 100);
    hand_trace_run(&h, 0, ACT, values, 100, 130);
    hand_trace_run(&h, 0, PE, drain, 20, 27);
    expect(&h, NULL,
           "Tensor;enc;attention;values;DRAIN 7 1\n"
           "Scalar;enc;attention;scores;COPY 100 1\n"
           "Scalar;enc;attention;values;COPY 30 1\n");
}

/* Slot 0 is in a function that another one calls, slot 1 has only a line, slot 2 has neither. */
static void functions_and_source_lines_are_flame_graph_frames(void **state)
{
    struct ntk_neff_positions *positions = hand_positions("/k/attn.py", 1, 3, 40);
    struct hand_trace h;
    struct asked asked;

    (void)state;
    HAND_POSITIONS_PUSH(&positions->kernel.functions, struct ntk_neff_function, .name = "attn",
                        .file = "/k/attn.py", .line = 12);
    HAND_POSITIONS_PUSH(&positions->kernel.functions, struct ntk_neff_function, .name = "scores",
                        .file = "/k/attn.py", .line = 30, .parent = 1, .depth = 1);
    HAND_POSITIONS_PUSH(&positions->kernel.instructions, struct ntk_neff_kernel_instruction,
                        .number = 7, .line = 40, .function = 2);
    positions->cores[0].slots[ACT][0].instruction = 1;
    positions->cores[0].slots[ACT][2] = (struct ntk_neff_position){ 0 };
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    for (int i = 0; i < 3; i++) {
        uint32_t slot = slot_on(&h, 0, ACT, i ? NTK_ISA_OP_DRAIN : NTK_ISA_OP_NOP, NULL);
        hand_trace_run(&h, 0, ACT, slot, 100 * i, 100 * i + 50);
    }
    ask(&h, positions, &asked);
    assert_string_equal(ntk_buf_text_get(&asked.text), "Scalar;attn;scores;attn.py:40;NOP 50 1\n"
                                                       "Scalar;attn.py:41;DRAIN 50 1\n"
                                                       "Scalar;(compiler);DRAIN 50 1\n");
    ntk_vec_each(const struct ntk_flame_frame, frame, &asked.flame.frames) {
        if (strcmp(frame->name, "scores") == 0) {
            assert_string_equal(frame->file, "/k/attn.py");
            assert_int_equal(frame->line, 30);
        } else if (strcmp(frame->name, "attn.py:41") == 0) {
            assert_string_equal(frame->file, "/k/attn.py");
            assert_int_equal(frame->line, 41);
        }
    }
    done(&h, &asked);
}

/* The same work on two cores at the same time is counted for each core. */
static void cores_have_separate_flame_stacks(void **state)
{
    struct hand_trace h;

    (void)state;
    hand_trace_begin(&h, 2, "trn2.3xlarge", 1000);
    for (size_t c = 0; c < 2; c++) {
        uint32_t slot = slot_on(&h, c, ACT, NTK_ISA_OP_TENSOR_COPY, NULL);
        hand_trace_run(&h, c, ACT, slot, 0, 100 + 10 * (int64_t)c);
    }

    struct asked asked;
    char wanted[256];

    ask(&h, NULL, &asked);
    (void)snprintf(
        wanted, sizeof wanted, "NC %u (%s);Scalar;COPY 100 1\nNC %u (%s);Scalar;COPY 110 1\n",
        h.subgraphs[0].core, h.subgraphs[0].name, h.subgraphs[1].core, h.subgraphs[1].name);
    assert_string_equal(ntk_buf_text_get(&asked.text), wanted);
    assert_int_equal(((struct ntk_flame_stack *)ntk_vec_at(&asked.flame.stacks, 1))->core, 1);
    done(&h, &asked);
}

static void an_empty_execution_has_no_flame_stacks(void **state)
{
    struct hand_trace h;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    expect(&h, NULL, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlapping_time_belongs_to_the_instruction_that_started_first),
        cmocka_unit_test(waiting_for_a_semaphore_is_not_busy),
        cmocka_unit_test(fractions_of_nanoseconds_are_summed_before_rounding),
        cmocka_unit_test(a_loop_is_a_flame_graph_frame),
        cmocka_unit_test(parts_of_a_layer_are_flame_graph_frames),
        cmocka_unit_test(functions_and_source_lines_are_flame_graph_frames),
        cmocka_unit_test(cores_have_separate_flame_stacks),
        cmocka_unit_test(an_empty_execution_has_no_flame_stacks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
