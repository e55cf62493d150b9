/* SPDX-License-Identifier: MIT */
/* Stochastic rounding: the result is one of the two neighbours, and the mean is the value. */
#include "runtime-hooks/engine/kernel_random.h"

#include <math.h>
#include <string.h>

#include "runtime-hooks/engine/kernel_dtype.h"
#include "tests/support/unit.h"

#define DRAWS 40000

static const struct format {
    enum ntk_dtype dtype;
    int mantissa_bits, exponent_min;
    float largest;
} formats[] = {
    { NTK_DTYPE_FLOAT8E3, 4, -2, 15.5F },
    { NTK_DTYPE_FLOAT8E4, 3, -6, 448.0F },
    { NTK_DTYPE_FLOAT8E5, 2, -14, 57344.0F },
    { NTK_DTYPE_FLOAT16, 10, -14, 65504.0F },
    { NTK_DTYPE_BFLOAT16, 7, -126, 3.38953139e38F },
};

/* Distance of the two values around a number. */
static double unit_of(const struct format *f, double value)
{
    int exponent;

    (void)frexp(value, &exponent);
    exponent = exponent - 1 < f->exponent_min ? f->exponent_min : exponent - 1;
    return ldexp(1.0, exponent - f->mantissa_bits);
}

static void check_mean(const struct format *f, float value)
{
    static float from[DRAWS], to[DRAWS];
    double unit = unit_of(f, fabs((double)value));
    double low = floor((double)value / unit) * unit;
    double share = ((double)value - low) / unit;
    double ups = 0;
    struct ntk_rng rng;

    ntk_rng_seed(&rng, 1);
    for (size_t i = 0; i < DRAWS; i++) {
        from[i] = value;
    }
    ntk_rng_round(&rng, f->dtype, from, DRAWS, to);
    for (size_t i = 0; i < DRAWS; i++) {
        bool up = (double)to[i] == low + unit;

        if (!up && (double)to[i] != low) {
            fail_msg("%s: %.9g became %.9g, not %.9g or %.9g", ntk_dtype_name(f->dtype),
                     (double)value, (double)to[i], low, low + unit);
        }
        ups += up ? 1 : 0;
    }
    /* Five standard deviations; the numbers are the same in every run. */
    if (fabs(ups / DRAWS - share) > 5 * sqrt(share * (1 - share) / DRAWS) + 1e-9) {
        fail_msg("%s: %.9g went up %.4f of the times, not %.4f", ntk_dtype_name(f->dtype),
                 (double)value, ups / DRAWS, share);
    }
}

static void the_mean_of_stochastic_roundings_is_the_value(void **state)
{
    static const double shares[] = { 0, 0.5, 0.25, 0.75, 0.1, 0.9, 0.015625 };

    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        const struct format *f = &formats[k];
        double smallest = ldexp(1.0, f->exponent_min);
        const double bases[] = { 1.0,          1.5,          smallest,
                                 smallest * 4, smallest / 2, (double)f->largest / 2 };

        for (size_t b = 0; b < sizeof bases / sizeof *bases; b++) {
            for (size_t s = 0; s < sizeof shares / sizeof *shares; s++) {
                float value = (float)(bases[b] + shares[s] * unit_of(f, bases[b]));

                check_mean(f, value);
                check_mean(f, -value);
            }
        }
    }
}

/* All bit patterns of the narrow type: none is changed by any random bits. */
static void representable_values_are_unchanged_by_stochastic_rounding(void **state)
{
    static uint16_t codes[65536];
    static float from[65536], to[65536];
    struct ntk_rng rng;

    ntk_rng_seed(&rng, 3);
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        size_t width = ntk_dtype_bytes(formats[k].dtype);
        size_t count = width == 1 ? 256 : 65536;
        uint8_t *bytes = (uint8_t *)codes;

        for (size_t i = 0; i < count; i++) {
            if (width == 1) {
                bytes[i] = (uint8_t)i;
            } else {
                codes[i] = (uint16_t)i;
            }
        }
        ntk_kernel_to_f32(formats[k].dtype, codes, (ptrdiff_t)width, count, from);
        ntk_rng_round(&rng, formats[k].dtype, from, count, to);
        assert_memory_equal(from, to, count * sizeof *from);
    }
}

static void wide_types_and_nans_are_unchanged_by_stochastic_rounding(void **state)
{
    const float from[] = { 1.1F, -3.3e38F, NAN, INFINITY, -INFINITY, 1e-45F, 0.0F, -0.0F };
    float to[8];
    struct ntk_rng rng;

    ntk_rng_seed(&rng, 5);
    ntk_rng_round(&rng, NTK_DTYPE_FLOAT32, from, 8, to);
    assert_memory_equal(from, to, sizeof to);
    ntk_rng_round(&rng, NTK_DTYPE_INT8, from, 8, to);
    assert_memory_equal(from, to, sizeof to);
    ntk_rng_round(&rng, NTK_DTYPE_FLOAT16, from + 2, 3, to);
    assert_memory_equal(from + 2, to, 3 * sizeof *to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_of_stochastic_roundings_is_the_value),
        cmocka_unit_test(representable_values_are_unchanged_by_stochastic_rounding),
        cmocka_unit_test(wide_types_and_nans_are_unchanged_by_stochastic_rounding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
