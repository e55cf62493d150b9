/* SPDX-License-Identifier: MIT */
/*
 * example_kit - the few lines every example would otherwise repeat: one call per instruction, space in
 * the state buffer, numbers for weights.
 */
#ifndef NTK_PROFILER_PACKAGER_EXAMPLE_KIT_H
#define NTK_PROFILER_PACKAGER_EXAMPLE_KIT_H

#include "profiler/packager/examples/examples.h"

#define KIT_P NTK_ISA_PARTITIONS
/* The smallest partition of all generations, so that every example runs everywhere. */
#define KIT_SBUF_BYTES 196608

/* Space in every partition of the state buffer, given out from 0 upward. */
struct kit_space {
    uint64_t used;
};

uint64_t kit_take(struct kit_space *space, uint64_t bytes);

/* Weights: the same in every file of a size, between -scale and scale. Bytes of the dtype, to be freed. */
void *kit_weights(uint64_t count, enum ntk_dtype dtype, float scale, uint32_t seed);

ntk_neff_token kit_matmul(struct ntk_neff_kernel *kernel, struct ntk_isa_operand dst,
                          struct ntk_isa_operand stationary, struct ntk_isa_operand moving,
                          bool accumulate, struct ntk_neff_after after);
ntk_neff_token kit_transpose(struct ntk_neff_kernel *kernel, struct ntk_isa_operand dst,
                             struct ntk_isa_operand src, struct ntk_neff_after after);
/* f(src * scale + bias); bias is a column or absent (space NONE). */
ntk_neff_token kit_activation(struct ntk_neff_kernel *kernel, enum ntk_isa_act act,
                              struct ntk_isa_operand dst, struct ntk_isa_operand src, float scale,
                              struct ntk_isa_operand bias, struct ntk_neff_after after);
/* dst = src op scalar, the scalar a column (space not NONE) or a number; on the vector engine. */
ntk_neff_token kit_scalar(struct ntk_neff_kernel *kernel, enum ntk_isa_alu op,
                          struct ntk_isa_operand dst, struct ntk_isa_operand src,
                          struct ntk_isa_operand column, float number, struct ntk_neff_after after);
ntk_neff_token kit_memset(struct ntk_neff_kernel *kernel, enum ntk_isa_engine engine,
                          struct ntk_isa_operand dst, float value, struct ntk_neff_after after);
ntk_neff_token kit_copy(struct ntk_neff_kernel *kernel, enum ntk_isa_engine engine,
                        struct ntk_isa_operand dst, struct ntk_isa_operand src,
                        struct ntk_neff_after after);

/* No operand. */
struct ntk_isa_operand kit_none(void);

void ntk_example_mlp(struct ntk_neff_build *build, const struct ntk_example_options *options);
void ntk_example_conv(struct ntk_neff_build *build, const struct ntk_example_options *options);
void ntk_example_attention(struct ntk_neff_build *build, const struct ntk_example_options *options);
void ntk_example_attention_slow(struct ntk_neff_build *build,
                                const struct ntk_example_options *options);
void ntk_example_memcpy(struct ntk_neff_build *build, const struct ntk_example_options *options);
void ntk_example_nan(struct ntk_neff_build *build, const struct ntk_example_options *options);
void ntk_example_oob(struct ntk_neff_build *build, const struct ntk_example_options *options);
void ntk_example_deadlock(struct ntk_neff_build *build, const struct ntk_example_options *options);
void ntk_example_two_node_cpu(struct ntk_neff_build *build,
                              const struct ntk_example_options *options);
void ntk_example_spin(struct ntk_neff_build *build, const struct ntk_example_options *options);

#endif
