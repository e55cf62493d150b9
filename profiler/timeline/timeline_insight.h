/* SPDX-License-Identifier: MIT */
/*
 * timeline_insight - results of analyses about single slices: what released an instruction, what it
 * released, and the critical path.
 *
 * Times are ps since the timeline's begin. A slice is written as {"track", "slice", "what", "lane",
 * "start", "end"}. The analyses are those of the track's source.
 *
 * Threads: any, except for operands; no state. Out of memory is recorded in out.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_INSIGHT_H
#define NTK_PROFILER_TIMELINE_TIMELINE_INSIGHT_H

#include "profiler/output/answers/analyses.h"
#include "profiler/output/tables/operands.h"
#include "profiler/timeline/timeline.h"

/* Limit of listed slices; their total number is reported. */
#define NTK_TIMELINE_RELEASES_MAX 64
#define NTK_TIMELINE_PREDECESSORS_MAX 16
#define NTK_TIMELINE_STEPS_MAX 2000

/* Instructions: layer, a vendor compiler's name and predecessors with their last execution,
 * operands (unless operands is NULL, or it is one of ours), previous instruction of the engine, its
 * wait with the change, instruction and transfer that ended it, the transfer that it started, and
 * instructions that it and that transfer released. Packets: their transfer, its starting
 * instruction, what it released. Changes of semaphores: the maker, its transfer, what it released.
 * Nothing for other rows. -ENOENT with a message. */
int ntk_timeline_put_flows(const struct ntk_timeline *timeline, const struct ntk_analyses *analyses,
                           struct ntk_operands *operands, uint64_t track, uint64_t slice,
                           struct ntk_buf *out, struct ntk_err *err);
/* The steps of the critical path in [from, to) by time, at most NTK_TIMELINE_STEPS_MAX, and their
 * number; null if the length of the execution is unknown. */
void ntk_timeline_put_path(const struct ntk_timeline *timeline, size_t source,
                           const struct ntk_analyses *analyses, int64_t from_ps, int64_t to_ps,
                           struct ntk_buf *out);

/* The source of the track. */
size_t ntk_timeline_source_of(const struct ntk_timeline *timeline,
                              const struct ntk_timeline_track *track);

#endif
