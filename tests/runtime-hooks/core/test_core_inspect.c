/* SPDX-License-Identifier: MIT */
/* The thread that samples the host does not disturb the program. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime-hooks/core/core_inspect.h"
#include "shared/base/fs.h"
#include "tests/support/unit.h"

/* Signal mask of a thread as printed by the kernel: bit N-1 for signal N. */
static uint64_t blocked_signals(const char *thread, const char *own)
{
    char path[64];
    char text[4096];

    (void)snprintf(path, sizeof path, "/proc/self/task/%.20s/status", thread);
    do { /* the C library blocks all signals in a thread that has not started */
        assert_true(ntk_fs_read_text(path, text, sizeof text) > 0);
    } while (strcmp(thread, own) != 0 && !strstr(text, "State:\tS"));
    const char *at = strstr(text, "SigBlk:");
    assert_non_null(at);
    return strtoull(at + strlen("SigBlk:"), NULL, 16);
}

static void the_sampler_thread_blocks_signals_of_the_program(void **state)
{
    static const int signals[] = { SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGCHLD, SIGALRM, SIGPROF };
    struct ntk_core_sampler *sampler = NULL;
    struct ntk_err err = { 0 };
    char own[16];
    int others = 0;

    assert_int_equal(ntk_core_sampler_create(&sampler, &err), 0);
    (void)snprintf(own, sizeof own, "%d", (int)gettid());
    DIR *list = opendir("/proc/self/task");
    assert_non_null(list);
    for (const struct dirent *entry = readdir(list); entry; entry = readdir(list)) {
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, own) == 0) {
            continue;
        }
        uint64_t blocked = blocked_signals(entry->d_name, own);

        others++;
        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
            assert_true(blocked >> (signals[i] - 1) & 1);
        }
    }
    closedir(list);
#ifndef __SANITIZE_THREAD__ /* it has a separate thread */
    assert_int_equal(others, 1);
#endif
    assert_int_equal(blocked_signals(own, own), 0);
    ntk_core_sampler_destroy(sampler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sampler_thread_blocks_signals_of_the_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
