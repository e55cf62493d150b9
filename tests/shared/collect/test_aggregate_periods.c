/* SPDX-License-Identifier: MIT */
/* Figures of a process in a period: counter differences, latencies, utilization. */

#include <string.h>

#include "shared/collect/aggregate.h"
#include "tests/shared/collect/aggregate_fixture.h"
#include "tests/support/unit.h"

/* ---- periods ---- */

static void counts_per_period_sum_to_the_total(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);
    uint64_t sum = 0;
    uint64_t histograms = 0;
    uint64_t models = 0;
    uint64_t n = 0;

    see(f, fake);
    for (uint64_t i = 0; i < 20; i++) {
        execute(fake, i % 4, 1000 + i);
        n += i % 4;
        sample(f, fake);
        finish(f);
        sum += f->snapshot->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].period;
        histograms += f->snapshot->runtimes[0].total_latency.count;
        models += f->snapshot->runtimes[0].models[0].executions.period;
        assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, n);
        assert_int_equal(f->snapshot->tags[0].outcome[NTK_OUTCOME_COMPLETED], n);
        assert_int_equal(f->snapshot->cores[3].outcome[NTK_OUTCOME_COMPLETED].total, n);
        assert_int_equal(f->snapshot->sequence, i + 1);
        assert_int_equal(f->snapshot->period_ns, SECOND);
    }
    assert_int_equal(sum, n);
    assert_int_equal(histograms, n);
    assert_int_equal(models, n);
    assert_int_equal(f->snapshot->runtimes[0].series_count, 1);
    assert_int_equal(f->snapshot->runtimes[0].series[0].total.count, n);
    assert_string_equal(f->snapshot->runtimes[0].series[0].name, "mlp");
}

/* Method: the counter of executions changes before its histogram, and a period ends in between;
 * no further call follows. */
static void a_histogram_updated_after_its_counter_is_not_lost(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);
    struct ntk_ring_histogram late;

    see(f, fake);
    execute(fake, 1, 1000);
    late = fake->histograms[0];
    memset(&fake->histograms[0], 0, sizeof fake->histograms[0]);
    sample(f, fake);
    assert_int_equal(finish(f)->runtimes[0].total_latency.count, 0);
    fake->histograms[0] = late;
    sample(f, fake);
    assert_int_equal(finish(f)->runtimes[0].total_latency.count, 1);
    sample(f, fake);
    assert_int_equal(finish(f)->runtimes[0].total_latency.count, 0);
}

/* Method: a process that works in every period; latency is not needed, then needed, then not needed
 * again. */
static void latency_is_read_only_while_a_view_needs_it(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);
    const struct ntk_runtime_sample *runtime;
    struct ntk_runtime_reading reading = reading_of(fake);

    ntk_aggregate_set_reads_latency(f->aggregate, false, false);
    see(f, fake);
    execute(fake, 5, 1000);
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(fake->histograms_read, 0);
    assert_int_equal(ntk_snapshot_outcome_sum(runtime->outcome), 5);
    assert_int_equal(runtime->cores[0].has & NTK_CORE_HAS_LATENCY, 0);
    assert_int_equal(runtime->models[0].has & NTK_MODEL_HAS_LATENCY, 0);
    assert_int_equal(runtime->total_latency.count, 0);
    assert_false(runtime->has_device_latency);

    /* Earlier latencies are not in the first period that has them. */
    execute(fake, 3, 1000);
    ntk_aggregate_set_reads_latency(f->aggregate, true, true);
    ntk_aggregate_runtime_begin_latency(f->aggregate, &reading, true, true);
    execute(fake, 2, 1000);
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(ntk_snapshot_outcome_sum(runtime->outcome), 5);
    assert_int_equal(runtime->total_latency.count, 2);
    assert_int_equal(runtime->total_latency.sum_ns, 2000);
    assert_int_equal(runtime->models[0].total_latency.count, 2);
    assert_true(runtime->cores[0].has & NTK_CORE_HAS_LATENCY);

    /* Latencies of models and of cores start now; those of the process continue. */
    ntk_aggregate_set_reads_latency(f->aggregate, true, false);
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->models[0].has & NTK_MODEL_HAS_LATENCY, 0);
    assert_int_equal(runtime->cores[0].has & (NTK_CORE_HAS_LATENCY | NTK_CORE_HAS_DEVICE_LATENCY),
                     NTK_CORE_HAS_LATENCY);
    assert_false(runtime->has_device_latency);
    execute(fake, 4, 1000);
    ntk_aggregate_set_reads_latency(f->aggregate, true, true);
    ntk_aggregate_runtime_begin_latency(f->aggregate, &reading, false, true);
    execute(fake, 1, 1000);
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->total_latency.count, 5);
    assert_int_equal(runtime->device_latency.count, 1);
    assert_int_equal(runtime->models[0].total_latency.count, 1);

    ntk_aggregate_set_reads_latency(f->aggregate, false, false);
    fake->histograms_read = 0;
    execute(fake, 7, 1000);
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(fake->histograms_read, 0);
    assert_int_equal(runtime->total_latency.count, 0);
}

static void each_core_of_a_process_has_separate_latencies(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);
    const struct ntk_runtime_sample *runtime;

    fake->core_count = 3;
    for (uint16_t i = 1; i < 3; i++) {
        fake->cores[i] = fake->cores[0];
        fake->cores[i].core = (uint16_t)(3 + i);
    }
    see(f, fake);
    execute(fake, 4, 1000);
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->total_latency.count, 4);
    assert_int_equal(runtime->total_latency.sum_ns, 4000);

    execute(fake, 4, 1000);
    fake->cores[2].counters.outcome[NTK_OUTCOME_COMPLETED] = 2;
    fake->histograms[2].total.bucket[ntk_histogram_bucket(9000)] = 2;
    fake->histograms[2].total.sum_ns = 18000;
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->total_latency.count, 6);
    assert_int_equal(runtime->total_latency.sum_ns, 22000);
    assert_int_equal(runtime->total_latency.entry_count, 2);
    assert_int_equal(runtime->cores[0].total_latency.count, 4);
    assert_int_equal(runtime->cores[2].total_latency.count, 2);
}

/* Method: a sum is written after its count, and a period ends in between. */
static void a_latency_sum_updated_after_its_count_is_not_lost(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);

    see(f, fake);
    execute(fake, 1, 1000);
    fake->histograms[0].total.sum_ns = 0;
    sample(f, fake);
    assert_int_equal(finish(f)->runtimes[0].total_latency.sum_ns, 0);
    fake->histograms[0].total.sum_ns = 1000;
    sample(f, fake);
    assert_int_equal(finish(f)->runtimes[0].total_latency.count, 0);
    execute(fake, 1, 500);
    sample(f, fake);
    assert_int_equal(finish(f)->runtimes[0].total_latency.sum_ns, 1500);
}

static void a_decreased_counter_is_counted_from_zero(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);

    see(f, fake);
    execute(fake, 10, 1000);
    sample(f, fake);
    finish(f);
    fake->cores[0].counters.outcome[NTK_OUTCOME_COMPLETED] = 4;
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].period, 4);
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, 14);
}

static void decreased_busy_time_counts_no_time_twice(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);

    see(f, fake);
    fake->cores[0].busy_ns = SECOND + 1000;
    sample(f, fake);
    finish(f);
    assert_true(f->snapshot->runtimes[0].cores[0].utilization == 1);
    assert_true(f->snapshot->cores[3].utilization == 1);
    assert_int_equal(f->snapshot->runtimes[0].cores[0].busy_ns.period, SECOND + 1000);
    fake->cores[0].busy_ns = SECOND;
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->runtimes[0].cores[0].busy_ns.period, 0);
    fake->cores[0].busy_ns = SECOND + 2000;
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->runtimes[0].cores[0].busy_ns.period, 1000);
    assert_int_equal(f->snapshot->cores[3].busy_ns.total, SECOND + 2000);
}

/* Method: a period of 1 s with two readings 1.25 s apart, then 0.75 s, as on a loaded
 * machine. */
static void a_busy_core_has_full_utilization_at_uneven_read_times(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN - 1);

    fake->cores[0].read_monotonic_ns = BEGIN;
    see(f, fake);
    for (int i = 0; i < 4; i++) {
        uint64_t step = i % 2 == 0 ? SECOND * 5 / 4 : SECOND * 3 / 4;

        fake->cores[0].busy_ns += step;
        fake->cores[0].read_monotonic_ns += step;
        sample(f, fake);
        finish(f);
        assert_true(f->snapshot->runtimes[0].cores[0].utilization == 1);
        assert_true(f->snapshot->cores[3].utilization == 1);
    }
    /* A process that exits counts as idle after its last reading. */
    fake->cores[0].busy_ns += SECOND / 4;
    fake->cores[0].read_monotonic_ns += SECOND / 4;
    fake->ended = true;
    sample(f, fake);
    finish(f);
    assert_true(f->snapshot->runtimes[0].cores[0].utilization == 0.25);
    assert_true(f->snapshot->cores[3].utilization == 0.25);
}

static void the_work_of_two_runtimes_on_one_core_is_summed(void **state)
{
    struct fixture *f = *state;
    struct fake *a = make_fake(f, 0, 42, BEGIN + 1);
    struct fake *b = make_fake(f, 1, 43, BEGIN + 1);

    strcpy(a->process.tag, "same");
    strcpy(b->process.tag, "same");
    see(f, a);
    see(f, b);
    execute(a, 1, SECOND / 4);
    execute(b, 2, SECOND / 4);
    sample(f, a);
    sample(f, b);
    finish(f);
    assert_int_equal(f->snapshot->runtime_count, 2);
    assert_true(f->snapshot->runtimes[0].cores[0].utilization == 0.25);
    assert_true(f->snapshot->runtimes[1].cores[0].utilization == 0.5);
    assert_true(f->snapshot->cores[3].utilization == 0.75);
    assert_int_equal(f->snapshot->tag_count, 1);
    assert_string_equal(f->snapshot->tags[0].tag, "same");
    assert_int_equal(f->snapshot->tags[0].outcome[NTK_OUTCOME_COMPLETED], 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, aggregate_setup, aggregate_teardown)
    const struct CMUnitTest tests[] = {
        TEST(counts_per_period_sum_to_the_total),
        TEST(a_histogram_updated_after_its_counter_is_not_lost),
        TEST(latency_is_read_only_while_a_view_needs_it),
        TEST(each_core_of_a_process_has_separate_latencies),
        TEST(a_latency_sum_updated_after_its_count_is_not_lost),
        TEST(a_decreased_counter_is_counted_from_zero),
        TEST(decreased_busy_time_counts_no_time_twice),
        TEST(a_busy_core_has_full_utilization_at_uneven_read_times),
        TEST(the_work_of_two_runtimes_on_one_core_is_summed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
