/* SPDX-License-Identifier: MIT */
/* kernel_mx - products and quantisation in microscaling formats: blocks of 32 elements with a
 * power-of-two scale. */
#include <math.h>

#include "runtime-hooks/engine/kernel_blas.h"
#include "runtime-hooks/engine/kernel_dtype.h"
#include "runtime-hooks/engine/kernel_matmul.h"

/* The exponent of the largest number in each element format. */
enum { EMAX_E2M1 = 2, EMAX_E4M3 = 8, EMAX_E5M2 = 15, SCALE_BIAS = 127, SCALE_MAX = 254 };

static const float e2m1_values[8] = { 0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F };

/* --- one element and one scale ---------------------------------------------------------------- */

static float scale_value(int64_t code)
{
    return code == NTK_MX_NAN ? NAN : ldexpf(1.0F, (int)code - SCALE_BIAS);
}

static float from_e2m1(unsigned code)
{
    float value = e2m1_values[code & 7];

    return code & 8 ? -value : value;
}

/* Rounds to nearest, ties to the even code; values above 6 become 6. */
static unsigned to_e2m1(float value)
{
    float magnitude = fabsf(value);
    unsigned code = 0;

    while (code < 7) {
        float middle = (e2m1_values[code] + e2m1_values[code + 1]) / 2;

        if (magnitude < middle || (magnitude == middle && code % 2 == 0)) {
            break;
        }
        code++;
    }
    return code | (signbit(value) ? 8U : 0U);
}

/* --- products --------------------------------------------------------------------------------- */

/* Unpacks elements lane, lane + 4, lane + 8 ... of every partition, each multiplied by its block's
 * scale. */
static void unpack_lane(const struct ntk_tile *tile, const struct ntk_tile *scales, unsigned lane,
                        uint32_t columns, float *to, const struct ntk_tile_scratch *scratch)
{
    struct ntk_tile elements = *tile;
    bool is_e2m1 = !ntk_dtype_is_float(tile->dtype);
    float *values = scratch->row[0];
    int64_t *codes = scratch->row[1];
    float *powers = scratch->row[2];

    elements.noise = NULL;
    elements.fp8 = 0; /* the program's options do not apply to these formats */
    for (uint32_t p = 0; p < tile->partitions; p++) {
        float *row = to + (size_t)p * columns;

        if (p % NTK_MX_ROWS == 0) {
            ntk_tile_read_i64(scales, p / NTK_MX_ROWS, codes);
            for (uint32_t c = 0; c < columns; c++) {
                powers[c] = scale_value(codes[c]);
            }
        }
        if (is_e2m1) {
            ntk_tile_read_i64(&elements, p, codes);
        } else {
            ntk_tile_read_f32(&elements, p, values);
        }
        for (uint32_t c = 0; c < columns; c++) {
            float value = is_e2m1 ? from_e2m1((unsigned)codes[c] >> (4 * lane))
                                  : values[c * NTK_MX_PACK + lane];

            row[c] = value * powers[c];
        }
    }
}

bool ntk_tile_matmul_mx(const struct ntk_tile *to, const struct ntk_tile *stationary,
                        const struct ntk_tile *stationary_scales, const struct ntk_tile *moving,
                        const struct ntk_tile *moving_scales, bool accumulate,
                        const struct ntk_tile_scratch *scratch)
{
    uint32_t rows = to->partitions;
    uint32_t columns = to->elements;
    bool nan = false;

    for (uint32_t r = 0; accumulate && r < rows; r++) {
        ntk_tile_read_f32(to, r, scratch->product + (size_t)r * columns);
    }
    for (unsigned lane = 0; lane < NTK_MX_PACK; lane++) {
        unpack_lane(stationary, stationary_scales, lane, rows, scratch->stationary, scratch);
        unpack_lane(moving, moving_scales, lane, columns, scratch->moving, scratch);
        ntk_kernel_blas_multiply(
            &(struct ntk_kernel_blas_product){ .rows = (int)rows,
                                               .columns = (int)columns,
                                               .depth = (int)stationary->partitions,
                                               .a = scratch->stationary,
                                               .a_step = (int)rows,
                                               .b = scratch->moving,
                                               .b_step = (int)columns,
                                               .adds = accumulate || lane > 0,
                                               .out = scratch->product,
                                               .out_step = (int)columns });
    }
    for (uint32_t r = 0; r < rows; r++) {
        nan |= ntk_tile_write_f32(to, r, scratch->product + (size_t)r * columns);
    }
    return nan;
}

/* --- quantisation ----------------------------------------------------------------------------- */

static int element_emax(enum ntk_dtype dtype)
{
    switch (dtype) {
    case NTK_DTYPE_FLOAT8E4:
        return EMAX_E4M3;
    case NTK_DTYPE_FLOAT8E5:
        return EMAX_E5M2;
    default:
        return EMAX_E2M1;
    }
}

/* Computes floor(log2(largest)) - emax, as the biased exponent of a scale. */
static int64_t scale_code(float largest, int emax)
{
    int code;

    if (!isfinite(largest)) {
        return NTK_MX_NAN;
    }
    if (largest == 0) {
        return 0;
    }
    code = ilogbf(largest) - emax + SCALE_BIAS;
    return code < 0 ? 0 : code > SCALE_MAX ? SCALE_MAX : code;
}

/* Computes the scales of one block row from the largest magnitudes of 8 partitions x 4 elements,
 * column by column. */
static bool block_scales(const struct ntk_tile *from, uint32_t first, int emax, uint32_t columns,
                         int64_t *codes, const struct ntk_tile_scratch *scratch)
{
    const float *values = scratch->row[0];
    float *largest = scratch->row[1];
    bool nan = false;

    for (uint32_t c = 0; c < columns; c++) {
        largest[c] = 0;
    }
    for (uint32_t p = first; p < first + NTK_MX_ROWS; p++) {
        ntk_tile_read_f32(from, p, scratch->row[0]);
        for (uint32_t i = 0; i < columns * NTK_MX_PACK; i++) {
            float magnitude = fabsf(values[i]);

            /* The negated comparison keeps a NaN, because it is neither less nor greater. */
            if (!(magnitude <= largest[i / NTK_MX_PACK])) {
                largest[i / NTK_MX_PACK] =
                    isnan(largest[i / NTK_MX_PACK]) ? largest[i / NTK_MX_PACK] : magnitude;
            }
        }
    }
    for (uint32_t c = 0; c < columns; c++) {
        codes[c] = scale_code(largest[c], emax);
        nan |= codes[c] == NTK_MX_NAN;
    }
    return nan;
}

bool ntk_tile_quantize_mx(const struct ntk_tile *to, const struct ntk_tile *scales,
                          const struct ntk_tile *from, const struct ntk_tile_scratch *scratch)
{
    uint32_t columns = from->elements / NTK_MX_PACK;
    struct ntk_tile elements = *to;
    bool is_e2m1 = !ntk_dtype_is_float(to->dtype);
    int emax = element_emax(to->dtype);
    float *values = scratch->row[0];
    int64_t *packed = scratch->row[1];
    int64_t *codes = scratch->row[2];
    bool nan = false;

    elements.noise = NULL;
    elements.fp8 = 0;
    for (uint32_t first = 0; first < from->partitions; first += NTK_MX_ROWS) {
        nan |= block_scales(from, first, emax, columns, codes, scratch);
        for (uint32_t p = first; p < first + NTK_MX_ROWS; p++) {
            ntk_tile_read_f32(from, p, values);
            for (uint32_t i = 0; i < from->elements; i++) {
                int64_t code = codes[i / NTK_MX_PACK];

                values[i] = code == NTK_MX_NAN ? 0.0F : ldexpf(values[i], SCALE_BIAS - (int)code);
            }
            if (!is_e2m1) {
                ntk_tile_write_f32(&elements, p, values);
                continue;
            }
            for (uint32_t c = 0; c < columns; c++) {
                packed[c] = 0;
                for (unsigned lane = 0; lane < NTK_MX_PACK; lane++) {
                    packed[c] |= (int64_t)to_e2m1(values[c * NTK_MX_PACK + lane]) << (4 * lane);
                }
            }
            ntk_tile_write_bits(to, p, packed);
        }
        ntk_tile_write_i64(scales, first / NTK_MX_ROWS, codes);
    }
    return nan;
}
