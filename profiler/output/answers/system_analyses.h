/* SPDX-License-Identifier: MIT */
/*
 * system_analyses - the analyses of host activity, by name: one row of the table each.
 *
 * Threads: any.
 */
#ifndef NTK_PROFILER_OUTPUT_ANSWERS_SYSTEM_ANALYSES_H
#define NTK_PROFILER_OUTPUT_ANSWERS_SYSTEM_ANALYSES_H

#include "profiler/output/answers/analyses.h"
#include "profiler/output/answers/output_joined.h"
#include "profiler/system/system_trace.h"

size_t ntk_system_analyses_count(void);
/* index < ntk_system_analyses_count() */
const struct ntk_analysis_info *ntk_system_analyses_info(size_t index);
/* Whether it reads the folders itself, piece by piece: then the caller need not load their
 * traces. */
bool ntk_system_analyses_streams(size_t index);
/* Appends the answer about all these processes to json, or to text if json is NULL. 0, -ENOMEM,
 * -errno, or -ENODATA if not recorded in the traces; then nothing is appended. options: changes to
 * estimate; NULL: none. */
int ntk_system_analyses_put(const struct ntk_system_asked *asked, size_t index,
                            struct ntk_buf *text, struct ntk_json *json);

#endif
