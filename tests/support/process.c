/* SPDX-License-Identifier: MIT */
/* process - starts the project's programs in a test and reads what they print. */
#include "tests/support/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared/base/buf.h"
#include "shared/base/clock.h"

static void run_child(const char *const *argv, const char *const *environment, int out, int err)
{
    char path[4096];
    const char *folder = getenv("NTK_BIN_DIR");
    int null = open("/dev/null", O_RDWR);

    dup2(null, STDIN_FILENO);
    dup2(out >= 0 ? out : null, STDOUT_FILENO);
    if (err >= 0) {
        dup2(err, STDERR_FILENO);
    }
    for (; environment && *environment; environment++) {
        putenv((char *)*environment); /* this process is about to be replaced */
    }
    if (!strchr(argv[0], '/') && folder) {
        snprintf(path, sizeof path, "%s/%s", folder, argv[0]);
        execv(path, (char *const *)argv);
    }
    execvp(argv[0], (char *const *)argv);
    perror(argv[0]);
    _exit(127);
}

static int exit_code_of(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            perror("waitpid");
            abort();
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void read_both(int out, int err, struct ntk_buf *out_buf, struct ntk_buf *err_buf)
{
    struct pollfd fds[2] = { { out, POLLIN, 0 }, { err, POLLIN, 0 } };
    struct ntk_buf *bufs[2] = { out_buf, err_buf };
    int open_count = 2;

    while (open_count > 0) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR) {
            abort();
        }
        for (int i = 0; i < 2; i++) {
            char bytes[65536];
            if (fds[i].fd < 0 || !fds[i].revents) {
                continue;
            }
            ssize_t got = read(fds[i].fd, bytes, sizeof bytes);
            if (got > 0) {
                ntk_buf_add(bufs[i], bytes, (size_t)got);
            } else if (got == 0 || errno != EINTR) {
                fds[i].fd = -1;
                open_count--;
            }
        }
    }
}

struct test_run test_run_program(const char *const *argv, const char *const *environment)
{
    int out[2];
    int err[2];

    if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0) {
        abort();
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) {
        abort();
    }
    if (pid == 0) {
        run_child(argv, environment, out[1], err[1]);
    }
    close(out[1]);
    close(err[1]);
    struct ntk_buf out_buf = { 0 };
    struct ntk_buf err_buf = { 0 };
    read_both(out[0], err[0], &out_buf, &err_buf);
    close(out[0]);
    close(err[0]);
    struct test_run run = { .exit_code = exit_code_of(pid) };
    run.out = ntk_buf_take(&out_buf, &run.out_bytes);
    run.err = ntk_buf_take(&err_buf, NULL);
    return run;
}

void test_run_fini(struct test_run *run)
{
    free(run->out);
    free(run->err);
    *run = (struct test_run){ 0 };
}

pid_t test_start_program(const char *const *argv, const char *const *environment,
                         const char *out_path)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) {
        abort();
    }
    if (pid == 0) {
        int out = -1;
        if (out_path) {
            out = open(out_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        }
        run_child(argv, environment, out, -1);
    }
    return pid;
}

int test_stop_program(pid_t pid, int signal_number)
{
    if (signal_number) {
        kill(pid, signal_number);
    }
    return exit_code_of(pid);
}

uint64_t test_patience_ns(void)
{
    const char *factor = getenv("NTK_TEST_PATIENCE");

    return 120 * NTK_NS_PER_SECOND * (factor && factor[0] ? strtoul(factor, NULL, 10) : 1);
}

int test_wait_until_at(const char *file, int line, const char *what, int (*condition)(void *ctx),
                       void *ctx)
{
    uint64_t patience_ns = test_patience_ns();
    uint64_t end_ns = ntk_clock_monotonic_ns() + patience_ns;

    for (;;) {
        if (condition(ctx)) {
            return 1;
        }
        if (ntk_clock_monotonic_ns() >= end_ns) {
            (void)fprintf(stderr, "%s:%d: timed out after %llu s, waiting for: %s\n", file, line,
                          (unsigned long long)(patience_ns / NTK_NS_PER_SECOND), what);
            return 0;
        }
        nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
    }
}
