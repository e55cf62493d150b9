/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/engine/kernel_tile.h"

#include <math.h>
#include <string.h>

#include "runtime-hooks/engine/kernel_dtype.h"
#include "runtime-hooks/engine/kernel_ops.h"
#include "runtime-hooks/engine/kernel_tile_private.h"

/* --- rows ------------------------------------------------------------------------------------- */

/* Calls action(first byte, step, element index, count) for every innermost run of a row. */
#define EACH_RUN(tile, row, action)                                                     \
    do {                                                                                \
        uint32_t index_[NTK_ISA_DIMS_MAX] = { 0 };                                      \
        uint8_t *at_ = (row);                                                           \
        for (uint32_t done_ = 0; done_ < (tile)->elements; done_ += (tile)->count[0]) { \
            action(at_, (tile)->step[0], done_, (tile)->count[0]);                      \
            for (unsigned d_ = 1; d_ < (tile)->dim_count; d_++) {                       \
                at_ += (tile)->step[d_];                                                \
                if (++index_[d_] < (tile)->count[d_]) {                                 \
                    break;                                                              \
                }                                                                       \
                at_ -= (ptrdiff_t)(tile)->count[d_] * (tile)->step[d_];                 \
                index_[d_] = 0;                                                         \
            }                                                                           \
        }                                                                               \
    } while (0)

void ntk_tile_read_f32(const struct ntk_tile *tile, uint32_t partition, float *to)
{
#define READ(at, step, index, n) \
    ntk_kernel_to_f32_by(tile->dtype, tile->fp8, at, step, n, to + (index))
    EACH_RUN(tile, ntk_tile_row(tile, partition), READ);
#undef READ
}

/* The row as floats: in place if it is dense float32, else converted into buffer. */
static inline const float *row_f32(const struct ntk_tile *tile, uint32_t partition, float *buffer)
{
    if (ntk_tile_is_plain_f32(tile)) {
        return (const float *)(const void *)ntk_tile_row(tile, partition);
    }
    ntk_tile_read_f32(tile, partition, buffer);
    return buffer;
}

/* Writes a row in pieces, so that rounded values need no memory of the caller. */
static bool write_noisy(const struct ntk_tile *tile, const float *from, size_t count, uint8_t *to,
                        ptrdiff_t step)
{
    float rounded[128];
    bool nan = false;

    for (size_t i = 0; i < count; i += sizeof rounded / sizeof *rounded) {
        size_t n = count - i;

        n = n < sizeof rounded / sizeof *rounded ? n : sizeof rounded / sizeof *rounded;
        ntk_rng_round(tile->noise, tile->dtype, from + i, n, rounded);
        nan |= ntk_kernel_from_f32_by(tile->dtype, tile->fp8, rounded, n, to + (ptrdiff_t)i * step,
                                      step);
    }
    return nan;
}

bool ntk_tile_write_f32(const struct ntk_tile *tile, uint32_t partition, const float *from)
{
    bool nan = false;

    if ((const uint8_t *)from == ntk_tile_row(tile, partition) && ntk_tile_is_plain_f32(tile)) {
        return ntk_kernel_has_nan(from, tile->elements); /* the row was computed in place */
    }
#define WRITE(at, step, index, n)                               \
    nan |= tile->noise                                          \
               ? write_noisy(tile, from + (index), n, at, step) \
               : ntk_kernel_from_f32_by(tile->dtype, tile->fp8, from + (index), n, at, step)
    EACH_RUN(tile, ntk_tile_row(tile, partition), WRITE);
#undef WRITE
    return nan;
}

void ntk_tile_read_i64(const struct ntk_tile *tile, uint32_t partition, int64_t *to)
{
#define READ(at, step, index, n) ntk_kernel_to_i64(tile->dtype, at, step, n, to + (index))
    EACH_RUN(tile, ntk_tile_row(tile, partition), READ);
#undef READ
}

void ntk_tile_write_bits(const struct ntk_tile *tile, uint32_t partition, const int64_t *from)
{
#define WRITE(at, step, index, n) ntk_kernel_from_bits(tile->dtype, from + (index), n, at, step)
    EACH_RUN(tile, ntk_tile_row(tile, partition), WRITE);
#undef WRITE
}

void ntk_tile_write_i64(const struct ntk_tile *tile, uint32_t partition, const int64_t *from)
{
#define WRITE(at, step, index, n) ntk_kernel_from_i64(tile->dtype, from + (index), n, at, step)
    EACH_RUN(tile, ntk_tile_row(tile, partition), WRITE);
#undef WRITE
}

static inline bool apart(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
    const uint8_t *x = a;
    const uint8_t *y = b;

    return x + a_bytes <= y || y + b_bytes <= x;
}

/* Where to compute a row: in the destination if it is dense float32 and each source row is either
 * the same memory or disjoint, else in buffer. */
static float *row_out(const struct ntk_tile *to, uint32_t partition, const float *a, const float *b,
                      float *buffer)
{
    size_t bytes = to->elements * sizeof(float);
    float *row;

    if (!ntk_tile_is_plain_f32(to)) {
        return buffer;
    }
    row = (float *)(void *)ntk_tile_row(to, partition);
    if ((a && a != row && !apart(a, bytes, row, bytes)) ||
        (b && b != row && !apart(b, bytes, row, bytes))) {
        return buffer;
    }
    return row;
}

static float scalar_f32(const struct ntk_tile_scalar *scalar, uint32_t partition)
{
    float value = scalar->f32;

    if (scalar->column.base) {
        ntk_tile_read_f32(&scalar->column, partition, &value);
    }
    return value;
}

static int64_t scalar_bits(const struct ntk_tile_scalar *scalar, uint32_t partition)
{
    int64_t value = scalar->bits;

    if (scalar->column.base) {
        ntk_tile_read_i64(&scalar->column, partition, &value);
    }
    return value;
}

/* --- element-wise ----------------------------------------------------------------------------- */

static bool reduce_row_f32(const struct ntk_tile_reduce *reduce, uint32_t partition,
                           const float *values, uint32_t count)
{
    float result;

    if (reduce->from_old) {
        ntk_tile_read_f32(&reduce->column, partition, &result);
        result = ntk_kernel_reduce_f32(reduce->op, result, values, count);
    } else {
        result = ntk_kernel_reduce_f32(reduce->op, values[0], values + 1, count - 1);
    }
    return ntk_tile_write_f32(&reduce->column, partition, &result);
}

static void reduce_row_bits(const struct ntk_tile_reduce *reduce, uint32_t partition,
                            const int64_t *values, uint32_t count)
{
    int64_t result;

    if (reduce->from_old) {
        ntk_tile_read_i64(&reduce->column, partition, &result);
        result = ntk_kernel_reduce_bits(reduce->op, result, values, count);
    } else {
        result = ntk_kernel_reduce_bits(reduce->op, values[0], values + 1, count - 1);
    }
    ntk_tile_write_bits(&reduce->column, partition, &result);
}

bool ntk_tile_activation(const struct ntk_tile *to, const struct ntk_tile *from,
                         enum ntk_isa_act function, const struct ntk_tile_scalar *scale,
                         const struct ntk_tile_scalar *bias, float alpha,
                         const struct ntk_tile_reduce *reduce,
                         const struct ntk_tile_scratch *scratch)
{
    bool nan = false;

    for (uint32_t p = 0; p < to->partitions; p++) {
        const float *row = row_f32(from, p, scratch->row[0]);
        float s = scalar_f32(scale, p);
        float b = scalar_f32(bias, p);
        float *out = row_out(to, p, row, NULL, scratch->row[1]);

        for (uint32_t i = 0; i < to->elements; i++) {
            out[i] = row[i] * s + b;
        }
        ntk_kernel_act_f32(function, alpha, out, to->elements);
        nan |= ntk_tile_write_f32(to, p, out);
        if (reduce && reduce->column.base) {
            nan |= reduce_row_f32(reduce, p, out, to->elements);
        }
    }
    return nan;
}

/* Applies a stage to a row, with its scalar already read; op NONE leaves the row unchanged. */
static void stage_row(const struct ntk_tile_stage *stage, float scalar, const float *in,
                      uint32_t count, float *out)
{
    if (stage->reverse && stage->op != NTK_ISA_ALU_NONE) {
        ntk_kernel_alu_f32_reverse(stage->op, scalar, in, count, out);
    } else {
        ntk_kernel_alu_f32(stage->op, in, &scalar, 0, count, out);
    }
}

bool ntk_tile_activate2(const struct ntk_tile *to, const struct ntk_tile *from,
                        enum ntk_isa_act function, float alpha, const struct ntk_tile_stage *first,
                        const struct ntk_tile_stage *second, const struct ntk_tile_reduce *reduce,
                        const struct ntk_tile_scratch *scratch)
{
    bool nan = false;

    for (uint32_t p = 0; p < to->partitions; p++) {
        const float *row = row_f32(from, p, scratch->row[0]);
        /* Read the scalars of a partition before writing a row that may contain them. */
        float scalar0 = scalar_f32(&first->scalar, p);
        float scalar1 = scalar_f32(&second->scalar, p);
        float *out = row_out(to, p, row, NULL, scratch->row[1]);

        stage_row(first, scalar0, row, to->elements, out);
        stage_row(second, scalar1, out, to->elements, out);
        ntk_kernel_act_f32(function, alpha, out, to->elements);
        nan |= ntk_tile_write_f32(to, p, out);
        if (reduce->column.base) {
            nan |= reduce_row_f32(reduce, p, out, to->elements);
        }
    }
    return nan;
}

bool ntk_tile_tensor_tensor(const struct ntk_tile *to, enum ntk_isa_alu op,
                            const struct ntk_tile *a, const struct ntk_tile *b,
                            const struct ntk_tile_scratch *scratch)
{
    bool nan = false;

    for (uint32_t p = 0; p < to->partitions; p++) {
        if (ntk_isa_alu_kind_get(op) == NTK_ISA_ALU_KIND_BITVEC) {
            int64_t *x = scratch->row[0];

            ntk_tile_read_i64(a, p, x);
            ntk_tile_read_i64(b, p, scratch->row[1]);
            ntk_kernel_alu_bits(op, a->dtype, x, scratch->row[1], 1, to->elements, x);
            ntk_tile_write_bits(to, p, x);
        } else {
            const float *x = row_f32(a, p, scratch->row[0]);
            const float *y = row_f32(b, p, scratch->row[1]);
            float *out = row_out(to, p, x, y, scratch->row[2]);

            ntk_kernel_alu_f32(op, x, y, 1, to->elements, out);
            nan |= ntk_tile_write_f32(to, p, out);
        }
    }
    return nan;
}

static void stage_f32(const struct ntk_tile_stage *stage, uint32_t partition, const float *in,
                      uint32_t count, float *out)
{
    float scalar = scalar_f32(&stage->scalar, partition);

    if (stage->reverse) {
        ntk_kernel_alu_f32_reverse(stage->op, scalar, in, count, out);
    } else {
        ntk_kernel_alu_f32(stage->op, in, &scalar, 0, count, out);
    }
}

static void stage_bits(const struct ntk_tile_stage *stage, uint32_t partition, enum ntk_dtype dtype,
                       int64_t *values, uint32_t count)
{
    int64_t scalar = scalar_bits(&stage->scalar, partition);

    if (!stage->reverse) {
        ntk_kernel_alu_bits(stage->op, dtype, values, &scalar, 0, count, values);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        int64_t value = values[i];

        ntk_kernel_alu_bits(stage->op, dtype, &scalar, &value, 0, 1, &values[i]);
    }
}

bool ntk_tile_tensor_scalar(const struct ntk_tile *to, const struct ntk_tile *from,
                            const struct ntk_tile_stage *first, const struct ntk_tile_stage *second,
                            const struct ntk_tile_reduce *reduce,
                            const struct ntk_tile_scratch *scratch)
{
    bool nan = false;

    for (uint32_t p = 0; p < to->partitions; p++) {
        if (ntk_isa_alu_kind_get(first->op) == NTK_ISA_ALU_KIND_BITVEC) {
            int64_t *x = scratch->row[0];

            ntk_tile_read_i64(from, p, x);
            stage_bits(first, p, from->dtype, x, to->elements);
            if (second && second->op != NTK_ISA_ALU_NONE) {
                stage_bits(second, p, from->dtype, x, to->elements);
            }
            ntk_tile_write_bits(to, p, x);
            if (reduce && reduce->column.base) {
                reduce_row_bits(reduce, p, x, to->elements);
            }
        } else {
            const float *x = row_f32(from, p, scratch->row[0]);
            float *out = row_out(to, p, x, NULL, scratch->row[1]);
            float scalar1 = 0.0F;

            /* Read the scalars of a partition before writing a row that may contain them. */
            if (second && second->op != NTK_ISA_ALU_NONE) {
                scalar1 = scalar_f32(&second->scalar, p);
            }
            stage_f32(first, p, x, to->elements, out);
            if (second && second->op != NTK_ISA_ALU_NONE) {
                if (second->reverse) {
                    ntk_kernel_alu_f32_reverse(second->op, scalar1, out, to->elements, out);
                } else {
                    ntk_kernel_alu_f32(second->op, out, &scalar1, 0, to->elements, out);
                }
            }
            nan |= ntk_tile_write_f32(to, p, out);
            if (reduce && reduce->column.base) {
                nan |= reduce_row_f32(reduce, p, out, to->elements);
            }
        }
    }
    return nan;
}

bool ntk_tile_scalar_tensor_tensor(const struct ntk_tile *to, const struct ntk_tile *a,
                                   const struct ntk_tile_stage *first, enum ntk_isa_alu op1,
                                   bool reverse1, const struct ntk_tile *b,
                                   const struct ntk_tile_scratch *scratch)
{
    bool nan = false;

    for (uint32_t p = 0; p < to->partitions; p++) {
        if (ntk_isa_alu_kind_get(op1) == NTK_ISA_ALU_KIND_BITVEC) {
            int64_t *x = scratch->row[0];
            int64_t *y = scratch->row[1];

            ntk_tile_read_i64(a, p, x);
            ntk_tile_read_i64(b, p, y);
            stage_bits(first, p, a->dtype, x, to->elements);
            ntk_kernel_alu_bits(op1, a->dtype, reverse1 ? y : x, reverse1 ? x : y, 1, to->elements,
                                x);
            ntk_tile_write_bits(to, p, x);
        } else {
            const float *x = row_f32(a, p, scratch->row[0]);
            const float *y = row_f32(b, p, scratch->row[1]);
            float *t = scratch->row[2];
            float *out = row_out(to, p, NULL, y, scratch->row[3]);

            stage_f32(first, p, x, to->elements, t);
            ntk_kernel_alu_f32(op1, reverse1 ? y : t, reverse1 ? t : y, 1, to->elements, out);
            nan |= ntk_tile_write_f32(to, p, out);
        }
    }
    return nan;
}

bool ntk_tile_tensor_reduce(const struct ntk_tile *to, const struct ntk_tile *from,
                            enum ntk_isa_alu op, uint32_t group, bool negate,
                            const struct ntk_tile_scratch *scratch)
{
    bool nan = false;

    for (uint32_t p = 0; p < to->partitions; p++) {
        if (ntk_isa_alu_kind_get(op) == NTK_ISA_ALU_KIND_BITVEC) {
            int64_t *x = scratch->row[0];
            int64_t *out = scratch->row[1];

            ntk_tile_read_i64(from, p, x);
            for (uint32_t g = 0; g < to->elements; g++) {
                const int64_t *values = x + (size_t)g * group;

                out[g] = ntk_kernel_reduce_bits(op, values[0], values + 1, group - 1);
                out[g] = negate ? (int64_t)(0 - (uint64_t)out[g]) : out[g];
            }
            ntk_tile_write_bits(to, p, out);
        } else {
            const float *x = row_f32(from, p, scratch->row[0]);
            float *out = scratch->row[1];

            for (uint32_t g = 0; g < to->elements; g++) {
                const float *values = x + (size_t)g * group;

                out[g] = ntk_kernel_reduce_f32(op, values[0], values + 1, group - 1);
                out[g] = negate ? -out[g] : out[g];
            }
            nan |= ntk_tile_write_f32(to, p, out);
        }
    }
    return nan;
}

/* The integer type with the width of a dtype. */
static enum ntk_dtype bits_dtype(enum ntk_dtype dtype)
{
    switch (ntk_dtype_bytes(dtype)) {
    case 1:
        return NTK_DTYPE_UINT8;
    case 2:
        return NTK_DTYPE_UINT16;
    case 4:
        return NTK_DTYPE_UINT32;
    default:
        return NTK_DTYPE_INT64;
    }
}

bool ntk_tile_copy(const struct ntk_tile *to, const struct ntk_tile *from,
                   const struct ntk_tile_scratch *scratch)
{
    bool integers = !ntk_dtype_is_float(to->dtype) && !ntk_dtype_is_float(from->dtype);
    bool nan = false;

    if (to->dtype == from->dtype) { /* copy bits; a NaN that is only moved does not count */
        struct ntk_tile to_bits = *to;
        struct ntk_tile from_bits = *from;

        to_bits.dtype = bits_dtype(to->dtype);
        from_bits.dtype = to_bits.dtype;
        for (uint32_t p = 0; p < to->partitions; p++) {
            if (to->is_dense && from->is_dense) {
                memmove(ntk_tile_row(to, p), ntk_tile_row(from, p),
                        to->elements * ntk_dtype_bytes(to->dtype));
            } else {
                ntk_tile_read_i64(&from_bits, p, scratch->row[0]);
                ntk_tile_write_bits(&to_bits, p, scratch->row[0]);
            }
        }
        return false;
    }
    for (uint32_t p = 0; p < to->partitions; p++) {
        if (integers) {
            ntk_tile_read_i64(from, p, scratch->row[0]);
            ntk_tile_write_i64(to, p, scratch->row[0]);
        } else {
            nan |= ntk_tile_write_f32(to, p, row_f32(from, p, scratch->row[0]));
        }
    }
    return nan;
}

bool ntk_tile_memset(const struct ntk_tile *to, float f32, uint64_t bits,
                     const struct ntk_tile_scratch *scratch)
{
    bool is_float = ntk_dtype_is_float(to->dtype);
    float *f = scratch->row[0];
    int64_t *i = scratch->row[0];
    bool nan = false;

    for (uint32_t k = 0; k < to->elements; k++) {
        if (is_float) {
            f[k] = f32;
        } else {
            i[k] = (int64_t)bits;
        }
    }
    for (uint32_t p = 0; p < to->partitions; p++) {
        if (is_float) {
            nan |= ntk_tile_write_f32(to, p, f);
        } else {
            ntk_tile_write_bits(to, p, i);
        }
    }
    return nan;
}

bool ntk_tile_iota(const struct ntk_tile *to, int64_t base, int64_t multiplier,
                   const uint32_t *counts, const int32_t *steps, unsigned dim_count,
                   const struct ntk_tile_scratch *scratch)
{
    int64_t *pattern = scratch->row[0];
    int64_t *values = scratch->row[1];
    float *floats = scratch->row[2];
    uint32_t index[NTK_ISA_DIMS_MAX] = { 0 };
    int64_t value = 0;
    bool nan = false;

    for (uint32_t i = 0; i < to->elements; i++) {
        pattern[i] = value;
        for (unsigned d = 0; d < dim_count; d++) {
            value += steps[d];
            if (++index[d] < counts[d]) {
                break;
            }
            value -= (int64_t)counts[d] * steps[d];
            index[d] = 0;
        }
    }
    for (uint32_t p = 0; p < to->partitions; p++) {
        for (uint32_t i = 0; i < to->elements; i++) {
            values[i] = base + (int64_t)p * multiplier + pattern[i];
            floats[i] = (float)values[i];
        }
        if (ntk_dtype_is_float(to->dtype)) {
            nan |= ntk_tile_write_f32(to, p, floats);
        } else {
            ntk_tile_write_i64(to, p, values);
        }
    }
    return nan;
}

bool ntk_tile_reciprocal(const struct ntk_tile *to, const struct ntk_tile *from,
                         const struct ntk_tile_scratch *scratch)
{
    bool nan = false;

    for (uint32_t p = 0; p < to->partitions; p++) {
        const float *x = row_f32(from, p, scratch->row[0]);
        float *out = row_out(to, p, x, NULL, scratch->row[1]);

        ntk_kernel_alu_f32(NTK_ISA_ALU_RECIPROCAL, x, NULL, 0, to->elements, out);
        nan |= ntk_tile_write_f32(to, p, out);
    }
    return nan;
}

bool ntk_tile_max8(const struct ntk_tile *to, const struct ntk_tile *from,
                   const struct ntk_tile_scratch *scratch)
{
    bool nan = false;

    for (uint32_t p = 0; p < to->partitions; p++) {
        const float *x = row_f32(from, p, scratch->row[0]);
        float best[8];
        unsigned filled = 0;

        for (uint32_t i = 0; i < from->elements; i++) {
            unsigned at = filled;

            /* The condition treats a NaN as the largest value, so that it is found. */
            if (filled == 8 && !(x[i] > best[7]) && !(x[i] != x[i] && best[7] == best[7])) {
                continue;
            }
            if (filled < 8) {
                filled++;
            } else {
                at = 7;
            }
            while (at > 0 &&
                   (x[i] > best[at - 1] || (x[i] != x[i] && best[at - 1] == best[at - 1]))) {
                best[at] = best[at - 1];
                at--;
            }
            best[at] = x[i];
        }
        nan |= ntk_tile_write_f32(to, p, best);
    }
    return nan;
}
