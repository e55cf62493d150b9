/* SPDX-License-Identifier: MIT */
/* aggregate_memory - memory rows of processes, and sums by category. */
#include "shared/collect/aggregate_state.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/order.h"

NTK_ORDER(compare_memory, struct ntk_memory_sample, NTK_UP(core) NTK_UP(model_id) NTK_UP(category));

static bool has_device_row(const struct ntk_runtime_reading *reading, uint32_t model_id)
{
    for (size_t i = 0; i < reading->memory_count; i++) {
        if (reading->memory[i].model == model_id &&
            reading->memory[i].location == NTK_MEMORY_DEVICE) {
            return true;
        }
    }
    return false;
}

/* If a model's device memory was only measured around its load, only the total is known: it gets a
 * row without a category. */
static bool estimated_row(const struct ntk_runtime_reading *reading, size_t index,
                          struct ntk_ring_memory *out)
{
    const struct ntk_ring_model *model = &reading->models[index];

    if (!(model->flags & NTK_PROCESS_MEMORY_ESTIMATED) || model->state != NTK_MODEL_LOADED ||
        model->device_bytes == 0 || model->device_bytes > INT64_MAX ||
        has_device_row(reading, model->id)) {
        return false;
    }
    *out = (struct ntk_ring_memory){ .model = model->id,
                                     .core = model->core,
                                     .category = NTK_MEMORY_UNCATEGORIZED,
                                     .location = NTK_MEMORY_DEVICE,
                                     .current_bytes = model->device_bytes,
                                     .peak_bytes = model->device_bytes };
    return true;
}

static void take_row(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                     const struct ntk_ring_memory *row, bool ended, struct ntk_runtime_sample *out)
{
    size_t core = row->core < NTK_SEGMENT_CORES ? row->core : NTK_SEGMENT_CORES;

    if (row->category >= NTK_MEMORY_CATEGORY_COUNT) {
        return;
    }
    runtime->has_memory[core] = true;
    if (runtime->peaks[core][row->category] < row->peak_bytes) {
        runtime->peaks[core][row->category] = row->peak_bytes;
    }
    if (ended || (row->current_bytes == 0 && row->peak_bytes == 0)) {
        return;
    }
    aggregate->sums[core][row->category] += row->current_bytes;
    out->memory[out->memory_count++] = (struct ntk_memory_sample){
        .location = (uint16_t)ntk_memory_location_of((enum ntk_memory_category)row->category),
        .core = row->core < NTK_SEGMENT_CORES ? row->core : NTK_NO_CORE,
        .category = row->category,
        .model_id = row->model,
        .current_bytes = row->current_bytes,
        .peak_bytes = row->peak_bytes,
    };
}

/* Returns the next index from which a core, or no core, has memory; NTK_SEGMENT_CORES + 1 after the
 * last. */
static size_t next_with_memory(const struct runtime_state *runtime, size_t from)
{
    static_assert(sizeof(bool) == 1, "found by memchr()");
    const bool *found = from <= NTK_SEGMENT_CORES ? memchr(&runtime->has_memory[from], true,
                                                           sizeof runtime->has_memory - from)
                                                  : NULL;

    return found ? (size_t)(found - runtime->has_memory) : NTK_SEGMENT_CORES + 1;
}

int ntk_aggregate_take_memory(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                              const struct ntk_runtime_reading *reading,
                              struct ntk_runtime_sample *out)
{
    size_t groups = 0;
    size_t at = 0;

    out->has |= NTK_RUNTIME_HAS_MEMORY;
    out->memory = ntk_snapshot_alloc(
        aggregate->pending, reading->memory_count + reading->model_count, sizeof *out->memory);
    if (reading->memory_count + reading->model_count > 0 && !out->memory) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < reading->memory_count; i++) {
        take_row(aggregate, runtime, &reading->memory[i], reading->ended, out);
    }
    for (size_t i = 0; i < reading->model_count; i++) {
        struct ntk_ring_memory row;

        if (estimated_row(reading, i, &row)) {
            take_row(aggregate, runtime, &row, reading->ended, out);
        }
    }
    if (out->memory_count > 0) {
        qsort(out->memory, out->memory_count, sizeof *out->memory, compare_memory);
    }
    for (size_t core = 0; (core = next_with_memory(runtime, core)) <= NTK_SEGMENT_CORES; core++) {
        for (size_t category = 0; category < NTK_MEMORY_CATEGORY_COUNT; category++) {
            if (runtime->peaks[core][category] < aggregate->sums[core][category]) {
                runtime->peaks[core][category] = aggregate->sums[core][category];
            }
            groups += runtime->peaks[core][category] > 0;
        }
    }
    out->memory_by_category =
        ntk_snapshot_alloc(aggregate->pending, groups, sizeof *out->memory_by_category);
    if (groups > 0 && !out->memory_by_category) {
        memset(aggregate->sums, 0, sizeof aggregate->sums);
        return -ENOMEM;
    }
    for (size_t core = 0; (core = next_with_memory(runtime, core)) <= NTK_SEGMENT_CORES; core++) {
        for (size_t category = 0; category < NTK_MEMORY_CATEGORY_COUNT; category++) {
            if (runtime->peaks[core][category] > 0) {
                out->memory_by_category[at++] = (struct ntk_memory_sample){
                    .location =
                        (uint16_t)ntk_memory_location_of((enum ntk_memory_category)category),
                    .core = (uint16_t)(core < NTK_SEGMENT_CORES ? core : NTK_NO_CORE),
                    .category = (uint16_t)category,
                    .current_bytes = aggregate->sums[core][category],
                    .peak_bytes = runtime->peaks[core][category],
                };
            }
        }
    }
    out->memory_by_category_count = at;
    /* Clear the sums for the next process. */
    for (size_t core = 0; (core = next_with_memory(runtime, core)) <= NTK_SEGMENT_CORES; core++) {
        memset(aggregate->sums[core], 0, sizeof aggregate->sums[core]);
    }
    return 0;
}
