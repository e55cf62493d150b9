/* SPDX-License-Identifier: MIT */
#include "shared/base/quiet.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/unit.h"

static int write_past_the_limit(void)
{
    struct rlimit limit = { 4096, 4096 };
    char path[] = "/tmp/ntk-quiet-XXXXXX";
    int fd = mkstemp(path);
    struct ntk_quiet quiet = { 0 };
    sigset_t pending;
    sigset_t mask;
    int ends[2];

    (void)unlink(path);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || !ntk_quiet_is_limited() || pipe(ends) != 0) {
        return 2;
    }
    close(ends[0]);
    ntk_quiet_leave(&quiet); /* never entered */
    ntk_quiet_enter(&quiet);
    if (pwrite(fd, "x", 1, 4096) != -1 || errno != EFBIG || write(ends[1], "x", 1) != -1 ||
        errno != EPIPE) {
        return 3;
    }
    ntk_quiet_leave(&quiet);
    if (errno != EPIPE || sigpending(&pending) != 0 || sigismember(&pending, SIGXFSZ) ||
        sigprocmask(SIG_SETMASK, NULL, &mask) != 0 || sigismember(&mask, SIGXFSZ) ||
        sigismember(&mask, SIGPIPE)) {
        return 4;
    }
    return pwrite(fd, "x", 1, 4096) == -1 ? 5 : 6; /* the signal ends it here */
}

static void signals_of_failed_writes_are_suppressed_until_leave(void **state)
{
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        _exit(write_past_the_limit());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGXFSZ);
}

static void a_signal_pending_before_enter_stays_pending(void **state)
{
    struct ntk_quiet quiet = { 0 };
    sigset_t pipe_only;
    sigset_t pending;

    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    assert_int_equal(sigprocmask(SIG_BLOCK, &pipe_only, NULL), 0);
    assert_int_equal(raise(SIGPIPE), 0);
    ntk_quiet_enter(&quiet);
    ntk_quiet_leave(&quiet);
    assert_int_equal(sigpending(&pending), 0);
    assert_true(sigismember(&pending, SIGPIPE));
    (void)signal(SIGPIPE, SIG_IGN);
    assert_int_equal(sigprocmask(SIG_UNBLOCK, &pipe_only, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_of_failed_writes_are_suppressed_until_leave),
        cmocka_unit_test(a_signal_pending_before_enter_stays_pending),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
