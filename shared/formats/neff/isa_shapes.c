/* SPDX-License-Identifier: MIT */
/* Shapes, spaces and operators that must fit: tensor and activation engine, element-wise. */
#include <errno.h>

#include "shared/formats/neff/isa_private.h"

static int check_matmul(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                        struct ntk_err *err)
{
    const struct ntk_isa_operand *dst = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *src0 = &instr->operand[NTK_ISA_SRC0];
    const struct ntk_isa_operand *src1 = &instr->operand[NTK_ISA_SRC1];
    uint64_t rows = ntk_isa_operand_partition_elements(src0);
    int64_t low;
    int64_t high;

    if (dst->space != NTK_ISA_SPACE_PSUM) {
        return BAD("%s: the destination is not in PSUM", info->name);
    }
    ntk_isa_operand_extent(dst, &low, &high);
    if (low / NTK_ISA_PSUM_BANK_BYTES != (high - 1) / NTK_ISA_PSUM_BANK_BYTES) {
        return BAD("%s: the destination crosses a PSUM bank", info->name);
    }
    if (src0->space != NTK_ISA_SPACE_SBUF) {
        return BAD("%s: source 0 is not in SBUF", info->name);
    }
    if (rows > NTK_ISA_STATIONARY_MAX || rows != dst->partition_count) {
        return BAD("%s: %llu columns of source 0 for %u partitions of the destination", info->name,
                   (unsigned long long)rows, dst->partition_count);
    }
    if (instr->op == NTK_ISA_OP_NC_TRANSPOSE) {
        if (ntk_isa_operand_partition_elements(dst) != src0->partition_count) {
            return BAD("%s: %u partitions do not become %llu columns", info->name,
                       src0->partition_count,
                       (unsigned long long)ntk_isa_operand_partition_elements(dst));
        }
        return 0;
    }
    if (src1->space != NTK_ISA_SPACE_SBUF) {
        return BAD("%s: source 1 is not in SBUF", info->name);
    }
    if (src0->partition_count != src1->partition_count) {
        return BAD("%s: %u rows of the stationary, %u of the moving tile", info->name,
                   src0->partition_count, src1->partition_count);
    }
    if (ntk_isa_operand_partition_elements(src1) > NTK_ISA_MOVING_MAX ||
        ntk_isa_operand_partition_elements(src1) != ntk_isa_operand_partition_elements(dst)) {
        return BAD("%s: %llu columns moved into %llu", info->name,
                   (unsigned long long)ntk_isa_operand_partition_elements(src1),
                   (unsigned long long)ntk_isa_operand_partition_elements(dst));
    }
    return 0;
}

int ntk_isa_check_shapes(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                         struct ntk_err *err)
{
    const struct ntk_isa_operand *dst = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *src0 = &instr->operand[NTK_ISA_SRC0];
    const struct ntk_isa_operand *src1 = &instr->operand[NTK_ISA_SRC1];
    const struct ntk_isa_operand *src2 = &instr->operand[NTK_ISA_SRC2];
    const struct ntk_isa_operand *dst2 = &instr->operand[NTK_ISA_DST2];
    uint64_t rest = 1;

    switch (instr->op) {
    case NTK_ISA_OP_NC_MATMUL:
    case NTK_ISA_OP_NC_TRANSPOSE:
        return check_matmul(info, instr, err);
    case NTK_ISA_OP_TENSOR_COPY:
    case NTK_ISA_OP_TENSOR_CAST:
    case NTK_ISA_OP_RECIPROCAL:
        break;
    case NTK_ISA_OP_TENSOR_TENSOR:
        if (!ntk_isa_same_shape(dst, src1)) {
            return BAD("%s: source 1 and the destination differ in shape", info->name);
        }
        if (instr->op0 == NTK_ISA_ALU_NONE) {
            return BAD("%s: no operator", info->name);
        }
        break;
    case NTK_ISA_OP_SCALAR_TENSOR_TENSOR:
        if (!ntk_isa_same_shape(dst, src1)) {
            return BAD("%s: source 1 and the destination differ in shape", info->name);
        }
        if (ntk_isa_is_there(src2) && !ntk_isa_is_column(src2, dst)) {
            return BAD("%s: source 2 is not one value per partition", info->name);
        }
        if (instr->op0 == NTK_ISA_ALU_NONE || instr->op1 == NTK_ISA_ALU_NONE) {
            return BAD("%s: needs two operators", info->name);
        }
        break;
    case NTK_ISA_OP_ACTIVATION:
    case NTK_ISA_OP_ACTIVATION_REDUCE:
    case NTK_ISA_OP_TENSOR_SCALAR:
    case NTK_ISA_OP_TENSOR_SCALAR_REDUCE:
        if (ntk_isa_is_there(src1) && !ntk_isa_is_column(src1, dst)) {
            return BAD("%s: source 1 is not one value per partition", info->name);
        }
        if (ntk_isa_is_there(src2) && !ntk_isa_is_column(src2, dst)) {
            return BAD("%s: source 2 is not one value per partition", info->name);
        }
        if (ntk_isa_is_there(dst2) && !ntk_isa_is_column(dst2, dst)) {
            return BAD("%s: the second destination is not one value per partition", info->name);
        }
        if (ntk_isa_is_there(dst2) && instr->reduce_cmd != NTK_ISA_REDUCE_REDUCE &&
            instr->reduce_cmd != NTK_ISA_REDUCE_RESET_REDUCE) {
            return BAD("%s: reduce command %d", info->name, (int)instr->reduce_cmd);
        }
        if (ntk_isa_is_there(dst2) && !ntk_isa_alu_reduces(instr->reduce_op)) {
            return BAD("%s: cannot reduce with %s", info->name, ntk_isa_alu_name(instr->reduce_op));
        }
        break;
    case NTK_ISA_OP_TENSOR_REDUCE:
        if (instr->axis_count < 1 || instr->axis_count > src0->dim_count) {
            return BAD("%s: %u dimensions of %u are reduced", info->name, instr->axis_count,
                       src0->dim_count);
        }
        for (int i = instr->axis_count; i < src0->dim_count; i++) {
            rest *= src0->dim[i].count;
        }
        if (dst->partition_count != src0->partition_count ||
            ntk_isa_operand_partition_elements(dst) != rest) {
            return BAD("%s: the destination has not the shape that is left", info->name);
        }
        if (!ntk_isa_alu_reduces(instr->op0)) {
            return BAD("%s: cannot reduce with %s", info->name, ntk_isa_alu_name(instr->op0));
        }
        return 0;
    case NTK_ISA_OP_IOTA:
        if (ntk_isa_operand_partition_elements(src0) != ntk_isa_operand_partition_elements(dst)) {
            return BAD("%s: the pattern and the destination differ in shape", info->name);
        }
        return 0;
    case NTK_ISA_OP_MAX8:
        if (dst->partition_count != src0->partition_count ||
            ntk_isa_operand_partition_elements(dst) != 8 ||
            ntk_isa_operand_partition_elements(src0) < 8 ||
            ntk_isa_operand_partition_elements(src0) > 16384) {
            return BAD("%s: 8 of %llu elements into %llu", info->name,
                       (unsigned long long)ntk_isa_operand_partition_elements(src0),
                       (unsigned long long)ntk_isa_operand_partition_elements(dst));
        }
        return 0;
    case NTK_ISA_OP_DMA_COPY:
    case NTK_ISA_OP_DMA_INDIRECT_COPY:
    case NTK_ISA_OP_DMA_TRANSPOSE:
    case NTK_ISA_OP_DMA_COMPUTE:
        return ntk_isa_check_dma(info, instr, err);
    default:
        return ntk_isa_check_select(info, instr, err);
    }
    if (!ntk_isa_same_shape(dst, src0)) {
        return BAD("%s: source 0 and the destination differ in shape", info->name);
    }
    return 0;
}
