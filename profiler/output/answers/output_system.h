/* SPDX-License-Identifier: MIT */
/*
 * output_system - host activity of inspected processes, as text and as JSON.
 *
 * Every function appends to a buffer; an allocation that fails shows in ntk_buf_ok(). The same
 * folder gives the same bytes.
 */
#ifndef NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_SYSTEM_H
#define NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_SYSTEM_H

#include "profiler/output/sink.h"
#include "profiler/output/system_view.h"
#include "shared/base/buf.h"
#include "shared/base/json.h"

/* Its execution; NULL: unknown, and *out_reason (may be NULL) has the reason, or NULL for a capture
 * of a session. */
const struct ntk_system_execution *
ntk_system_capture_execution(const struct ntk_system_view *view,
                             const struct ntk_system_capture *capture, const char **out_reason);

#define NTK_SYSTEM_PROCESS_BYTES 24
/* "41" or "unknown"; returns buf. */
const char *ntk_output_system_process(const struct ntk_system_trace *trace, char *buf,
                                      size_t buf_bytes);

/* Its first lines, threads, executions (limited to this number) and captures. */
void ntk_output_system_text(const struct ntk_system_view *view, size_t executions_max,
                            struct ntk_buf *out);
/* {"sessions": [...]}: the same tables, whole. */
void ntk_output_system_summary_json(const struct ntk_system_view *views, size_t count,
                                    struct ntk_buf *out);
/* {"trace_event": [...], "mem_usage": [...], "cpu_util": [...]}, with the vendor's keys. sink: that
 * of out, which is written as it fills; NULL: all stays in out. 0 or -errno. */
int ntk_output_system_json(const struct ntk_system_view *views, size_t count, struct ntk_buf *out,
                           struct ntk_sink *sink);
/* A row of a table of folders as an object with its columns as keys; ctx: the output. */
struct ntk_system_rows_json {
    struct ntk_json *json;
    const char *table;
};
int ntk_output_system_row_json(void *ctx, const void *row);

#endif
