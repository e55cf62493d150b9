/* SPDX-License-Identifier: MIT */
/*
 * kernel_tile_private - access to rows of a tile; shared by the files of the kernels.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_KERNEL_TILE_PRIVATE_H
#define NTK_RUNTIME_HOOKS_ENGINE_KERNEL_TILE_PRIVATE_H

#include "runtime-hooks/engine/kernel_tile.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline uint8_t *ntk_tile_row(const struct ntk_tile *tile, uint32_t partition)
{
    return tile->base + (ptrdiff_t)partition * tile->pitch;
}

static inline bool ntk_tile_is_plain_f32(const struct ntk_tile *tile)
{
    return tile->is_dense &&
           (tile->dtype == NTK_DTYPE_FLOAT32 || tile->dtype == NTK_DTYPE_FLOAT32R) &&
           (uintptr_t)tile->base % sizeof(float) == 0 &&
           tile->pitch % (ptrdiff_t)sizeof(float) == 0;
}

#ifdef __cplusplus
}
#endif
#endif
