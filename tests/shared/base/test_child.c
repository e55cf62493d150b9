/* SPDX-License-Identifier: MIT */
/* Children that stop on request, a child that ignores the request, and a child of a killed parent.
 * Method: a clock on which every wait ends at once, with the children that were signalled. */
#include "shared/base/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/clock.h"
#include "tests/support/process.h"
#include "tests/support/unit.h"

#define GRACE_NS NTK_NS_PER_SECOND
#define STEP_NS (10 * NTK_NS_PER_MS)

struct watcher {
    struct test_clock clock;
    uint64_t begin_ns;
    pid_t polite;           /* 0: none */
    pid_t deaf;             /* 0: none */
    uint64_t deaf_alive_ns; /* when it was last seen alive */
};

/* Whether it has exited; it remains a zombie. */
static bool has_ended(pid_t pid, int options)
{
    siginfo_t info = { 0 };

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | options) != 0 || info.si_pid == pid;
}

static void pass(void *ctx, uint64_t now_ns)
{
    struct watcher *watcher = ctx;

    if (watcher->polite) {
        assert_true(has_ended(watcher->polite, 0));
    }
    if (watcher->deaf && now_ns - watcher->begin_ns > GRACE_NS) {
        assert_true(has_ended(watcher->deaf, 0)); /* it has been killed */
    } else if (watcher->deaf && !has_ended(watcher->deaf, WNOHANG)) {
        watcher->deaf_alive_ns = now_ns - watcher->begin_ns;
    }
}

static pid_t child_start(bool hears)
{
    void (*before)(int) = signal(SIGTERM, hears ? SIG_DFL : SIG_IGN); /* from its first moment */
    pid_t pid = fork();

    if (pid == 0) {
        for (;;) {
            (void)pause();
        }
    }
    assert_true(pid > 0);
    (void)signal(SIGTERM, before);
    return pid;
}

/* Returns how long it took. */
static uint64_t stop(struct watcher *watcher)
{
    const pid_t pids[] = { 0, watcher->polite, watcher->deaf };

    test_clock_init(&watcher->clock);
    watcher->clock.passes_waits = true;
    watcher->clock.passed = pass;
    watcher->clock.ctx = watcher;
    watcher->begin_ns = test_clock_now_ns(&watcher->clock);
    ntk_child_stop(&watcher->clock.clock, pids, sizeof pids / sizeof *pids, GRACE_NS);
    for (size_t i = 1; i < sizeof pids / sizeof *pids; i++) {
        assert_true(pids[i] == 0 || (kill(pids[i], 0) == -1 && errno == ESRCH));
    }
    uint64_t took_ns = test_clock_now_ns(&watcher->clock) - watcher->begin_ns;
    test_clock_fini(&watcher->clock);
    return took_ns;
}

static void stopping_without_a_child_returns_at_once(void **state)
{
    struct watcher watcher = { .polite = 0 };

    (void)state;
    assert_int_equal(stop(&watcher), 0);
}

static void the_wait_for_a_child_ends_when_it_exits(void **state)
{
    struct watcher watcher = { .polite = child_start(true) };

    (void)state;
    assert_true(stop(&watcher) <= STEP_NS);
}

static void a_child_that_ignores_sigterm_is_killed_after_the_timeout(void **state)
{
    struct watcher watcher = { .polite = child_start(true), .deaf = child_start(false) };

    (void)state;
    assert_true(stop(&watcher) <= GRACE_NS + STEP_NS);
    assert_int_equal(watcher.deaf_alive_ns, GRACE_NS);
}

/* The child of a child keeps the other end of a pipe open for as long as it lives. */
static void a_tied_child_exits_when_its_parent_is_killed(void **state)
{
    int lives[2];
    int ready[2];
    char byte;

    (void)state;
    assert_int_equal(pipe(lives), 0);
    assert_int_equal(pipe(ready), 0);
    pid_t parent = fork();
    if (parent == 0) {
        if (ntk_child_fork(SIGTERM) == 0) {
            (void)!write(ready[1], "r", 1);
        }
        for (;;) {
            (void)pause();
        }
    }
    assert_true(parent > 0);
    close(lives[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    struct pollfd end = { .fd = lives[0], .events = POLLIN };
    assert_int_equal(poll(&end, 1, 0), 0);
    assert_int_equal(kill(parent, SIGKILL), 0);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    assert_int_equal(poll(&end, 1, (int)(test_patience_ns() / NTK_NS_PER_MS)), 1);
    assert_int_equal(read(lives[0], &byte, 1), 0);
    close(lives[0]);
    close(ready[0]);
    close(ready[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stopping_without_a_child_returns_at_once),
        cmocka_unit_test(the_wait_for_a_child_ends_when_it_exits),
        cmocka_unit_test(a_child_that_ignores_sigterm_is_killed_after_the_timeout),
        cmocka_unit_test(a_tied_child_exits_when_its_parent_is_killed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
