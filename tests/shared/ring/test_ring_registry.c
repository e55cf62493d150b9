/* SPDX-License-Identifier: MIT */
/* Folders with segments, and files that are none; who lives and who ended. */
#include "shared/ring/ring_registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime-hooks/hooks/hooks.h"
#include "shared/abi/paths.h"
#include "shared/abi/process_stat.h"
#include "shared/base/fs.h"
#include "tests/support/observed.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

struct fixture {
    char *folder;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = test_scratch_create();
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

static struct ntk_ring_registry *open_registry(const struct fixture *f, bool reap,
                                               enum ntk_ring_from from)
{
    struct ntk_ring_options options = { .folder = f->folder, .reap = reap, .from = from };
    struct ntk_ring_registry *registry = NULL;

    assert_int_equal(ntk_ring_registry_open(&options, &registry, NULL), 0);
    return registry;
}

static struct ntk_ring_poll poll_once(struct ntk_ring_registry *registry)
{
    struct ntk_ring_poll poll;

    assert_int_equal(ntk_ring_registry_poll(registry, &poll, NULL), 0);
    return poll;
}

/* Marks as often as it is told, until told 0. */
static int child_marks_on_demand(struct observed *child, void *ctx)
{
    struct ntk_hooks_config config = { .lnc = 1 };
    uint64_t count;

    (void)ctx;
    if (ntk_hooks_attach(&config, NULL, 0) != 0) {
        return 1;
    }
    observed_send(child, 0);
    while ((count = observed_receive(child)) != 0) {
        while (count-- > 0) {
            ntk_hooks_mark(1, 0, 0, 0, 0);
        }
        observed_send(child, 0);
    }
    ntk_hooks_detach();
    return 0;
}

/* Closing any descriptor of a file drops the locks that the process has on it. */
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

static void *go_on(void *ctx)
{
    struct observed *child = ctx;
    char path[64];
    char text[512];
    ssize_t got;
    int fd;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)getpid());
    do { /* until the first thread is over */
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

/* Lets its segment's lock go, as a program that closes all descriptors, and its first thread
 * end. */
static int child_without_a_first_thread(struct observed *child, void *ctx)
{
    struct ntk_hooks_config config = { .lnc = 1 };
    static struct observed copy; /* the stack of the first thread goes */
    pthread_t thread;

    if (ntk_hooks_attach(&config, NULL, 0) != 0) {
        return 1;
    }
    drop_locks(ctx);
    copy = *child;
    if (pthread_create(&thread, NULL, go_on, &copy) != 0) {
        return 1;
    }
    pthread_exit(NULL);
}

static void order(struct observed *child, uint64_t marks)
{
    observed_send(child, marks);
    (void)observed_receive(child);
}

static void count_events(const struct ntk_ring_segment *segment, const struct ntk_slot *slots,
                         size_t count, void *ctx)
{
    (void)segment;
    (void)slots;
    *(uint64_t *)ctx += count;
}

static uint64_t drain(struct ntk_ring_registry *registry)
{
    uint64_t events = 0;
    size_t i;

    for (i = 0; i < ntk_ring_registry_count(registry); i++) {
        (void)ntk_ring_segment_drain(ntk_ring_registry_get(registry, i), 0, count_events, &events);
    }
    return events;
}

static void two_readers_get_every_event_each(void **state)
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
    assert_int_equal(drain(late), 0); /* from now */
    order(&child, 50);
    assert_int_equal(drain(early), 50);
    assert_int_equal(drain(late), 50);
    order(&child, 100000); /* more than a ring */
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

static void a_killed_process_is_shown_once_drained_and_removed(void **state)
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

    /* The other reader sees the end too, and only once. */
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

/* As in a container whose first process waits for nobody. */
static void a_killed_process_that_nobody_waits_for_has_ended(void **state)
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

/* The first thread ends, another goes on; without the lock only /proc tells that the process
 * lives. */
static void a_process_whose_first_thread_ended_lives(void **state)
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

static void what_died_before_it_was_seen_matters_to_the_one_who_remembers(void **state)
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

    /* One that is killed before it has kept anything leaves the file to the next. */
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

static unsigned int segment_files(const struct fixture *f)
{
    DIR *dir = opendir(f->folder);
    const struct dirent *entry;
    unsigned int files = 0;

    while (dir && (entry = readdir(dir))) {
        unsigned long long start_time;
        unsigned int pid;

        files += (unsigned int)ntk_paths_parse_segment_name(entry->d_name, &pid, &start_time);
    }
    if (dir) {
        closedir(dir);
    }
    return files;
}

static void run_short_process(const struct fixture *f, uint64_t marks)
{
    struct observed child = observed_start(f->folder, child_marks_on_demand, NULL);

    (void)observed_receive(&child);
    order(&child, marks);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static void a_process_between_two_looks_is_left_to_the_one_who_cleans_up(void **state)
{
    struct fixture *f = *state;
    struct ntk_ring_registry *agent = open_registry(f, true, NTK_RING_FROM_OLDEST);
    struct ntk_ring_poll poll = poll_once(agent);

    assert_int_equal(poll.segments, 0);
    run_short_process(f, 7);
    poll = poll_once(agent);
    assert_int_equal(poll.appeared, 1);
    assert_int_equal(poll.ended, 1);
    assert_int_equal(drain(agent), 7);
    (void)poll_once(agent);
    assert_int_equal(poll_once(agent).segments, 0);
    ntk_ring_registry_close(agent);
}

static void a_dead_file_waits_for_two_looks_of_every_other_reader(void **state)
{
    struct fixture *f = *state;
    struct ntk_ring_registry *early = open_registry(f, true, NTK_RING_FROM_OLDEST);
    struct ntk_ring_registry *late = open_registry(f, true, NTK_RING_FROM_OLDEST);

    (void)poll_once(early);
    (void)poll_once(late);
    for (unsigned int round = 0; round < 5; round++) {
        run_short_process(f, 7);
        assert_int_equal(poll_once(early).ended, 1);
        assert_int_equal(drain(early), 7);
        for (unsigned int i = 0; i < 20; i++) {
            assert_int_equal(poll_once(early).ended, 0);
        }
        assert_int_equal(poll_once(late).ended, 1);
        assert_int_equal(drain(late), 7);
        for (unsigned int i = 0; i < 4; i++) {
            assert_int_equal(poll_once(late).ended, 0);
            assert_int_equal(poll_once(early).ended, 0);
        }
        assert_int_equal(segment_files(f), 0);
    }
    /* One that was killed is waited for no more. */
    ntk_ring_registry_close(late);
    run_short_process(f, 7);
    (void)poll_once(early);
    (void)poll_once(early);
    assert_int_equal(segment_files(f), 0);
    ntk_ring_registry_close(early);
}

static void a_folder_that_is_made_later_is_looked_into(void **state)
{
    const struct fixture *f = *state;
    struct fixture later = { .folder = test_scratch_path(f->folder, "later") };
    struct ntk_ring_registry *top = open_registry(&later, false, NTK_RING_FROM_OLDEST);

    assert_int_equal(poll_once(top).segments, 0);
    assert_int_not_equal(access(later.folder, F_OK), 0); /* one that only looks makes nothing */
    struct observed child = observed_start(later.folder, child_marks_on_demand, NULL);
    (void)observed_receive(&child);
    assert_int_equal(poll_once(top).appeared, 1);
    order(&child, 3);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
    ntk_ring_registry_close(top);
    free(later.folder);
}

/* Method: the folder is not there when the agent starts; the first process that would make it is
 * over before the agent looks again. */
static void the_first_process_of_a_new_folder_is_not_too_short_to_be_seen(void **state)
{
    const struct fixture *f = *state;
    struct fixture later = { .folder = test_scratch_path(f->folder, "later") };
    struct ntk_ring_registry *agent = open_registry(&later, true, NTK_RING_FROM_OLDEST);

    assert_int_equal(poll_once(agent).segments, 0);
    run_short_process(&later, 5);
    assert_int_equal(poll_once(agent).appeared, 1);
    assert_int_equal(drain(agent), 5);
    (void)poll_once(agent);
    (void)poll_once(agent);
    ntk_ring_registry_close(agent);
    assert_int_not_equal(access(later.folder, F_OK), 0); /* nothing is left */
    free(later.folder);
}

static void a_reader_that_stands_still_is_left_a_bounded_number_of_files(void **state)
{
    struct fixture *f = *state;
    struct ntk_ring_registry *agent = open_registry(f, true, NTK_RING_FROM_OLDEST);
    uint32_t left;

    (void)poll_once(agent);
    for (unsigned int i = 0; i < 126; i++) {
        char name[32];
        char *path;
        int fd;

        (void)snprintf(name, sizeof name, "%u-1", 4000000 + i);
        path = test_scratch_path(f->folder, name);
        fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        close(fd);
        free(path);
    }
    run_short_process(f, 1); /* the 127th */
    run_short_process(f, 1); /* the 128th is one too many */
    left = poll_once(agent).segments;
    assert_int_equal(left, 1);
    ntk_ring_registry_close(agent);
}

static int is_marked(const struct fixture *f)
{
    char *path = test_scratch_path(f->folder, NTK_READER_MARK_NAME);
    int there = access(path, F_OK) == 0;

    free(path);
    return there;
}

static void the_mark_is_there_while_someone_cleans_up(void **state)
{
    struct fixture *f = *state;
    struct ntk_ring_registry *watcher = open_registry(f, false, NTK_RING_FROM_OLDEST);
    struct ntk_ring_registry *first = open_registry(f, true, NTK_RING_FROM_OLDEST);
    struct ntk_ring_registry *second = open_registry(f, true, NTK_RING_FROM_OLDEST);

    (void)poll_once(watcher);
    assert_false(is_marked(f));
    (void)poll_once(first);
    (void)poll_once(second);
    assert_true(is_marked(f));
    ntk_ring_registry_close(first);
    assert_true(is_marked(f));
    ntk_ring_registry_close(second);
    assert_false(is_marked(f));

    /* Nobody cleans up: a clean end takes its file along. */
    run_short_process(f, 1);
    assert_int_equal(poll_once(watcher).segments, 0);
    second = open_registry(f, true, NTK_RING_FROM_OLDEST);
    assert_int_equal(poll_once(second).segments, 0);
    ntk_ring_registry_close(second);
    ntk_ring_registry_close(watcher);
}

static void a_mark_that_was_removed_is_made_again_and_one_nobody_holds_means_nothing(void **state)
{
    struct fixture *f = *state;
    struct ntk_ring_registry *agent = open_registry(f, true, NTK_RING_FROM_OLDEST);
    char *path = test_scratch_path(f->folder, NTK_READER_MARK_NAME);
    int fd;

    (void)poll_once(agent);
    assert_int_equal(unlink(path), 0);
    (void)poll_once(agent);
    assert_true(is_marked(f));
    ntk_ring_registry_close(agent);

    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644); /* what a killed agent leaves */
    assert_true(fd >= 0);
    run_short_process(f, 1);
    close(fd);
    agent = open_registry(f, true, NTK_RING_FROM_OLDEST);
    assert_int_equal(poll_once(agent).segments, 0);
    ntk_ring_registry_close(agent);
    assert_false(is_marked(f));
    free(path);
}

/* Between two runs of a reader that keeps what it counts, neither a clean end nor another reader
 * takes a file. */
static void what_ends_between_two_runs_of_a_reader_that_remembers_waits_for_the_second(void **state)
{
    struct fixture *f = *state;
    const struct ntk_ring_options options = {
        .folder = f->folder, .reap = true, .remembers = true, .from = NTK_RING_FROM_OLDEST
    };
    struct ntk_ring_registry *remembers;
    struct ntk_ring_registry *other;

    assert_int_equal(ntk_ring_registry_open(&options, &remembers, NULL), 0);
    (void)poll_once(remembers);
    ntk_ring_registry_close(remembers);
    run_short_process(f, 3);
    assert_int_equal(segment_files(f), 1);
    other = open_registry(f, true, NTK_RING_FROM_OLDEST);
    (void)poll_once(other);
    run_short_process(f, 4);
    assert_int_equal(poll_once(other).ended, 1);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(poll_once(other).ended, 0);
    }
    assert_int_equal(segment_files(f), 2);
    assert_int_equal(ntk_ring_registry_open(&options, &remembers, NULL), 0);
    assert_int_equal(poll_once(remembers).ended, 2);
    assert_int_equal(drain(remembers), 7);
    ntk_ring_registry_release(remembers, ntk_ring_registry_ended_count(remembers));
    for (int i = 0; i < 4; i++) {
        (void)poll_once(remembers);
        (void)poll_once(other);
    }
    assert_int_equal(segment_files(f), 0);
    ntk_ring_registry_close(remembers);
    ntk_ring_registry_close(other);
}

/* Changes 8 bytes of the child's segment, as if it had been written so. */
static void poke(const char *path, size_t in_process, uint64_t value)
{
    struct ntk_segment_header header;
    int fd = open(path, O_RDWR | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &header, sizeof header, 0), sizeof header);
    assert_int_equal(pwrite(fd, &value, sizeof value,
                            (off_t)(header.section[NTK_SECTION_PROCESS].offset + in_process)),
                     sizeof value);
    close(fd);
}

static void a_free_lock_of_another_pid_namespace_needs_two_polls(void **state)
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

static void write_file(const char *folder, const char *name, size_t bytes, mode_t mode)
{
    char *path = test_scratch_path(folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);
    static const char zeros[8192];
    char text[8192];

    assert_true(fd >= 0 && bytes <= sizeof text);
    memset(text, 'x', sizeof text);
    assert_int_equal(write(fd, mode == 0640 ? zeros : text, bytes), bytes);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
    free(path);
}

static void files_that_are_no_segments_are_ignored_and_named(void **state)
{
    struct fixture *f = *state;
    struct ntk_ring_registry *registry = open_registry(f, true, NTK_RING_FROM_OLDEST);
    char *fifo = test_scratch_path(f->folder, "17-4");
    char *link = test_scratch_path(f->folder, "17-5");
    struct ntk_ring_poll poll;

    write_file(f->folder, "soft.state", 100, 0600);
    write_file(f->folder, "notes", 100, 0600);
    write_file(f->folder, "17", 100, 0600);
    write_file(f->folder, "17-2x", 100, 0600);
    write_file(f->folder, "0-2", 100, 0600);
    poll = poll_once(registry);
    assert_int_equal(poll.ignored, 0); /* not named like segments */

    write_file(f->folder, "17-1", 0, 0600);   /* being made */
    write_file(f->folder, "17-2", 600, 0640); /* zeros: being made */
    assert_int_equal(poll_once(registry).ignored, 0);

    write_file(f->folder, "17-3", 4096, 0600);
    poll = poll_once(registry);
    assert_int_equal(poll.ignored, 1);
    assert_non_null(strstr(poll.ignored_reason, "17-3: is not a segment"));
    assert_int_equal(mkfifo(fifo, 0600), 0); /* must not block */
    poll = poll_once(registry);
    assert_int_equal(poll.ignored, 2);
    assert_int_equal(symlink("/etc/passwd", link), 0);
    poll = poll_once(registry);
    assert_int_equal(poll.ignored, 3);
    assert_int_equal(poll.segments, 0);
    free(fifo);
    free(link);
    ntk_ring_registry_close(registry);
}

/* Method: the folder has not changed for an hour, so nothing but the file makes a poll look into
 * it. */
static void a_file_that_is_refused_is_told_in_every_poll(void **state)
{
    const struct timespec times[2] = { { .tv_sec = time(NULL) - 3600 },
                                       { .tv_sec = time(NULL) - 3600 } };
    struct fixture *f = *state;

    write_file(f->folder, "17-3", 4096, 0600);
    assert_int_equal(utimensat(AT_FDCWD, f->folder, times, 0), 0);
    struct ntk_ring_registry *registry = open_registry(f, false, NTK_RING_FROM_OLDEST);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(poll_once(registry).ignored, 1);
    }
    ntk_ring_registry_close(registry);
}

static void a_folder_that_comes_later_is_found(void **state)
{
    struct fixture *f = *state;
    char *later = test_scratch_path(f->folder, "later");
    struct ntk_ring_options options = { .folder = later };
    struct ntk_ring_registry *registry = NULL;
    struct observed child;

    assert_int_equal(ntk_ring_registry_open(&options, &registry, NULL), 0);
    assert_int_equal(poll_once(registry).ignored, 0);
    child = observed_start(later, child_marks_on_demand, NULL);
    (void)observed_receive(&child);
    assert_int_equal(poll_once(registry).segments, 1);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
    ntk_ring_registry_close(registry);
    free(later);
}

static void a_process_does_not_look_at_itself(void **state)
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

static void buckets_meet_without_gaps_and_the_middle_is_within_one_percent(void **state)
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* The file of a child as another user's, under another name: what anybody could write. Open. */
static int forge(const struct fixture *f, const struct observed *child, const char *name,
                 uint32_t uid)
{
    enum { TABLES = 2 << 20, PAGE = 4096 }; /* the rest is holes, as most of the tables is */
    static const char hole[PAGE];
    uint64_t pid_and_uid = (uint64_t)uid << 32 | (uint32_t)child->pid;
    char *path = test_scratch_path(f->folder, name);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    char *bytes = malloc(TABLES);
    DIR *dir = opendir(f->folder);
    const struct dirent *entry;
    struct stat status;
    int from = -1;

    while (dir && from < 0 && (entry = readdir(dir))) {
        if (strtol(entry->d_name, NULL, 10) == child->pid) {
            from = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
        }
    }
    assert_true(fd >= 0 && from >= 0 && bytes && fstat(from, &status) == 0);
    assert_int_equal(pread(from, bytes, TABLES, 0), TABLES);
    for (off_t at = 0; at < TABLES; at += PAGE) {
        if (memcmp(bytes + at, hole, PAGE) != 0) {
            assert_int_equal(pwrite(fd, bytes + at, PAGE, at), PAGE);
        }
    }
    assert_int_equal(ftruncate(fd, status.st_size), 0);
    assert_int_equal(fchown(fd, uid, (gid_t)-1), 0);
    poke(path, offsetof(struct ntk_segment_process, pid), pid_and_uid);
    close(from);
    free(bytes);
    free(path);
    closedir(dir);
    return fd;
}

/* Who says that it writes for another process is asked whose that is; where nobody can be asked
 * only root is believed. */
static void nobody_claims_to_be_attached_to_another_users_process(void **state)
{
    static const struct {
        uint64_t namespace; /* 0: as it is */
        const char *reason;
    } claims[] = {
        { 0, "of user 65534 speaks for process" },
        { 1, "of user 65534 speaks for a process that cannot be judged from here" },
    };
    struct fixture *f = *state;
    struct observed child = observed_start(f->folder, child_marks_on_demand, NULL);
    char *path = test_scratch_path(f->folder, "4242-1");

    (void)observed_receive(&child);
    if (geteuid() != 0) {
        print_message("only root can be two users\n");
    } else {
        close(forge(f, &child, "4242-1", 65534));
        poke(path, offsetof(struct ntk_segment_process, flags), NTK_PROCESS_ATTACHED);
        for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
            struct ntk_ring_registry *registry = open_registry(f, false, NTK_RING_FROM_OLDEST);
            struct ntk_ring_poll poll;

            if (claims[i].namespace != 0) {
                poke(path, offsetof(struct ntk_segment_process, pid_namespace),
                     claims[i].namespace);
            }
            poll = poll_once(registry);
            assert_int_equal(poll.segments, 1); /* the child's own */
            assert_non_null(strstr(poll.ignored_reason, claims[i].reason));
            ntk_ring_registry_close(registry);
        }
    }
    free(path);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static void nobody_speaks_for_another_users_process(void **state)
{
    struct fixture *f = *state;
    struct ntk_ring_registry *registry = open_registry(f, false, NTK_RING_FROM_OLDEST);
    struct observed child = observed_start(f->folder, child_marks_on_demand, NULL);
    struct ntk_ring_poll poll;
    char *path;

    (void)observed_receive(&child);
    if (geteuid() != 0) {
        print_message("only root can be two users\n");
    } else {
        close(forge(f, &child, "4242-1", 65534));
        path = test_scratch_path(f->folder, "4242-1");
        poll = poll_once(registry);
        assert_int_equal(poll.segments, 1); /* the child's own */
        assert_non_null(strstr(poll.ignored_reason, "of user 65534 speaks for process"));
        /* Nor does it say that it ended. */
        poke(path, offsetof(struct ntk_segment_process, ended), 1);
        ntk_ring_registry_close(registry);
        registry = open_registry(f, true, NTK_RING_FROM_OLDEST);
        poll = poll_once(registry);
        assert_int_equal(poll.segments, 1);
        assert_int_equal(poll.ended, 0);
        assert_non_null(strstr(poll.ignored_reason, "of user 65534 speaks for process"));
        free(path);
    }
    ntk_ring_registry_close(registry);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

static void a_file_whose_writer_was_killed_at_its_beginning_is_removed(void **state)
{
    enum { FILES = 4 };
    static const char *const names[FILES] = { "17-1", "17-2", "17-3", "17-4" };
    const struct timespec long_ago[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
    struct fixture *f = *state;
    struct ntk_ring_registry *registry = open_registry(f, true, NTK_RING_FROM_OLDEST);
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
    char *path[FILES];
    int fd;

    for (size_t i = 0; i < FILES; i++) {
        write_file(f->folder, names[i], i == 0 ? 0 : 600, 0640);
        path[i] = test_scratch_path(f->folder, names[i]);
        if (i < 3) {
            assert_int_equal(utimensat(AT_FDCWD, path[i], long_ago, 0), 0);
        }
    }
    fd = open(path[2], O_RDWR | O_CLOEXEC);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
    assert_int_equal(poll_once(registry).ignored, 0);
    assert_int_equal(access(path[0], F_OK), -1);
    assert_int_equal(access(path[1], F_OK), -1);
    assert_int_equal(access(path[2], F_OK), 0); /* somebody is at it */
    assert_int_equal(access(path[3], F_OK), 0); /* not old */
    close(fd);
    for (size_t i = 0; i < FILES; i++) {
        free(path[i]);
    }
    ntk_ring_registry_close(registry);
}

/* A job that was killed in nrt_init. */
static void a_file_without_magic_goes_soon_where_its_process_is_over(void **state)
{
    struct fixture *f = *state;
    struct ntk_ring_registry *registry = open_registry(f, true, NTK_RING_FROM_OLDEST);
    char name[64];
    char text[NTK_STAT_BYTES];
    struct timespec times[2];

    (void)snprintf(name, sizeof name, "/proc/%u/stat", (unsigned int)getppid());
    assert_true(ntk_fs_read_text(name, text, sizeof text) > 0);
    (void)snprintf(name, sizeof name, "%u-%" PRIu64, (unsigned int)getppid(),
                   ntk_process_stat_start_time(text));
    char *path[2] = { test_scratch_path(f->folder, "17-1"), test_scratch_path(f->folder, name) };
    write_file(f->folder, "17-1", 600, 0640);
    write_file(f->folder, name, 600, 0640);
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= 5;
    times[1] = times[0];
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(utimensat(AT_FDCWD, path[i], times, 0), 0);
    }
    assert_int_equal(poll_once(registry).ignored, 0);
    assert_int_equal(access(path[0], F_OK), -1);
    assert_int_equal(access(path[1], F_OK), 0); /* it runs, and may be about to lock the file */
    for (size_t i = 0; i < 2; i++) {
        free(path[i]);
    }
    ntk_ring_registry_close(registry);
}

/* A lock tells the process: whatever else its file says of it. */
static void a_held_lock_says_which_process_it_is(void **state)
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

#define OTHER_USER 65534
#define SKIPPED 77

/* A process of that user, whose folder is where it finds one; it lives until the pipe is closed. */
static pid_t start_as_other_user(int pipe_fd[2])
{
    struct ntk_hooks_config config = { .lnc = 1 };
    int ready[2];
    char byte = 0;

    if (pipe(ready) != 0 || pipe(pipe_fd) != 0) {
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(pipe_fd[1]);
        unsetenv("NEURON_HOOKS_DIR");
        if (setgid(OTHER_USER) != 0 || setuid(OTHER_USER) != 0 ||
            ntk_hooks_attach(&config, NULL, 0) != 0 || write(ready[1], "r", 1) != 1) {
            _exit(1);
        }
        (void)!read(pipe_fd[0], &byte, 1);
        _exit(0);
    }
    close(pipe_fd[0]);
    close(ready[1]);
    (void)!read(ready[0], &byte, 1);
    close(ready[0]);
    return byte == 'r' ? pid : -1;
}

/* In a mount namespace of its own, where somebody took the user's name first. 0: root sees the
 * process. */
static int look_for_user_behind_a_taken_name(void)
{
    struct ntk_ring_registry *registry = NULL;
    struct ntk_ring_poll poll;
    int pipe_fd[2];

    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", NTK_HOOKS_PARENT, "tmpfs", 0, "mode=1777") != 0) {
        return SKIPPED;
    }
    unsetenv("NEURON_HOOKS_DIR");
    if (mkdir(NTK_HOOKS_PARENT "/neuron-65534", 0755) != 0) {
        return 2;
    }
    pid_t pid = start_as_other_user(pipe_fd);
    if (pid < 0) {
        return 3;
    }
    bool seen = ntk_ring_registry_open(NULL, &registry, NULL) == 0 &&
                ntk_ring_registry_poll(registry, &poll, NULL) == 0 && poll.segments == 1 &&
                strstr(poll.ignored_reason, "neuron-65534 is not a folder of user 65534");
    ntk_ring_registry_close(registry);
    close(pipe_fd[1]);
    (void)waitpid(pid, NULL, 0);
    return seen ? 0 : 4;
}

static void root_sees_a_user_whose_folder_somebody_else_took(void **state)
{
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        _exit(look_for_user_behind_a_taken_name());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
        skip();
    }
    assert_int_equal(status, 0);
}

static void a_user_with_too_many_segments_takes_no_room_of_others(void **state)
{
    enum { MANY = 560, MOST = 512 };
    struct fixture *f = *state;
    struct ntk_ring_registry *registry = open_registry(f, false, NTK_RING_FROM_OLDEST);
    struct observed child = observed_start(f->folder, child_marks_on_demand, NULL);
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
    struct ntk_ring_poll poll;
    int fds[MANY];

    (void)observed_receive(&child);
    if (geteuid() == 0) {
        for (int i = 0; i < MANY; i++) {
            char name[32];
            char *path;

            (void)snprintf(name, sizeof name, "%d-1", 100000 + i);
            fds[i] = forge(f, &child, name, 65534);
            path = test_scratch_path(f->folder, name);
            poke(path, offsetof(struct ntk_segment_process, pid_namespace), 4242);
            assert_int_equal(fcntl(fds[i], F_OFD_SETLK, &lock), 0);
            free(path);
        }
        poll = poll_once(registry);
        assert_int_equal(poll.segments, MOST + 1);
        assert_int_equal(poll.ignored, MANY - MOST);
        assert_non_null(strstr(poll.ignored_reason, "too many of user 65534"));
        for (int i = 0; i < MANY; i++) {
            close(fds[i]);
        }
    }
    ntk_ring_registry_close(registry);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

/* Method: thousands of another user's files that are named like segments; each poll does a part of
 * them, and opens few. */
static void a_folder_full_of_files_is_gone_over_in_steps(void **state)
{
    enum { FILES = 6000 };
    struct fixture *f = *state;
    struct ntk_ring_registry *registry;
    struct observed child;
    uint32_t most = 0;
    unsigned int polls = 0;

    if (geteuid() != 0) {
        print_message("only root can be two users\n");
        return;
    }
    registry = open_registry(f, true, NTK_RING_FROM_OLDEST);
    for (int i = 0; i < FILES; i++) {
        char name[32];
        char *path;

        (void)snprintf(name, sizeof name, "%d-1", 100000 + i);
        write_file(f->folder, name, 600, 0600);
        path = test_scratch_path(f->folder, name);
        assert_int_equal(chown(path, 65534, (gid_t)-1), 0);
        free(path);
    }
    child = observed_start(f->folder, child_marks_on_demand, NULL);
    (void)observed_receive(&child);
    for (; polls < 9; polls++) {
        struct ntk_ring_poll poll = poll_once(registry);

        most = poll.ignored > most ? poll.ignored : most;
        if (poll.segments == 1) {
            break;
        }
    }
    assert_in_range(polls, 0, 8);
    assert_true(most <= 512);
    ntk_ring_registry_close(registry);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

/* Method: files that never become segments, watched by inotify: each look opens one. A process that
 * starts among them is seen. */
static void files_that_stay_without_magic_are_looked_at_ever_less(void **state)
{
    enum { FILES = 100, POLLS = 40 };
    struct fixture *f = *state;
    struct ntk_ring_registry *registry = open_registry(f, true, NTK_RING_FROM_OLDEST);
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    const struct timespec pause = { 0, 5 * 1000 * 1000 };
    char events[65536];
    size_t opens = 0;

    for (int i = 0; i < FILES; i++) {
        char name[32];
        char *path;

        (void)snprintf(name, sizeof name, "%d-1", 100000 + i);
        write_file(f->folder, name, 600, 0640);
        path = test_scratch_path(f->folder, name);
        assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
        free(path);
    }
    for (int i = 0; i < POLLS; i++) {
        struct ntk_ring_poll poll = poll_once(registry);
        ssize_t bytes;

        assert_int_equal(poll.segments + poll.ignored, 0);
        while ((bytes = read(watch, events, sizeof events)) > 0) {
            opens += (size_t)bytes / sizeof(struct inotify_event); /* no names with files */
        }
        (void)nanosleep(&pause, NULL);
    }
    assert_in_range(opens, FILES, FILES * POLLS / 3);
    run_short_process(f, 7);
    assert_int_equal(poll_once(registry).appeared, 1);
    assert_int_equal(drain(registry), 7);
    close(watch);
    ntk_ring_registry_close(registry);
}

/* A proc folder that calls us by another number is the host's: the child is found there by when it
 * began and by its number in its own namespace. */
static void a_process_is_known_by_the_number_of_a_hosts_proc(void **state)
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
        TEST(a_process_is_known_by_the_number_of_a_hosts_proc),
        TEST(two_readers_get_every_event_each),
        TEST(a_killed_process_that_nobody_waits_for_has_ended),
        TEST(a_process_whose_first_thread_ended_lives),
        TEST(a_killed_process_is_shown_once_drained_and_removed),
        TEST(what_died_before_it_was_seen_matters_to_the_one_who_remembers),
        TEST(a_process_between_two_looks_is_left_to_the_one_who_cleans_up),
        TEST(what_ends_between_two_runs_of_a_reader_that_remembers_waits_for_the_second),
        TEST(nobody_speaks_for_another_users_process),
        TEST(nobody_claims_to_be_attached_to_another_users_process),
        cmocka_unit_test(root_sees_a_user_whose_folder_somebody_else_took),
        TEST(a_file_whose_writer_was_killed_at_its_beginning_is_removed),
        TEST(a_file_without_magic_goes_soon_where_its_process_is_over),
        TEST(a_held_lock_says_which_process_it_is),
        TEST(a_user_with_too_many_segments_takes_no_room_of_others),
        TEST(a_folder_full_of_files_is_gone_over_in_steps),
        TEST(files_that_stay_without_magic_are_looked_at_ever_less),
        TEST(a_dead_file_waits_for_two_looks_of_every_other_reader),
        TEST(a_folder_that_is_made_later_is_looked_into),
        TEST(the_first_process_of_a_new_folder_is_not_too_short_to_be_seen),
        TEST(a_reader_that_stands_still_is_left_a_bounded_number_of_files),
        TEST(the_mark_is_there_while_someone_cleans_up),
        TEST(a_mark_that_was_removed_is_made_again_and_one_nobody_holds_means_nothing),
        TEST(a_free_lock_of_another_pid_namespace_needs_two_polls),
        TEST(files_that_are_no_segments_are_ignored_and_named),
        TEST(a_file_that_is_refused_is_told_in_every_poll),
        TEST(a_folder_that_comes_later_is_found),
        TEST(a_process_does_not_look_at_itself),
        TEST(buckets_meet_without_gaps_and_the_middle_is_within_one_percent),
    };

    test_scratch_in_memory();
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
