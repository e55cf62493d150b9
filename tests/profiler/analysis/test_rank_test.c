/* SPDX-License-Identifier: MIT */
/* Method: sets with p known from tables, by counting, or from the book. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "profiler/analysis/rank_test.h"
#include "tests/support/unit.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static double p_of(const double *a, size_t a_count, const double *b, size_t b_count)
{
    double p = -1;

    assert_int_equal(ntk_rank_test(a, a_count, b, b_count, &p), 0);
    return p;
}

#define EXPECT_P(a, b, expected) \
    assert_true(fabs(p_of((a), COUNT(a), (b), COUNT(b)) - (expected)) < 1e-9)

static void a_rank_test_uses_exact_probabilities_for_small_sets(void **state)
{
    static const double low[] = { 1, 2, 3, 4 };
    static const double high[] = { 5, 6, 7, 8 };
    static const double three[] = { 1, 2, 3 };
    static const double next_three[] = { 4, 5, 6 };
    static const double males[] = { 19, 22, 16, 29, 24 };
    static const double females[] = { 20, 11, 17, 12 };

    EXPECT_P(low, high, 2.0 / 70);
    EXPECT_P(high, low, 2.0 / 70);
    EXPECT_P(three, next_three, 0.1);
    EXPECT_P(males, females, 1.0 / 9); /* U = 17 */
    EXPECT_P(low, low, 1);
}

static void equal_values_have_the_same_rank(void **state)
{
    static const double ones[] = { 1, 1, 1, 1 };
    static const double twos[] = { 2, 2, 2, 2 };
    static const double mixed[] = { 1, 1, 2, 2 };

    EXPECT_P(ones, twos, 2.0 / 70); /* like a program with executions of equal length */
    EXPECT_P(ones, ones, 1);
    /* Values 1 (six of them) and 2 (two): both twos are in the second set in 15 of 70 divisions,
     * and both in the first in 15 others. */
    EXPECT_P(ones, mixed, 30.0 / 70);
}

static void the_approximation_for_large_sets_matches_the_exact_result(void **state)
{
    double a[40];
    double b[40];

    /* The second set is 3 of 32 ranks above the first; counted exactly, then approximated with one
     * more value: nearly the same sets. */
    for (int i = 0; i < 40; i++) {
        a[i] = i;
        b[i] = i + 3.5;
    }
    double exact = p_of(a, 32, b, 32);
    double approximate = p_of(a, 33, b, 33);
    assert_true(exact > 0.05 && exact < 0.3);
    assert_true(fabs(exact - approximate) < 0.02);
    for (int i = 0; i < 40; i++) {
        b[i] = i + 100;
    }
    assert_true(p_of(a, 40, b, 40) < 1e-10);
    for (int i = 0; i < 40; i++) {
        a[i] = 1;
        b[i] = 1;
    }
    assert_true(p_of(a, 40, b, 40) >= 1);
}

static void a_rank_test_of_too_small_sets_is_not_significant(void **state)
{
    double one = 1;
    double p;

    assert_int_equal(ntk_rank_test(&one, 1, &one, 0, &p), -EINVAL);
}

static void the_multiple_test_correction_keeps_only_significant_changes(void **state)
{
    static const double p[] = { 0.04, 0.01, 2, 0.5, 0.02, 0.03 };
    static const bool expected[] = { true, true, false, false, true, true };
    static const double alone[] = { 0.04, 0.5 };
    bool is_significant[6];

    assert_int_equal(ntk_rank_test_select(p, 6, 0.05, is_significant), 0);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(is_significant[i], expected[i]);
    }
    assert_int_equal(ntk_rank_test_select(alone, 2, 0.05, is_significant), 0);
    assert_false(is_significant[0]);
    assert_int_equal(ntk_rank_test_select(NULL, 0, 0.05, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_test_uses_exact_probabilities_for_small_sets),
        cmocka_unit_test(equal_values_have_the_same_rank),
        cmocka_unit_test(the_approximation_for_large_sets_matches_the_exact_result),
        cmocka_unit_test(a_rank_test_of_too_small_sets_is_not_significant),
        cmocka_unit_test(the_multiple_test_correction_keeps_only_significant_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
