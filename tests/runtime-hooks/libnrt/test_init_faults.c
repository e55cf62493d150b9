/* SPDX-License-Identifier: MIT */
/*
 * nrt_init() and nrt_close() if every system call may fail, or be the last one of the process.
 *
 * Method: the k-th system call fails in the k-th child, for all k. Whatever fails, the child gets a
 * status, no signal and no hang, and its next nrt_init() works.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nrt/nrt_profile.h"
#include "shared/abi/paths.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/scratch.h"
#include "tests/support/syscall_fault.h"
#include "tests/support/unit.h"

#define CALLS_MAX 20000
#define NUMBERS_MAX 1024
#define LASTING_MAX 20u
#define KILLS 60 /* sampled from all possible points */
#define OLD_SECONDS 7200

static int open_and_open_again(void *ctx)
{
    NRT_STATUS status;

    (void)ctx;
    syscall_fault_begin();
    status = nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
    syscall_fault_end();
    if (status != NRT_SUCCESS && nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") != NRT_SUCCESS) {
        return 2;
    }
    nrt_close();
    return 0;
}

static int open_and_close(void *ctx)
{
    (void)ctx;
    if (nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") != NRT_SUCCESS) {
        return 2;
    }
    syscall_fault_begin();
    nrt_close();
    syscall_fault_end();
    if (nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") != NRT_SUCCESS) {
        return 3;
    }
    nrt_close();
    return 0;
}

static unsigned tell(const struct syscall_fault_result *result, const char *how)
{
    if (result->status == 0) {
        return 0;
    }
    print_error("call %u (system call %ld, errno %d%s): %s %d\n", result->calls, result->number,
                result->error, how, WIFSIGNALED(result->status) ? "signal" : "exit code",
                WIFSIGNALED(result->status) ? WTERMSIG(result->status)
                                            : WEXITSTATUS(result->status));
    return 1;
}

/* Runs it for all k; returns the number of calls. */
static unsigned try_all(int (*body)(void *ctx))
{
    unsigned seen[NUMBERS_MAX] = { 0 };
    unsigned bad = 0;
    unsigned k = 0;

    for (; k < CALLS_MAX; k++) {
        struct syscall_fault_result result =
            syscall_fault_run(body, NULL, (struct syscall_fault){ .at = k, .variant = k });

        bad += tell(&result, "");
        if (result.number < 0) {
            break;
        }
        /* A loop over one call need not fail in each of its rounds. */
        if (result.error != 0 && result.number < NUMBERS_MAX &&
            seen[result.number]++ < LASTING_MAX) {
            result =
                syscall_fault_run(body, NULL, (struct syscall_fault){ .at = k, .lasts = true });
            bad += tell(&result, ", lasting");
        }
    }
    assert_int_equal(bad, 0);
    return k;
}

static void nrt_init_returns_after_any_failed_system_call(void **state)
{
    /* The machine and its tree exist, as for any later start. */
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    nrt_close();
    print_message("%u system calls\n", try_all(open_and_open_again));
}

static void nrt_close_returns_after_any_failed_system_call(void **state)
{
    print_message("%u system calls\n", try_all(open_and_close));
}

static int open_only(void *ctx)
{
    (void)ctx;
    syscall_fault_begin();
    (void)nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
    syscall_fault_end();
    nrt_close();
    return 0;
}

/* Makes all files of the folder old, except those that always stay; returns their number. */
static unsigned files_age(const char *folder)
{
    const struct timespec times[2] = { { .tv_sec = time(NULL) - OLD_SECONDS },
                                       { .tv_sec = time(NULL) - OLD_SECONDS } };
    DIR *list = opendir(folder);
    const struct dirent *entry;
    unsigned count = 0;

    assert_non_null(list);
    while ((entry = readdir(list)) != NULL) {
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, "soft") != 0 &&
            strcmp(entry->d_name, NTK_SOFT_STATE_NAME) != 0 &&
            strcmp(entry->d_name, NTK_SOFT_LOCK_NAME) != 0) {
            (void)utimensat(dirfd(list), entry->d_name, times, AT_SYMLINK_NOFOLLOW);
            count++;
        }
    }
    closedir(list);
    return count;
}

static void files_of_a_process_killed_in_nrt_init_are_removed_at_the_next_start(void **state)
{
    const struct runtime *runtime = *state;
    unsigned calls =
        syscall_fault_run(open_only, NULL, (struct syscall_fault){ .at = CALLS_MAX }).calls;
    unsigned step = calls / KILLS + 1;
    unsigned left = 0;

    assert_true(calls > KILLS / 2);
    for (unsigned k = 0; k < calls; k += step) {
        struct syscall_fault_result result =
            syscall_fault_run(open_only, NULL, (struct syscall_fault){ .at = k, .kills = true });

        assert_true(WIFSIGNALED(result.status) || result.number < 0);
        left += files_age(runtime->folder);
    }
    assert_true(left > 0); /* otherwise the method is wrong */
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    nrt_close();
    assert_int_equal(files_age(runtime->folder), 0);
}

/* Exit code 0: no signal arrived at any limit. ctx: the limit in bytes. */
static int open_within(void *ctx)
{
    struct rlimit limit = { *(rlim_t *)ctx, *(rlim_t *)ctx };
    size_t bytes = 0;
    uint8_t *neff = test_model_smallest(&bytes);
    nrt_model_t *model = NULL;

    setenv("NEURON_RT_LOG_LEVEL", "INFO", 1);
    setenv("NEURON_RT_LOG_LOCATION", "limited.log", 1);
    if (chdir(getenv("NEURON_HOOKS_DIR")) != 0 || setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        return 2;
    }
    if (nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") == NRT_SUCCESS &&
        nrt_load(neff, bytes, 0, 1, &model) == NRT_SUCCESS) {
        (void)nrt_profile_start(model, "limited.ntff");
        (void)nrt_profile_stop("limited.ntff");
        (void)nrt_unload(model);
    }
    nrt_close();
    free(neff);
    return 0;
}

static void a_job_runs_under_any_file_size_limit(void **state)
{
    static rlim_t limits[] = {
        0, 100, 5000, 200000, 1 << 20, 6 << 20, 7 << 20, 40 << 20, 64 << 20
    };

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct syscall_fault_result result =
            syscall_fault_run(open_within, &limits[i], (struct syscall_fault){ .at = CALLS_MAX });

        print_message("%llu bytes: status %x\n", (unsigned long long)limits[i],
                      (unsigned)result.status);
        assert_int_equal(result.status, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, runtime_setup, runtime_teardown)
        TEST(nrt_init_returns_after_any_failed_system_call),
        TEST(nrt_close_returns_after_any_failed_system_call),
        TEST(a_job_runs_under_any_file_size_limit),
        TEST(files_of_a_process_killed_in_nrt_init_are_removed_at_the_next_start),
    };

    if (test_is_sanitized()) {
        return test_skip("the sanitizer's own system calls must not fail");
    }
    if (!syscall_fault_works()) {
        return test_skip("system calls cannot be intercepted here");
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
