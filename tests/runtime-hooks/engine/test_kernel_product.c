/* SPDX-License-Identifier: MIT */
/*
 * Products of packed matrices. Method: seeded shapes and numbers; every element has the bits of
 * successive fused multiply-adds, on any processor, and no byte outside the result is written.
 */
#include "runtime-hooks/engine/kernel_product.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/engine/kernel_random.h"
#include "tests/support/unit.h"

#define ROWS 128
#define COLUMNS 512
#define DEPTH 128
#define STEP (COLUMNS + 3)
#define CASES 20
#define AROUND 1234.5F

static float stationary[DEPTH][ROWS];
static float moving[DEPTH][COLUMNS];
static float before[ROWS + 1][STEP];
static float out[ROWS + 1][STEP];

static float number(struct ntk_rng *rng)
{
    return (float)((double)(ntk_rng_next(rng) % 20001) / 1e4 - 1);
}

static void fill(struct ntk_rng *rng, float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = number(rng);
    }
}

static float *packed_of(enum ntk_product_side side, const float *values, uint32_t step,
                        uint32_t depth, uint32_t count)
{
    size_t floats = (size_t)(depth + 1) * ((count + 31) / 32 * 32);
    float *packed = aligned_alloc(64, (floats * sizeof *packed + 63) / 64 * 64);

    assert_non_null(packed);
    for (uint32_t k = 0; k < depth; k++) {
        ntk_product_pack_row(side, depth, k, values + (size_t)k * step, count, packed);
    }
    return packed;
}

/* These products exist only on processors that have the instruction. */
#ifdef __x86_64__
__attribute__((target("fma")))
#endif
static void
row_of(uint32_t row, uint32_t columns, uint32_t depth, float *sums)
{
    memset(sums, 0, columns * sizeof *sums);
    for (uint32_t k = 0; k < depth; k++) {
        for (uint32_t c = 0; c < columns; c++) {
            sums[c] = fmaf(stationary[k][row], moving[k][c], sums[c]);
        }
    }
}

static void check(uint32_t rows, uint32_t columns, uint32_t depth, bool adds)
{
    float *a = packed_of(NTK_PRODUCT_STATIONARY, &stationary[0][0], ROWS, depth, rows);
    float *b = packed_of(NTK_PRODUCT_MOVING, &moving[0][0], COLUMNS, depth, columns);
    bool nan = ntk_product_multiply(rows, columns, depth, a, b, adds, &out[0][0], STEP);
    bool expected_nan = false;
    float sums[COLUMNS] = { 0 };

    for (uint32_t r = 0; r <= ROWS; r++) {
        if (r < rows) {
            row_of(r, columns, depth, sums);
        }
        for (uint32_t c = 0; c < STEP; c++) {
            float expected = before[r][c];

            if (r < rows && c < columns) {
                expected = adds ? sums[c] + before[r][c] : sums[c];
            }
            expected_nan |= r < rows && c < columns && isnan(expected);
            if (isnan(expected) ? !isnan(out[r][c]) : out[r][c] != expected) {
                fail_msg("%u x %u x %u: [%u][%u] is %a, not %a", rows, columns, depth, r, c,
                         (double)out[r][c], (double)expected);
            }
        }
    }
    assert_int_equal(nan, expected_nan);
    free(a);
    free(b);
}

static void every_product_element_is_summed_in_depth_order(void **state)
{
    struct ntk_rng rng;

    (void)state;
    if (!ntk_product_is_there()) {
        skip();
    }
    ntk_rng_seed(&rng, 7);
    for (int i = 0; i < CASES; i++) {
        uint32_t rows = i % 3 == 0 ? ROWS : (uint32_t)(1 + ntk_rng_next(&rng) % ROWS);
        uint32_t columns = i % 4 == 0 ? COLUMNS : (uint32_t)(1 + ntk_rng_next(&rng) % COLUMNS);
        uint32_t depth = i % 5 == 0 ? DEPTH : (uint32_t)(1 + ntk_rng_next(&rng) % DEPTH);

        fill(&rng, &stationary[0][0], sizeof stationary / sizeof(float));
        fill(&rng, &moving[0][0], sizeof moving / sizeof(float));
        fill(&rng, &before[0][0], sizeof before / sizeof(float));
        if (i % 7 == 6) {
            moving[depth - 1][columns - 1] = NAN;
        }
        memcpy(out, before, sizeof out);
        check(rows, columns, depth, i % 2 != 0);
    }
}

/* A whole matrix of float16 is converted to the same values as its separate rows. */
static void packed_float16_rows_equal_rows_converted_one_at_a_time(void **state)
{
    static uint16_t halves[DEPTH][COLUMNS];
    struct ntk_rng rng;

    (void)state;
    if (!ntk_product_is_there()) {
        skip();
    }
    ntk_rng_seed(&rng, 8);
    for (uint32_t columns = 16; columns <= COLUMNS; columns += 16) {
        uint32_t depth = (uint32_t)(1 + ntk_rng_next(&rng) % DEPTH);
        size_t bytes = (size_t)(depth + 1) * ((columns + 31) / 32 * 32) * sizeof(float);
        float *packed = aligned_alloc(64, (bytes + 63) / 64 * 64);
        float *expected;

        assert_non_null(packed);
        for (uint32_t k = 0; k < depth; k++) {
            for (uint32_t c = 0; c < columns; c++) {
                uint32_t fraction = (uint32_t)(ntk_rng_next(&rng) % 1024);

                halves[k][c] = (uint16_t)(15U << 10 | fraction); /* 1 to 2 */
                moving[k][c] = 1 + (float)fraction / 1024;
            }
        }
        if (ntk_product_pack_half(depth, (const uint8_t *)halves, sizeof halves[0], columns,
                                  packed)) {
            expected = packed_of(NTK_PRODUCT_MOVING, &moving[0][0], COLUMNS, depth, columns);
            for (uint32_t c = 0; c < columns; c += 32) {
                uint32_t width = columns - c < 32 ? columns - c : 32;
                size_t at = (size_t)c * (depth + 1);

                assert_memory_equal(packed + at, expected + at,
                                    (size_t)depth * width * sizeof(float));
            }
            free(expected);
        }
        free(packed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_product_element_is_summed_in_depth_order),
        cmocka_unit_test(packed_float16_rows_equal_rows_converted_one_at_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
