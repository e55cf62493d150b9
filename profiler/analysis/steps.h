/* SPDX-License-Identifier: MIT */
/*
 * steps - computes the sum of intervals over time: each interval adds its height while it lasts.
 *
 * Up to NTK_STEPS_MAX edges the steps are exact. With more edges, the time from the first to the
 * last is divided into equal pieces with one step each: its mean, so that the integral is
 * unchanged, or its maximum. The last piece is as wide as the others, so it may end after the last
 * edge; nothing is added there. So the output is bounded for any capture, and memory is limited to
 * the memory of a sorter. A caller that knows the time and expects more edges can divide it first,
 * which does without the sorter.
 *
 * Errors:  -errno of a sorter, or the result of put.
 * Owner:   the caller provides the storage; ntk_steps_fini() frees the content, also after a failed
 *          add.
 * Threads: one.
 */
#ifndef NTK_PROFILER_ANALYSIS_STEPS_H
#define NTK_PROFILER_ANALYSIS_STEPS_H

#include "profiler/trace/sorter.h"
#include "profiler/trace/trace.h"

#define NTK_STEPS_MAX 65536U   /* maximum number of edges with exact steps */
#define NTK_STEPS_PIECES 16384 /* number of steps if there are more edges */
#define NTK_STEPS_DIVIDED 4096 /* number of steps of a time that is divided first */

enum ntk_steps_kind { NTK_STEPS_MEAN, NTK_STEPS_MOST };

struct ntk_steps {
    struct ntk_sorter edges;
    size_t list_bytes;
    double *pieces; /* means of a divided time; NULL: not divided */
    int64_t first_ps, width_ps;
};

/* Receives the value until the next step; the last value is 0. A negative result stops the
 * analysis. */
typedef int ntk_steps_put(void *ctx, int64_t time_ps, double value);

/* share: number of simultaneous struct ntk_steps. */
void ntk_steps_init(struct ntk_steps *steps, const struct ntk_trace *trace, size_t share);
void ntk_steps_fini(struct ntk_steps *steps);
/* Divides this time into NTK_STEPS_DIVIDED equal pieces; ntk_steps_finish() reports their means.
 * All intervals must then be in this time. Returns 0 or -ENOMEM. */
int ntk_steps_divide(struct ntk_steps *steps, int64_t from_ps, int64_t until_ps);
/* Ignores an interval without length or positive height. */
int ntk_steps_add(struct ntk_steps *steps, int64_t from_ps, int64_t until_ps, double height);
/* Adds an amount that is spread evenly over the time (at least one ns); values are per
 * second. */
int ntk_steps_add_amount(struct ntk_steps *steps, int64_t from_ps, int64_t until_ps, double amount);
/* Reports steps in order of time, each different from the previous; none if nothing was added.
 * Empties steps. */
int ntk_steps_finish(struct ntk_steps *steps, enum ntk_steps_kind kind, ntk_steps_put *put,
                     void *ctx);

#endif
