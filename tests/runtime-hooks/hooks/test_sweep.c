/* SPDX-License-Identifier: MIT */
/*
 * What a starting process removes: segments of dead processes, and nothing else.
 * Method: a forked child attaches in a private folder and calls; the parent reads its segment.
 */
#include "runtime-hooks/hooks/hooks.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <sys/wait.h>

#include "tests/runtime-hooks/hooks/hooks_fixture.h"
#include "tests/support/emulated.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static int child_dies_unfinished(struct observed *child, void *ctx)
{
    (void)child;
    (void)ctx;
    observed_attach(0);
    ntk_hooks_mark(1, 0, 0, 0, 0);
    (void)raise(SIGKILL);
    return 1;
}

static void set_age(const char *folder, int seconds)
{
    DIR *list = opendir(folder);
    struct dirent *entry;

    assert_non_null(list);
    while ((entry = readdir(list)) != NULL) {
        struct timespec times[2];

        if (entry->d_name[0] != '.') {
            clock_gettime(CLOCK_REALTIME, &times[0]);
            times[0].tv_sec -= seconds;
            times[1] = times[0];
            assert_int_equal(utimensat(dirfd(list), entry->d_name, times, 0), 0);
        }
    }
    closedir(list);
}

static int child_only_attaches(struct observed *child, void *ctx)
{
    (void)child;
    (void)ctx;
    observed_attach(0);
    ntk_hooks_detach();
    return 0;
}

static void startup_removes_old_segments_of_dead_processes(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_dies_unfinished, NULL);

    assert_int_equal(observed_finish(&child, 0), 128 + SIGKILL);
    assert_int_equal(hooks_fixture_files(f->folder), 1);

    child = observed_start(f->folder, child_only_attaches, NULL);
    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(hooks_fixture_files(f->folder), 1); /* too young */

    set_age(f->folder, 120);
    child = observed_start(f->folder, child_only_attaches, NULL);
    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(hooks_fixture_files(f->folder), 0);
}

/* Killed between creating its file and writing the magic: it holds nothing worth keeping for a
 * minute. */
static void startup_removes_leftovers_of_processes_killed_during_startup(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed child;
    char *path = test_scratch_path(f->folder, "17-1");
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    assert_true(fd >= 0 && ftruncate(fd, 4096) == 0 && close(fd) == 0);
    child = observed_start(f->folder, child_only_attaches, NULL);
    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(hooks_fixture_files(f->folder), 1); /* its writer may be about to lock it */

    set_age(f->folder, 5);
    child = observed_start(f->folder, child_only_attaches, NULL);
    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(hooks_fixture_files(f->folder), 0);
    free(path);
}

/* As in a container with a first process that does not reap children. */
static void startup_removes_segments_of_zombie_processes(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed killed = observed_start(f->folder, child_dies_unfinished, NULL);
    struct observed child;
    siginfo_t info;

    assert_int_equal(waitid(P_PID, (id_t)killed.pid, &info, WEXITED | WNOWAIT), 0);
    set_age(f->folder, 120);
    child = observed_start(f->folder, child_only_attaches, NULL);
    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(hooks_fixture_files(f->folder), 0);
    assert_int_equal(observed_finish(&killed, 0), 128 + SIGKILL);
}

static void startup_keeps_segments_of_running_processes(void **state)
{
    struct hooks_fixture *f = *state;
    struct observed living;
    struct observed child;

    if (test_is_emulated()) {
        skip(); /* the process sees a different start time than its parent */
    }
    living = observed_start(f->folder, observed_closes_everything, NULL);
    (void)observed_receive(&living);
    set_age(f->folder, 120);
    child = observed_start(f->folder, child_only_attaches, NULL);
    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(hooks_fixture_files(f->folder), 1);
    observed_send(&living, 0);
    assert_int_equal(observed_finish(&living, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOOKS_TEST(startup_removes_old_segments_of_dead_processes),
        HOOKS_TEST(startup_removes_leftovers_of_processes_killed_during_startup),
        HOOKS_TEST(startup_removes_segments_of_zombie_processes),
        HOOKS_TEST(startup_keeps_segments_of_running_processes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
