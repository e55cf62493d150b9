/* SPDX-License-Identifier: MIT */
#include "shared/formats/neff/isa.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/formats/neff/isa_text.h"
#include "tests/support/unit.h"

/* ---- random instructions: a small generator of our own, so that runs are equal everywhere ---- */

static uint64_t seed = 1;

static uint32_t pick(uint32_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((seed >> 33) % below);
}

static struct ntk_isa_operand any_tile(enum ntk_isa_space space, unsigned partitions,
                                       uint32_t elements, enum ntk_dtype dtype)
{
    struct ntk_isa_operand operand =
        space == NTK_ISA_SPACE_PSUM ? ntk_isa_psum(2048 * pick(8), partitions, elements, dtype)
                                    : ntk_isa_sbuf(64 * pick(1000), partitions, elements, dtype);

    operand.partition_start = (uint16_t)pick(NTK_ISA_PARTITIONS - partitions + 1);
    return operand;
}

#define SBUF(count, dtype) any_tile(NTK_ISA_SPACE_SBUF, partitions, count, dtype)

/* The operations of kernel_select.c; true when it is one of them. */
static bool any_select(struct ntk_isa_instr *instr)
{
    unsigned partitions = 1 + pick(128);
    uint32_t elements = 8 + pick(120);
    struct ntk_isa_operand *dst = &instr->operand[NTK_ISA_DST];
    struct ntk_isa_operand *src0 = &instr->operand[NTK_ISA_SRC0];
    struct ntk_isa_operand *src1 = &instr->operand[NTK_ISA_SRC1];
    struct ntk_isa_operand *src2 = &instr->operand[NTK_ISA_SRC2];
    struct ntk_isa_operand *dst2 = &instr->operand[NTK_ISA_DST2];
    enum ntk_dtype f32 = NTK_DTYPE_FLOAT32;
    const struct ntk_isa_operand none = { .var_id = NTK_ISA_NO_VAR };
    bool folds = pick(2);

    *dst = SBUF(elements, f32);
    *src0 = SBUF(elements, f32);
    switch (instr->op) {
    case NTK_ISA_OP_TENSOR_COPY_PREDICATED:
        *src1 = SBUF(elements, NTK_DTYPE_UINT8);
        instr->op_flags = pick(2) ? NTK_ISA_OPF_REVERSE0 : 0;
        return true;
    case NTK_ISA_OP_TENSOR_TENSOR_SCAN:
    case NTK_ISA_OP_TENSOR_SCALAR_CUMULATIVE:
        *src1 = SBUF(instr->op == NTK_ISA_OP_TENSOR_TENSOR_SCAN ? elements : 1, f32);
        *src2 = SBUF(1, f32);
        instr->op0 = NTK_ISA_ALU_MULTIPLY;
        instr->op1 = NTK_ISA_ALU_ADD;
        instr->op_flags = (uint8_t)(pick(4) * NTK_ISA_OPF_REVERSE0);
        return true;
    case NTK_ISA_OP_TENSOR_PARTITION_REDUCE:
        partitions = 1;
        *dst = SBUF(elements, f32);
        instr->op0 = NTK_ISA_ALU_MAXIMUM;
        return true;
    case NTK_ISA_OP_AFFINE_SELECT:
        *src1 = (struct ntk_isa_operand){ .space = NTK_ISA_SPACE_PATTERN,
                                          .dtype = NTK_DTYPE_INT32,
                                          .var_id = NTK_ISA_NO_VAR,
                                          .dim_count = 1,
                                          .dim = { { 1, elements } } };
        instr->op0 = NTK_ISA_ALU_GREATER_EQUAL;
        instr->imm[1] = pick(9);
        return true;
    case NTK_ISA_OP_RANGE_SELECT:
        *src1 = SBUF(1, f32);
        *src2 = SBUF(1, f32);
        instr->op0 = NTK_ISA_ALU_GREATER_EQUAL;
        instr->op1 = NTK_ISA_ALU_LESS;
        break;
    case NTK_ISA_OP_SELECT_REDUCE:
        *src1 = SBUF(elements, NTK_DTYPE_UINT8);
        break;
    case NTK_ISA_OP_EXPONENTIAL:
        *src1 = SBUF(1, f32);
        break;
    case NTK_ISA_OP_LOCAL_GATHER:
        partitions = 16;
        *dst = SBUF(40, f32);
        *src0 = SBUF(elements, f32);
        *src1 = SBUF(2, NTK_DTYPE_UINT16);
        instr->imm[0] = 2;
        instr->imm[1] = 20;
        return true;
    case NTK_ISA_OP_NC_N_GATHER:
        *src1 = SBUF(elements, NTK_DTYPE_UINT32);
        return true;
    case NTK_ISA_OP_NC_STREAM_SHUFFLE:
        partitions = 64;
        *dst = SBUF(elements, f32);
        *src0 = SBUF(elements, f32);
        partitions = 1;
        *src1 = SBUF(32, NTK_DTYPE_UINT8);
        return true;
    case NTK_ISA_OP_BN_STATS:
        *dst = SBUF(6, f32);
        return true;
    case NTK_ISA_OP_BN_AGGR:
        *dst = SBUF(2, f32);
        *src0 = SBUF(12, f32);
        return true;
    case NTK_ISA_OP_NC_FIND_INDEX8:
        *dst = SBUF(8, NTK_DTYPE_UINT32);
        *src1 = SBUF(8, f32);
        return true;
    case NTK_ISA_OP_NC_MATCH_REPLACE8:
        *src1 = SBUF(8, f32);
        *dst2 = SBUF(8, NTK_DTYPE_UINT32);
        return true;
    case NTK_ISA_OP_NONZERO_WITH_COUNT:
        *dst = SBUF(elements + 1, NTK_DTYPE_INT32);
        return true;
    case NTK_ISA_OP_SEQUENCE_BOUNDS:
        *dst = SBUF(2 * elements, NTK_DTYPE_INT32);
        return true;
    case NTK_ISA_OP_DROPOUT:
        instr->imm[0] = ntk_isa_float_bits(0.5F);
        return true;
    case NTK_ISA_OP_RNG:
        *dst = SBUF(elements, NTK_DTYPE_UINT32);
        *src0 = none;
        return true;
    case NTK_ISA_OP_RAND2:
        *src0 = SBUF(1, f32);
        *src1 = SBUF(1, f32);
        return true;
    case NTK_ISA_OP_SET_RNG_SEED:
        *src0 = SBUF(1, NTK_DTYPE_UINT32);
        *dst = none;
        return true;
    case NTK_ISA_OP_RAND_SET_STATE:
        *src0 = SBUF(6, NTK_DTYPE_UINT32);
        *dst = none;
        return true;
    case NTK_ISA_OP_RAND_GET_STATE:
        *dst = SBUF(6, NTK_DTYPE_UINT32);
        *src0 = none;
        return true;
    default:
        *dst = none;
        *src0 = none;
        return false;
    }
    if (folds) {
        *dst2 = SBUF(1, f32);
        instr->reduce_op = NTK_ISA_ALU_MAXIMUM;
        instr->reduce_cmd = NTK_ISA_REDUCE_RESET_REDUCE;
    }
    return true;
}

/* The operations of isa_matrix.c and those whose operands are lists, rows or registers. */
static bool any_matrix(struct ntk_isa_instr *instr)
{
    unsigned partitions = 8 * (1 + pick(16));
    uint32_t columns = 1 + pick(64);
    struct ntk_isa_operand *operand = instr->operand;
    bool packs = pick(2);
    enum ntk_dtype mx = packs ? NTK_DTYPE_UINT16 : NTK_DTYPE_FLOAT8E4;
    uint32_t width = packs ? 1 : 4;
    enum ntk_dtype f32 = NTK_DTYPE_FLOAT32;

    switch (instr->op) {
    case NTK_ISA_OP_LOAD_STATIONARY:
        operand[NTK_ISA_SRC0] = SBUF(columns, NTK_DTYPE_BFLOAT16);
        return true;
    case NTK_ISA_OP_NC_MATMUL_MX:
        operand[NTK_ISA_DST] = any_tile(NTK_ISA_SPACE_PSUM, 48, columns, f32);
        operand[NTK_ISA_SRC0] = SBUF(48 * width, mx);
        operand[NTK_ISA_SRC1] = SBUF(columns * 4, NTK_DTYPE_FLOAT8E5);
        partitions /= 8;
        operand[NTK_ISA_SRC2] = SBUF(48, NTK_DTYPE_UINT8);
        operand[NTK_ISA_SRC3] = SBUF(columns, NTK_DTYPE_UINT8);
        instr->op_flags = pick(2) ? NTK_ISA_OPF_ACCUMULATE : 0;
        return true;
    case NTK_ISA_OP_QUANTIZE_MX:
        operand[NTK_ISA_DST] = SBUF(columns * width, mx);
        operand[NTK_ISA_SRC0] = SBUF(columns * 4, NTK_DTYPE_BFLOAT16);
        partitions /= 8;
        operand[NTK_ISA_DST2] = SBUF(columns, NTK_DTYPE_UINT8);
        return true;
    case NTK_ISA_OP_DVE_TRANSPOSE:
        partitions = 1 + pick(32);
        operand[NTK_ISA_SRC0] = SBUF(20, f32);
        operand[NTK_ISA_DST] = any_tile(NTK_ISA_SPACE_PSUM, 20, partitions, f32);
        return true;
    case NTK_ISA_OP_ACTIVATE2:
        operand[NTK_ISA_DST] = SBUF(columns, f32);
        operand[NTK_ISA_SRC0] = SBUF(columns, f32);
        operand[NTK_ISA_SRC1] = SBUF(1, f32);
        instr->op0 = NTK_ISA_ALU_MULTIPLY;
        instr->op1 = packs ? NTK_ISA_ALU_NONE : NTK_ISA_ALU_MAXIMUM;
        instr->act = (enum ntk_isa_act)pick(NTK_ISA_ACT_COUNT);
        instr->imm[2] = pick(100);
        if (pick(2)) {
            operand[NTK_ISA_DST2] = SBUF(1, f32);
            instr->reduce_op = NTK_ISA_ALU_ADD;
            instr->reduce_cmd = NTK_ISA_REDUCE_REDUCE;
        }
        return true;
    case NTK_ISA_OP_TENSOR_COPY_DYNAMIC_SRC:
    case NTK_ISA_OP_TENSOR_COPY_DYNAMIC_DST:
        operand[NTK_ISA_DST] = SBUF(3 * columns, f32);
        operand[NTK_ISA_SRC0] = SBUF(6 * columns, NTK_DTYPE_BFLOAT16);
        partitions = 1;
        operand[NTK_ISA_SRC1] = SBUF(3, NTK_DTYPE_UINT32);
        instr->imm[0] = pick(9);
        return true;
    case NTK_ISA_OP_TOPK:
        partitions = 32;
        operand[NTK_ISA_DST] = SBUF(2, NTK_DTYPE_BFLOAT16);
        operand[NTK_ISA_SRC0] = SBUF(10, NTK_DTYPE_BFLOAT16);
        operand[NTK_ISA_DST2] = SBUF(2, NTK_DTYPE_UINT16);
        instr->imm[0] = 1 + pick(32);
        instr->imm[1] = 32 + pick(129);
        return true;
    case NTK_ISA_OP_LOAD_MASK_REGISTER:
        partitions = 1;
        operand[NTK_ISA_SRC0] = SBUF(32, NTK_DTYPE_UINT8);
        return true;
    case NTK_ISA_OP_MATCH_VALUE_LOAD:
        operand[NTK_ISA_SRC0] = SBUF(8, f32);
        return true;
    default:
        return false;
    }
}

/* A sound instruction of the operation, with random fields where it has any. */
static struct ntk_isa_instr any_instr(const struct ntk_isa_op_info *info)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make((enum ntk_isa_op)info->number);
    unsigned partitions = 1 + pick(128);
    uint32_t elements = 8 + pick(120);
    struct ntk_isa_operand *dst = &instr.operand[NTK_ISA_DST];
    struct ntk_isa_operand *src0 = &instr.operand[NTK_ISA_SRC0];
    struct ntk_isa_operand *src1 = &instr.operand[NTK_ISA_SRC1];
    struct ntk_isa_operand *src2 = &instr.operand[NTK_ISA_SRC2];
    struct ntk_isa_operand *dst2 = &instr.operand[NTK_ISA_DST2];
    enum ntk_dtype f32 = NTK_DTYPE_FLOAT32;

    if (pick(2)) {
        instr.wait_semaphore = (uint16_t)pick(256);
        instr.wait_value = (uint16_t)pick(65536);
        instr.flags |= pick(2) ? NTK_ISA_FLAG_WAIT_CONSUME : NTK_ISA_FLAG_WAIT_EQUAL;
    }
    if (pick(2)) {
        instr.signal_semaphore = (uint16_t)pick(256);
        instr.signal_value = (uint16_t)pick(2);
        instr.flags |= pick(2) ? NTK_ISA_FLAG_SIGNAL_EVENT : 0;
    }
    instr.name_id = pick(100);
    if (any_matrix(&instr) || any_select(&instr)) {
        return instr;
    }

    switch (instr.op) {
    case NTK_ISA_OP_NOP:
        instr.imm[0] = pick(UINT32_MAX);
        instr.imm[1] = pick(4);
        break;
    case NTK_ISA_OP_EVENT_SEMAPHORE:
        instr.imm[0] = NTK_ISA_SYNC_SEMAPHORE_WRITE;
        instr.imm[1] = pick(256);
        instr.imm[2] = pick(UINT32_MAX);
        break;
    case NTK_ISA_OP_EVENT_SEMAPHORE_RANGE_CLEAR:
        instr.imm[0] = pick(100);
        instr.imm[1] = 1 + pick(100);
        break;
    case NTK_ISA_OP_DEVICE_PRINT:
        *src0 = any_tile(NTK_ISA_SPACE_PSUM, partitions, elements, f32);
        instr.imm[0] = pick(100);
        break;
    case NTK_ISA_OP_DRAIN:
    case NTK_ISA_OP_RETURN:
        break;
    case NTK_ISA_OP_FUNCTION:
        instr.name_id = 1 + pick(9);
        break;
    case NTK_ISA_OP_CALL:
        instr.target = pick(100);
        break;
    case NTK_ISA_OP_COMPARE_BRANCH:
        instr.target = pick(1000);
        if (pick(4) > 0) {
            instr.op0 = (enum ntk_isa_alu)(NTK_ISA_ALU_EQUAL + pick(6));
            instr.reg_a = (uint8_t)(1 + pick(NTK_ISA_REGISTERS));
            instr.reg_b = (uint8_t)pick(NTK_ISA_REGISTERS + 1);
            instr.imm[0] = instr.reg_b ? 0 : pick(UINT32_MAX);
        }
        break;
    case NTK_ISA_OP_REGISTER_LOAD:
        *src0 = any_tile(NTK_ISA_SPACE_SBUF, 1, 1, NTK_DTYPE_INT16);
        instr.reg_to = (uint8_t)(1 + pick(NTK_ISA_REGISTERS));
        break;
    case NTK_ISA_OP_REGISTER_STORE:
        *dst = any_tile(NTK_ISA_SPACE_PSUM, 1, 1, NTK_DTYPE_UINT32);
        instr.reg_a = (uint8_t)(1 + pick(NTK_ISA_REGISTERS));
        break;
    case NTK_ISA_OP_REGISTER_MOVE:
        instr.reg_to = (uint8_t)(1 + pick(NTK_ISA_REGISTERS));
        instr.reg_a = (uint8_t)pick(NTK_ISA_REGISTERS + 1);
        instr.imm[0] = instr.reg_a ? 0 : pick(UINT32_MAX);
        break;
    case NTK_ISA_OP_REGISTER_ALU:
        instr.reg_to = (uint8_t)(1 + pick(NTK_ISA_REGISTERS));
        instr.reg_a = (uint8_t)(1 + pick(NTK_ISA_REGISTERS));
        instr.reg_b = (uint8_t)pick(NTK_ISA_REGISTERS + 1);
        instr.op0 = pick(2) ? NTK_ISA_ALU_ADD : NTK_ISA_ALU_RIGHT_SHIFT;
        instr.imm[0] = instr.reg_b ? 0 : pick(UINT32_MAX);
        break;
    case NTK_ISA_OP_CORE_BARRIER:
        instr.imm[0] = pick(NTK_ISA_BARRIERS);
        break;
    case NTK_ISA_OP_SENDRECV:
        *dst = any_tile(NTK_ISA_SPACE_SBUF, partitions, elements, f32);
        *src0 = any_tile(NTK_ISA_SPACE_SBUF, partitions, elements, f32);
        instr.queue = (uint16_t)pick(20);
        instr.done_semaphore = (uint16_t)pick(256);
        instr.done_value = 1;
        instr.imm[0] = pick(NTK_ISA_PIPES);
        break;
    case NTK_ISA_OP_NOTIFY:
    case NTK_ISA_OP_ACT_TABLE_LOAD:
        instr.imm[0] = pick(100);
        break;
    case NTK_ISA_OP_DMA_TRIGGER:
        instr.queue = (uint16_t)pick(20);
        instr.group_id = pick(1000);
        instr.imm[0] = pick(4);
        break;
    case NTK_ISA_OP_DMA_COPY:
        *dst = any_tile(NTK_ISA_SPACE_SBUF, partitions, elements, f32);
        *src0 = ntk_isa_var(pick(9), 4 * pick(1000), partitions, (int32_t)elements, elements,
                            NTK_DTYPE_BFLOAT16);
        instr.queue = (uint16_t)pick(20);
        instr.op_flags = (uint8_t)(pick(4) << NTK_ISA_DGE_SHIFT);
        instr.done_semaphore = (uint16_t)pick(256);
        instr.done_value = 1;
        break;
    case NTK_ISA_OP_DMA_INDIRECT_COPY:
        *dst = any_tile(NTK_ISA_SPACE_SBUF, partitions, elements, f32);
        *src0 = ntk_isa_var(pick(9), 0, 1, 0, elements, f32);
        *src1 = any_tile(NTK_ISA_SPACE_SBUF, partitions, 1, NTK_DTYPE_INT32);
        instr.imm[0] = elements * 4;
        instr.imm[1] = pick(1000);
        instr.op_flags =
            (uint8_t)(NTK_ISA_OPF_BOUNDS | (pick(2) ? NTK_ISA_OPF_OOB_SKIP : 0) |
                      (pick(2) ? NTK_ISA_OPF_ACCUMULATE : 0) | pick(3) << NTK_ISA_DGE_SHIFT);
        if (pick(2)) { /* rows of one variable to rows of another */
            *src2 = any_tile(NTK_ISA_SPACE_SBUF, partitions, 1, NTK_DTYPE_UINT32);
            *dst = ntk_isa_var(pick(9), 64, 1, 0, elements, NTK_DTYPE_BFLOAT16);
            instr.imm[2] = elements * 2;
            instr.imm[3] = pick(1000);
        }
        break;
    case NTK_ISA_OP_DMA_TRANSPOSE:
        *dst = ntk_isa_var(pick(9), 0, elements, (int32_t)partitions, partitions, f32);
        *src0 =
            any_tile(pick(2) ? NTK_ISA_SPACE_SBUF : NTK_ISA_SPACE_PSUM, partitions, elements, f32);
        instr.imm[0] = 0x0001;
        instr.queue = (uint16_t)pick(20);
        instr.op_flags = (uint8_t)(pick(4) << NTK_ISA_DGE_SHIFT);
        break;
    case NTK_ISA_OP_DMA_COMPUTE:
        *dst = any_tile(NTK_ISA_SPACE_PSUM, partitions, elements, f32);
        *src0 = any_tile(NTK_ISA_SPACE_SBUF, partitions, elements, NTK_DTYPE_INT16);
        instr.op0 = pick(2) ? NTK_ISA_ALU_ADD : NTK_ISA_ALU_MAXIMUM;
        if (pick(2)) {
            instr.operand[NTK_ISA_SRC3] = any_tile(NTK_ISA_SPACE_SBUF, partitions, elements, f32);
        }
        if (instr.op0 == NTK_ISA_ALU_ADD) {
            instr.imm[0] = ntk_isa_float_bits(0.5F);
            instr.imm[3] = instr.operand[NTK_ISA_SRC3].space ? ntk_isa_float_bits(1.0F) : 0;
        }
        instr.op_flags =
            (uint8_t)((pick(2) ? NTK_ISA_OPF_ACCUMULATE : 0) | pick(4) << NTK_ISA_DGE_SHIFT);
        instr.done_semaphore = (uint16_t)pick(256);
        instr.done_value = 1;
        break;
    case NTK_ISA_OP_NC_MATMUL:
        *src0 = any_tile(NTK_ISA_SPACE_SBUF, partitions, 64, NTK_DTYPE_BFLOAT16);
        *src1 = any_tile(NTK_ISA_SPACE_SBUF, partitions, elements, NTK_DTYPE_BFLOAT16);
        *dst = any_tile(NTK_ISA_SPACE_PSUM, 64, elements, f32);
        instr.op_flags = pick(2) ? NTK_ISA_OPF_ACCUMULATE : 0;
        break;
    case NTK_ISA_OP_NC_TRANSPOSE:
        *src0 = any_tile(NTK_ISA_SPACE_SBUF, partitions, elements, f32);
        *dst = any_tile(NTK_ISA_SPACE_PSUM, elements, partitions, f32);
        break;
    case NTK_ISA_OP_IOTA:
        *dst = any_tile(NTK_ISA_SPACE_SBUF, partitions, elements, NTK_DTYPE_INT32);
        *src0 = (struct ntk_isa_operand){ .space = NTK_ISA_SPACE_PATTERN,
                                          .dtype = NTK_DTYPE_INT32,
                                          .var_id = NTK_ISA_NO_VAR,
                                          .dim_count = 1,
                                          .dim = { { -3, elements } } };
        break;
    case NTK_ISA_OP_MAX8:
        *src0 = any_tile(NTK_ISA_SPACE_SBUF, partitions, elements, f32);
        *dst = any_tile(NTK_ISA_SPACE_SBUF, partitions, 8, f32);
        break;
    case NTK_ISA_OP_TENSOR_REDUCE:
        *src0 = any_tile(NTK_ISA_SPACE_SBUF, partitions, elements, f32);
        src0->dim_count = 2;
        src0->dim[1] = (struct ntk_isa_dim){ (int32_t)elements, 3 };
        *dst = any_tile(NTK_ISA_SPACE_SBUF, partitions, 3, f32);
        instr.op0 = NTK_ISA_ALU_ADD;
        instr.axis_count = 1;
        break;
    default:
        *dst = any_tile(NTK_ISA_SPACE_SBUF, partitions, elements, f32);
        if (info->required >> NTK_ISA_SRC0 & 1) {
            *src0 = any_tile(NTK_ISA_SPACE_SBUF, partitions, elements, NTK_DTYPE_FLOAT16);
        }
        if (instr.op == NTK_ISA_OP_TENSOR_TENSOR || instr.op == NTK_ISA_OP_SCALAR_TENSOR_TENSOR) {
            *src1 = any_tile(NTK_ISA_SPACE_SBUF, partitions, elements, f32);
            instr.op0 = NTK_ISA_ALU_SUBTRACT;
        } else if ((info->required | info->optional) >> NTK_ISA_SRC1 & 1 && pick(2)) {
            *src1 = any_tile(NTK_ISA_SPACE_SBUF, partitions, 1, f32);
        }
        if (instr.op == NTK_ISA_OP_TENSOR_SCALAR || instr.op == NTK_ISA_OP_SCALAR_TENSOR_TENSOR) {
            instr.op1 = (enum ntk_isa_alu)(1 + pick(NTK_ISA_ALU_COUNT - 1));
            if (pick(2)) {
                *src2 = any_tile(NTK_ISA_SPACE_SBUF, partitions, 1, f32);
            }
        }
        if (info->required >> NTK_ISA_DST2 & 1) {
            *dst2 = any_tile(NTK_ISA_SPACE_SBUF, partitions, 1, f32);
            instr.reduce_op = NTK_ISA_ALU_MAXIMUM;
            instr.reduce_cmd = NTK_ISA_REDUCE_RESET_REDUCE;
        }
        break;
    }
    return instr;
}

static enum ntk_isa_engine first_engine(const struct ntk_isa_op_info *info)
{
    int engine = 0;

    while (!(info->engines >> engine & 1)) {
        engine++;
    }
    return (enum ntk_isa_engine)engine;
}

/* ---- tests ---- */

static void what_is_encoded_decodes_to_the_same_instruction(void **state)
{
    for (size_t row = 0; ntk_isa_op_info_at(row); row++) {
        const struct ntk_isa_op_info *info = ntk_isa_op_info_at(row);

        for (int round = 0; info->implemented && round < 200; round++) {
            struct ntk_isa_instr instr = any_instr(info);
            struct ntk_isa_instr back;
            uint8_t bytes[NTK_ISA_INSTR_BYTES_MAX];
            uint8_t again[NTK_ISA_INSTR_BYTES_MAX];
            struct ntk_err err = { 0 };
            size_t slots = 0;
            size_t slots_back = 0;

            if (ntk_isa_encode(&instr, first_engine(info), bytes, &slots, &err) != 0) {
                fail_msg("%s", err.text);
            }
            assert_int_equal(bytes[0], info->opcode);
            assert_int_equal(bytes[1], 0x10);
            assert_int_equal(bytes[2], slots - 1);
            if (ntk_isa_decode(bytes, slots * 64, first_engine(info), &back, &slots_back, &err) !=
                0) {
                fail_msg("%s", err.text);
            }
            assert_int_equal(slots_back, slots);
            assert_int_equal(back.op, instr.op);
            assert_int_equal(back.wait_semaphore, instr.wait_semaphore);
            assert_int_equal(back.wait_value, instr.wait_value);
            assert_int_equal(back.flags, instr.flags);
            assert_memory_equal(back.imm, instr.imm, sizeof back.imm);
            for (int r = 0; r < NTK_ISA_OPERAND_COUNT; r++) {
                assert_int_equal(back.operand[r].space, instr.operand[r].space);
                assert_int_equal(back.operand[r].offset, instr.operand[r].offset);
                assert_int_equal(back.operand[r].partition_start, instr.operand[r].partition_start);
                assert_memory_equal(back.operand[r].dim, instr.operand[r].dim,
                                    sizeof back.operand[r].dim);
            }
            assert_int_equal(ntk_isa_encode(&back, first_engine(info), again, &slots_back, &err),
                             0);
            assert_memory_equal(again, bytes, slots * 64);
        }
    }
}

/* Method: every byte of many instructions is changed; what is still accepted must encode to exactly
 * the changed bytes. */
static void a_changed_byte_is_refused_or_means_something_else(void **state)
{
    for (size_t row = 0; ntk_isa_op_info_at(row); row++) {
        const struct ntk_isa_op_info *info = ntk_isa_op_info_at(row);
        struct ntk_isa_instr instr;
        uint8_t bytes[NTK_ISA_INSTR_BYTES_MAX];
        size_t slots;

        if (!info->implemented) {
            continue;
        }
        instr = any_instr(info);
        assert_int_equal(ntk_isa_encode(&instr, first_engine(info), bytes, &slots, NULL), 0);
        for (size_t i = 0; i < slots * 64; i++) {
            uint8_t original = bytes[i];

            for (int change = 1; change < 256; change += 1 + (int)pick(16)) {
                struct ntk_isa_instr back;
                uint8_t again[NTK_ISA_INSTR_BYTES_MAX];
                size_t slots_back;

                bytes[i] = (uint8_t)(original ^ change);
                if (ntk_isa_decode(bytes, slots * 64, first_engine(info), &back, &slots_back,
                                   NULL) == 0) {
                    size_t slots_again;

                    assert_int_equal(
                        ntk_isa_encode(&back, first_engine(info), again, &slots_again, NULL), 0);
                    assert_memory_equal(again, bytes, slots_back * 64);
                }
            }
            bytes[i] = original;
        }
    }
}

static void a_program_cut_inside_an_instruction_is_refused(void **state)
{
    struct ntk_isa_instr instr = any_instr(ntk_isa_op_info_get(NTK_ISA_OP_NC_MATMUL));
    uint8_t bytes[NTK_ISA_INSTR_BYTES_MAX];
    size_t slots;

    assert_int_equal(ntk_isa_encode(&instr, NTK_ISA_ENGINE_PE, bytes, &slots, NULL), 0);
    assert_int_equal(slots, 4);
    for (size_t cut = 0; cut < slots * 64; cut++) {
        struct ntk_isa_instr back;
        size_t back_slots;

        assert_int_equal(ntk_isa_decode(bytes, cut, NTK_ISA_ENGINE_PE, &back, &back_slots, NULL),
                         -EBADMSG);
    }
}

static void operations_that_are_not_executed_yet_say_so(void **state)
{
    for (size_t row = 0; ntk_isa_op_info_at(row); row++) {
        const struct ntk_isa_op_info *info = ntk_isa_op_info_at(row);
        struct ntk_isa_instr instr = ntk_isa_instr_make((enum ntk_isa_op)info->number);
        struct ntk_err err = { 0 };
        char expected[100];

        if (info->implemented) {
            continue;
        }
        snprintf(expected, sizeof expected, "%s: the software core does not execute it",
                 info->name);
        assert_int_equal(ntk_isa_check(&instr, first_engine(info), &err), -ENOTSUP);
        assert_string_equal(err.text, expected);
    }
}

static void engines_run_their_own_operations_only(void **state)
{
    struct ntk_isa_instr instr = any_instr(ntk_isa_op_info_get(NTK_ISA_OP_NC_MATMUL));
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_isa_check(&instr, NTK_ISA_ENGINE_DVE, &err), -EBADMSG);
    assert_string_equal(err.text, "nc_matmul: not an operation of this engine");
}

static void numbers_names_and_opcodes_are_unambiguous(void **state)
{
    for (size_t i = 0; ntk_isa_op_info_at(i); i++) {
        const struct ntk_isa_op_info *a = ntk_isa_op_info_at(i);

        assert_ptr_equal(ntk_isa_op_info_get(a->number), a);
        assert_ptr_equal(ntk_isa_op_info_find(a->name), a);
        assert_true(a->opcode != 0);
        assert_int_equal(a->required & a->optional, 0);
        for (size_t k = 0; k < i; k++) {
            assert_int_not_equal(ntk_isa_op_info_at(k)->number, a->number);
            /* dma_copy has no number in its head, so its opcode must be its own. */
            assert_false(a->opcode == 0xb8 && ntk_isa_op_info_at(k)->opcode == 0xb8);
        }
    }
    assert_null(ntk_isa_op_info_get(0));
    assert_null(ntk_isa_op_info_get(255));
    assert_null(ntk_isa_op_info_get(100000));
    assert_null(ntk_isa_op_info_find("no_such_operation"));
}

static void public_opcode_bytes_are_kept(void **state)
{
    static const struct {
        enum ntk_isa_op op;
        uint8_t opcode;
    } expected[] = {
        { NTK_ISA_OP_LOAD_STATIONARY, 0x01 },
        { NTK_ISA_OP_NC_MATMUL, 0x02 },
        { NTK_ISA_OP_ACTIVATION, 0x21 },
        { NTK_ISA_OP_ACT_TABLE_LOAD, 0x23 },
        { NTK_ISA_OP_TENSOR_REDUCE, 0x42 },
        { NTK_ISA_OP_TENSOR_SCALAR, 0x43 },
        { NTK_ISA_OP_TENSOR_COPY, 0x46 },
        { NTK_ISA_OP_TENSOR_CAST, 0x47 },
        { NTK_ISA_OP_RECIPROCAL, 0x48 },
        { NTK_ISA_OP_EVENT_SEMAPHORE, 0xa0 },
        { NTK_ISA_OP_DRAIN, 0xa2 },
        { NTK_ISA_OP_NOP, 0xa4 },
        { NTK_ISA_OP_WRITE, 0xa5 },
        { NTK_ISA_OP_NOTIFY, 0xa6 },
        { NTK_ISA_OP_COMPARE_BRANCH, 0xa9 },
        { NTK_ISA_OP_REGISTER_LOAD, 0xaa },
        { NTK_ISA_OP_SET_ORDERING_MODE, 0xb1 },
        { NTK_ISA_OP_EVENT_SEMAPHORE_RANGE_CLEAR, 0xb0 },
        { NTK_ISA_OP_DMA_COPY, 0xb8 },
    };

    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_int_equal(ntk_isa_op_info_get(expected[i].op)->opcode, expected[i].opcode);
    }
}

static void a_matmul_shows_profilers_its_columns(void **state)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_NC_TRANSPOSE);
    uint8_t bytes[NTK_ISA_INSTR_BYTES_MAX];
    size_t slots;

    instr.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 100, 32, NTK_DTYPE_BFLOAT16);
    instr.operand[NTK_ISA_DST] = ntk_isa_psum(0, 32, 100, NTK_DTYPE_BFLOAT16);
    assert_int_equal(ntk_isa_encode(&instr, NTK_ISA_ENGINE_PE, bytes, &slots, NULL), 0);
    assert_int_equal(bytes[0], 0x02);
    assert_int_equal(bytes[26] | bytes[27] << 8, 100);
    assert_int_equal(bytes[28], 1);
    assert_int_equal(bytes[30], 1);
    assert_int_equal(bytes[34], 1);
}

/* Method: one field of a sound matrix product is spoilt per row. */
static void check_names_what_is_wrong(void **state)
{
    struct ntk_isa_instr sound = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);
    struct ntk_isa_instr instr;
    struct ntk_err err = { 0 };

    sound.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 128, 128, NTK_DTYPE_BFLOAT16);
    sound.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(1024, 128, 512, NTK_DTYPE_BFLOAT16);
    sound.operand[NTK_ISA_DST] = ntk_isa_psum(0, 128, 512, NTK_DTYPE_FLOAT32);
    assert_int_equal(ntk_isa_check(&sound, NTK_ISA_ENGINE_PE, &err), 0);

    instr = sound;
    instr.operand[NTK_ISA_DST].offset = 4;
    assert_int_equal(ntk_isa_check(&instr, NTK_ISA_ENGINE_PE, &err), -EBADMSG);
    assert_string_equal(err.text, "nc_matmul: the destination crosses a PSUM bank");

    instr = sound;
    instr.operand[NTK_ISA_SRC1].space = NTK_ISA_SPACE_NONE;
    assert_int_equal(ntk_isa_check(&instr, NTK_ISA_ENGINE_PE, &err), -EBADMSG);
    assert_string_equal(err.text, "nc_matmul: the source 1 is missing");

    instr = sound;
    instr.operand[NTK_ISA_SRC0].partition_start = 1;
    assert_int_equal(ntk_isa_check(&instr, NTK_ISA_ENGINE_PE, &err), -EBADMSG);
    assert_string_equal(err.text, "nc_matmul: source 0 takes partitions 1 + 128 * 1");

    instr = sound;
    instr.operand[NTK_ISA_SRC0].offset = 262144 - 128;
    assert_int_equal(ntk_isa_check(&instr, NTK_ISA_ENGINE_PE, &err), -EBADMSG);

    instr = sound;
    instr.operand[NTK_ISA_SRC1].dim[0].count = 513;
    instr.operand[NTK_ISA_DST].dim[0].count = 513;
    instr.operand[NTK_ISA_DST].dtype = NTK_DTYPE_BFLOAT16;
    assert_int_equal(ntk_isa_check(&instr, NTK_ISA_ENGINE_PE, &err), -EBADMSG);
    assert_string_equal(err.text, "nc_matmul: 513 columns moved into 513");

    instr = sound;
    instr.act = NTK_ISA_ACT_RELU;
    assert_int_equal(ntk_isa_check(&instr, NTK_ISA_ENGINE_PE, &err), -EBADMSG);
    assert_string_equal(err.text, "nc_matmul: a field is set that it does not use");

    instr = sound;
    instr.wait_semaphore = 256;
    assert_int_equal(ntk_isa_check(&instr, NTK_ISA_ENGINE_PE, &err), -EBADMSG);
    assert_string_equal(err.text, "nc_matmul: wait of semaphore 256");
}

static void extents_follow_negative_and_zero_steps(void **state)
{
    struct ntk_isa_operand operand = ntk_isa_sbuf(100, 1, 4, NTK_DTYPE_FLOAT32);
    int64_t low;
    int64_t high;

    ntk_isa_operand_extent(&operand, &low, &high);
    assert_int_equal(low, 100);
    assert_int_equal(high, 116);
    operand.dim[0].step = -1;
    ntk_isa_operand_extent(&operand, &low, &high);
    assert_int_equal(low, 88);
    assert_int_equal(high, 104);
    operand.dim[0].step = 0;
    ntk_isa_operand_extent(&operand, &low, &high);
    assert_int_equal(low, 100);
    assert_int_equal(high, 104);
    assert_int_equal(ntk_isa_operand_elements(&operand), 4);
}

/* Method: one field of a sound instruction is spoilt. */
static void selections_and_their_kin_are_checked_too(void **state)
{
    struct ntk_err err = { 0 };
    struct ntk_isa_instr instr;

#define REFUSED(number, engine, change, sentence)                                         \
    do {                                                                                  \
        instr = any_instr(ntk_isa_op_info_get(number));                                   \
        change;                                                                           \
        memset(&err, 0, sizeof err);                                                      \
        assert_int_equal(ntk_isa_check(&instr, NTK_ISA_ENGINE_##engine, &err), -EBADMSG); \
        assert_string_equal(err.text, sentence);                                          \
    } while (0)
    REFUSED(NTK_ISA_OP_TENSOR_TENSOR_SCAN, DVE, instr.op0 = NTK_ISA_ALU_BITWISE_AND,
            "tensor_tensor_scan: needs two arithmetic operators");
    REFUSED(NTK_ISA_OP_TENSOR_PARTITION_REDUCE, POOL, instr.op0 = NTK_ISA_ALU_POWER,
            "tensor_partition_reduce: cannot reduce with power");
    REFUSED(NTK_ISA_OP_AFFINE_SELECT, POOL, instr.op0 = NTK_ISA_ALU_ADD,
            "affine_select: add is not a comparison");
    REFUSED(NTK_ISA_OP_LOCAL_GATHER, POOL, instr.imm[1] = 200,
            "local_gather: 200 indices of 2 elements do not fit");
    REFUSED(NTK_ISA_OP_NC_N_GATHER, POOL, instr.operand[NTK_ISA_SRC1].dtype = NTK_DTYPE_FLOAT32,
            "nc_n_gather: source 1 holds no indices of 16 or 32 bits");
    REFUSED(NTK_ISA_OP_NC_STREAM_SHUFFLE, DVE, instr.operand[NTK_ISA_SRC1].dim[0].count = 31,
            "nc_stream_shuffle: source 1 is not 32 elements of uint8 in one partition");
    REFUSED(NTK_ISA_OP_BN_STATS, DVE, instr.operand[NTK_ISA_DST].dim[0].count = 5,
            "bn_stats: shapes or dtypes do not fit");
    REFUSED(NTK_ISA_OP_RNG, DVE, instr.operand[NTK_ISA_DST].dtype = NTK_DTYPE_FLOAT32,
            "rng: the destination has no integers of up to 32 bits");
    REFUSED(NTK_ISA_OP_RAND_GET_STATE, POOL, instr.operand[NTK_ISA_DST].dim[0].count = 7,
            "rand_get_state: a state is 6 elements of uint32 per partition");
    REFUSED(NTK_ISA_OP_SELECT_REDUCE, DVE,
            instr.operand[NTK_ISA_DST2] = (struct ntk_isa_operand){ .var_id = NTK_ISA_NO_VAR };
            instr.reduce_op = NTK_ISA_ALU_ADD, "select_reduce: reduces into no second destination");
#undef REFUSED
}

/* Method: programs of random sound instructions of every operation, printed and read back. */
static void a_listing_reads_back_to_the_same_bytes(void **state)
{
    for (int engine = 0; engine < NTK_ISA_ENGINE_COUNT; engine++) {
        for (int round = 0; round < 100; round++) {
            struct ntk_buf code = { 0 };
            struct ntk_buf text = { 0 };
            struct ntk_buf again = { 0 };
            struct ntk_err err = { 0 };

            for (size_t row = 0; ntk_isa_op_info_at(row); row++) {
                const struct ntk_isa_op_info *info = ntk_isa_op_info_at(row);
                uint8_t bytes[NTK_ISA_INSTR_BYTES_MAX];
                struct ntk_isa_instr instr;
                size_t slots;

                if (!info->implemented || !(info->engines >> engine & 1)) {
                    continue;
                }
                instr = any_instr(info);
                assert_int_equal(
                    ntk_isa_encode(&instr, (enum ntk_isa_engine)engine, bytes, &slots, NULL), 0);
                ntk_buf_add(&code, bytes, slots * NTK_ISA_SLOT_BYTES);
            }
            if (ntk_isa_text_print_program((const uint8_t *)code.bytes, code.bytes_count,
                                           (enum ntk_isa_engine)engine, NULL, NULL, &text,
                                           &err) != 0 ||
                ntk_isa_text_parse_program(text.bytes, text.bytes_count, 1,
                                           (enum ntk_isa_engine)engine, &again, &err) != 0) {
                fail_msg("%s", err.text);
            }
            assert_int_equal(again.bytes_count, code.bytes_count);
            assert_memory_equal(again.bytes, code.bytes, code.bytes_count);
            ntk_buf_fini(&code);
            ntk_buf_fini(&text);
            ntk_buf_fini(&again);
        }
    }
}

static void every_immediate_reads_back_to_its_bits(void **state)
{
    static const uint32_t edges[] = { 0,          1,          0x80000000, 0xffffffff, 0x7f800000,
                                      0x7fc00001, 0x3f800000, 0x3dcccccd, 0x20800000, 0x5fffffff,
                                      0x00100000, 0xfff00000, 0x42f6e979 };

    for (int i = 0; i < 20000; i++) {
        struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_NOTIFY);
        struct ntk_isa_instr back;
        struct ntk_buf text = { 0 };

        instr.imm[0] =
            (size_t)i < sizeof edges / sizeof edges[0] ? edges[i] : pick(65536) << 16 | pick(65536);
        ntk_isa_text_print(&instr, &text);
        assert_int_equal(ntk_isa_text_parse(ntk_buf_text_get(&text), &back, NULL), 0);
        assert_int_equal(back.imm[0], instr.imm[0]);
        ntk_buf_fini(&text);
    }
}

static void a_line_says_what_is_wrong_with_it(void **state)
{
    static const struct {
        const char *line, *sentence;
    } cases[] = {
        { "frobnicate", "no operation \"frobnicate\"" },
        { "nop imm0", "\"imm0\" is not of the form KEY=VALUE" },
        { "nop imm0=1 imm0=2", "imm0 appears twice" },
        { "nop speed=1", "no field \"speed\"" },
        { "nop imm0=99999999999",
          "\"99999999999\" is neither an integer of 32 bits nor a number with a point" },
        { "nop imm0=1x", "\"1x\" is neither an integer of 32 bits nor a number with a point" },
        { "nop wait=s5=1", "\"s5=1\" is not a wait of the form s5>=1, s5==1 or e5>=1" },
        { "nop signal=s5", "\"s5\" is not a signal of the form s5+1 or e5=1" },
        { "memset D=heap(0:1):float32[1]",
          "\"heap(0:1):float32[1]\" starts with no space: var, sbuf, psum or pattern" },
        { "memset D=sbuf(0:1):float99[1]", "unknown dtype \"float99\"" },
        { "memset D=sbuf(0:1):float32[1,2,3,4,5]",
          "\"sbuf(0:1):float32[1,2,3,4,5]\" has no dimensions of the form [COUNT:STEP,...], at "
          "most 4" },
        { "register_move rd=r64", "rd: \"r64\" is not a register r0 to r63" },
        { "register_alu ra=3", "ra: \"3\" is not a register r0 to r63" },
        { "compare_branch to=loop", "to: \"loop\" is not a number up to 4294967295" },
        { "tensor_tensor op0=plus", "no operator \"plus\"" },
        { "dma_trigger group=4294967296",
          "group: \"4294967296\" is not a number up to 4294967295" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ntk_isa_instr instr;
        struct ntk_err err = { 0 };

        assert_int_equal(ntk_isa_text_parse(cases[i].line, &instr, &err), -EINVAL);
        assert_string_equal(err.text, cases[i].sentence);
    }
    {
        const char *text = "; a program\n\n    nop imm0=64\n  nop imm2=1 ; not used\n";
        struct ntk_buf code = { 0 };
        struct ntk_err err = { 0 };

        assert_int_equal(
            ntk_isa_text_parse_program(text, strlen(text), 11, NTK_ISA_ENGINE_PE, &code, &err),
            -EBADMSG);
        assert_string_equal(err.text, "line 14: nop: immediate 2 is set and not used");
        ntk_buf_fini(&code);
    }
}

/* What an assembler of two passes would make, counted by hand: a memset has two slots. */
static void labels_name_slots(void **state)
{
    static const char text[] = "start: register_move rd=r1 imm0=3\n"
                               "loop:\n"
                               "    memset D=sbuf(0:1):float32[4]\n"
                               "    register_alu rd=r1 ra=r1 op0=subtract imm0=1\n"
                               "    compare_branch ra=r1 op0=greater imm0=0 to=loop ; back\n"
                               "    compare_branch to=end\n"
                               "    call to=f\n"
                               "f:  function name=1\n"
                               "end:\n";
    static const char listing[] = "    register_move imm0=3 rd=r1 ; 0\n"
                                  "L1:\n"
                                  "    memset D=sbuf(0:1):float32[4] ; 1\n"
                                  "    register_alu op0=subtract imm0=1 rd=r1 ra=r1 ; 3\n"
                                  "    compare_branch op0=greater ra=r1 to=L1 ; 4\n"
                                  "    compare_branch to=L8 ; 5\n"
                                  "    call to=L7 ; 6\n"
                                  "L7:\n"
                                  "    function name=1 ; 7\n"
                                  "L8:\n";
    struct ntk_buf code = { 0 };
    struct ntk_buf printed = { 0 };
    struct ntk_err err = { 0 };

    if (ntk_isa_text_parse_program(text, strlen(text), 1, NTK_ISA_ENGINE_DVE, &code, &err) != 0) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(code.bytes_count, 8 * NTK_ISA_SLOT_BYTES);
    assert_int_equal(code.bytes[4 * NTK_ISA_SLOT_BYTES + 36], 1);
    assert_int_equal(code.bytes[5 * NTK_ISA_SLOT_BYTES + 36], 8);
    assert_int_equal(code.bytes[6 * NTK_ISA_SLOT_BYTES + 36], 7);
    assert_int_equal(ntk_isa_text_print_program((const uint8_t *)code.bytes, code.bytes_count,
                                                NTK_ISA_ENGINE_DVE, NULL, NULL, &printed, &err),
                     0);
    assert_string_equal(ntk_buf_text_get(&printed), listing);
    ntk_buf_fini(&code);
    ntk_buf_fini(&printed);
}

static void labels_that_are_wrong_are_refused(void **state)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        { "nop\ncompare_branch to=x\n", "line 2: no label x" },
        { "x: nop\ny: nop\nx: nop\n", "line 3: label x stands in line 1 too" },
        { "1x: nop\n", "line 1: \"1x\" is not a label of letters, digits and underscores" },
        { ": nop\n", "line 1: \"\" is not a label of letters, digits and underscores" },
        { "x: nop to=x\n", "line 1: it jumps nowhere, and names label x" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ntk_buf code = { 0 };
        struct ntk_err err = { 0 };

        assert_int_equal(ntk_isa_text_parse_program(cases[i].text, strlen(cases[i].text), 1,
                                                    NTK_ISA_ENGINE_SP, &code, &err),
                         -EINVAL);
        assert_string_equal(err.text, cases[i].sentence);
        assert_int_equal(code.bytes_count, 0);
        ntk_buf_fini(&code);
    }
}

/* One instruction that is sound, then one thing wrong with it. */
static void steering_is_checked(void **state)
{
    static const struct {
        const char *line, *sentence;
    } cases[] = {
        { "register_move imm0=1", "register_move: a register is missing" },
        { "register_move rd=r1 ra=r2 imm0=1",
          "register_move: a register and a number as its value" },
        { "register_alu rd=r1 op0=add imm0=1", "register_alu: a register is missing" },
        { "register_alu rd=r1 ra=r1 imm0=1",
          "register_alu: none is not an operator for registers" },
        { "register_alu rd=r1 ra=r1 op0=power imm0=1",
          "register_alu: power is not an operator for registers" },
        { "register_alu rd=r1 ra=r1 rb=r2 op0=add imm0=1",
          "register_alu: a register and a number as the second value" },
        { "register_alu rd=r1 ra=r1 op0=invert imm0=1", "register_alu: invert takes one value" },
        { "compare_branch ra=r1 to=1", "compare_branch: values without a comparison" },
        { "compare_branch ra=r1 op0=add to=1", "compare_branch: add is not a comparison" },
        { "compare_branch op0=less imm0=4 to=1", "compare_branch: a register is missing" },
        { "register_load rd=r1 A=sbuf(0:1):int32[2]",
          "register_load: 2 elements for one register" },
        { "register_load rd=r1 A=sbuf(0:1):int64[1]", "register_load: a register holds no int64" },
        { "register_load rd=r1 A=var3:int32[1]",
          "register_load: the source 0 is a variable; only DMA reaches those" },
        { "register_store D=sbuf(0:1):int32[1]", "register_store: a register is missing" },
        { "function", "function: a function without a name" },
        { "core_barrier imm0=16", "core_barrier: barrier 16 of 16" },
        { "sendrecv D=sbuf(0:1):int32[1] A=sbuf(0:1):int32[1] imm0=16", "sendrecv: pipe 16 of 16" },
        { "sendrecv D=sbuf(0:1):int32[1] A=sbuf(0:1):int32[2]",
          "sendrecv: what is sent and what is received differ in shape or dtype" },
        { "sendrecv D=sbuf(0:1):int32[1] A=var1:int32[1]",
          "sendrecv: exchanges tiles of SBUF only" },
        { "nop rd=r1", "nop: a field is set that it does not use" },
        { "dma_trigger to=3", "dma_trigger: a field is set that it does not use" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ntk_isa_instr instr;
        struct ntk_err err = { 0 };

        if (ntk_isa_text_parse(cases[i].line, &instr, &err) != 0) {
            fail_msg("%s", err.text);
        }
        assert_int_equal(ntk_isa_check(&instr, NTK_ISA_ENGINE_SP, &err), -EBADMSG);
        assert_string_equal(err.text, cases[i].sentence);
    }
}

static void dtypes_have_names_and_sizes(void **state)
{
    assert_int_equal(ntk_dtype_find("bfloat16"), 6);
    assert_int_equal(ntk_dtype_find("float32"), 0xa);
    assert_int_equal(ntk_dtype_find("complex"), 0);
    assert_int_equal(ntk_dtype_bytes(NTK_DTYPE_INT64), 8);
    assert_int_equal(ntk_dtype_bytes(0), 0);
    assert_int_equal(ntk_dtype_bytes(99), 0);
    assert_string_equal(ntk_dtype_name(NTK_DTYPE_FLOAT8E4), "float8e4");
    assert_string_equal(ntk_dtype_name(77), "?");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_encoded_decodes_to_the_same_instruction),
        cmocka_unit_test(a_changed_byte_is_refused_or_means_something_else),
        cmocka_unit_test(a_program_cut_inside_an_instruction_is_refused),
        cmocka_unit_test(operations_that_are_not_executed_yet_say_so),
        cmocka_unit_test(engines_run_their_own_operations_only),
        cmocka_unit_test(numbers_names_and_opcodes_are_unambiguous),
        cmocka_unit_test(public_opcode_bytes_are_kept),
        cmocka_unit_test(a_matmul_shows_profilers_its_columns),
        cmocka_unit_test(check_names_what_is_wrong),
        cmocka_unit_test(extents_follow_negative_and_zero_steps),
        cmocka_unit_test(selections_and_their_kin_are_checked_too),
        cmocka_unit_test(a_listing_reads_back_to_the_same_bytes),
        cmocka_unit_test(every_immediate_reads_back_to_its_bits),
        cmocka_unit_test(a_line_says_what_is_wrong_with_it),
        cmocka_unit_test(labels_name_slots),
        cmocka_unit_test(labels_that_are_wrong_are_refused),
        cmocka_unit_test(steering_is_checked),
        cmocka_unit_test(dtypes_have_names_and_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
