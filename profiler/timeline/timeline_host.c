/* SPDX-License-Identifier: MIT */
/* timeline_host - builds rows of one inspected process: its threads, its cores as seen by the host,
 * its memory. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/memory_use.h"
#include "profiler/timeline/timeline_build.h"

#define THREADS_MAX 4096
/* Maximum distance from zero: times farther away than ten years do not belong to the run. */
#define FAR_NS (INT64_C(10) * 366 * 86400 * 1000000000)
#define KIB 1024

struct place {
    struct ntk_timeline_build *build;
    const struct ntk_timeline_host *host;
    uint32_t group;
};

/* Converts a time; returns false if it does not belong to this run. Ten years of ps exceed 63 bits,
 * so far spans are omitted. */
static bool ps_of(const struct place *place, uint64_t time_ns, int64_t *out_ps)
{
    int64_t ns = (int64_t)(time_ns - place->host->zero_ns);

    if (ns > FAR_NS / 1000 || ns < -FAR_NS / 1000) {
        return false;
    }
    *out_ps = ns * NTK_TRACE_PS_PER_NS;
    return true;
}

static int what_of_type(struct ntk_timeline_build *build, const char *type, uint16_t *out_what)
{
    uint16_t known = (uint16_t)(uintptr_t)ntk_map_get(&build->types, type);
    bool is_new = known == 0;
    int ret = ntk_timeline_what_of(build, &known, type, "host", out_what);

    return ret == 0 && is_new ? ntk_map_put(&build->types, type, (void *)(uintptr_t)known) : ret;
}

/* ---- spans ----------------------------------------------------------------------------------- */

/* Returns the key of a span's row: a thread, or a core for core activity. */
static uint64_t row_key(const struct ntk_system_span *span)
{
    return ntk_system_type_is_hardware(span->type) ? UINT64_C(1) << 32 | span->nc : span->thread_id;
}

static int add_row(struct place *place, struct ntk_map *rows, uint64_t key, size_t span_count)
{
    struct ntk_timeline_track *track =
        rows->count < THREADS_MAX
            ? ntk_timeline_add_track(place->build, NTK_TIMELINE_HOST, place->group, span_count)
            : NULL;

    if (!track) {
        return rows->count < THREADS_MAX ? -ENOMEM : 0;
    }
    track->host = place->host->trace;
    (void)snprintf(track->name, sizeof track->name, key >> 32 ? "NC %u on the device" : "Thread %u",
                   (unsigned)key);
    return ntk_map_put_number(rows, key, (void *)place->build->timeline->tracks.count);
}

/* Adds rows in the order of their first span, with the number of spans per row. */
static int add_rows(struct place *place, struct ntk_map *rows)
{
    const struct ntk_system_trace *trace = place->host->trace;
    struct ntk_map counts = { 0 };
    int ret = 0;

    for (size_t i = 0; i < trace->span_count && ret == 0; i++) {
        uint64_t key = row_key(&trace->spans[i]);
        uintptr_t count = (uintptr_t)ntk_map_get_number(&counts, key);
        ret = ntk_map_put_number(&counts, key, (void *)(count + 1));
        ntk_system_trace_passed(trace, i);
    }
    ntk_map_each(entry, &counts) {
        ret = ret == 0 ? add_row(place, rows, entry->number, (uintptr_t)entry->value) : ret;
    }
    ntk_map_fini(&counts);
    return ret;
}

/* All spans as a tree, by index: children of a span, or of the root (at span_count). */
struct tree {
    size_t *first;  /* first child; NTK_SYSTEM_NO_PARENT if none */
    size_t *next;   /* next sibling */
    uint32_t *open; /* indexed by row: number of open spans at the current position */
    uint8_t *depths;
};

static int tree_init(struct tree *tree, const struct ntk_system_trace *trace, size_t row_count)
{
    size_t count = trace->span_count;

    *tree = (struct tree){ .first = malloc((count + 1) * sizeof *tree->first),
                           .next = malloc((count + 1) * sizeof *tree->next),
                           .open = calloc(row_count + 1, sizeof *tree->open),
                           .depths = calloc(count + 1, sizeof *tree->depths) };
    if (!tree->first || !tree->next || !tree->open || !tree->depths) {
        return -ENOMEM;
    }
    for (size_t i = 0; i <= count; i++) {
        tree->first[i] = NTK_SYSTEM_NO_PARENT;
    }
    for (size_t i = count; i-- > 0;) {
        size_t parent = trace->spans[i].parent;
        size_t in = parent == NTK_SYSTEM_NO_PARENT ? count : parent;
        tree->next[i] = tree->first[in];
        tree->first[in] = i;
    }
    return 0;
}

static void tree_fini(struct tree *tree)
{
    free(tree->first);
    free(tree->next);
    free(tree->open);
    free(tree->depths);
}

/* Computes for each span the number of enclosing spans in its row, by visiting the tree once. rows
 * maps keys to row numbers, from base + 1 on; spans without a row have no depth. */
static void tree_measure(struct tree *tree, const struct ntk_system_trace *trace,
                         const struct ntk_map *rows, size_t base)
{
    size_t at = tree->first[trace->span_count];

    while (at != NTK_SYSTEM_NO_PARENT) {
        size_t number = (uintptr_t)ntk_map_get_number(rows, row_key(&trace->spans[at]));
        uint32_t *open = &tree->open[number ? number - base : 0];
        tree->depths[at] =
            (uint8_t)(*open < NTK_TIMELINE_LANES_MAX - 1 ? *open : NTK_TIMELINE_LANES_MAX - 1);
        if (tree->first[at] != NTK_SYSTEM_NO_PARENT) {
            (*open)++;
            at = tree->first[at];
            continue;
        }
        while (at != NTK_SYSTEM_NO_PARENT && tree->next[at] == NTK_SYSTEM_NO_PARENT) {
            at = trace->spans[at].parent;
            if (at != NTK_SYSTEM_NO_PARENT) {
                number = (uintptr_t)ntk_map_get_number(rows, row_key(&trace->spans[at]));
                tree->open[number ? number - base : 0]--;
            }
        }
        at = at == NTK_SYSTEM_NO_PARENT ? at : tree->next[at];
    }
}

/* Returns the lane of a physical core: the cores of one logical core have neighbouring lanes in its
 * row. */
static uint32_t lane_of_core(const struct ntk_system_trace *trace,
                             const struct ntk_system_span *span)
{
    uint32_t lnc = trace->info && trace->info->lnc < NTK_TIMELINE_LANES_MAX ? trace->info->lnc : 0;

    return lnc > 1 && ntk_system_type_is_run(span->type) && span->device_core != NTK_SYSTEM_NO_CORE
               ? span->device_core % lnc
               : 0;
}

static int build_spans(struct place *place)
{
    const struct ntk_system_trace *trace = place->host->trace;
    struct ntk_timeline *timeline = place->build->timeline;
    struct ntk_map rows = { 0 }; /* maps a key to the index of the track + 1 */
    struct tree tree = { 0 };
    size_t track_count = timeline->tracks.count;
    int ret = add_rows(place, &rows);

    ret = ret == 0 ? tree_init(&tree, trace, rows.count) : ret;
    if (ret == 0) {
        tree_measure(&tree, trace, &rows, track_count);
    }
    for (size_t i = 0; i < trace->span_count && ret == 0; i++) {
        ntk_system_trace_passed(trace, i);
        const struct ntk_system_span *span = &trace->spans[i];
        uintptr_t row = (uintptr_t)ntk_map_get_number(&rows, row_key(span));
        int64_t start_ps;
        int64_t end_ps;
        if (row == 0 || !ps_of(place, span->start_ns, &start_ps) ||
            !ps_of(place, span->end_ns, &end_ps)) {
            continue;
        }
        struct ntk_timeline_track *track = ntk_vec_at(&timeline->tracks, row - 1);
        struct ntk_timeline_slice *slice = ntk_timeline_add_slice(track, start_ps, end_ps, i);
        uint32_t lane = tree.depths[i] + lane_of_core(trace, span);
        slice->lane = (uint8_t)(lane < NTK_TIMELINE_LANES_MAX ? lane : NTK_TIMELINE_LANES_MAX - 1);
        if (slice->lane >= track->lane_count) {
            track->lane_count = slice->lane + 1U;
        }
        timeline->end_ps = slice->end_ps > timeline->end_ps ? slice->end_ps : timeline->end_ps;
        ret = what_of_type(place->build, ntk_system_span_label(span), &slice->what);
    }
    tree_fini(&tree);
    ntk_map_fini(&rows);
    return ret;
}

/* ---- counters -------------------------------------------------------------------------------- */

/* State of a counter; a value is valid from its time until the next one. */
struct counter {
    struct ntk_timeline_track *track;
    uint16_t what;
    size_t count;
};

static int begin_counter(struct place *place, const char *name, const char *unit, size_t count,
                         struct counter *out_counter)
{
    struct ntk_timeline_track *track =
        ntk_timeline_add_track(place->build, NTK_TIMELINE_COUNTER, place->group, count);

    if (!track) {
        return -ENOMEM;
    }
    track->host = place->host->trace;
    track->unit = unit;
    (void)snprintf(track->name, sizeof track->name, "%s", name);
    track->values = ntk_spill_take(&place->build->timeline->spill, count, sizeof *track->values);
    *out_counter = (struct counter){ .track = track };
    return track->values ? what_of_type(place->build, name, &out_counter->what) : -ENOMEM;
}

static void add_value(struct place *place, struct counter *counter, uint64_t time_ns, double value)
{
    struct ntk_timeline_track *track = counter->track;
    struct ntk_timeline *timeline = place->build->timeline;
    int64_t at_ps;

    if (!ps_of(place, time_ns, &at_ps)) {
        return;
    }
    if (track->slice_count > 0) {
        struct ntk_timeline_slice *before = &track->slices[track->slice_count - 1];
        /* handles a clock that was set back */
        at_ps = at_ps > before->start_ps ? at_ps : before->start_ps;
        before->end_ps = at_ps;
    }
    track->values[counter->count] = value < 0.0                  ? 0
                                    : value > (double)UINT32_MAX ? UINT32_MAX
                                                                 : (uint32_t)(value + 0.5);
    struct ntk_timeline_slice *slice = ntk_timeline_add_slice(track, at_ps, at_ps, counter->count);
    slice->what = counter->what;
    if (track->values[counter->count] > track->value_max) {
        track->value_max = track->values[counter->count];
    }
    counter->count++;
    timeline->end_ps = at_ps > timeline->end_ps ? at_ps : timeline->end_ps;
}

static int build_device_memory(struct place *place)
{
    struct ntk_memory_use use;
    struct counter counter;
    int ret = ntk_analysis_memory_use(place->host->trace, &use);

    if (ret < 0) {
        return ret;
    }
    if (use.point_count > 0) {
        ret = begin_counter(place, "Device memory", "KiB", use.point_count, &counter);
        for (size_t i = 0; i < use.point_count && ret == 0; i++) {
            add_value(place, &counter, use.points[i].time_ns, (double)use.points[i].bytes / KIB);
        }
    }
    ntk_memory_use_fini(&use);
    return ret;
}

static int build_samples(struct place *place)
{
    const NtkNtracePb__HostSamples *memory = place->host->trace->memory;
    const NtkNtracePb__HostSamples *cpu = place->host->trace->cpu;
    struct counter counter;
    int ret = 0;

    if (memory && memory->n_timestamp_ns && memory->n_process_bytes == memory->n_timestamp_ns) {
        ret =
            begin_counter(place, "Memory of the process", "KiB", memory->n_timestamp_ns, &counter);
        for (size_t i = 0; i < memory->n_timestamp_ns && ret == 0; i++) {
            add_value(place, &counter, memory->timestamp_ns[i],
                      (double)memory->process_bytes[i] / KIB);
        }
    }
    if (ret == 0 && cpu && cpu->n_timestamp_ns && cpu->n_cpus) {
        ret = begin_counter(place, "Processor load", "%", cpu->n_timestamp_ns, &counter);
        for (size_t i = 0; i < cpu->n_timestamp_ns && ret == 0; i++) {
            double sum = 0.0;
            for (size_t c = 0; c < cpu->n_cpus; c++) {
                sum += i < cpu->cpus[c]->n_percent ? cpu->cpus[c]->percent[i] : 0.0;
            }
            add_value(place, &counter, cpu->timestamp_ns[i], sum / (double)cpu->n_cpus);
        }
    }
    return ret;
}

int ntk_timeline_build_host(struct ntk_timeline_build *build, const struct ntk_timeline_host *host)
{
    struct place place = { build, host,
                           ntk_timeline_add_group(build, host->name, NTK_TIMELINE_NO_GROUP,
                                                  NTK_TIMELINE_NO_SOURCE, host->is_folded) };
    int ret = place.group == NTK_TIMELINE_NO_GROUP ? -ENOMEM : build_spans(&place);

    ret = ret == 0 ? build_device_memory(&place) : ret;
    return ret == 0 ? build_samples(&place) : ret;
}
