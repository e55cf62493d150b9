/* SPDX-License-Identifier: MIT */
/*
 * timeline_insight - writes results of analyses about individual slices: the release of an
 * instruction, the instructions that it released, and the critical path.
 *
 * Times are ps since the start of the timeline. A slice is written as {"track", "slice", "what",
 * "lane", "start", "end"}. The analyses belong to the track's source.
 *
 * Threads: any, except for operands; no state. Out of memory is recorded in out.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_INSIGHT_H
#define NTK_PROFILER_TIMELINE_TIMELINE_INSIGHT_H

#include "profiler/output/answers/analyses.h"
#include "profiler/output/tables/operands.h"
#include "profiler/timeline/timeline.h"

/* Maximum number of listed slices; their total number is reported. */
#define NTK_TIMELINE_RELEASES_MAX 64
#define NTK_TIMELINE_PREDECESSORS_MAX 16
#define NTK_TIMELINE_STEPS_MAX 2000

/* Writes for instructions: layer, a vendor compiler's name and predecessors with their last
 * execution, operands (unless operands is NULL, or it is in the open encoding), previous
 * instruction of the engine, its wait with the change, instruction and transfer that ended it, the
 * transfer that it started, and instructions that it and that transfer released. For packets: their
 * transfer, its starting instruction, and released instructions. For changes of semaphores: the
 * maker, its transfer, and released instructions. Nothing for other rows. -ENOENT with a
 * message. */
int ntk_timeline_put_flows(const struct ntk_timeline *timeline, const struct ntk_analyses *analyses,
                           struct ntk_operands *operands, uint64_t track, uint64_t slice,
                           struct ntk_buf *out, struct ntk_err *err);
/* Writes the steps of the critical path in [from, to) by time, at most NTK_TIMELINE_STEPS_MAX, and
 * their number; null if the length of the execution is unknown. */
void ntk_timeline_put_path(const struct ntk_timeline *timeline, size_t source,
                           const struct ntk_analyses *analyses, int64_t from_ps, int64_t to_ps,
                           struct ntk_buf *out);

/* Returns the source of the track. */
size_t ntk_timeline_source_of(const struct ntk_timeline *timeline,
                              const struct ntk_timeline_track *track);

#endif
