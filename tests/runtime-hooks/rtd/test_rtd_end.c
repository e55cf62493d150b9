/* SPDX-License-Identifier: MIT */
/* How long the exiting daemon waits, by a clock of the test. Method: a daemon without a core in a
 * child, which sends itself SIGTERM. */
#include "runtime-hooks/rtd/rtd_end.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/clock.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define WAIT_NS (RTD_END_WAIT_S * NTK_NS_PER_SECOND)

enum { FINISHED = 17, LEFT = 0, WRONG = 1 }; /* exit codes of the child */

static char socket_path[256];

static void check(bool is_right, const char *what)
{
    if (!is_right) {
        (void)fprintf(stderr, "in the child: %s\n", what);
        _exit(WRONG);
    }
}
#define CHECK(condition) check(condition, #condition)

/* Work is running until after_ns past the signal; one byte is written to heard just
 * before the limit. */
_Noreturn static void daemon_run(uint64_t after_ns, bool is_socket_gone, int heard)
{
    static struct rtd_manager manager;
    static struct test_clock clock;
    static char endpoint[sizeof socket_path + 8];
    struct rtd_defaults defaults = { 0 };
    struct ntk_rpc_server *server = NULL;
    struct rtd_end *end = NULL;
    struct ntk_err err = { 0 };

    rtd_end_block_signals();
    test_clock_init(&clock);
    (void)snprintf(endpoint, sizeof endpoint, "unix:%s", socket_path);
    CHECK(rtd_manager_open(&manager, NULL, &err, &defaults, &err) == 0);
    CHECK(ntk_rpc_server_create(endpoint, rtd_methods, &manager, &server, &err) == 0);
    CHECK(rtd_end_begin(server, &manager, endpoint, NULL, &clock.clock, &end, &err) == 0);
    CHECK(kill(getpid(), SIGTERM) == 0);
    rtd_end_run(end);
    CHECK(test_clock_await(&clock) == WAIT_NS);
    close(open(socket_path, O_CREAT | O_CLOEXEC, 0600)); /* as if the server had left it behind */
    if (is_socket_gone) {
        rtd_end_socket_gone(end);
    }
    if (after_ns < WAIT_NS) {
        test_clock_advance(&clock, after_ns);
        CHECK(test_clock_await(&clock) == WAIT_NS - after_ns); /* it is still waiting */
        rtd_end_finish(end);
        _exit(FINISHED);
    }
    test_clock_advance(&clock, WAIT_NS - 1);
    CHECK(test_clock_await(&clock) == 1);
    CHECK(write(heard, "", 1) == 1);
    test_clock_advance(&clock, after_ns - (WAIT_NS - 1));
    for (;;) {
        (void)pause(); /* like an execution that does not end */
    }
}

/* Returns the exit code, whether the child was there just before the limit, and whether its socket
 * remains. */
static int daemon_end(uint64_t after_ns, bool is_socket_gone, bool *out_waited, bool *out_socket)
{
    int ends[2];
    int status = 0;
    char byte;

    assert_int_equal(pipe(ends), 0);
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        daemon_run(after_ns, is_socket_gone, ends[1]);
    }
    assert_true(pid > 0);
    close(ends[1]);
    while (waitpid(pid, &status, 0) < 0) {
        assert_int_equal(errno, EINTR);
    }
    *out_waited = read(ends[0], &byte, 1) == 1;
    close(ends[0]);
    assert_true(WIFEXITED(status));
    *out_socket = access(socket_path, F_OK) == 0;
    (void)unlink(socket_path);
    return WEXITSTATUS(status);
}

static void shutdown_waits_for_work_within_the_limit(void **state)
{
    static const uint64_t times_ns[] = { 0, WAIT_NS / 2, WAIT_NS - 1 };
    bool has_waited;
    bool has_socket;

    (void)state;
    for (size_t i = 0; i < sizeof times_ns / sizeof *times_ns; i++) {
        assert_int_equal(daemon_end(times_ns[i], false, &has_waited, &has_socket), FINISHED);
    }
}

static void work_beyond_the_shutdown_limit_is_abandoned(void **state)
{
    static const uint64_t times_ns[] = { WAIT_NS, WAIT_NS + 1 };
    bool has_waited;
    bool has_socket;

    (void)state;
    for (size_t i = 0; i < sizeof times_ns / sizeof *times_ns; i++) {
        assert_int_equal(daemon_end(times_ns[i], false, &has_waited, &has_socket), LEFT);
        assert_true(has_waited);
        assert_false(has_socket);
    }
}

/* Another daemon may own it by then. */
static void the_socket_is_kept_if_shutdown_abandons_work(void **state)
{
    bool has_waited;
    bool has_socket;

    (void)state;
    assert_int_equal(daemon_end(WAIT_NS, true, &has_waited, &has_socket), LEFT);
    assert_true(has_socket);
}

static int set_up(void **state)
{
    int ret = test_scratch_set_up(state);

    (void)snprintf(socket_path, sizeof socket_path, "%s/neuron.sock", test_scratch_folder);
    return ret;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shutdown_waits_for_work_within_the_limit),
        cmocka_unit_test(work_beyond_the_shutdown_limit_is_abandoned),
        cmocka_unit_test(the_socket_is_kept_if_shutdown_abandons_work),
    };

    return cmocka_run_group_tests(tests, set_up, test_scratch_tear_down);
}
