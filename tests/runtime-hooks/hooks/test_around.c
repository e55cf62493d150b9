/* SPDX-License-Identifier: MIT */
/*
 * What hooks around another runtime require of this module: executions without device time,
 * rejected after they began, several in one call, and several threads on one core.
 * Method: a forked child attaches and executes; the parent reads its segment.
 */
#include "runtime-hooks/hooks/hooks.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "runtime-hooks/hooks/hooks_state.h"
#include "shared/ring/ring_registry.h"
#include "tests/support/observed.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define THREADS 4
#define EXECUTIONS 50000
#define RUNS 5

struct seen {
    struct ntk_ring_core core;
    struct ntk_ring_model model;
    struct ntk_ring_histogram histogram;
    struct ntk_ring_refusals refusals;
    uint64_t total; /* in the histograms */
    uint64_t device;
    struct ntk_slot last; /* EXEC record */
};

static struct ntk_hooks_model_ref model;

static void attach(void)
{
    struct ntk_hooks_config config = {
        .lnc = 1, .device_count = 1, .cores_per_device = 2, .flags = NTK_HOOKS_CORES_SHARED
    };
    struct ntk_hooks_model load = { .id = 10001, .name = "mlp", .core_count = 1 };

    if (ntk_hooks_attach(&config, NULL, 0) != 0) {
        _exit(99);
    }
    ntk_hooks_core_claim(0, 0, 1);
    ntk_hooks_model_begin(&load, &model);
    ntk_hooks_model_loaded(model, ntk_hooks_now(), 0, 0);
}

static struct ntk_hooks_exec begin(void)
{
    struct ntk_hooks_exec exec = { .model = model, .core_count = 1 };

    exec.call_start_ticks = exec.core_start_ticks = ntk_hooks_exec_begin(model, 0, 1);
    return exec;
}

static void see_batch(const struct ntk_ring_segment *segment, const struct ntk_slot *slots,
                      size_t count, void *ctx)
{
    struct seen *seen = ctx;

    (void)segment;
    for (size_t i = 0; i < count; i++) {
        if (slots[i].kind == NTK_EVENT_EXEC) {
            seen->last = slots[i];
        }
    }
}

/* Values that the parent reads from a child that runs this function. */
static struct seen see(int (*fn)(struct observed *child, void *ctx))
{
    struct seen seen;
    char *folder = test_scratch_create();
    struct ntk_ring_options options = { .folder = folder, .hold = true };
    struct ntk_ring_registry *registry;
    struct observed child = observed_start(folder, fn, NULL);

    memset(&seen, 0, sizeof seen);
    (void)observed_receive(&child);
    assert_int_equal(ntk_ring_registry_open(&options, &registry, NULL), 0);
    assert_int_equal(ntk_ring_registry_poll(registry, NULL, NULL), 0);
    assert_int_equal(ntk_ring_registry_count(registry), 1);
    struct ntk_ring_segment *segment = ntk_ring_registry_get(registry, 0);
    assert_int_equal(ntk_ring_segment_cores(segment, &seen.core, 1), 1);
    assert_int_equal(ntk_ring_segment_models(segment, &seen.model, 1), 1);
    assert_int_equal(ntk_ring_segment_core_histogram(segment, 0, &seen.histogram), 0);
    for (size_t i = 0; i < NTK_HISTOGRAM_BUCKETS; i++) {
        seen.total += seen.histogram.total.bucket[i];
        seen.device += seen.histogram.device.bucket[i];
    }
    ntk_ring_segment_refusals(segment, &seen.refusals);
    (void)ntk_ring_segment_drain(segment, 0, see_batch, &seen);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
    ntk_ring_registry_close(registry);
    test_scratch_destroy(folder);
    return seen;
}

static int tell(struct observed *child)
{
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

/* ---- one execution ---- */

static int child_has_no_device_time(struct observed *child, void *ctx)
{
    (void)ctx;
    attach();
    struct ntk_hooks_exec exec = begin();
    ntk_hooks_exec_end(&exec);
    return tell(child);
}

static void an_execution_without_device_time_has_no_device_latency(void **state)
{
    struct seen seen = see(child_has_no_device_time);

    (void)state;
    assert_int_equal(seen.core.counters.outcome[NTK_OUTCOME_COMPLETED], 1);
    assert_int_equal(seen.total, 1);
    assert_int_equal(seen.device, 0);
    assert_int_equal(seen.last.word[3], 0); /* on-core ticks */
    assert_int_equal(seen.last.word[4], 0);
    assert_true(seen.core.counters.busy_ns > 0);
}

static int child_is_refused(struct observed *child, void *ctx)
{
    (void)ctx;
    attach();
    struct ntk_hooks_exec exec = begin();
    while (ntk_hooks_ticks_to_ns(ntk_hooks_now() - exec.core_start_ticks) == 0) {
    }
    exec.status = 7;
    ntk_hooks_exec_cancel(&exec);
    ntk_hooks_exec_refused(&exec);
    return tell(child);
}

static void an_execution_rejected_after_its_start_counts_as_rejected_without_time(void **state)
{
    struct seen seen = see(child_is_refused);

    (void)state;
    assert_int_equal(seen.core.counters.outcome[NTK_OUTCOME_FAILED_TO_QUEUE], 1);
    assert_int_equal(seen.core.counters.busy_ns, 0);
    assert_int_equal(seen.core.in_flight, 0);
    assert_int_equal(seen.total, 0);
    assert_int_equal(seen.model.executions, 0);
    assert_int_equal(seen.model.errors, 1);
    assert_int_equal(seen.model.running, 0);
}

static int child_repeats(struct observed *child, void *ctx)
{
    (void)ctx;
    attach();
    struct ntk_hooks_exec exec = begin();
    exec.run_count = RUNS;
    ntk_hooks_exec_end(&exec);
    return tell(child);
}

static void repeated_runs_in_one_call_count_as_separate_executions(void **state)
{
    struct seen seen = see(child_repeats);

    (void)state;
    assert_int_equal(seen.core.counters.outcome[NTK_OUTCOME_COMPLETED], RUNS);
    assert_int_equal(seen.model.executions, RUNS);
    assert_int_equal(seen.total, RUNS);
    assert_true(seen.histogram.total.sum_ns <= seen.core.counters.busy_ns);
}

static int child_knows_no_end(struct observed *child, void *ctx)
{
    (void)ctx;
    attach();
    struct ntk_hooks_exec exec = begin();
    exec.call_start_ticks = 0;
    ntk_hooks_exec_end(&exec);
    return tell(child);
}

static void an_execution_with_an_unseen_end_counts_without_latency(void **state)
{
    struct seen seen = see(child_knows_no_end);

    (void)state;
    assert_int_equal(seen.core.counters.outcome[NTK_OUTCOME_COMPLETED], 1);
    assert_int_equal(seen.total, 0);
    assert_int_equal(seen.last.word[0], 0);
}

/* ---- several threads ---- */

static void *execute_many(void *ctx)
{
    (void)ctx;
    for (int i = 0; i < EXECUTIONS; i++) {
        struct ntk_hooks_exec exec = begin();

        ntk_hooks_exec_end(&exec);
    }
    return NULL;
}

static void execute_in_threads(void)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, execute_many, NULL) != 0) {
            _exit(99);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

static int child_executes_in_threads(struct observed *child, void *ctx)
{
    (void)ctx;
    attach();
    execute_in_threads();
    return tell(child);
}

static void threads_that_share_a_core_lose_no_counts(void **state)
{
    struct seen seen = see(child_executes_in_threads);

    (void)state;
    assert_int_equal(seen.core.counters.outcome[NTK_OUTCOME_COMPLETED], THREADS * EXECUTIONS);
    assert_int_equal(seen.model.executions, THREADS * EXECUTIONS);
    assert_int_equal(seen.total, THREADS * EXECUTIONS);
    assert_int_equal(seen.core.in_flight, 0);
    assert_int_equal(seen.model.running, 0);
}

static void *hold_and_go(void *ctx)
{
    (void)ctx;
    (void)hooks_core_lock_take(&hooks.core_lock[0]);
    ntk_abi_store(&hooks.segment.cores[0].seq, hooks.segment.cores[0].seq | 1);
    return NULL;
}

static int child_loses_a_holder(struct observed *child, void *ctx)
{
    pthread_t thread;

    (void)ctx;
    attach();
    if (pthread_create(&thread, NULL, hold_and_go, NULL) != 0) {
        return 99;
    }
    (void)pthread_join(thread, NULL);
    struct ntk_hooks_exec exec = begin();
    ntk_hooks_exec_end(&exec);
    return tell(child);
}

static void a_thread_that_exits_with_the_core_lock_does_not_block_others(void **state)
{
    struct seen seen = see(child_loses_a_holder);

    (void)state;
    assert_int_equal(seen.core.counters.outcome[NTK_OUTCOME_COMPLETED], 1);
    assert_int_equal(seen.core.in_flight, 0);
}

static uint32_t executions_in_handler; /* of all threads */

static void execute_in_handler(int number)
{
    int interrupted_errno = errno;

    (void)number;
    struct ntk_hooks_exec exec = begin();
    ntk_hooks_exec_end(&exec);
    (void)__atomic_add_fetch(&executions_in_handler, 1, __ATOMIC_RELAXED);
    errno = interrupted_errno;
}

static int child_executes_in_a_handler(struct observed *child, void *ctx)
{
    struct itimerval often = { { 0, 50 }, { 0, 50 } };
    struct itimerval never = { { 0, 0 }, { 0, 0 } };

    (void)ctx;
    attach();
    (void)signal(SIGALRM, execute_in_handler);
    (void)setitimer(ITIMER_REAL, &often, NULL);
    execute_in_threads();
    (void)setitimer(ITIMER_REAL, &never, NULL);
    (void)signal(SIGALRM, SIG_IGN);
    observed_send(child, 0);
    (void)observed_receive(child);
    return __atomic_load_n(&executions_in_handler, __ATOMIC_RELAXED) > 0 ? 0 : 98;
}

static void executions_lost_in_signal_handlers_are_counted(void **state)
{
    struct seen seen = see(child_executes_in_a_handler);
    uint64_t counted = seen.core.counters.outcome[NTK_OUTCOME_COMPLETED];

    (void)state;
    assert_true(counted + seen.refusals.events_in_signals >= THREADS * EXECUTIONS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_execution_without_device_time_has_no_device_latency),
        cmocka_unit_test(an_execution_rejected_after_its_start_counts_as_rejected_without_time),
        cmocka_unit_test(repeated_runs_in_one_call_count_as_separate_executions),
        cmocka_unit_test(an_execution_with_an_unseen_end_counts_without_latency),
        cmocka_unit_test(threads_that_share_a_core_lose_no_counts),
        cmocka_unit_test(a_thread_that_exits_with_the_core_lock_does_not_block_others),
        cmocka_unit_test(executions_lost_in_signal_handlers_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
