/* SPDX-License-Identifier: MIT */
/* fuzz_vendor_session - any bytes as each stream of the vendor's folder, paired to spans, accounts
 * and rounds; what comes out must be in order and in its bounds. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/system/vendor_session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct ntk_system_trace *trace)
{
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct ntk_system_span *span = &trace->spans[i];
        const struct ntk_system_memory *memory = ntk_system_span_memory(trace, span);
        struct ntk_system_extra extra = { 0 };
        size_t bytes = 0;

        if (!span->type || span->end_ns < span->start_ns ||
            (i > 0 && trace->spans[i - 1].start_ns > span->start_ns &&
             span->start_ns <= INT64_MAX) ||
            (memory && memory->account != NTK_SYSTEM_NO_ACCOUNT &&
             memory->account >= trace->accounts.count)) {
            abort();
        }
        while (ntk_system_extra_next(trace, span, &extra)) {
            bytes += extra.key_bytes + extra.value_bytes;
        }
        if (bytes > trace->extras.count) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_system_trace *trace = calloc(1, sizeof *trace);
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    struct ntk_err err = { 0 };
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (trace && write(fd, data, size) == (ssize_t)size) {
        ntk_vec_init(&trace->notes, sizeof(struct ntk_system_note));
        ntk_vec_init(&trace->texts, sizeof(char *));
        ntk_vec_init(&trace->accounts, sizeof(struct ntk_system_account));
        ntk_vec_init(&trace->captures, sizeof(char *));
        ntk_vec_init(&trace->warnings, sizeof(char *));
        (void)ntk_vendor_session_spans(path, trace, &err);
        (void)ntk_vendor_session_accounts(trace);
        (void)ntk_vendor_session_cpu(path, trace, &err);
        (void)ntk_vendor_session_memory(path, trace, &err);
        check(trace);
    }
    ntk_system_trace_close(trace);
    close(fd);
    return 0;
}
