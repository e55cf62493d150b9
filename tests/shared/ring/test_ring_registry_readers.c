/* SPDX-License-Identifier: MIT */
/* Several readers of one folder: which of them removes dead files, and how long they wait for
 * others. */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shared/abi/paths.h"
#include "shared/ring/ring_registry.h"
#include "tests/shared/ring/ring_registry_fixture.h"
#include "tests/support/clock.h"
#include "tests/support/observed.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static void a_segment_of_a_short_process_is_kept_for_the_agent(void **state)
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

static void the_segment_of_an_exited_process_is_kept_for_two_polls_per_reader(void **state)
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
    /* A killed reader is no longer waited for. */
    ntk_ring_registry_close(late);
    run_short_process(f, 7);
    (void)poll_once(early);
    (void)poll_once(early);
    assert_int_equal(segment_files(f), 0);
    ntk_ring_registry_close(early);
}

static void a_folder_created_later_is_scanned(void **state)
{
    const struct fixture *f = *state;
    struct fixture later = { .folder = test_scratch_path(f->folder, "later") };
    struct ntk_ring_registry *top = open_registry(&later, false, NTK_RING_FROM_OLDEST);

    assert_int_equal(poll_once(top).segments, 0);
    /* A reader that only watches creates nothing. */
    assert_int_not_equal(access(later.folder, F_OK), 0);
    struct observed child = observed_start(later.folder, child_marks_on_demand, NULL);
    (void)observed_receive(&child);
    assert_int_equal(poll_once(top).appeared, 1);
    order(&child, 3);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
    ntk_ring_registry_close(top);
    free(later.folder);
}

/* Method: the folder does not exist when the agent starts; the first process that would create it
 * has exited before the agent looks again. */
static void a_short_process_that_creates_the_folder_is_read(void **state)
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

static void files_kept_for_a_hanging_reader_are_limited(void **state)
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
    run_short_process(f, 1); /* the 127th reader */
    run_short_process(f, 1); /* the 128th is one more than allowed */
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

static void the_reader_mark_exists_while_an_agent_runs(void **state)
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

    /* No reader removes files: a clean exit removes its own. */
    run_short_process(f, 1);
    assert_int_equal(poll_once(watcher).segments, 0);
    second = open_registry(f, true, NTK_RING_FROM_OLDEST);
    assert_int_equal(poll_once(second).segments, 0);
    ntk_ring_registry_close(second);
    ntk_ring_registry_close(watcher);
}

static void a_removed_mark_is_recreated_and_a_stale_mark_is_ignored(void **state)
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

    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644); /* what a killed agent leaves behind */
    assert_true(fd >= 0);
    run_short_process(f, 1);
    close(fd);
    agent = open_registry(f, true, NTK_RING_FROM_OLDEST);
    assert_int_equal(poll_once(agent).segments, 0);
    ntk_ring_registry_close(agent);
    assert_false(is_marked(f));
    free(path);
}

/* Between two runs of a reader that stores what it counts, neither a clean exit nor another reader
 * removes a file. */
static void segments_of_exited_processes_are_kept_for_the_next_agent(void **state)
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

/* Method: only the mark of the agent with a database is left. The agent still locks this number of
 * bytes of the mark (0: all) and no segment. */
static void check_waits_for_marked(const struct fixture *f, off_t held, uint64_t age_ns)
{
    struct test_clock clock;
    const struct ntk_ring_options options = {
        .folder = f->folder, .reap = true, .from = NTK_RING_FROM_OLDEST, .clock = &clock.clock
    };
    const struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = held };
    char *path = test_scratch_path(f->folder, NTK_READER_MARK_NAME);
    struct ntk_ring_registry *other;

    test_clock_init(&clock);
    write_file(f->folder, NTK_READER_MARK_NAME, 1, 0644);
    int mark = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(mark >= 0);
    assert_int_equal(fcntl(mark, F_OFD_SETLK, &lock), 0);
    assert_int_equal(ntk_ring_registry_open(&options, &other, NULL), 0);
    (void)poll_once(other);
    run_short_process(f, 3);
    assert_int_equal(poll_once(other).ended, 1);
    test_clock_advance(&clock, age_ns);
    for (int i = 0; i < 4; i++) {
        (void)poll_once(other);
    }
    assert_int_equal(segment_files(f), 1);
    close(mark);
    ntk_ring_registry_close(other);
    assert_int_equal(segment_files(f), 1);
    test_clock_fini(&clock);
    free(path);
}

static void a_segment_is_kept_for_an_agent_that_just_started(void **state)
{
    check_waits_for_marked(*state, 0, 11 * NTK_NS_PER_SECOND);
}

/* The kernel releases a dying agent's locks one by one, those on segments first. */
static void a_segment_is_kept_while_the_agent_is_being_killed(void **state)
{
    check_waits_for_marked(*state, 2, 0);
}

/* An age counts from the end of the process, which may be long before the agent returns. */
static void an_old_segment_is_kept_until_the_agent_stored_it(void **state)
{
    struct fixture *f = *state;
    struct test_clock clock;
    struct ntk_ring_options options = { .folder = f->folder,
                                        .reap = true,
                                        .remembers = true,
                                        .from = NTK_RING_FROM_OLDEST,
                                        .clock = &clock.clock };
    struct ntk_ring_registry *remembers;
    /* One reader saw the process end, the other one came later. */
    struct ntk_ring_registry *others[2];

    test_clock_init(&clock);
    assert_int_equal(ntk_ring_registry_open(&options, &remembers, NULL), 0);
    (void)poll_once(remembers);
    options.remembers = false;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ntk_ring_registry_open(&options, &others[i], NULL), 0);
        (void)poll_once(others[i]);
        if (i == 0) {
            run_short_process(f, 3);
            (void)poll_once(others[0]);
        }
    }
    assert_int_equal(poll_once(remembers).ended, 1);
    test_clock_advance(&clock, (NTK_READER_MARK_KEEPS_S + 1) * NTK_NS_PER_SECOND);
    for (int i = 0; i < 2; i++) {
        (void)poll_once(others[i]);
        (void)poll_once(others[i]);
        assert_int_equal(segment_files(f), 1);
    }
    ntk_ring_registry_release(remembers, ntk_ring_registry_ended_count(remembers));
    for (int i = 0; i < 4; i++) {
        (void)poll_once(remembers);
        (void)poll_once(others[0]);
        (void)poll_once(others[1]);
    }
    assert_int_equal(segment_files(f), 0);
    ntk_ring_registry_close(remembers);
    ntk_ring_registry_close(others[0]);
    ntk_ring_registry_close(others[1]);
    test_clock_fini(&clock);
}

/* Method: the agent is killed first, then a process that has run for an hour; then another one
 * starts, which removes dead files by their age. */
static void the_segment_of_a_long_process_is_kept_for_the_next_agent(void **state)
{
    struct fixture *f = *state;
    const struct ntk_ring_options options = {
        .folder = f->folder, .reap = true, .remembers = true, .from = NTK_RING_FROM_OLDEST
    };
    struct observed child = observed_start(f->folder, child_marks_on_demand, NULL);
    struct ntk_ring_registry *agent;
    struct timespec times[2];

    (void)observed_receive(&child);
    order(&child, 5);
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= 3600;
    times[1] = times[0];
    assert_int_equal(ntk_ring_registry_open(&options, &agent, NULL), 0);
    (void)poll_once(agent);
    const char *file = ntk_ring_segment_path(ntk_ring_registry_get(agent, 0));
    assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
    ntk_ring_registry_close(agent);
    assert_int_equal(ntk_ring_registry_open(&options, &agent, NULL), 0);
    (void)poll_once(agent);
    ntk_ring_registry_close(agent);
    assert_int_equal(observed_finish(&child, SIGKILL), 128 + SIGKILL);
    run_short_process(f, 3);
    assert_int_equal(segment_files(f), 2);
    assert_int_equal(ntk_ring_registry_open(&options, &agent, NULL), 0);
    assert_int_equal(poll_once(agent).ended, 2);
    assert_int_equal(drain(agent), 8);
    ntk_ring_registry_close(agent);
}

/* In KiB, what counts for this process of the files in a folder. */
static unsigned long resident_kib(const char *folder)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    unsigned long sum = 0;
    bool is_there = false;
    char line[512];

    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        unsigned long kib, begin, end;

        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2) {
            is_there = strstr(line, folder) != NULL;
        } else if (is_there && sscanf(line, "Rss: %lu kB", &kib) == 1) {
            sum += kib;
        }
    }
    (void)fclose(maps);
    return sum;
}

static void a_reader_reports_ring_use_and_releases_read_records(void **state)
{
    const struct fixture *f = *state;
    struct observed child = observed_start(f->folder, child_marks_on_demand, NULL);
    struct ntk_ring_registry *reader = open_registry(f, false, NTK_RING_FROM_OLDEST);
    struct ntk_ring_segment *segment;
    unsigned long most_kib = 0;

    (void)observed_receive(&child);
    assert_int_equal(poll_once(reader).segments, 1);
    segment = ntk_ring_registry_get(reader, 0);
    order(&child, 1);
    assert_int_equal(ntk_ring_segment_fill(segment), 1);
    assert_int_equal(drain(reader), 1);
    assert_int_equal(ntk_ring_segment_fill(segment), 0);
    order(&child, 8192);
    assert_int_equal(ntk_ring_segment_fill(segment), 50);
    assert_int_equal(drain(reader), 8192);
    for (unsigned int i = 0; i < 3; i++) {
        most_kib = resident_kib(f->folder) > most_kib ? resident_kib(f->folder) : most_kib;
        order(&child, 4096);
        assert_int_equal(drain(reader), 4096);
    }
    assert_true(most_kib > 512);
    assert_true(resident_kib(f->folder) < most_kib / 2);
    order(&child, 100);
    assert_int_equal(drain(reader), 100);
    order(&child, 100000);
    assert_int_equal(ntk_ring_segment_fill(segment), 100);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
    ntk_ring_registry_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_segment_of_a_short_process_is_kept_for_the_agent),
        TEST(the_segment_of_an_exited_process_is_kept_for_two_polls_per_reader),
        TEST(a_folder_created_later_is_scanned),
        TEST(a_short_process_that_creates_the_folder_is_read),
        TEST(files_kept_for_a_hanging_reader_are_limited),
        TEST(the_reader_mark_exists_while_an_agent_runs),
        TEST(a_removed_mark_is_recreated_and_a_stale_mark_is_ignored),
        TEST(segments_of_exited_processes_are_kept_for_the_next_agent),
        TEST(a_segment_is_kept_for_an_agent_that_just_started),
        TEST(a_segment_is_kept_while_the_agent_is_being_killed),
        TEST(an_old_segment_is_kept_until_the_agent_stored_it),
        TEST(the_segment_of_a_long_process_is_kept_for_the_next_agent),
        TEST(a_reader_reports_ring_use_and_releases_read_records),
    };

    test_scratch_in_memory();
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
