/* SPDX-License-Identifier: MIT */
/* Counts of processes with real segments: none is lost or counted twice. */

#include <glob.h>
#include <signal.h>

#include "shared/collect/collect.h"
#include "tests/shared/collect/collect_fixture.h"
#include "tests/support/emulated.h"
#include "tests/support/observed.h"
#include "tests/support/process.h"
#include "tests/support/unit.h"

static void execution_counts_of_all_periods_sum_to_the_total(void **state)
{
    struct fixture *f = *state;
    struct observed child;
    const struct ntk_runtime_sample *runtime;
    uint64_t sum = 0;
    uint64_t latency = 0;

    collector_open(f, (struct ntk_collector_options){ .reap = true });
    child = child_start();
    for (uint32_t i = 0; i < 10; i++) {
        child_tell(&child, COMMAND_EXECUTE, i * 10);
        assert_true(ntk_collector_drain(f->collector) >= 0);
        runtime = &poll_collector(f)->runtimes[0];
        assert_int_equal(f->snapshot->runtime_count, 1);
        sum += runtime->outcome[NTK_OUTCOME_COMPLETED].period;
        latency += runtime->total_latency.count;
        assert_int_equal(runtime->models[0].executions.period, i * 10);
        assert_int_equal(runtime->cores[0].flops.period, i * 1000);
    }
    assert_int_equal(sum, 450);
    assert_int_equal(latency, 450);
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].total, 450);
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, 450);
    assert_int_equal(runtime->pid, child.pid);
    assert_string_equal(runtime->tag, "bert");
    assert_true(runtime->software);
    assert_int_equal(runtime->core_count, 1);
    assert_int_equal(runtime->cores[0].core, 3);
    if (!test_is_emulated()) { /* its start time is not the one in /proc */
        assert_true(runtime->has & NTK_RUNTIME_HAS_RSS);
        assert_true(runtime->rss_bytes > 0);
        assert_string_not_equal(runtime->command, "");
        assert_string_not_equal(runtime->user, "");
    }
    assert_int_equal(f->snapshot->events_lost.total, 0);
    assert_true(f->snapshot->events_read.total >= 450);
    assert_int_equal(f->snapshot->core_count, 32);
    child_end(&child, 0);
}

static void outcomes_of_an_older_process_are_counted_from_now_on(void **state)
{
    struct fixture *f = *state;
    struct observed child = child_start();
    const struct ntk_runtime_sample *runtime;

    child_tell(&child, COMMAND_EXECUTE, 100);
    collector_open(f, (struct ntk_collector_options){ .reap = true });
    child_tell(&child, COMMAND_EXECUTE, 3);
    child_tell(&child, COMMAND_REFUSE, 0);
    runtime = &poll_collector(f)->runtimes[0];
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].period, 3);
    assert_int_equal(runtime->outcome[NTK_OUTCOME_COMPLETED].total, 103);
    assert_int_equal(runtime->outcome[NTK_OUTCOME_INCORRECT_INPUT].period, 1);
    assert_int_equal(ntk_snapshot_outcome_sum(runtime->outcome), 4);
    assert_int_equal(runtime->total_latency.count, 3);
    child_end(&child, 0);
}

/* Method: --once makes only one report, so its baselines must be at the start of its period. */
static void the_first_period_has_the_cpu_time_of_an_older_process(void **state)
{
    struct fixture *f = *state;
    struct observed child;
    const struct ntk_runtime_sample *runtime;

    if (test_is_emulated()) {
        skip(); /* its start time is not the one in /proc */
    }
    child = child_start();
    collector_open(f, (struct ntk_collector_options){ .reap = true });
    child_tell(&child, COMMAND_BURN, 100);
    runtime = &poll_collector(f)->runtimes[0];
    assert_true(runtime->has & NTK_RUNTIME_HAS_CPU);
    assert_true(runtime->vcpu_user + runtime->vcpu_system > 0);
    child_end(&child, 0);
}

/* Method: a process older than the collector with a wrapped ring; then it wraps
 * again. */
static void events_enabled_later_include_the_events_still_in_the_ring(void **state)
{
    struct fixture *f = *state;
    struct observed child = child_start();
    size_t allocations = 0;

    child_tell(&child, COMMAND_EXECUTE, 20000);
    child_tell(&child, COMMAND_ALLOC, 4096);
    collector_open(f, (struct ntk_collector_options){ .no_events = true });
    poll_collector(f);
    assert_int_equal(f->snapshot->event_count, 0);
    ntk_collector_read_events(f->collector);
    ntk_collector_read_events(f->collector); /* once is enough */
    child_tell(&child, COMMAND_ALLOC, 8192);
    poll_collector(f);
    for (size_t i = 0; i < f->snapshot->event_count; i++) {
        allocations += f->snapshot->events[i].kind == NTK_EVENT_MEM_ALLOC;
    }
    assert_int_equal(allocations, 2);
    assert_true(f->snapshot->events_read.period > 1000);
    assert_int_equal(f->snapshot->events_lost.total, 0); /* they were not wanted */
    child_tell(&child, COMMAND_EXECUTE, 40000);
    poll_collector(f);
    assert_true(f->snapshot->events_lost.period > 10000);
    child_end(&child, 0);
}

static void a_process_that_ran_between_two_polls_loses_no_counts(void **state)
{
    struct fixture *f = *state;

    collector_open(f, (struct ntk_collector_options){ .reap = true });
    struct observed child = child_start();
    child_tell(&child, COMMAND_EXECUTE, 3);
    child_end(&child, 0);
    poll_collector(f);
    assert_int_equal(f->snapshot->runtime_count, 1);
    assert_true(f->snapshot->runtimes[0].ended);
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, 3);
    poll_collector(f);
    assert_int_equal(f->snapshot->runtime_count, 0);
}

/* Executions in this period; each snapshot of a process has them once. */
static uint64_t completed_of_period(struct fixture *f)
{
    const struct ntk_snapshot *snapshot = poll_collector(f);

    assert_true(snapshot->runtime_count <= 1);
    return snapshot->runtime_count == 0
               ? 0
               : snapshot->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].period;
}

static void a_process_that_reopens_its_runtime_loses_no_counts(void **state)
{
    struct fixture *f = *state;
    struct observed child;
    uint64_t sum = 0;

    for (int reaps = 0; reaps < 2; reaps++) {
        collector_open(f, (struct ntk_collector_options){ .reap = reaps });
        child = child_start();
        child_tell(&child, COMMAND_EXECUTE, 5);
        sum = completed_of_period(f);
        child_tell(&child, COMMAND_EXECUTE, 1);
        child_tell(&child, COMMAND_AGAIN, 0);
        child_tell(&child, COMMAND_EXECUTE, 6);
        sum += completed_of_period(f);
        assert_false(f->snapshot->runtimes[0].ended);
        assert_int_equal(f->snapshot->runtimes[0].models[0].executions.period, 7);
        assert_int_equal(f->snapshot->runtimes[0].total_latency.count, 7);
        child_tell(&child, COMMAND_AGAIN, 0);
        sum += completed_of_period(f);
        child_tell(&child, COMMAND_EXECUTE, 4);
        sum += completed_of_period(f);
        assert_int_equal(sum, 16);
        child_end(&child, SIGKILL);
        assert_true(test_wait_until(drained_until_ended, f));
        ntk_collector_destroy(f->collector);
        f->collector = NULL;
    }
    /* Many times between two polls; only a reader that removes segments reports them. */
    collector_open(f, (struct ntk_collector_options){ .reap = true });
    child = child_start();
    for (uint32_t i = 1; i <= 5; i++) {
        child_tell(&child, COMMAND_EXECUTE, i);
        child_tell(&child, COMMAND_AGAIN, 0);
    }
    sum = completed_of_period(f);
    child_tell(&child, COMMAND_EXECUTE, 6);
    assert_int_equal(sum + completed_of_period(f), 21);
    child_end(&child, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, collect_setup, collect_teardown)
    const struct CMUnitTest tests[] = {
        TEST(execution_counts_of_all_periods_sum_to_the_total),
        TEST(outcomes_of_an_older_process_are_counted_from_now_on),
        TEST(the_first_period_has_the_cpu_time_of_an_older_process),
        TEST(events_enabled_later_include_the_events_still_in_the_ring),
        TEST(a_process_that_ran_between_two_polls_loses_no_counts),
        TEST(a_process_that_reopens_its_runtime_loses_no_counts),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
