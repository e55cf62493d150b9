/* SPDX-License-Identifier: MIT */
/*
 * kernel_matmul - matrix products and transposes.
 *
 * docs/isa.md describes what each operation computes. Products are sums in float32 by
 * kernel_product, or by OpenBLAS on machines without its instructions. MX products always go
 * through OpenBLAS: their elements times their scales are float32 numbers.
 *
 * Threads: any; only accesses the caller's memory; scratch belongs to one call at a time.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_KERNEL_MATMUL_H
#define NTK_RUNTIME_HOOKS_ENGINE_KERNEL_MATMUL_H

#include <stdbool.h>

#include "runtime-hooks/engine/kernel_product.h"
#include "runtime-hooks/engine/kernel_tile.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ntk_tile_chain {
    NTK_TILE_CHAIN_ADDS = 1, /* add to the destination's old content */
    NTK_TILE_CHAIN_CONTINUES =
        2, /* the next product adds to this one and also checks for NaN, because a NaN persists */
};

/* Converts the tile to one side of a product, in a machine-dependent format. `to` has room for
 * NTK_TILE_PACK_ROWS x 128 floats, or x 512 for a moving tile, aligned to 64 bytes. */
#define NTK_TILE_PACK_ROWS (NTK_ISA_PARTITIONS + 1)
void ntk_tile_pack(const struct ntk_tile *tile, enum ntk_product_side side, float *to);

/* chain has bits of enum ntk_tile_chain. stationary_packed and moving_packed are results of
 * ntk_tile_pack() if available, else NULL. */
bool ntk_tile_matmul(const struct ntk_tile *to, const struct ntk_tile *stationary,
                     const float *stationary_packed, const struct ntk_tile *moving,
                     const float *moving_packed, unsigned chain,
                     const struct ntk_tile_scratch *scratch);
bool ntk_tile_transpose(const struct ntk_tile *to, const struct ntk_tile *from,
                        const struct ntk_tile_scratch *scratch);

/* Copies the tile to the first rows and columns of a 128 x 128 matrix, with zeros elsewhere. */
void ntk_tile_load_stationary(const struct ntk_tile *from, float *to);

/* --- microscaling formats (OCP MX 1.0) -------------------------------------------------------- */

#define NTK_MX_PACK 4   /* adjacent elements of a column in one partition */
#define NTK_MX_ROWS 8   /* partitions of a block: 8 x 4 = 32 elements share a scale */
#define NTK_MX_NAN 0xff /* scale that makes its whole block NaN */

/* Multiplies tiles of float8e4 or float8e5, or of uint16 with four e2m1 in each; the scales are
 * uint8. */
bool ntk_tile_matmul_mx(const struct ntk_tile *to, const struct ntk_tile *stationary,
                        const struct ntk_tile *stationary_scales, const struct ntk_tile *moving,
                        const struct ntk_tile *moving_scales, bool accumulate,
                        const struct ntk_tile_scratch *scratch);
bool ntk_tile_quantize_mx(const struct ntk_tile *to, const struct ntk_tile *scales,
                          const struct ntk_tile *from, const struct ntk_tile_scratch *scratch);

#ifdef __cplusplus
}
#endif
#endif
