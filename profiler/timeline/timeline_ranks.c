/* SPDX-License-Identifier: MIT */
/* timeline_ranks - builds a row for each rank of a job with its activity, and one for the critical
 * path across them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "profiler/analysis/joined.h"
#include "profiler/timeline/timeline_build.h"
#include "profiler/trace/long_list.h"
#include "shared/base/fs.h"

/* Maximum distance from zero: times farther away than 3.6 days, the limit for ps, do not belong to
 * the run. */
#define FAR_NS (INT64_C(366) * 864 * 1000000000)
#define PATH_HEAP_BYTES ((size_t)16 << 20)

/* A period of the critical path on a rank. */
struct step {
    int64_t start_ns, end_ns;
    uint32_t rank;
};

struct making {
    struct ntk_timeline_build *build;
    uint64_t zero_ns;
    size_t rank_count;
    size_t *counts;             /* by rank: number of segments, later at most its slices */
    size_t *firsts, *at;        /* by rank: steps of the path, by time */
    struct ntk_long_list steps; /* from the last step to the first */
    struct step *of_ranks;      /* same steps, by rank and time */
    size_t track;               /* track of the first rank */
    uint16_t whats[NTK_JOINED_PART_COUNT][2]; /* off the path, and on the path */
    int ret;
};

static const char *const part_whats[NTK_JOINED_PART_COUNT] = {
    [NTK_JOINED_RUN] = "compute",
    [NTK_JOINED_HOST] = "host",
    [NTK_JOINED_WAIT] = "wait for the last rank",
    [NTK_JOINED_LINK] = "communicate",
    [NTK_JOINED_INSIDE] = "compute in a collective",
    [NTK_JOINED_UNKNOWN] = "unknown",
};

/* ---- counts ---- */

static int segment_count(size_t rank, enum ntk_joined_part part, int64_t start_ns, int64_t end_ns,
                         void *ctx)
{
    struct making *making = ctx;

    (void)part;
    (void)start_ns;
    (void)end_ns;
    making->counts[rank]++;
    return 0;
}

static int step_add(size_t rank, enum ntk_joined_part part, int64_t start_ns, int64_t end_ns,
                    void *ctx)
{
    struct making *making = ctx;
    int failed = 0;
    struct step *step = ntk_long_list_add(&making->steps, &failed);

    (void)part;
    if (!step) {
        return failed;
    }
    *step = (struct step){ start_ns, end_ns, (uint32_t)rank };
    return 0;
}

/* Sorts steps by rank, then time. */
static int steps_sort(struct making *making)
{
    const struct step *steps = making->steps.items;
    size_t first = 0;

    making->of_ranks = calloc(making->steps.count + 1, sizeof *making->of_ranks);
    if (!making->of_ranks) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < making->steps.count; i++) {
        making->firsts[steps[i].rank + 1]++;
    }
    for (size_t r = 0; r < making->rank_count; r++) {
        size_t count = making->firsts[r + 1];
        making->counts[r] += 2 * count + 1;
        making->at[r] = first;
        first += count;
        making->firsts[r + 1] = first;
    }
    for (size_t i = making->steps.count; i-- > 0;) {
        making->of_ranks[making->at[steps[i].rank]++] = steps[i];
    }
    for (size_t r = 0; r < making->rank_count; r++) {
        making->at[r] = making->firsts[r];
    }
    return 0;
}

/* ---- slices ---- */

static void slice_put(struct making *making, size_t track_index, int64_t start_ns, int64_t end_ns,
                      uint16_t what)
{
    struct ntk_timeline *timeline = making->build->timeline;
    struct ntk_timeline_track *track = ntk_vec_at(&timeline->tracks, track_index);
    int64_t start = start_ns - (int64_t)making->zero_ns;
    int64_t end = end_ns - (int64_t)making->zero_ns;

    if (end <= start || start < -FAR_NS || end > FAR_NS) {
        return;
    }
    struct ntk_timeline_slice *slice =
        ntk_timeline_add_slice(track, start * NTK_TRACE_PS_PER_NS, end * NTK_TRACE_PS_PER_NS,
                               track->slice_count % UINT32_MAX);
    slice->what = what;
    timeline->end_ps = slice->end_ps > timeline->end_ps ? slice->end_ps : timeline->end_ps;
    ntk_timeline_pass(track, track->slice_count, false);
}

/* Adds a segment, split where the path enters or leaves. */
static int segment_put(size_t rank, enum ntk_joined_part part, int64_t start_ns, int64_t end_ns,
                       void *ctx)
{
    struct making *making = ctx;
    size_t track = making->track + rank;
    size_t *at = &making->at[rank];

    while (start_ns < end_ns) {
        const struct step *step = NULL;

        while (*at < making->firsts[rank + 1] && making->of_ranks[*at].end_ns <= start_ns) {
            (*at)++;
        }
        if (*at < making->firsts[rank + 1] && making->of_ranks[*at].start_ns < end_ns) {
            step = &making->of_ranks[*at];
        }
        bool is_on_path = step && step->start_ns <= start_ns;
        int64_t until_ns = !step                   ? end_ns
                           : !is_on_path           ? step->start_ns
                           : step->end_ns < end_ns ? step->end_ns
                                                   : end_ns;
        slice_put(making, track, start_ns, until_ns, making->whats[part][is_on_path]);
        start_ns = until_ns;
    }
    return 0;
}

static int whats_make(struct making *making)
{
    for (unsigned p = 0; p < NTK_JOINED_PART_COUNT; p++) {
        for (int is_on_path = 0; is_on_path < 2; is_on_path++) {
            char name[64];
            uint16_t known = 0;

            (void)snprintf(name, sizeof name, "%s%s", part_whats[p],
                           is_on_path ? ", critical path" : "");
            if (ntk_timeline_what_of(making->build, &known, name, "rank",
                                     &making->whats[p][is_on_path]) < 0) {
                return -ENOMEM;
            }
        }
    }
    return 0;
}

/* Builds the row of the path: a slice for each period in which it stays on one rank. */
static int path_row(struct making *making, const struct ntk_joined *joined, uint32_t group)
{
    const struct step *steps = making->steps.items;
    struct ntk_timeline_track *track =
        ntk_timeline_add_track(making->build, NTK_TIMELINE_RANK, group, making->steps.count + 1);
    size_t index = making->build->timeline->tracks.count - 1;
    uint16_t *known = calloc(making->rank_count + 1, sizeof *known);
    int ret = track && known ? 0 : -ENOMEM;

    if (ret == 0) {
        (void)snprintf(track->name, sizeof track->name, "Critical path");
    }
    for (size_t i = making->steps.count; i > 0 && ret == 0;) {
        const struct step *first = &steps[--i];
        int64_t end_ns = first->end_ns;
        char name[32];
        uint16_t what = 0;

        for (; i > 0 && steps[i - 1].rank == first->rank && steps[i - 1].start_ns <= end_ns; i--) {
            end_ns = steps[i - 1].end_ns > end_ns ? steps[i - 1].end_ns : end_ns;
        }
        (void)snprintf(name, sizeof name, "rank %u", joined->ranks[first->rank].number);
        ret = ntk_timeline_what_of(making->build, &known[first->rank], name, "rank", &what);
        slice_put(making, index, first->start_ns, end_ns, what);
    }
    free(known);
    return ret;
}

static int rows_add(struct making *making, const struct ntk_joined *joined)
{
    uint32_t group = ntk_timeline_add_group(making->build, "Ranks", NTK_TIMELINE_NO_GROUP,
                                            NTK_TIMELINE_NO_SOURCE, false);
    int ret = group == NTK_TIMELINE_NO_GROUP ? -ENOMEM : whats_make(making);

    ret = ret ? ret : path_row(making, joined, group);
    making->track = making->build->timeline->tracks.count;
    for (size_t r = 0; r < making->rank_count && ret == 0; r++) {
        struct ntk_timeline_track *track =
            ntk_timeline_add_track(making->build, NTK_TIMELINE_RANK, group, making->counts[r]);

        if (!track) {
            return -ENOMEM;
        }
        (void)snprintf(track->name, sizeof track->name, "Rank %u", joined->ranks[r].number);
    }
    return ret;
}

int ntk_timeline_build_ranks(struct ntk_timeline_build *build, struct ntk_rank_list *list,
                             uint64_t zero_ns)
{
    struct making making = { .build = build, .zero_ns = zero_ns };
    struct ntk_joined_options options = { .segment = segment_count,
                                          .path = step_add,
                                          .ctx = &making };
    struct ntk_joined joined = { 0 };
    struct ntk_joined again = { 0 };
    size_t count = list->ranks.count;

    making.counts = calloc(count + 2, sizeof *making.counts);
    making.firsts = calloc(count + 2, sizeof *making.firsts);
    making.at = calloc(count + 2, sizeof *making.at);
    making.steps = (struct ntk_long_list){ .item_bytes = sizeof(struct step),
                                           .heap_bytes_max = PATH_HEAP_BYTES,
                                           .folder = ntk_fs_temporary_folder(),
                                           .fd = -1 };
    int ret = making.counts && making.firsts && making.at ? 0 : -ENOMEM;
    ret = ret ? ret : ntk_analysis_joined_list(list, &options, &joined);
    making.rank_count = joined.rank_count;
    if (ret == 0 && !joined.unknown && joined.rank_count > 1) {
        ret = steps_sort(&making);
        ret = ret ? ret : rows_add(&making, &joined);
        options.segment = segment_put;
        options.path = NULL;
        ret = ret ? ret : ntk_analysis_joined_list(list, &options, &again);
    }
    ntk_joined_fini(&again);
    ntk_joined_fini(&joined);
    ntk_long_list_fini(&making.steps);
    free(making.of_ranks);
    free(making.counts);
    free(making.firsts);
    free(making.at);
    return ret;
}
