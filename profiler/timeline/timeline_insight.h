/* SPDX-License-Identifier: MIT */
/*
 * timeline_insight - what analyses know about single slices: what released an instruction, what it
 * let go, the chain that decided how long the execution took, the time of operations in layers.
 *
 * Times are ps since the timeline's begin. A slice is written as {"track", "slice", "what", "lane",
 * "start", "end"}. The analyses are those of the source that the track is of.
 *
 * Threads: any, but for those of operands; no state. Memory that fails sticks in out.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_INSIGHT_H
#define NTK_PROFILER_TIMELINE_TIMELINE_INSIGHT_H

#include "profiler/output/answers/analyses.h"
#include "profiler/output/tables/operands.h"
#include "profiler/timeline/timeline.h"

/* Slices that are named in one list; the number of all is reported. */
#define NTK_TIMELINE_RELEASES_MAX 64
#define NTK_TIMELINE_PREDECESSORS_MAX 16
#define NTK_TIMELINE_STEPS_MAX 2000

/* Instructions: layer, what a vendor's compiler called it and lets it follow, with the last time
 * that ran before, its operands (unless operands is NULL, or it is of ours), instruction before on
 * the engine, what it waited for and the change, instruction and transfer that ended it, the
 * transfer that it began, instructions that it and that transfer let go. Packets: their transfer,
 * its starter, what it released. Changes of semaphores: the maker, its transfer, what it released.
 * Other rows know nothing. -ENOENT with a message. */
int ntk_timeline_put_flows(const struct ntk_timeline *timeline, const struct ntk_analyses *analyses,
                           struct ntk_operands *operands, uint64_t track, uint64_t slice,
                           struct ntk_buf *out, struct ntk_err *err);
/* The steps of the critical path in [from, to) by time, at most NTK_TIMELINE_STEPS_MAX, and how
 * many there are; null where the length of the execution is unknown. */
void ntk_timeline_put_path(const struct ntk_timeline *timeline, size_t source,
                           const struct ntk_analyses *analyses, int64_t from_ps, int64_t to_ps,
                           struct ntk_buf *out);
/* Time by core, engine, layer and operation in [from, to), cut to it; waiting is distinguished. */
void ntk_timeline_put_flame(const struct ntk_timeline *timeline, size_t source,
                            const struct ntk_analyses *analyses, int64_t from_ps, int64_t to_ps,
                            struct ntk_buf *out);

/* The source whose track it is. */
size_t ntk_timeline_source_of(const struct ntk_timeline *timeline,
                              const struct ntk_timeline_track *track);

#endif
