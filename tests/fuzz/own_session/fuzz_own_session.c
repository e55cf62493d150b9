/* SPDX-License-Identifier: MIT */
/* fuzz_own_session - any bytes as ntrace.pb in our folder of an inspection: its spans are in order,
 * the parts of times add up, and its ranks are joined piece by piece. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/analysis/joined.h"
#include "shared/base/fs.h"
#include "tests/fuzz/own_session/span_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64]; /* "": not created yet */
static char path[80];

static void folder_remove(void)
{
    (void)unlink(path);
    (void)rmdir(folder);
}

/* In memory if there is enough of it: the fuzzer writes thousands of files. */
static bool folder_make(void)
{
    if (folder[0]) {
        return true;
    }
    (void)snprintf(folder, sizeof folder, "%s/fuzz-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(folder)) {
        return false;
    }
    (void)snprintf(path, sizeof path, "%s/ntrace.pb", folder);
    return atexit(folder_remove) == 0;
}

static void join_check(const struct ntk_joined *joined)
{
    for (size_t r = 0; r < joined->rank_count && !joined->unknown; r++) {
        uint64_t parts_ns = 0;

        for (unsigned p = 0; p < NTK_JOINED_PART_COUNT; p++) {
            parts_ns += joined->ranks[r].part_ns[p];
        }
        if (parts_ns != joined->ranks[r].span_ns) {
            abort();
        }
    }
}

static void pieces_read(void)
{
    struct ntk_joined joined;
    struct ntk_rank_list list;
    struct ntk_err err = { 0 };

    ntk_rank_list_init(&list);
    if (ntk_rank_list_add_folder(&list, folder, &err) == 0 && ntk_rank_list_finish(&list) == 0 &&
        ntk_analysis_joined_list(&list, NULL, &joined) == 0) {
        join_check(&joined);
        ntk_joined_fini(&joined);
    }
    ntk_rank_list_fini(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_system_trace *trace = NULL;
    struct ntk_err err = { 0 };

    if (!folder_make() || ntk_fs_write(path, data, size, &err) < 0) {
        return 0;
    }
    pieces_read();
    if (ntk_system_trace_open(folder, &trace, &err) == 0) {
        span_check_order(trace);
        span_check_analyses(trace);
        ntk_system_trace_close(trace);
    }
    return 0;
}
