/* SPDX-License-Identifier: MIT */
#include "shared/kernels/kit.h"

#include <stdlib.h>
#include <string.h>

uint64_t ntk_kit_take(struct ntk_kit_space *space, uint64_t bytes)
{
    uint64_t at = space->used;

    space->used = at + ((bytes + 63) & ~UINT64_C(63));
    return at;
}

static uint16_t to_bfloat16(float value)
{
    uint32_t bits = ntk_isa_float_bits(value);

    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void *ntk_kit_weights(uint64_t count, enum ntk_dtype dtype, float scale, uint32_t seed)
{
    size_t size = ntk_dtype_bytes((unsigned)dtype);
    uint8_t *bytes = malloc((size_t)count * size);
    uint32_t state = seed * 2654435761U + 1;

    for (uint64_t i = 0; bytes && i < count; i++) {
        float value;

        state = state * 1664525U + 1013904223U;
        value = ((float)(state >> 8) / 8388608.0F - 1.0F) * scale;
        if (dtype == NTK_DTYPE_BFLOAT16) {
            uint16_t rounded = to_bfloat16(value);

            memcpy(bytes + i * size, &rounded, size);
        } else {
            memcpy(bytes + i * size, &value, size);
        }
    }
    return bytes;
}

struct ntk_isa_operand ntk_kit_none(void)
{
    return (struct ntk_isa_operand){ .var_id = NTK_ISA_NO_VAR };
}

/* Computes as many partitions of the result at a time as the array has columns; each is one of
 * SRC0's elements. */
static ntk_neff_token emit_parts(struct ntk_neff_kernel *kernel, const struct ntk_isa_instr *whole,
                                 uint32_t columns, struct ntk_neff_after after)
{
    uint32_t count = whole->operand[NTK_ISA_DST].partition_count;
    ntk_neff_token done = 0;

    for (uint32_t first = 0; first < count; first += columns) {
        struct ntk_isa_instr part = *whole;
        struct ntk_isa_operand *dst = &part.operand[NTK_ISA_DST];
        struct ntk_isa_operand *src = &part.operand[NTK_ISA_SRC0];
        uint32_t part_count = count - first < columns ? count - first : columns;

        dst->partition_start = (uint16_t)(dst->partition_start + first);
        dst->partition_count = (uint16_t)part_count;
        src->offset += (uint64_t)first * ntk_dtype_bytes((unsigned)src->dtype);
        src->dim[0].count = part_count;
        done = ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_PE, &part,
                                    first == 0 ? after : NTK_AFTER_NONE);
    }
    return done;
}

ntk_neff_token ntk_kit_matmul(struct ntk_neff_kernel *kernel, struct ntk_isa_operand dst,
                              struct ntk_isa_operand stationary, struct ntk_isa_operand moving,
                              bool accumulate, uint32_t columns, struct ntk_neff_after after)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);

    instr.operand[NTK_ISA_DST] = dst;
    instr.operand[NTK_ISA_SRC0] = stationary;
    instr.operand[NTK_ISA_SRC1] = moving;
    instr.op_flags = accumulate ? NTK_ISA_OPF_ACCUMULATE : 0;
    return emit_parts(kernel, &instr, columns, after);
}

ntk_neff_token ntk_kit_transpose(struct ntk_neff_kernel *kernel, struct ntk_isa_operand dst,
                                 struct ntk_isa_operand src, uint32_t columns,
                                 struct ntk_neff_after after)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_NC_TRANSPOSE);

    instr.operand[NTK_ISA_DST] = dst;
    instr.operand[NTK_ISA_SRC0] = src;
    return emit_parts(kernel, &instr, columns, after);
}

ntk_neff_token ntk_kit_activation(struct ntk_neff_kernel *kernel, enum ntk_isa_act act,
                                  struct ntk_isa_operand dst, struct ntk_isa_operand src,
                                  float scale, struct ntk_isa_operand bias,
                                  struct ntk_neff_after after)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_ACTIVATION);

    instr.act = act;
    instr.imm[0] = ntk_isa_float_bits(scale);
    instr.operand[NTK_ISA_DST] = dst;
    instr.operand[NTK_ISA_SRC0] = src;
    instr.operand[NTK_ISA_SRC1] = bias;
    return ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_ACT, &instr, after);
}

ntk_neff_token ntk_kit_scalar(struct ntk_neff_kernel *kernel, enum ntk_isa_alu op,
                              struct ntk_isa_operand dst, struct ntk_isa_operand src,
                              struct ntk_isa_operand column, float number,
                              struct ntk_neff_after after)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_SCALAR);

    instr.op0 = op;
    instr.operand[NTK_ISA_DST] = dst;
    instr.operand[NTK_ISA_SRC0] = src;
    instr.operand[NTK_ISA_SRC1] = column;
    if (column.space == NTK_ISA_SPACE_NONE) {
        instr.imm[0] = ntk_isa_float_bits(number);
    }
    return ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_DVE, &instr, after);
}

ntk_neff_token ntk_kit_memset(struct ntk_neff_kernel *kernel, enum ntk_isa_engine engine,
                              struct ntk_isa_operand dst, float value, struct ntk_neff_after after)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_MEMSET);

    instr.operand[NTK_ISA_DST] = dst;
    instr.imm[0] = ntk_isa_float_bits(value);
    return ntk_neff_kernel_emit(kernel, engine, &instr, after);
}

ntk_neff_token ntk_kit_copy(struct ntk_neff_kernel *kernel, enum ntk_isa_engine engine,
                            struct ntk_isa_operand dst, struct ntk_isa_operand src,
                            struct ntk_neff_after after)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(
        dst.dtype == src.dtype ? NTK_ISA_OP_TENSOR_COPY : NTK_ISA_OP_TENSOR_CAST);

    instr.operand[NTK_ISA_DST] = dst;
    instr.operand[NTK_ISA_SRC0] = src;
    return ntk_neff_kernel_emit(kernel, engine, &instr, after);
}
