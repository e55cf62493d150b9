/* SPDX-License-Identifier: MIT */
/*
 * output_system - writes host activity of inspected processes, as text and as JSON.
 *
 * Every function appends to a buffer; ntk_buf_ok() reports a failed allocation. The same folder
 * always has the same bytes.
 */
#ifndef NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_SYSTEM_H
#define NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_SYSTEM_H

#include "profiler/output/sink.h"
#include "profiler/output/system_view.h"
#include "shared/base/buf.h"
#include "shared/base/json.h"

/* Returns the execution of a capture; NULL if unknown, and *out_reason (may be NULL) is the reason,
 * or NULL for a capture of a session. */
const struct ntk_system_execution *
ntk_system_capture_execution(const struct ntk_system_view *view,
                             const struct ntk_system_capture *capture, const char **out_reason);

#define NTK_SYSTEM_PROCESS_BYTES 24
/* Writes a pid such as "41", or "unknown"; returns buf. */
const char *ntk_output_system_process(const struct ntk_system_trace *trace, char *buf,
                                      size_t buf_bytes);

/* Writes the first lines, threads, executions (limited to this number) and captures. */
void ntk_output_system_text(const struct ntk_system_view *view, size_t executions_max,
                            struct ntk_buf *out);
/* Writes {"sessions": [...]}: the same tables, complete. */
void ntk_output_system_summary_json(const struct ntk_system_view *views, size_t count,
                                    struct ntk_buf *out);
/* Writes {"trace_event": [...], "mem_usage": [...], "cpu_util": [...]}, with the vendor's keys.
 * sink is the sink of out, which is written as it fills; if NULL, all output stays in out. Returns
 * 0 or -errno. */
int ntk_output_system_json(const struct ntk_system_view *views, size_t count, struct ntk_buf *out,
                           struct ntk_sink *sink);
/* Writes a row of a table of folders as an object with its columns as keys; ctx is the output. */
struct ntk_system_rows_json {
    struct ntk_json *json;
    const char *table;
};
int ntk_output_system_row_json(void *ctx, const void *row);

#endif
