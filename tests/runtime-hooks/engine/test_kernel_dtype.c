/* SPDX-License-Identifier: MIT */
/*
 * Every 8-bit and 16-bit value, and every rounding boundary between two neighbours, compared with a
 * reference that uses real numbers (double) and searches for the nearest value instead of using
 * bits.
 */
#include "runtime-hooks/engine/kernel_dtype.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

struct format {
    enum ntk_dtype dtype;
    int bits, exponent_bits, mantissa_bits, bias;
    bool has_infinity, saturates;
    unsigned fp8; /* rules of a program */
};

static const struct format formats[] = {
    { NTK_DTYPE_FLOAT8E3, 8, 3, 4, 3, true, true },
    { NTK_DTYPE_FLOAT8E4, 8, 4, 3, 7, false, true },
    { NTK_DTYPE_FLOAT8E5, 8, 5, 2, 15, true, true },
    { NTK_DTYPE_FLOAT16, 16, 5, 10, 15, true, false },
    { NTK_DTYPE_BFLOAT16, 16, 8, 7, 127, true, false },
    { NTK_DTYPE_FLOAT8E3, 8, 3, 4, 3, true, false, NTK_KERNEL_FP8_OVERFLOWS },
    { NTK_DTYPE_FLOAT8E4, 8, 4, 3, 7, false, false, NTK_KERNEL_FP8_OVERFLOWS },
    { NTK_DTYPE_FLOAT8E5, 8, 5, 2, 15, true, false, NTK_KERNEL_FP8_OVERFLOWS },
    { NTK_DTYPE_FLOAT8E4, 8, 4, 3, 7, true, true, NTK_KERNEL_FP8_E4_IEEE },
    { NTK_DTYPE_FLOAT8E4, 8, 4, 3, 7, true, false,
      NTK_KERNEL_FP8_E4_IEEE | NTK_KERNEL_FP8_OVERFLOWS },
};
#define FORMAT_COUNT (sizeof formats / sizeof formats[0])

/* The meaning of the bits, by the definition of the format. */
static double value_of(const struct format *f, uint32_t bits)
{
    uint32_t fraction = bits & ((1u << f->mantissa_bits) - 1);
    uint32_t exponent = bits >> f->mantissa_bits & ((1u << f->exponent_bits) - 1);
    double sign = bits >> (f->bits - 1) ? -1.0 : 1.0;
    uint32_t top = (1u << f->exponent_bits) - 1;

    if (exponent == top && f->has_infinity) {
        return fraction ? NAN : sign * INFINITY;
    }
    if (exponent == top && fraction == (1u << f->mantissa_bits) - 1) {
        return NAN;
    }
    if (exponent == 0) {
        return sign * ldexp((double)fraction, 1 - f->bias - f->mantissa_bits);
    }
    return sign * ldexp(1.0 + ldexp((double)fraction, -f->mantissa_bits), (int)exponent - f->bias);
}

static uint32_t load_bits(const struct format *f, const void *from)
{
    uint16_t wide;

    if (f->bits == 8) {
        return *(const uint8_t *)from;
    }
    memcpy(&wide, from, sizeof wide);
    return wide;
}

static void store_bits(const struct format *f, uint32_t bits, void *to)
{
    uint16_t wide = (uint16_t)bits;

    if (f->bits == 8) {
        *(uint8_t *)to = (uint8_t)bits;
    } else {
        memcpy(to, &wide, sizeof wide);
    }
}

static uint32_t narrow(const struct format *f, float value)
{
    uint8_t bytes[2] = { 0 };

    ntk_kernel_from_f32_by(f->dtype, f->fp8, &value, 1, bytes, f->bits / 8);
    return load_bits(f, bytes);
}

static void every_narrow_value_converts_to_float32_exactly(void **state)
{
    for (size_t k = 0; k < FORMAT_COUNT; k++) {
        const struct format *f = &formats[k];

        for (uint32_t bits = 0; bits < 1u << f->bits; bits++) {
            double expected = value_of(f, bits);
            uint8_t bytes[2] = { 0 };
            float value;

            store_bits(f, bits, bytes);
            ntk_kernel_to_f32_by(f->dtype, f->fp8, bytes, f->bits / 8, 1, &value);
            if (isnan(expected)) {
                assert_true(isnan(value));
            } else if ((double)value != expected || !signbit(value) != !signbit(expected)) {
                fail_msg("%s 0x%x is %g, not %g", ntk_dtype_name(f->dtype), bits, expected, value);
            }
        }
    }
}

static void every_narrow_value_round_trips_through_float32(void **state)
{
    for (size_t k = 0; k < FORMAT_COUNT; k++) {
        const struct format *f = &formats[k];

        for (uint32_t bits = 0; bits < 1u << f->bits; bits++) {
            double value = value_of(f, bits);
            uint32_t back = narrow(f, (float)value);

            if (isnan(value)) {
                assert_true(isnan(value_of(f, back)));
            } else if (isinf(value) && f->saturates) {
                assert_true(!isinf(value_of(f, back)) && !isnan(value_of(f, back)));
            } else if (back != bits) {
                fail_msg("%s 0x%x comes back as 0x%x", ntk_dtype_name(f->dtype), bits, back);
            }
        }
    }
}

/* Method: between two neighbours a < b, checks a + (b-a)/2 and its two float neighbours. The middle
 * must go to the even one, the others to the nearer one. */
static void rounding_is_to_nearest_even_at_every_boundary(void **state)
{
    for (size_t k = 0; k < FORMAT_COUNT; k++) {
        const struct format *f = &formats[k];

        for (uint32_t bits = 0; bits + 1 < 1u << (f->bits - 1); bits++) {
            double a = value_of(f, bits);
            double b = value_of(f, bits + 1);
            float middle;

            if (isnan(b) || isnan(a) || isinf(a) || isinf(b)) {
                continue;
            }
            middle = (float)((a + b) / 2);
            if ((double)middle != (a + b) / 2) {
                continue; /* the smallest bf16 subnormals have no middle in float32 */
            }
            for (int sign = 0; sign < 2; sign++) {
                float factor = sign ? -1.0F : 1.0F;
                uint32_t top = sign ? 1u << (f->bits - 1) : 0;

                assert_int_equal(narrow(f, factor * middle), top | (bits & 1 ? bits + 1 : bits));
                assert_int_equal(narrow(f, factor * nextafterf(middle, -INFINITY)), top | bits);
                assert_int_equal(narrow(f, factor * nextafterf(middle, INFINITY)),
                                 top | (bits + 1));
            }
        }
    }
}

static void too_large_values_saturate_or_become_infinite(void **state)
{
    const float large[] = {
        448.1F, 500.0F, 6e4F, 65519.9F, 65520.0F, 1e5F, 1e30F, 3.4e38F, INFINITY
    };

    for (size_t k = 0; k < FORMAT_COUNT; k++) {
        const struct format *f = &formats[k];
        double largest = 0;

        for (uint32_t bits = 0; bits < 1u << (f->bits - 1); bits++) {
            double value = value_of(f, bits);

            largest = isfinite(value) && value > largest ? value : largest;
        }
        for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
            double result = value_of(f, narrow(f, large[i]));
            double unit = largest - value_of(f, narrow(f, (float)largest) - 1);

            if ((double)large[i] < largest) {
                assert_true(result <= largest);
            } else if (f->saturates || (double)large[i] < largest + unit / 2) {
                assert_true(result == largest);
            } else if (f->has_infinity) {
                assert_true(isinf(result));
            } else {
                assert_true(isnan(result));
                continue;
            }
            assert_true(value_of(f, narrow(f, -large[i])) == -result);
        }
        assert_true(isnan(value_of(f, narrow(f, NAN))));
    }
}

static const enum ntk_dtype integers[] = { NTK_DTYPE_UINT8,  NTK_DTYPE_UINT16, NTK_DTYPE_UINT32,
                                           NTK_DTYPE_UINT64, NTK_DTYPE_INT8,   NTK_DTYPE_INT16,
                                           NTK_DTYPE_INT32,  NTK_DTYPE_INT64 };

/* Smallest and largest value as long double, which holds 64 bits. */
static void bounds(enum ntk_dtype dtype, long double *low, long double *high)
{
    int bits = 8 * (int)ntk_dtype_bytes(dtype);
    bool is_signed = dtype == NTK_DTYPE_INT8 || dtype == NTK_DTYPE_INT16 ||
                     dtype == NTK_DTYPE_INT32 || dtype == NTK_DTYPE_INT64;

    *low = is_signed ? -ldexpl(1, bits - 1) : 0;
    *high = ldexpl(1, is_signed ? bits - 1 : bits) - 1;
}

static long double integer_value(enum ntk_dtype dtype, const void *bytes)
{
    uint64_t raw = 0;
    int bits = 8 * (int)ntk_dtype_bytes(dtype);
    long double low;
    long double high;

    memcpy(&raw, bytes, ntk_dtype_bytes(dtype));
    bounds(dtype, &low, &high);
    return low < 0 && raw >> (bits - 1) ? (long double)raw - ldexpl(1, bits) : (long double)raw;
}

static void floats_convert_to_integers_with_rounding_and_saturation(void **state)
{
    static const float special[] = { 0.5F,
                                     1.5F,
                                     2.5F,
                                     126.5F,
                                     127.5F,
                                     254.5F,
                                     255.5F,
                                     32766.5F,
                                     32767.5F,
                                     65534.5F,
                                     65535.5F,
                                     8388607.5F,
                                     16777216.0F,
                                     2147483520.0F,
                                     2147483648.0F,
                                     4294967040.0F,
                                     4294967296.0F,
                                     9.2e18F,
                                     9223372036854775808.0F,
                                     9.3e18F,
                                     1.8e19F,
                                     1.9e19F,
                                     3e38F,
                                     INFINITY };
    uint32_t random = 12345;

    for (size_t k = 0; k < sizeof integers / sizeof integers[0]; k++) {
        long double low;
        long double high;

        bounds(integers[k], &low, &high);
        for (int i = 0; i < 20000; i++) {
            float value;
            long double expected;
            uint8_t bytes[8] = { 0 };

            if (i < (int)(2 * sizeof special / sizeof special[0])) {
                value = (i & 1 ? -1.0F : 1.0F) * special[i / 2];
            } else {
                random = random * 1664525u + 1013904223u;
                value = ldexpf((float)(int32_t)random, (int)(random % 60) - 40);
            }
            expected = rintl((long double)value);
            expected = expected < low ? low : expected > high ? high : expected;
            assert_false(ntk_kernel_from_f32(integers[k], &value, 1, bytes, 8));
            if (integer_value(integers[k], bytes) != expected) {
                fail_msg("%s of %.9g is %.0Lf, not %.0Lf", ntk_dtype_name(integers[k]), value,
                         integer_value(integers[k], bytes), expected);
            }
        }
        {
            float nan = NAN;
            uint8_t bytes[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };

            ntk_kernel_from_f32(integers[k], &nan, 1, bytes, 8);
            assert_true(integer_value(integers[k], bytes) == 0);
        }
    }
}

static void integer_conversions_keep_the_value_or_saturate(void **state)
{
    uint64_t random = 88172645463325252u;

    for (size_t a = 0; a < sizeof integers / sizeof integers[0]; a++) {
        for (size_t b = 0; b < sizeof integers / sizeof integers[0]; b++) {
            long double low;
            long double high;

            bounds(integers[b], &low, &high);
            for (int i = 0; i < 3000; i++) {
                uint8_t from[8];
                uint8_t to[8] = { 0 };
                long double expected;

                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                memcpy(from, &random, 8);
                if (i % 3 == 0) {
                    memset(from + 1, i % 2 ? 0xff : 0, 7);
                }
                expected = integer_value(integers[a], from);
                expected = expected < low ? low : expected > high ? high : expected;
                ntk_kernel_cast(integers[a], from, 8, integers[b], to, 8, 1);
                assert_true(integer_value(integers[b], to) == expected);
            }
        }
    }
}

static void wide_integers_convert_to_the_nearest_float(void **state)
{
    const int64_t values[] = { 16777217, 16777219, -16777217, INT32_MAX, INT32_MIN, INT64_MAX };

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        float result;

        ntk_kernel_to_f32(NTK_DTYPE_INT64, &values[i], 8, 1, &result);
        assert_true(result == (float)values[i]);
    }
}

static void strided_rows_convert_like_single_elements(void **state)
{
    uint8_t from[2048];
    uint8_t packed[512];
    uint8_t strided[4096];
    float row[37];
    float back[37];
    int first = NTK_DTYPE_UINT64;

    for (size_t i = 0; i < sizeof from; i++) {
        from[i] = (uint8_t)(i * 37 + 11);
    }
    for (int d = first; d < NTK_DTYPE_COUNT; d++) {
        enum ntk_dtype dtype = (enum ntk_dtype)d;
        ptrdiff_t width = (ptrdiff_t)ntk_dtype_bytes(dtype);

        for (ptrdiff_t step = -3 * width; step <= 3 * width; step += width) {
            const uint8_t *start = from + 1024;

            ntk_kernel_to_f32(dtype, start, step, 37, row);
            for (int i = 0; i < 37; i++) {
                float one;

                ntk_kernel_to_f32(dtype, start + i * step, 0, 1, &one);
                assert_memory_equal(&one, &row[i], sizeof one);
            }
            if (step == 0) {
                continue;
            }
            ntk_kernel_from_f32(dtype, row, 37, packed, width);
            ntk_kernel_from_f32(dtype, row, 37, strided + 2048, step);
            for (int i = 0; i < 37; i++) {
                assert_memory_equal(packed + i * width, strided + 2048 + i * step, (size_t)width);
            }
        }
        ntk_kernel_to_f32(dtype, packed, width, 37, back);
    }
}

static void a_nan_is_reported_only_if_written(void **state)
{
    float row[100] = { 0 };
    uint8_t out[800];

    assert_false(ntk_kernel_from_f32(NTK_DTYPE_BFLOAT16, row, 100, out, 2));
    row[97] = NAN;
    assert_true(ntk_kernel_from_f32(NTK_DTYPE_BFLOAT16, row, 100, out, 2));
    assert_true(ntk_kernel_from_f32(NTK_DTYPE_FLOAT8E4, row, 100, out, 1));
    assert_false(ntk_kernel_from_f32(NTK_DTYPE_INT32, row, 100, out, 4));
    row[97] = INFINITY;
    assert_false(ntk_kernel_from_f32(NTK_DTYPE_FLOAT16, row, 100, out, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_narrow_value_converts_to_float32_exactly),
        cmocka_unit_test(every_narrow_value_round_trips_through_float32),
        cmocka_unit_test(rounding_is_to_nearest_even_at_every_boundary),
        cmocka_unit_test(too_large_values_saturate_or_become_infinite),
        cmocka_unit_test(floats_convert_to_integers_with_rounding_and_saturation),
        cmocka_unit_test(integer_conversions_keep_the_value_or_saturate),
        cmocka_unit_test(wide_integers_convert_to_the_nearest_float),
        cmocka_unit_test(strided_rows_convert_like_single_elements),
        cmocka_unit_test(a_nan_is_reported_only_if_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
