/* SPDX-License-Identifier: MIT */
/*
 * kernel_ops - the operator words and activation functions, on rows of elements.
 *
 * Arithmetic, comparison and logic are computed in fp32: comparison and logic return 1.0 or 0.0,
 * and the maximum or minimum with a NaN operand is NaN. The bitwise operators work on the bits of
 * integer elements; left_shift drops bits that leave the element, right_shift keeps the sign of a
 * signed element, a shift by the width or more (or by a negative amount) leaves 0, or the sign.
 *
 * Threads: any; no state.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_KERNEL_OPS_H
#define NTK_RUNTIME_HOOKS_ENGINE_KERNEL_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime-hooks/engine/kernel_dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes out[i] = a[i] op b[i]; with step 0, b is one value for the whole row. A unary op ignores
 * b; op none copies a. out may be a or b. */
void ntk_kernel_alu_f32(enum ntk_isa_alu op, const float *a, const float *b, size_t b_step,
                        size_t count, float *out);
/* Computes out[i] = s op b[i]. */
void ntk_kernel_alu_f32_reverse(enum ntk_isa_alu op, float scalar, const float *b, size_t count,
                                float *out);
/* Computes with the bits of elements of one dtype; its width and sign matter to shifts and to
 * invert. */
void ntk_kernel_alu_bits(enum ntk_isa_alu op, enum ntk_dtype dtype, const int64_t *a,
                         const int64_t *b, size_t b_step, size_t count, int64_t *out);
/* Computes ((start op v0) op v1) ...; the order is part of the instruction set. For operators that
 * can reduce; the second function is for bit operations. */
float ntk_kernel_reduce_f32(enum ntk_isa_alu op, float start, const float *values, size_t count);
int64_t ntk_kernel_reduce_bits(enum ntk_isa_alu op, int64_t start, const int64_t *values,
                               size_t count);

/* Computes values[i] = f(values[i]); alpha is the slope of prelu below zero. */
void ntk_kernel_act_f32(enum ntk_isa_act function, float alpha, float *values, size_t count);

#ifdef __cplusplus
}
#endif
#endif
