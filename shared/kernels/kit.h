/* SPDX-License-Identifier: MIT */
/*
 * kit - helpers for kernels that are written with neff_build.h: one call per instruction, memory in
 * the state buffer, weights.
 *
 * Owner:   calls borrow the kernel. Threads: one per kernel.
 */
#ifndef NTK_SHARED_KERNELS_KIT_H
#define NTK_SHARED_KERNELS_KIT_H

#include "shared/formats/neff/neff_build.h"

#define NTK_KIT_P NTK_ISA_PARTITIONS
/* The size of the smallest partition of all generations, so that every kernel runs on all of
 * them. */
#define NTK_KIT_SBUF_BYTES 196608

/* Memory in every partition of the state buffer, allocated upwards from 0. */
struct ntk_kit_space {
    uint64_t used;
};

uint64_t ntk_kit_take(struct ntk_kit_space *space, uint64_t bytes);

/* Weights between -scale and scale, the same for each count. Returns their bytes in the dtype; the
 * caller frees them. */
void *ntk_kit_weights(uint64_t count, enum ntk_dtype dtype, float scale, uint32_t seed);

/* A product on a tensor engine with this many columns: one instruction, or several if dst has more
 * partitions. */
ntk_neff_token ntk_kit_matmul(struct ntk_neff_kernel *kernel, struct ntk_isa_operand dst,
                              struct ntk_isa_operand stationary, struct ntk_isa_operand moving,
                              bool accumulate, uint32_t columns, struct ntk_neff_after after);
ntk_neff_token ntk_kit_transpose(struct ntk_neff_kernel *kernel, struct ntk_isa_operand dst,
                                 struct ntk_isa_operand src, uint32_t columns,
                                 struct ntk_neff_after after);
/* Computes f(src * scale + bias); bias is a column or absent (space NONE). */
ntk_neff_token ntk_kit_activation(struct ntk_neff_kernel *kernel, enum ntk_isa_act act,
                                  struct ntk_isa_operand dst, struct ntk_isa_operand src,
                                  float scale, struct ntk_isa_operand bias,
                                  struct ntk_neff_after after);
/* Computes dst = src op scalar on the vector engine. The scalar is a column (space not NONE) or a
 * number. */
ntk_neff_token ntk_kit_scalar(struct ntk_neff_kernel *kernel, enum ntk_isa_alu op,
                              struct ntk_isa_operand dst, struct ntk_isa_operand src,
                              struct ntk_isa_operand column, float number,
                              struct ntk_neff_after after);
ntk_neff_token ntk_kit_memset(struct ntk_neff_kernel *kernel, enum ntk_isa_engine engine,
                              struct ntk_isa_operand dst, float value, struct ntk_neff_after after);
ntk_neff_token ntk_kit_copy(struct ntk_neff_kernel *kernel, enum ntk_isa_engine engine,
                            struct ntk_isa_operand dst, struct ntk_isa_operand src,
                            struct ntk_neff_after after);

/* An absent operand. */
struct ntk_isa_operand ntk_kit_none(void);

#endif
