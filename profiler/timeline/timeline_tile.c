/* SPDX-License-Identifier: MIT */
#include "profiler/timeline/timeline_tile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/timeline/timeline_pyramid.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "tiles are written in their memory layout");

static void put_head(struct ntk_buf *out, unsigned level, uint64_t tile, size_t track_count)
{
    struct ntk_timeline_tile_head head = { .magic = NTK_TIMELINE_TILE_MAGIC,
                                           .version = NTK_TIMELINE_TILE_VERSION,
                                           .level = (uint16_t)level,
                                           .tile = tile,
                                           .track_count = (uint32_t)track_count };

    ntk_buf_add(out, &head, sizeof head);
}

/* ---- slices ---- */

struct slices {
    const struct ntk_timeline *timeline;
    const struct ntk_timeline_track *track;
    const struct ntk_timeline_recast *as; /* NULL if slices keep their kinds */
    struct ntk_buf *out;
    size_t count, count_max;
};

static int put_slice(size_t index, const struct ntk_timeline_slice *slice, void *ctx)
{
    struct slices *slices = ctx;
    struct ntk_timeline_tile_slice entry = {
        .start_ps = (double)(slice->start_ps - slices->timeline->begin_ps),
        .end_ps = (double)(slice->end_ps - slices->timeline->begin_ps),
        .slice = (uint32_t)index,
        .value = ntk_timeline_slice_value(slices->track, slice),
        .what = slices->as ? slices->as->call(slices->track, slice, slices->as->ctx) : slice->what,
        .lane = slice->lane,
        .is_wait = slice->is_wait,
    };

    if (slices->count == slices->count_max) {
        return -E2BIG;
    }
    slices->count++;
    ntk_buf_add(slices->out, &entry, sizeof entry);
    return 0;
}

/* Writes slices; returns false, with nothing written, if there are too many. */
static bool put_slices(const struct ntk_timeline *timeline, const struct ntk_timeline_recast *as,
                       uint32_t index, int64_t from_ps, int64_t to_ps, size_t count_max,
                       struct ntk_buf *out)
{
    const struct ntk_timeline_track *track = ntk_timeline_track_get(timeline, index);
    size_t section_at = out->bytes_count;
    struct ntk_timeline_tile_section section = { .track = index, .form = NTK_TIMELINE_FORM_SLICES };
    struct slices slices = { timeline, track, as, out, 0, count_max };

    if (track->kind == NTK_TIMELINE_RATE ||
        ntk_timeline_slices_begin_count(track, from_ps, to_ps) > count_max) {
        return false;
    }
    ntk_buf_add(out, &section, sizeof section);
    if (ntk_timeline_slices_each(track, from_ps, to_ps, put_slice, &slices) < 0) {
        out->bytes_count = section_at;
        return false;
    }
    section.entry_count = (uint32_t)slices.count;
    if (ntk_buf_ok(out)) {
        memcpy(out->bytes + section_at, &section, sizeof section);
    }
    return true;
}

/* ---- buckets ---- */

/* Temporary data for converting one row to buckets. */
struct scratch {
    struct ntk_timeline_node nodes[NTK_TIMELINE_TILE_BUCKETS];
    struct ntk_timeline_tile_bucket buckets[NTK_TIMELINE_TILE_BUCKETS];
};

static void put_bucket_section(uint32_t index, const struct ntk_timeline_tile_bucket *buckets,
                               size_t count, struct ntk_buf *out)
{
    struct ntk_timeline_tile_section section = { .track = index,
                                                 .form = NTK_TIMELINE_FORM_BUCKETS,
                                                 .entry_count = (uint32_t)count };

    ntk_buf_add(out, &section, sizeof section);
    ntk_buf_add(out, buckets, count * sizeof *buckets);
}

static void put_buckets(const struct ntk_timeline *timeline, const struct ntk_timeline_recast *as,
                        uint32_t index, unsigned level, uint64_t tile, struct scratch *scratch,
                        struct ntk_buf *out)
{
    const struct ntk_timeline_track *track = ntk_timeline_track_get(timeline, index);
    size_t count = 0;

    if (as) {
        ntk_timeline_pyramid_read_as(track, as, timeline->begin_ps, level, tile, scratch->nodes);
    } else {
        ntk_timeline_pyramid_read(track, timeline->begin_ps, level, tile, scratch->nodes);
    }
    for (size_t i = 0; i < NTK_TIMELINE_TILE_BUCKETS; i++) {
        const struct ntk_timeline_node *node = &scratch->nodes[i];
        if (node->count == 0 && node->vote_ps == 0.0F && node->busy_ps == 0.0F) {
            continue;
        }
        scratch->buckets[count] = (struct ntk_timeline_tile_bucket){
            .index = (uint16_t)i,
            .what = node->what,
            .count = node->count,
            .mean = (float)ntk_timeline_node_mean(node, level),
            .extra = ntk_timeline_is_value(track) ? node->vote_ps : node->sum,
        };
        count++;
    }
    put_bucket_section(index, scratch->buckets, count, out);
}

/* Writes the rate of a core; the queues of the core directly precede it. */
static void put_rate(const struct ntk_timeline *timeline, uint32_t index, unsigned level,
                     uint64_t tile, struct scratch *scratch, struct ntk_buf *out)
{
    const struct ntk_timeline_track *rate = ntk_timeline_track_get(timeline, index);
    double seconds = (double)(UINT64_C(1) << level) * 1e-12;
    double sums[NTK_TIMELINE_TILE_BUCKETS] = { 0.0 };
    size_t count = 0;

    for (size_t t = index; t-- > 0;) {
        const struct ntk_timeline_track *track = ntk_timeline_track_get(timeline, t);
        if (track->kind != NTK_TIMELINE_QUEUE || track->core != rate->core) {
            break;
        }
        ntk_timeline_pyramid_read(track, timeline->begin_ps, level, tile, scratch->nodes);
        for (size_t i = 0; i < NTK_TIMELINE_TILE_BUCKETS; i++) {
            sums[i] += scratch->nodes[i].sum;
        }
    }
    for (size_t i = 0; i < NTK_TIMELINE_TILE_BUCKETS; i++) {
        if (sums[i] > 0.0) {
            scratch->buckets[count] =
                (struct ntk_timeline_tile_bucket){ .index = (uint16_t)i,
                                                   .mean = (float)(sums[i] / seconds) };
            count++;
        }
    }
    put_bucket_section(index, scratch->buckets, count, out);
}

/* ---- tiles ---- */

int ntk_timeline_tile_put(const struct ntk_timeline *timeline, unsigned level, uint64_t tile,
                          const uint32_t *tracks, size_t track_count, struct ntk_buf *out,
                          struct ntk_err *err)
{
    return ntk_timeline_tile_put_as(timeline, NULL, level, tile, tracks, track_count, out, err);
}

int ntk_timeline_tile_put_as(const struct ntk_timeline *timeline,
                             const struct ntk_timeline_recast *as, unsigned level, uint64_t tile,
                             const uint32_t *tracks, size_t track_count, struct ntk_buf *out,
                             struct ntk_err *err)
{
    uint64_t span = (uint64_t)(timeline->end_ps - timeline->begin_ps);
    unsigned top = ntk_timeline_level_top((int64_t)span);
    unsigned shift = level + NTK_TIMELINE_TILE_SHIFT;

    if (level > top) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "unknown level %u: the coarsest is %u",
                           level, top);
    }
    if (tile > span >> shift) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "unknown tile %" PRIu64 " of level %u: the last is %" PRIu64, tile,
                           level, span >> shift);
    }
    int64_t from_ps = timeline->begin_ps + (int64_t)(tile << shift);
    int64_t to_ps = from_ps + (int64_t)(UINT64_C(1) << shift);
    size_t head_at = out->bytes_count;
    size_t count = 0;
    struct scratch *scratch = malloc(sizeof *scratch);
    if (!scratch) {
        out->failed = true;
        return 0;
    }
    put_head(out, level, tile, track_count);
    for (size_t i = 0; i < track_count && ntk_buf_ok(out); i++) {
        if (tracks[i] >= timeline->tracks.count) {
            continue;
        }
        count++;
        if (ntk_timeline_track_get(timeline, tracks[i])->kind == NTK_TIMELINE_RATE) {
            put_rate(timeline, tracks[i], level, tile, scratch, out);
        } else if (!put_slices(timeline, as, tracks[i], from_ps, to_ps, NTK_TIMELINE_TILE_SLICES,
                               out)) {
            put_buckets(timeline, as, tracks[i], level, tile, scratch, out);
        }
    }
    if (ntk_buf_ok(out)) {
        uint32_t found = (uint32_t)count;
        memcpy(out->bytes + head_at + offsetof(struct ntk_timeline_tile_head, track_count), &found,
               sizeof found);
    }
    free(scratch);
    return 0;
}

void ntk_timeline_tile_put_all(const struct ntk_timeline *timeline, struct ntk_buf *out)
{
    size_t count = 0;

    for (size_t t = 0; t < timeline->tracks.count; t++) {
        count += ntk_timeline_track_get(timeline, t)->slice_count > 0;
    }
    put_head(out, ntk_timeline_level_top(timeline->end_ps - timeline->begin_ps), 0, count);
    for (size_t t = 0; t < timeline->tracks.count; t++) {
        if (ntk_timeline_track_get(timeline, t)->slice_count > 0) {
            (void)put_slices(timeline, NULL, (uint32_t)t, timeline->begin_ps, INT64_MAX, SIZE_MAX,
                             out);
        }
    }
}
