/* SPDX-License-Identifier: MIT */
#include "profiler/timeline/timeline_regions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/trace/sorter.h"
#include "shared/base/order.h"

/* 1 / share of the trace's list memory for sorting a row. */
#define SORTER_SHARE 16

/* An item of a sorter, which starts with its time. */
struct item {
    int64_t start_ps, end_ps;
    uint32_t instance, depth;
    uint64_t reserved;
};

/* Orders items; enclosing ones are first. */
NTK_ORDER(compare, struct item, NTK_DOWN(end_ps) NTK_UP(depth) NTK_UP(instance));

int ntk_timeline_regions_create(struct ntk_timeline_build *build, size_t source)
{
    const struct ntk_trace *trace = build->timeline->sources[source].trace;
    struct ntk_timeline_regions *made = calloc(1, sizeof *made);
    int ret = made ? ntk_program_create(trace, &made->program) : -ENOMEM;

    ret = ret ? ret : ntk_analysis_regions(made->program, &made->regions);
    if (ret == 0) {
        made->whats = calloc(made->regions.region_count + 1, sizeof *made->whats);
        ret = made->whats ? 0 : -ENOMEM;
    }
    if (ret < 0) {
        if (ret != -ENOMEM && !build->timeline->spill.failed) {
            build->timeline->spill.failed = ntk_long_list_err_set(&build->timeline->spill.err, ret,
                                                                  ntk_trace_folder_get(trace));
        }
        ntk_timeline_regions_destroy(made);
        return ret;
    }
    build->timeline->regions[source] = made;
    return 0;
}

void ntk_timeline_regions_destroy(struct ntk_timeline_regions *regions)
{
    if (!regions) {
        return;
    }
    ntk_regions_fini(&regions->regions);
    ntk_program_destroy(regions->program);
    free(regions->whats);
    free(regions);
}

static bool is_of_row(const struct ntk_region *region, size_t core_index, unsigned engine)
{
    return region->core_index == core_index && region->engine == engine;
}

/* Creates slices from sorted items, each in the lane of its depth: overlapping times, as on an
 * engine that starts an instruction before the last one ended, are drawn over each other. */
static int fill(struct ntk_timeline_build *build, struct ntk_timeline_regions *from,
                struct ntk_timeline_track *track, const struct ntk_sorted *sorted,
                int64_t offset_ps)
{
    const struct item *items = sorted->items;
    const struct ntk_region_instance *instances = from->regions.instances.items;

    for (size_t i = 0; i < sorted->count; i++) {
        uint32_t region = instances[items[i].instance].region;
        struct ntk_timeline_slice *slice = ntk_timeline_add_slice(
            track, items[i].start_ps + offset_ps, items[i].end_ps + offset_ps, items[i].instance);
        slice->lane =
            (uint8_t)(items[i].depth < NTK_TIMELINE_REGION_LANES ? items[i].depth
                                                                 : NTK_TIMELINE_REGION_LANES - 1);
        track->lane_count =
            slice->lane + 1U > track->lane_count ? slice->lane + 1U : track->lane_count;
        if (ntk_timeline_what_of(build, &from->whats[region], from->regions.regions[region].name,
                                 "region", &slice->what) < 0) {
            return -ENOMEM;
        }
        if (i % NTK_TRACE_LOOKS == 0) {
            ntk_long_list_give_back(&from->regions.instances);
        }
    }
    return 0;
}

static int build_row(struct ntk_timeline_build *build, struct ntk_timeline_regions *from,
                     const struct ntk_trace_core *core, size_t core_index, unsigned engine,
                     uint32_t group, int64_t offset_ps)
{
    const struct ntk_trace *trace = from->program->trace;
    const struct ntk_region_instance *instances = from->regions.instances.items;
    struct ntk_sorter sorter;
    struct ntk_sorted sorted = { 0 };
    size_t count = 0;
    int ret = 0;

    for (size_t r = 0; r < from->regions.region_count; r++) {
        const struct ntk_region *region = &from->regions.regions[r];
        count += is_of_row(region, core_index, engine) ? region->count : 0;
    }
    if (count == 0) {
        return 0;
    }
    struct ntk_timeline_track *track =
        ntk_timeline_add_track(build, NTK_TIMELINE_REGION, group, count);
    if (!track) {
        return -ENOMEM;
    }
    track->core = core;
    (void)snprintf(track->name, sizeof track->name, "%s",
                   engine < NTK_NTFF_ENGINE_COUNT ? "" : "Layers");
    if (engine < NTK_NTFF_ENGINE_COUNT) {
        (void)snprintf(track->name, sizeof track->name, "%s regions",
                       ntk_ntff_engine_title(engine));
    }
    ntk_sorter_init(&sorter, sizeof(struct item), compare,
                    ntk_trace_list_bytes_get(trace) / SORTER_SHARE, ntk_trace_folder_get(trace));
    for (size_t r = 0; r < from->regions.region_count && ret == 0; r++) {
        const struct ntk_region *region = &from->regions.regions[r];
        for (size_t i = 0; i < region->count && is_of_row(region, core_index, engine); i++) {
            const struct ntk_region_instance *one = &instances[region->first_instance + i];
            struct item *item = ntk_sorter_add(&sorter);
            if (!item) {
                break; /* _finish returns the reason */
            }
            *item = (struct item){ .start_ps = one->start_ps,
                                   .end_ps = one->end_ps,
                                   .instance = (uint32_t)(region->first_instance + i),
                                   .depth = region->depth };
        }
    }
    struct ntk_err err = { 0 };
    ret = ntk_sorter_finish(&sorter, ntk_trace_list_bytes_get(trace) / SORTER_SHARE, &sorted, &err);
    if (ret < 0 && ret != -ENOMEM && !build->timeline->spill.failed) {
        build->timeline->spill.failed = ret;
        build->timeline->spill.err = err;
    }
    ret = ret ? ret : fill(build, from, track, &sorted, offset_ps);
    ntk_sorted_fini(&sorted, sizeof(struct item));
    ntk_sorter_fini(&sorter);
    ntk_long_list_give_back(&from->regions.instances);
    return ret;
}

int ntk_timeline_build_regions(struct ntk_timeline_build *build, size_t source, size_t core_index,
                               uint32_t group, int64_t offset_ps)
{
    struct ntk_timeline_regions *from = build->timeline->regions[source];
    const struct ntk_trace_core *core = &from->program->trace->cores[core_index];
    int ret = 0;

    if (from->regions.instances.count > UINT32_MAX) {
        return 0; /* their numbers do not fit in slices */
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT && ret == 0; e++) {
        ret = build_row(build, from, core, core_index, e, group, offset_ps);
    }
    return ret ? ret
               : build_row(build, from, core, core_index, NTK_NTFF_ENGINE_COUNT, group, offset_ps);
}

/* ---- answers --------------------------------------------------------------------------------- */

const struct ntk_region *ntk_timeline_region_of(const struct ntk_timeline *timeline,
                                                const struct ntk_timeline_track *track,
                                                const struct ntk_timeline_slice *slice,
                                                uint64_t *out_index)
{
    const struct ntk_timeline_group *group = ntk_vec_at(&timeline->groups, track->group);

    if (track->kind != NTK_TIMELINE_REGION || group->source >= timeline->source_count) {
        return NULL;
    }
    const struct ntk_regions *regions = &timeline->regions[group->source]->regions;
    const struct ntk_region_instance *instance =
        (const struct ntk_region_instance *)regions->instances.items + slice->ref;
    const struct ntk_region *region = &regions->regions[instance->region];
    *out_index = slice->ref - region->first_instance;
    return region;
}

void ntk_timeline_put_busiest(const struct ntk_timeline *timeline, struct ntk_json *json)
{
    const struct ntk_region *best = NULL;
    size_t source = 0;

    for (size_t s = 0; s < timeline->source_count; s++) {
        const struct ntk_regions *regions = &timeline->regions[s]->regions;
        if (regions->region_count && (!best || regions->regions[0].total_ps > best->total_ps)) {
            best = &regions->regions[0]; /* regions are in this order */
            source = s;
        }
    }
    if (!best) {
        return;
    }
    int64_t offset_ps = timeline->sources[source].offset_ps - timeline->begin_ps;
    ntk_json_key_object_begin(json, "busiest");
    ntk_json_key_u64(json, "source", source);
    ntk_json_key_text(json, "name", best->name);
    ntk_json_key_text(json, "kind", ntk_region_kind_name(best->kind));
    ntk_json_key_u64(json, "count", best->count);
    ntk_json_key_i64(json, "from", best->start_ps + offset_ps);
    ntk_json_key_i64(json, "to", best->end_ps + offset_ps);
    ntk_json_object_end(json);
}
