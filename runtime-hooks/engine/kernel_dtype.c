/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/engine/kernel_dtype.h"

#include <assert.h>
#include <string.h>

#include "runtime-hooks/engine/kernel_clones.h"
#include "runtime-hooks/engine/kernel_half.h"

/* Size of the pieces in which rows are converted if values need a buffer. */
#define PIECE 256

static inline float bits_to_f32(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t f32_to_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* --- narrow floats: the widths are constants of the caller, so each call is folded
 * --------------- */

/*
 * Widens: moving exponent and mantissa to fp32's positions yields the value times 2^(bias - 127);
 * one exact multiplication by a power of two corrects this, including subnormals.
 */
static inline float narrow_to_f32(uint32_t narrow, unsigned exponent_bits, unsigned mantissa_bits,
                                  bool has_infinity)
{
    unsigned width = 1 + exponent_bits + mantissa_bits;
    uint32_t sign = narrow >> (width - 1) << 31;
    uint32_t magnitude = narrow & ((1u << (width - 1)) - 1);
    uint32_t bias = (1u << (exponent_bits - 1)) - 1;
    float scale = bits_to_f32((254u - bias) << 23); /* 2^(127 - bias) */
    uint32_t bits = f32_to_bits(bits_to_f32(magnitude << (23 - mantissa_bits)) * scale);
    uint32_t special = ((1u << exponent_bits) - 1) << mantissa_bits;

    if (has_infinity) {
        uint32_t payload = (magnitude & ((1u << mantissa_bits) - 1)) << (23 - mantissa_bits);

        bits = magnitude > special ? (0x7fc00000u | payload) : bits;
        bits = magnitude == special ? 0x7f800000u : bits;
    } else {
        bits = magnitude == (special | ((1u << mantissa_bits) - 1)) ? 0x7fc00000u : bits;
    }
    return bits_to_f32(bits | sign);
}

/*
 * Narrows. Normal results: add half a unit (ties to even) to the fp32 bits and truncate. Subnormal
 * results: an fp32 addition to a power of two that has the narrow type's unit does the rounding.
 */
static inline uint32_t f32_to_narrow(float value, unsigned exponent_bits, unsigned mantissa_bits,
                                     bool has_infinity, bool saturates)
{
    unsigned width = 1 + exponent_bits + mantissa_bits;
    uint32_t bias = (1u << (exponent_bits - 1)) - 1;
    uint32_t bits = f32_to_bits(value);
    uint32_t sign = bits >> 31 << (width - 1);
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t special = ((1u << exponent_bits) - 1) << mantissa_bits;
    uint32_t largest = has_infinity ? special - 1 : special | ((1u << mantissa_bits) - 2);
    uint32_t nan = has_infinity ? special | (1u << (mantissa_bits - 1))
                                : special | ((1u << mantissa_bits) - 1);
    uint32_t beyond = has_infinity ? special : nan;
    uint32_t magic = (127u - bias + 1 + 23 - mantissa_bits) << 23;
    uint32_t small =
        f32_to_bits(bits_to_f32(magnitude) + bits_to_f32(magic)) - magic; /* subnormal or zero */
    uint32_t rounded =
        magnitude + ((magnitude >> (23 - mantissa_bits)) & 1) + ((1u << (22 - mantissa_bits)) - 1);
    uint32_t normal = (rounded - ((127u - bias) << 23)) >> (23 - mantissa_bits);
    uint32_t result = magnitude < ((128u - bias) << 23) ? small : normal;
    /* Compare before the subtraction above can wrap around: 2^emax rounded up exceeds the largest
     * number. */
    uint32_t limit = (largest << (23 - mantissa_bits)) + ((127u - bias) << 23);

    result =
        rounded >= limit + (1u << (23 - mantissa_bits)) ? (saturates ? largest : beyond) : result;
    result = magnitude > 0x7f800000u ? nan : result;
    return result | sign;
}

#define F8E3_TO_F32(x) narrow_to_f32(x, 3, 4, true)
#define F8E4_TO_F32(x) narrow_to_f32(x, 4, 3, false)
#define F8E5_TO_F32(x) narrow_to_f32(x, 5, 2, true)
#define F16_TO_F32(x) narrow_to_f32(x, 5, 10, true)
#define BF16_TO_F32(x) bits_to_f32((uint32_t)(x) << 16)
#define INTEGER_TO_F32(x) ((float)(x))
#define F32_TO_F8E3(x) ((uint8_t)f32_to_narrow(x, 3, 4, true, true))
#define F32_TO_F8E4(x) ((uint8_t)f32_to_narrow(x, 4, 3, false, true))
#define F32_TO_F8E5(x) ((uint8_t)f32_to_narrow(x, 5, 2, true, true))
#define F32_TO_F16(x) ((uint16_t)f32_to_narrow(x, 5, 10, true, false))
#define F32_TO_BF16(x) f32_to_bf16(x)

static inline uint16_t f32_to_bf16(float value)
{
    uint32_t bits = f32_to_bits(value);
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;

    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16) | 0x40u : rounded);
}

/* Rounds to nearest even, by an addition that leaves no fraction bits; requires |value| < 2^22. */
static inline int32_t f32_round_small(float value)
{
    const float magic = 12582912.0F; /* 1.5 x 2^23 */

    return (int32_t)(f32_to_bits(value + magic) - f32_to_bits(magic));
}

static inline int32_t f32_to_small_integer(float value, float low, float high)
{
    value = value != value ? 0.0F : value;
    value = value < low ? low : value;
    value = value > high ? high : value;
    return f32_round_small(value);
}

/* Rounds to nearest, ties to even, for any magnitude below 2^63; from 2^24 on, every fp32 is a
 * whole number. */
static inline int64_t f32_round_large(float value)
{
    const float whole = 8388608.0F; /* 2^23 */
    float magnitude = value < 0 ? -value : value;

    if (magnitude < whole) {
        magnitude = (magnitude + whole) - whole;
    }
    return value < 0 ? -(int64_t)magnitude : (int64_t)magnitude;
}

static inline int64_t f32_to_i64(float value)
{
    if (value != value) {
        return 0;
    }
    if (value >= 9223372036854775808.0F) {
        return INT64_MAX;
    }
    return value <= -9223372036854775808.0F ? INT64_MIN : f32_round_large(value);
}

static inline uint64_t f32_to_u64(float value)
{
    if (!(value > 0)) {
        return 0;
    }
    if (value >= 18446744073709551616.0F) {
        return UINT64_MAX;
    }
    return value >= 9223372036854775808.0F ? (uint64_t)value : (uint64_t)f32_round_large(value);
}

static inline int64_t clamp_i64(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static inline int32_t f32_to_i32(float value)
{
    return (int32_t)clamp_i64(f32_to_i64(value), INT32_MIN, INT32_MAX);
}

static inline uint32_t f32_to_u32(float value)
{
    return (uint32_t)clamp_i64(f32_to_i64(value), 0, UINT32_MAX);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Each row loop exists twice: with the constant step of a packed row, the compiler vectorises
 * it. */

#define ROW_TO(type, expression, to)                            \
    do {                                                        \
        const uint8_t *p_ = from;                               \
        if (step == (ptrdiff_t)sizeof(type)) {                  \
            for (size_t i = 0; i < count; i++) {                \
                type x;                                         \
                memcpy(&x, p_ + i * sizeof(type), sizeof x);    \
                (to)[i] = expression;                           \
            }                                                   \
        } else {                                                \
            for (size_t i = 0; i < count; i++) {                \
                type x;                                         \
                memcpy(&x, p_ + (ptrdiff_t)i * step, sizeof x); \
                (to)[i] = expression;                           \
            }                                                   \
        }                                                       \
    } while (0)

#define ROW_FROM(type, expression)                              \
    do {                                                        \
        uint8_t *p_ = to;                                       \
        if (step == (ptrdiff_t)sizeof(type)) {                  \
            for (size_t i = 0; i < count; i++) {                \
                type x = (type)(expression);                    \
                memcpy(p_ + i * sizeof(type), &x, sizeof x);    \
            }                                                   \
        } else {                                                \
            for (size_t i = 0; i < count; i++) {                \
                type x = (type)(expression);                    \
                memcpy(p_ + (ptrdiff_t)i * step, &x, sizeof x); \
            }                                                   \
        }                                                       \
    } while (0)

NTK_KERNEL_CLONES
void ntk_kernel_to_f32(enum ntk_dtype dtype, const void *from, ptrdiff_t step, size_t count,
                       float *to)
{
    if (dtype == NTK_DTYPE_FLOAT16 && step == (ptrdiff_t)sizeof(uint16_t)) {
        size_t done = ntk_half_widen(from, count, to);

        from = (const uint16_t *)from + done;
        to += done;
        count -= done;
    }
    switch (dtype) {
    case NTK_DTYPE_FLOAT8E3:
        ROW_TO(uint8_t, F8E3_TO_F32(x), to);
        break;
    case NTK_DTYPE_FLOAT8E4:
        ROW_TO(uint8_t, F8E4_TO_F32(x), to);
        break;
    case NTK_DTYPE_FLOAT8E5:
        ROW_TO(uint8_t, F8E5_TO_F32(x), to);
        break;
    case NTK_DTYPE_FLOAT16:
        ROW_TO(uint16_t, F16_TO_F32(x), to);
        break;
    case NTK_DTYPE_BFLOAT16:
        ROW_TO(uint16_t, BF16_TO_F32(x), to);
        break;
    case NTK_DTYPE_FLOAT32:
    case NTK_DTYPE_FLOAT32R:
        ROW_TO(float, x, to);
        break;
    case NTK_DTYPE_UINT8:
        ROW_TO(uint8_t, INTEGER_TO_F32(x), to);
        break;
    case NTK_DTYPE_UINT16:
        ROW_TO(uint16_t, INTEGER_TO_F32(x), to);
        break;
    case NTK_DTYPE_UINT32:
        ROW_TO(uint32_t, INTEGER_TO_F32(x), to);
        break;
    case NTK_DTYPE_UINT64:
        ROW_TO(uint64_t, INTEGER_TO_F32(x), to);
        break;
    case NTK_DTYPE_INT8:
        ROW_TO(int8_t, INTEGER_TO_F32(x), to);
        break;
    case NTK_DTYPE_INT16:
        ROW_TO(int16_t, INTEGER_TO_F32(x), to);
        break;
    case NTK_DTYPE_INT32:
        ROW_TO(int32_t, INTEGER_TO_F32(x), to);
        break;
    case NTK_DTYPE_INT64:
        ROW_TO(int64_t, INTEGER_TO_F32(x), to);
        break;
    case NTK_DTYPE_NONE:
    case NTK_DTYPE_COUNT:
        assert(false);
    }
}

NTK_KERNEL_CLONES
bool ntk_kernel_has_nan(const float *values, size_t count)
{
    uint32_t found = 0;

    for (size_t i = 0; i < count; i++) {
        found |= values[i] != values[i];
    }
    return found != 0;
}

NTK_KERNEL_CLONES
bool ntk_kernel_from_f32(enum ntk_dtype dtype, const float *from, size_t count, void *to,
                         ptrdiff_t step)
{
    if (dtype == NTK_DTYPE_FLOAT16 && step == (ptrdiff_t)sizeof(uint16_t)) {
        size_t done = ntk_half_narrow(from, count, to); /* these elements contain no NaN */

        from += done;
        to = (uint16_t *)to + done;
        count -= done;
    }
    switch (dtype) {
    case NTK_DTYPE_FLOAT8E3:
        ROW_FROM(uint8_t, F32_TO_F8E3(from[i]));
        break;
    case NTK_DTYPE_FLOAT8E4:
        ROW_FROM(uint8_t, F32_TO_F8E4(from[i]));
        break;
    case NTK_DTYPE_FLOAT8E5:
        ROW_FROM(uint8_t, F32_TO_F8E5(from[i]));
        break;
    case NTK_DTYPE_FLOAT16:
        ROW_FROM(uint16_t, F32_TO_F16(from[i]));
        break;
    case NTK_DTYPE_BFLOAT16:
        ROW_FROM(uint16_t, F32_TO_BF16(from[i]));
        break;
    case NTK_DTYPE_FLOAT32:
    case NTK_DTYPE_FLOAT32R:
        ROW_FROM(float, from[i]);
        break;
    case NTK_DTYPE_UINT8:
        ROW_FROM(uint8_t, f32_to_small_integer(from[i], 0.0F, 255.0F));
        return false;
    case NTK_DTYPE_UINT16:
        ROW_FROM(uint16_t, f32_to_small_integer(from[i], 0.0F, 65535.0F));
        return false;
    case NTK_DTYPE_UINT32:
        ROW_FROM(uint32_t, f32_to_u32(from[i]));
        return false;
    case NTK_DTYPE_UINT64:
        ROW_FROM(uint64_t, f32_to_u64(from[i]));
        return false;
    case NTK_DTYPE_INT8:
        ROW_FROM(int8_t, f32_to_small_integer(from[i], -128.0F, 127.0F));
        return false;
    case NTK_DTYPE_INT16:
        ROW_FROM(int16_t, f32_to_small_integer(from[i], -32768.0F, 32767.0F));
        return false;
    case NTK_DTYPE_INT32:
        ROW_FROM(int32_t, f32_to_i32(from[i]));
        return false;
    case NTK_DTYPE_INT64:
        ROW_FROM(int64_t, f32_to_i64(from[i]));
        return false;
    case NTK_DTYPE_NONE:
    case NTK_DTYPE_COUNT:
        assert(false);
        return false;
    }
    return ntk_kernel_has_nan(from, count);
}

/* --- rules of a program: rare, so a plain loop ------------------------------------------------ */

static bool is_fp8(enum ntk_dtype dtype)
{
    return dtype == NTK_DTYPE_FLOAT8E3 || dtype == NTK_DTYPE_FLOAT8E4 ||
           dtype == NTK_DTYPE_FLOAT8E5;
}

static uint8_t f32_to_fp8_by(enum ntk_dtype dtype, unsigned fp8, float value)
{
    bool saturates = !(fp8 & NTK_KERNEL_FP8_OVERFLOWS);

    if (dtype == NTK_DTYPE_FLOAT8E3) {
        return (uint8_t)f32_to_narrow(value, 3, 4, true, saturates);
    }
    if (dtype == NTK_DTYPE_FLOAT8E5) {
        return (uint8_t)f32_to_narrow(value, 5, 2, true, saturates);
    }
    return (uint8_t)f32_to_narrow(value, 4, 3, (fp8 & NTK_KERNEL_FP8_E4_IEEE) != 0, saturates);
}

void ntk_kernel_to_f32_by(enum ntk_dtype dtype, unsigned fp8, const void *from, ptrdiff_t step,
                          size_t count, float *to)
{
    const uint8_t *at = from;

    if (dtype != NTK_DTYPE_FLOAT8E4 || !(fp8 & NTK_KERNEL_FP8_E4_IEEE)) {
        ntk_kernel_to_f32(dtype, from, step, count, to);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        to[i] = narrow_to_f32(at[(ptrdiff_t)i * step], 4, 3, true);
    }
}

bool ntk_kernel_from_f32_by(enum ntk_dtype dtype, unsigned fp8, const float *from, size_t count,
                            void *to, ptrdiff_t step)
{
    uint8_t *at = to;
    bool nan = false;

    if (fp8 == 0 || !is_fp8(dtype)) {
        return ntk_kernel_from_f32(dtype, from, count, to, step);
    }
    for (size_t i = 0; i < count; i++) {
        uint8_t code = f32_to_fp8_by(dtype, fp8, from[i]);
        float back;

        /* The overflow may have become a NaN. */
        ntk_kernel_to_f32_by(dtype, fp8, &code, 1, 1, &back);
        nan |= back != back;
        at[(ptrdiff_t)i * step] = code;
    }
    return nan;
}

void ntk_kernel_to_i64(enum ntk_dtype dtype, const void *from, ptrdiff_t step, size_t count,
                       int64_t *to)
{
    switch (dtype) {
    case NTK_DTYPE_FLOAT8E3:
    case NTK_DTYPE_FLOAT8E4:
    case NTK_DTYPE_FLOAT8E5:
    case NTK_DTYPE_UINT8:
        ROW_TO(uint8_t, x, to);
        break;
    case NTK_DTYPE_FLOAT16:
    case NTK_DTYPE_BFLOAT16:
    case NTK_DTYPE_UINT16:
        ROW_TO(uint16_t, x, to);
        break;
    case NTK_DTYPE_FLOAT32:
    case NTK_DTYPE_FLOAT32R:
    case NTK_DTYPE_UINT32:
        ROW_TO(uint32_t, x, to);
        break;
    case NTK_DTYPE_UINT64:
        ROW_TO(uint64_t, x > INT64_MAX ? INT64_MAX : (int64_t)x, to);
        break;
    case NTK_DTYPE_INT8:
        ROW_TO(int8_t, (int64_t)x, to);
        break;
    case NTK_DTYPE_INT16:
        ROW_TO(int16_t, x, to);
        break;
    case NTK_DTYPE_INT32:
        ROW_TO(int32_t, x, to);
        break;
    case NTK_DTYPE_INT64:
        ROW_TO(int64_t, x, to);
        break;
    case NTK_DTYPE_NONE:
    case NTK_DTYPE_COUNT:
        assert(false);
    }
}

void ntk_kernel_from_bits(enum ntk_dtype dtype, const int64_t *from, size_t count, void *to,
                          ptrdiff_t step)
{
    switch (ntk_dtype_bytes(dtype)) {
    case 1:
        ROW_FROM(uint8_t, from[i]);
        break;
    case 2:
        ROW_FROM(uint16_t, from[i]);
        break;
    case 4:
        ROW_FROM(uint32_t, from[i]);
        break;
    case 8:
        ROW_FROM(uint64_t, from[i]);
        break;
    default:
        assert(false);
    }
}

void ntk_kernel_from_i64(enum ntk_dtype dtype, const int64_t *from, size_t count, void *to,
                         ptrdiff_t step)
{
    switch (dtype) {
    case NTK_DTYPE_UINT8:
        ROW_FROM(uint8_t, clamp_i64(from[i], 0, UINT8_MAX));
        break;
    case NTK_DTYPE_UINT16:
        ROW_FROM(uint16_t, clamp_i64(from[i], 0, UINT16_MAX));
        break;
    case NTK_DTYPE_UINT32:
        ROW_FROM(uint32_t, clamp_i64(from[i], 0, UINT32_MAX));
        break;
    case NTK_DTYPE_UINT64:
        ROW_FROM(uint64_t, clamp_i64(from[i], 0, INT64_MAX));
        break;
    case NTK_DTYPE_INT8:
        ROW_FROM(int8_t, clamp_i64(from[i], INT8_MIN, INT8_MAX));
        break;
    case NTK_DTYPE_INT16:
        ROW_FROM(int16_t, clamp_i64(from[i], INT16_MIN, INT16_MAX));
        break;
    case NTK_DTYPE_INT32:
        ROW_FROM(int32_t, clamp_i64(from[i], INT32_MIN, INT32_MAX));
        break;
    default:
        ntk_kernel_from_bits(dtype, from, count, to, step);
    }
}

bool ntk_kernel_cast(enum ntk_dtype from_dtype, const void *from, ptrdiff_t from_step,
                     enum ntk_dtype to_dtype, void *to, ptrdiff_t to_step, size_t count)
{
    return ntk_kernel_cast_by(0, from_dtype, from, from_step, to_dtype, to, to_step, count);
}

bool ntk_kernel_cast_by(unsigned fp8, enum ntk_dtype from_dtype, const void *from,
                        ptrdiff_t from_step, enum ntk_dtype to_dtype, void *to, ptrdiff_t to_step,
                        size_t count)
{
    size_t bytes = ntk_dtype_bytes(to_dtype);
    bool integers = !ntk_dtype_is_float(from_dtype) && !ntk_dtype_is_float(to_dtype);
    const uint8_t *source = from;
    uint8_t *target = to;
    bool nan = false;

    if (from_dtype == to_dtype) { /* copy bits: uint64 keeps its value, and a NaN its payload */
        if (from_step == (ptrdiff_t)bytes && to_step == (ptrdiff_t)bytes) {
            memmove(to, from, count * bytes);
            return false;
        }
        for (size_t i = 0; i < count; i++) {
            memmove(target + (ptrdiff_t)i * to_step, source + (ptrdiff_t)i * from_step, bytes);
        }
        return false;
    }
    while (count > 0) {
        size_t n = count < PIECE ? count : PIECE;

        if (integers) {
            int64_t values[PIECE];

            ntk_kernel_to_i64(from_dtype, source, from_step, n, values);
            ntk_kernel_from_i64(to_dtype, values, n, target, to_step);
        } else {
            float values[PIECE];

            ntk_kernel_to_f32_by(from_dtype, fp8, source, from_step, n, values);
            nan |= ntk_kernel_from_f32_by(to_dtype, fp8, values, n, target, to_step);
        }
        source += (ptrdiff_t)n * from_step;
        target += (ptrdiff_t)n * to_step;
        count -= n;
    }
    return nan;
}
