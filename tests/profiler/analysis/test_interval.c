/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/interval.h"
#include "tests/support/unit.h"

static void overlaps_count_once_in_the_union_and_twice_in_the_sum(void **state)
{
    struct ntk_cover cover = { 0 };

    ntk_cover_add(&cover, -10, 5);
    ntk_cover_add(&cover, 10, 20);
    ntk_cover_add(&cover, 15, 30);
    ntk_cover_add(&cover, 16, 17); /* inside */
    ntk_cover_add(&cover, 30, 31); /* touches */
    ntk_cover_add(&cover, 50, 50); /* takes no time */
    ntk_cover_add(&cover, 60, 55); /* not an interval */
    assert_int_equal(cover.sum_ps, 15 + 10 + 15 + 1 + 1);
    assert_int_equal(cover.covered_ps, 15 + 21);
}

static int compare(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;

    return *x < *y ? -1 : *x > *y;
}

static void sums_of_random_spans_match_a_direct_count(void **state)
{
    enum { LENGTH = 300, SPANS = 40 };
    uint32_t seed = 1;

    for (int round = 0; round < 200; round++) {
        struct ntk_cover cover = { 0 };
        int64_t starts[SPANS];
        char covered[LENGTH] = { 0 };
        int64_t expected = 0;
        for (int i = 0; i < SPANS; i++) {
            seed = seed * 1664525 + 1013904223;
            starts[i] = (seed >> 8) % (LENGTH - 20);
        }
        qsort(starts, SPANS, sizeof *starts, compare);
        for (int i = 0; i < SPANS; i++) {
            seed = seed * 1664525 + 1013904223;
            int64_t length = (seed >> 24) % 20;
            ntk_cover_add(&cover, starts[i], starts[i] + length);
            memset(covered + starts[i], 1, (size_t)length);
        }
        for (size_t i = 0; i < LENGTH; i++) {
            expected += covered[i];
        }
        assert_int_equal(cover.covered_ps, expected);
    }
}

static void interval_sums_are_limited_to_the_maximum(void **state)
{
    struct ntk_cover cover = { 0 };

    ntk_cover_add(&cover, 0, INT64_MAX);
    ntk_cover_add(&cover, 1, INT64_MAX);
    assert_true(cover.sum_ps == INT64_MAX);
    assert_true(cover.covered_ps == INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlaps_count_once_in_the_union_and_twice_in_the_sum),
        cmocka_unit_test(sums_of_random_spans_match_a_direct_count),
        cmocka_unit_test(interval_sums_are_limited_to_the_maximum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
