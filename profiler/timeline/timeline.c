/* SPDX-License-Identifier: MIT */
/* timeline - converts traces to tracks. */
#include "profiler/timeline/timeline.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/engine_activity.h"
#include "profiler/analysis/queue_names.h"
#include "profiler/timeline/timeline_build.h"
#include "profiler/timeline/timeline_counters.h"
#include "profiler/timeline/timeline_pyramid.h"
#include "profiler/timeline/timeline_regions.h"
#include "profiler/trace/executed.h"
#include "shared/base/order.h"

/* Number of lanes for slices of one engine; further overlaps share the last lane. */
#define PACKED_LANES_MAX 4
#define EVENTS_MAX 256 /* numbers of semaphores, and of events */

const char *ntk_timeline_kind_name(enum ntk_timeline_kind kind)
{
    static const char *const names[NTK_TIMELINE_KIND_COUNT] = { "engine", "queue", "semaphore",
                                                                "rate",   "host",  "counter",
                                                                "region", "rank" };

    return names[kind];
}

const struct ntk_timeline_track *ntk_timeline_track_get(const struct ntk_timeline *timeline,
                                                        size_t index)
{
    return ntk_vec_at(&timeline->tracks, index);
}

const struct ntk_timeline_track *ntk_timeline_track_with(const struct ntk_timeline *timeline,
                                                         uint64_t track, uint64_t slice,
                                                         struct ntk_err *err)
{
    if (track >= timeline->tracks.count) {
        ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "unknown track %" PRIu64, track);
        return NULL;
    }
    const struct ntk_timeline_track *found = ntk_timeline_track_get(timeline, track);
    if (slice >= found->slice_count) {
        ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "track %" PRIu64 " has no slice %" PRIu64,
                    track, slice);
        return NULL;
    }
    return found;
}

uint32_t ntk_timeline_slice_value(const struct ntk_timeline_track *track,
                                  const struct ntk_timeline_slice *slice)
{
    switch (track->kind) {
    case NTK_TIMELINE_ENGINE:
        return track->core->instructions[slice->ref].wait_cycles;
    case NTK_TIMELINE_QUEUE:
        return track->core->packets[slice->ref].bytes_count;
    case NTK_TIMELINE_SEMAPHORE:
        return track->core->events[slice->ref].value;
    case NTK_TIMELINE_HOST:
        return track->host->spans[slice->ref].bytes < UINT32_MAX
                   ? (uint32_t)track->host->spans[slice->ref].bytes
                   : UINT32_MAX;
    case NTK_TIMELINE_COUNTER:
        return track->values[slice->ref];
    case NTK_TIMELINE_RATE:
    case NTK_TIMELINE_REGION:
    case NTK_TIMELINE_RANK:
    case NTK_TIMELINE_KIND_COUNT:
        break;
    }
    return 0;
}

/* Returns memory of elements first to first + count of a list to the system, if the list is in a
 * file. */
static void give_back_list(bool is_mapped, const char *list, size_t item_bytes, size_t first,
                           size_t end)
{
    if (is_mapped) {
        ntk_trace_pages_give_back(list + first * item_bytes, list + end * item_bytes);
    }
}

void ntk_timeline_give_back(const struct ntk_timeline_track *track, size_t first, size_t count)
{
    const struct ntk_trace_core *core = track->core;

    if (first >= track->slice_count) {
        return;
    }
    count = count < track->slice_count - first ? count : track->slice_count - first;
    size_t from = track->slices[first].ref;
    size_t to = track->slices[first + count - 1].ref; /* references ascend in rows of a core */
    if (track->kind == NTK_TIMELINE_ENGINE) {
        give_back_list(core->is_mapped.instructions, (const char *)core->instructions,
                       sizeof *core->instructions, from, to);
    } else if (track->kind == NTK_TIMELINE_QUEUE) {
        give_back_list(core->is_mapped.packets, (const char *)core->packets, sizeof *core->packets,
                       from, to);
    } else if (track->kind == NTK_TIMELINE_SEMAPHORE) {
        give_back_list(core->is_mapped.events, (const char *)core->events, sizeof *core->events,
                       from, to);
    }
    ntk_spill_give_back(track->spill, &track->slices[first], count * sizeof *track->slices);
}

void ntk_timeline_give_back_all(const struct ntk_timeline *timeline)
{
    for (size_t s = 0; s < timeline->source_count; s++) {
        const struct ntk_trace *trace = timeline->sources[s].trace;
        for (size_t c = 0; c < trace->core_count; c++) {
            ntk_trace_give_back(&trace->cores[c]);
        }
    }
    ntk_spill_give_back_all(&timeline->spill);
}

/* ---- names ----------------------------------------------------------------------------------- */

uint32_t ntk_timeline_add_group(struct ntk_timeline_build *build, const char *name, uint32_t parent,
                                uint32_t source, bool is_folded)
{
    struct ntk_timeline_group *group = ntk_vec_add(&build->timeline->groups);

    if (!group) {
        return NTK_TIMELINE_NO_GROUP;
    }
    (void)snprintf(group->name, sizeof group->name, "%s", name);
    group->parent = parent;
    group->source = source;
    group->is_folded = is_folded;
    return (uint32_t)(build->timeline->groups.count - 1);
}

/* Returns the number of a name in the table, added at its first use; *known caches it. */
int ntk_timeline_what_of(struct ntk_timeline_build *build, uint16_t *known, const char *name,
                         const char *family, uint16_t *out_what)
{
    if (*known == 0 && build->timeline->whats.count == NTK_TIMELINE_WHATS_MAX) {
        *known = 1; /* in a file with so many names, they are meaningless */
    }
    if (*known == 0) {
        struct ntk_timeline_what *what = ntk_vec_add(&build->timeline->whats);
        if (!what) {
            return -ENOMEM;
        }
        (void)snprintf(what->name, sizeof what->name, "%s", name);
        what->family = family;
        *known = (uint16_t)build->timeline->whats.count;
    }
    *out_what = (uint16_t)(*known - 1);
    return 0;
}

static int what_of_opcode(struct ntk_timeline_build *build, uint8_t opcode, uint16_t *out_what)
{
    char text[NTK_NTFF_NAME_BYTES];

    return ntk_timeline_what_of(build, &build->opcodes[opcode],
                                ntk_ntff_opcode_name(opcode, text, sizeof text), "instruction",
                                out_what);
}

static int what_of_class(struct ntk_timeline_build *build, uint8_t dma_class, uint16_t *out_what)
{
    return ntk_timeline_what_of(build, &build->classes[dma_class],
                                ntk_trace_dma_class_name(dma_class), "dma", out_what);
}

static int what_of_source(struct ntk_timeline_build *build, uint8_t source, uint16_t *out_what)
{
    char text[64];

    (void)snprintf(text, sizeof text, "by %s", ntk_ntff_source_title(source));
    return ntk_timeline_what_of(build, &build->sources[source], text, "semaphore", out_what);
}

/* ---- tracks ---------------------------------------------------------------------------------- */

struct ntk_timeline_track *ntk_timeline_add_track(struct ntk_timeline_build *build,
                                                  enum ntk_timeline_kind kind, uint32_t group,
                                                  size_t slice_count)
{
    struct ntk_timeline_track *track = ntk_vec_add(&build->timeline->tracks);

    if (!track) {
        return NULL;
    }
    track->kind = kind;
    track->group = group;
    track->lane_count = 1;
    track->spill = &build->timeline->spill;
    track->slices = ntk_spill_take(&build->timeline->spill, slice_count, sizeof *track->slices);
    return track->slices ? track : NULL;
}

struct ntk_timeline_slice *ntk_timeline_add_slice(struct ntk_timeline_track *track,
                                                  int64_t start_ps, int64_t end_ps, size_t ref)
{
    ntk_timeline_pass(track, track->slice_count, false);
    struct ntk_timeline_slice *slice = &track->slices[track->slice_count++];

    *slice = (struct ntk_timeline_slice){ .start_ps = start_ps,
                                          .end_ps = end_ps > start_ps ? end_ps : start_ps,
                                          .ref = (uint32_t)ref };
    return slice;
}

static struct ntk_timeline_track *add_core_track(struct ntk_timeline_build *build,
                                                 enum ntk_timeline_kind kind, uint32_t group,
                                                 const struct ntk_trace_core *core,
                                                 size_t slice_count)
{
    struct ntk_timeline_track *track = ntk_timeline_add_track(build, kind, group, slice_count);

    if (track) {
        track->core = core;
    }
    return track;
}

/* Returns the first free lane, or the lane that becomes free first. */
static uint8_t pack(struct ntk_timeline_track *track, int64_t ends_ps[PACKED_LANES_MAX],
                    const struct ntk_timeline_slice *slice)
{
    uint32_t best = 0;

    for (uint32_t lane = 0; lane < PACKED_LANES_MAX; lane++) {
        if (lane >= track->lane_count) {
            track->lane_count = lane + 1;
            best = lane;
            break;
        }
        if (ends_ps[lane] <= slice->start_ps) {
            best = lane;
            break;
        }
        best = ends_ps[lane] < ends_ps[best] ? lane : best;
    }
    if (slice->end_ps > ends_ps[best]) {
        ends_ps[best] = slice->end_ps;
    }
    return (uint8_t)best;
}

static int build_engines(struct ntk_timeline_build *build, const struct ntk_trace_core *core,
                         uint32_t group, int64_t offset_ps)
{
    size_t counts[NTK_NTFF_ENGINE_COUNT] = { 0 };
    size_t tracks[NTK_NTFF_ENGINE_COUNT] = { 0 };
    int64_t ends_ps[NTK_NTFF_ENGINE_COUNT][PACKED_LANES_MAX];

    ntk_trace_each_instruction(core, from) {
        if (from->engine < NTK_NTFF_ENGINE_COUNT) {
            counts[from->engine]++;
        }
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        for (size_t l = 0; l < PACKED_LANES_MAX; l++) {
            ends_ps[e][l] = INT64_MIN;
        }
        if (counts[e] == 0) {
            continue;
        }
        struct ntk_timeline_track *track =
            add_core_track(build, NTK_TIMELINE_ENGINE, group, core, counts[e]);
        if (!track) {
            return -ENOMEM;
        }
        (void)snprintf(track->name, sizeof track->name, "%s", ntk_ntff_engine_title(e));
        tracks[e] = build->timeline->tracks.count - 1;
    }
    ntk_trace_each_instruction(core, from) {
        if (from->engine >= NTK_NTFF_ENGINE_COUNT) {
            continue;
        }
        struct ntk_timeline_track *track =
            ntk_vec_at(&build->timeline->tracks, tracks[from->engine]);
        struct ntk_timeline_slice *slice =
            ntk_timeline_add_slice(track, from->start_ps + offset_ps, from->end_ps + offset_ps,
                                   (size_t)(from - core->instructions));
        slice->lane = pack(track, ends_ps[from->engine], slice);
        slice->is_wait = from->opcode == NTK_NTFF_OPCODE_EVENT_SEMAPHORE;
        if (what_of_opcode(build, from->opcode, &slice->what) < 0) {
            return -ENOMEM;
        }
    }
    return 0;
}

/* ---- DMA queues: engines that serve queues with the same name are lanes of one track --- */

struct queue_map {
    size_t track_count;
    struct {
        char name[NTK_NTFF_NAME_BYTES];
        size_t packet_count;
        size_t track;
        uint32_t lane_count;
        uint16_t lane_ids[NTK_TIMELINE_LANES_MAX];
    } tracks[NTK_NTFF_DMA_ENGINES * NTK_NTFF_DMA_QUEUES];
    /* By engine and queue: index in tracks, plus 1; and the lane in the track. */
    uint16_t index[NTK_NTFF_DMA_ENGINES][NTK_NTFF_DMA_QUEUES];
    uint8_t lane[NTK_NTFF_DMA_ENGINES][NTK_NTFF_DMA_QUEUES];
};

static void map_queue(struct queue_map *map, const struct ntk_trace_core *core,
                      const struct ntk_trace_packet *packet)
{
    unsigned engine = packet->engine % NTK_NTFF_DMA_ENGINES;
    char name[NTK_NTFF_NAME_BYTES];
    size_t t = 0;

    ntk_queue_name_show(ntk_queue_name_get(core->ntff, packet->engine, packet->queue),
                        packet->dma_class, name, sizeof name);
    while (t < map->track_count && strcmp(map->tracks[t].name, name) != 0) {
        t++;
    }
    if (t == map->track_count) {
        map->track_count++;
        (void)snprintf(map->tracks[t].name, sizeof map->tracks[t].name, "%s", name);
    }
    uint32_t lane = 0;
    while (lane < map->tracks[t].lane_count && map->tracks[t].lane_ids[lane] != packet->engine) {
        lane++;
    }
    if (lane == map->tracks[t].lane_count) { /* at most 16 engines, so the lane fits */
        map->tracks[t].lane_ids[map->tracks[t].lane_count++] = packet->engine;
    }
    map->index[engine][packet->queue] = (uint16_t)(t + 1);
    map->lane[engine][packet->queue] = (uint8_t)lane;
}

NTK_ORDER(compare_queues, struct ntk_timeline_track, NTK_TEXT(name));

static int build_queue_tracks(struct ntk_timeline_build *build, const struct ntk_trace_core *core,
                              struct queue_map *map, uint32_t group)
{
    for (size_t t = 0; t < map->track_count; t++) {
        struct ntk_timeline_track *track =
            add_core_track(build, NTK_TIMELINE_QUEUE, group, core, map->tracks[t].packet_count);
        if (!track) {
            return -ENOMEM;
        }
        memcpy(track->name, map->tracks[t].name, sizeof track->name);
        track->lane_count = map->tracks[t].lane_count;
        memcpy(track->lane_ids, map->tracks[t].lane_ids, sizeof track->lane_ids);
        map->tracks[t].track = build->timeline->tracks.count - 1;
    }
    return 0;
}

static int build_queues(struct ntk_timeline_build *build, const struct ntk_trace_core *core,
                        uint32_t parent, size_t source, int64_t offset_ps)
{
    struct queue_map *map = core->packet_count ? calloc(1, sizeof *map) : NULL;
    size_t first = build->timeline->tracks.count;
    int ret = 0;

    if (core->packet_count == 0) {
        return 0;
    }
    uint32_t group = ntk_timeline_add_group(build, "DMA queues", parent, source, false);
    if (!map || group == NTK_TIMELINE_NO_GROUP) {
        free(map);
        return -ENOMEM;
    }
    ntk_trace_each_packet(core, packet) {
        uint16_t *index = &map->index[packet->engine % NTK_NTFF_DMA_ENGINES][packet->queue];
        if (*index == 0) {
            map_queue(map, core, packet);
        }
        map->tracks[*index - 1].packet_count++;
    }
    ret = build_queue_tracks(build, core, map, group);
    if (ret < 0) {
        free(map);
        return ret;
    }
    ntk_trace_each_packet(core, packet) {
        unsigned engine = packet->engine % NTK_NTFF_DMA_ENGINES;
        struct ntk_timeline_track *track = ntk_vec_at(
            &build->timeline->tracks, map->tracks[map->index[engine][packet->queue] - 1].track);
        struct ntk_timeline_slice *slice =
            ntk_timeline_add_slice(track, packet->start_ps + offset_ps, packet->end_ps + offset_ps,
                                   (size_t)(packet - core->packets));
        slice->lane = map->lane[engine][packet->queue];
        ret = what_of_class(build, packet->dma_class, &slice->what);
        if (ret < 0) {
            break;
        }
    }
    free(map);
    if (ret == 0) {
        qsort((struct ntk_timeline_track *)build->timeline->tracks.items + first,
              build->timeline->tracks.count - first, sizeof(struct ntk_timeline_track),
              compare_queues);
        struct ntk_timeline_track *rate = add_core_track(build, NTK_TIMELINE_RATE, parent, core, 0);
        if (!rate) {
            return -ENOMEM;
        }
        (void)snprintf(rate->name, sizeof rate->name, "DMA throughput");
    }
    return ret;
}

/* ---- semaphores and events ------------------------------------------------------------------- */

static int build_semaphores(struct ntk_timeline_build *build, const struct ntk_trace_core *core,
                            uint32_t parent, size_t source, int64_t offset_ps, int64_t end_ps)
{
    size_t counts[2 * EVENTS_MAX] = { 0 };
    size_t tracks[2 * EVENTS_MAX] = { 0 };
    uint32_t group = NTK_TIMELINE_NO_GROUP;

    ntk_trace_each_event(core, event) {
        counts[event->number + (event->is_semaphore ? 0 : EVENTS_MAX)]++;
    }
    for (size_t n = 0; n < 2 * (size_t)EVENTS_MAX; n++) {
        if (counts[n] == 0) {
            continue;
        }
        if (group == NTK_TIMELINE_NO_GROUP) {
            group = ntk_timeline_add_group(build, "Semaphores", parent, source, true);
        }
        struct ntk_timeline_track *track =
            group == NTK_TIMELINE_NO_GROUP
                ? NULL
                : add_core_track(build, NTK_TIMELINE_SEMAPHORE, group, core, counts[n]);
        if (!track) {
            return -ENOMEM;
        }
        (void)snprintf(track->name, sizeof track->name, "%s %zu",
                       n < EVENTS_MAX ? "Semaphore" : "Event", n % EVENTS_MAX);
        tracks[n] = build->timeline->tracks.count - 1;
    }
    ntk_trace_each_event(core, event) {
        struct ntk_timeline_track *track =
            ntk_vec_at(&build->timeline->tracks,
                       tracks[event->number + (event->is_semaphore ? 0 : EVENTS_MAX)]);
        int64_t time_ps = event->time_ps + offset_ps;
        if (track->slice_count > 0) {
            track->slices[track->slice_count - 1].end_ps = time_ps;
        }
        struct ntk_timeline_slice *slice = ntk_timeline_add_slice(
            track, time_ps, end_ps > time_ps ? end_ps : time_ps, (size_t)(event - core->events));
        track->value_max = event->value > track->value_max ? event->value : track->value_max;
        if (what_of_source(build, event->source, &slice->what) < 0) {
            return -ENOMEM;
        }
    }
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int64_t end_of_core(const struct ntk_trace *trace, const struct ntk_trace_core *core)
{
    int64_t end_ps = trace->total_ps > core->end_ps ? trace->total_ps : core->end_ps;

    ntk_trace_each_packet(core, packet) {
        end_ps = packet->end_ps > end_ps ? packet->end_ps : end_ps;
    }
    if (core->event_count && core->events[core->event_count - 1].time_ps > end_ps) {
        end_ps = core->events[core->event_count - 1].time_ps;
    }
    return end_ps;
}

/* Returns true if an instruction ran that is not setup or end of a program: for example, the second
 * core of a program for one core has no other instructions. */
static bool works(const struct ntk_trace_core *core)
{
    struct ntk_executed executed = { .core = core };

    while (ntk_executed_next(&executed)) {
        if (!ntk_activity_sets_up(executed.instruction.opcode) &&
            executed.instruction.opcode != NTK_NTFF_OPCODE_TENSOR_STORE) {
            return true;
        }
    }
    return false;
}

/* Builds a core; counters are in the middle, but their tracks are last. */
static int build_core(struct ntk_timeline_build *build, struct ntk_timeline_counters *counters,
                      size_t source, size_t core_index, uint32_t group, int64_t end_ps)
{
    const struct ntk_timeline_source *from = &build->timeline->sources[source];
    const struct ntk_trace_core *core = &from->trace->cores[core_index];
    int ret = build_engines(build, core, group, from->offset_ps);

    ret = ret ? ret : ntk_timeline_counters_read(build, counters, core_index, group);
    ret = ret ? ret : build_queues(build, core, group, source, from->offset_ps);
    ret = ret ? ret : build_semaphores(build, core, group, source, from->offset_ps, end_ps);
    ret = ret ? ret : ntk_timeline_build_regions(build, source, core_index, group, from->offset_ps);
    return ret ? ret : ntk_timeline_counters_build(build, counters, from->offset_ps, end_ps);
}

static int build_source(struct ntk_timeline_build *build, size_t source)
{
    const struct ntk_timeline_source *from = &build->timeline->sources[source];
    struct ntk_timeline_counters *counters = NULL;
    uint32_t parent = NTK_TIMELINE_NO_GROUP;
    bool has_work = false;
    int ret = 0;

    assert(from->trace);
    if (build->timeline->source_count > 1) {
        parent = ntk_timeline_add_group(build, from->name, parent, source, false);
        ret = parent == NTK_TIMELINE_NO_GROUP ? -ENOMEM : 0;
    }
    ret = ret ? ret : ntk_timeline_regions_create(build, source);
    ret = ret ? ret : ntk_timeline_counters_create(build, source, &counters);
    for (size_t c = 0; c < from->trace->core_count && !has_work; c++) {
        has_work = works(&from->trace->cores[c]);
    }
    for (size_t c = 0; c < from->trace->core_count && ret == 0; c++) {
        const struct ntk_trace_core *core = &from->trace->cores[c];
        int64_t end_ps = end_of_core(from->trace, core) + from->offset_ps;
        char name[NTK_NTFF_NAME_BYTES];

        bool is_idle = has_work && !works(core);
        (void)snprintf(name, sizeof name, "NeuronCore %u%s", core->ntff->core,
                       is_idle ? ", idle" : "");
        uint32_t group = ntk_timeline_add_group(build, name, parent, source, is_idle);
        ret = group == NTK_TIMELINE_NO_GROUP
                  ? -ENOMEM
                  : build_core(build, counters, source, c, group, end_ps);
        if (end_ps > build->timeline->end_ps) {
            build->timeline->end_ps = end_ps;
        }
    }
    ntk_timeline_counters_destroy(counters);
    return ret;
}

static int build_pyramids(struct ntk_timeline *timeline, ntk_trace_progress *progress,
                          void *progress_ctx)
{
    uint64_t done = 0;

    ntk_vec_each(struct ntk_timeline_track, track, &timeline->tracks) {
        if (track->slice_count && track->slices[0].start_ps < timeline->begin_ps) {
            timeline->begin_ps = track->slices[0].start_ps;
        }
        timeline->slice_count += track->slice_count;
        bool is_derived =
            track->kind == NTK_TIMELINE_REGION || ntk_timeline_is_counter_of_core(track);
        timeline->derived_slice_count += is_derived ? track->slice_count : 0;
    }
    ntk_vec_each(struct ntk_timeline_track, track, &timeline->tracks) {
        if (ntk_timeline_pyramid_build(track, &timeline->spill, timeline->begin_ps,
                                       timeline->end_ps) < 0) {
            return -ENOMEM;
        }
        ntk_timeline_give_back_all(timeline);
        done += track->slice_count;
        if (progress && timeline->slice_count) {
            progress((double)done / (double)timeline->slice_count, progress_ctx);
        }
    }
    return 0;
}

/* Copies the sources; from now on the timeline owns the names. */
static int copy_sources(struct ntk_timeline *timeline, const struct ntk_timeline_options *options)
{
    timeline->sources = calloc(options->source_count + 1, sizeof *timeline->sources);
    timeline->regions = calloc(options->source_count + 1, sizeof(struct ntk_timeline_regions *));
    if (!timeline->regions) {
        return -ENOMEM;
    }
    for (size_t s = 0; timeline->sources && s < options->source_count; s++) {
        timeline->sources[s] = options->sources[s];
        timeline->sources[s].name = strdup(options->sources[s].name);
        if (!timeline->sources[s].name) {
            return -ENOMEM;
        }
        timeline->source_count++;
    }
    timeline->compares = options->compares && options->source_count == 2;
    return timeline->sources ? 0 : -ENOMEM;
}

static int build_all(struct ntk_timeline_build *build, const struct ntk_timeline_options *options)
{
    struct ntk_timeline *timeline = build->timeline;
    int ret = 0;

    if (options->ranks) {
        timeline->zero_ns = options->ranks_zero_ns;
        ret = ntk_timeline_build_ranks(build, options->ranks, options->ranks_zero_ns);
    }
    for (size_t h = 0; h < options->host_count && ret == 0; h++) {
        timeline->zero_ns = options->hosts[h].zero_ns;
        ret = ntk_timeline_build_host(build, &options->hosts[h]);
    }
    for (size_t s = 0; s < timeline->source_count && ret == 0; s++) {
        ret = build_source(build, s);
    }
    return ret == 0 ? build_pyramids(timeline, options->progress, options->progress_ctx) : ret;
}

int ntk_timeline_create(const struct ntk_timeline_options *options,
                        struct ntk_timeline **out_timeline, struct ntk_err *err)
{
    struct ntk_timeline *timeline = calloc(1, sizeof *timeline);
    struct ntk_timeline_build *build = calloc(1, sizeof *build);
    int ret = timeline && build ? 0 : -ENOMEM;

    if (ret == 0) {
        ntk_vec_init(&timeline->groups, sizeof(struct ntk_timeline_group));
        ntk_vec_init(&timeline->tracks, sizeof(struct ntk_timeline_track));
        ntk_vec_init(&timeline->whats, sizeof(struct ntk_timeline_what));
        ntk_spill_init(&timeline->spill, options->heap_bytes, options->folder);
        build->timeline = timeline;
        ret = copy_sources(timeline, options);
    }
    if (ret == 0) {
        ret = build_all(build, options);
    }
    if (build) {
        ntk_map_fini(&build->types);
    }
    free(build);
    if (ret < 0) {
        int failed = timeline ? timeline->spill.failed : 0;
        if (failed && err) {
            *err = timeline->spill.err;
        }
        ntk_timeline_destroy(timeline);
        return failed ? failed : ntk_err_no_memory(err);
    }
    *out_timeline = timeline;
    return 0;
}

void ntk_timeline_destroy(struct ntk_timeline *timeline)
{
    if (!timeline) {
        return;
    }
    ntk_vec_each(struct ntk_timeline_track, track, &timeline->tracks) {
        ntk_timeline_pyramid_fini(&track->pyramid);
    }
    for (size_t s = 0; s < timeline->source_count; s++) {
        free((char *)timeline->sources[s].name);
        ntk_timeline_regions_destroy(timeline->regions[s]);
    }
    free(timeline->regions);
    free(timeline->sources);
    ntk_vec_fini(&timeline->groups);
    ntk_vec_fini(&timeline->tracks);
    ntk_vec_fini(&timeline->whats);
    ntk_spill_fini(&timeline->spill);
    free(timeline);
}
