/* SPDX-License-Identifier: MIT */
/* snapshot_memory - a runtime's memory: the vendor's groups, totals, and unknown parts. */
#include <string.h>

#include "shared/metrics/snapshot.h"

static const char *const category_keys[NTK_MEMORY_CATEGORY_COUNT] = {
#define NTK_MEMORY(id, symbol, name, location, sysfs, report_key, oom_row, ntff_type) report_key,
#include "shared/abi/memory.def"
#undef NTK_MEMORY
};

static enum ntk_memory_group find_group(enum ntk_memory_category category)
{
    bool host = ntk_memory_location_of(category) == NTK_MEMORY_HOST;
    int first = host ? NTK_GROUP_HOST_APPLICATION : NTK_GROUP_CONSTANTS;
    int end = host ? NTK_GROUP_CONSTANTS : NTK_GROUP_COUNT;

    for (int group = first; group < end; group++) {
        if (strcmp(ntk_memory_group_keys[group], category_keys[category]) == 0) {
            return (enum ntk_memory_group)group;
        }
    }
    return host ? NTK_GROUP_HOST_APPLICATION : NTK_GROUP_RUNTIME;
}

enum ntk_memory_group ntk_memory_group_of(enum ntk_memory_category category)
{
    /* Group + 1 by category; every thread computes the same values. */
    static _Atomic uint8_t found[NTK_MEMORY_CATEGORY_COUNT];
    uint8_t group = found[category];

    if (group == 0) {
        group = (uint8_t)(find_group(category) + 1);
        found[category] = group;
    }
    return (enum ntk_memory_group)(group - 1);
}

/* Returns true if a row makes the group known; memory without a category does not. */
static bool has_row_of(const struct ntk_memory_sample *rows, size_t count,
                       enum ntk_memory_group group)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i].category < NTK_MEMORY_CATEGORY_COUNT &&
            rows[i].category != NTK_MEMORY_UNCATEGORIZED &&
            ntk_memory_group_of((enum ntk_memory_category)rows[i].category) == group) {
            return true;
        }
    }
    return false;
}

static bool is_around_calls(const struct ntk_runtime_sample *runtime)
{
    return runtime->hooks == NTK_HOOKS_PRELOADED || runtime->hooks == NTK_HOOKS_ATTACHED;
}

bool ntk_snapshot_tells_group(const struct ntk_runtime_sample *runtime, enum ntk_memory_group group)
{
    if (runtime->hooks == NTK_HOOKS_UNKNOWN) {
        return !(runtime->has & NTK_RUNTIME_HAS_LISTED_MEMORY) ||
               has_row_of(runtime->memory, runtime->memory_count, group);
    }
    if (!is_around_calls(runtime)) {
        return true;
    }
    return group == NTK_GROUP_TENSORS || group == NTK_GROUP_HOST_TENSORS ||
           has_row_of(runtime->memory_by_category, runtime->memory_by_category_count, group) ||
           has_row_of(runtime->memory, runtime->memory_count, group);
}

bool ntk_snapshot_memory_is_estimated(const struct ntk_runtime_sample *runtime, uint32_t model_id)
{
    for (size_t i = 0; i < runtime->model_count; i++) {
        const struct ntk_model_sample *model = &runtime->models[i];

        if (model->memory_estimated && model->loaded &&
            (model_id == NTK_MEMORY_ANY || model->id == model_id)) {
            return true;
        }
    }
    return false;
}

static bool is_of(const struct ntk_memory_sample *row, uint32_t core, uint32_t model_id)
{
    return (core == NTK_MEMORY_ANY || row->core == core) &&
           (model_id == NTK_MEMORY_ANY || row->model_id == model_id) &&
           row->category < NTK_MEMORY_CATEGORY_COUNT;
}

void ntk_snapshot_memory_add(const struct ntk_runtime_sample *runtime, uint32_t core,
                             uint32_t model_id, uint64_t group[NTK_GROUP_COUNT],
                             uint64_t *host_bytes, uint64_t *device_bytes)
{
    uint64_t by_category[NTK_MEMORY_CATEGORY_COUNT] = { 0 };

    for (size_t i = 0; i < runtime->memory_count; i++) {
        const struct ntk_memory_sample *row = &runtime->memory[i];

        if (is_of(row, core, model_id)) {
            by_category[row->category] += row->current_bytes;
        }
    }
    for (int i = 0; i < NTK_MEMORY_CATEGORY_COUNT; i++) {
        enum ntk_memory_category category = (enum ntk_memory_category)i;
        uint64_t *bytes =
            ntk_memory_location_of(category) == NTK_MEMORY_HOST ? host_bytes : device_bytes;

        if (bytes) {
            *bytes += by_category[i];
        }
        if (group && by_category[i] > 0 &&
            !(i == NTK_MEMORY_UNCATEGORIZED && is_around_calls(runtime))) {
            group[ntk_memory_group_of(category)] += by_category[i];
        }
    }
}

bool ntk_snapshot_tells_memory(const struct ntk_runtime_sample *runtime)
{
    return runtime->has & NTK_RUNTIME_HAS_MEMORY &&
           (runtime->hooks == NTK_HOOKS_UNKNOWN ? !(runtime->has & NTK_RUNTIME_HAS_LISTED_MEMORY)
                                                : !is_around_calls(runtime));
}

/* Returns true if the process had memory; an ended process has none left. */
static bool had_memory(const struct ntk_runtime_sample *runtime, uint32_t core, int location)
{
    for (size_t i = 0; runtime->ended && i < runtime->memory_by_category_count; i++) {
        const struct ntk_memory_sample *row = &runtime->memory_by_category[i];

        if (row->location == location && is_of(row, core, NTK_MEMORY_ANY)) {
            return true;
        }
    }
    return false;
}

/* Returns true if rows list this location; a report from another tool also lists zeros. */
static bool lists_side(const struct ntk_runtime_sample *runtime, int location)
{
    int first = location == NTK_MEMORY_HOST ? NTK_GROUP_HOST_APPLICATION : NTK_GROUP_CONSTANTS;
    int end = location == NTK_MEMORY_HOST ? NTK_GROUP_CONSTANTS : NTK_GROUP_COUNT;

    for (int group = first; group < end; group++) {
        if (!ntk_snapshot_tells_group(runtime, (enum ntk_memory_group)group)) {
            return false;
        }
    }
    return runtime->hooks == NTK_HOOKS_UNKNOWN;
}

void ntk_snapshot_memory_total(const struct ntk_runtime_sample *runtime, uint32_t core,
                               uint32_t model_id, struct ntk_memory_total *out_host,
                               struct ntk_memory_total *out_device)
{
    bool is_listed[2];
    struct ntk_memory_total *sides[2] = {
        [NTK_MEMORY_HOST] = out_host, [NTK_MEMORY_DEVICE] = out_device
    };

    for (int i = 0; i < 2; i++) {
        is_listed[i] = lists_side(runtime, i);
        *sides[i] = (struct ntk_memory_total){
            .known = ntk_snapshot_tells_memory(runtime) || had_memory(runtime, core, i),
        };
    }
    for (size_t i = 0; runtime->has & NTK_RUNTIME_HAS_MEMORY && i < runtime->memory_count; i++) {
        const struct ntk_memory_sample *row = &runtime->memory[i];
        int location = row->location == NTK_MEMORY_DEVICE ? NTK_MEMORY_DEVICE : NTK_MEMORY_HOST;
        struct ntk_memory_total *side = sides[location];

        if (!is_of(row, core, model_id)) {
            continue;
        }
        side->bytes += row->current_bytes;
        side->known = side->known || is_listed[location] || row->current_bytes > 0;
        side->estimated = side->estimated ||
                          (row->category == NTK_MEMORY_UNCATEGORIZED && row->current_bytes > 0 &&
                           ntk_snapshot_memory_is_estimated(runtime, row->model_id));
    }
}
