/* SPDX-License-Identifier: MIT */
#include "profiler/timeline/timeline_counters.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "profiler/analysis/counters.h"
#include "profiler/timeline/timeline_regions.h"

struct point {
    int64_t time_ps;
    double value;
};

struct series {
    struct ntk_long_list points; /* elements are struct point */
    double most;
    uint16_t what; /* what + 1; 0 if none yet */
};

struct ntk_timeline_counters {
    const struct ntk_trace *trace;
    size_t source, core_index;
    struct ntk_transfers transfers;
    struct ntk_counters counters;
    struct series series[NTK_COUNTER_COUNT];
    uint32_t group, banks; /* NTK_TIMELINE_NO_GROUP if the group has no row */
};

/* Records the failure of a list. */
static int fail(struct ntk_timeline_build *build, const struct ntk_trace *trace, int ret)
{
    struct ntk_spill *spill = &build->timeline->spill;

    if (ret < 0 && ret != -ENOMEM && !spill->failed) {
        spill->failed = ntk_long_list_err_set(&spill->err, ret, ntk_trace_folder_get(trace));
    }
    return ret;
}

int ntk_timeline_counters_create(struct ntk_timeline_build *build, size_t source,
                                 struct ntk_timeline_counters **out_counters)
{
    const struct ntk_timeline_regions *regions = build->timeline->regions[source];
    struct ntk_timeline_counters *made = calloc(1, sizeof *made);

    if (!made) {
        return -ENOMEM;
    }
    made->trace = build->timeline->sources[source].trace;
    made->source = source;
    for (unsigned c = 0; c < NTK_COUNTER_COUNT; c++) {
        ntk_long_list_init(&made->series[c].points, made->trace, sizeof(struct point),
                           NTK_COUNTER_COUNT);
    }
    int ret = ntk_transfers_init(&made->transfers, regions->program);
    if (ret < 0) {
        ntk_timeline_counters_destroy(made);
        return fail(build, build->timeline->sources[source].trace, ret);
    }
    ntk_counters_init(&made->counters, &made->transfers);
    *out_counters = made;
    return 0;
}

void ntk_timeline_counters_destroy(struct ntk_timeline_counters *counters)
{
    for (unsigned c = 0; counters && c < NTK_COUNTER_COUNT; c++) {
        ntk_long_list_fini(&counters->series[c].points);
    }
    if (counters) {
        ntk_transfers_fini(&counters->transfers);
    }
    free(counters);
}

static int add_point(void *ctx, enum ntk_counter counter, int64_t time_ps, double value)
{
    struct ntk_timeline_counters *counters = ctx;
    struct series *series = &counters->series[counter];
    int ret = 0;
    struct point *last = series->points.items;
    struct point *point = NULL;

    last = series->points.count ? last + series->points.count - 1 : NULL;
    /* of several values at the same time, the last one is used */
    if (last && last->time_ps == time_ps) {
        point = last;
    } else {
        point = ntk_long_list_add(&series->points, &ret);
    }
    if (point) {
        *point = (struct point){ time_ps, value };
        series->most = value > series->most ? value : series->most;
    }
    if (series->points.count % NTK_TRACE_LOOKS == 0) {
        ntk_long_list_give_back(&series->points);
    }
    return ret;
}

int ntk_timeline_counters_read(struct ntk_timeline_build *build,
                               struct ntk_timeline_counters *counters, size_t core_index,
                               uint32_t parent)
{
    counters->core_index = core_index;
    counters->group = counters->banks = NTK_TIMELINE_NO_GROUP;
    for (unsigned c = 0; c < NTK_COUNTER_COUNT; c++) {
        counters->series[c].points.count = 0;
        counters->series[c].most = 0;
    }
    int ret = ntk_analysis_counters(&counters->counters, core_index, add_point, counters);
    if (ret < 0) {
        return fail(build, counters->trace, ret);
    }
    for (unsigned c = 0; c < NTK_COUNTER_COUNT; c++) {
        if (counters->series[c].points.count == 0) {
            continue;
        }
        if (counters->group == NTK_TIMELINE_NO_GROUP) {
            counters->group = ntk_timeline_add_group(build, "Counters", parent,
                                                     (uint32_t)counters->source, false);
        }
        if (ntk_counter_is_bank(c) && counters->banks == NTK_TIMELINE_NO_GROUP) {
            counters->banks = ntk_timeline_add_group(build, "PSUM banks", counters->group,
                                                     (uint32_t)counters->source, true);
        }
        if (counters->group == NTK_TIMELINE_NO_GROUP ||
            (ntk_counter_is_bank(c) && counters->banks == NTK_TIMELINE_NO_GROUP)) {
            return -ENOMEM;
        }
    }
    return 0;
}

/* Returns the power of ten that gives the largest value the most digits; 1 for whole numbers, which
 * fit. */
static double scale_of(const struct series *series, bool is_whole)
{
    double scale = 1;

    if (!is_whole && series->most > 0) {
        scale = pow(10, ceil(log10(series->most / (double)UINT32_MAX)));
    }
    return scale;
}

static uint32_t scaled(double value, double scale)
{
    double number = value / scale + 0.5;

    return number >= (double)UINT32_MAX ? UINT32_MAX : number > 0 ? (uint32_t)number : 0;
}

static int build_track(struct ntk_timeline_build *build, struct ntk_timeline_counters *counters,
                       unsigned counter, int64_t offset_ps, int64_t end_ps)
{
    const struct ntk_counter_info *info = ntk_counter_info_get(counter);
    struct series *series = &counters->series[counter];
    const struct point *points = series->points.items;
    size_t count = series->points.count;
    struct ntk_timeline_track *track = ntk_timeline_add_track(
        build, NTK_TIMELINE_COUNTER,
        ntk_counter_is_bank(counter) ? counters->banks : counters->group, count);

    if (!track) {
        return -ENOMEM;
    }
    track->values = ntk_spill_take(&build->timeline->spill, count, sizeof *track->values);
    if (!track->values) {
        return -ENOMEM;
    }
    track->core = &counters->trace->cores[counters->core_index];
    track->unit = info->unit;
    track->help = info->help;
    track->scale = scale_of(series, info->is_whole);
    track->value_max = scaled(series->most, track->scale);
    (void)snprintf(track->name, sizeof track->name, "%s", info->name);
    for (size_t i = 0; i < count; i++) {
        int64_t from_ps = points[i].time_ps + offset_ps;
        int64_t to_ps = i + 1 < count ? points[i + 1].time_ps + offset_ps : end_ps;
        from_ps = from_ps < end_ps ? from_ps : end_ps;
        struct ntk_timeline_slice *slice =
            ntk_timeline_add_slice(track, from_ps, to_ps < end_ps ? to_ps : end_ps, i);
        track->values[i] = scaled(points[i].value, track->scale);
        if (ntk_timeline_what_of(build, &series->what, info->name, "counter", &slice->what) < 0) {
            return -ENOMEM;
        }
        if (i % NTK_TRACE_LOOKS == 0) {
            ntk_long_list_give_back(&series->points);
        }
    }
    return 0;
}

int ntk_timeline_counters_build(struct ntk_timeline_build *build,
                                struct ntk_timeline_counters *counters, int64_t offset_ps,
                                int64_t end_ps)
{
    int ret = 0;

    for (unsigned c = 0; c < NTK_COUNTER_COUNT && ret == 0; c++) {
        if (counters->series[c].points.count) {
            ret = build_track(build, counters, c, offset_ps, end_ps);
        }
    }
    return ret;
}
