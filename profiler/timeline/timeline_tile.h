/* SPDX-License-Identifier: MIT */
/*
 * timeline_tile - writes the data to draw several tracks for a period, as bytes.
 *
 * A tile is NTK_TIMELINE_TILE_BUCKETS buckets wide. If a track has few slices in it they are
 * included, else buckets, so the answer is small at every zoom. docs/formats/timeline-tile.md has
 * the format. Numbers are little-endian; times are double, ps since the start of the timeline,
 * exact below 2^53.
 *
 * Threads: any; no state.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_TILE_H
#define NTK_PROFILER_TIMELINE_TIMELINE_TILE_H

#include <assert.h>

#include "profiler/timeline/timeline.h"
#include "shared/base/buf.h"

#define NTK_TIMELINE_TILE_MAGIC UINT32_C(0x544c544e) /* "NTLT" */
#define NTK_TIMELINE_TILE_VERSION 1
/* Maximum number of slices in a tile; with more, buckets are used. */
#define NTK_TIMELINE_TILE_SLICES 512

enum ntk_timeline_form {
    NTK_TIMELINE_FORM_BUCKETS = 1,
    NTK_TIMELINE_FORM_SLICES = 2,
};

/*
 *   offset size field
 *        0    4 magic
 *        4    2 version
 *        6    2 level        buckets of 2^level ps
 *        8    8 tile         index
 *       16    4 track_count  sections that follow
 *       20    4 reserved     0
 */
struct ntk_timeline_tile_head {
    uint32_t magic;
    uint16_t version, level;
    uint64_t tile;
    uint32_t track_count, reserved;
};
static_assert(sizeof(struct ntk_timeline_tile_head) == 24, "tile 1: head");

/*
 *   offset size field
 *        0    4 track
 *        4    4 form         enum ntk_timeline_form
 *        8    4 entry_count
 *       12    4 reserved     0
 */
struct ntk_timeline_tile_section {
    uint32_t track, form, entry_count, reserved;
};
static_assert(sizeof(struct ntk_timeline_tile_section) == 16, "tile 1: section");

/*
 *   offset size field
 *        0    2 index        of the bucket in the tile; empty buckets are omitted
 *        2    2 what         most of the busy time
 *        4    4 count        slices that begin here
 *        8    4 mean         busy share of the time, 0 to 1; semaphore: mean value; rate: bytes/s
 *       12    4 extra        queue: bytes; engine: cycles waited by the slices that begin here;
 *                            semaphore: largest value; else 0
 */
struct ntk_timeline_tile_bucket {
    uint16_t index, what;
    uint32_t count;
    float mean, extra;
};
static_assert(sizeof(struct ntk_timeline_tile_bucket) == 16, "tile 1: bucket");

/*
 *   offset size field
 *        0    8 start        ps since the timeline's begin
 *        8    8 end
 *       16    4 slice        index in its track
 *       20    4 value        bytes of a packet, value of a semaphore, wait cycles of an instruction
 *       24    2 what
 *       26    1 lane
 *       27    1 is_wait      1: the engine waits
 *       28    4 reserved     0
 */
struct ntk_timeline_tile_slice {
    double start_ps, end_ps;
    uint32_t slice, value;
    uint16_t what;
    uint8_t lane;
    uint8_t is_wait;
    uint32_t reserved;
};
static_assert(sizeof(struct ntk_timeline_tile_slice) == 32, "tile 1: slice");

/* Writes a tile of these tracks; unknown numbers are ignored. -EINVAL for a level or tile outside
 * the timeline; out of memory is recorded in out. */
int ntk_timeline_tile_put(const struct ntk_timeline *timeline, unsigned level, uint64_t tile,
                          const uint32_t *tracks, size_t track_count, struct ntk_buf *out,
                          struct ntk_err *err);
struct ntk_timeline_recast;
/* Writes a tile with slices counted as another kind (timeline_pyramid.h). */
int ntk_timeline_tile_put_as(const struct ntk_timeline *timeline,
                             const struct ntk_timeline_recast *as, unsigned level, uint64_t tile,
                             const uint32_t *tracks, size_t track_count, struct ntk_buf *out,
                             struct ntk_err *err);
/* Writes all slices of all tracks in one tile of the top level. */
void ntk_timeline_tile_put_all(const struct ntk_timeline *timeline, struct ntk_buf *out);

#endif
