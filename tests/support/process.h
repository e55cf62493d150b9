/* SPDX-License-Identifier: MIT */
/*
 * process - starts the project's programs in a test and reads what they print.
 */
#ifndef NTK_TESTS_SUPPORT_PROCESS_H
#define NTK_TESTS_SUPPORT_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct test_run {
    int exit_code; /* 128 + signal if it was killed */
    char *out;     /* NUL-terminated stdout */
    size_t out_bytes;
    char *err; /* NUL-terminated stderr */
};

/* Runs argv (argv[0] without a slash is looked up in $NTK_BIN_DIR) with additional "NAME=value"
 * entries in its environment (NULL-terminated, may be NULL) and stdin from /dev/null, until it
 * exits. Aborts if it cannot be started. */
struct test_run test_run_program(const char *const *argv, const char *const *environment);
void test_run_fini(struct test_run *run);

/* Starts it without waiting; stdout goes to out_path (NULL: /dev/null), stderr is inherited. */
pid_t test_start_program(const char *const *argv, const char *const *environment,
                         const char *out_path);
/* Sends the signal (0: none) and waits; returns the exit code as in struct test_run. */
int test_stop_program(pid_t pid, int signal_number);
/*
 * How long a test waits for a state before the run counts as broken: 120 s times $NTK_TEST_PATIENCE
 * (0: a single check). It never decides whether the tested code is fast enough.
 */
uint64_t test_patience_ns(void);
/* test_wait_until(condition, ctx) polls until condition(ctx) is true. Returns 1, or 0 when patience
 * has run out; then stderr names what it waited for. No test needs a bare sleep. */
#define test_wait_until(...) test_wait_until_at(__FILE__, __LINE__, #__VA_ARGS__, __VA_ARGS__)
int test_wait_until_at(const char *file, int line, const char *what, int (*condition)(void *ctx),
                       void *ctx);

#endif
