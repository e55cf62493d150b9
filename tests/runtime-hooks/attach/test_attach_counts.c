/* SPDX-License-Identifier: MIT */
/* What is counted for a job: calls since attaching, of every thread, and calls that never
 * return. */
#include <string.h>
#include <unistd.h>

#include "tests/runtime-hooks/attach/attach_fixture.h"
#include "tests/support/process.h"
#include "tests/support/unit.h"

static void a_running_job_is_counted_from_the_attachment_on(void **state)
{
    struct attach_fixture *f = *state;
    struct ntk_ring_model models[4];
    struct ntk_ring_process process;
    struct seen seen;

    job_start(f);
    job_tell(f, "init");
    job_load(f, "load", 1);
    job_tell(f, "exec 17 0 1000");
    attach_start(f, at_any_cost);
    job_tell(f, "exec 40 0 2000");
    job_tell(f, "repeat 5 0 2000");
    job_tell(f, "exec 3 5 1000");    /* timed out */
    job_tell(f, "exec 2 1003 1000"); /* with NaN */
    job_tell(f, "exec 4 2 1000");    /* rejected */
    job_tell(f, "exec 1 7 1000");    /* the queue was full */
    job_tell(f, "exec 6 14 1000");   /* closed: not an execution at all */
    job_tell(f, "exec 1 0 1000");
    expect_completed(f, 56); /* each repeat is three executions */

    seen_now(f, &seen);
    assert_int_equal(seen.outcome[NTK_OUTCOME_TIMED_OUT], 3);
    assert_int_equal(seen.outcome[NTK_OUTCOME_COMPLETED_WITH_NUM_ERR], 2);
    assert_int_equal(seen.outcome[NTK_OUTCOME_INCORRECT_INPUT], 4);
    assert_int_equal(seen.outcome[NTK_OUTCOME_FAILED_TO_QUEUE], 1);
    assert_int_equal(seen.histogram, 61); /* those that reached a core */
    assert_true(seen.sum_ns >= 96000000u && seen.busy_ns >= 96000000u);
    assert_int_equal(seen.loads, 0); /* loaded before attaching */
    assert_int_equal(ntk_ring_segment_models(segment_get(f), models, 4), 1);
    assert_int_equal(models[0].executions, 61);
    assert_int_equal(models[0].errors, 10);
    assert_string_equal(models[0].name, "");
    ntk_ring_segment_process(segment_get(f), &process);
    assert_int_equal(process.flags & (NTK_PROCESS_ATTACHED | NTK_PROCESS_SOFTWARE_CORE),
                     NTK_PROCESS_ATTACHED);
    assert_true(process.flags & NTK_PROCESS_CORES_GUESSED); /* it could be either of two */
    assert_string_equal(process.tag, "stub");
    assert_string_equal(process.command, "attach_client");
    assert_int_equal(process.uid, geteuid());
    assert_int_equal(job_end(f), 0);
    assert_int_equal(attach_end(f, 0), 0);
}

static void a_job_attached_before_its_start_is_counted_completely(void **state)
{
    struct attach_fixture *f = *state;
    struct ntk_ring_model models[4];
    struct ntk_ring_process process;
    struct seen seen;

    job_start(f);
    attach_start(f, at_any_cost);
    job_tell(f, "init");
    job_load(f, "load", 0);
    job_load(f, "collectives", 1);
    job_tell(f, "alloc 0 1 4096");
    job_tell(f, "slice");
    job_tell(f, "alloc 1 0 100");
    job_tell(f, "exec 25 0 1000");
    expect_completed(f, 25);

    seen_now(f, &seen);
    assert_int_equal(seen.cores, 2);
    assert_int_equal(seen.loads, 2);
    assert_int_equal(ntk_ring_segment_models(segment_get(f), models, 4), 2);
    assert_string_equal(models[0].name, "stub model");
    assert_memory_equal(models[0].uuid, "0123456789abcde", 16);
    assert_string_equal(models[0].neff_path, f->neff);
    assert_int_equal(models[0].core, 2); /* the first of NEURON_RT_VISIBLE_CORES=2-3 */
    assert_int_equal(models[1].core, 3);
    assert_int_equal(models[1].executions, 25);
    expect_tensors(f, 4096);
    assert_int_equal(tensor_bytes(f, NTK_MEMORY_HOST_TENSORS), 100);
    job_tell(f, "free");
    job_tell(f, "free"); /* the slice shares the memory of the tensor */
    job_tell(f, "alloc 0 0 50");
    expect_tensors(f, 4146);
    assert_int_equal(tensor_bytes(f, NTK_MEMORY_HOST_TENSORS), 0);
    job_tell(f, "slice");
    job_tell(f, "buffer"); /* frees the slice, then nothing */
    job_tell(f, "free");
    job_tell(f, "free");
    expect_tensors(f, 4096);
    job_tell(f, "unload");
    job_tell(f, "close");
    expect_tensors(f, 0);
    assert_int_equal(ntk_ring_segment_models(segment_get(f), models, 4), 2);
    assert_int_equal(models[0].state, NTK_MODEL_UNLOADED);
    assert_int_equal(models[1].state, NTK_MODEL_UNLOADED);
    ntk_ring_segment_process(segment_get(f), &process);
    assert_false(process.flags & NTK_PROCESS_CORES_GUESSED);
    assert_int_equal(job_end(f), 0);
    assert_int_equal(attach_end(f, 0), 0);
    assert_non_null(strstr(attach_read_file(f->out), "it exited; observed 25 execution calls"));
}

struct names {
    struct ntk_ring_segment *segment;
    uint64_t executions;
    uint64_t of_workers;
};

static void take_batch(const struct ntk_ring_segment *segment, const struct ntk_slot *slots,
                       size_t count, void *ctx)
{
    struct names *names = ctx;
    size_t i;

    for (i = 0; i < count; i++) {
        struct ntk_ring_thread thread;

        if (slots[i].kind == NTK_EVENT_EXEC) {
            ntk_ring_segment_thread(segment, &slots[i], &thread);
            names->executions++;
            names->of_workers += strcmp(thread.name, "worker") == 0;
        }
    }
}

static void calls_are_counted_for_every_thread_with_the_thread_name(void **state)
{
    struct attach_fixture *f = *state;
    struct names names = { 0 };
    struct seen seen;

    job_start(f);
    job_tell(f, "init");
    job_load(f, "load", 0);
    attach_start(f, at_any_cost);
    (void)segment_get(f);
    job_tell(f, "threads 16 150 1500");
    job_tell(f, "exec 10 0 1000");
    expect_completed(f, 2410);

    seen_now(f, &seen);
    assert_int_equal(seen.histogram, 2410);
    ntk_ring_segment_drain(segment_get(f), 0, take_batch, &names);
    assert_int_equal(names.executions, 2410);
    assert_int_equal(names.of_workers, 2400);
}

static void a_call_left_by_longjmp_is_not_counted(void **state)
{
    struct attach_fixture *f = *state;
    struct seen seen;

    job_start(f);
    job_tell(f, "init");
    job_load(f, "load", 0);
    attach_start(f, at_any_cost);
    job_tell(f, "exec 5 0 1000");
    job_tell(f, "leave");
    job_tell(f, "exec 5 0 1000");
    job_tell(f, "leave");
    job_tell(f, "repeat 5 0 1000");
    expect_completed(f, 25);

    seen_now(f, &seen);
    assert_int_equal(seen.histogram, 25);
    assert_int_equal(seen.in_flight, 0);
}

static int has_that_many(void *ctx)
{
    struct expectation *expected = ctx;
    struct seen seen;

    seen_now(expected->f, &seen);
    return seen.outcome[NTK_OUTCOME_COMPLETED] >= expected->completed;
}

/* Other executions may be in progress. */
static void expect_completed_at_least(struct attach_fixture *f, uint64_t completed)
{
    struct expectation expected = { .f = f, .completed = completed };
    struct seen seen;

    assert_true(test_wait_until(has_that_many, &expected));
    seen_now(f, &seen);
    assert_int_equal(seen.outcome[NTK_OUTCOME_COMPLETED], completed);
}

static int has_none_in_flight(void *ctx)
{
    struct seen seen;

    seen_now(ctx, &seen);
    return seen.in_flight == 0;
}

static void no_core_remains_busy_if_a_thread_exits_during_an_execution(void **state)
{
    struct attach_fixture *f = *state;
    struct seen seen;
    struct seen later;

    job_start(f);
    job_tell(f, "init");
    job_load(f, "load", 0);
    attach_start(f, at_any_cost);
    job_tell(f, "end");
    job_tell(f, "exec 5 0 1000");
    expect_completed_at_least(f, 5);
    assert_true(test_wait_until(has_none_in_flight, f));
    seen_now(f, &seen);
    assert_int_equal(seen.histogram, 5);
    seen_now(f, &later);
    assert_int_equal(later.busy_ns, seen.busy_ns);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        ATTACH_TEST(a_running_job_is_counted_from_the_attachment_on),
        ATTACH_TEST(a_job_attached_before_its_start_is_counted_completely),
        ATTACH_TEST(calls_are_counted_for_every_thread_with_the_thread_name),
        ATTACH_TEST(a_call_left_by_longjmp_is_not_counted),
        ATTACH_TEST(no_core_remains_busy_if_a_thread_exits_during_an_execution),
    };
    int skipped = attach_prepare(argc, argv);

    return skipped ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
