/* SPDX-License-Identifier: MIT */
/* isa_shapes - checks shapes, spaces and operators of activation and element-wise operations. */
#include <errno.h>

#include "shared/formats/neff/isa_private.h"

static bool is_bitvec(enum ntk_isa_alu op)
{
    return ntk_isa_alu_kind_get(op) == NTK_ISA_ALU_KIND_BITVEC;
}

static int check_activate2(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                           struct ntk_err *err)
{
    const struct ntk_isa_operand *operand = instr->operand;

    if (is_bitvec(instr->op0) || is_bitvec(instr->op1) || is_bitvec(instr->reduce_op)) {
        return BAD("%s: bit operators are not supported", info->name);
    }
    if (!ntk_isa_is_there(&operand[NTK_ISA_DST2]) &&
        (instr->reduce_op != NTK_ISA_ALU_NONE || instr->reduce_cmd != NTK_ISA_REDUCE_IDLE)) {
        return BAD("%s: the reduction has no second destination", info->name);
    }
    if ((ntk_isa_is_there(&operand[NTK_ISA_SRC1]) && instr->op0 == NTK_ISA_ALU_NONE) ||
        (ntk_isa_is_there(&operand[NTK_ISA_SRC2]) && instr->op1 == NTK_ISA_ALU_NONE)) {
        return BAD("%s: a column is given, but no operator uses it", info->name);
    }
    return 0;
}

/* Checks a tile with one value per partition on each side, and its reduction to one value per
 * partition. */
static int check_columns(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                         struct ntk_err *err)
{
    const struct ntk_isa_operand *dst = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *src1 = &instr->operand[NTK_ISA_SRC1];
    const struct ntk_isa_operand *src2 = &instr->operand[NTK_ISA_SRC2];
    const struct ntk_isa_operand *dst2 = &instr->operand[NTK_ISA_DST2];

    if (ntk_isa_is_there(src1) && !ntk_isa_is_column(src1, dst)) {
        return BAD("%s: source 1 must have one value per partition", info->name);
    }
    if (ntk_isa_is_there(src2) && !ntk_isa_is_column(src2, dst)) {
        return BAD("%s: source 2 must have one value per partition", info->name);
    }
    if (!ntk_isa_is_there(dst2)) {
        return 0;
    }
    if (!ntk_isa_is_column(dst2, dst)) {
        return BAD("%s: the second destination must have one value per partition", info->name);
    }
    if (instr->reduce_cmd != NTK_ISA_REDUCE_REDUCE &&
        instr->reduce_cmd != NTK_ISA_REDUCE_RESET_REDUCE) {
        return BAD("%s: invalid reduce command %d", info->name, (int)instr->reduce_cmd);
    }
    if (!ntk_isa_alu_reduces(instr->reduce_op)) {
        return BAD("%s: cannot reduce with %s", info->name, ntk_isa_alu_name(instr->reduce_op));
    }
    return 0;
}

static int check_reduce(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                        struct ntk_err *err)
{
    const struct ntk_isa_operand *dst = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *src0 = &instr->operand[NTK_ISA_SRC0];
    uint64_t rest = 1;

    if (instr->axis_count < 1 || instr->axis_count > src0->dim_count) {
        return BAD("%s: cannot reduce %u of %u dimensions", info->name, instr->axis_count,
                   src0->dim_count);
    }
    for (int i = instr->axis_count; i < src0->dim_count; i++) {
        rest *= src0->dim[i].count;
    }
    if (dst->partition_count != src0->partition_count ||
        ntk_isa_operand_partition_elements(dst) != rest) {
        return BAD("%s: the destination must have the shape of the remaining dimensions",
                   info->name);
    }
    if (!ntk_isa_alu_reduces(instr->op0)) {
        return BAD("%s: cannot reduce with %s", info->name, ntk_isa_alu_name(instr->op0));
    }
    return 0;
}

static int check_max8(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                      struct ntk_err *err)
{
    const struct ntk_isa_operand *dst = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *src0 = &instr->operand[NTK_ISA_SRC0];
    uint64_t in = ntk_isa_operand_partition_elements(src0);
    uint64_t out = ntk_isa_operand_partition_elements(dst);

    if (dst->partition_count != src0->partition_count || out != 8 || in < 8 || in > 16384) {
        return BAD("%s: cannot write 8 of %llu elements to %llu", info->name,
                   (unsigned long long)in, (unsigned long long)out);
    }
    return 0;
}

int ntk_isa_check_shapes(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                         enum ntk_isa_engine engine, struct ntk_err *err)
{
    const struct ntk_isa_operand *dst = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *src0 = &instr->operand[NTK_ISA_SRC0];
    const struct ntk_isa_operand *src1 = &instr->operand[NTK_ISA_SRC1];
    const struct ntk_isa_operand *src2 = &instr->operand[NTK_ISA_SRC2];
    int ret = 0;

    switch (instr->op) {
    case NTK_ISA_OP_LOAD_STATIONARY:
    case NTK_ISA_OP_NC_MATMUL:
    case NTK_ISA_OP_NC_MATMUL_MX:
    case NTK_ISA_OP_NC_TRANSPOSE:
    case NTK_ISA_OP_DVE_TRANSPOSE:
    case NTK_ISA_OP_QUANTIZE_MX:
        return ntk_isa_check_matrix(info, instr, err);
    case NTK_ISA_OP_TENSOR_COPY:
    case NTK_ISA_OP_TENSOR_CAST:
    case NTK_ISA_OP_RECIPROCAL:
        break;
    case NTK_ISA_OP_TENSOR_TENSOR:
        if (!ntk_isa_same_shape(dst, src1)) {
            return BAD("%s: source 1 and the destination differ in shape", info->name);
        }
        if (instr->op0 == NTK_ISA_ALU_NONE) {
            return BAD("%s: missing operator", info->name);
        }
        if (instr->op0 == NTK_ISA_ALU_POWER && engine != NTK_ISA_ENGINE_POOL) {
            return BAD("%s: only POOL can raise one tile to the power of another", info->name);
        }
        break;
    case NTK_ISA_OP_SCALAR_TENSOR_TENSOR:
        if (!ntk_isa_same_shape(dst, src1)) {
            return BAD("%s: source 1 and the destination differ in shape", info->name);
        }
        if (ntk_isa_is_there(src2) && !ntk_isa_is_column(src2, dst)) {
            return BAD("%s: source 2 must have one value per partition", info->name);
        }
        if (instr->op0 == NTK_ISA_ALU_NONE || instr->op1 == NTK_ISA_ALU_NONE) {
            return BAD("%s: requires two operators", info->name);
        }
        break;
    case NTK_ISA_OP_ACTIVATE2:
        ret = check_activate2(info, instr, err);
        ret = ret < 0 ? ret : check_columns(info, instr, err);
        break;
    case NTK_ISA_OP_ACTIVATION:
    case NTK_ISA_OP_ACTIVATION_REDUCE:
    case NTK_ISA_OP_TENSOR_SCALAR:
    case NTK_ISA_OP_TENSOR_SCALAR_REDUCE:
        ret = check_columns(info, instr, err);
        break;
    case NTK_ISA_OP_TENSOR_REDUCE:
        return check_reduce(info, instr, err);
    case NTK_ISA_OP_IOTA:
        if (ntk_isa_operand_partition_elements(src0) != ntk_isa_operand_partition_elements(dst)) {
            return BAD("%s: the pattern and the destination differ in shape", info->name);
        }
        return 0;
    case NTK_ISA_OP_MAX8:
        return check_max8(info, instr, err);
    case NTK_ISA_OP_DMA_COPY:
    case NTK_ISA_OP_DMA_INDIRECT_COPY:
    case NTK_ISA_OP_DMA_TRANSPOSE:
    case NTK_ISA_OP_DMA_COMPUTE:
        return ntk_isa_check_dma(info, instr, err);
    default:
        return ntk_isa_check_select(info, instr, err);
    }
    if (ret == 0 && !ntk_isa_same_shape(dst, src0)) {
        return BAD("%s: source 0 and the destination differ in shape", info->name);
    }
    return ret;
}
