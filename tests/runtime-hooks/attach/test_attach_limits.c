/* SPDX-License-Identifier: MIT */
/* Limits of observing: more calls than there is room for, and executions too short for its cost. */
#include <signal.h>
#include <string.h>

#include "tests/runtime-hooks/attach/attach_fixture.h"
#include "tests/support/process.h"
#include "tests/support/unit.h"

static void executions_are_counted_even_if_their_events_are_dropped(void **state)
{
    static const char *const options[] = { "--buffer", "4096", "--max-cost", "100", NULL };
    struct attach_fixture *f = *state;
    struct ntk_ring_refusals refusals;
    struct seen seen;
    pid_t writer;

    job_start(f);
    attach_start(f, options);
    job_tell(f, "init");
    job_load(f, "load", 0);
    job_tell(f, "exec 10 0 1000");
    expect_completed(f, 10);
    writer = attach_writer(f);
    assert_int_equal(kill(writer, SIGSTOP), 0);
    job_tell(f, "threads 4 500 100");
    job_tell(f, "exec 30 5 1000");
    job_tell(f, "exec 20 2 100");
    job_tell(f, "churn 300");
    job_tell(f, "repeat 3 0 3000");
    job_tell(f, "exec 1 0 1000");
    assert_int_equal(kill(writer, SIGCONT), 0);
    expect_completed(f, 2020);
    expect_tensors(f, 150000);

    seen_now(f, &seen);
    assert_int_equal(seen.outcome[NTK_OUTCOME_TIMED_OUT], 30);
    assert_int_equal(seen.outcome[NTK_OUTCOME_INCORRECT_INPUT], 20);
    assert_int_equal(seen.histogram, 2050);
    assert_int_equal(seen.in_flight, 0);
    ntk_ring_segment_refusals(segment_get(f), &refusals);
    assert_true(refusals.events_without_ring > 2000);
    attach_expect_reported(f, "counts are exact");
    job_tell(f, "exec 5 0 1000"); /* and it continues as before */
    expect_completed(f, 2025);
}

static uint64_t counted_and_lost(struct attach_fixture *f, uint64_t *out_counted)
{
    struct ntk_ring_refusals refusals;
    struct seen seen;

    seen_now(f, &seen);
    ntk_ring_segment_refusals(segment_get(f), &refusals);
    *out_counted = seen.histogram;
    return seen.histogram + refusals.events_without_ring;
}

static int has_the_crowd(void *ctx)
{
    uint64_t counted;

    return counted_and_lost(ctx, &counted) == 5001;
}

static void executions_beyond_the_table_size_are_counted_as_lost(void **state)
{
    struct attach_fixture *f = *state;
    uint64_t counted;

    job_start(f);
    job_tell(f, "init");
    job_load(f, "load", 0);
    attach_start(f, at_any_cost);
    job_tell(f, "crowd 5000"); /* of 4,096 */
    job_tell(f, "exec 1 0 1000");
    assert_true(test_wait_until(has_the_crowd, f));
    assert_int_equal(counted_and_lost(f, &counted), 5001);
    assert_int_equal(counted, 4097);
}

static void too_short_executions_are_no_longer_observed(void **state)
{
    struct attach_fixture *f = *state;
    struct expectation expected = { .f = f, .flag = NTK_PROCESS_NO_EXECUTIONS };
    struct seen seen;

    job_start(f);
    job_tell(f, "init");
    job_load(f, "load", 0);
    attach_start(f, NULL);
    job_tell(f, "exec 5000 0 1");
    assert_true(test_wait_until(segment_has_flag, &expected));
    job_tell(f, "exec 10 0 1000");
    job_tell(f, "alloc 0 0 77"); /* everything else is still observed */
    expect_tensors(f, 77);

    seen_now(f, &seen);
    assert_int_equal(seen.in_flight, 0);
    attach_expect_reported(f, "executions of process ");
    attach_expect_reported(f, "more than 1%");
    assert_int_equal(attach_end(f, SIGINT), 0);
    assert_non_null(
        strstr(attach_read_file(f->out), "execution calls, then stopped observing them"));
}

/* Calls of a thread that was inside an execution when observing stopped, from deeper in its
 * stack. */
static void api_calls_are_still_observed_after_execution_observation_stops(void **state)
{
    struct attach_fixture *f = *state;
    struct expectation expected = { .f = f, .flag = NTK_PROCESS_NO_EXECUTIONS };

    job_start(f);
    job_tell(f, "init");
    job_load(f, "load", 0);
    attach_start(f, NULL);
    job_begin(f, "until 0 1");
    assert_true(test_wait_until(segment_has_flag, &expected));
    job_finish(f);
    job_tell(f, "deep alloc 0 0 77");
    expect_tensors(f, 77);
}

static void asynchronous_executions_are_not_counted(void **state)
{
    struct attach_fixture *f = *state;
    struct expectation expected = { .f = f, .flag = NTK_PROCESS_NO_EXECUTIONS };

    job_start(f);
    attach_start(f, NULL);
    job_tell(f, "init");
    job_tell(f, "async");
    assert_true(test_wait_until(segment_has_flag, &expected));
    attach_expect_reported(f, "nrta_execute_schedule");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        ATTACH_TEST(executions_are_counted_even_if_their_events_are_dropped),
        ATTACH_TEST(executions_beyond_the_table_size_are_counted_as_lost),
        ATTACH_TEST(too_short_executions_are_no_longer_observed),
        ATTACH_TEST(api_calls_are_still_observed_after_execution_observation_stops),
        ATTACH_TEST(asynchronous_executions_are_not_counted),
    };
    int skipped = attach_prepare(argc, argv);

    return skipped ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
