/* SPDX-License-Identifier: MIT */
/*
 * timeline_flame - where the time of the engines went, for the flame graphs of the page.
 *
 * Threads: any; no state. Memory that fails sticks in out.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_FLAME_H
#define NTK_PROFILER_TIMELINE_TIMELINE_FLAME_H

#include "profiler/output/answers/analyses.h"
#include "profiler/timeline/timeline.h"

/* Time by core, engine, layer and operation in [from, to) of the timeline, cut to it; waiting is
 * distinguished. */
void ntk_timeline_put_flame(const struct ntk_timeline *timeline, size_t source,
                            const struct ntk_analyses *analyses, int64_t from_ps, int64_t to_ps,
                            struct ntk_buf *out);
/* The stacks of analysis/flame_stacks.h, of the whole capture: frames as [parent + 1, name], stacks
 * as [frame, busy ns, wait ns, instructions]. */
void ntk_timeline_put_flame_stacks(const struct ntk_timeline *timeline, size_t source,
                                   struct ntk_buf *out);

#endif
