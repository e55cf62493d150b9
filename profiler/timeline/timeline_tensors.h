/* SPDX-License-Identifier: MIT */
/*
 * timeline_tensors - finds the tensor of each slice on engines and queues, for colours.
 *
 * An instruction that starts a transfer, and each packet of that transfer, has the tensor in device
 * memory that it reads or writes. Other slices, and transfers of several tensors, have none.
 * Numbers are from 1 on, in order of name; 0 is none. Names come from all captures.
 *
 * Owner:   create / destroy; the timeline and its analyses are borrowed.
 * Threads: any; immutable after creation.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_TENSORS_H
#define NTK_PROFILER_TIMELINE_TIMELINE_TENSORS_H

#include "profiler/output/answers/analyses.h"
#include "profiler/timeline/timeline.h"
#include "shared/base/buf.h"

#define NTK_TIMELINE_TENSORS_MAX 10000 /* maximum; further tensors are ignored */

struct ntk_timeline_tensors;

/* analyses: one per source. Returns 0 or -ENOMEM. */
int ntk_timeline_tensors_create(const struct ntk_timeline *timeline,
                                struct ntk_analyses *const *analyses,
                                struct ntk_timeline_tensors **out_tensors);
/* Accepts NULL. */
void ntk_timeline_tensors_destroy(struct ntk_timeline_tensors *tensors);

size_t ntk_timeline_tensors_count(const struct ntk_timeline_tensors *tensors);
/* Returns the number of the tensor of a slice. */
uint16_t ntk_timeline_tensor_of(const struct ntk_timeline_tensors *tensors,
                                const struct ntk_timeline_track *track,
                                const struct ntk_timeline_slice *slice);
/* Writes {"names": [...]}; tensor n is at n - 1. */
void ntk_timeline_put_tensors(const struct ntk_timeline_tensors *tensors, struct ntk_buf *out);
/* Like ntk_timeline_tile_put(), with the number of the tensor instead of the kind of a slice. */
int ntk_timeline_put_tensor_tile(const struct ntk_timeline_tensors *tensors, unsigned level,
                                 uint64_t tile, const uint32_t *tracks, size_t track_count,
                                 struct ntk_buf *out, struct ntk_err *err);

#endif
