/* SPDX-License-Identifier: MIT */
/*
 * Property test: thousands of random patterns, each moved by the mover and by a naive one that
 * computes the address of every element from its index. The bytes around the target must not
 * change.
 */
#include "runtime-hooks/engine/dma_mover.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/engine/kernel_dtype.h"
#include "tests/support/unit.h"

#define MEMORY_BYTES 65536
#define MIDDLE 32768

static uint64_t random_state = 88172645463325252u;

static uint64_t random_below(uint64_t bound)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % bound;
}

/* Address of element n, by division, independent of the mover's bookkeeping. */
static int64_t address_of(const struct ntk_dma_walk *walk, uint64_t n)
{
    int64_t address = 0;

    for (unsigned d = 0; d < walk->dim_count; d++) {
        address += (int64_t)(n % walk->count[d]) * walk->step[d];
        n /= walk->count[d];
    }
    return address;
}

/* A pattern of this number of elements; distinct: no two at the same place (a target). */
static struct ntk_dma_walk random_walk(enum ntk_dtype dtype, uint64_t elements, bool distinct)
{
    struct ntk_dma_walk walk = { .dtype = dtype };
    int64_t width = (int64_t)ntk_dtype_bytes(dtype);
    uint64_t left = elements;
    int64_t span = width;

    while (left > 1 && walk.dim_count < NTK_DMA_DIMS_MAX - 1) {
        uint64_t count = 1 + random_below(left);

        while (left % count != 0) {
            count--;
        }
        walk.count[walk.dim_count] = count;
        if (distinct) {
            int64_t gap = random_below(3) == 0 ? (int64_t)random_below(9) : 0;

            walk.step[walk.dim_count] = span + gap;
            span = walk.step[walk.dim_count] * (int64_t)count;
            if (random_below(8) == 0) {
                walk.step[walk.dim_count] = -walk.step[walk.dim_count];
            }
        } else {
            walk.step[walk.dim_count] = random_below(2) ? span : (int64_t)random_below(64) - 32;
            span = width * (int64_t)(elements / left * count);
        }
        left /= count;
        walk.dim_count++;
    }
    if (left > 1 || walk.dim_count == 0) {
        walk.count[walk.dim_count] = left;
        walk.step[walk.dim_count] = span;
        walk.dim_count++;
    }
    return walk;
}

static bool fits(const struct ntk_dma_walk *walk)
{
    int64_t low;
    int64_t high;

    return ntk_dma_walk_extent(walk, &low, &high) && low > -MIDDLE && high < MIDDLE;
}

static void fill(uint8_t *memory)
{
    for (size_t i = 0; i < MEMORY_BYTES; i++) {
        memory[i] = (uint8_t)random_below(256);
    }
}

static const enum ntk_dtype dtypes[] = { NTK_DTYPE_UINT8,    NTK_DTYPE_FLOAT16,  NTK_DTYPE_FLOAT32,
                                         NTK_DTYPE_INT64,    NTK_DTYPE_BFLOAT16, NTK_DTYPE_INT32,
                                         NTK_DTYPE_FLOAT8E4, NTK_DTYPE_INT16 };
#define DTYPE_COUNT (sizeof dtypes / sizeof dtypes[0])

static uint8_t from[MEMORY_BYTES];
static uint8_t to[MEMORY_BYTES];
static uint8_t expected[MEMORY_BYTES];

static void a_copying_transfer_equals_a_naive_implementation(void **state)
{
    fill(from);
    fill(to);
    for (int round = 0; round < 4000; round++) {
        if (round % 100 == 0) {
            fill(from); /* otherwise a result of an earlier round could hide a wrong element */
        }
        enum ntk_dtype dtype = dtypes[random_below(DTYPE_COUNT)];
        size_t width = ntk_dtype_bytes(dtype);
        uint64_t elements = 1 + random_below(round % 10 == 0 ? 2000 : 60);
        struct ntk_dma_walk a = random_walk(dtype, elements, true);
        struct ntk_dma_walk b = random_walk(dtype, elements, false);

        if (!fits(&a) || !fits(&b)) {
            continue;
        }
        memcpy(expected, to, sizeof to); /* the state after earlier rounds */
        for (uint64_t n = 0; n < elements; n++) {
            memcpy(expected + MIDDLE + address_of(&a, n), from + MIDDLE + address_of(&b, n), width);
        }
        ntk_dma_walk_normalise(&a);
        ntk_dma_walk_normalise(&b);
        ntk_dma_copy(&a, to + MIDDLE, &b, from + MIDDLE);
        assert_memory_equal(to, expected, sizeof to);
    }
}

/* Method: channels next to each other in memory become separate rows, with gaps in the rows. */
static void interleaved_channels_are_moved_to_rows_and_back(void **state)
{
    for (unsigned channels = 1; channels <= 40; channels += 3) {
        for (unsigned width = 1; width <= 37; width += 4) {
            uint64_t elements = (uint64_t)channels * width * 3;
            struct ntk_dma_walk outside = { .dtype = NTK_DTYPE_FLOAT16,
                                            .dim_count = 3,
                                            .count = { width, 3, channels },
                                            .step = { 2 * channels, 2 * channels * width, 2 } };
            struct ntk_dma_walk inside = { .dtype = NTK_DTYPE_FLOAT16,
                                           .dim_count = 3,
                                           .count = { width, 3, channels },
                                           .step = { 2, 2 * (width + 2), 6 * (width + 5) } };

            ntk_dma_walk_normalise(&outside);
            ntk_dma_walk_normalise(&inside);
            for (int back = 0; back < 2; back++) {
                const struct ntk_dma_walk *a = back ? &outside : &inside;
                const struct ntk_dma_walk *b = back ? &inside : &outside;

                fill(from);
                fill(to);
                memcpy(expected, to, MEMORY_BYTES);
                for (uint64_t n = 0; n < elements; n++) {
                    memcpy(expected + MIDDLE + address_of(a, n), from + MIDDLE + address_of(b, n),
                           2);
                }
                ntk_dma_copy(a, to + MIDDLE, b, from + MIDDLE);
                assert_memory_equal(to, expected, MEMORY_BYTES);
            }
        }
    }
}

static void a_casting_transfer_equals_a_naive_implementation(void **state)
{
    for (int round = 0; round < 2000; round++) {
        enum ntk_dtype to_dtype = dtypes[random_below(DTYPE_COUNT)];
        enum ntk_dtype from_dtype = dtypes[random_below(DTYPE_COUNT)];
        uint64_t elements = 1 + random_below(300);
        struct ntk_dma_walk a = random_walk(to_dtype, elements, true);
        struct ntk_dma_walk b = random_walk(from_dtype, elements, false);

        if (!fits(&a) || !fits(&b)) {
            continue;
        }
        if (round % 50 == 0) {
            fill(from);
            fill(to);
        }
        memcpy(expected, to, sizeof to);
        for (uint64_t n = 0; n < elements; n++) {
            ntk_kernel_cast(from_dtype, from + MIDDLE + address_of(&b, n), 8, to_dtype,
                            expected + MIDDLE + address_of(&a, n), 8, 1);
        }
        ntk_dma_walk_normalise(&a);
        ntk_dma_walk_normalise(&b);
        ntk_dma_cast(&a, to + MIDDLE, &b, from + MIDDLE);
        assert_memory_equal(to, expected, sizeof to);
    }
}

static double fold(enum ntk_dma_fold f, double x, double y)
{
    switch (f) {
    case NTK_DMA_MIN:
        return x < y ? x : y;
    case NTK_DMA_MAX:
        return x > y ? x : y;
    default:
        return (double)(float)(x + y);
    }
}

/* Method: small integers as float32 and int32, so that every sum is exact and can be computed in
 * double. */
static void folded_sources_equal_the_naive_sum(void **state)
{
    for (int round = 0; round < 1500; round++) {
        enum ntk_dma_fold f = (enum ntk_dma_fold)random_below(4);
        bool integers = random_below(2) && f != NTK_DMA_FMA;
        enum ntk_dtype dtype = integers ? NTK_DTYPE_INT32 : NTK_DTYPE_FLOAT32;
        size_t count = 1 + random_below(NTK_DMA_SOURCES_MAX);
        uint64_t elements = 1 + random_below(700);
        struct ntk_dma_source sources[NTK_DMA_SOURCES_MAX];
        struct ntk_dma_walk a = random_walk(dtype, elements, true);
        bool accumulates = random_below(2);
        bool has_start = !accumulates && random_below(2);
        double start = (double)random_below(100) - 50;
        bool ok = fits(&a);

        for (size_t i = 0; i < MEMORY_BYTES / 4; i++) {
            int32_t number = (int32_t)random_below(2000) - 1000;
            float real = (float)number;

            memcpy(from + 4 * i, integers ? (void *)&number : (void *)&real, 4);
            memcpy(to + 4 * i, integers ? (void *)&number : (void *)&real, 4);
        }
        for (size_t s = 0; s < count; s++) {
            struct ntk_dma_walk walk = random_walk(dtype, elements, false);

            for (unsigned d = 0; d < walk.dim_count; d++) { /* whole elements */
                walk.step[d] = walk.step[d] / 4 * 4;
            }
            ok = ok && fits(&walk);
            sources[s].walk = walk;
            sources[s].from = from + MIDDLE;
            sources[s].scale = (float)random_below(5);
        }
        for (unsigned d = 0; d < a.dim_count; d++) {
            a.step[d] = (a.step[d] + (a.step[d] < 0 ? -3 : 3)) / 4 * 4;
        }
        /* Rounding a step up may put two elements at the same place, which a target must not
         * have. */
        for (unsigned d = 1; d < a.dim_count; d++) {
            int64_t inner =
                (a.step[d - 1] < 0 ? -a.step[d - 1] : a.step[d - 1]) * (int64_t)a.count[d - 1];

            ok = ok && (a.step[d] < 0 ? -a.step[d] : a.step[d]) >= inner;
        }
        if (!ok || !fits(&a)) {
            continue;
        }
        memcpy(expected, to, sizeof to);
        for (uint64_t n = 0; n < elements; n++) {
            uint8_t *target = expected + MIDDLE + address_of(&a, n);
            double value = start;
            bool have = accumulates || has_start;

            if (accumulates) {
                float real;
                int32_t number;

                memcpy(&real, target, 4);
                memcpy(&number, target, 4);
                value = integers ? number : (double)real;
            }
            for (size_t s = 0; s < count; s++) {
                const uint8_t *source = sources[s].from + address_of(&sources[s].walk, n);
                float real;
                int32_t number;
                double operand;

                memcpy(&real, source, 4);
                memcpy(&number, source, 4);
                operand = integers ? number : (double)real;
                if (f == NTK_DMA_FMA) {
                    operand *= (double)sources[s].scale;
                }
                value = have ? fold(f, value, operand) : operand;
                have = true;
            }
            {
                float real = (float)value;
                int32_t number = (int32_t)value;

                memcpy(target, integers ? (void *)&number : (void *)&real, 4);
            }
        }
        ntk_dma_walk_normalise(&a);
        for (size_t s = 0; s < count; s++) {
            ntk_dma_walk_normalise(&sources[s].walk);
        }
        ntk_dma_compute(f, &a, to + MIDDLE, sources, count, accumulates, has_start ? &start : NULL);
        assert_memory_equal(to, expected, sizeof to);
    }
}

/* Tiles one after another, each separately. */
static void a_transpose_moves_every_element_to_its_swapped_indices(void **state)
{
    static uint8_t scratch[MEMORY_BYTES];

    fill(to);
    for (int round = 0; round < 500; round++) {
        static const enum ntk_dtype raw[] = { NTK_DTYPE_UINT8, NTK_DTYPE_UINT16, NTK_DTYPE_UINT32,
                                              NTK_DTYPE_UINT64 };
        enum ntk_dtype dtype = raw[random_below(4)];
        size_t width = ntk_dtype_bytes(dtype);
        uint32_t shape[4];
        uint8_t order[4] = { 0, 1, 2, 3 };
        uint64_t tile = 1;
        struct ntk_dma_walk a;
        struct ntk_dma_walk b;

        for (int d = 0; d < 4; d++) {
            int other = (int)random_below(4);
            uint8_t keep = order[d];

            shape[d] = 1 + (uint32_t)random_below(7);
            tile *= shape[d];
            order[d] = order[other];
            order[other] = keep;
        }
        uint64_t elements = tile * (1 + random_below(3));
        a = random_walk(dtype, elements, true);
        b = random_walk(dtype, elements, false);
        if (!fits(&a) || !fits(&b)) {
            continue;
        }
        if (round % 20 == 0) {
            fill(from);
        }
        memcpy(expected, to, sizeof to);
        for (uint64_t n = 0; n < elements; n++) {
            uint32_t index[4];
            uint64_t rest = n;
            uint64_t out = n / tile;

            for (int d = 3; d >= 0; d--) {
                index[d] = (uint32_t)(rest % shape[d]);
                rest /= shape[d];
            }
            for (int d = 0; d < 4; d++) {
                out = out * shape[order[d]] + index[order[d]];
            }
            memcpy(expected + MIDDLE + address_of(&a, out), from + MIDDLE + address_of(&b, n),
                   width);
        }
        ntk_dma_walk_normalise(&a);
        ntk_dma_walk_normalise(&b);
        ntk_dma_transpose(&a, to + MIDDLE, &b, from + MIDDLE, shape, order, scratch);
        assert_memory_equal(to, expected, sizeof to);
    }
}

static void contiguous_dimensions_are_merged_into_one_run(void **state)
{
    struct ntk_dma_walk walk = { .dtype = NTK_DTYPE_UINT8,
                                 .dim_count = 4,
                                 .count = { 100, 1, 4, 3 },
                                 .step = { 1, 7, 100, 400 } };

    ntk_dma_walk_normalise(&walk);
    assert_int_equal(walk.dim_count, 1);
    assert_int_equal(walk.count[0], 1200);
    assert_int_equal(ntk_dma_walk_run_bytes(&walk), 1200);
}

static void an_extent_that_overflows_is_rejected(void **state)
{
    struct ntk_dma_walk walk = { .dtype = NTK_DTYPE_UINT8, .dim_count = 2 };
    int64_t low;
    int64_t high;
    uint64_t elements;

    walk.count[0] = 3;
    walk.step[0] = INT64_MAX;
    walk.count[1] = 1;
    assert_false(ntk_dma_walk_extent(&walk, &low, &high));
    walk.step[0] = INT64_MIN;
    assert_false(ntk_dma_walk_extent(&walk, &low, &high));
    walk.step[0] = INT64_MAX / 2;
    walk.step[1] = INT64_MAX / 2;
    walk.count[1] = 2;
    assert_false(ntk_dma_walk_extent(&walk, &low, &high));
    walk.count[0] = UINT64_MAX;
    walk.step[0] = 1;
    assert_false(ntk_dma_walk_extent(&walk, &low, &high));
    assert_false(ntk_dma_walk_elements(&walk, &elements));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copying_transfer_equals_a_naive_implementation),
        cmocka_unit_test(interleaved_channels_are_moved_to_rows_and_back),
        cmocka_unit_test(a_casting_transfer_equals_a_naive_implementation),
        cmocka_unit_test(folded_sources_equal_the_naive_sum),
        cmocka_unit_test(a_transpose_moves_every_element_to_its_swapped_indices),
        cmocka_unit_test(contiguous_dimensions_are_merged_into_one_run),
        cmocka_unit_test(an_extent_that_overflows_is_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
