/* SPDX-License-Identifier: MIT */
/*
 * engine_flow - control flow of the sequencers: registers, branches, calls.
 */
#include "runtime-hooks/engine/engine_run.h"

#include <assert.h>
#include <string.h>

#include "runtime-hooks/engine/kernel_dtype.h"

void engine_flow_reset(struct run *run)
{
    memset(run->core->registers, 0, sizeof run->core->registers);
}

/* --- registers -------------------------------------------------------------------------------- */

static int32_t shift_left(int32_t a, uint32_t by)
{
    return by < 32 ? (int32_t)((uint32_t)a << by) : 0;
}

/* Shifts right and keeps the sign. */
static int32_t shift_right(int32_t a, uint32_t by)
{
    if (by >= 32) {
        return 0;
    }
    return (int32_t)(a < 0 ? ~(~(uint32_t)a >> by) : (uint32_t)a >> by);
}

static uint32_t magnitude(int32_t a)
{
    return a < 0 ? 0U - (uint32_t)a : (uint32_t)a;
}

/* Computes in 32-bit two's complement, wrapping; comparisons are signed and return 1 or 0.
 * ntk_isa_check() has accepted op for register_alu or compare_branch. */
static int32_t register_alu(enum ntk_isa_alu op, int32_t a, int32_t b)
{
    switch (op) {
    case NTK_ISA_ALU_INVERT:
        return ~a;
    case NTK_ISA_ALU_BITWISE_AND:
        return a & b;
    case NTK_ISA_ALU_BITWISE_OR:
        return a | b;
    case NTK_ISA_ALU_BITWISE_XOR:
        return a ^ b;
    case NTK_ISA_ALU_LEFT_SHIFT:
        return shift_left(a, (uint32_t)b);
    case NTK_ISA_ALU_RIGHT_SHIFT:
        return shift_right(a, (uint32_t)b);
    case NTK_ISA_ALU_ADD:
        return (int32_t)((uint32_t)a + (uint32_t)b);
    case NTK_ISA_ALU_SUBTRACT:
        return (int32_t)((uint32_t)a - (uint32_t)b);
    case NTK_ISA_ALU_MULTIPLY:
        return (int32_t)((uint32_t)a * (uint32_t)b);
    case NTK_ISA_ALU_MAXIMUM:
        return a > b ? a : b;
    case NTK_ISA_ALU_MINIMUM:
        return a < b ? a : b;
    case NTK_ISA_ALU_EQUAL:
        return a == b;
    case NTK_ISA_ALU_NOT_EQUAL:
        return a != b;
    case NTK_ISA_ALU_GREATER_EQUAL:
        return a >= b;
    case NTK_ISA_ALU_GREATER:
        return a > b;
    case NTK_ISA_ALU_LESS_EQUAL:
        return a <= b;
    case NTK_ISA_ALU_LESS:
        return a < b;
    case NTK_ISA_ALU_LOGICAL_AND:
        return a != 0 && b != 0;
    case NTK_ISA_ALU_LOGICAL_OR:
        return a != 0 || b != 0;
    case NTK_ISA_ALU_LOGICAL_XOR:
        return (a != 0) != (b != 0);
    case NTK_ISA_ALU_ABS_MAX:
        return (int32_t)larger(magnitude(a), magnitude(b));
    case NTK_ISA_ALU_ABS_MIN:
        return (int32_t)(magnitude(a) < magnitude(b) ? magnitude(a) : magnitude(b));
    case NTK_ISA_ALU_ABS:
        return (int32_t)magnitude(a);
    case NTK_ISA_ALU_SQUARE:
        return (int32_t)((uint32_t)a * (uint32_t)a);
    case NTK_ISA_ALU_RELU:
        return a > 0 ? a : 0;
    default: /* other operators are rejected when the program is created */
        assert(!"an operator for registers");
        return 0;
    }
}

/* The second operand: register b, or its immediate. */
static int32_t second(const struct run *run, uint32_t engine, const struct ntk_engine_instr *instr)
{
    return instr->reg_b ? run->core->registers[engine][instr->reg_b - 1]
                        : (int32_t)instr->sync_value;
}

static uint8_t *scalar_memory(const struct run *run, const struct ntk_engine_tile *tile)
{
    return (tile->region == NTK_ENGINE_REGION_SBUF ? run->core->sbuf : run->core->psum) +
           tile->offset;
}

static int32_t scalar_load(struct run *run, const struct ntk_engine_tile *tile)
{
    int64_t value = 0;

    run->group->looks++;
    ntk_kernel_to_i64(tile->tile.dtype, scalar_memory(run, tile), 0, 1, &value);
    return (int32_t)(uint32_t)value;
}

/* Stores the low bytes of a register. */
static void scalar_store(struct run *run, const struct ntk_engine_tile *tile, int32_t value)
{
    uint32_t bits = (uint32_t)value;
    uint8_t bytes[4];

    run->group->changes++;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(bits >> (8 * i));
    }
    if (tile->region == NTK_ENGINE_REGION_SBUF) {
        size_t pitch = (size_t)run->core->spec->sbuf_partition_bytes + NTK_ENGINE_PITCH_EXTRA;
        int64_t low = (int64_t)(tile->offset % pitch);

        ntk_tile_packs_written(run->core->packs, low, low + (int64_t)sizeof bytes);
    }
    memcpy(scalar_memory(run, tile), bytes, ntk_dtype_bytes(tile->tile.dtype));
}

void engine_flow_register(struct run *run, uint32_t engine, const struct ntk_engine_instr *instr)
{
    int32_t *registers = run->core->registers[engine];
    const struct ntk_engine_tile *tile;

    switch (instr->kind) {
    case NTK_ENGINE_KIND_REGISTER_LOAD:
        tile = ntk_vec_at(&run->program->scalars, instr->first);
        registers[instr->reg_to - 1] = scalar_load(run, tile);
        return;
    case NTK_ENGINE_KIND_REGISTER_STORE:
        tile = ntk_vec_at(&run->program->scalars, instr->first);
        scalar_store(run, tile, registers[instr->reg_a - 1]);
        return;
    case NTK_ENGINE_KIND_REGISTER_MOVE:
        registers[instr->reg_to - 1] =
            instr->reg_a ? registers[instr->reg_a - 1] : (int32_t)instr->sync_value;
        return;
    default:
        registers[instr->reg_to - 1] =
            register_alu((enum ntk_isa_alu)instr->sync_mode, registers[instr->reg_a - 1],
                         second(run, engine, instr));
        return;
    }
}

/* --- jumps ------------------------------------------------------------------------------------ */

void engine_flow_return(struct run *run, struct engine_state *state, uint32_t engine)
{
    while (state->next >= state->count && state->depth > 0) {
        const struct ntk_engine_frame *frame = &run->core->frames[engine][--state->depth];

        state->next = frame->next;
        state->count = frame->count;
    }
}

static void call(struct run *run, uint32_t engine, const struct ntk_engine_instr *instr)
{
    struct engine_state *state = &run->engines[engine];
    const struct ntk_engine_function *function = ntk_vec_at(&run->program->functions, instr->first);

    assert(state->depth < NTK_ENGINE_CALLS_MAX); /* engine_program_flow.c limits the depth */
    run->core->frames[engine][state->depth++] =
        (struct ntk_engine_frame){ (uint32_t)state->next + 1, (uint32_t)state->count };
    state->next = function->begin + 1; /* skip the head, which has the function's name */
    state->count = function->end;
}

void engine_flow_jump(struct run *run, uint32_t engine, const struct ntk_engine_instr *instr)
{
    struct engine_state *state = &run->engines[engine];
    bool goes_back = false;

    switch (instr->kind) {
    case NTK_ENGINE_KIND_CALL:
        call(run, engine, instr);
        break;
    case NTK_ENGINE_KIND_RETURN:
        state->next = state->count;
        break;
    default:
        if (instr->sync_mode == NTK_ISA_ALU_NONE ||
            register_alu((enum ntk_isa_alu)instr->sync_mode,
                         run->core->registers[engine][instr->reg_a - 1],
                         second(run, engine, instr))) {
            goes_back = instr->first <= state->next;
            state->next = instr->first;
        } else {
            state->next++;
        }
        break;
    }
    engine_flow_return(run, state, engine);
    if (goes_back) {
        engine_endless_look(run, engine);
    }
}
