/* SPDX-License-Identifier: MIT */
/* Answers about a window over all tiers: gaps, rates, and every metric. */

#include <sqlite3.h>
#include <stdlib.h>

#include "shared/store/retention.h"
#include "shared/store/store.h"
#include "shared/store/store_reader.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/shared/store/reader_fixture.h"
#include "tests/shared/store/tier_check.h"
#include "tests/support/unit.h"

/* Method: readings of a core that are farther apart than the ends of their period. */
static void the_busy_share_of_a_core_is_at_most_one(void **state)
{
    struct fixture *f = *state;
    struct ntk_store_filter core = { .has_core = true, .core = 4 };
    size_t count;

    for (uint64_t i = 1; i <= 120; i++) {
        f->period.time_ns = HOUR_0 + i * SECOND;
        struct ntk_snapshot *snapshot = test_make_snapshot(&f->period);
        for (size_t k = 0; k < snapshot->runtimes[0].core_count; k++) {
            snapshot->runtimes[0].cores[k].busy_ns.period = i == 7 ? SECOND * 1155 / 1000 : 0;
        }
        put(f, snapshot);
    }
    start_reading(f);
    for (uint64_t step = 1; step <= 60; step *= 60) {
        struct ntk_store_point *points =
            series(f, NTK_STORE_UTILIZATION, &core, 0, 60, step, &count);
        assert_int_equal(count, 60 / step);
        assert_close(points[step == 1 ? 6 : 0].largest, 1);
        assert_true(points[step == 1 ? 6 : 0].value <= 1);
        free(points);
    }
}

static void unobserved_time_is_absent_and_idle_time_is_zero(void **state)
{
    struct fixture *f = *state;
    struct ntk_store_filter core = { .has_core = true, .core = 4 };
    struct ntk_store_filter idle_core = { .has_core = true, .core = 9 };
    struct ntk_store_filter unknown = { .process = "unknown" };
    struct ntk_store_filter trainer = { .process = "trainer" };
    size_t count;

    f->period.memory_bytes = 100;
    for (uint64_t i = 1; i <= 40; i++) {
        f->period.completed = i <= 20 ? 3 : 0;
        f->period.latency_ns = 1000;
        put_at(f, i);
        f->period.memory_bytes = i == 33 ? 900 : 500;
    }
    for (uint64_t i = 61; i <= 80; i++) {
        put_at(f, i);
    }
    start_reading(f);

    struct ntk_store_point *points = series(f, NTK_STORE_UTILIZATION, &core, 0, 80, 20, &count);
    assert_int_equal(count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(points[i].start_ns, HOUR_0 + i * 20 * SECOND);
        assert_int_equal(points[i].end_ns, HOUR_0 + (i + 1) * 20 * SECOND);
        assert_int_equal(points[i].covered_ns, i == 2 ? 0 : 20 * SECOND);
        assert_int_equal(points[i].has_value, i != 2);
        if (i != 2) {
            assert_close(points[i].value, 0.5);
            assert_true(points[i].has_largest);
            assert_close(points[i].largest, 0.5);
        }
    }
    free(points);
    /* A core without a process was idle. */
    points = series(f, NTK_STORE_UTILIZATION, &idle_core, 0, 80, 20, &count);
    assert_true(points[0].has_value);
    assert_close(points[0].value + 1, 1);
    assert_false(points[2].has_value);
    free(points);
    /* Values that the machine does not report are not zero. */
    points = series(f, NTK_STORE_PE_BUSY, &core, 0, 80, 20, &count);
    assert_int_equal(points[0].covered_ns, 20 * SECOND);
    assert_false(points[0].has_value);
    free(points);
    /* Two cores with 3 executions per second; then none; then unwatched time. */
    points = series(f, NTK_STORE_EXECUTIONS, &trainer, 0, 80, 20, &count);
    assert_close(points[0].value, 6);
    assert_true(points[1].has_value);
    assert_close(points[1].value + 1, 1);
    assert_false(points[2].has_value);
    free(points);
    points = series(f, NTK_STORE_EXECUTIONS, &unknown, 0, 80, 20, &count);
    assert_false(points[0].has_value);
    free(points);
    /* Sizes: the last value, and the largest in between. */
    points = series(f, NTK_STORE_DEVICE_MEMORY, &trainer, 0, 80, 40, &count);
    assert_int_equal(count, 2);
    assert_close(points[0].value, 500);
    assert_close(points[0].largest, 900);
    free(points);
    /* One step over the whole window is only half covered. */
    points = series(f, NTK_STORE_UTILIZATION, &core, 0, 120, 0, &count);
    assert_int_equal(count, 1);
    assert_int_equal(points[0].covered_ns, 60 * SECOND);
    assert_close(points[0].value, 0.5);
    free(points);
}

struct sum {
    uint64_t completed;
    uint64_t failed;
    uint64_t covered_ns;
    size_t steps;
    size_t gaps;
    struct ntk_histogram_dense *latency;
};

static int add_step(const struct ntk_store_executions *step, void *ctx)
{
    struct sum *sum = ctx;

    sum->completed += step->completed;
    sum->failed += step->failed;
    sum->covered_ns += step->covered_ns;
    sum->steps++;
    sum->gaps += step->covered_ns == 0;
    ntk_histogram_dense_merge(sum->latency, &step->total_latency);
    return 0;
}

static void ask(struct fixture *f, const struct ntk_store_filter *filter, uint64_t from,
                uint64_t to, uint64_t step, struct sum *sum)
{
    struct ntk_store_window window = { HOUR_0 + from * SECOND, HOUR_0 + to * SECOND,
                                       step * SECOND };
    struct ntk_histogram_dense *latency = sum->latency;
    struct ntk_err err = { 0 };

    *sum = (struct sum){ .latency = latency };
    ntk_histogram_dense_reset(latency);
    if (ntk_store_reader_executions(f->reader, filter, &window, add_step, sum, &err) < 0) {
        fail_msg("%s", err.text);
    }
}

/* Whatever the window and the step, the answer matches the test's own histograms. Then the seconds
 * are deleted, and nothing changes for windows on minute boundaries. */
static void every_tier_returns_the_same_series(void **state)
{
    struct fixture *f = *state;
    struct ntk_store_filter core = { .has_core = true, .core = 4 };
    struct ntk_store_filter model = { .model = "mlp" };
    static const uint64_t windows[][3] = {
        /* from, to, step */
        { 0, 7200, 0 },    { 0, 7200, 3600 }, { 0, 7200, 60 },   { 0, 7300, 0 },
        { 1234, 7211, 0 }, { 3599, 3661, 0 }, { 120, 180, 0 },   { 100, 103, 1 },
        { 60, 6000, 7 },   { 0, 7200, 90 },   { 3600, 7200, 0 }, { 7199, 7300, 0 },
    };
    struct ntk_histogram_dense *expected = calloc(1, sizeof *expected);
    struct sum sum = { .latency = calloc(1, sizeof *expected) };

    for (uint64_t i = 2; i <= 7300; i += 2) {
        f->period.completed = 1 + i % 7;
        f->period.latency_ns = 1000 * (1 + i * i % 97);
        put_at(f, i);
    }
    start_reading(f);
    for (int without_seconds = 0; without_seconds < 2; without_seconds++) {
        for (size_t w = 0; w < sizeof windows / sizeof *windows; w++) {
            uint64_t from = windows[w][0];
            uint64_t to = windows[w][1];
            uint64_t step = windows[w][2];
            uint64_t completed = 0;
            /* Steps are multiples since 1970, not since the hour of the test. */
            uint64_t hour = HOUR_0 / SECOND;
            uint64_t start = step ? (hour + from) / step * step - hour : from;
            uint64_t end = step ? (hour + to + step - 1) / step * step - hour : to;
            if (without_seconds &&
                (start % 60 != 0 || end % 60 != 0 || (step && step % 60 != 0) || end > 7200)) {
                continue;
            }
            ntk_histogram_dense_reset(expected);
            for (uint64_t i = 2; i <= 7300; i += 2) {
                for (uint64_t n = 0; i > start && i <= end && n < 1 + i % 7; n++) {
                    ntk_histogram_dense_record(expected, 1000 * (1 + i * i % 97));
                    completed++;
                }
            }
            ask(f, &core, from, to, step, &sum);
            assert_int_equal(sum.completed, completed);
            assert_int_equal(sum.latency->count, expected->count);
            assert_int_equal(sum.latency->sum_ns, expected->sum_ns);
            assert_memory_equal(sum.latency->bucket, expected->bucket, sizeof expected->bucket);
            assert_int_equal(sum.steps, step ? (end - start) / step : 1);
            ask(f, &model, from, to, step, &sum);
            assert_int_equal(sum.completed, completed);
            assert_memory_equal(sum.latency->bucket, expected->bucket, sizeof expected->bucket);
        }
        struct ntk_retention retention = { { 1, UINT64_MAX, UINT64_MAX }, UINT64_MAX };
        sqlite3 *db = test_tier_open(f->path);
        while (ntk_retention_run(db, &retention, HOUR_0 + 7300 * SECOND, NULL) > 0) {
        }
        assert_int_equal(test_tier_number(db, "SELECT count(*) FROM machine_sample"
                                              " WHERE time_ns < 1700006400000000000"),
                         0);
        sqlite3_close(db);
    }

    /* Seconds requested, but only minutes are left: points of a minute, none twice. */
    size_t count;
    struct ntk_store_point *points = series(f, NTK_STORE_UTILIZATION, &core, 600, 900, 5, &count);
    assert_int_equal(count, 5);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(points[i].end_ns - points[i].start_ns, MINUTE);
        assert_int_equal(points[i].start_ns, HOUR_0 + (600 + i * 60) * SECOND);
        assert_int_equal(points[i].covered_ns, 30 * SECOND); /* every second one was stored */
        assert_close(points[i].value, 0.5);
    }
    free(points);
    ask(f, &core, 600, 900, 5, &sum);
    assert_int_equal(sum.steps, 5);
    assert_int_equal(sum.gaps, 0);
    free(sum.latency);
    free(expected);
}

static int take_counted(const struct ntk_store_executions *step, void *ctx)
{
    *(struct ntk_store_executions *)ctx = *step;
    return 0;
}

/* Method: periods of one second that end early and late in the same second, in which the agent
 * restarted. */
static void two_periods_ending_in_one_step_do_not_double_the_rate(void **state)
{
    struct fixture *f = *state;
    struct ntk_store_filter core = { .has_core = true, .core = 4 };
    struct ntk_store_filter all = { 0 };
    struct ntk_store_window window = { HOUR_0 + SECOND, HOUR_0 + 2 * SECOND, SECOND };
    struct ntk_store_executions step = { 0 };
    size_t count;

    f->period.completed = 3;
    f->period.latency_ns = 1000;
    for (int i = 0; i < 2; i++) {
        f->period.time_ns = HOUR_0 + SECOND + (i ? 9 : 1) * SECOND / 10;
        struct ntk_snapshot *snapshot = test_make_snapshot(&f->period);
        put(f, snapshot);
    }
    start_reading(f);
    struct ntk_store_point *points = series(f, NTK_STORE_UTILIZATION, &core, 1, 2, 1, &count);
    assert_int_equal(count, 1);
    assert_int_equal(points[0].covered_ns, SECOND);
    assert_int_equal(points[0].counted_ns, 2 * SECOND);
    assert_close(points[0].value, points[0].largest);
    free(points);
    assert_int_equal(
        ntk_store_reader_executions(f->reader, &all, &window, take_counted, &step, NULL), 0);
    assert_int_equal(step.covered_ns, SECOND);
    assert_int_equal(step.counted_ns, 2 * SECOND);
}

/* Method: a process that runs for 90 s of two hours, read from the rows of hours. */
static void process_rates_cover_only_the_time_they_ran(void **state)
{
    struct fixture *f = *state;
    const struct ntk_store_filter filters[] = { { .process = "trainer" },
                                                { .model = "mlp" },
                                                { 0 } };
    struct ntk_store_window window = { HOUR_0, HOUR_0 + 7200 * SECOND, 0 };
    size_t count;

    f->period.completed = 2;
    f->period.latency_ns = 1000;
    for (uint64_t i = 1; i <= 7260; i++) {
        f->period.time_ns = HOUR_0 + i * SECOND;
        struct ntk_snapshot *snapshot = test_make_snapshot(&f->period);
        snapshot->runtime_count = i > 100 && i <= 190;
        put(f, snapshot);
    }
    start_reading(f);
    for (size_t i = 0; i < 3; i++) {
        struct ntk_store_executions step = { 0 };
        assert_int_equal(
            ntk_store_reader_executions(f->reader, &filters[i], &window, take_counted, &step, NULL),
            0);
        assert_int_equal(step.is_running, i < 2);
        assert_int_equal(step.running_ns, (i < 2 ? 90 : 7200) * SECOND);
        assert_int_equal(step.counted_ns, 7200 * SECOND);
    }
    struct ntk_store_point *points =
        series(f, NTK_STORE_EXECUTIONS, &filters[0], 0, 7200, 0, &count);
    assert_close(points[0].value, 4); /* two cores */
    free(points);
}

/* Method: rejected calls count as errors of their model, and not as executions. */
static void a_model_with_only_rejected_executions_has_no_completed_ones(void **state)
{
    struct fixture *f = *state;
    struct ntk_store_filter model = { .model = "mlp.neff" };
    struct ntk_store_window window = { HOUR_0, HOUR_0 + 2 * SECOND, 2 * SECOND };
    struct ntk_store_executions step = { 0 };

    f->period.completed = 0;
    f->period.model_errors = 7;
    f->period.time_ns = HOUR_0 + SECOND;
    put(f, test_make_snapshot(&f->period));
    start_reading(f);
    assert_int_equal(
        ntk_store_reader_executions(f->reader, &model, &window, take_counted, &step, NULL), 0);
    assert_int_equal(step.failed, 7);
    assert_int_equal(step.completed, 0);
}

static void every_stored_metric_can_be_queried(void **state)
{
    struct fixture *f = *state;
    struct ntk_store_filter all = { 0 };
    size_t count;

    for (int round = 0; round < 2; round++) {
        if (round == 1) {
            ntk_store_reader_close(f->reader);
            f->reader = NULL;
            struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX,
                                                              UINT64_MAX } };
            assert_int_equal(ntk_store_open(f->path, &options, &f->store, NULL), 0);
            put_at(f, 1);
        }
        start_reading(f);
        for (int metric = 0; metric < NTK_STORE_METRIC_COUNT; metric++) {
            struct ntk_store_point *points =
                series(f, (enum ntk_store_metric)metric, &all, 0, 120, 60, &count);
            assert_int_equal(count, 2);
            assert_int_equal(points[0].covered_ns, round * SECOND);
            free(points);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_busy_share_of_a_core_is_at_most_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unobserved_time_is_absent_and_idle_time_is_zero, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(every_tier_returns_the_same_series, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_periods_ending_in_one_step_do_not_double_the_rate,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(process_rates_cover_only_the_time_they_ran, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_model_with_only_rejected_executions_has_no_completed_ones,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_stored_metric_can_be_queried, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
