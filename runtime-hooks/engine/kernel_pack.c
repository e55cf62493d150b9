/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/engine/kernel_pack.h"

#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/engine/kernel_matmul.h"

#define COLUMN_BYTES 1024
#define COLUMNS (NTK_ISA_SBUF_PARTITION_BYTES_MAX / COLUMN_BYTES)
/* Number of matrices kept: at most 6 MiB of stationary ones, the weights of a layer, which are
 * reused for every block of its input, and 5 MiB of moving ones, which are reused for every block
 * of its output. */
#define STATIONARY_KEPT 96
#define MOVING_KEPT 20

struct pack {
    struct ntk_tile tile; /* base NULL: empty entry */
    float *matrix;
    uint64_t packed; /* time at which it was packed; 0: seen, but not packed */
    uint64_t used;
};

struct ntk_tile_packs {
    uint64_t clock;            /* number of uses and writes so far */
    uint64_t written[COLUMNS]; /* time of the last write to each column, in any partition */
    struct pack stationary[STATIONARY_KEPT];
    struct pack moving[MOVING_KEPT];
};

struct ntk_tile_packs *ntk_tile_packs_create(void)
{
    return calloc(1, sizeof(struct ntk_tile_packs));
}

void ntk_tile_packs_destroy(struct ntk_tile_packs *packs)
{
    if (!packs) {
        return;
    }
    for (int i = 0; i < STATIONARY_KEPT; i++) {
        free(packs->stationary[i].matrix);
    }
    for (int i = 0; i < MOVING_KEPT; i++) {
        free(packs->moving[i].matrix);
    }
    free(packs);
}

void ntk_tile_packs_written(struct ntk_tile_packs *packs, int64_t low, int64_t high)
{
    if (!packs) {
        return;
    }
    if (low < 0 || high > NTK_ISA_SBUF_PARTITION_BYTES_MAX) {
        low = 0;
        high = NTK_ISA_SBUF_PARTITION_BYTES_MAX;
    }
    packs->clock++;
    for (int64_t c = low / COLUMN_BYTES; c * COLUMN_BYTES < high; c++) {
        packs->written[c] = packs->clock;
    }
}

void ntk_tile_packs_forget(struct ntk_tile_packs *packs)
{
    for (int i = 0; packs && i < STATIONARY_KEPT; i++) {
        packs->stationary[i].tile.base = NULL;
    }
    for (int i = 0; packs && i < MOVING_KEPT; i++) {
        packs->moving[i].tile.base = NULL;
    }
}

static bool is_same(const struct ntk_tile *a, const struct ntk_tile *b)
{
    if (a->base != b->base || a->pitch != b->pitch || a->dtype != b->dtype ||
        a->partitions != b->partitions || a->elements != b->elements ||
        a->dim_count != b->dim_count) {
        return false;
    }
    for (unsigned d = 0; d < a->dim_count; d++) {
        if (a->count[d] != b->count[d] || a->step[d] != b->step[d]) {
            return false;
        }
    }
    return true;
}

static bool is_stale(const struct ntk_tile_packs *packs, const struct pack *pack, uint64_t offset)
{
    int64_t low = (int64_t)offset;
    int64_t high = (int64_t)(offset + ntk_dtype_bytes(pack->tile.dtype));

    for (unsigned d = 0; d < pack->tile.dim_count; d++) {
        int64_t reach = (int64_t)pack->tile.step[d] * ((int64_t)pack->tile.count[d] - 1);

        *(reach < 0 ? &low : &high) += reach;
    }
    for (int64_t c = low / COLUMN_BYTES; c * COLUMN_BYTES < high; c++) {
        if (packs->written[c] > pack->packed) {
            return true;
        }
    }
    return false;
}

static bool is_float32(enum ntk_dtype dtype)
{
    return dtype == NTK_DTYPE_FLOAT32 || dtype == NTK_DTYPE_FLOAT32R;
}

const float *ntk_tile_packs_get(struct ntk_tile_packs *packs, enum ntk_product_side side,
                                const struct ntk_tile *tile, uint64_t offset)
{
    bool is_moving = side == NTK_PRODUCT_MOVING;
    struct pack *kept = packs ? (is_moving ? packs->moving : packs->stationary) : NULL;
    size_t columns = is_moving ? NTK_ISA_MOVING_MAX : NTK_ISA_STATIONARY_MAX;
    struct pack *pack = kept;
    bool is_plain = tile->is_dense && is_float32(tile->dtype);

    if (!kept) {
        return NULL;
    }
    for (int i = 0; i < (is_moving ? MOVING_KEPT : STATIONARY_KEPT); i++) {
        if (kept[i].tile.base && is_same(&kept[i].tile, tile)) {
            pack = &kept[i];
            break;
        }
        if (kept[i].used < pack->used) {
            pack = &kept[i]; /* replace the least recently used one */
        }
    }
    pack->used = ++packs->clock;
    if (!pack->tile.base || !is_same(&pack->tile, tile)) {
        pack->tile = *tile;
        pack->packed = 0;
        if (is_plain) {
            return NULL; /* at the first use, reading it in place is as fast */
        }
    } else if (pack->packed != 0 && !is_stale(packs, pack, offset)) {
        return pack->matrix;
    }
    if (!pack->matrix) {
        pack->matrix = aligned_alloc(64, NTK_TILE_PACK_ROWS * columns * sizeof(float));
    }
    if (!pack->matrix) {
        return NULL;
    }
    ntk_tile_pack(tile, side, pack->matrix);
    pack->packed = packs->clock;
    return pack->matrix;
}
