/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/engine/kernel_matmul.h"

#include <string.h>

#include "runtime-hooks/engine/kernel_blas.h"
#include "runtime-hooks/engine/kernel_dtype.h"
#include "runtime-hooks/engine/kernel_tile_private.h"

/* --- products --------------------------------------------------------------------------------- */

/* The tile as a row-major float matrix: in place, or packed into buffer. */
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

bool ntk_tile_matmul(const struct ntk_tile *to, const struct ntk_tile *stationary,
                     const float *stationary_packed, const struct ntk_tile *moving,
                     const float *moving_packed, unsigned chain,
                     const struct ntk_tile_scratch *scratch)
{
    int rows = (int)to->partitions;
    int columns = (int)to->elements;
    int depth = (int)stationary->partitions;
    bool in_place = ntk_tile_is_plain_f32(to) && to->pitch > 0;
    float *out = in_place ? (float *)(void *)to->base : scratch->product;
    int out_step = in_place ? (int)(to->pitch / (ptrdiff_t)sizeof(float)) : columns;
    int stationary_step = (int)stationary->elements;
    int moving_step = columns;
    const float *a = stationary_packed;
    const float *b = moving_packed;
    bool accumulate = (chain & NTK_TILE_CHAIN_ADDS) != 0;
    bool nan = false;

    if (!a) {
        a = matrix_f32(stationary, scratch->stationary, &stationary_step);
    }
    if (!b) {
        b = matrix_f32(moving, scratch->moving, &moving_step);
    }
    if (!in_place && accumulate) {
        for (int r = 0; r < rows; r++) {
            ntk_tile_read_f32(to, (uint32_t)r, out + (size_t)r * (size_t)columns);
        }
    }
    ntk_kernel_blas_product(rows, columns, depth, a, stationary_step, b, moving_step, accumulate,
                            out, out_step);
    if (in_place && chain & NTK_TILE_CHAIN_GOES_ON) {
        return false;
    }
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
