/* SPDX-License-Identifier: MIT */
/*
 * system_analyses - the questions about what the host did, by name: one row of the table each.
 *
 * Threads: any.
 */
#ifndef NTK_PROFILER_OUTPUT_SYSTEM_ANALYSES_H
#define NTK_PROFILER_OUTPUT_SYSTEM_ANALYSES_H

#include "profiler/analysis/joined.h"
#include "profiler/output/analyses.h"
#include "profiler/system/system_trace.h"

size_t ntk_system_analyses_count(void);
/* index < ntk_system_analyses_count() */
const struct ntk_analysis_info *ntk_system_analyses_info(size_t index);
/* The answer about all these processes appended to json, or to text where json is NULL. 0, -ENOMEM,
 * or -ENODATA: the traces do not say; nothing was appended then. options: what changes
 * to estimate; NULL: none. */
int ntk_system_analyses_put(const struct ntk_system_trace *const *traces, size_t trace_count,
                            size_t index, const struct ntk_joined_options *options,
                            struct ntk_buf *text, struct ntk_json *json);

#endif
