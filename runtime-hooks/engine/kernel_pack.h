/* SPDX-License-Identifier: MIT */
/*
 * kernel_pack - caches tiles of the tensor engine as packed float32 matrices while their memory is
 * unchanged.
 *
 * Matrix products read each tile many times: consecutive stationary tiles use the same moving tile.
 * So a tile is converted once to the order in which products read it (rows of a partition are far
 * apart in the state buffer), and cached until its source is written. Callers report writes with
 * ntk_tile_packs_written(), in columns of the partitions; a missing call would lead to stale
 * numbers.
 *
 * Owner:   ntk_tile_packs_create()/_destroy(); matrices are allocated on demand; if out of memory,
 *          nothing is cached. Threads: one at a time, that of its core.
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

/* Returns NULL if out of memory. */
struct ntk_tile_packs *ntk_tile_packs_create(void);
void ntk_tile_packs_destroy(struct ntk_tile_packs *packs);

/* Reports that bytes [low, high) of some partitions of the state buffer changed; bounds outside of
 * a partition mean the whole partition. packs may be NULL. */
void ntk_tile_packs_written(struct ntk_tile_packs *packs, int64_t low, int64_t high);
void ntk_tile_packs_forget(struct ntk_tile_packs *packs);

/* The result of ntk_tile_pack() for a tile in the state buffer, or NULL if it is not cached: packs
 * is NULL, memory is exhausted, or it is the first use of a dense float32 tile. offset is that of
 * the tile within its partition. Valid until the next call for this side. */
const float *ntk_tile_packs_get(struct ntk_tile_packs *packs, enum ntk_product_side side,
                                const struct ntk_tile *tile, uint64_t offset);

#ifdef __cplusplus
}
#endif
#endif
