/* SPDX-License-Identifier: MIT */
#include "profiler/timeline/timeline_pyramid.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/bisect.h"

/* Factor by which waiting counts less than work in a bucket. */
#define WAIT_VOTE 1024.0F

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

unsigned ntk_timeline_level_top(int64_t span_ps)
{
    unsigned level = 0;

    while (level < NTK_TIMELINE_LEVEL_MAX &&
           (uint64_t)span_ps > UINT64_C(1) << (level + NTK_TIMELINE_TILE_SHIFT)) {
        level++;
    }
    return level;
}

/* ---- filling buckets ------------------------------------------------------------------------- */

/* A series of adjacent buckets to which slices are added in order of start. */
struct fill {
    const struct ntk_timeline_track *track;
    int64_t begin_ps; /* start of bucket 0 */
    unsigned level;
    size_t node_count;
    struct ntk_timeline_node *nodes;
    int64_t busy_until_ps;
};

static void fill_init(struct fill *fill, const struct ntk_timeline_track *track, int64_t begin_ps,
                      unsigned level, size_t node_count, struct ntk_timeline_node *nodes)
{
    *fill = (struct fill){ .track = track,
                           .begin_ps = begin_ps,
                           .level = level,
                           .node_count = node_count,
                           .nodes = nodes };
    fill->busy_until_ps = INT64_MIN;
}

static void vote(struct ntk_timeline_node *node, uint16_t what, float weight)
{
    if (node->what == what || node->vote_ps < weight) {
        node->vote_ps = node->what == what ? node->vote_ps + weight : weight - node->vote_ps;
        node->what = what;
    } else {
        node->vote_ps -= weight;
    }
}

/* Notes a value over time, which is shown as the slice with the largest value, the last of
 * several. */
static void largest(struct ntk_timeline_node *node, uint16_t what, float value)
{
    if (value >= node->vote_ps) {
        node->vote_ps = value;
        node->what = what;
    }
}

static struct ntk_timeline_node *node_at(const struct fill *fill, int64_t time_ps)
{
    size_t index = time_ps < fill->begin_ps
                       ? SIZE_MAX
                       : (size_t)((uint64_t)(time_ps - fill->begin_ps) >> fill->level);

    return index < fill->node_count ? &fill->nodes[index] : NULL;
}

/* Visits the buckets between start and end, with the part of the time in each: at is INT64_MIN
 * before the first. Returns NULL after the last. */
static struct ntk_timeline_node *next_node(const struct fill *fill, int64_t start_ps,
                                           int64_t end_ps, int64_t *at_ps, float *out_ps)
{
    if (*at_ps == INT64_MIN) {
        *at_ps = start_ps > fill->begin_ps ? start_ps : fill->begin_ps;
    }
    struct ntk_timeline_node *node = *at_ps < end_ps ? node_at(fill, *at_ps) : NULL;
    if (node) {
        int64_t next =
            fill->begin_ps + (int64_t)((uint64_t)(node - fill->nodes + 1) << fill->level);
        next = next < end_ps ? next : end_ps;
        *out_ps = (float)(next - *at_ps);
        *at_ps = next;
    }
    return node;
}

/* Adds the time from start to end, which belongs to the slice alone in its lane. */
static void fill_time(struct fill *fill, const struct ntk_timeline_slice *slice, int64_t start_ps,
                      int64_t end_ps, double value)
{
    struct ntk_timeline_node *node = NULL;
    int64_t at = INT64_MIN;

    for (float ps = 0.0F; (node = next_node(fill, start_ps, end_ps, &at, &ps));) {
        if (ntk_timeline_is_value(fill->track)) {
            node->busy_ps += ps * (float)value;
            largest(node, slice->what, (float)value);
        } else if (slice->is_wait) {
            /* shown only if the bucket has no other content */
            vote(node, slice->what, ps / WAIT_VOTE);
        } else {
            node->busy_ps += ps;
            vote(node, slice->what, ps);
        }
    }
}

/* Adds bytes of a packet over all its time, because the engines of a queue work in parallel. */
static void fill_bytes(struct fill *fill, const struct ntk_timeline_slice *slice)
{
    double bytes = ntk_timeline_slice_value(fill->track, slice);
    struct ntk_timeline_node *node = NULL;
    int64_t at = INT64_MIN;

    if (slice->end_ps <= slice->start_ps) {
        node = node_at(fill, slice->start_ps);
        if (node) {
            node->sum += (float)bytes;
        }
        return;
    }
    for (float ps = 0.0F; (node = next_node(fill, slice->start_ps, slice->end_ps, &at, &ps));) {
        node->sum += (float)(ps * bytes / (double)(slice->end_ps - slice->start_ps));
    }
}

static void fill_add(struct fill *fill, const struct ntk_timeline_slice *slice)
{
    int64_t *busy_until = &fill->busy_until_ps;
    int64_t start = slice->start_ps > *busy_until ? slice->start_ps : *busy_until;
    double value = 0.0;

    if (ntk_timeline_is_value(fill->track)) {
        value = ntk_timeline_slice_value(fill->track, slice);
    } else if (fill->track->kind == NTK_TIMELINE_QUEUE) {
        fill_bytes(fill, slice);
    }
    fill_time(fill, slice, start, slice->end_ps, value);
    if (!slice->is_wait && slice->end_ps > *busy_until) {
        *busy_until = slice->end_ps;
    }
    struct ntk_timeline_node *node = node_at(fill, slice->start_ps);
    if (node) {
        if (node->count == 0 && node->vote_ps == 0.0F) {
            node->what = slice->what; /* instants in a bucket without other slices */
        }
        if (fill->track->kind == NTK_TIMELINE_ENGINE) {
            node->sum += (float)ntk_timeline_slice_value(fill->track, slice);
        }
        node->count += node->count < UINT32_MAX;
        if (ntk_timeline_is_value(fill->track)) {
            largest(node, slice->what, (float)value);
        }
    }
}

/* ---- the pyramid ----------------------------------------------------------------------------- */

static void merge(const struct ntk_timeline_track *track, struct ntk_timeline_node *to,
                  const struct ntk_timeline_node *from)
{
    to->busy_ps += from->busy_ps;
    to->sum += from->sum;
    to->count = from->count > UINT32_MAX - to->count ? UINT32_MAX : to->count + from->count;
    if (ntk_timeline_is_value(track)) {
        if (from->vote_ps > 0.0F || from->count > 0) {
            largest(to, from->what, from->vote_ps);
        }
    } else if (to->vote_ps == 0.0F && (from->vote_ps > 0.0F || from->count > 0)) {
        to->vote_ps = from->vote_ps;
        to->what = from->what;
    } else {
        vote(to, from->what, from->vote_ps);
    }
}

/* Returns a level so fine that a bucket has few slices on average, and never coarser than one
 * tile. */
static unsigned finest_level(const struct ntk_timeline_track *track, unsigned top)
{
    size_t wanted = track->slice_count / NTK_TIMELINE_SLICES_PER_BUCKET;
    unsigned level = top;

    for (size_t buckets = NTK_TIMELINE_TILE_BUCKETS; level > 0 && buckets < wanted; buckets *= 2) {
        level--;
    }
    return level;
}

static int build_blocks(struct ntk_timeline_track *track)
{
    size_t count = (track->slice_count + NTK_TIMELINE_BLOCK - 1) / NTK_TIMELINE_BLOCK;

    track->pyramid.block_end_ps = malloc((count + 1) * sizeof(int64_t));
    if (!track->pyramid.block_end_ps) {
        return -ENOMEM;
    }
    for (size_t b = 0; b < count; b++) {
        int64_t end_ps = INT64_MIN;
        size_t last = min_size((b + 1) * NTK_TIMELINE_BLOCK, track->slice_count);
        for (size_t i = b * NTK_TIMELINE_BLOCK; i < last; i++) {
            end_ps = track->slices[i].end_ps > end_ps ? track->slices[i].end_ps : end_ps;
            ntk_timeline_pass(track, i, false);
        }
        track->pyramid.block_end_ps[b] = end_ps;
    }
    return 0;
}

int ntk_timeline_pyramid_build(struct ntk_timeline_track *track, struct ntk_spill *spill,
                               int64_t begin_ps, int64_t end_ps)
{
    struct ntk_timeline_pyramid *pyramid = &track->pyramid;
    unsigned top = ntk_timeline_level_top(end_ps - begin_ps);

    pyramid->first = finest_level(track, top);
    pyramid->levels = calloc(top - pyramid->first + 1, sizeof *pyramid->levels);
    if (!pyramid->levels || build_blocks(track) < 0) {
        return -ENOMEM;
    }
    pyramid->level_count = top - pyramid->first + 1;
    for (size_t l = 0; l < pyramid->level_count; l++) {
        struct ntk_timeline_level *level = &pyramid->levels[l];
        unsigned shift = pyramid->first + (unsigned)l;
        level->node_count = (size_t)(((uint64_t)(end_ps - begin_ps) >> shift) + 1);
        level->nodes = ntk_spill_take(spill, level->node_count, sizeof *level->nodes);
        if (!level->nodes) {
            return spill->failed;
        }
        if (l == 0) {
            struct fill fill;
            fill_init(&fill, track, begin_ps, shift, level->node_count, level->nodes);
            for (size_t i = 0; i < track->slice_count; i++) {
                fill_add(&fill, &track->slices[i]);
                ntk_timeline_pass(track, i, false);
            }
        } else {
            const struct ntk_timeline_level *finer = &pyramid->levels[l - 1];
            for (size_t i = 0; i < finer->node_count; i++) {
                merge(track, &level->nodes[i / 2], &finer->nodes[i]);
            }
        }
    }
    return 0;
}

void ntk_timeline_pyramid_fini(struct ntk_timeline_pyramid *pyramid)
{
    free(pyramid->levels);
    free(pyramid->block_end_ps);
    memset(pyramid, 0, sizeof *pyramid);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Returns the first slice that starts at or after the time. */
static size_t lower_bound(const struct ntk_timeline_track *track, int64_t time_ps)
{
    size_t low = 0;

    NTK_BISECT(low, track->slice_count, i, track->slices[i].start_ps < time_ps);
    return low;
}

size_t ntk_timeline_slices_begin_count(const struct ntk_timeline_track *track, int64_t from_ps,
                                       int64_t to_ps)
{
    return from_ps < to_ps ? lower_bound(track, to_ps) - lower_bound(track, from_ps) : 0;
}

int ntk_timeline_slices_each(const struct ntk_timeline_track *track, int64_t from_ps, int64_t to_ps,
                             int (*call)(size_t index, const struct ntk_timeline_slice *slice,
                                         void *ctx),
                             void *ctx)
{
    size_t first = lower_bound(track, from_ps);
    int ret = 0;

    /* Visit earlier slices that are still running: they are in blocks with an end after `from`. */
    for (size_t b = 0; b * NTK_TIMELINE_BLOCK < first && ret >= 0; b++) {
        if (track->pyramid.block_end_ps[b] <= from_ps) {
            continue;
        }
        size_t last = min_size((b + 1) * NTK_TIMELINE_BLOCK, first);
        for (size_t i = b * NTK_TIMELINE_BLOCK; i < last && ret >= 0; i++) {
            if (track->slices[i].end_ps > from_ps) {
                ret = call(i, &track->slices[i], ctx);
            }
        }
    }
    for (size_t i = first; i < track->slice_count && track->slices[i].start_ps < to_ps && ret >= 0;
         i++) {
        ret = call(i, &track->slices[i], ctx);
        ntk_timeline_pass(track, i, false);
    }
    return ret < 0 ? ret : 0;
}

/* A fill, with the kinds that slices count as; NULL if unchanged. */
struct filling {
    struct fill fill;
    const struct ntk_timeline_recast *as;
};

static int fill_call(size_t index, const struct ntk_timeline_slice *slice, void *ctx)
{
    struct filling *filling = ctx;
    struct ntk_timeline_slice one = *slice;

    (void)index;
    if (filling->as) {
        one.what = filling->as->call(filling->fill.track, slice, filling->as->ctx);
    }
    fill_add(&filling->fill, &one);
    return 0;
}

void ntk_timeline_pyramid_read_as(const struct ntk_timeline_track *track,
                                  const struct ntk_timeline_recast *as, int64_t begin_ps,
                                  unsigned level, uint64_t tile,
                                  struct ntk_timeline_node *out_nodes)
{
    struct filling filling = { .as = as };
    int64_t from_ps = begin_ps + (int64_t)((tile << NTK_TIMELINE_TILE_SHIFT) << level);
    int64_t to_ps = from_ps + (int64_t)(UINT64_C(1) << (level + NTK_TIMELINE_TILE_SHIFT));

    memset(out_nodes, 0, NTK_TIMELINE_TILE_BUCKETS * sizeof *out_nodes);
    fill_init(&filling.fill, track, from_ps, level, NTK_TIMELINE_TILE_BUCKETS, out_nodes);
    (void)ntk_timeline_slices_each(track, from_ps, to_ps, fill_call, &filling);
}

void ntk_timeline_pyramid_read(const struct ntk_timeline_track *track, int64_t begin_ps,
                               unsigned level, uint64_t tile, struct ntk_timeline_node *out_nodes)
{
    const struct ntk_timeline_pyramid *pyramid = &track->pyramid;
    uint64_t first = tile << NTK_TIMELINE_TILE_SHIFT;

    if (level < pyramid->first) {
        ntk_timeline_pyramid_read_as(track, NULL, begin_ps, level, tile, out_nodes);
        return;
    }
    memset(out_nodes, 0, NTK_TIMELINE_TILE_BUCKETS * sizeof *out_nodes);
    if (level - pyramid->first >= pyramid->level_count) {
        return;
    }
    const struct ntk_timeline_level *stored = &pyramid->levels[level - pyramid->first];
    if (first < stored->node_count) {
        memcpy(out_nodes, &stored->nodes[first],
               min_size(stored->node_count - first, NTK_TIMELINE_TILE_BUCKETS) * sizeof *out_nodes);
    }
}

double ntk_timeline_node_mean(const struct ntk_timeline_node *node, unsigned level)
{
    double width_ps = (double)(UINT64_C(1) << level);

    return node->busy_ps / width_ps;
}
