/* SPDX-License-Identifier: MIT */
/* Files in a folder that are not segments, or not yet; folders that appear later or are full. */

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "shared/abi/process_stat.h"
#include "shared/base/fs.h"
#include "shared/ring/ring_registry.h"
#include "tests/shared/ring/ring_registry_fixture.h"
#include "tests/support/clock.h"
#include "tests/support/observed.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static void files_that_are_not_segments_are_ignored_and_reported(void **state)
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

    write_file(f->folder, "17-1", 0, 0600);   /* being created */
    write_file(f->folder, "17-2", 600, 0640); /* zeros: being created */
    assert_int_equal(poll_once(registry).ignored, 0);

    write_file(f->folder, "17-3", 4096, 0600);
    poll = poll_once(registry);
    assert_int_equal(poll.ignored, 1);
    assert_non_null(strstr(poll.reasons[0].text, "17-3: is not a segment"));
    assert_int_equal(mkfifo(fifo, 0600), 0); /* must not block */
    poll = poll_once(registry);
    assert_int_equal(poll.ignored, 2);
    assert_int_equal(symlink("/etc/passwd", link), 0);
    poll = poll_once(registry);
    assert_int_equal(poll.ignored, 3);
    assert_int_equal(poll.segments, 0);
    assert_int_equal(poll.reasons[0].count, 3); /* one kind */
    free(fifo);
    free(link);
    ntk_ring_registry_close(registry);
}

/* Files of the second kind do not replace those of the first. */
static void all_reasons_are_reported_with_their_counts(void **state)
{
    struct fixture *f = *state;
    struct ntk_ring_registry *registry = open_registry(f, true, NTK_RING_FROM_OLDEST);
    struct ntk_buf reasons = { 0 };
    struct ntk_ring_poll poll;
    char expected[512];

    write_file(f->folder, "17-3", 4096, 0600);
    write_file(f->folder, "17-4", 4096, 0600);
    write_file(f->folder, "17-5", 4096, 0622);
    poll = poll_once(registry);
    assert_int_equal(poll.ignored, 3);
    ntk_ring_poll_reasons(&poll, &reasons);
    (void)snprintf(expected, sizeof expected,
                   "%s/17-3: is not a segment (and 1 more); %s/17-5 is writable by other users",
                   f->folder, f->folder);
    assert_string_equal(ntk_buf_text_get(&reasons), expected);
    ntk_buf_fini(&reasons);
    ntk_ring_registry_close(registry);
}

/* Method: the folder has not changed for an hour, so a poll scans it only because of the file. */
static void an_ignored_file_is_reported_in_every_poll(void **state)
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

static void a_folder_created_by_a_later_process_is_found(void **state)
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

static void the_file_of_a_writer_killed_during_creation_is_removed(void **state)
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
    assert_int_equal(access(path[2], F_OK), 0); /* another process is using it */
    assert_int_equal(access(path[3], F_OK), 0); /* not old */
    close(fd);
    for (size_t i = 0; i < FILES; i++) {
        free(path[i]);
    }
    ntk_ring_registry_close(registry);
}

/* A job that was killed in nrt_init. */
static void a_file_without_magic_is_removed_after_its_process_exits(void **state)
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
    /* Its process runs, and may be about to lock the file. */
    assert_int_equal(access(path[1], F_OK), 0);
    for (size_t i = 0; i < 2; i++) {
        free(path[i]);
    }
    ntk_ring_registry_close(registry);
}

/* Method: files that never become segments, watched by inotify: each check opens one. They are
 * checked when first seen, in the next poll, and whenever they have become twice as old. A process
 * that starts among them is seen. */
static void files_without_magic_are_checked_at_growing_intervals(void **state)
{
    enum { FILES = 100, POLLS = 40, LOOKS = 7 }; /* in polls 0, 1, 2, 4, 8, 16 and 32 */
    struct fixture *f = *state;
    struct test_clock clock;
    const struct ntk_ring_options options = {
        .folder = f->folder, .reap = true, .from = NTK_RING_FROM_OLDEST, .clock = &clock.clock
    };
    struct ntk_ring_registry *registry = NULL;
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    char events[65536];
    size_t opens = 0;

    test_clock_init(&clock);
    assert_int_equal(ntk_ring_registry_open(&options, &registry, NULL), 0);
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
            /* Events of watched files carry no names. */
            opens += (size_t)bytes / sizeof(struct inotify_event);
        }
        test_clock_advance(&clock, NTK_NS_PER_SECOND);
    }
    assert_int_equal(opens, LOOKS * FILES);
    run_short_process(f, 7);
    assert_int_equal(poll_once(registry).appeared, 1);
    assert_int_equal(drain(registry), 7);
    close(watch);
    ntk_ring_registry_close(registry);
    test_clock_fini(&clock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_that_are_not_segments_are_ignored_and_reported),
        TEST(an_ignored_file_is_reported_in_every_poll),
        TEST(all_reasons_are_reported_with_their_counts),
        TEST(a_folder_created_by_a_later_process_is_found),
        TEST(the_file_of_a_writer_killed_during_creation_is_removed),
        TEST(a_file_without_magic_is_removed_after_its_process_exits),
        TEST(files_without_magic_are_checked_at_growing_intervals),
    };

    test_scratch_in_memory();
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
