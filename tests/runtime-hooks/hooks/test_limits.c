/* SPDX-License-Identifier: MIT */
/*
 * Limited segments: modes of NEURON_HOOKS, limits of file size and of memory.
 * Method: a forked child attaches in a private folder and calls; the parent reads its segment.
 */
#include "runtime-hooks/hooks/hooks.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/runtime-hooks/hooks/hooks_fixture.h"
#include "tests/support/unit.h"

static int child_runs_in_mode(struct observed *child, void *ctx)
{
    struct ntk_hooks_config config = { .lnc = 2 };
    char note[256];

    setenv("NEURON_HOOKS", ctx, 1);
    CHECK(ntk_hooks_attach(&config, note, sizeof note) == 0);
    ntk_hooks_core_claim(0, 0, 1);
    observed_execute(observed_load(10001, 0), 0, 0, 1);
    ntk_hooks_mark(1, 0, 0, 0, 0);
    observed_send(child, (uint64_t)note[0]);
    (void)observed_receive(child);
    ntk_hooks_detach();
    return 0;
}

static void counters_mode_counts_executions_without_recording_events(void **state)
{
    struct hooks_fixture *f = *state;
    char mode[] = "counters";
    struct observed child = observed_start(f->folder, child_runs_in_mode, mode);
    struct ntk_ring_refusals refusals;
    struct ntk_ring_segment *segment;
    struct ntk_ring_process process;
    struct ntk_ring_core core;
    struct seen seen = { 0 };

    assert_int_equal(observed_receive(&child), 0);
    segment = hooks_fixture_segment(f);
    ntk_ring_segment_process(segment, &process);
    assert_int_equal(process.mode, 1);
    assert_int_equal(process.lnc, 2);
    assert_int_equal(ntk_ring_segment_cores(segment, &core, 1), 1);
    assert_int_equal(core.counters.outcome[NTK_OUTCOME_COMPLETED], 1);
    assert_int_equal(ntk_ring_segment_drain(segment, 0, seen_add, &seen), 0);
    ntk_ring_segment_refusals(segment, &refusals);
    assert_int_equal(refusals.events_without_ring, 0);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static void disabled_hooks_create_no_file(void **state)
{
    struct hooks_fixture *f = *state;
    char mode[] = "0";
    struct observed child = observed_start(f->folder, child_runs_in_mode, mode);

    assert_int_equal(observed_receive(&child), 0);
    assert_int_equal(hooks_fixture_files(f->folder), 0);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static void an_unknown_hook_mode_is_reported_and_enables_all(void **state)
{
    struct hooks_fixture *f = *state;
    char mode[] = "yes";
    struct observed child = observed_start(f->folder, child_runs_in_mode, mode);

    assert_int_equal(observed_receive(&child), 'N');
    assert_int_equal(hooks_fixture_files(f->folder), 1);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static int child_has_little_file_size(struct observed *child, void *ctx)
{
    struct ntk_hooks_config config = { .lnc = 1 };
    struct rlimit limit = { 100000, 100000 };
    char note[256];

    (void)child;
    (void)ctx;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(ntk_hooks_attach(&config, note, sizeof note) == -EFBIG);
    CHECK(strstr(note, "is too small for a segment") != NULL);
    observed_execute(observed_load(10001, 0), 0, 0, 1);
    return 0;
}

static void a_small_file_size_limit_prevents_the_segment_without_a_signal(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_has_little_file_size, NULL);

    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(hooks_fixture_files(f->folder), 0);
}

static int child_has_some_file_size(struct observed *child, void *ctx)
{
    struct ntk_hooks_config config = { .lnc = 1 };
    struct rlimit limit = { 16000000, 16000000 };
    char note[256];

    (void)ctx;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(ntk_hooks_attach(&config, note, sizeof note) == 0);
    CHECK(strstr(note, "for events") != NULL);
    observed_marks(NULL);
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void a_medium_file_size_limit_reduces_the_ring_size(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_has_some_file_size, NULL);
    struct ntk_ring_refusals refusals;
    struct seen seen = { 0 };

    (void)observed_receive(&child);
    (void)ntk_ring_segment_drain(hooks_fixture_segment(f), 0, seen_add, &seen);
    assert_int_equal(seen.all, MARKS);
    ntk_ring_segment_refusals(ntk_ring_registry_get(f->registry, 0), &refusals);
    assert_int_equal(refusals.rings_shrunk, 1);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static void *mark_once_and_wait(void *ctx)
{
    pthread_barrier_t *barrier = ctx;

    ntk_hooks_mark(1, 0, 0, 0, 0);
    pthread_barrier_wait(barrier);
    return NULL;
}

static int child_has_little_memory(struct observed *child, void *ctx)
{
    pthread_barrier_t barrier;
    pthread_t threads[5];
    int i;

    (void)ctx;
    setenv("NEURON_HOOKS_MEMORY", "128K", 1); /* two rings of 1,024 slots */
    observed_attach(0);
    pthread_barrier_init(&barrier, NULL, 5);
    for (i = 0; i < 5; i++) {
        CHECK(pthread_create(&threads[i], NULL, mark_once_and_wait, &barrier) == 0);
    }
    for (i = 0; i < 5; i++) {
        pthread_join(threads[i], NULL);
    }
    ntk_hooks_mark(1, 0, 0, 0, 0); /* their rings are free again */
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void threads_without_a_ring_are_counted_if_memory_is_short(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_has_little_memory, NULL);
    struct ntk_ring_refusals refusals;
    struct ntk_ring_segment *segment;
    struct seen seen = { 0 };

    (void)observed_receive(&child);
    segment = hooks_fixture_segment(f);
    (void)ntk_ring_segment_drain(segment, 0, seen_add, &seen);
    ntk_ring_segment_refusals(segment, &refusals);
    assert_int_equal(seen.by_kind[NTK_EVENT_MARK], 3);
    assert_int_equal(refusals.events_without_ring, 3);
    assert_int_equal(refusals.rings_shrunk, 2);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOOKS_TEST(counters_mode_counts_executions_without_recording_events),
        HOOKS_TEST(disabled_hooks_create_no_file),
        HOOKS_TEST(an_unknown_hook_mode_is_reported_and_enables_all),
        HOOKS_TEST(a_small_file_size_limit_prevents_the_segment_without_a_signal),
        HOOKS_TEST(a_medium_file_size_limit_reduces_the_ring_size),
        HOOKS_TEST(threads_without_a_ring_are_counted_if_memory_is_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
