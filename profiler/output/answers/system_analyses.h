/* SPDX-License-Identifier: MIT */
/*
 * system_analyses - runs analyses of host activity by name: each is one row of a table.
 *
 * Threads: any.
 */
#ifndef NTK_PROFILER_OUTPUT_ANSWERS_SYSTEM_ANALYSES_H
#define NTK_PROFILER_OUTPUT_ANSWERS_SYSTEM_ANALYSES_H

#include "profiler/output/answers/analyses.h"
#include "profiler/output/answers/output_joined.h"
#include "profiler/system/system_trace.h"

size_t ntk_system_analyses_count(void);
/* index must be below ntk_system_analyses_count(). */
const struct ntk_analysis_info *ntk_system_analyses_info(size_t index);
/* Returns true if the analysis reads the folders itself, piece by piece, so that the caller need
 * not load their traces. */
bool ntk_system_analyses_streams(size_t index);
/* Appends the answer about all these processes to json, or to text if json is NULL. Returns 0,
 * -ENOMEM, -errno, or -ENODATA if it is not recorded in the traces; then nothing is appended.
 * options: changes to estimate; NULL for none. */
int ntk_system_analyses_put(const struct ntk_system_asked *asked, size_t index,
                            struct ntk_buf *text, struct ntk_json *json);

#endif
