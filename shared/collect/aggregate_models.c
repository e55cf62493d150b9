/* SPDX-License-Identifier: MIT */
/* aggregate_models - models of processes, and the series of their names. */
#include "shared/collect/aggregate_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/order.h"
#include "shared/base/str.h"

struct model_state *ntk_aggregate_model_state(struct runtime_state *runtime, uint32_t id)
{
    struct model_state *model;

    ntk_vec_each(struct model_state, known, &runtime->models) {
        if (known->id == id) {
            return known;
        }
    }
    model = ntk_vec_add(&runtime->models);
    if (model) {
        model->id = id;
    }
    return model;
}

void ntk_aggregate_execution(struct ntk_aggregate *aggregate, uint32_t model_id,
                             const struct ntk_slow_execution *execution)
{
    if (!aggregate->speaker_runtime) {
        return;
    }
    ntk_vec_each(struct model_state, model, &aggregate->speaker_runtime->models) {
        if (model->id == model_id && execution->duration_ns > model->slowest.duration_ns) {
            model->slowest = *execution;
        }
    }
}

static struct name_state *name_state(struct runtime_state *runtime, const char *name)
{
    struct name_state *state;

    ntk_vec_each(struct name_state, known, &runtime->names) {
        if (strcmp(known->name, name) == 0) {
            return known;
        }
    }
    if (runtime->names.count >= NTK_SEGMENT_MODELS) {
        return NULL; /* too many names in one process: the rest gets no series */
    }
    state = ntk_vec_add(&runtime->names);
    if (state) {
        state->name = strdup(name);
        if (!state->name) {
            ntk_vec_remove(&runtime->names, runtime->names.count - 1);
            return NULL;
        }
    }
    return state;
}

static bool is_zero(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i]) {
            return false;
        }
    }
    return true;
}

/* Returns the process's current count and the part that is new. */
static struct ntk_count count_take(uint64_t now, uint64_t *seen)
{
    struct ntk_count count = { .total = now, .period = ntk_aggregate_difference(now, *seen) };

    *seen = now;
    return count;
}

static void take_model(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                       const struct ntk_runtime_reading *reading,
                       const struct ntk_ring_model *model, struct model_state *state,
                       struct ntk_model_sample *out)
{
    bool software = reading->process->flags & NTK_PROCESS_SOFTWARE_CORE;
    struct name_state *name;
    bool moved;

    out->id = model->id;
    out->slowest = state->slowest;
    state->slowest = (struct ntk_slow_execution){ 0 };
    out->loaded = !reading->ended && model->state != NTK_MODEL_UNLOADED;
    out->core = model->core;
    out->core_count = model->core_count;
    out->estimated = (model->flags & NTK_PROCESS_ESTIMATED) != 0;
    out->memory_estimated = (model->flags & NTK_PROCESS_MEMORY_ESTIMATED) != 0;
    out->in_flight = reading->ended ? 0 : model->running;
    out->load_timestamp_ns = model->load_realtime_ns;
    out->load_ns = model->load_ns;
    out->executions = count_take(model->executions, &state->executions);
    out->errors = count_take(model->errors, &state->errors);
    out->node_switches = count_take(model->node_switches, &state->node_switches);
    out->starts = count_take(model->starts, &state->starts);
    out->stops = count_take(model->stops, &state->stops);
    out->is_running = out->executions.period > 0 || model->running > 0;
    moved = out->executions.period > 0;
    out->has = NTK_MODEL_HAS_TOTALS;
    if (reading->process->flags & NTK_PROCESS_NO_EXECUTIONS) {
        return;
    }
    out->has |= NTK_MODEL_HAS_EXECUTIONS | NTK_MODEL_HAS_IN_FLIGHT;
    if (model->flags & NTK_PROCESS_MODEL_FLOPS) {
        out->has |= NTK_MODEL_HAS_EFFECTIVE_FLOPS;
        out->effective_flops = count_take(model->effective_flops, &state->effective_flops);
    }
    if (!model->has_histogram || aggregate->no_model_latency) {
        state->moved = moved;
        return;
    }
    out->has |= NTK_MODEL_HAS_LATENCY | (software ? NTK_MODEL_HAS_DEVICE_LATENCY : 0u);
    if ((moved || state->moved || reading->ended) &&
        ntk_aggregate_read_model_histogram(aggregate, reading, model)) {
        out->total_latency =
            ntk_aggregate_take_histogram(aggregate, &state->total, &aggregate->histogram.total);
        if (software) {
            out->device_latency = ntk_aggregate_take_histogram(aggregate, &state->device,
                                                               &aggregate->histogram.device);
        }
        name = name_state(runtime, model->name);
        if (name) {
            ntk_latency_series_add(&name->total, &out->total_latency);
            ntk_latency_series_add(&name->device, &out->device_latency);
        }
    }
    state->moved = moved;
}

NTK_ORDER(compare_models, struct ntk_model_sample, NTK_UP(id));

int ntk_aggregate_take_models(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                              const struct ntk_runtime_reading *reading,
                              struct ntk_runtime_sample *out)
{
    struct ntk_model_sample *models =
        ntk_snapshot_alloc_models(aggregate->pending, out, reading->model_count);
    size_t listed = 0;

    out->has |= NTK_RUNTIME_HAS_MODELS;
    if (reading->model_count > 0 && !models) {
        return -ENOMEM;
    }
    ntk_vec_each(struct model_state, model, &runtime->models) {
        model->seen = false;
    }
    for (size_t i = 0; i < reading->model_count; i++) {
        const struct ntk_ring_model *model = &reading->models[i];
        struct ntk_model_sample sample = { .name = "", .neff_path = "" };
        struct model_state *state = ntk_aggregate_model_state(runtime, model->id);

        if (!state) {
            return -ENOMEM;
        }
        state->seen = true;
        take_model(aggregate, runtime, reading, model, state, &sample);
        if (sample.loaded || state->listed || sample.executions.period > 0 ||
            sample.total_latency.count > 0) {
            sample.name = ntk_snapshot_text(aggregate->pending, model->name);
            sample.neff_path = ntk_snapshot_text(aggregate->pending, model->neff_path);
            if (!is_zero(model->uuid, sizeof model->uuid)) {
                ntk_str_hex(sample.uuid, model->uuid, sizeof model->uuid);
            }
            models[listed++] = sample;
        }
        state->listed = sample.loaded;
    }
    for (size_t i = runtime->models.count; i-- > 0;) {
        struct model_state *model = ntk_vec_at(&runtime->models, i);

        if (!model->seen) {
            ntk_aggregate_free_model(model);
            ntk_vec_remove(&runtime->models, i);
        }
    }
    out->model_count = listed;
    if (listed > 0) {
        qsort(models, listed, sizeof *models, compare_models);
    }
    out->series = ntk_snapshot_alloc(aggregate->pending, runtime->names.count, sizeof *out->series);
    out->series_count = out->series ? runtime->names.count : 0;
    for (size_t i = 0; i < out->series_count; i++) {
        const struct name_state *name = ntk_vec_at(&runtime->names, i);

        out->series[i] = (struct ntk_model_series){
            .name = ntk_snapshot_text(aggregate->pending, name->name),
            .total = name->total,
            .device = name->device,
        };
    }
    return 0;
}
