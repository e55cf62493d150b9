/* SPDX-License-Identifier: MIT */
/* Method: intervals with a sum that is known at each moment, and over all time, by construction. */
#include <errno.h>
#include <math.h>

#include "profiler/analysis/steps.h"
#include "tests/support/hand_trace.h"
#include "tests/support/unit.h"

#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)

struct seen {
    struct {
        int64_t time_ps;
        double value;
    } points[8];
    size_t count;
    int64_t last_ps;
    double last, most, sum; /* value times ps */
    bool is_in_order;
    size_t stop_at; /* 0: never */
};

static int see(void *ctx, int64_t time_ps, double value)
{
    struct seen *seen = ctx;

    seen->is_in_order = seen->count == 0 || (seen->is_in_order && time_ps > seen->last_ps);
    seen->sum += seen->last * (double)(time_ps - seen->last_ps);
    seen->most = value > seen->most ? value : seen->most;
    seen->last = value;
    seen->last_ps = time_ps;
    if (seen->count < sizeof seen->points / sizeof *seen->points) {
        seen->points[seen->count].time_ps = time_ps;
        seen->points[seen->count].value = value;
    }
    seen->count++;
    return seen->count == seen->stop_at ? -ECANCELED : 0;
}

static void assert_point(const struct seen *seen, size_t index, int64_t time_ps, double value)
{
    assert_int_equal(seen->points[index].time_ps, time_ps);
    assert_true(seen->points[index].value == value);
}

static void overlapping_intervals_are_summed(void **state)
{
    struct ntk_trace trace = { 0 };
    struct ntk_steps steps;
    struct seen seen = { 0 };

    (void)state;
    ntk_steps_init(&steps, &trace, 1);
    assert_int_equal(ntk_steps_add(&steps, 300, 400, 7), 0);
    assert_int_equal(ntk_steps_add(&steps, 100, 200, 2), 0);
    assert_int_equal(ntk_steps_add(&steps, 150, 300, 3), 0);
    assert_int_equal(ntk_steps_add(&steps, 120, 120, 9), 0); /* no length */
    assert_int_equal(ntk_steps_add(&steps, 120, 130, 0), 0); /* no height */
    assert_int_equal(ntk_steps_finish(&steps, NTK_STEPS_MEAN, see, &seen), 0);
    assert_int_equal(seen.count, 5);
    assert_point(&seen, 0, 100, 2);
    assert_point(&seen, 1, 150, 5);
    assert_point(&seen, 2, 200, 3);
    assert_point(&seen, 3, 300, 7);
    assert_point(&seen, 4, 400, 0);
    ntk_steps_fini(&steps);
}

static void adjacent_steps_with_equal_values_are_merged(void **state)
{
    struct ntk_trace trace = { 0 };
    struct ntk_steps steps;
    struct seen seen = { 0 };

    (void)state;
    ntk_steps_init(&steps, &trace, 1);
    for (int64_t i = 0; i < 10; i++) {
        assert_int_equal(ntk_steps_add(&steps, 100 * i, 100 * (i + 1), 0.1), 0);
    }
    assert_int_equal(ntk_steps_finish(&steps, NTK_STEPS_MOST, see, &seen), 0);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.points[0].time_ps, 0);
    assert_true(fabs(seen.points[0].value - 0.1) < 1e-12);
    assert_point(&seen, 1, 1000, 0); /* exactly: no rounding error remains */
    ntk_steps_fini(&steps);
}

static void adding_zero_creates_no_step(void **state)
{
    struct ntk_trace trace = { 0 };
    struct ntk_steps steps;
    struct seen seen = { 0 };

    (void)state;
    ntk_steps_init(&steps, &trace, 1);
    assert_int_equal(ntk_steps_finish(&steps, NTK_STEPS_MEAN, see, &seen), 0);
    assert_int_equal(seen.count, 0);
    ntk_steps_fini(&steps);
}

static void an_amount_is_spread_over_its_duration_or_one_nanosecond(void **state)
{
    struct ntk_trace trace = { 0 };
    struct ntk_steps steps;
    struct seen seen = { 0 };

    (void)state;
    ntk_steps_init(&steps, &trace, 1);
    assert_int_equal(ntk_steps_add_amount(&steps, NS(100), NS(300), 400), 0);
    assert_int_equal(ntk_steps_add_amount(&steps, NS(500), NS(500), 3), 0);
    assert_int_equal(ntk_steps_finish(&steps, NTK_STEPS_MEAN, see, &seen), 0);
    assert_int_equal(seen.count, 4);
    assert_point(&seen, 0, NS(100), 2e9); /* per second */
    assert_point(&seen, 1, NS(300), 0);
    assert_point(&seen, 2, NS(500), 3e9);
    assert_point(&seen, 3, NS(501), 0);
    assert_true(fabs(seen.sum * 1e-12 - 403) < 1e-9);
    ntk_steps_fini(&steps);
}

/* 100,000 intervals of 20 ps every 30 ps, every tenth three times as long: in any order, in a
 * file. */
static void add_many(struct ntk_steps *steps, double *out_sum)
{
    *out_sum = 0;
    for (int64_t i = 0; i < 100000; i++) {
        int64_t k = i * 7919 % 100000;
        int64_t length = k % 10 ? 20 : 90;
        double height = (double)(k % 7 + 1);
        assert_int_equal(ntk_steps_add(steps, 30 * k, 30 * k + length, height), 0);
        *out_sum += height * (double)length;
    }
}

static void merged_intervals_of_many_steps_keep_their_sum(void **state)
{
    struct ntk_trace trace = { .list_bytes = 4096 };
    struct ntk_steps steps;
    struct seen seen = { 0 };
    double sum;

    (void)state;
    ntk_steps_init(&steps, &trace, 1);
    add_many(&steps, &sum);
    assert_int_equal(ntk_steps_finish(&steps, NTK_STEPS_MEAN, see, &seen), 0);
    assert_true(seen.count > NTK_STEPS_PIECES / 2 && seen.count <= NTK_STEPS_PIECES + 1);
    assert_true(seen.is_in_order);
    assert_true(seen.last == 0);
    assert_true(fabs(seen.sum - sum) < sum * 1e-9);
    ntk_steps_fini(&steps);
}

static void a_divided_time_has_the_means_of_its_pieces(void **state)
{
    struct ntk_trace trace = { 0 };
    struct ntk_steps steps;
    struct seen seen = { 0 };
    double sum;

    (void)state;
    ntk_steps_init(&steps, &trace, 1);
    assert_int_equal(ntk_steps_divide(&steps, 1000, 1000 + 100LL * NTK_STEPS_DIVIDED - 1), 0);
    assert_int_equal(ntk_steps_add(&steps, 1150, 1340, 8), 0); /* half, all and 40 % of a piece */
    assert_int_equal(ntk_steps_add(&steps, 1120, 1130, 20), 0);
    assert_int_equal(ntk_steps_finish(&steps, NTK_STEPS_MEAN, see, &seen), 0);
    assert_int_equal(seen.count, 4);
    assert_point(&seen, 0, 1100, 6);
    assert_point(&seen, 1, 1200, 8);
    assert_int_equal(seen.points[2].time_ps, 1300);
    assert_true(fabs(seen.points[2].value - 3.2) < 1e-12);
    assert_point(&seen, 3, 1400, 0);
    ntk_steps_fini(&steps);

    seen = (struct seen){ 0 };
    ntk_steps_init(&steps, &trace, 1);
    assert_int_equal(ntk_steps_divide(&steps, 0, 30 * 100000 + 60), 0);
    add_many(&steps, &sum);
    assert_int_equal(ntk_steps_add_amount(&steps, 3000050, 3000060, 7), 0); /* 1 ns: longer */
    sum += 7e12;
    assert_int_equal(ntk_steps_finish(&steps, NTK_STEPS_MEAN, see, &seen), 0);
    assert_true(seen.count > NTK_STEPS_DIVIDED / 2 && seen.count <= NTK_STEPS_DIVIDED + 1);
    assert_true(seen.is_in_order);
    assert_true(seen.last == 0);
    assert_true(fabs(seen.sum - sum) < sum * 1e-9);
    ntk_steps_fini(&steps);
}

static void merged_intervals_of_many_steps_keep_their_peak(void **state)
{
    struct ntk_trace trace = { 0 };
    struct ntk_steps steps;
    struct seen seen = { 0 };
    double sum;

    (void)state;
    ntk_steps_init(&steps, &trace, 1);
    add_many(&steps, &sum);
    assert_int_equal(ntk_steps_add(&steps, 1000001, 1000002, 1000), 0);
    assert_int_equal(ntk_steps_finish(&steps, NTK_STEPS_MOST, see, &seen), 0);
    assert_true(seen.count <= NTK_STEPS_PIECES + 1);
    assert_true(seen.most >= 1001 && seen.most < 1020);
    assert_true(seen.last == 0);
    ntk_steps_fini(&steps);
}

static void a_receiver_can_stop_the_delivery_of_steps(void **state)
{
    struct ntk_trace trace = { 0 };
    struct ntk_steps steps;
    struct seen seen = { .stop_at = 2 };

    (void)state;
    ntk_steps_init(&steps, &trace, 1);
    assert_int_equal(ntk_steps_add(&steps, 1, 2, 1), 0);
    assert_int_equal(ntk_steps_add(&steps, 3, 4, 1), 0);
    assert_int_equal(ntk_steps_finish(&steps, NTK_STEPS_MEAN, see, &seen), -ECANCELED);
    assert_int_equal(seen.count, 2);
    ntk_steps_fini(&steps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlapping_intervals_are_summed),
        cmocka_unit_test(adjacent_steps_with_equal_values_are_merged),
        cmocka_unit_test(adding_zero_creates_no_step),
        cmocka_unit_test(an_amount_is_spread_over_its_duration_or_one_nanosecond),
        cmocka_unit_test(merged_intervals_of_many_steps_keep_their_sum),
        cmocka_unit_test(a_divided_time_has_the_means_of_its_pieces),
        cmocka_unit_test(merged_intervals_of_many_steps_keep_their_peak),
        cmocka_unit_test(a_receiver_can_stop_the_delivery_of_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
