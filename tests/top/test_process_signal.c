/* SPDX-License-Identifier: MIT */
/*
 * Signals to applications: only the shown process gets one.
 * Method: children that wait for a signal, and one that has exited but was not reaped.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/abi/process_stat.h"
#include "shared/base/fs.h"
#include "top/process_signal.h"
#include "tests/support/unit.h"

static pid_t waiting_child(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)alarm(600); /* a failed test leaves no child behind */
        for (;;) {
            (void)pause();
        }
    }
    return pid;
}

static uint64_t start_time_of(pid_t pid)
{
    char path[64];
    char text[NTK_STAT_BYTES];

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    assert_true(ntk_fs_read_text(path, text, sizeof text) > 0);
    return ntk_process_stat_start_time(text);
}

static int ending_signal(pid_t pid)
{
    int status = 0;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    return WTERMSIG(status);
}

static void a_process_with_the_matching_start_time_receives_the_signal(void **state)
{
    struct ntk_err err = { 0 };
    pid_t pid = waiting_child();

    assert_int_equal(ntk_top_signal_send((uint32_t)pid, start_time_of(pid), SIGTERM, &err), 0);
    assert_int_equal(ending_signal(pid), SIGTERM);
}

static void a_process_with_a_reused_pid_receives_no_signal(void **state)
{
    struct ntk_err err = { 0 };
    pid_t pid = waiting_child();

    assert_int_equal(ntk_top_signal_send((uint32_t)pid, start_time_of(pid) - 1, SIGTERM, &err),
                     -ESRCH);
    assert_non_null(strstr(err.text, "has exited"));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(ending_signal(pid), SIGKILL);
}

/* A process that has ended also has start time 0. */
static void no_signal_is_sent_without_a_start_time(void **state)
{
    struct ntk_err err = { 0 };
    pid_t pid = waiting_child();
    siginfo_t info;

    assert_int_equal(ntk_top_signal_send((uint32_t)pid, 0, SIGTERM, &err), -ENODATA);
    assert_non_null(strstr(err.text, "its start time is unknown"));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(start_time_of(pid), 0);
    assert_int_equal(ntk_top_signal_send((uint32_t)pid, 0, SIGTERM, &err), -ENODATA);
    assert_int_equal(ending_signal(pid), SIGKILL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_with_the_matching_start_time_receives_the_signal),
        cmocka_unit_test(a_process_with_a_reused_pid_receives_no_signal),
        cmocka_unit_test(no_signal_is_sent_without_a_start_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
