/* SPDX-License-Identifier: MIT */
/*
 * timeline_tensors - which tensor the slices of engines and queues are about, for their colours.
 *
 * An instruction that starts a transfer, and each packet of that transfer, are about the tensor in
 * device memory that it reads or writes. Other slices, and transfers of several tensors, are about
 * none. Numbers are from 1 on, in order of name; 0 is none. Names are those of all captures.
 *
 * Owner:   create / destroy; it borrows the timeline and its analyses.
 * Threads: any; immutable after creation.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_TENSORS_H
#define NTK_PROFILER_TIMELINE_TIMELINE_TENSORS_H

#include "profiler/output/answers/analyses.h"
#include "profiler/timeline/timeline.h"
#include "shared/base/buf.h"

#define NTK_TIMELINE_TENSORS_MAX 10000 /* of more the later ones are none */

struct ntk_timeline_tensors;

/* analyses: of each source. 0 or -ENOMEM. */
int ntk_timeline_tensors_create(const struct ntk_timeline *timeline,
                                struct ntk_analyses *const *analyses,
                                struct ntk_timeline_tensors **out_tensors);
/* NULL is fine. */
void ntk_timeline_tensors_destroy(struct ntk_timeline_tensors *tensors);

size_t ntk_timeline_tensors_count(const struct ntk_timeline_tensors *tensors);
/* The number of the tensor of a slice. */
uint16_t ntk_timeline_tensor_of(const struct ntk_timeline_tensors *tensors,
                                const struct ntk_timeline_track *track,
                                const struct ntk_timeline_slice *slice);
/* {"names": [...]}: tensor n is at n - 1. */
void ntk_timeline_put_tensors(const struct ntk_timeline_tensors *tensors, struct ntk_buf *out);
/* As ntk_timeline_tile_put(), with the number of the tensor in the place of what a slice is. */
int ntk_timeline_put_tensor_tile(const struct ntk_timeline_tensors *tensors, unsigned level,
                                 uint64_t tile, const uint32_t *tracks, size_t track_count,
                                 struct ntk_buf *out, struct ntk_err *err);

#endif
