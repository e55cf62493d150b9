/* SPDX-License-Identifier: MIT */
/* Processes: cumulative readings to differences, first sight to end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"
#include "shared/collect/aggregate_state.h"

static int replace_text(char **to, const char *from)
{
    char *copy = strdup(from);

    if (!copy) {
        return -ENOMEM;
    }
    free(*to);
    *to = copy;
    return 0;
}

static void free_unwatched(struct unwatched *unwatched)
{
    if (unwatched) {
        free(unwatched->total.entries);
        free(unwatched->device.entries);
        free(unwatched);
    }
}

static void free_model(struct model_state *model)
{
    free(model->total.entries);
    free(model->device.entries);
}

void ntk_aggregate_free_runtime(struct ntk_aggregate *aggregate, struct runtime_state *runtime)
{
    if (!runtime) {
        return;
    }
    if (aggregate->context_free && runtime->process.context) {
        aggregate->context_free(runtime->process.context);
    }
    for (size_t i = 0; i < NTK_SEGMENT_CORES; i++) {
        if (runtime->cores[i]) {
            free(runtime->cores[i]->total.entries);
            free(runtime->cores[i]->device.entries);
            free_unwatched(runtime->cores[i]->unwatched);
            free(runtime->cores[i]);
        }
    }
    ntk_vec_each(struct model_state, model, &runtime->models) {
        free_model(model);
    }
    ntk_vec_each(struct name_state, name, &runtime->names) {
        free(name->name);
    }
    ntk_vec_fini(&runtime->models);
    ntk_vec_fini(&runtime->names);
    free(runtime->peaks);
    free(runtime->command);
    free(runtime->user);
    free(runtime->container);
    free(runtime->key);
    free(runtime);
}

/* ---- histograms ---- */

static int set_baseline(struct baseline *base, const struct ntk_histogram_dense *dense)
{
    size_t used = ntk_histogram_dense_entries(dense, base->entries, base->capacity);

    if (used > base->capacity) {
        size_t capacity = used + used / 2 + 8;
        struct ntk_histogram_entry *entries = realloc(base->entries, capacity * sizeof *entries);

        if (!entries) {
            return -ENOMEM;
        }
        base->entries = entries;
        base->capacity = capacity;
        used = ntk_histogram_dense_entries(dense, base->entries, base->capacity);
    }
    base->count = used;
    base->sum_ns = dense->sum_ns;
    return 0;
}

static void load_dense(struct ntk_histogram_dense *dense, const uint64_t *buckets, uint64_t sum_ns)
{
    uint64_t count = 0;

    for (size_t i = 0; i < NTK_HISTOGRAM_BUCKETS; i++) {
        dense->bucket[i] = buckets[i];
        count += buckets[i];
    }
    dense->count = count;
    dense->sum_ns = sum_ns;
}

static void subtract_baseline(struct ntk_histogram_dense *dense, const struct baseline *base)
{
    for (size_t i = 0; i < base->count; i++) {
        uint64_t *bucket = &dense->bucket[base->entries[i].bucket];

        *bucket = ntk_aggregate_difference(*bucket, base->entries[i].count);
    }
    dense->sum_ns = ntk_aggregate_difference(dense->sum_ns, base->sum_ns);
}

/* The difference to the baseline, which becomes the reading. */
static struct ntk_histogram take_histogram(struct ntk_aggregate *aggregate, struct baseline *base,
                                           const uint64_t *buckets, uint64_t sum_ns)
{
    struct ntk_histogram_dense *dense = &aggregate->dense;
    struct baseline old = *base;
    struct ntk_histogram out;

    load_dense(dense, buckets, sum_ns);
    *base = (struct baseline){ 0 };
    if (set_baseline(base, dense) < 0) {
        *base = old;
        return (struct ntk_histogram){ 0 };
    }
    subtract_baseline(dense, &old);
    free(old.entries);
    out = ntk_snapshot_histogram(aggregate->pending, dense);
    if (out.count == 0) {
        out.sum_ns = 0;
    }
    return out;
}

static int start_baseline(struct ntk_aggregate *aggregate, struct baseline *base,
                          const uint64_t *buckets, uint64_t sum_ns)
{
    load_dense(&aggregate->dense, buckets, sum_ns);
    return set_baseline(base, &aggregate->dense);
}

static int stored_baseline(struct ntk_aggregate *aggregate, struct baseline *base,
                           const struct ntk_histogram *stored)
{
    ntk_histogram_dense_reset(&aggregate->dense);
    ntk_histogram_dense_merge(&aggregate->dense, stored);
    return set_baseline(base, &aggregate->dense);
}

/* ---- runtimes ---- */

static struct runtime_state *find_runtime(const struct ntk_aggregate *aggregate, const char *key)
{
    return ntk_map_get(&aggregate->by_key, key);
}

bool ntk_aggregate_knows(const struct ntk_aggregate *aggregate, const char *key)
{
    return find_runtime(aggregate, key) != NULL;
}

static void core_counters(const struct ntk_ring_core *core, uint64_t out[COUNTER_COUNT])
{
    const struct ntk_segment_core *c = &core->counters;

    out[COUNTER_BUSY] = core->busy_ns;
    for (size_t i = 0; i < NTK_ENGINE_COUNT; i++) {
        out[COUNTER_ENGINE + i] = c->engine_busy_ns[i];
    }
    out[COUNTER_FLOPS] = c->flops;
    out[COUNTER_EFFECTIVE_FLOPS] = c->effective_flops;
    out[COUNTER_HBM_READ] = c->hbm_bytes_read;
    out[COUNTER_HBM_WRITTEN] = c->hbm_bytes_written;
    out[COUNTER_DMA] = c->dma_bytes;
    for (size_t i = 0; i < NTK_OUTCOME_COUNT; i++) {
        out[COUNTER_OUTCOME + i] = c->outcome[i];
    }
    for (size_t i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        out[COUNTER_ERROR + i] = c->error_class[i];
    }
    out[COUNTER_TO_DEVICE] = c->host_to_device_bytes;
    out[COUNTER_FROM_DEVICE] = c->device_to_host_bytes;
}

static void counters_of_sample(const struct ntk_core_sample *sample, uint64_t out[COUNTER_COUNT])
{
    out[COUNTER_BUSY] = sample->busy_ns.total;
    for (size_t i = 0; i < NTK_ENGINE_COUNT; i++) {
        out[COUNTER_ENGINE + i] = sample->engine_busy_ns[i].total;
    }
    out[COUNTER_FLOPS] = sample->flops.total;
    out[COUNTER_EFFECTIVE_FLOPS] = sample->effective_flops.total;
    out[COUNTER_HBM_READ] = sample->hbm_bytes_read.total;
    out[COUNTER_HBM_WRITTEN] = sample->hbm_bytes_written.total;
    out[COUNTER_DMA] = sample->dma_bytes.total;
    for (size_t i = 0; i < NTK_OUTCOME_COUNT; i++) {
        out[COUNTER_OUTCOME + i] = sample->outcome[i].total;
    }
    for (size_t i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        out[COUNTER_ERROR + i] = sample->error_class[i].total;
    }
    out[COUNTER_TO_DEVICE] = sample->host_to_device_bytes.total;
    out[COUNTER_FROM_DEVICE] = sample->device_to_host_bytes.total;
}

void ntk_aggregate_fill_core(struct ntk_core_sample *sample, const uint64_t period[COUNTER_COUNT],
                             const uint64_t total[COUNTER_COUNT])
{
#define COUNT_AT(index) ((struct ntk_count){ .period = period[index], .total = total[index] })
    sample->busy_ns = COUNT_AT(COUNTER_BUSY);
    for (size_t i = 0; i < NTK_ENGINE_COUNT; i++) {
        sample->engine_busy_ns[i] = COUNT_AT(COUNTER_ENGINE + i);
    }
    sample->flops = COUNT_AT(COUNTER_FLOPS);
    sample->effective_flops = COUNT_AT(COUNTER_EFFECTIVE_FLOPS);
    sample->hbm_bytes_read = COUNT_AT(COUNTER_HBM_READ);
    sample->hbm_bytes_written = COUNT_AT(COUNTER_HBM_WRITTEN);
    sample->dma_bytes = COUNT_AT(COUNTER_DMA);
    for (size_t i = 0; i < NTK_OUTCOME_COUNT; i++) {
        sample->outcome[i] = COUNT_AT(COUNTER_OUTCOME + i);
    }
    for (size_t i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        sample->error_class[i] = COUNT_AT(COUNTER_ERROR + i);
    }
    sample->host_to_device_bytes = COUNT_AT(COUNTER_TO_DEVICE);
    sample->device_to_host_bytes = COUNT_AT(COUNTER_FROM_DEVICE);
#undef COUNT_AT
}

static struct core_state *core_state(struct runtime_state *runtime, uint32_t core)
{
    if (core >= NTK_SEGMENT_CORES) {
        return NULL;
    }
    if (!runtime->cores[core]) {
        runtime->cores[core] = calloc(1, sizeof *runtime->cores[core]);
    }
    return runtime->cores[core];
}

/* What is between the baseline, which stays, and the first reading. Without memory it is watched. */
static void see_unwatched(struct ntk_aggregate *aggregate,
                          const struct ntk_runtime_reading *reading,
                          const struct ntk_ring_core *core, struct core_state *state)
{
    struct ntk_ring_histogram *histogram = &aggregate->histogram;
    struct unwatched *unwatched = calloc(1, sizeof *unwatched);
    uint64_t any = 0;

    if (!unwatched) {
        return;
    }
    core_counters(core, unwatched->counts);
    for (size_t i = 0; i < COUNTER_COUNT; i++) {
        unwatched->counts[i] = ntk_aggregate_difference(unwatched->counts[i], state->base[i]);
        any |= unwatched->counts[i];
    }
    if (core->busy_ns < state->base[COUNTER_BUSY]) {
        unwatched->counts[COUNTER_BUSY] = 0; /* as take_core() has it: busy time only waits */
    }
    if (any && core->has_histogram &&
        reading->core_histogram(reading->ctx, core->core, histogram) == 0) {
        load_dense(&aggregate->dense, histogram->total, histogram->total_sum_ns);
        subtract_baseline(&aggregate->dense, &state->total);
        set_baseline(&unwatched->total, &aggregate->dense);
        load_dense(&aggregate->dense, histogram->device, histogram->device_sum_ns);
        subtract_baseline(&aggregate->dense, &state->device);
        set_baseline(&unwatched->device, &aggregate->dense);
    }
    if (any) {
        state->unwatched = unwatched;
    } else {
        free_unwatched(unwatched);
    }
}

static struct ntk_histogram histogram_of(struct ntk_aggregate *aggregate,
                                         const struct baseline *base)
{
    struct ntk_histogram all = { .sum_ns = base->sum_ns,
                                 .entries = base->entries,
                                 .entry_count = base->count };

    for (size_t i = 0; i < base->count; i++) {
        all.count += base->entries[i].count;
    }
    ntk_histogram_dense_reset(&aggregate->dense);
    ntk_histogram_dense_merge(&aggregate->dense, &all);
    return ntk_snapshot_histogram(aggregate->pending, &aggregate->dense);
}

/* The part of a first period that nobody watched; at most the period. */
static const struct ntk_core_sample *take_unwatched(struct ntk_aggregate *aggregate,
                                                    struct core_state *state,
                                                    const uint64_t period[COUNTER_COUNT],
                                                    bool software)
{
    static const uint64_t no_total[COUNTER_COUNT];
    struct unwatched *unwatched = state->unwatched;
    struct ntk_core_sample *out = ntk_snapshot_alloc(aggregate->pending, 1, sizeof *out);

    if (out) {
        for (size_t i = 0; i < COUNTER_COUNT; i++) {
            unwatched->counts[i] =
                unwatched->counts[i] < period[i] ? unwatched->counts[i] : period[i];
        }
        ntk_aggregate_fill_core(out, unwatched->counts, no_total);
        out->total_latency = histogram_of(aggregate, &unwatched->total);
        if (software) {
            out->device_latency = histogram_of(aggregate, &unwatched->device);
        }
    }
    free_unwatched(unwatched);
    state->unwatched = NULL;
    return out;
}

/* Totals stored of an earlier collector's time. */
static bool start_from_stored(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                              const struct ntk_runtime_reading *reading)
{
    const struct ntk_collector_options *collector = aggregate->options.collector;
    struct ntk_core_sample *stored;
    size_t count = 0;
    bool found;

    if (!collector || !collector->totals_get) {
        return false;
    }
    stored = calloc(NTK_SEGMENT_CORES, sizeof *stored);
    if (!stored) {
        return false;
    }
    found = collector->totals_get(aggregate->boot_id ? aggregate->boot_id : "",
                                  reading->process->own_pid, reading->process->start_time, stored,
                                  NTK_SEGMENT_CORES, &count, collector->totals_ctx);
    for (size_t i = 0; found && i < count && i < NTK_SEGMENT_CORES; i++) {
        struct core_state *core = core_state(runtime, stored[i].core);

        if (!core) {
            continue;
        }
        counters_of_sample(&stored[i], core->base);
        core->known = true;
        core->moved = true;
        stored_baseline(aggregate, &core->total, &stored[i].total_latency);
        stored_baseline(aggregate, &core->device, &stored[i].device_latency);
    }
    /* What it did since then is counted, but a share of the first period is of what was watched. */
    for (size_t i = 0; found && i < reading->core_count; i++) {
        struct core_state *core = core_state(runtime, reading->cores[i].core);

        if (core) {
            core->read_ns = reading->cores[i].read_monotonic_ns;
            see_unwatched(aggregate, reading, &reading->cores[i], core);
        }
    }
    free(stored);
    return found;
}

static int start_from_now(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                          const struct ntk_runtime_reading *reading)
{
    struct ntk_ring_histogram *histogram = &aggregate->histogram;

    for (size_t i = 0; i < reading->core_count; i++) {
        struct core_state *core = core_state(runtime, reading->cores[i].core);

        if (reading->cores[i].core >= NTK_SEGMENT_CORES) {
            continue;
        }
        if (!core) {
            return -ENOMEM;
        }
        core_counters(&reading->cores[i], core->base);
        core->read_ns = reading->cores[i].read_monotonic_ns;
        core->known = true;
        if (reading->cores[i].has_histogram &&
            reading->core_histogram(reading->ctx, reading->cores[i].core, histogram) == 0) {
            start_baseline(aggregate, &core->total, histogram->total, histogram->total_sum_ns);
            start_baseline(aggregate, &core->device, histogram->device, histogram->device_sum_ns);
        }
    }
    return 0;
}

static int start_models_from_now(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                                 const struct ntk_runtime_reading *reading)
{
    struct ntk_ring_histogram *histogram = &aggregate->histogram;

    for (size_t i = 0; i < reading->model_count; i++) {
        struct model_state *model = ntk_vec_add(&runtime->models);

        if (!model) {
            return -ENOMEM;
        }
        model->id = reading->models[i].id;
        model->executions = reading->models[i].executions;
        model->errors = reading->models[i].errors;
        model->effective_flops = reading->models[i].effective_flops;
        model->listed = reading->models[i].state != NTK_MODEL_UNLOADED;
        if (reading->models[i].has_histogram &&
            reading->model_histogram(reading->ctx, &reading->models[i], histogram) == 0) {
            start_baseline(aggregate, &model->total, histogram->total, histogram->total_sum_ns);
            start_baseline(aggregate, &model->device, histogram->device, histogram->device_sum_ns);
        }
    }
    return 0;
}

int ntk_aggregate_runtime_first(struct ntk_aggregate *aggregate,
                                const struct ntk_runtime_reading *reading)
{
    struct runtime_state *runtime = calloc(1, sizeof *runtime);
    bool older = reading->process->clock.monotonic_ns < aggregate->options.begin_monotonic_ns;
    int ret = -ENOMEM;

    if (!runtime) {
        return -ENOMEM;
    }
    ntk_vec_init(&runtime->models, sizeof(struct model_state));
    ntk_vec_init(&runtime->names, sizeof(struct name_state));
    runtime->key = strdup(reading->key);
    runtime->peaks = calloc(NTK_SEGMENT_CORES + 1, sizeof *runtime->peaks);
    runtime->process.pid = reading->process->pid;
    runtime->process.start_time = reading->process->start_time;
    if (!runtime->key || !runtime->peaks) {
        goto out;
    }
    if (older) {
        runtime->events_read_base = reading->events_read;
        runtime->events_lost_base = reading->events_lost;
        if (!start_from_stored(aggregate, runtime, reading) &&
            start_from_now(aggregate, runtime, reading) < 0) {
            goto out;
        }
        if (start_models_from_now(aggregate, runtime, reading) < 0) {
            goto out;
        }
    }
    if (ntk_map_put(&aggregate->by_key, runtime->key, runtime) < 0) {
        goto out;
    }
    if (ntk_vec_push(&aggregate->runtimes, &runtime) < 0) {
        ntk_map_remove(&aggregate->by_key, runtime->key);
        goto out;
    }
    return 0;

out:
    ntk_aggregate_free_runtime(aggregate, runtime);
    return ret;
}

static void add_count(struct ntk_count *into, struct ntk_count from)
{
    into->period += from.period;
    into->total += from.total;
}

/* One core of one reading: differences into out, baselines moved on. */
static void take_core(struct ntk_aggregate *aggregate, const struct ntk_runtime_reading *reading,
                      const struct ntk_ring_core *core, struct core_state *state,
                      struct ntk_core_sample *out)
{
    bool software = reading->process->flags & NTK_PROCESS_SOFTWARE_CORE;
    struct machine_core *machine = &aggregate->cores[core->core];
    uint64_t total[COUNTER_COUNT];
    uint64_t period[COUNTER_COUNT];
    bool moved = false;

    core_counters(core, total);
    /* "Now - since" of a running execution may end a little above what it is in the end, and a killed
     * writer's line stands still: busy time only waits then, it never starts anew. */
    if (total[COUNTER_BUSY] < state->base[COUNTER_BUSY]) {
        total[COUNTER_BUSY] = state->base[COUNTER_BUSY];
    }
    for (size_t i = 0; i < COUNTER_COUNT; i++) {
        period[i] = ntk_aggregate_difference(total[i], state->base[i]);
        state->base[i] = total[i];
        machine->period[i] += period[i];
    }
    if (state->unwatched) {
        out->unwatched = take_unwatched(aggregate, state, period, software);
        machine->unwatched_ns += out->unwatched ? out->unwatched->busy_ns.period : 0;
    }
    /* Readings are taken a little before or after the period's ends: their own distance is what a core
     * can have been busy. A process that came or went meanwhile was idle for the rest of the period. */
    state->window_ns = state->read_ns > 0 && !reading->ended
                           ? ntk_aggregate_difference(core->read_monotonic_ns, state->read_ns)
                           : 0;
    state->read_ns = core->read_monotonic_ns;
    if (period[COUNTER_BUSY] > 0) {
        machine->window_known = state->window_ns > 0 && (machine->window_known || !machine->busy);
        machine->window_ns =
            machine->window_ns > state->window_ns ? machine->window_ns : state->window_ns;
        machine->busy = true;
    }
    ntk_aggregate_fill_core(out, period, total);
    out->core = core->core;
    out->has = CORE_HAS_ALWAYS | (software ? CORE_HAS_SOFTWARE : 0u);
    machine->has_segment |= out->has;
    if (!reading->ended) {
        out->in_flight = core->in_flight;
        machine->in_flight += core->in_flight;
    }
    if (!core->has_histogram) {
        out->has &= ~(uint32_t)(NTK_CORE_HAS_LATENCY | NTK_CORE_HAS_DEVICE_LATENCY);
        return;
    }
    for (size_t i = 0; i < NTK_OUTCOME_COUNT; i++) {
        moved = moved || period[COUNTER_OUTCOME + i] > 0;
    }
    if ((moved || state->moved || reading->ended) &&
        reading->core_histogram(reading->ctx, core->core, &aggregate->histogram) == 0) {
        out->total_latency = take_histogram(aggregate, &state->total, aggregate->histogram.total,
                                            aggregate->histogram.total_sum_ns);
        if (software) {
            out->device_latency =
                take_histogram(aggregate, &state->device, aggregate->histogram.device,
                               aggregate->histogram.device_sum_ns);
        }
    }
    /* A count may be seen before its histogram: look once more after the last change. */
    state->moved = moved;
}

static bool core_moved(const struct ntk_core_sample *core)
{
    return core->busy_ns.period > 0 || core->total_latency.count > 0 ||
           ntk_snapshot_outcome_sum(core->outcome) > 0 || core->host_to_device_bytes.period > 0 ||
           core->device_to_host_bytes.period > 0;
}

static int take_cores(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                      const struct ntk_runtime_reading *reading, struct ntk_runtime_sample *out)
{
    size_t listed = 0;

    ntk_histogram_dense_reset(&aggregate->merged_total);
    ntk_histogram_dense_reset(&aggregate->merged_device);
    out->cores = ntk_snapshot_alloc(aggregate->pending, reading->core_count, sizeof *out->cores);
    if (reading->core_count > 0 && !out->cores) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < reading->core_count; i++) {
        struct ntk_core_sample sample = { 0 };
        struct core_state *state = core_state(runtime, reading->cores[i].core);

        if (reading->cores[i].core >= NTK_SEGMENT_CORES) {
            continue; /* nonsense of one process must not stop the others */
        }
        if (!state) {
            return -ENOMEM;
        }
        take_core(aggregate, reading, &reading->cores[i], state, &sample);
        for (size_t k = 0; k < NTK_OUTCOME_COUNT; k++) {
            add_count(&out->outcome[k], sample.outcome[k]);
        }
        for (size_t k = 0; k < NTK_ERROR_CLASS_COUNT; k++) {
            add_count(&out->error_class[k], sample.error_class[k]);
        }
        out->in_flight += sample.in_flight;
        ntk_histogram_dense_merge(&aggregate->merged_total, &sample.total_latency);
        ntk_histogram_dense_merge(&aggregate->merged_device, &sample.device_latency);
        if (reading->cores[i].owned || core_moved(&sample)) {
            out->cores[listed++] = sample;
        }
    }
    out->core_count = listed;
    out->total_latency = ntk_snapshot_histogram(aggregate->pending, &aggregate->merged_total);
    out->has_device_latency = reading->process->flags & NTK_PROCESS_SOFTWARE_CORE;
    out->device_latency = ntk_snapshot_histogram(aggregate->pending, &aggregate->merged_device);
    out->has |= NTK_RUNTIME_HAS_EXECUTIONS | NTK_RUNTIME_HAS_CORES;
    return 0;
}

static struct model_state *model_state(struct runtime_state *runtime, uint32_t id)
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

static struct name_state *name_state(struct runtime_state *runtime, const char *name)
{
    struct name_state *state;

    ntk_vec_each(struct name_state, known, &runtime->names) {
        if (strcmp(known->name, name) == 0) {
            return known;
        }
    }
    if (runtime->names.count >= NTK_SEGMENT_MODELS) {
        return NULL; /* a process that loads endless names: no series for the rest */
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

static void take_model(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                       const struct ntk_runtime_reading *reading,
                       const struct ntk_ring_model *model, struct model_state *state,
                       struct ntk_model_sample *out)
{
    bool software = reading->process->flags & NTK_PROCESS_SOFTWARE_CORE;
    struct name_state *name;
    bool moved;

    out->id = model->id;
    out->loaded = !reading->ended && model->state != NTK_MODEL_UNLOADED;
    out->core = model->core;
    out->core_count = model->core_count;
    out->estimated = (model->flags & NTK_PROCESS_ESTIMATED) != 0;
    out->in_flight = reading->ended ? 0 : model->running;
    out->load_realtime_ns = model->load_realtime_ns;
    out->load_ns = model->load_ns;
    out->executions.total = model->executions;
    out->executions.period = ntk_aggregate_difference(model->executions, state->executions);
    out->errors.total = model->errors;
    out->errors.period = ntk_aggregate_difference(model->errors, state->errors);
    out->is_running = out->executions.period > 0 || model->running > 0;
    moved = out->executions.period > 0;
    state->executions = model->executions;
    state->errors = model->errors;
    out->has = NTK_MODEL_HAS_EXECUTIONS | NTK_MODEL_HAS_IN_FLIGHT;
    if (model->flags & NTK_PROCESS_MODEL_FLOPS) {
        out->has |= NTK_MODEL_HAS_EFFECTIVE_FLOPS;
        out->effective_flops.total = model->effective_flops;
        out->effective_flops.period =
            ntk_aggregate_difference(model->effective_flops, state->effective_flops);
        state->effective_flops = model->effective_flops;
    }
    if (!model->has_histogram) {
        state->moved = moved;
        return;
    }
    out->has |= NTK_MODEL_HAS_LATENCY | (software ? NTK_MODEL_HAS_DEVICE_LATENCY : 0u);
    if ((moved || state->moved || reading->ended) &&
        reading->model_histogram(reading->ctx, model, &aggregate->histogram) == 0) {
        out->total_latency = take_histogram(aggregate, &state->total, aggregate->histogram.total,
                                            aggregate->histogram.total_sum_ns);
        if (software) {
            out->device_latency =
                take_histogram(aggregate, &state->device, aggregate->histogram.device,
                               aggregate->histogram.device_sum_ns);
        }
        name = name_state(runtime, model->name);
        if (name) {
            ntk_latency_series_add(&name->total, &out->total_latency);
            ntk_latency_series_add(&name->device, &out->device_latency);
        }
    }
    state->moved = moved;
}

static int compare_models(const void *a, const void *b)
{
    const struct ntk_model_sample *x = a;
    const struct ntk_model_sample *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

static int take_models(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                       const struct ntk_runtime_reading *reading, struct ntk_runtime_sample *out)
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
        struct model_state *state = model_state(runtime, model->id);

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
            free_model(model);
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

static int compare_memory(const void *a, const void *b)
{
    const struct ntk_memory_sample *x = a;
    const struct ntk_memory_sample *y = b;

    if (x->core != y->core) {
        return x->core < y->core ? -1 : 1;
    }
    if (x->model_id != y->model_id) {
        return x->model_id < y->model_id ? -1 : 1;
    }
    return x->category < y->category ? -1 : x->category > y->category;
}

static int take_memory(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                       const struct ntk_runtime_reading *reading, struct ntk_runtime_sample *out)
{
    size_t groups = 0;
    size_t at = 0;

    out->has |= NTK_RUNTIME_HAS_MEMORY;
    memset(aggregate->sums, 0, sizeof aggregate->sums);
    out->memory =
        ntk_snapshot_alloc(aggregate->pending, reading->memory_count, sizeof *out->memory);
    if (reading->memory_count > 0 && !out->memory) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < reading->memory_count; i++) {
        const struct ntk_ring_memory *row = &reading->memory[i];
        size_t core = row->core < NTK_SEGMENT_CORES ? row->core : NTK_SEGMENT_CORES;

        if (row->category >= NTK_MEMORY_CATEGORY_COUNT) {
            continue;
        }
        if (runtime->peaks[core][row->category] < row->peak_bytes) {
            runtime->peaks[core][row->category] = row->peak_bytes;
        }
        if (reading->ended || (row->current_bytes == 0 && row->peak_bytes == 0)) {
            continue;
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
    if (out->memory_count > 0) {
        qsort(out->memory, out->memory_count, sizeof *out->memory, compare_memory);
    }
    for (size_t core = 0; core <= NTK_SEGMENT_CORES; core++) {
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
        return -ENOMEM;
    }
    for (size_t core = 0; core <= NTK_SEGMENT_CORES; core++) {
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
    return 0;
}

static void take_identity(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                          const struct ntk_runtime_reading *reading, struct ntk_runtime_sample *out)
{
    struct ntk_snapshot *pending = aggregate->pending;
    const struct ntk_ring_process *process = reading->process;

    runtime->process.pid = process->pid;
    out->pid = process->pid;
    out->header_pid = process->own_pid;
    out->start_time = process->start_time;
    out->uid = process->uid;
    out->software = process->flags & NTK_PROCESS_SOFTWARE_CORE;
    out->ended = reading->ended;
    out->lnc = process->lnc == 2 ? 2 : 1;
    out->tag = process->tag[0] ? ntk_snapshot_text(pending, process->tag)
                               : ntk_snapshot_format(pending, "%u", process->pid);
    out->error = out->cpu_error = "";
    out->pod = (struct ntk_pod){ "", "", "" };
    out->runtime_version = ntk_snapshot_text(pending, process->runtime_version);
    out->framework_version = ntk_snapshot_text(pending, process->framework_version);
    out->instance_type = ntk_snapshot_text(pending, process->instance_type);
    out->command =
        ntk_snapshot_text(pending, runtime->command ? runtime->command : process->command);
    out->container = ntk_snapshot_text(pending, runtime->container);
    out->user = runtime->user ? ntk_snapshot_text(pending, runtime->user)
                              : ntk_snapshot_format(pending, "%u", process->uid);
}

int ntk_aggregate_runtime(struct ntk_aggregate *aggregate,
                          const struct ntk_runtime_reading *reading)
{
    struct runtime_state *runtime = find_runtime(aggregate, reading->key);
    struct ntk_runtime_sample *out;
    int ret;

    if (!runtime) {
        return -ENOENT;
    }
    if (runtime->sampled) {
        return 0; /* one per period; an ended process has said all */
    }
    out = &runtime->sample;
    memset(out, 0, sizeof *out);
    take_identity(aggregate, runtime, reading, out);
    out->first = !runtime->emitted;
    runtime->sampled = true;
    runtime->ended = reading->ended;
    ret = take_cores(aggregate, runtime, reading, out);
    if (ret == 0) {
        ret = take_models(aggregate, runtime, reading, out);
    }
    if (ret == 0) {
        ret = take_memory(aggregate, runtime, reading, out);
    }
    out->events_read.total =
        ntk_aggregate_difference(reading->events_read, runtime->events_read_base);
    out->events_read.period =
        ntk_aggregate_difference(out->events_read.total, runtime->events_read);
    out->events_lost.total =
        ntk_aggregate_difference(reading->events_lost, runtime->events_lost_base);
    out->events_lost.period =
        ntk_aggregate_difference(out->events_lost.total, runtime->events_lost);
    runtime->events_read = out->events_read.total;
    runtime->events_lost = out->events_lost.total;
    return ret;
}

/* ---- processes ---- */

static struct runtime_state *runtime_at(const struct ntk_aggregate *aggregate, size_t index)
{
    return *(struct runtime_state **)ntk_vec_at(&aggregate->runtimes, index);
}

size_t ntk_aggregate_process_count(const struct ntk_aggregate *aggregate)
{
    return aggregate->runtimes.count;
}

struct ntk_aggregate_process *ntk_aggregate_process_get(struct ntk_aggregate *aggregate,
                                                        size_t index)
{
    struct runtime_state *runtime = runtime_at(aggregate, index);

    return runtime->ended ? NULL : &runtime->process;
}

void ntk_aggregate_on_process_gone(struct ntk_aggregate *aggregate, void (*context_free)(void *))
{
    aggregate->context_free = context_free;
}

void ntk_aggregate_process_usage(struct ntk_aggregate *aggregate, size_t index, uint64_t user_ticks,
                                 uint64_t system_ticks, uint64_t rss_pages)
{
    struct runtime_state *runtime = runtime_at(aggregate, index);
    struct ntk_runtime_sample *out = &runtime->sample;
    bool had_base = runtime->has_usage_base;
    uint64_t user = ntk_aggregate_difference(user_ticks, runtime->user_base);
    uint64_t system = ntk_aggregate_difference(system_ticks, runtime->system_base);

    runtime->has_usage_base = true;
    runtime->user_base = user_ticks;
    runtime->system_base = system_ticks;
    if (!runtime->sampled) {
        return;
    }
    out->has |= NTK_RUNTIME_HAS_RSS;
    out->rss_bytes = rss_pages * aggregate->options.page_bytes;
    if (had_base) { /* else nothing says what of it this period used: not known, not zero */
        /* Ticks for now; finish() knows how long the period was. */
        out->has |= NTK_RUNTIME_HAS_CPU;
        out->cpu_user = (double)user;
        out->cpu_system = (double)system;
    }
}

void ntk_aggregate_process_no_usage(struct ntk_aggregate *aggregate, size_t index,
                                    const char *error)
{
    struct runtime_state *runtime = runtime_at(aggregate, index);

    if (runtime->sampled) {
        runtime->sample.cpu_error = ntk_snapshot_text(aggregate->pending, error);
    }
}

void ntk_aggregate_process_describe(struct ntk_aggregate *aggregate, size_t index,
                                    const char *command, const char *user, const char *container)
{
    struct runtime_state *runtime = runtime_at(aggregate, index);

    runtime->process.described = true;
    if (command) {
        replace_text(&runtime->command, command);
    }
    if (user) {
        replace_text(&runtime->user, user);
    }
    if (container) {
        replace_text(&runtime->container, container);
    }
}

/* ---- into the snapshot ---- */

static int compare_runtimes(const void *a, const void *b)
{
    const struct ntk_runtime_sample *x = a;
    const struct ntk_runtime_sample *y = b;

    if (x->start_time != y->start_time) {
        return x->start_time < y->start_time ? -1 : 1;
    }
    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

void ntk_aggregate_build_runtimes(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot)
{
    size_t cpus = aggregate->system_cpus.count > 0 ? aggregate->system_cpus.count : 1;
    double period_ticks = (double)snapshot->period_ns * aggregate->options.ticks_per_second / 1e9;
    size_t count = 0;
    size_t at = 0;

    ntk_vec_each(struct runtime_state *, runtime, &aggregate->runtimes) {
        count += (*runtime)->sampled;
    }
    ntk_snapshot_alloc_runtimes(snapshot, count);
    ntk_vec_each(struct runtime_state *, runtime, &aggregate->runtimes) {
        struct ntk_runtime_sample *sample = &(*runtime)->sample;

        if (!(*runtime)->sampled || at >= snapshot->runtime_count) {
            continue;
        }
        (*runtime)->emitted = true;
        for (size_t i = 0; i < sample->core_count; i++) {
            struct core_state *state = (*runtime)->cores[sample->cores[i].core];
            uint64_t window_ns = state ? state->window_ns : 0;
            const struct ntk_core_sample *unwatched = sample->cores[i].unwatched;
            uint64_t unwatched_ns = unwatched ? unwatched->busy_ns.period : 0;

            sample->cores[i].utilization =
                ntk_aggregate_share(sample->cores[i].busy_ns.period - unwatched_ns,
                                    window_ns > 0 ? window_ns : snapshot->period_ns);
        }
        if (sample->has & NTK_RUNTIME_HAS_CPU) {
            double whole = period_ticks * (double)cpus;

            sample->cpu_user = whole > 0 ? sample->cpu_user / whole : 0;
            sample->cpu_system = whole > 0 ? sample->cpu_system / whole : 0;
        }
        for (size_t k = 0; k < NTK_OUTCOME_COUNT; k++) {
            snapshot->outcome[k].period += sample->outcome[k].period;
        }
        for (size_t k = 0; k < NTK_ERROR_CLASS_COUNT; k++) {
            snapshot->error_class[k].period += sample->error_class[k].period;
        }
        snapshot->events_read.period += sample->events_read.period;
        snapshot->events_lost.period += sample->events_lost.period;
        snapshot->runtimes[at++] = *sample;
    }
    if (at > 0) {
        qsort(snapshot->runtimes, at, sizeof *snapshot->runtimes, compare_runtimes);
    }
    for (size_t k = 0; k < NTK_OUTCOME_COUNT; k++) {
        aggregate->outcome_total[k] += snapshot->outcome[k].period;
        snapshot->outcome[k].total = aggregate->outcome_total[k];
    }
    for (size_t k = 0; k < NTK_ERROR_CLASS_COUNT; k++) {
        aggregate->error_total[k] += snapshot->error_class[k].period;
        snapshot->error_class[k].total = aggregate->error_total[k];
    }
    aggregate->events_read_total += snapshot->events_read.period;
    aggregate->events_lost_total += snapshot->events_lost.period;
    snapshot->events_read.total = aggregate->events_read_total;
    snapshot->events_lost.total = aggregate->events_lost_total;
}
