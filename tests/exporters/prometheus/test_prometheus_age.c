/* SPDX-License-Identifier: MIT */
/* When a page becomes stale, by a clock that the test moves. */
#include "exporters/exporter.h"
#include "exporters/prometheus/prometheus.h"
#include "shared/metrics/snapshot.h"
#include "tests/support/clock.h"
#include "tests/support/unit.h"

#define SECOND NTK_NS_PER_SECOND

struct fixture {
    struct test_clock clock;
    void *page;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    const struct ntk_exporter_options options = { .clock = &f->clock.clock };

    test_clock_init(&f->clock);
    assert_int_equal(ntk_exporter_prometheus.create(&options, &f->page, NULL), 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ntk_exporter_prometheus.destroy(f->page);
    test_clock_fini(&f->clock);
    free(f);
    return 0;
}

/* A report of a period; every_ns: the announced time until the next one. */
static void put(struct fixture *f, uint64_t period_ns, uint64_t every_ns)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();

    snapshot->period_ns = period_ns;
    snapshot->every_ns = every_ns;
    assert_int_equal(ntk_exporter_prometheus.put(f->page, snapshot, NULL), 0);
    ntk_snapshot_destroy(snapshot);
}

/* Stale after ns, and not earlier. */
static void assert_stale_after(struct fixture *f, uint64_t ns)
{
    test_clock_advance(&f->clock, ns);
    assert_false(ntk_exporter_prometheus.is_stale(f->page));
    test_clock_advance(&f->clock, 1);
    assert_true(ntk_exporter_prometheus.is_stale(f->page));
}

static void a_page_is_stale_after_three_report_periods(void **state)
{
    struct fixture *f = *state;

    assert_false(ntk_exporter_prometheus.is_stale(f->page)); /* no report yet */
    put(f, SECOND, 5 * SECOND);
    assert_stale_after(f, 15 * SECOND);
    put(f, SECOND, 5 * SECOND);
    assert_false(ntk_exporter_prometheus.is_stale(f->page));
}

static void a_report_period_counts_as_at_least_one_second(void **state)
{
    struct fixture *f = *state;

    put(f, SECOND / 100, SECOND / 100);
    assert_stale_after(f, 3 * SECOND);
}

/* Method: a program that does not announce its next report: first one report, then two, where the
 * second covers more than the time between them. */
static void a_report_without_a_period_uses_the_previous_period(void **state)
{
    struct fixture *f = *state;

    put(f, SECOND, 0);
    assert_stale_after(f, 180 * SECOND);
    put(f, SECOND, 0);
    test_clock_advance(&f->clock, 10 * SECOND);
    put(f, SECOND, 0);
    assert_stale_after(f, 30 * SECOND);
    test_clock_advance(&f->clock, 10 * SECOND - 1);
    put(f, 60 * SECOND, 0);
    assert_stale_after(f, 180 * SECOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        CASE(a_page_is_stale_after_three_report_periods),
        CASE(a_report_period_counts_as_at_least_one_second),
        CASE(a_report_without_a_period_uses_the_previous_period),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
