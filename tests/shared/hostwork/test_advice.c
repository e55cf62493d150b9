/* SPDX-License-Identifier: MIT */
/* Method: hand-written results, just above and just below the thresholds of advice.def. */
#include "shared/hostwork/advice.h"

#include <string.h>

#include "tests/support/unit.h"

#define MS UINT64_C(1000000)

static struct ntk_host_result result;
static struct ntk_host_advice advice[NTK_HOST_CAUSE_COUNT];

static int begin(void **state)
{
    memset(&result, 0, sizeof result);
    ntk_vec_init(&result.rows, sizeof(struct ntk_host_row));
    result.held_ns = 1000 * MS;
    result.idle_ns = 100 * MS;
    return 0;
}

static int end(void **state)
{
    ntk_vec_fini(&result.rows);
    return 0;
}

static void a_cause_above_its_threshold_has_advice_with_evidence(void **state)
{
    struct ntk_host_row row = { .cause = NTK_HOST_READ, .tid = 7, .share = { .ns = 11 * MS } };

    result.causes[NTK_HOST_READ].ns = 11 * MS;
    assert_int_equal(ntk_vec_push(&result.rows, &row), 0);
    assert_int_equal(ntk_host_advise(&result, advice), 1);
    assert_int_equal(advice[0].cause, NTK_HOST_READ);
    assert_true(advice[0].share > 0.109 && advice[0].share < 0.111);
    assert_int_equal(advice[0].evidence->tid, 7);
    assert_true(strlen(advice[0].text) > 0);
}

static void a_cause_at_its_threshold_has_no_advice(void **state)
{
    result.causes[NTK_HOST_READ].ns = 10 * MS;
    assert_int_equal(ntk_host_advise(&result, advice), 0);
}

static void advice_for_collective_waits_names_the_slow_and_hang_commands(void **state)
{
    result.causes[NTK_HOST_COLLECTIVE].ns = 40 * MS;
    assert_int_equal(ntk_host_advise(&result, advice), 1);
    assert_non_null(strstr(advice[0].text, "neuron-monitor slow"));
    assert_non_null(strstr(advice[0].text, "neuron-monitor hang"));
}

static void a_mostly_busy_core_has_no_advice(void **state)
{
    result.idle_ns = 50 * MS;
    result.causes[NTK_HOST_READ].ns = 50 * MS;
    assert_int_equal(ntk_host_advise(&result, advice), 0);
}

static void advice_on_the_largest_cause_is_first(void **state)
{
    result.causes[NTK_HOST_LOCK].ns = 30 * MS;
    result.causes[NTK_HOST_SLEEP].ns = 60 * MS;
    assert_int_equal(ntk_host_advise(&result, advice), 2);
    assert_int_equal(advice[0].cause, NTK_HOST_SLEEP);
    assert_null(advice[0].evidence);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_cause_above_its_threshold_has_advice_with_evidence),
        TEST(a_cause_at_its_threshold_has_no_advice),
        TEST(advice_for_collective_waits_names_the_slow_and_hang_commands),
        TEST(a_mostly_busy_core_has_no_advice),
        TEST(advice_on_the_largest_cause_is_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
