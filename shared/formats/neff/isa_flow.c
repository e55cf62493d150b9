/* SPDX-License-Identifier: MIT */
/*
 * isa_flow - checks control instructions: semaphores and events, registers, jumps and calls, and
 * the synchronisation of a logical core's cores.
 */
#include <errno.h>

#include "shared/formats/neff/isa_private.h"

static int check_event_semaphore(const struct ntk_isa_op_info *info,
                                 const struct ntk_isa_instr *instr, struct ntk_err *err)
{
    switch (instr->imm[0]) {
    case NTK_ISA_SYNC_NONE:
        if (instr->imm[1] != 0 || instr->imm[2] != 0) {
            return BAD("%s: a number or value is set, but no mode", info->name);
        }
        return 0;
    case NTK_ISA_SYNC_EVENT_CLEAR:
    case NTK_ISA_SYNC_EVENT_SET:
        if (instr->imm[1] >= NTK_ISA_EVENTS || instr->imm[2] != 0) {
            return BAD("%s: invalid event %u, value %u", info->name, instr->imm[1], instr->imm[2]);
        }
        return 0;
    case NTK_ISA_SYNC_SEMAPHORE_ADD:
    case NTK_ISA_SYNC_SEMAPHORE_SUB:
    case NTK_ISA_SYNC_SEMAPHORE_WRITE:
        if (instr->imm[1] >= NTK_ISA_SEMAPHORES) {
            return BAD("%s: invalid semaphore %u", info->name, instr->imm[1]);
        }
        return 0;
    default:
        return BAD("%s: unknown mode 0x%x", info->name, instr->imm[0]);
    }
}

/* Checks the data that a sequencer moves between a register and memory: one element of up to 32
 * bits. */
static int check_scalar(const struct ntk_isa_op_info *info, const struct ntk_isa_operand *operand,
                        struct ntk_err *err)
{
    if (ntk_isa_operand_elements(operand) != 1) {
        return BAD("%s: expected one element, found %llu", info->name,
                   (unsigned long long)ntk_isa_operand_elements(operand));
    }
    switch (operand->dtype) {
    case NTK_DTYPE_INT8:
    case NTK_DTYPE_UINT8:
    case NTK_DTYPE_INT16:
    case NTK_DTYPE_UINT16:
    case NTK_DTYPE_INT32:
    case NTK_DTYPE_UINT32:
        return 0;
    default:
        return BAD("%s: a register cannot hold %s", info->name,
                   ntk_dtype_name((unsigned)operand->dtype));
    }
}

static bool on_registers(enum ntk_isa_alu op)
{
    switch (op) {
    case NTK_ISA_ALU_NONE:
    case NTK_ISA_ALU_POWER:
    case NTK_ISA_ALU_RSQRT:
    case NTK_ISA_ALU_RECIPROCAL:
        return false;
    default:
        return (unsigned)op < NTK_ISA_ALU_COUNT;
    }
}

/* The second operand is either register b or an immediate number, not both. */
static int check_second(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                        struct ntk_err *err)
{
    if (instr->reg_b != 0 && instr->imm[0] != 0) {
        return BAD("%s: the second value is both a register and a number", info->name);
    }
    return 0;
}

static bool takes_one(enum ntk_isa_alu op)
{
    return op == NTK_ISA_ALU_INVERT || ntk_isa_alu_kind_get(op) == NTK_ISA_ALU_KIND_UNARY;
}

static int check_alu(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                     struct ntk_err *err)
{
    if (instr->reg_to == 0 || instr->reg_a == 0) {
        return BAD("%s: missing register", info->name);
    }
    if (!on_registers(instr->op0)) {
        return BAD("%s: operator %s is not supported for registers", info->name,
                   ntk_isa_alu_name((unsigned)instr->op0));
    }
    if (takes_one(instr->op0) && (instr->reg_b != 0 || instr->imm[0] != 0)) {
        return BAD("%s: %s requires exactly one value", info->name,
                   ntk_isa_alu_name((unsigned)instr->op0));
    }
    return check_second(info, instr, err);
}

static int check_branch(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                        struct ntk_err *err)
{
    if (instr->op0 == NTK_ISA_ALU_NONE) {
        return instr->reg_a != 0 || instr->reg_b != 0 || instr->imm[0] != 0
                   ? BAD("%s: values are set, but no comparison", info->name)
                   : 0;
    }
    if (instr->op0 < NTK_ISA_ALU_EQUAL || instr->op0 > NTK_ISA_ALU_LESS) {
        return BAD("%s: %s is not a comparison", info->name,
                   ntk_isa_alu_name((unsigned)instr->op0));
    }
    if (instr->reg_a == 0) {
        return BAD("%s: missing register", info->name);
    }
    return check_second(info, instr, err);
}

static int check_sendrecv(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                          struct ntk_err *err)
{
    const struct ntk_isa_operand *dst = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *src0 = &instr->operand[NTK_ISA_SRC0];

    if (instr->imm[0] >= NTK_ISA_PIPES) {
        return BAD("%s: invalid pipe %u: there are only %d", info->name, instr->imm[0],
                   NTK_ISA_PIPES);
    }
    if (dst->space != NTK_ISA_SPACE_SBUF || src0->space != NTK_ISA_SPACE_SBUF) {
        return BAD("%s: only SBUF tiles can be exchanged", info->name);
    }
    if (!ntk_isa_same_shape(dst, src0) || dst->dtype != src0->dtype) {
        return BAD("%s: the sent and received tiles differ in shape or dtype", info->name);
    }
    return 0;
}

int ntk_isa_check_flow(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                       struct ntk_err *err)
{
    if (instr->reg_to > NTK_ISA_REGISTERS || instr->reg_a > NTK_ISA_REGISTERS ||
        instr->reg_b > NTK_ISA_REGISTERS) {
        return BAD("%s: registers must be at most r%d", info->name, NTK_ISA_REGISTERS - 1);
    }
    switch (instr->op) {
    case NTK_ISA_OP_EVENT_SEMAPHORE:
        return check_event_semaphore(info, instr, err);
    case NTK_ISA_OP_EVENT_SEMAPHORE_RANGE_CLEAR:
        if (instr->imm[1] < 1 || instr->imm[1] > NTK_ISA_SEMAPHORES ||
            instr->imm[0] > NTK_ISA_SEMAPHORES - instr->imm[1]) {
            return BAD("%s: invalid range of %u semaphores from %u", info->name, instr->imm[1],
                       instr->imm[0]);
        }
        return 0;
    case NTK_ISA_OP_REGISTER_LOAD:
        if (instr->reg_to == 0) {
            return BAD("%s: missing register", info->name);
        }
        return check_scalar(info, &instr->operand[NTK_ISA_SRC0], err);
    case NTK_ISA_OP_REGISTER_STORE:
        if (instr->reg_a == 0) {
            return BAD("%s: missing register", info->name);
        }
        return check_scalar(info, &instr->operand[NTK_ISA_DST], err);
    case NTK_ISA_OP_REGISTER_MOVE:
        if (instr->reg_to == 0) {
            return BAD("%s: missing register", info->name);
        }
        return instr->reg_a != 0 && instr->imm[0] != 0
                   ? BAD("%s: the value is both a register and a number", info->name)
                   : 0;
    case NTK_ISA_OP_REGISTER_ALU:
        return check_alu(info, instr, err);
    case NTK_ISA_OP_COMPARE_BRANCH:
        return check_branch(info, instr, err);
    case NTK_ISA_OP_FUNCTION:
        return instr->name_id == 0 ? BAD("%s: the function has no name", info->name) : 0;
    case NTK_ISA_OP_CORE_BARRIER:
        return instr->imm[0] >= NTK_ISA_BARRIERS ? BAD("%s: invalid barrier %u: there are only %d",
                                                       info->name, instr->imm[0], NTK_ISA_BARRIERS)
                                                 : 0;
    case NTK_ISA_OP_SENDRECV:
        return check_sendrecv(info, instr, err);
    default:
        return 0;
    }
}
