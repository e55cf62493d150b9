/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/analysis/interval.h"

static void overlaps_count_once_in_the_union_and_twice_in_the_sum(void **state)
{
    struct ntk_intervals spans = { 0 };

    (void)state;
    ntk_intervals_add(&spans, 10, 20);
    ntk_intervals_add(&spans, 15, 30); /* overlaps */
    ntk_intervals_add(&spans, 30, 31); /* touches */
    ntk_intervals_add(&spans, 0, 5);   /* comes late */
    ntk_intervals_add(&spans, 4, 11);
    ntk_intervals_add(&spans, 50, 50); /* takes no time */
    ntk_intervals_add(&spans, 60, 55); /* is none */
    assert_int_equal(spans.sum_ps, 10 + 15 + 1 + 5 + 7);
    assert_int_equal(ntk_intervals_union_ps(&spans), 31);
    assert_int_equal(spans.count, 2);
    ntk_intervals_fini(&spans);
    assert_int_equal(ntk_intervals_union_ps(&spans), 0);
}

static void any_order_gives_what_counting_by_hand_gives(void **state)
{
    enum { LENGTH = 300 };
    uint32_t seed = 1;

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct ntk_intervals spans = { 0 };
        char covered[LENGTH] = { 0 };
        int64_t expected = 0;
        for (int i = 0; i < 40; i++) {
            seed = seed * 1664525 + 1013904223;
            int64_t start = (seed >> 8) % (LENGTH - 20);
            int64_t length = (seed >> 24) % 20;
            ntk_intervals_add(&spans, start, start + length);
            memset(covered + start, 1, (size_t)length);
        }
        for (size_t i = 0; i < LENGTH; i++) {
            expected += covered[i];
        }
        assert_int_equal(ntk_intervals_union_ps(&spans), expected);
        ntk_intervals_fini(&spans);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlaps_count_once_in_the_union_and_twice_in_the_sum),
        cmocka_unit_test(any_order_gives_what_counting_by_hand_gives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
