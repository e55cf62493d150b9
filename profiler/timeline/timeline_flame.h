/* SPDX-License-Identifier: MIT */
/*
 * timeline_flame - writes the time of the engines for the flame graphs of the page.
 *
 * Threads: any; no state. Out of memory is recorded in out.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_FLAME_H
#define NTK_PROFILER_TIMELINE_TIMELINE_FLAME_H

#include "profiler/output/answers/analyses.h"
#include "profiler/timeline/timeline.h"

/* Writes time by core, engine, layer and operation in [from, to) of the timeline; slices are
 * clipped to the range; waiting is separate. */
void ntk_timeline_put_flame(const struct ntk_timeline *timeline, size_t source,
                            const struct ntk_analyses *analyses, int64_t from_ps, int64_t to_ps,
                            struct ntk_buf *out);
/* Writes the stacks of analysis/flame_stacks.h, for the whole capture: frames as [parent + 1,
 * name], stacks as [frame, busy ns, wait ns, instructions]. */
void ntk_timeline_put_flame_stacks(const struct ntk_timeline *timeline, size_t source,
                                   struct ntk_buf *out);

#endif
