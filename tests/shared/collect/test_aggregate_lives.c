/* SPDX-License-Identifier: MIT */
/* Processes when they are first seen, exit and restart: what counts from when. */

#include <string.h>

#include "shared/collect/aggregate.h"
#include "tests/shared/collect/aggregate_fixture.h"
#include "tests/support/unit.h"

/* ---- first observation ---- */

static void a_process_younger_than_the_collector_counts_from_zero(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);
    const struct ntk_runtime_sample *runtime;

    execute(fake, 5, 1000);
    see(f, fake);
    sample(f, fake);
    assert_int_equal(finish(f)->runtime_count, 1);
    runtime = &f->snapshot->runtimes[0];
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].period, 5);
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].total, 5);
    assert_int_equal(runtime->total_latency.count, 5);
    assert_int_equal(runtime->models[0].executions.period, 5);
    assert_false(runtime->models[0].has & NTK_MODEL_HAS_EFFECTIVE_FLOPS); /* no source has it */
    assert_int_equal(runtime->models[0].total_latency.count, 5);
    assert_true(runtime->first);
    assert_false(runtime->ended);
    assert_string_equal(runtime->tag, "42");
}

/* If totals are kept, unwatched time adds nothing to them. */
static void earlier_work_of_a_process_without_stored_totals_is_unwatched(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN - 1);
    const struct ntk_runtime_sample *runtime;
    const struct ntk_core_sample *unwatched;

    execute(fake, 1000, 1000);
    see(f, fake);
    execute(fake, 3, 2000);
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].period, 1003);
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].total, 1003);
    unwatched = runtime->cores[0].unwatched;
    assert_non_null(unwatched);
    assert_int_equal(unwatched->outcome[NTK_OUTCOME_COMPLETED].period, 1000);
    assert_int_equal(unwatched->total_latency.count, 1000);
    sample(f, fake);
    assert_null(finish(f)->runtimes[0].cores[0].unwatched);
}

static void a_process_older_than_the_collector_is_counted_from_now_on(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN - 1);
    const struct ntk_runtime_sample *runtime;

    f->collector.totals_get = NULL;
    fake->models[0].flags = NTK_PROCESS_MODEL_FLOPS;
    execute(fake, 1000, 1000);
    fake->events_read = 70;
    fake->events_lost = 9;
    see(f, fake);
    execute(fake, 3, 2000);
    fake->events_read = 75;
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].period, 3);
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].total, 1003);
    assert_int_equal(runtime->total_latency.count, 3);
    assert_int_equal(runtime->total_latency.sum_ns, 6000);
    assert_int_equal(runtime->models[0].executions.period, 3);
    assert_true(runtime->models[0].has & NTK_MODEL_HAS_EFFECTIVE_FLOPS);
    assert_int_equal(runtime->models[0].effective_flops.period, 240);
    assert_int_equal(runtime->models[0].effective_flops.total, 80240);
    assert_int_equal(runtime->models[0].device_latency.count, 3);
    assert_int_equal(runtime->cores[0].flops.period, 300);
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, 3);
    assert_int_equal(f->snapshot->events_read.period, 5);
    assert_int_equal(f->snapshot->events_lost.period, 0);
}

/* Method: the store has 900 executions of a process that has made 1,000 by now. */
static void counting_of_an_older_process_continues_from_its_stored_totals(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN - 1);
    struct ntk_histogram_entry entry = { .bucket = ntk_histogram_bucket(1000), .count = 900 };
    const struct ntk_runtime_sample *runtime;

    execute(fake, 1000, 1000);
    f->stored_count = 1;
    f->stored[0].core = 3;
    f->stored[0].outcome[NTK_OUTCOME_COMPLETED].total = 900;
    f->stored[0].busy_ns.total = 900000;
    f->stored[0].flops.total = 90000;
    f->stored[0].total_latency = (struct ntk_histogram){
        .count = 900, .sum_ns = 900000, .entries = &entry, .entry_count = 1
    };
    see(f, fake);
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].period, 100);
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].total, 1000);
    assert_int_equal(runtime->cores[0].flops.period, 10000);
    assert_int_equal(runtime->total_latency.count, 100);
    assert_int_equal(runtime->total_latency.sum_ns, 100000);
    /* all of them unwatched; 4 more are watched */
    assert_non_null(runtime->cores[0].unwatched);
    assert_int_equal(runtime->cores[0].unwatched->outcome[NTK_OUTCOME_COMPLETED].period, 100);
    assert_int_equal(runtime->cores[0].unwatched->total_latency.count, 100);
    execute(fake, 4, 1000);
    sample(f, fake);
    assert_null(finish(f)->runtimes[0].cores[0].unwatched);
    /* a younger process is not looked up */
    fake = make_fake(f, 1, 43, BEGIN + 1);
    execute(fake, 7, 1000);
    see(f, fake);
    sample(f, fake);
    sample(f, &f->fake[0]);
    assert_int_equal(finish(f)->runtimes[1].outcome[NTK_OUTCOME_COMPLETED].period, 7);
}

/* Method: the store and the process have counts beyond what a baseline keeps, as a broken process
 * can report them. */
static void a_stored_count_beyond_the_baseline_limit_is_not_counted_again(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN - 1);
    uint64_t huge = (UINT64_C(1) << 52) + 5;
    struct ntk_histogram_entry entry = { .bucket = ntk_histogram_bucket(1000), .count = huge };

    fake->cores[0].counters.outcome[NTK_OUTCOME_COMPLETED] = huge;
    fake->histograms[0].total.bucket[entry.bucket] = huge;
    f->stored_count = 1;
    f->stored[0].core = 3;
    f->stored[0].outcome[NTK_OUTCOME_COMPLETED].total = huge;
    f->stored[0].total_latency =
        (struct ntk_histogram){ .count = huge, .entries = &entry, .entry_count = 1 };
    see(f, fake);
    sample(f, fake);
    assert_int_equal(finish(f)->runtimes[0].total_latency.count, 0);
}

/* Method: busy for 40 s that the store does not have, then for a quarter of the first second, then
 * for half of one. */
static void work_before_observation_is_excluded_from_utilization(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN - 1);

    execute(fake, 41, SECOND);
    f->stored_count = 1;
    f->stored[0].core = 3;
    f->stored[0].busy_ns.total = SECOND;
    fake->cores[0].read_monotonic_ns = BEGIN;
    see(f, fake);
    execute(fake, 1, SECOND / 4);
    fake->cores[0].read_monotonic_ns += SECOND;
    sample(f, fake);
    finish(f);
    assert_true(f->snapshot->runtimes[0].cores[0].utilization == 0.25);
    assert_true(f->snapshot->cores[3].utilization == 0.25);
    assert_int_equal(f->snapshot->cores[3].busy_ns.period, 40 * SECOND + SECOND / 4);
    const struct ntk_core_sample *core = &f->snapshot->runtimes[0].cores[0];
    assert_int_equal(core->outcome[NTK_OUTCOME_COMPLETED].period, 42);
    assert_int_equal(core->total_latency.count, 42);
    assert_int_equal(core->unwatched->busy_ns.period, 40 * SECOND);
    assert_int_equal(core->unwatched->outcome[NTK_OUTCOME_COMPLETED].period, 41);
    assert_int_equal(core->unwatched->flops.period, 41 * 100);
    assert_int_equal(core->unwatched->engine_busy_ns[NTK_ENGINE_PE].period, 41 * SECOND / 2);
    assert_int_equal(core->unwatched->total_latency.count, 41);
    assert_int_equal(core->unwatched->total_latency.sum_ns, 41 * SECOND);
    assert_int_equal(core->unwatched->device_latency.count, 41);
    /* So does the machine's core. */
    assert_int_equal(f->snapshot->cores[3].unwatched->busy_ns.period, 40 * SECOND);
    assert_int_equal(f->snapshot->cores[3].unwatched->flops.period, 41 * 100);
    assert_int_equal(ntk_snapshot_watched_core(&f->snapshot->cores[3]).flops.period, 100);
    assert_null(f->snapshot->cores[2].unwatched);
    execute(fake, 1, SECOND / 2);
    fake->cores[0].read_monotonic_ns += SECOND;
    sample(f, fake);
    finish(f);
    assert_true(f->snapshot->runtimes[0].cores[0].utilization == 0.5);
    assert_true(f->snapshot->cores[3].utilization == 0.5);
    assert_null(f->snapshot->cores[3].unwatched);
}

/* ---- the end ---- */

static void an_exited_process_is_in_one_more_snapshot_with_its_last_counts(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);
    const struct ntk_runtime_sample *runtime;
    uint64_t device = 0;

    see(f, fake);
    fake->memory_count = 1;
    fake->memory[0] = (struct ntk_ring_memory){ .core = 3,
                                                .category = NTK_MEMORY_TENSORS,
                                                .location = NTK_MEMORY_DEVICE,
                                                .current_bytes = 4096,
                                                .peak_bytes = 8192 };
    fake->cores[0].in_flight = 1;
    sample(f, fake);
    finish(f);
    ntk_snapshot_memory_add(&f->snapshot->runtimes[0], 3, 0, NULL, NULL, &device);
    assert_int_equal(device, 4096);
    assert_int_equal(f->snapshot->runtimes[0].in_flight, 1);
    assert_int_equal(f->snapshot->cores[3].in_flight, 1);

    execute(fake, 6, 1000);
    fake->ended = true;
    sample(f, fake);
    sample(f, fake); /* a second time: nothing more */
    runtime = &finish(f)->runtimes[0];
    assert_true(runtime->ended);
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].period, 6);
    assert_int_equal(runtime->total_latency.count, 6);
    assert_int_equal(runtime->in_flight, 0);
    assert_int_equal(f->snapshot->cores[3].in_flight, 0);
    device = 0;
    ntk_snapshot_memory_add(runtime, NTK_MEMORY_ANY, NTK_MEMORY_ANY, NULL, NULL, &device);
    assert_int_equal(device, 0);
    assert_int_equal(runtime->memory_by_category[0].current_bytes, 0);
    assert_int_equal(runtime->memory_by_category[0].peak_bytes, 8192);
    assert_false(runtime->models[0].loaded);
    assert_int_equal(f->snapshot->devices[1].memory_used_bytes[1], 0);

    finish(f);
    assert_int_equal(f->snapshot->runtime_count, 0);
    assert_int_equal(f->snapshot->tag_count, 0);
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].period, 0);
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, 6);
    assert_int_equal(f->snapshot->cores[3].outcome[NTK_OUTCOME_COMPLETED].total, 6);
    assert_false(ntk_aggregate_knows(f->aggregate, fake->key));
}

static void the_totals_of_a_tag_continue_in_the_next_process(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);

    strcpy(fake->process.tag, "bert");
    see(f, fake);
    execute(fake, 6, 1000);
    fake->ended = true;
    sample(f, fake);
    finish(f);
    finish(f);
    fake = make_fake(f, 0, 77, f->now + 1);
    strcpy(fake->process.tag, "bert");
    see(f, fake);
    execute(fake, 2, 1000);
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->tags[0].outcome[NTK_OUTCOME_COMPLETED], 8);
}

/* Nothing else has its name, so that a day of such processes leaves nothing. */
static void the_totals_of_an_untagged_process_end_at_its_exit(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);

    see(f, fake);
    execute(fake, 6, 1000);
    fake->ended = true;
    sample(f, fake);
    finish(f);
    assert_string_equal(f->snapshot->tags[0].tag, "42");
    assert_int_equal(f->snapshot->tags[0].outcome[NTK_OUTCOME_COMPLETED], 6);
    finish(f);
    fake = make_fake(f, 0, 42, f->now + 1);
    fake->process.start_time = 5000;
    strcpy(fake->key, "42-5000");
    see(f, fake);
    execute(fake, 2, 1000);
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->tags[0].outcome[NTK_OUTCOME_COMPLETED], 2);
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, 8);
}

/* Method: the same pid with another start time is another process and starts at 0. */
static void a_reused_pid_is_a_different_process(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);

    see(f, fake);
    execute(fake, 6, 1000);
    fake->ended = true;
    sample(f, fake);
    fake = make_fake(f, 1, 42, BEGIN + 2);
    fake->process.start_time = 5000;
    strcpy(fake->key, "42-5000");
    see(f, fake);
    execute(fake, 1, 1000);
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->runtime_count, 2);
    assert_true(f->snapshot->runtimes[0].ended);
    assert_int_equal(f->snapshot->runtimes[1].outcome[NTK_OUTCOME_COMPLETED].period, 1);
    assert_int_equal(f->snapshot->runtimes[1].outcome[NTK_OUTCOME_COMPLETED].total, 1);
}

static void each_runtime_life_in_a_period_has_separate_totals(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_life(f, 0, BEGIN + 1);
    const struct ntk_core_sample *core;

    see(f, fake);
    execute(fake, 2, 1000);
    sample(f, fake);
    assert_null(finish(f)->runtimes[0].cores[0].lives);
    assert_int_equal(f->snapshot->runtimes[0].cores[0].began_ns, BEGIN + 1);
    execute(fake, 5, 1000);
    fake->ended = true;
    sample(f, fake);
    fake = make_life(f, 1, BEGIN + 2);
    see(f, fake);
    execute(fake, 3, 1000);
    sample(f, fake);
    assert_int_equal(finish(f)->runtime_count, 1);
    core = &f->snapshot->runtimes[0].cores[0];
    assert_int_equal(core->outcome[NTK_OUTCOME_COMPLETED].period, 8);
    assert_int_equal(core->total_latency.count, 8);
    assert_int_equal(core->life_count, 2);
    assert_int_equal(core->lives[0].began_ns, BEGIN + 1);
    assert_int_equal(core->lives[0].outcome[NTK_OUTCOME_COMPLETED].total, 7);
    assert_int_equal(core->lives[0].total_latency.count, 5);
    assert_int_equal(core->lives[1].began_ns, BEGIN + 2);
    assert_int_equal(core->lives[1].outcome[NTK_OUTCOME_COMPLETED].total, 3);
    assert_int_equal(core->lives[1].total_latency.count, 3);
}

/* Method: the store has 7 executions of an earlier life; the current one performed 10 unwatched. */
static void stored_totals_of_an_earlier_runtime_life_are_not_continued(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_life(f, 0, BEGIN - 1);

    f->stored_count = 1;
    f->stored_began_ns = BEGIN - 5;
    f->stored[0].core = 3;
    f->stored[0].outcome[NTK_OUTCOME_COMPLETED].total = 7;
    execute(fake, 10, 1000);
    see(f, fake);
    sample(f, fake);
    assert_int_equal(finish(f)->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].period, 10);
    assert_int_equal(f->snapshot->runtimes[0].total_latency.count, 10);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, aggregate_setup, aggregate_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_process_younger_than_the_collector_counts_from_zero),
        TEST(earlier_work_of_a_process_without_stored_totals_is_unwatched),
        TEST(a_process_older_than_the_collector_is_counted_from_now_on),
        TEST(counting_of_an_older_process_continues_from_its_stored_totals),
        TEST(a_stored_count_beyond_the_baseline_limit_is_not_counted_again),
        TEST(work_before_observation_is_excluded_from_utilization),
        TEST(an_exited_process_is_in_one_more_snapshot_with_its_last_counts),
        TEST(the_totals_of_a_tag_continue_in_the_next_process),
        TEST(the_totals_of_an_untagged_process_end_at_its_exit),
        TEST(a_reused_pid_is_a_different_process),
        TEST(each_runtime_life_in_a_period_has_separate_totals),
        TEST(stored_totals_of_an_earlier_runtime_life_are_not_continued),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
