/* SPDX-License-Identifier: MIT */
/*
 * kernel_pack - tiles of the tensor engine as packed float32 matrices, kept while their memory is
 * unchanged.
 *
 * A product of matrices reads each of its tiles many times: the moving tile of one stationary tile
 * is that of the next one too. So a tile is converted once, into the order in which products read
 * it (rows of a partition are far apart in the state buffer), and found again until the bytes it
 * came from are written. Writes are announced by ntk_tile_packs_written(), in columns of the
 * partitions; a missed call means old numbers.
 *
 * Owner:   ntk_tile_packs_create()/_destroy(); matrices are allocated when first needed, and not at
 *          all when there is no memory: then there is only no keeping. Threads: those of its core.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_KERNEL_PACK_H
#define NTK_RUNTIME_HOOKS_ENGINE_KERNEL_PACK_H

#include <stdint.h>

#include "runtime-hooks/engine/kernel_product.h"
#include "runtime-hooks/engine/kernel_tile.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_tile_packs;

/* NULL: out of memory. */
struct ntk_tile_packs *ntk_tile_packs_create(void);
void ntk_tile_packs_destroy(struct ntk_tile_packs *packs);

/* Bytes [low, high) of some partitions of the state buffer changed; bounds outside of a partition
 * mean all bytes. packs may be NULL. */
void ntk_tile_packs_written(struct ntk_tile_packs *packs, int64_t low, int64_t high);
void ntk_tile_packs_forget(struct ntk_tile_packs *packs);

/* What ntk_tile_pack() makes of a tile of the state buffer, or NULL when it is not kept: packs
 * NULL, no memory, a dense float32 tile that is seen for the first time. offset: of the tile inside
 * its partition. Valid until the next call with this side. */
const float *ntk_tile_packs_get(struct ntk_tile_packs *packs, enum ntk_product_side side,
                                const struct ntk_tile *tile, uint64_t offset);

#ifdef __cplusplus
}
#endif
#endif
