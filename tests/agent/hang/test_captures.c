/* SPDX-License-Identifier: MIT */
/* Which processes are captured, and which captures are kept. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/hang/captures.h"
#include "agent/hang/captures_room.h"
#include "shared/base/fs.h"
#include "shared/base/log.h"
#include "tests/support/clock.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define MIB ((uint64_t)1 << 20)

static int make_scratch(void **state)
{
    *state = test_scratch_create();
    return 0;
}

static int remove_scratch(void **state)
{
    test_scratch_destroy(*state);
    return 0;
}

/* Makes a folder with a file of this size. */
static void make_capture(const char *folder, const char *name, size_t bytes)
{
    char path[512];
    char *content = calloc(1, bytes + 1);

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(ntk_fs_make_folders(path, 0755, NULL), 0);
    (void)snprintf(path, sizeof path, "%s/%s/a.ntff", folder, name);
    assert_int_equal(ntk_fs_write(path, content, bytes, NULL), 0);
    free(content);
}

static bool is_there(const char *folder, const char *name)
{
    char path[512];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static void new_captures_of_a_user_replace_only_captures_of_that_user(void **state)
{
    const char *folder = *state;

    make_capture(folder, "20260101T000000Z-hang-uid_1001", MIB);
    make_capture(folder, "20260102T000000Z-hang-uid_1002", MIB);
    make_capture(folder, "20260103T000000Z-slow-uid_1002", MIB);
    make_capture(folder, "20260104T000000Z-p99-uid_1002", MIB);
    ntk_captures_room_make(folder, 5 * MIB / 2);
    assert_true(is_there(folder, "20260101T000000Z-hang-uid_1001"));
    assert_false(is_there(folder, "20260102T000000Z-hang-uid_1002"));
    assert_false(is_there(folder, "20260103T000000Z-slow-uid_1002"));
    assert_true(is_there(folder, "20260104T000000Z-p99-uid_1002"));
}

static void the_recorded_size_of_a_capture_counts_towards_the_limit(void **state)
{
    const char *folder = *state;
    uint8_t *ledger;
    size_t bytes;
    char path[512];

    make_capture(folder, "20260101T000000Z-hang", MIB);
    make_capture(folder, "20260102T000000Z-hang", MIB);
    ntk_captures_room_make(folder, 4 * MIB);
    make_capture(folder, "20260101T000000Z-hang", 4 * MIB); /* not measured again */
    ntk_captures_room_make(folder, 4 * MIB);
    assert_true(is_there(folder, "20260101T000000Z-hang"));
    (void)snprintf(path, sizeof path, "%s/" NTK_CAPTURES_LEDGER, folder);
    assert_int_equal(ntk_fs_read(path, 4096, &ledger, &bytes, NULL), 0);
    assert_non_null(strstr((char *)ledger, "20260101T000000Z-hang 105"));
    free(ledger);
}

/* Method: a folder of an older agent, in which a captured user created folders 300 levels deep. */
static void a_deeply_nested_capture_is_removed_without_measuring(void **state)
{
    const char *folder = *state;
    char path[512];

    make_capture(folder, "20260101T000000Z-hang", 1);
    (void)snprintf(path, sizeof path, "%s/20260101T000000Z-hang", folder);
    int at = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (unsigned i = 0; i < 300; i++) {
        assert_int_equal(mkdirat(at, "d", 0700), 0);
        int below = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = below;
    }
    close(at);
    make_capture(folder, "20260102T000000Z-hang", 1);
    ntk_captures_room_make(folder, MIB);
    assert_false(is_there(folder, "20260101T000000Z-hang"));
    assert_true(is_there(folder, "20260102T000000Z-hang"));
}

/* Method: a folder that an older agent gave to a user, who adds files to it afterwards. Only root
 * can change the owner. */
static void capture_folders_owned_by_users_are_measured_at_every_cleanup(void **state)
{
    const char *folder = *state;
    char path[512];

    if (geteuid() != 0) {
        skip();
    }
    make_capture(folder, "20260101T000000Z-hang/uid_1001", 1);
    make_capture(folder, "20260102T000000Z-hang", MIB);
    (void)snprintf(path, sizeof path, "%s/20260101T000000Z-hang/uid_1001", folder);
    assert_int_equal(chown(path, 1001, (gid_t)-1), 0);
    ntk_captures_room_make(folder, 3 * MIB);
    assert_true(is_there(folder, "20260101T000000Z-hang"));
    make_capture(folder, "20260101T000000Z-hang/uid_1001", 4 * MIB);
    ntk_captures_room_make(folder, 3 * MIB);
    assert_false(is_there(folder, "20260101T000000Z-hang"));
    assert_true(is_there(folder, "20260102T000000Z-hang"));
}

/* ---- owners ---- */

static unsigned count_folders(const char *folder, const char *end)
{
    char pattern[512];
    unsigned count = 0;

    (void)snprintf(pattern, sizeof pattern, "ls -d %s/*%s 2>/dev/null", folder, end);
    FILE *names = popen(pattern, "r");
    for (int c; names && (c = fgetc(names)) != EOF;) {
        count += c == '\n';
    }
    pclose(names);
    return count;
}

#define NEVER_ENDS "exec sleep 1000"

/* A fake neuron-profile that prints its number and arguments, then exits with the given code. */
static char *make_program(const char *folder, const char *end)
{
    char script[128];
    char *old = strdup(getenv("PATH"));
    char path[512];

    int bytes = snprintf(script, sizeof script, "#!/bin/sh\necho $$ \"$@\"\n%s\n", end);
    (void)snprintf(path, sizeof path, "%s/neuron-profile", folder);
    assert_int_equal(ntk_fs_write(path, script, (size_t)bytes, NULL), 0);
    assert_int_equal(chmod(path, 0755), 0);
    (void)snprintf(path, sizeof path, "%s:%s", folder, old);
    setenv("PATH", path, 1);
    return old;
}

struct reported {
    char command[512];
    char line[1024];
};

static int has_line(void *ctx)
{
    struct reported *reported = ctx;
    FILE *log = popen(reported->command, "r");
    bool is_read =
        log && fgets(reported->line, sizeof reported->line, log) && strchr(reported->line, '\n');

    pclose(log);
    return is_read;
}

/* The first line of trigger.log in the only folder with this ending. */
static int read_pid(const char *folder, const char *end, struct reported *reported)
{
    (void)snprintf(reported->command, sizeof reported->command,
                   "cat %s/*%s/trigger.log 2>/dev/null", folder, end);
    assert_true(test_wait_until(has_line, reported));
    return atoi(reported->line);
}

/* All runs that were ordered to stop have exited. */
static void runs_end(void *ctx, uint64_t now_ns)
{
    const pid_t *pids = ctx;
    siginfo_t info;

    (void)now_ns;
    (void)waitid(P_PID, (id_t)pids[0], &info, WEXITED | WNOWAIT);
    (void)waitid(P_PID, (id_t)pids[1], &info, WEXITED | WNOWAIT);
}

static void each_user_has_a_separate_capture_budget(void **state)
{
    const char *folder = *state;
    char kept[512];
    struct reported reported;
    char expected[32];
    struct ntk_captures *captures;
    struct test_clock clock;
    pid_t pids[2];
    struct ntk_captures_options options = {
        .is_wanted = { [NTK_CAPTURES_STUCK] = true, [NTK_CAPTURES_ECC] = true },
        .folder = kept,
        .clock = &clock.clock,
    };
    char *old_path = make_program(folder, NEVER_ENDS);

    test_clock_init(&clock);
    clock.passes_waits = true;
    clock.passed = runs_end;
    clock.ctx = pids;
    (void)snprintf(kept, sizeof kept, "%s/kept", folder);
    ntk_log_set_level(NTK_LOG_ERROR);
    assert_int_equal(ntk_captures_create(&options, &captures, NULL), 0);
    ntk_captures_take(captures, NTK_CAPTURES_STUCK, "", 11, 1001);
    ntk_captures_take(captures, NTK_CAPTURES_STUCK, "", 12, 1001); /* too soon */
    ntk_captures_take(captures, NTK_CAPTURES_ECC, "", 12, 1001);   /* one is running */
    ntk_captures_take(captures, NTK_CAPTURES_STUCK, "", 21, 1002);
    assert_int_equal(count_folders(kept, "-uid_1001"), 1);
    assert_int_equal(count_folders(kept, "-uid_1002"), 1);

    pids[0] = read_pid(kept, "-uid_1001", &reported);
    assert_non_null(strstr(reported.line, "--pid 11 --user 1001 "));
    (void)snprintf(expected, sizeof expected, "--parent %d", (int)getpid());
    assert_non_null(strstr(reported.line, expected));
    pids[1] = read_pid(kept, "-uid_1002", &reported);
    ntk_captures_destroy(captures); /* nothing that it started is left */
    assert_int_equal(kill(pids[0], 0), -1);
    assert_int_equal(errno, ESRCH);
    assert_int_equal(kill(pids[1], 0), -1);
    test_clock_fini(&clock);
    setenv("PATH", old_path, 1);
    free(old_path);
}

/* ---- frequency ---- */

struct often {
    char kept[512];
    char *old_path;
    struct test_clock clock;
    struct ntk_captures_options options;
    struct ntk_captures *captures;
    const struct ntk_snapshot *snapshot; /* of a machine on which nothing makes progress */
    int pid;                             /* the run that is waited for */
};

static void often_begin(struct often *often, const char *folder, const char *end)
{
    *often = (struct often){ .old_path = make_program(folder, end) };
    (void)snprintf(often->kept, sizeof often->kept, "%s/kept", folder);
    test_clock_init(&often->clock);
    often->options = (struct ntk_captures_options){ .is_wanted = { [NTK_CAPTURES_STUCK] = true },
                                                    .folder = often->kept,
                                                    .clock = &often->clock.clock };
    often->snapshot = ntk_snapshot_create();
    ntk_log_set_level(NTK_LOG_ERROR);
    assert_int_equal(ntk_captures_create(&often->options, &often->captures, NULL), 0);
}

static void often_end(struct often *often)
{
    often->clock.passes_waits = true; /* running captures are killed at once */
    ntk_captures_destroy(often->captures);
    ntk_snapshot_destroy(often->snapshot);
    test_clock_fini(&often->clock);
    setenv("PATH", often->old_path, 1);
    free(often->old_path);
}

static int is_reaped(void *ctx)
{
    struct often *often = ctx;

    ntk_captures_look(often->captures, often->snapshot);
    return kill(often->pid, 0) < 0;
}

/* Requests a capture; returns how many captures there are afterwards. */
static unsigned take(struct often *often)
{
    ntk_captures_take(often->captures, NTK_CAPTURES_STUCK, "", 11, 1001);
    return count_folders(often->kept, "-uid_1001");
}

static void at_most_one_capture_per_reason_is_taken_in_an_interval(void **state)
{
    struct often often;
    struct reported reported;

    often_begin(&often, *state, "exit 0");
    assert_int_equal(take(&often), 1);
    often.pid = read_pid(often.kept, "-uid_1001", &reported);
    assert_true(test_wait_until(is_reaped, &often));
    test_clock_advance(&often.clock, 600 * NTK_NS_PER_SECOND - 1);
    assert_int_equal(take(&often), 1);
    test_clock_advance(&often.clock, 1);
    assert_int_equal(take(&often), 2);
    often_end(&often);
}

static void a_hanging_capture_run_is_killed_and_retried_sooner(void **state)
{
    struct often often;
    struct reported reported;

    often_begin(&often, *state, NEVER_ENDS);
    assert_int_equal(take(&often), 1);
    often.pid = read_pid(often.kept, "-uid_1001", &reported);
    test_clock_advance(&often.clock, 180 * NTK_NS_PER_SECOND);
    assert_false(is_reaped(&often));
    test_clock_advance(&often.clock, 1);
    assert_true(test_wait_until(is_reaped, &often));
    assert_int_equal(take(&often), 2);
    often_end(&often);
}

/* The pause after a failure is a tenth of the normal one. */
static void a_failed_capture_run_is_retried_sooner(void **state)
{
    struct often often;
    struct reported reported;

    often_begin(&often, *state, "exit 1");
    assert_int_equal(take(&often), 1);
    often.pid = read_pid(often.kept, "-uid_1001", &reported);
    assert_true(test_wait_until(is_reaped, &often));
    test_clock_advance(&often.clock, 60 * NTK_NS_PER_SECOND - 1);
    assert_int_equal(take(&often), 1);
    test_clock_advance(&often.clock, 1);
    assert_int_equal(take(&often), 2);
    often_end(&often);
}

static void capture_calls_without_captures_have_no_effect(void **state)
{
    (void)state;
    ntk_captures_take(NULL, NTK_CAPTURES_HANG, "job", 1, 0);
    ntk_captures_look(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capture_calls_without_captures_have_no_effect),
        cmocka_unit_test_setup_teardown(new_captures_of_a_user_replace_only_captures_of_that_user,
                                        make_scratch, remove_scratch),
        cmocka_unit_test_setup_teardown(the_recorded_size_of_a_capture_counts_towards_the_limit,
                                        make_scratch, remove_scratch),
        cmocka_unit_test_setup_teardown(a_deeply_nested_capture_is_removed_without_measuring,
                                        make_scratch, remove_scratch),
        cmocka_unit_test_setup_teardown(
            capture_folders_owned_by_users_are_measured_at_every_cleanup, make_scratch,
            remove_scratch),
        cmocka_unit_test_setup_teardown(each_user_has_a_separate_capture_budget, make_scratch,
                                        remove_scratch),
        cmocka_unit_test_setup_teardown(at_most_one_capture_per_reason_is_taken_in_an_interval,
                                        make_scratch, remove_scratch),
        cmocka_unit_test_setup_teardown(a_hanging_capture_run_is_killed_and_retried_sooner,
                                        make_scratch, remove_scratch),
        cmocka_unit_test_setup_teardown(a_failed_capture_run_is_retried_sooner, make_scratch,
                                        remove_scratch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
