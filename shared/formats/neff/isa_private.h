/* SPDX-License-Identifier: MIT */
/*
 * isa_private - shared by the files of the instruction set.
 */
#ifndef NTK_SHARED_FORMATS_NEFF_ISA_PRIVATE_H
#define NTK_SHARED_FORMATS_NEFF_ISA_PRIVATE_H

#include "shared/formats/neff/isa.h"

#define BAD(...) ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, __VA_ARGS__)

static inline bool ntk_isa_is_there(const struct ntk_isa_operand *operand)
{
    return operand->space != NTK_ISA_SPACE_NONE;
}

static inline bool ntk_isa_same_shape(const struct ntk_isa_operand *a,
                                      const struct ntk_isa_operand *b)
{
    return a->partition_count == b->partition_count &&
           ntk_isa_operand_partition_elements(a) == ntk_isa_operand_partition_elements(b);
}

/* Returns true if the operand has one value per partition. */
static inline bool ntk_isa_is_column(const struct ntk_isa_operand *operand,
                                     const struct ntk_isa_operand *of)
{
    return operand->partition_count == of->partition_count &&
           ntk_isa_operand_partition_elements(operand) == 1;
}

/* Returns true if DMA queues carry out the operation. */
bool ntk_isa_is_dma(enum ntk_isa_op op);

/* Checks shapes, spaces and operators of each operation. The operands themselves are valid. */
int ntk_isa_check_shapes(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                         enum ntk_isa_engine engine, struct ntk_err *err);

/* Same, for the products and transposes of matrices. */
int ntk_isa_check_matrix(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                         struct ntk_err *err);

/* Checks shapes and operators of scans, selections, gathers, statistics and random numbers; 0 for
 * any other operation. The operands themselves are valid. */
int ntk_isa_check_select(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                         struct ntk_err *err);

/* Same, for dma_copy, dma_indirect_copy, dma_transpose and dma_compute (isa_dma.c). */
int ntk_isa_check_dma(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                      struct ntk_err *err);

/* Same, for synchronisation, registers, jumps and joint operations of a logical core's cores. */
int ntk_isa_check_flow(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                       struct ntk_err *err);

/* Returns true if the operation has a target. */
static inline bool ntk_isa_jumps(enum ntk_isa_op op)
{
    return op == NTK_ISA_OP_COMPARE_BRANCH || op == NTK_ISA_OP_CALL;
}

#endif
