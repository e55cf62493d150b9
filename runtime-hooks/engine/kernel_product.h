/* SPDX-License-Identifier: MIT */
/*
 * kernel_product - products of matrices that are packed for this machine's instructions.
 *
 * A general library packs both matrices at each call. The tensor engine uses the same tiles
 * repeatedly, so packing is a separate step here, and kernel_pack caches the result. A packed
 * matrix is a series of panels, each some columns wide, row after row, padded with zeros: a
 * stationary panel is as wide as the number of result rows that fit in registers, a moving one as
 * the number of columns.
 *
 * Every element is summed in order of depth with fused multiply-adds, beginning at zero, and then
 * added to the destination, so results are bit-identical with AVX-512 and with AVX2.
 *
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_KERNEL_PRODUCT_H
#define NTK_RUNTIME_HOOKS_ENGINE_KERNEL_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ntk_product_side { NTK_PRODUCT_STATIONARY, NTK_PRODUCT_MOVING };

/* Returns true if this machine has the instructions; otherwise the functions below must not be
 * called. */
bool ntk_product_is_there(void);

/* Copies row `row` of a matrix with depth rows and count columns to its places in packed, which is
 * aligned to 64 bytes and has room for (depth + 1) * count floats, with count rounded up to 32. */
void ntk_product_pack_row(enum ntk_product_side side, uint32_t depth, uint32_t row,
                          const float *from, uint32_t count, float *packed);

/* Same, for a whole moving matrix of dense rows of float16, pitch bytes apart. Returns false,
 * without effect, if this machine does not support it. */
bool ntk_product_pack_half(uint32_t depth, const uint8_t *from, ptrdiff_t pitch, uint32_t count,
                           float *packed);

/* Computes out (rows x columns, its rows step elements apart) = stationary^T x moving, added to the
 * old content if adds is true. Returns whether a result is NaN. */
bool ntk_product_multiply(uint32_t rows, uint32_t columns, uint32_t depth, const float *stationary,
                          const float *moving, bool adds, float *out, ptrdiff_t step);

#ifdef __cplusplus
}
#endif
#endif
