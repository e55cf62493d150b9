/* SPDX-License-Identifier: MIT */
/*
 * output_part - describes the part of an execution that an output shows (struct ntk_trace_part), if
 * it is not complete.
 *
 * Threads: any; no state.
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_OUTPUT_PART_H
#define NTK_PROFILER_OUTPUT_TABLES_OUTPUT_PART_H

#include "profiler/trace/trace.h"
#include "shared/base/buf.h"
#include "shared/base/json.h"

/* Writes physical cores, such as "4,5". */
void ntk_output_part_cores(const struct ntk_trace *trace, struct ntk_buf *out);
/* Writes a text such as "1.00ms to 2.00ms of 10.0ms, NC 4,5". */
void ntk_output_part_text(const struct ntk_trace *trace, struct ntk_buf *out);
/* Writes the key "window"; nothing for a whole execution. */
void ntk_output_part_json(const struct ntk_trace *trace, struct ntk_json *json);

#endif
