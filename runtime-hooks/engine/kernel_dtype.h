/* SPDX-License-Identifier: MIT */
/*
 * kernel_dtype - element types of a NeuronCore and exact conversions between them.
 *
 * Arithmetic is done in fp32 (or with 64-bit integers, if an operation is about bits), so every
 * kernel converts rows of elements to float, computes, and converts rows of float to elements.
 * Rules (docs/decisions/instruction-set.md):
 *   float to narrower float  round to nearest, ties to even; bf16 and fp16 overflow to infinity,
 *                            the fp8 kinds saturate at their largest finite value; NaN stays NaN
 *                            (quiet)
 *   float to integer         round to nearest, ties to even; saturates; NaN gives 0
 *   integer to integer       saturates; integer to float rounds to nearest even
 *
 * A row has count elements, each step bytes after the previous one (any sign, any alignment).
 * Threads: any; no state.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_KERNEL_DTYPE_H
#define NTK_RUNTIME_HOOKS_ENGINE_KERNEL_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/formats/neff/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Options of a program for its fp8 elements (docs/decisions/instruction-set.md), as bits of a tile
 * or walk. */
enum ntk_kernel_fp8 {
    /* overflow results in infinity, or in NaN if the format has no infinity */
    NTK_KERNEL_FP8_OVERFLOWS = 1,
    NTK_KERNEL_FP8_E4_IEEE = 2, /* float8e4 ends at 240, followed by infinity and NaN */
};

void ntk_kernel_to_f32(enum ntk_dtype dtype, const void *from, ptrdiff_t step, size_t count,
                       float *to);
/* Returns true if a NaN was written to a float dtype. */
bool ntk_kernel_from_f32(enum ntk_dtype dtype, const float *from, size_t count, void *to,
                         ptrdiff_t step);
/* Same, with a program's options; 0 means the defaults above. */
void ntk_kernel_to_f32_by(enum ntk_dtype dtype, unsigned fp8, const void *from, ptrdiff_t step,
                          size_t count, float *to);
bool ntk_kernel_from_f32_by(enum ntk_dtype dtype, unsigned fp8, const float *from, size_t count,
                            void *to, ptrdiff_t step);
/* Integer dtypes return their value (uint64 saturates at INT64_MAX), float dtypes their bits. */
void ntk_kernel_to_i64(enum ntk_dtype dtype, const void *from, ptrdiff_t step, size_t count,
                       int64_t *to);
/* Saturates for integer dtypes; float dtypes take the low bits. */
void ntk_kernel_from_i64(enum ntk_dtype dtype, const int64_t *from, size_t count, void *to,
                         ptrdiff_t step);
/* Stores the low bits without saturation, for results of bitwise operations. */
void ntk_kernel_from_bits(enum ntk_dtype dtype, const int64_t *from, size_t count, void *to,
                          ptrdiff_t step);
/* Converts count elements by the rules above; equal dtypes keep all bits. Rows must not overlap,
 * unless they have the same place, step and width. Returns true if a conversion wrote a NaN to a
 * float dtype. */
bool ntk_kernel_cast(enum ntk_dtype from_dtype, const void *from, ptrdiff_t from_step,
                     enum ntk_dtype to_dtype, void *to, ptrdiff_t to_step, size_t count);
bool ntk_kernel_cast_by(unsigned fp8, enum ntk_dtype from_dtype, const void *from,
                        ptrdiff_t from_step, enum ntk_dtype to_dtype, void *to, ptrdiff_t to_step,
                        size_t count);
bool ntk_kernel_has_nan(const float *values, size_t count);

#ifdef __cplusplus
}
#endif
#endif
