/* SPDX-License-Identifier: MIT */
/* How the kernel reports an exit: real children, before and after they are reaped. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/collect/process_exit.h"
#include "tests/shared/collect/exits.h"
#include "tests/support/unit.h"

struct child {
    pid_t pid;
    int pidfd, stat_fd;
};

static struct child start(int exit_code)
{
    struct child child = { .pid = fork() };
    char path[64];

    assert_true(child.pid >= 0);
    if (child.pid == 0) {
        (void)raise(SIGSTOP);
        _exit(exit_code);
    }
    assert_int_equal(waitpid(child.pid, NULL, WUNTRACED), child.pid);
    snprintf(path, sizeof path, "/proc/%d/stat", child.pid);
    child.stat_fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(child.stat_fd >= 0);
    child.pidfd = ntk_process_exit_watch("/proc", (uint32_t)child.pid);
    return child;
}

/* The signal ends it, and it becomes a zombie. */
static void end(const struct child *child, int number)
{
    siginfo_t info;

    assert_int_equal(kill(child->pid, number), 0);
    (void)kill(child->pid, SIGCONT); /* a stopped process handles only SIGKILL */
    assert_int_equal(waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT), 0);
}

static struct ntk_exit reaped(const struct child *child)
{
    struct ntk_exit how;

    assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
    how = ntk_process_exit_read(child->pidfd, child->stat_fd);
    close(child->pidfd);
    close(child->stat_fd);
    return how;
}

static void a_running_process_has_not_exited(void **state)
{
    struct child child = start(0);

    (void)state;
    assert_int_equal(ntk_process_exit_read(child.pidfd, child.stat_fd).kind, NTK_EXIT_UNKNOWN);
    end(&child, SIGKILL);
    (void)reaped(&child);
}

static void signal_and_exit_code_of_a_zombie_are_read(void **state)
{
    struct child killed = start(0);
    struct child failed = start(3);
    struct ntk_exit how;

    (void)state;
    end(&killed, SIGKILL);
    how = ntk_process_exit_read(-1, killed.stat_fd);
    assert_int_equal(how.kind, NTK_EXIT_SIGNAL);
    assert_int_equal(how.value, SIGKILL);
    end(&failed, SIGCONT);
    how = ntk_process_exit_read(-1, failed.stat_fd);
    assert_int_equal(how.kind, NTK_EXIT_CODE);
    assert_int_equal(how.value, 3);
    (void)reaped(&killed);
    (void)reaped(&failed);
}

/* Zero is also what the kernel shows to readers without permission. */
static void a_zombie_with_exit_code_0_has_an_unknown_exit(void **state)
{
    struct child child = start(0);

    (void)state;
    end(&child, SIGCONT);
    assert_int_equal(ntk_process_exit_read(-1, child.stat_fd).kind, NTK_EXIT_UNKNOWN);
    (void)reaped(&child);
}

static void the_exit_of_a_reaped_process_is_read_if_the_kernel_keeps_it(void **state)
{
    struct child well = start(0);
    struct child killed = start(0);
    struct ntk_exit how;

    (void)state;
    end(&well, SIGCONT);
    end(&killed, SIGTERM);
    how = reaped(&well);
    assert_int_equal(how.kind, test_kernel_keeps_exits() ? NTK_EXIT_CODE : NTK_EXIT_UNKNOWN);
    assert_int_equal(how.value, 0);
    how = reaped(&killed);
    assert_int_equal(how.kind, test_kernel_keeps_exits() ? NTK_EXIT_SIGNAL : NTK_EXIT_UNKNOWN);
    assert_int_equal(how.value, test_kernel_keeps_exits() ? SIGTERM : 0);
}

static void pids_of_another_proc_mount_are_not_watched(void **state)
{
    (void)state;
    assert_int_equal(ntk_process_exit_watch("/host/proc", (uint32_t)getpid()), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_running_process_has_not_exited),
        cmocka_unit_test(signal_and_exit_code_of_a_zombie_are_read),
        cmocka_unit_test(a_zombie_with_exit_code_0_has_an_unknown_exit),
        cmocka_unit_test(the_exit_of_a_reaped_process_is_read_if_the_kernel_keeps_it),
        cmocka_unit_test(pids_of_another_proc_mount_are_not_watched),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
