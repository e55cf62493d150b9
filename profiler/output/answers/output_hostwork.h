/* SPDX-License-Identifier: MIT */
/* output_hostwork - writes the causes of idle cores of processes, as text and JSON
 * (docs/idle.md). */
#ifndef NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_HOSTWORK_H
#define NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_HOSTWORK_H

#include "profiler/output/hostwork_answer.h"
#include "shared/base/buf.h"

void ntk_hostwork_text(const struct ntk_hostwork_answer *answer, size_t row_limit,
                       struct ntk_buf *out);
void ntk_hostwork_json(const struct ntk_hostwork_answer *answers, size_t count, size_t row_limit,
                       struct ntk_buf *out);
/* File in a recording: the same for one process, with its stacks. */
#define NTK_HOSTWORK_FILE "idle.json"
#define NTK_HOSTWORK_FILE_ROWS 500U
void ntk_hostwork_file(const struct ntk_hostwork_answer *answer, struct ntk_buf *out);

#endif
