/* SPDX-License-Identifier: MIT */
/*
 * output_ranks - the summaries of several captures of one NEFF side by side: ranks, cores,
 * executions.
 *
 * Every function appends to a buffer; an allocation that fails shows in ntk_buf_ok(). The same
 * captures give the same bytes.
 */
#ifndef NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_RANKS_H
#define NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_RANKS_H

#include "profiler/analysis/summary.h"
#include "shared/base/buf.h"

struct ntk_rank_summary {
    const char *name; /* of the capture: "run_rank_0" */
    struct ntk_summary summary;
};

/* A row per capture, then a row per numeric metric: minimum, median, maximum, and the capture of
 * the maximum. */
void ntk_output_ranks_text(const struct ntk_rank_summary *ranks, size_t count, struct ntk_buf *out);
/* {"run_rank_0": {metrics}, "run_rank_1": {...}} */
void ntk_output_ranks_json(const struct ntk_rank_summary *ranks, size_t count, struct ntk_buf *out);

#endif
