/* SPDX-License-Identifier: MIT */
/*
 * output_system - what inspected processes did on the host, as text and as JSON.
 *
 * Every function appends to a buffer; an allocation that fails shows in ntk_buf_ok(). The same
 * folder gives the same bytes.
 */
#ifndef NTK_PROFILER_OUTPUT_OUTPUT_SYSTEM_H
#define NTK_PROFILER_OUTPUT_OUTPUT_SYSTEM_H

#include "profiler/analysis/system_tables.h"
#include "shared/base/buf.h"
#include "shared/base/json.h"

/* A device capture of the folder, as far as it can be read. */
struct ntk_system_capture {
    const char *path;
    unsigned version; /* of the file */
    uint64_t model_id;
    uint32_t nc; /* by the name of the file; UINT32_MAX when it does not say */
    bool has_window;
    uint64_t window_start_ns, window_end_ns; /* on the clock of the core */
    bool has_total;
    uint64_t total_ns;
    uint64_t instruction_count, packet_count;
    uint64_t start_ns; /* where its time 0 is on the clock of the host; 0: not known */
    bool is_session;   /* all executions of the core, else the first one of its model */
};

struct ntk_system_view {
    const struct ntk_system_trace *trace;
    const struct ntk_system_tables *tables;
    const struct ntk_system_capture *captures;
    size_t capture_count;
    bool shows_private; /* addresses and names of hosts, which are left out otherwise */
};

/* The execution that it shows; NULL: not known. */
const struct ntk_system_execution *
ntk_system_capture_execution(const struct ntk_system_view *view,
                             const struct ntk_system_capture *capture);

#define NTK_SYSTEM_PROCESS_BYTES 24
/* "41" or "unknown"; returns buf. */
const char *ntk_output_system_process(const struct ntk_system_trace *trace, char *buf,
                                      size_t buf_bytes);

/* The first lines of it, threads, executions (at most so many) and captures. */
void ntk_output_system_text(const struct ntk_system_view *view, size_t executions_max,
                            struct ntk_buf *out);
/* {"sessions": [...]}: the same tables, whole. */
void ntk_output_system_summary_json(const struct ntk_system_view *views, size_t count,
                                    struct ntk_buf *out);
/* {"trace_event": [...], "mem_usage": [...], "cpu_util": [...]}, the vendor's names of keys. */
void ntk_output_system_json(const struct ntk_system_view *views, size_t count, struct ntk_buf *out);
/* A row of a table of folders as an object with its columns as keys; ctx: where to. */
struct ntk_system_rows_json {
    struct ntk_json *json;
    const char *table;
};
int ntk_output_system_row_json(void *ctx, const void *row);

#endif
