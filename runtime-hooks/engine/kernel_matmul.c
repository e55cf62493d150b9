/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/engine/kernel_matmul.h"

#include <string.h>

#include "runtime-hooks/engine/kernel_blas.h"
#include "runtime-hooks/engine/kernel_dtype.h"
#include "runtime-hooks/engine/kernel_ops.h"
#include "runtime-hooks/engine/kernel_product.h"
#include "runtime-hooks/engine/kernel_tile_private.h"

/* --- products --------------------------------------------------------------------------------- */

/* The tile as a row-major float matrix, either in place or packed into buffer. */
static const float *matrix_f32(const struct ntk_tile *tile, float *buffer, int *out_row_step)
{
    if (ntk_tile_is_plain_f32(tile) && tile->pitch > 0) {
        *out_row_step = (int)(tile->pitch / (ptrdiff_t)sizeof(float));
        return (const float *)(const void *)tile->base;
    }
    for (uint32_t p = 0; p < tile->partitions; p++) {
        ntk_tile_read_f32(tile, p, buffer + (size_t)p * tile->elements);
    }
    *out_row_step = (int)tile->elements;
    return buffer;
}

/* Computes out = stationary^T x moving, or adds it to out; the rows of out are this many elements
 * apart. If the chain ends here, returns whether a result is NaN. */
static bool multiply(const struct ntk_tile *stationary, const float *stationary_packed,
                     const struct ntk_tile *moving, const float *moving_packed, unsigned chain,
                     float *out, int out_step, const struct ntk_tile_scratch *scratch)
{
    bool adds = (chain & NTK_TILE_CHAIN_ADDS) != 0;
    bool continues = (chain & NTK_TILE_CHAIN_CONTINUES) != 0;
    int rows = (int)stationary->elements;
    int columns = (int)moving->elements;
    int depth = (int)stationary->partitions;
    int stationary_step = rows;
    int moving_step = columns;
    bool nan = false;

    if (ntk_product_is_there()) {
        if (!stationary_packed) {
            ntk_tile_pack(stationary, NTK_PRODUCT_STATIONARY, scratch->stationary);
            stationary_packed = scratch->stationary;
        }
        if (!moving_packed) {
            ntk_tile_pack(moving, NTK_PRODUCT_MOVING, scratch->moving);
            moving_packed = scratch->moving;
        }
        nan = ntk_product_multiply((uint32_t)rows, (uint32_t)columns, (uint32_t)depth,
                                   stationary_packed, moving_packed, adds, out, out_step);
        return nan && !continues;
    }
    if (!stationary_packed) {
        stationary_packed = matrix_f32(stationary, scratch->stationary, &stationary_step);
    }
    if (!moving_packed) {
        moving_packed = matrix_f32(moving, scratch->moving, &moving_step);
    }
    ntk_kernel_blas_multiply(&(struct ntk_kernel_blas_product){ .rows = rows,
                                                                .columns = columns,
                                                                .depth = depth,
                                                                .a = stationary_packed,
                                                                .a_step = stationary_step,
                                                                .b = moving_packed,
                                                                .b_step = moving_step,
                                                                .adds = adds,
                                                                .out = out,
                                                                .out_step = out_step });
    for (int r = 0; r < rows && !nan && !continues; r++) {
        nan = ntk_kernel_has_nan(out + (size_t)r * (size_t)out_step, (size_t)columns);
    }
    return nan;
}

/* Prefetches, because rows are on separate pages, which hardware prefetchers do not cross. */
static inline void fetch_ahead(const struct ntk_tile *tile, uint32_t partition)
{
    enum { AHEAD = 8, LINE = 64 };
    size_t bytes = tile->elements * ntk_dtype_bytes(tile->dtype);

    if (tile->is_dense && partition + AHEAD < tile->partitions) {
        const uint8_t *row = ntk_tile_row(tile, partition + AHEAD);

        for (size_t i = 0; i < bytes; i += LINE) {
            __builtin_prefetch(row + i);
        }
    }
}

void ntk_tile_pack(const struct ntk_tile *tile, enum ntk_product_side side, float *to)
{
    if (ntk_product_is_there() && side == NTK_PRODUCT_MOVING && tile->is_dense &&
        tile->dtype == NTK_DTYPE_FLOAT16 &&
        ntk_product_pack_half(tile->partitions, tile->base, tile->pitch, tile->elements, to)) {
        return;
    }
    for (uint32_t p = 0; p < tile->partitions; p++) {
        float row[NTK_ISA_MOVING_MAX];
        const float *from = row;

        fetch_ahead(tile, p);
        if (!ntk_product_is_there()) {
            ntk_tile_read_f32(tile, p, to + (size_t)p * tile->elements);
            continue;
        }
        if (ntk_tile_is_plain_f32(tile)) {
            from = (const float *)(const void *)ntk_tile_row(tile, p);
        } else {
            ntk_tile_read_f32(tile, p, row);
        }
        ntk_product_pack_row(side, tile->partitions, p, from, tile->elements, to);
    }
}

bool ntk_tile_matmul(const struct ntk_tile *to, const struct ntk_tile *stationary,
                     const float *stationary_packed, const struct ntk_tile *moving,
                     const float *moving_packed, unsigned chain,
                     const struct ntk_tile_scratch *scratch)
{
    int rows = (int)to->partitions;
    int columns = (int)to->elements;
    bool in_place = ntk_tile_is_plain_f32(to) && to->pitch > 0;
    float *out = in_place ? (float *)(void *)to->base : scratch->product;
    int out_step = in_place ? (int)(to->pitch / (ptrdiff_t)sizeof(float)) : columns;
    bool nan = false;

    if (!in_place && chain & NTK_TILE_CHAIN_ADDS) {
        for (int r = 0; r < rows; r++) {
            ntk_tile_read_f32(to, (uint32_t)r, out + (size_t)r * (size_t)columns);
        }
    }
    if (in_place) {
        return multiply(stationary, stationary_packed, moving, moving_packed, chain, out, out_step,
                        scratch);
    }
    (void)multiply(stationary, stationary_packed, moving, moving_packed,
                   chain | NTK_TILE_CHAIN_CONTINUES, out, out_step, scratch);
    for (int r = 0; r < rows; r++) {
        nan |= ntk_tile_write_f32(to, (uint32_t)r, out + (size_t)r * (size_t)out_step);
    }
    return nan;
}

void ntk_tile_load_stationary(const struct ntk_tile *from, float *to)
{
    memset(to, 0, sizeof *to * NTK_ISA_PARTITIONS * NTK_ISA_STATIONARY_MAX);
    for (uint32_t p = 0; p < from->partitions; p++) {
        ntk_tile_read_f32(from, p, to + (size_t)p * NTK_ISA_STATIONARY_MAX);
    }
}

/* --- transposes ------------------------------------------------------------------------------- */

static const uint8_t *element_at(const struct ntk_tile *tile, uint32_t partition, uint32_t index)
{
    const uint8_t *at = ntk_tile_row(tile, partition);

    for (unsigned d = 0; d < tile->dim_count; d++) {
        at += (ptrdiff_t)(index % tile->count[d]) * tile->step[d];
        index /= tile->count[d];
    }
    return at;
}

bool ntk_tile_transpose(const struct ntk_tile *to, const struct ntk_tile *from,
                        const struct ntk_tile_scratch *scratch)
{
    bool is_bits = to->dtype == from->dtype;
    bool is_integers = !ntk_dtype_is_float(from->dtype) && !ntk_dtype_is_float(to->dtype);
    bool nan = false;

    if (is_bits || is_integers) {
        int64_t *packed = scratch->row[0];

        for (uint32_t i = 0; i < to->partitions; i++) {
            for (uint32_t p = 0; p < from->partitions; p++) {
                ntk_kernel_to_i64(from->dtype, element_at(from, p, i), 0, 1, &packed[p]);
            }
            if (is_bits) {
                ntk_tile_write_bits(to, i, packed);
            } else {
                ntk_tile_write_i64(to, i, packed);
            }
        }
        return false;
    }
    for (uint32_t p = 0; p < from->partitions; p++) {
        float *row = scratch->row[0];

        ntk_tile_read_f32(from, p, row);
        for (uint32_t i = 0; i < to->partitions; i++) {
            scratch->product[(size_t)i * from->partitions + p] = row[i];
        }
    }
    for (uint32_t i = 0; i < to->partitions; i++) {
        nan |= ntk_tile_write_f32(to, i, scratch->product + (size_t)i * from->partitions);
    }
    return nan;
}
