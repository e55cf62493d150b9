/* SPDX-License-Identifier: MIT */
/*
 * output_ranks - writes the summaries of several captures of one NEFF in one table: ranks, cores,
 * executions.
 *
 * Every function appends to a buffer; ntk_buf_ok() reports a failed allocation. The same captures
 * always have the same bytes.
 */
#ifndef NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_RANKS_H
#define NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_RANKS_H

#include "profiler/analysis/summary.h"
#include "shared/base/buf.h"

struct ntk_rank_summary {
    const char *name; /* name of the capture, such as "run_rank_0" */
    struct ntk_summary summary;
};

/* Writes a row per capture, then a row per numeric metric: minimum, median, maximum, and the
 * capture of the maximum. */
void ntk_output_ranks_text(const struct ntk_rank_summary *ranks, size_t count, struct ntk_buf *out);
/* Writes {"run_rank_0": {metrics}, "run_rank_1": {...}}. */
void ntk_output_ranks_json(const struct ntk_rank_summary *ranks, size_t count, struct ntk_buf *out);

#endif
