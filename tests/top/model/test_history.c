/* SPDX-License-Identifier: MIT */
/* The history: slots by time, gaps, going back, and how far it reaches. */
#include <math.h>

#include "top/model/history.h"
#include "tests/support/unit.h"

#define SECOND UINT64_C(1000000000)
#define MINUTE (60 * SECOND)
#define START (UINT64_C(1763697600) * SECOND) /* a whole hour */

static void add(struct ntk_top_history *history, uint64_t end_ns, uint64_t period_ns, float value)
{
    float values[2] = { value, NAN };

    ntk_top_history_add(history, end_ns, period_ns, values);
}

/* The single part of span_ns before end_ns. */
static float read_one(const struct ntk_top_history *history, uint64_t end_ns, uint64_t span_ns)
{
    float value;

    ntk_top_history_read(history, 0, end_ns, span_ns, 1, &value);
    return value;
}

static void unmeasured_time_is_a_gap_rather_than_zero(void **state)
{
    struct ntk_top_history history = { 0 };
    float parts[4];

    assert_int_equal(ntk_top_history_reset(&history, 2), 0);
    add(&history, START + 1 * SECOND, SECOND, 0);
    add(&history, START + 2 * SECOND, SECOND, NAN);
    add(&history, START + 4 * SECOND, SECOND, 7);
    ntk_top_history_read(&history, 0, START + 4 * SECOND, 4 * SECOND, 4, parts);
    assert_true(parts[0] == 0);
    assert_true(isnan(parts[1]));
    assert_true(isnan(parts[2]));
    assert_true(parts[3] == 7);
    ntk_top_history_read(&history, 1, START + 4 * SECOND, 4 * SECOND, 4, parts);
    assert_true(isnan(parts[0]));
    ntk_top_history_read(&history, 2, START + 4 * SECOND, 4 * SECOND, 4, parts);
    assert_true(isnan(parts[0])); /* no such series */
    ntk_top_history_fini(&history);
}

/* Method: a slot of the finest ring may hold a value of the shown moment, of one ring length before
 * it, or of after it. */
static void earlier_values_do_not_overwrite_values_nearer_to_the_shown_time(void **state)
{
    struct ntk_top_history history = { 0 };
    const uint64_t shown = START + 5000 * SECOND;
    const uint64_t ring = 960 * SECOND;
    const float past = 3;

    assert_int_equal(ntk_top_history_reset(&history, 1), 0);
    add(&history, shown, SECOND, 7);
    ntk_top_history_add_past(&history, shown - ring, SECOND, shown, &past);
    assert_true(read_one(&history, shown, SECOND) == 7);
    ntk_top_history_add_past(&history, shown - SECOND, SECOND, shown, &past);
    assert_true(read_one(&history, shown - SECOND, SECOND) == 3);
    /* Values later than the shown moment make room for earlier ones. */
    add(&history, shown - 10 * SECOND + ring, SECOND, 9);
    ntk_top_history_add_past(&history, shown - 10 * SECOND, SECOND, shown, &past);
    assert_true(read_one(&history, shown - 10 * SECOND, SECOND) == 3);
    ntk_top_history_fini(&history);
}

/* Method: the same signal sampled ten times per second, every second and every five seconds. */
static void the_graph_does_not_depend_on_the_refresh_rate(void **state)
{
    static const uint64_t periods[] = { SECOND / 10, SECOND, 5 * SECOND };

    for (size_t p = 0; p < 3; p++) {
        struct ntk_top_history history = { 0 };
        float parts[6];

        assert_int_equal(ntk_top_history_reset(&history, 2), 0);
        for (uint64_t at = periods[p]; at <= 60 * SECOND; at += periods[p]) {
            uint64_t tens = (at - 1) / (10 * SECOND);

            add(&history, START + at, periods[p], (float)tens);
        }
        ntk_top_history_read(&history, 0, START + 60 * SECOND, 60 * SECOND, 6, parts);
        for (int i = 0; i < 6; i++) {
            assert_true(fabsf(parts[i] - (float)i) < 1e-4f);
        }
        ntk_top_history_fini(&history);
    }
}

static void a_sample_is_divided_over_history_slots_by_time(void **state)
{
    struct ntk_top_history history = { 0 };

    assert_int_equal(ntk_top_history_reset(&history, 2), 0);
    add(&history, START + SECOND / 4, SECOND / 4, 100);
    add(&history, START + SECOND, 3 * SECOND / 4, 0);
    assert_true(fabsf(read_one(&history, START + SECOND, SECOND) - 25) < 1e-3f);
    ntk_top_history_fini(&history);
}

/* Method: a minute is added, then its second half again with other numbers, as if walking back. */
static void values_already_in_the_history_are_not_added_again(void **state)
{
    struct ntk_top_history history = { 0 };

    assert_int_equal(ntk_top_history_reset(&history, 2), 0);
    for (uint64_t s = 1; s <= 60; s++) {
        add(&history, START + s * SECOND, SECOND, 10);
    }
    for (uint64_t s = 60; s > 30; s--) {
        add(&history, START + s * SECOND, SECOND, 50);
    }
    assert_true(fabsf(read_one(&history, START + 60 * SECOND, MINUTE) - 10) < 1e-3f);
    assert_true(fabsf(read_one(&history, START + 30 * SECOND, 10 * SECOND) - 10) < 1e-3f);
    ntk_top_history_fini(&history);
}

static void completed_graph_intervals_do_not_change(void **state)
{
    struct ntk_top_history history = { 0 };
    float before[10] = { 0 };
    float after[10];

    assert_int_equal(ntk_top_history_reset(&history, 2), 0);
    for (uint64_t s = 1; s <= 63; s++) {
        add(&history, START + s * SECOND, SECOND, (float)(s * s % 17));
        if (s == 60) {
            ntk_top_history_read(&history, 0, START + s * SECOND, MINUTE, 10, before);
        }
    }
    ntk_top_history_read(&history, 0, START + 63 * SECOND, MINUTE, 10, after);
    for (int i = 1; i < 10; i++) {
        assert_true(after[i - 1] == before[i]);
    }
    ntk_top_history_fini(&history);
}

/* Method: two days of one value per second, which encodes its hour; then what each span still
 * has. */
static void the_history_covers_exactly_a_day(void **state)
{
    struct ntk_top_history history = { 0 };
    uint64_t end = START + 48 * 60 * MINUTE;
    float hours[24];
    float minutes[15];

    assert_int_equal(ntk_top_history_reset(&history, 2), 0);
    for (uint64_t at = START; at < end; at += 10 * SECOND) {
        uint64_t hour = (at - START) / (60 * MINUTE);

        add(&history, at + 10 * SECOND, 10 * SECOND, (float)hour);
    }
    ntk_top_history_read(&history, 0, end, 24 * 60 * MINUTE, 24, hours);
    for (int i = 0; i < 24; i++) {
        assert_true(fabsf(hours[i] - (float)(24 + i)) < 1e-3f);
    }
    ntk_top_history_read(&history, 0, end, 15 * MINUTE, 15, minutes);
    assert_true(minutes[0] == 47);
    assert_true(isnan(read_one(&history, START + 60 * MINUTE, 60 * MINUTE))); /* overwritten */
    ntk_top_history_fini(&history);
}

/* Method: times and periods that a foreign report may claim; sanitizers and the test's time limit
 * detect errors. */
static void samples_with_invalid_times_are_ignored(void **state)
{
    struct ntk_top_history history = { 0 };
    float parts[8];

    assert_int_equal(ntk_top_history_reset(&history, 2), 0);
    add(&history, 0, 0, 1);
    add(&history, 5, UINT64_MAX, 1);
    add(&history, UINT64_MAX, UINT64_MAX, 1);
    add(&history, UINT64_MAX, 0, 1);
    ntk_top_history_read(&history, 0, 0, MINUTE, 8, parts);
    assert_true(isnan(parts[0]));
    ntk_top_history_read(&history, 0, UINT64_MAX, MINUTE, 8, parts);
    ntk_top_history_read(&history, 0, START, 4, 8, parts); /* shorter than a part */
    assert_true(isnan(parts[0]));
    assert_int_equal(ntk_top_history_reset(&history, 0), 0);
    add(&history, START, SECOND, 1);
    ntk_top_history_fini(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(earlier_values_do_not_overwrite_values_nearer_to_the_shown_time),
        cmocka_unit_test(unmeasured_time_is_a_gap_rather_than_zero),
        cmocka_unit_test(the_graph_does_not_depend_on_the_refresh_rate),
        cmocka_unit_test(a_sample_is_divided_over_history_slots_by_time),
        cmocka_unit_test(values_already_in_the_history_are_not_added_again),
        cmocka_unit_test(completed_graph_intervals_do_not_change),
        cmocka_unit_test(the_history_covers_exactly_a_day),
        cmocka_unit_test(samples_with_invalid_times_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
