/* SPDX-License-Identifier: MIT */
/*
 * Rings of threads: reuse, and records in signal handlers.
 * Method: a forked child attaches in a private folder and calls; the parent reads its segment.
 */
#include "runtime-hooks/hooks/hooks.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "tests/runtime-hooks/hooks/hooks_fixture.h"
#include "tests/support/emulated.h"
#include "tests/support/process.h"
#include "tests/support/unit.h"

#define ROUNDS 8
#define THREADS 64

static int child_has_many_threads(struct observed *child, void *ctx)
{
    pthread_t threads[THREADS];
    pthread_barrier_t together;
    int round;
    int i;

    (void)ctx;
    setenv("NEURON_HOOKS_MEMORY", "64M", 1);
    pthread_barrier_init(&together, NULL, THREADS);
    observed_attach(0);
    for (round = 0; round < ROUNDS; round++) {
        for (i = 0; i < THREADS; i++) {
            CHECK(pthread_create(&threads[i], NULL, observed_marks, round % 2 ? &together : NULL) ==
                  0);
        }
        for (i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
    }
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void rings_of_exited_threads_are_reused_without_losing_records(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_has_many_threads, NULL);
    struct ntk_ring_refusals refusals;
    struct ntk_ring_segment *segment;
    struct seen seen = { 0 };
    uint64_t published;
    uint64_t read;
    uint64_t lost;

    (void)observed_receive(&child);
    segment = hooks_fixture_segment(f);
    (void)ntk_ring_segment_drain(segment, 0, seen_add, &seen);
    ntk_ring_segment_refusals(segment, &refusals);
    ntk_ring_segment_events(segment, &read, &lost, &published);
    assert_int_equal(seen.by_kind[NTK_EVENT_MARK], ROUNDS * THREADS * MARKS + ROUNDS / 2 * THREADS);
    assert_int_equal(read, published);
    assert_int_equal(lost, 0);
    assert_int_equal(refusals.events_without_ring, 0);
    assert_int_equal(refusals.threads, 0); /* entries of ended threads too */
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static volatile uint64_t marks_in_handler;

static void mark_in_handler(int number)
{
    (void)number;
    ntk_hooks_mark(1, 0, 0, 0, 0);
    marks_in_handler++;
}

/* Writes marks while a timer interrupts it, until the parent has seen enough. */
static int child_is_interrupted(struct observed *child, void *ctx)
{
    struct itimerval often = { { 0, 100 }, { 0, 100 } };
    struct itimerval never = { { 0, 0 }, { 0, 0 } };
    struct pollfd reported = { child->in, POLLIN, 0 };
    struct sigaction action;
    uint64_t marks = 1;

    (void)ctx;
    memset(&action, 0, sizeof action);
    action.sa_handler = mark_in_handler;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    observed_attach(0);
    ntk_hooks_mark(1, 0, 0, 0, 0);
    observed_send(child, 0);
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    while (poll(&reported, 1, 0) <= 0) {
        int i;

        for (i = 0; i < 10000; i++) {
            ntk_hooks_mark(1, 0, 0, 0, 0);
        }
        marks += 10000;
    }
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    (void)signal(SIGALRM, SIG_IGN);
    (void)observed_receive(child);
    observed_send(child, marks + marks_in_handler);
    (void)observed_receive(child);
    return 0;
}

static int has_dropped_in_a_signal(void *ctx)
{
    struct ntk_ring_refusals refusals;

    ntk_ring_segment_refusals(ctx, &refusals);
    return refusals.events_in_signals > 0;
}

static void a_record_in_a_signal_handler_is_published_or_counted_dropped(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_is_interrupted, NULL);
    const char *sanitizer = getenv("NTK_SANITIZE");
    struct ntk_ring_refusals refusals;
    struct ntk_ring_segment *segment;
    struct seen seen = { 0 };
    uint64_t published;
    uint64_t marks;
    uint64_t read;
    uint64_t lost;

    (void)observed_receive(&child);
    segment = hooks_fixture_segment(f);
    if (!test_is_emulated() && (sanitizer == NULL || strcmp(sanitizer, "thread") != 0)) {
        /* Emulation and the thread sanitizer delay signals. */
        assert_int_equal(test_wait_until(has_dropped_in_a_signal, segment), 1);
    }
    observed_send(&child, 0);
    marks = observed_receive(&child);
    (void)ntk_ring_segment_drain(segment, 0, seen_add, &seen);
    ntk_ring_segment_refusals(segment, &refusals);
    ntk_ring_segment_events(segment, &read, &lost, &published);
    assert_int_equal(published + refusals.events_in_signals, marks);
    assert_int_equal(read + lost, published);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOOKS_TEST(rings_of_exited_threads_are_reused_without_losing_records),
        HOOKS_TEST(a_record_in_a_signal_handler_is_published_or_counted_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
