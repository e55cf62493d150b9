/* SPDX-License-Identifier: MIT */
/*
 * How fast the timeline server answers while a user zooms and moves over ten million slices: the
 * tiles of a window at every zoom level, at random places, compared with one pass over every slice.
 * Also the statistics of random ranges.
 */
#include <stdio.h>
#include <stdlib.h>

#include "profiler/timeline/timeline_answer.h"
#include "profiler/timeline/timeline_pyramid.h"
#include "profiler/timeline/timeline_tile.h"
#include "tests/bench/rounds.h"
#include "tests/support/trace_sample.h"

#define SLICES ROUNDS_SIZE(10000000, 100000)
#define ROWS 4 /* of the sample */
#define ROUND_COUNT 5
#define WINDOWS_PER_LEVEL 20
#define SCREEN_TILES 3 /* a screen overlaps at most two whole tiles and a part of a third */
#define TARGET_MS 16.0

static struct ntk_timeline *timeline;
static uint32_t *tracks;
static size_t track_count;
static unsigned top_level;
static struct ntk_buf out;
static uint64_t sink;

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t tiles_of(unsigned level)
{
    return ((uint64_t)(timeline->end_ps - timeline->begin_ps) >> level) /
               NTK_TIMELINE_TILE_BUCKETS +
           1;
}

/* ns for the tiles of one window, all rows. */
static uint64_t window(unsigned level, uint64_t first)
{
    uint64_t count = tiles_of(level);
    uint64_t begin = rounds_cpu_ns();

    for (uint64_t tile = first; tile < first + SCREEN_TILES && tile < count; tile++) {
        struct ntk_err err = { 0 };
        ntk_buf_reset(&out);
        rounds_require(
            ntk_timeline_tile_put(timeline, level, tile, tracks, track_count, &out, &err) == 0,
            err.text);
        sink += out.bytes_count;
    }
    return rounds_cpu_ns() - begin;
}

static double look_at_all(void *ctx)
{
    uint64_t begin = rounds_cpu_ns();

    (void)ctx;
    for (size_t t = 0; t < timeline->tracks.count; t++) {
        const struct ntk_timeline_track *track = ntk_timeline_track_get(timeline, t);
        for (size_t s = 0; s < track->slice_count; s++) {
            sink += (uint64_t)(track->slices[s].end_ps - track->slices[s].start_ps);
        }
    }
    return (double)(rounds_cpu_ns() - begin);
}

static double worst_ns;
static unsigned worst_level;

/* Returns the mean over all windows and levels; worst_ns is the slowest window of all rounds. */
static double windows(void *ctx)
{
    static uint64_t state = 1;
    uint64_t sum_ns = 0;
    unsigned count = 0;

    (void)ctx;
    for (unsigned level = 0; level <= top_level; level++) {
        for (int i = 0; i < WINDOWS_PER_LEVEL; i++) {
            uint64_t ns = window(level, draw(&state) % tiles_of(level));
            sum_ns += ns;
            count++;
            if ((double)ns > worst_ns) {
                worst_ns = (double)ns;
                worst_level = level;
            }
        }
    }
    return (double)sum_ns / count;
}

static double statistics(void *ctx)
{
    static uint64_t state = 2;
    uint64_t length_ps = (uint64_t)(timeline->end_ps - timeline->begin_ps);
    uint64_t begin = rounds_cpu_ns();

    (void)ctx;
    for (int i = 0; i < WINDOWS_PER_LEVEL; i++) {
        int64_t from_ps = (int64_t)(draw(&state) % length_ps);
        int64_t to_ps = from_ps + 1 + (int64_t)(draw(&state) % (length_ps - (uint64_t)from_ps));
        ntk_buf_reset(&out);
        rounds_require(ntk_timeline_put_stats(timeline, from_ps, to_ps, &out) == 0,
                       "no statistics");
    }
    return (double)(rounds_cpu_ns() - begin) / WINDOWS_PER_LEVEL;
}

int main(int argc, char **argv)
{
    struct trace_sample *sample = trace_sample_create(SLICES / ROWS);
    struct ntk_timeline_source source = { .trace = &sample->trace, .name = "sample" };
    struct rounds_subject subjects[] = {
        { .name = "one read of every slice", .measure = look_at_all },
        { .name = "tiles of a window", .measure = windows },
        { .name = "statistics of a range", .measure = statistics },
    };

    rounds_options(argc, argv);
    rounds_require(
        ntk_timeline_create(&(struct ntk_timeline_options){ .sources = &source, .source_count = 1 },
                            &timeline, NULL) == 0,
        "no timeline");
    track_count = timeline->tracks.count;
    tracks = calloc(track_count, sizeof *tracks);
    rounds_require(tracks != NULL, "no memory");
    for (size_t t = 0; t < track_count; t++) {
        tracks[t] = (uint32_t)t;
    }
    while (tiles_of(top_level) > 1) {
        top_level++;
    }
    rounds_run(subjects, 3, ROUND_COUNT);
    for (int i = 0; i < 3; i++) {
        rounds_print(&subjects[i], "ns");
    }
    rounds_print_value("slices", (double)timeline->slice_count, "", 0, 0);
    rounds_print_value("worst window: level of zoom", worst_level, "", 0, 0);
    rounds_print_value("worst window", worst_ns / 1e6, "ms", TARGET_MS, 0);
    rounds_print_ratio("a window / every slice", &subjects[1], &subjects[0], 0.1);
    free(tracks);
    ntk_buf_fini(&out);
    ntk_timeline_destroy(timeline);
    trace_sample_destroy(sample);
    return rounds_result();
}
