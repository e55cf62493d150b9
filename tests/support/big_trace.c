/* SPDX-License-Identifier: MIT */
#include "tests/support/big_trace.h"

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/formats/ntff/ntff_read_private.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

void big_trace_open(const char *path, size_t list_bytes, struct big_trace *out)
{
    struct ntk_trace_options options = { .list_bytes = list_bytes, .folder = test_scratch_folder };
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_ntff_open(path, &out->ntff, &err), 0);
    if (ntk_trace_create(out->ntff, NULL, &options, &out->trace, &err) < 0) {
        fail_msg("%s", err.text);
    }
}

void big_trace_close(struct big_trace *opened)
{
    ntk_trace_destroy(opened->trace);
    ntk_ntff_close(opened->ntff);
}

uint64_t big_trace_memory(void (*work)(void *ctx), void *ctx)
{
    struct rusage usage;
    int status = 0;

    fflush(NULL);
    malloc_trim(0); /* memory freed by earlier tests does not count */
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        work(ctx);
        _exit(0);
    }
    assert_int_equal(wait4(pid, &status, 0, &usage), pid);
    assert_int_equal(status, 0);
    return (uint64_t)usage.ru_maxrss * 1024;
}

void big_trace_memory_of_sizes(const uint64_t bytes[2], struct ntff_big big,
                               void (*work)(void *ctx), uint64_t out_used[2])
{
    ntk_ntff_map_from_bytes = MIB; /* a copy of the file would count as memory */
    for (size_t i = 0; i < 2; i++) {
        big.steps = 0;
        big.bytes_count = NTFF_BIG_HAS_SHADOWS ? (2 + 2 * i) * MIB : bytes[i];
        char *path = ntff_big_write_in(test_scratch_folder, &big);
        struct big_trace_file file = { path, &big };
        out_used[i] = big_trace_memory(work, &file);
        print_message("%llu MiB of records: %llu MiB of memory\n",
                      (unsigned long long)(big.record_count * 16 / MIB),
                      (unsigned long long)(out_used[i] / MIB));
        unlink(path);
        free(path);
    }
}

int big_trace_on_full_disk(int (*make)(void *ctx), void *ctx)
{
    struct rlimit before;

    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit limit = { 128 << 10, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int ret = make(ctx);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    return ret;
}
