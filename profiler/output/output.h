/* SPDX-License-Identifier: MIT */
/*
 * output - writes a trace and its analyses as text for users and programs.
 *
 * Every function appends to a buffer; ntk_buf_ok() reports a failed allocation.
 * The same trace always has the same bytes.
 */
#ifndef NTK_PROFILER_OUTPUT_OUTPUT_H
#define NTK_PROFILER_OUTPUT_OUTPUT_H

#include "profiler/analysis/opcode_table.h"
#include "profiler/analysis/summary.h"
#include "profiler/trace/trace.h"
#include "shared/base/buf.h"
#include "shared/base/json.h"

/* Writes two columns, name and value, in the order of summary.def; absent metrics are omitted.
 * has_units: for users, with percent and microseconds; otherwise with the same numbers as in
 * JSON. */
void ntk_output_summary_text(const struct ntk_summary *summary, bool has_units,
                             struct ntk_buf *out);
/* Writes {"<profile name>": {"metric": value, ...}}, with the same keys. */
void ntk_output_summary_json(const struct ntk_summary *summary, const char *profile_name,
                             struct ntk_buf *out);
/* Writes the same as members of the current object. */
void ntk_output_summary_members(const struct ntk_summary *summary, struct ntk_json *json);

/* Writes the content of a capture: file, cores, engines and opcodes. */
void ntk_output_session_text(const struct ntk_trace *trace, const struct ntk_opcode_table *opcodes,
                             struct ntk_buf *out);
/* Writes the same as JSON, optionally with the first NTK_OUTPUT_ERRORS_MAX error records. */
#define NTK_OUTPUT_ERRORS_MAX 10000
void ntk_output_session_json(const struct ntk_trace *trace, const struct ntk_opcode_table *opcodes,
                             bool has_errors, struct ntk_buf *out);

#endif
