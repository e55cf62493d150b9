/* SPDX-License-Identifier: MIT */
/* isa_fixture - random instructions of every operation, by a small generator of our own. */
#include "tests/shared/formats/neff/isa_fixture.h"

#include "tests/support/unit.h"

static uint64_t seed = 1;

uint32_t pick(uint32_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((seed >> 33) % below);
}

struct ntk_isa_operand any_tile(enum ntk_isa_space space, unsigned partitions, uint32_t elements,
                                enum ntk_dtype dtype)
{
    struct ntk_isa_operand operand =
        space == NTK_ISA_SPACE_PSUM ? ntk_isa_psum(2048 * pick(8), partitions, elements, dtype)
                                    : ntk_isa_sbuf(64 * pick(1000), partitions, elements, dtype);

    operand.partition_start = (uint16_t)pick(NTK_ISA_PARTITIONS - partitions + 1);
    return operand;
}

#define SBUF(count, dtype) any_tile(NTK_ISA_SPACE_SBUF, partitions, count, dtype)

/* The operations of kernel_select.c; true if it is one of them. */
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

/* The operations of isa_matrix.c and those with lists, rows or registers as operands. */
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

struct ntk_isa_instr any_instr(const struct ntk_isa_op_info *info)
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

enum ntk_isa_engine first_engine(const struct ntk_isa_op_info *info)
{
    int engine = 0;

    while (!(info->engines >> engine & 1)) {
        engine++;
    }
    return (enum ntk_isa_engine)engine;
}
