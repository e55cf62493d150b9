/* SPDX-License-Identifier: MIT */
/* Rounds of requests to many hosts, at times of the test: periods of 100 ns that start at 1000. */
#include "shared/hosts/hosts_round.h"

#include "tests/support/unit.h"

static struct ntk_hosts_round begun(bool begin_whole)
{
    struct ntk_hosts_round round = ntk_hosts_round_begin(100, begin_whole, 1000);

    assert_true(ntk_hosts_round_is_due(&round, 1000));
    return round;
}

static void hosts_are_queried_once_per_period(void **state)
{
    struct ntk_hosts_round round = begun(false);

    (void)state;
    assert_false(ntk_hosts_round_is_due(&round, 1099));
    assert_true(ntk_hosts_round_is_due(&round, 1101));
    assert_false(ntk_hosts_round_is_due(&round, 1199));
    assert_true(ntk_hosts_round_is_due(&round, 1200)); /* not a period after 1101 */
}

static void periods_missed_by_a_late_caller_are_skipped(void **state)
{
    struct ntk_hosts_round round = begun(false);

    (void)state;
    assert_true(ntk_hosts_round_is_due(&round, 1750));
    assert_false(ntk_hosts_round_is_due(&round, 1849));
    assert_true(ntk_hosts_round_is_due(&round, 1850));
}

static void an_update_is_available_once_every_host_has_answered(void **state)
{
    struct ntk_hosts_round round = begun(false);

    (void)state;
    assert_false(ntk_hosts_round_has_news(&round, 1010, true, true));
    assert_int_equal(ntk_hosts_round_until(&round), 1050);
    assert_true(ntk_hosts_round_has_news(&round, 1020, false, false));
    assert_false(ntk_hosts_round_has_news(&round, 1030, false, false)); /* once per period */
    assert_int_equal(ntk_hosts_round_until(&round), 1100);
    assert_true(ntk_hosts_round_is_due(&round, 1100));
    assert_true(ntk_hosts_round_has_news(&round, 1110, false, false));
}

static void an_update_waits_for_half_a_period_at_most(void **state)
{
    struct ntk_hosts_round round = begun(false);

    (void)state;
    assert_false(ntk_hosts_round_has_news(&round, 1049, true, true));
    assert_true(ntk_hosts_round_has_news(&round, 1050, true, true));
    assert_int_equal(ntk_hosts_round_until(&round), 1100);
}

static void the_first_update_waits_for_all_hosts_on_request(void **state)
{
    struct ntk_hosts_round round = begun(true);

    (void)state;
    assert_false(ntk_hosts_round_has_news(&round, 1090, true, true));
    assert_int_equal(ntk_hosts_round_until(&round), 1100);
    assert_true(ntk_hosts_round_is_due(&round, 1100)); /* meanwhile others are asked again */
    assert_false(ntk_hosts_round_has_news(&round, 1160, true, true));
    assert_true(ntk_hosts_round_has_news(&round, 1170, true, false));
    assert_true(ntk_hosts_round_is_due(&round, 1200));
    assert_false(ntk_hosts_round_has_news(&round, 1240, true, false));
    assert_true(ntk_hosts_round_has_news(&round, 1250, true, false));
}

static void no_host_update_is_delivered_before_the_first_query(void **state)
{
    struct ntk_hosts_round round = ntk_hosts_round_begin(100, false, 1000);

    (void)state;
    assert_false(ntk_hosts_round_has_news(&round, 1000, false, false));
    assert_int_equal(ntk_hosts_round_until(&round), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_queried_once_per_period),
        cmocka_unit_test(periods_missed_by_a_late_caller_are_skipped),
        cmocka_unit_test(an_update_is_available_once_every_host_has_answered),
        cmocka_unit_test(an_update_waits_for_half_a_period_at_most),
        cmocka_unit_test(the_first_update_waits_for_all_hosts_on_request),
        cmocka_unit_test(no_host_update_is_delivered_before_the_first_query),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
