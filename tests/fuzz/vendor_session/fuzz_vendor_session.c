/* SPDX-License-Identifier: MIT */
/* fuzz_vendor_session - any bytes as each stream of the vendor's folder, paired to spans, accounts,
 * clocks and rounds; the results must be in order and in bounds. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/analysis/system_tables.h"
#include "profiler/system/vendor_session.h"
#include "tests/fuzz/own_session/span_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define EXECUTIONS_ASKED 64U

static void check(const struct ntk_system_trace *trace)
{
    for (size_t i = 0; i < trace->span_count; i++) {
        const struct ntk_system_span *span = &trace->spans[i];
        const struct ntk_system_memory *memory = ntk_system_span_memory(trace, span);
        struct ntk_system_extra extra = { 0 };
        size_t bytes = 0;

        if (memory && memory->account != NTK_SYSTEM_NO_ACCOUNT &&
            memory->account >= trace->accounts.count) {
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

/* The vendor's names of types. */
static void names_add(struct ntk_system_trace *trace)
{
    struct ntk_vendor_trace_info info = { .version = 2, .ultraserver_index = 0 };
    struct ntk_buf buf = { 0 };
    size_t count = 0;
    const char *const *names = ntk_vendor_trace_type_names(&count);

    info.instance_id = info.instance_type = info.ip_address = info.host_name = "";
    info.processor_name = info.ultraserver_id = "";
    for (size_t t = 0; t < NTK_VENDOR_TRACE_TABLES; t++) {
        ntk_vec_init(&info.tables[t], sizeof(struct ntk_vendor_trace_name));
    }
    for (size_t i = 0; i < count; i++) {
        struct ntk_vendor_trace_name name = { i, (char *)names[i] };

        (void)ntk_vec_push(&info.tables[NTK_VENDOR_TRACE_TYPES], &name);
    }
    ntk_vendor_trace_put_info(&buf, &info);
    (void)ntk_vendor_trace_info_read_bytes((const uint8_t *)buf.bytes, buf.bytes_count, "info",
                                           &trace->vendor, NULL);
    ntk_vec_fini(&info.tables[NTK_VENDOR_TRACE_TYPES]);
    ntk_buf_fini(&buf);
}

/* A point is found at its own time, or at an equal one; an execution belongs to one life of a
 * clock. */
static void check_clocks(const struct ntk_system_trace *trace)
{
    struct ntk_system_tables tables;
    uint32_t lives = 0;

    for (size_t i = 0; i < trace->sync_points.count; i++) {
        const struct ntk_system_sync *sync = ntk_vec_at(&trace->sync_points, i);
        const struct ntk_system_sync *found =
            ntk_system_sync_find(trace, sync->nc, sync->core, sync->host_ns);

        if (!found || found->nc != sync->nc || found->core != sync->core ||
            found->host_ns != sync->host_ns || found->life < sync->life) {
            abort();
        }
        lives = sync->life > lives ? sync->life : lives;
    }
    if (ntk_analysis_system_tables(trace, &tables) < 0) {
        return;
    }
    for (size_t i = 0; i < tables.execution_count && i < EXECUTIONS_ASKED; i++) {
        const struct ntk_system_captured captured = {
            .nc = tables.executions[i].nc,
            .has_window = true,
            .start_ns = tables.executions[i].device_start_ns,
            .end_ns = UINT64_MAX,
        };
        const char *reason = NULL;
        const struct ntk_system_execution *found =
            ntk_system_tables_captured(&tables, &captured, &reason);

        if (tables.executions[i].clock_life > lives || (found == NULL) != (reason != NULL)) {
            abort();
        }
    }
    ntk_system_tables_fini(&tables);
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
        names_add(trace);
        (void)ntk_vendor_session_spans(path, trace, &err);
        (void)ntk_vendor_session_accounts(trace);
        trace->is_vendor = true;
        if (ntk_vendor_session_clocks(trace) == 0) {
            check_clocks(trace);
        }
        (void)ntk_vendor_session_cpu(path, trace, &err);
        (void)ntk_vendor_session_memory(path, trace, &err);
        check(trace);
        span_check_order(trace);
        span_check_analyses(trace);
    }
    ntk_system_trace_close(trace);
    close(fd);
    return 0;
}
