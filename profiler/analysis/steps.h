/* SPDX-License-Identifier: MIT */
/*
 * steps - the sum of intervals over time: each adds its height while it lasts.
 *
 * Up to NTK_STEPS_MAX edges the steps are exact. With more edges, the time from the first to the
 * last is divided into equal pieces with one step each: its mean, so that the integral is
 * unchanged, or its maximum. The last piece is as wide as the others, so it may end after the last
 * edge; nothing is added there. So the output is bounded for any capture, and memory by that of a
 * sorter.
 *
 * Errors:  -errno of a sorter, or the result of put.
 * Owner:  caller's storage; ntk_steps_fini() frees, also after a failed add. Threads: one.
 */
#ifndef NTK_PROFILER_ANALYSIS_STEPS_H
#define NTK_PROFILER_ANALYSIS_STEPS_H

#include "profiler/trace/sorter.h"
#include "profiler/trace/trace.h"

#define NTK_STEPS_MAX 65536U   /* edges that are exact */
#define NTK_STEPS_PIECES 16384 /* steps of more */

enum ntk_steps_kind { NTK_STEPS_MEAN, NTK_STEPS_MOST };

struct ntk_steps {
    struct ntk_sorter edges;
    size_t list_bytes;
};

/* The value until the next step; the last is 0. A negative result stops. */
typedef int ntk_steps_put(void *ctx, int64_t time_ps, double value);

/* One of `share` simultaneous ones. */
void ntk_steps_init(struct ntk_steps *steps, const struct ntk_trace *trace, size_t share);
void ntk_steps_fini(struct ntk_steps *steps);
/* Ignores an interval without length or positive height. */
int ntk_steps_add(struct ntk_steps *steps, int64_t from_ps, int64_t until_ps, double height);
/* Same, for an amount that is spread evenly over the time (at least one ns); values are per
 * second. */
int ntk_steps_add_amount(struct ntk_steps *steps, int64_t from_ps, int64_t until_ps, double amount);
/* Steps in time order, each different from the previous one; none if nothing was added. Empties
 * steps. */
int ntk_steps_finish(struct ntk_steps *steps, enum ntk_steps_kind kind, ntk_steps_put *put,
                     void *ctx);

#endif
