/* SPDX-License-Identifier: MIT */
#include "tests/bench/rounds.h"

#include "tests/support/unit.h"

static void a_target_is_met_only_if_the_median_is_within_it(void **state)
{
    (void)state;
    assert_string_equal(rounds_verdict(0.9, 1.0), "met");
    assert_string_equal(rounds_verdict(1.1, 1.0), "met");
    assert_string_equal(rounds_verdict(1.0, 1.01), "met (minimum only)");
    assert_string_equal(rounds_verdict(0.5, 2.0), "met (minimum only)");
}

static void values_beyond_the_target_are_within_noise_or_missed(void **state)
{
    (void)state;
    assert_string_equal(rounds_verdict(1.2, 2.0), "within noise");
    assert_string_equal(rounds_verdict(1.4, 1.3), "within noise");
    assert_string_equal(rounds_verdict(1.31, 1.31), "missed");
    assert_string_equal(rounds_verdict(0.0 / 0.0, 0.0 / 0.0), "missed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_is_met_only_if_the_median_is_within_it),
        cmocka_unit_test(values_beyond_the_target_are_within_noise_or_missed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
