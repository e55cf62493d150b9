/* SPDX-License-Identifier: MIT */
/*
 * A segment from attach to the end of its process: clean exit, fork, second attach, daemon. Method:
 * a forked child attaches in a private folder and calls; the parent reads its segment.
 */
#include "runtime-hooks/hooks/hooks.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/runtime-hooks/hooks/hooks_fixture.h"
#include "tests/support/emulated.h"
#include "tests/support/unit.h"

static int child_waits(struct observed *child, void *ctx)
{
    (void)ctx;
    setenv("NEURON_PROCESS_TAG", "train\n1", 1);
    observed_attach(0);
    observed_send(child, 0);
    (void)observed_receive(child);
    ntk_hooks_detach();
    return 0;
}

static void a_segment_describes_its_process_and_is_removed_at_exit(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_waits, NULL);
    struct ntk_ring_process process;
    struct ntk_ring_registry *passer_by;
    struct ntk_ring_options options = { .folder = f->folder };

    (void)observed_receive(&child);
    assert_int_equal(ntk_ring_registry_open(&options, &passer_by, NULL), 0);
    assert_int_equal(ntk_ring_registry_poll(passer_by, NULL, NULL), 0);
    assert_int_equal(ntk_ring_registry_count(passer_by), 1);
    ntk_ring_segment_process(ntk_ring_registry_get(passer_by, 0), &process);

    assert_int_equal(process.pid, child.pid);
    assert_int_equal(process.own_pid, child.pid);
    assert_int_equal(process.uid, geteuid());
    assert_string_equal(process.tag, "train?1"); /* made safe for a terminal */
    assert_string_equal(process.instance_type, "trn1.2xlarge");
    assert_string_equal(process.runtime_version, "2.31.24.0");
    assert_int_equal(process.framework_type, 2);
    assert_int_equal(process.mode, 2);
    assert_int_equal(process.cores_per_device, 2);
    assert_false(process.clean_exit);

    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(hooks_fixture_files(f->folder), 0);
    assert_int_equal(ntk_ring_registry_poll(passer_by, NULL, NULL), 0);
    assert_int_equal(ntk_ring_segment_state(ntk_ring_registry_get(passer_by, 0)),
                     NTK_SEGMENT_ENDED);
    ntk_ring_registry_close(passer_by);
}

static void a_segment_held_by_a_reader_remains_after_a_clean_exit(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_waits, NULL);
    struct ntk_ring_options options = { .folder = f->folder, .reap = true, .remembers = true };
    struct ntk_ring_registry *agent;
    struct ntk_ring_process process;

    (void)observed_receive(&child);
    (void)hooks_fixture_segment(f); /* holds byte 1 */
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(hooks_fixture_files(f->folder), 1);

    assert_int_equal(ntk_ring_registry_open(&options, &agent, NULL), 0);
    assert_int_equal(ntk_ring_registry_poll(agent, NULL, NULL), 0);
    assert_int_equal(ntk_ring_registry_count(agent), 1);
    ntk_ring_segment_process(ntk_ring_registry_get(agent, 0), &process);
    assert_true(process.clean_exit);
    assert_int_equal(ntk_ring_segment_state(ntk_ring_registry_get(agent, 0)), NTK_SEGMENT_ENDED);
    ntk_ring_registry_release(agent, ntk_ring_registry_ended_count(agent));
    for (int i = 0; i < 4; i++) { /* until the other process has released it */
        assert_int_equal(ntk_ring_registry_poll(f->registry, NULL, NULL), 0);
        assert_int_equal(ntk_ring_registry_poll(agent, NULL, NULL), 0);
    }
    assert_int_equal(hooks_fixture_files(f->folder), 0);
    assert_int_equal(ntk_ring_registry_count(agent), 0);
    ntk_ring_registry_close(agent);
}

static int child_forks(struct observed *child, void *ctx)
{
    char parents[512];
    int status;
    pid_t pid;

    (void)ctx;
    observed_attach(0);
    ntk_hooks_core_claim(0, 0, 1);
    ntk_hooks_mark(1, 0, 0, 0, 0);
    (void)snprintf(parents, sizeof parents, "%s", ntk_hooks_segment_path());
    pid = fork();
    if (pid == 0) {
        CHECK(ntk_hooks_segment_path() == NULL);
        CHECK(!ntk_hooks_counters_on());
        ntk_hooks_mark(1, 0, 0, 0, 0);
        observed_execute(observed_load(10002, 0), 0, 0, 1);
        ntk_hooks_detach();
        CHECK(access(parents, F_OK) == 0);
        observed_attach(0);
        CHECK(strcmp(parents, ntk_hooks_segment_path()) != 0);
        ntk_hooks_mark(1, 0, 0, 0, 0);
        ntk_hooks_detach();
        exit(0); /* with all destructors, as a Python worker exits */
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(access(parents, F_OK) == 0);
    ntk_hooks_mark(1, 0, 0, 0, 0);
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void a_forked_child_never_writes_to_its_parents_segment(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_forks, NULL);
    struct ntk_ring_segment *segment;
    struct ntk_ring_process process;
    struct ntk_ring_core core;
    struct seen seen = { 0 };

    (void)observed_receive(&child);
    segment = hooks_fixture_segment(f); /* the parent's lock survived its child */
    ntk_ring_segment_process(segment, &process);
    assert_int_equal(process.pid, child.pid);
    assert_int_equal(ntk_ring_segment_state(segment), NTK_SEGMENT_ALIVE);
    (void)ntk_ring_segment_drain(segment, 0, seen_add, &seen);
    assert_int_equal(seen.all, 2);
    assert_int_equal(ntk_ring_segment_cores(segment, &core, 1), 1);
    assert_int_equal(core.counters.outcome[NTK_OUTCOME_COMPLETED], 0);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static int child_attaches_twice(struct observed *child, void *ctx)
{
    struct ntk_hooks_config config = { .lnc = 1 };
    int i;

    (void)ctx;
    for (i = 0; i < 3; i++) {
        observed_attach(0);
        CHECK(ntk_hooks_attach(&config, NULL, 0) == -EALREADY);
        ntk_hooks_mark(1, 0, 0, 0, 0);
        observed_marks(NULL);
        if (i < 2) {
            ntk_hooks_detach();
            ntk_hooks_detach();
            ntk_hooks_mark(1, 0, 0, 0, 0);
        }
    }
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void a_process_may_detach_and_attach_again(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_attaches_twice, NULL);
    struct seen seen = { 0 };

    (void)observed_receive(&child);
    (void)ntk_ring_segment_drain(hooks_fixture_segment(f), 0, seen_add, &seen);
    assert_int_equal(seen.all, 1 + MARKS);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static void a_daemon_that_closed_all_descriptors_counts_as_running(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed child;
    int i;

    if (test_is_emulated()) {
        skip(); /* the process sees a different start time than its parent */
    }
    child = observed_start(f->folder, observed_closes_everything, NULL);
    (void)observed_receive(&child);
    for (i = 0; i < 4; i++) {
        assert_int_equal(ntk_ring_segment_state(hooks_fixture_segment(f)), NTK_SEGMENT_ALIVE);
    }
    assert_int_equal(observed_finish(&child, SIGKILL), 128 + SIGKILL);
    assert_int_equal(ntk_ring_segment_state(hooks_fixture_segment(f)), NTK_SEGMENT_ENDED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOOKS_TEST(a_segment_describes_its_process_and_is_removed_at_exit),
        HOOKS_TEST(a_segment_held_by_a_reader_remains_after_a_clean_exit),
        HOOKS_TEST(a_forked_child_never_writes_to_its_parents_segment),
        HOOKS_TEST(a_process_may_detach_and_attach_again),
        HOOKS_TEST(a_daemon_that_closed_all_descriptors_counts_as_running),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
