/* SPDX-License-Identifier: MIT */
/*
 * timeline_pyramid - builds the buckets of a track, and reads any range of them.
 *
 * The main content of a bucket is determined by a majority vote (Boyer and Moore, weighted by
 * time), which needs one word per bucket and is exact if one content has more than half of the
 * time.
 *
 * Owner:   ntk_timeline_pyramid_fini() frees.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_PYRAMID_H
#define NTK_PROFILER_TIMELINE_TIMELINE_PYRAMID_H

#include "profiler/timeline/timeline.h"

#define NTK_TIMELINE_TILE_SHIFT 10
#define NTK_TIMELINE_TILE_BUCKETS (1u << NTK_TIMELINE_TILE_SHIFT)
#define NTK_TIMELINE_LEVEL_MAX 53
/* Number of slices per block; a block stores their latest end. */
#define NTK_TIMELINE_BLOCK 256
/* Mean number of slices per bucket of the finest level. */
#define NTK_TIMELINE_SLICES_PER_BUCKET 8

/* Returns the level at which one tile covers the whole span. */
unsigned ntk_timeline_level_top(int64_t span_ps);

/* Builds the pyramid from the slices of the track, within the span from begin_ps; levels are
 * in the spill. Returns 0, -ENOMEM, or the failure of the spill. */
int ntk_timeline_pyramid_build(struct ntk_timeline_track *track, struct ntk_spill *spill,
                               int64_t begin_ps, int64_t end_ps);
void ntk_timeline_pyramid_fini(struct ntk_timeline_pyramid *pyramid);

/* Reads the NTK_TIMELINE_TILE_BUCKETS buckets of a tile; empty buckets are zeroed. */
void ntk_timeline_pyramid_read(const struct ntk_timeline_track *track, int64_t begin_ps,
                               unsigned level, uint64_t tile, struct ntk_timeline_node *out_nodes);

/* Returns the kind by which a slice is counted, instead of the kind of the slice. */
struct ntk_timeline_recast {
    uint16_t (*call)(const struct ntk_timeline_track *track, const struct ntk_timeline_slice *slice,
                     const void *ctx);
    const void *ctx;
};
/* Reads buckets with slices counted as another kind: reads all slices of the tile, at any level. */
void ntk_timeline_pyramid_read_as(const struct ntk_timeline_track *track,
                                  const struct ntk_timeline_recast *as, int64_t begin_ps,
                                  unsigned level, uint64_t tile,
                                  struct ntk_timeline_node *out_nodes);

/* Returns the share of the bucket, 0 to 1; for a semaphore the mean value. */
double ntk_timeline_node_mean(const struct ntk_timeline_node *node, unsigned level);

/* Calls back for each slice that overlaps [from, to), in order of start; includes instants at from.
 * A negative result stops and is returned. */
int ntk_timeline_slices_each(const struct ntk_timeline_track *track, int64_t from_ps, int64_t to_ps,
                             int (*call)(size_t index, const struct ntk_timeline_slice *slice,
                                         void *ctx),
                             void *ctx);
/* Returns the number of slices that start inside. */
size_t ntk_timeline_slices_begin_count(const struct ntk_timeline_track *track, int64_t from_ps,
                                       int64_t to_ps);

#endif
