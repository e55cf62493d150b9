/* SPDX-License-Identifier: MIT */
/*
 * steps - what intervals add up to, over time: each adds its height while it lasts.
 *
 * Up to NTK_STEPS_MAX edges the steps are exact. Of more, equal pieces of the time from the first
 * edge to the last have one step each: its mean, so that value times time stays what it was, or the
 * largest value in it. The last piece is as wide as the others, so it may end after the last edge;
 * from there on nothing is added. So an output is bounded, however long the capture is. Memory is
 * bounded as that of a sorter.
 *
 * Errors:  -errno of a sorter, or what put returned.
 * Owner:   caller's storage; ntk_steps_fini() frees, also after a failed add. Threads: one.
 */
#ifndef NTK_PROFILER_ANALYSIS_STEPS_H
#define NTK_PROFILER_ANALYSIS_STEPS_H

#include "profiler/trace/sorter.h"
#include "profiler/trace/trace.h"

#define NTK_STEPS_MAX 65536U   /* edges that are kept one by one */
#define NTK_STEPS_PIECES 16384 /* steps of more */

enum ntk_steps_kind { NTK_STEPS_MEAN, NTK_STEPS_MOST };

struct ntk_steps {
    struct ntk_sorter edges;
    size_t list_bytes;
};

/* From then on, until the next one; the last is 0. Less than 0 ends the steps. */
typedef int ntk_steps_put(void *ctx, int64_t time_ps, double value);

/* One of `share` that exist at once. */
void ntk_steps_init(struct ntk_steps *steps, const struct ntk_trace *trace, size_t share);
void ntk_steps_fini(struct ntk_steps *steps);
/* An interval without a length, or a height above 0, adds nothing. */
int ntk_steps_add(struct ntk_steps *steps, int64_t from_ps, int64_t until_ps, double height);
/* The same with an amount that is spread evenly over the time, at least one ns; per second. */
int ntk_steps_add_amount(struct ntk_steps *steps, int64_t from_ps, int64_t until_ps, double amount);
/* Steps in order of time, each with another value than the one before; none where nothing was
 * added. Empties steps. */
int ntk_steps_finish(struct ntk_steps *steps, enum ntk_steps_kind kind, ntk_steps_put *put,
                     void *ctx);

#endif
