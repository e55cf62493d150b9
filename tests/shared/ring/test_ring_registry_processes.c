/* SPDX-License-Identifier: MIT */
/* Processes with segments: which are alive, which have ended, and their identity. */

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime-hooks/hooks/hooks.h"
#include "shared/ring/ring_registry.h"
#include "tests/shared/ring/ring_registry_fixture.h"
#include "tests/support/observed.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

/* Closing any descriptor of a file drops the locks that the process holds on it. */
static void drop_locks(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);

        if (fd >= 0) {
            close(fd);
        }
    }
    if (dir) {
        closedir(dir);
    }
}

static void *resume(void *ctx)
{
    struct observed *child = ctx;
    char path[64];
    char text[512];
    ssize_t got;
    int fd;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)getpid());
    do { /* waits until the first thread has exited */
        (void)sched_yield();
        fd = open(path, O_RDONLY | O_CLOEXEC);
        got = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
        if (fd >= 0) {
            close(fd);
        }
        text[got > 0 ? got : 0] = '\0';
    } while (!strstr(text, ") Z "));
    observed_send(child, 0);
    while (pause() < 0) { /* until it is killed */
    }
    return NULL;
}

/* Releases its segment's lock, as a program that closes all descriptors does, and ends its first
 * thread. */
static int child_without_a_first_thread(struct observed *child, void *ctx)
{
    struct ntk_hooks_config config = { .lnc = 1 };
    static struct observed copy; /* static, because the stack of the first thread disappears */
    pthread_t thread;

    if (ntk_hooks_attach(&config, NULL, 0) != 0) {
        return 1;
    }
    drop_locks(ctx);
    copy = *child;
    if (pthread_create(&thread, NULL, resume, &copy) != 0) {
        return 1;
    }
    pthread_exit(NULL);
}

static void two_readers_each_receive_every_event(void **state)
{
    struct fixture *f = *state;
    struct ntk_ring_registry *early = open_registry(f, false, NTK_RING_FROM_OLDEST);
    struct ntk_ring_registry *late = open_registry(f, false, NTK_RING_FROM_NOW);
    struct observed child = observed_start(f->folder, child_marks_on_demand, NULL);
    uint64_t published;
    uint64_t read;
    uint64_t lost;

    (void)observed_receive(&child);
    order(&child, 100);
    (void)poll_once(early);
    (void)poll_once(late);
    assert_int_equal(drain(early), 100);
    assert_int_equal(drain(late), 0); /* it starts from here */
    order(&child, 50);
    assert_int_equal(drain(early), 50);
    assert_int_equal(drain(late), 50);
    order(&child, 100000); /* more than a ring holds */
    (void)drain(early);
    ntk_ring_segment_events(ntk_ring_registry_get(early, 0), &read, &lost, &published);
    assert_int_equal(published, 100150);
    assert_int_equal(read + lost, published);
    assert_true(lost > 80000);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
    ntk_ring_registry_close(early);
    ntk_ring_registry_close(late);
}

static void a_killed_process_is_reported_once_and_its_segment_removed(void **state)
{
    struct fixture *f = *state;
    struct ntk_ring_registry *agent = open_registry(f, true, NTK_RING_FROM_OLDEST);
    struct ntk_ring_registry *top = open_registry(f, false, NTK_RING_FROM_OLDEST);
    struct observed child = observed_start(f->folder, child_marks_on_demand, NULL);
    struct ntk_ring_poll poll;
    char path[512];

    (void)observed_receive(&child);
    assert_int_equal(poll_once(agent).appeared, 1);
    assert_int_equal(poll_once(top).appeared, 1);
    (void)snprintf(path, sizeof path, "%s", ntk_ring_segment_path(ntk_ring_registry_get(agent, 0)));
    order(&child, 77);
    assert_int_equal(observed_finish(&child, SIGKILL), 128 + SIGKILL);

    poll = poll_once(agent);
    assert_int_equal(poll.ended, 1);
    assert_int_equal(ntk_ring_segment_state(ntk_ring_registry_get(agent, 0)), NTK_SEGMENT_ENDED);
    assert_int_equal(drain(agent), 77);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(poll_once(agent).segments, 1);
    assert_int_equal(ntk_ring_segment_state(ntk_ring_registry_get(agent, 0)), NTK_SEGMENT_GONE);
    assert_int_equal(poll_once(agent).segments, 0);
    assert_int_equal(access(path, F_OK), 0); /* the other reader has not looked */

    /* The other reader also sees the end, and only once. */
    assert_int_equal(poll_once(top).ended, 1);
    assert_int_equal(drain(top), 77);
    (void)poll_once(agent);
    (void)poll_once(top);
    (void)poll_once(agent);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(poll_once(top).segments, 0);
    assert_int_equal(poll_once(top).appeared, 0);
    ntk_ring_registry_close(agent);
    ntk_ring_registry_close(top);
}

/* As in a container with a first process that does not reap children. */
static void a_zombie_process_counts_as_ended(void **state)
{
    struct fixture *f = *state;
    struct ntk_ring_registry *top = open_registry(f, false, NTK_RING_FROM_OLDEST);
    struct observed child = observed_start(f->folder, child_marks_on_demand, NULL);
    siginfo_t info;

    (void)observed_receive(&child);
    assert_int_equal(poll_once(top).appeared, 1);
    assert_int_equal(kill(child.pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(poll_once(top).ended, 1);
    assert_int_equal(observed_finish(&child, 0), 128 + SIGKILL);
    ntk_ring_registry_close(top);
}

/* The first thread exits, another one continues; without the lock only /proc shows that the process
 * is alive. */
static void a_process_without_its_first_thread_counts_as_running(void **state)
{
    struct fixture *f = *state;
    struct ntk_ring_registry *top = open_registry(f, false, NTK_RING_FROM_OLDEST);
    struct observed child = observed_start(f->folder, child_without_a_first_thread, f->folder);

    (void)observed_receive(&child);
    assert_int_equal(poll_once(top).appeared, 1);
    assert_int_equal(poll_once(top).ended, 0);
    assert_int_equal(poll_once(top).ended, 0);
    assert_int_equal(observed_finish(&child, SIGKILL), 128 + SIGKILL);
    assert_int_equal(poll_once(top).ended, 1);
    ntk_ring_registry_close(top);
}

static void a_process_that_died_unseen_is_reported_to_readers_with_totals(void **state)
{
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, child_marks_on_demand, NULL);
    const struct ntk_ring_options options = {
        .folder = f->folder, .reap = true, .remembers = true, .from = NTK_RING_FROM_OLDEST
    };
    struct ntk_ring_registry *remembers;
    struct ntk_ring_registry *agent;
    struct ntk_ring_registry *top;

    (void)observed_receive(&child);
    order(&child, 5);
    assert_int_equal(observed_finish(&child, SIGKILL), 128 + SIGKILL);

    top = open_registry(f, false, NTK_RING_FROM_OLDEST);
    agent = open_registry(f, true, NTK_RING_FROM_OLDEST);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(poll_once(top).segments, 0);
        assert_int_equal(poll_once(agent).segments, 0);
    }
    ntk_ring_registry_close(agent);
    ntk_ring_registry_close(top);

    /* A reader that is killed before it has stored anything leaves the file to the next. */
    assert_int_equal(ntk_ring_registry_open(&options, &remembers, NULL), 0);
    assert_int_equal(poll_once(remembers).ended, 1);
    (void)poll_once(remembers);
    assert_int_equal(poll_once(remembers).segments, 0);
    ntk_ring_registry_close(remembers);
    assert_int_equal(ntk_ring_registry_open(&options, &remembers, NULL), 0);
    assert_int_equal(poll_once(remembers).ended, 1);
    assert_int_equal(drain(remembers), 5);
    ntk_ring_registry_release(remembers, ntk_ring_registry_ended_count(remembers));
    (void)poll_once(remembers);
    (void)poll_once(remembers);
    ntk_ring_registry_close(remembers);
    assert_int_equal(ntk_ring_registry_open(&options, &remembers, NULL), 0);
    assert_int_equal(poll_once(remembers).segments, 0);
    ntk_ring_registry_close(remembers);
}

static void a_process_in_another_pid_namespace_is_ended_after_two_polls(void **state)
{
    struct fixture *f = *state;
    struct ntk_ring_registry *registry = open_registry(f, false, NTK_RING_FROM_OLDEST);
    struct observed child = observed_start(f->folder, child_marks_on_demand, NULL);
    struct ntk_ring_registry *finder = open_registry(f, false, NTK_RING_FROM_OLDEST);

    (void)observed_receive(&child);
    (void)poll_once(finder);
    poke(ntk_ring_segment_path(ntk_ring_registry_get(finder, 0)),
         offsetof(struct ntk_segment_process, pid_namespace), 4242);
    assert_int_equal(poll_once(registry).segments, 1);
    assert_int_equal(observed_finish(&child, SIGKILL), 128 + SIGKILL);

    assert_int_equal(poll_once(registry).ended, 0);
    assert_int_equal(poll_once(registry).ended, 1);
    ntk_ring_registry_close(registry);
    ntk_ring_registry_close(finder);
}

static void a_registry_ignores_the_segment_of_its_own_process(void **state)
{
    struct fixture *f = *state;
    struct ntk_hooks_config config = { .lnc = 1 };
    struct ntk_ring_registry *registry;

    setenv("NEURON_HOOKS_DIR", f->folder, 1);
    assert_int_equal(ntk_hooks_attach(&config, NULL, 0), 0);
    unsetenv("NEURON_HOOKS_DIR");
    registry = open_registry(f, true, NTK_RING_FROM_OLDEST);
    assert_int_equal(poll_once(registry).segments, 0);
    ntk_ring_registry_close(registry);
    assert_int_equal(access(ntk_hooks_segment_path(), F_OK), 0);
    ntk_hooks_detach();
}

static void histogram_buckets_are_contiguous_and_within_one_percent(void **state)
{
    uint32_t bucket;
    uint64_t value;

    for (bucket = 0; bucket < NTK_HISTOGRAM_BUCKETS; bucket++) {
        uint64_t low = ntk_histogram_bucket_low(bucket);
        uint64_t next = ntk_histogram_bucket_low(bucket + 1);

        assert_true(next > low);
        assert_int_equal(ntk_histogram_bucket(low), bucket);
        assert_int_equal(ntk_histogram_bucket(next - 1), bucket);
        assert_true(ntk_histogram_bucket_middle(bucket) - (double)low <=
                    0.008 * (double)low + 1e-9);
    }
    for (value = 1ull << 41; value != 0; value <<= 1) {
        assert_int_equal(ntk_histogram_bucket(value), NTK_HISTOGRAM_BUCKETS - 1);
    }
}

/* A lock identifies the process independent of the file contents. */
static void a_held_lock_identifies_its_process(void **state)
{
    struct fixture *f = *state;
    struct ntk_ring_registry *finder = open_registry(f, false, NTK_RING_FROM_OLDEST);
    struct ntk_ring_registry *registry = open_registry(f, false, NTK_RING_FROM_OLDEST);
    struct observed child = observed_start(f->folder, child_marks_on_demand, NULL);
    struct ntk_ring_process before;
    struct ntk_ring_process process;

    (void)observed_receive(&child);
    (void)poll_once(finder);
    ntk_ring_segment_process(ntk_ring_registry_get(finder, 0), &before);
    poke(ntk_ring_segment_path(ntk_ring_registry_get(finder, 0)),
         offsetof(struct ntk_segment_process, start_time), before.start_time + 7);
    assert_int_equal(poll_once(registry).segments, 1);
    ntk_ring_segment_process(ntk_ring_registry_get(registry, 0), &process);
    assert_int_equal(process.start_time, before.start_time);
    assert_int_equal(process.own_pid, child.pid);
    ntk_ring_registry_close(finder);
    ntk_ring_registry_close(registry);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

/* A proc folder in which this process has a different pid is that of the host: the child is found
 * there by its start time and its pid in its own namespace. */
static void the_host_pid_of_a_process_is_found_in_the_proc_of_the_host(void **state)
{
    struct fixture *f = *state;
    char *root = test_scratch_create();
    struct observed child = observed_start(f->folder, child_marks_on_demand, NULL);
    char command[1024];
    struct ntk_ring_process process;
    struct ntk_ring_registry *registry = NULL;
    const struct ntk_ring_options options = { .folder = f->folder,
                                              .proc_root = root,
                                              .from = NTK_RING_FROM_OLDEST };

    (void)observed_receive(&child);
    snprintf(command, sizeof command,
             "cd %s && ln -s 999999999 self && mkdir 4241 4242 && cp /proc/self/stat 4241/stat &&"
             "cp /proc/%d/stat 4242/stat && printf "
             "'Name:\tx\nUid:\t%u\t1\t1\t1\nNSpid:\t4242\t77\t%d\nVmRSS:\t1 kB\n'"
             " >4242/status",
             root, (int)child.pid, geteuid(), (int)child.pid);
    assert_int_equal(system(command), 0);
    assert_int_equal(ntk_ring_registry_open(&options, &registry, NULL), 0);
    poll_once(registry);
    assert_int_equal(ntk_ring_registry_count(registry), 1);
    ntk_ring_segment_process(ntk_ring_registry_get(registry, 0), &process);
    assert_int_equal(process.pid, 4242);
    assert_int_equal(process.own_pid, child.pid);
    poll_once(registry);
    assert_int_equal(ntk_ring_segment_state(ntk_ring_registry_get(registry, 0)), NTK_SEGMENT_ALIVE);
    ntk_ring_registry_close(registry);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
    test_scratch_destroy(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(two_readers_each_receive_every_event),
        TEST(a_killed_process_is_reported_once_and_its_segment_removed),
        TEST(a_zombie_process_counts_as_ended),
        TEST(a_process_without_its_first_thread_counts_as_running),
        TEST(a_process_that_died_unseen_is_reported_to_readers_with_totals),
        TEST(a_process_in_another_pid_namespace_is_ended_after_two_polls),
        TEST(a_registry_ignores_the_segment_of_its_own_process),
        TEST(histogram_buckets_are_contiguous_and_within_one_percent),
        TEST(a_held_lock_identifies_its_process),
        TEST(the_host_pid_of_a_process_is_found_in_the_proc_of_the_host),
    };

    test_scratch_in_memory();
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
