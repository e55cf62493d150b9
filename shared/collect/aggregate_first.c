/* SPDX-License-Identifier: MIT */
/* aggregate_first - decides from which point the counters of a process count. */
#include "shared/collect/aggregate_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void counters_of_sample(const struct ntk_core_sample *sample, uint64_t out[NTK_CORE_COUNTS])
{
    for (size_t i = 0; i < NTK_CORE_COUNTS; i++) {
        out[i] = sample->counts[i].total;
    }
}

/* Records the difference between the baseline, which stays, and the first reading. If out of
 * memory, the difference counts as observed. */
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
    ntk_aggregate_core_counters(core, unwatched->counts);
    for (size_t i = 0; i < NTK_CORE_COUNTS; i++) {
        unwatched->counts[i] = ntk_aggregate_difference(unwatched->counts[i], state->base[i]);
        any |= unwatched->counts[i];
    }
    if (core->busy_ns < state->base[AT_BUSY]) {
        unwatched->counts[AT_BUSY] = 0; /* busy time only pauses, as in a sample */
    }
    if (any && ntk_aggregate_read_core_histogram(aggregate, reading, core)) {
        ntk_aggregate_difference_baseline(aggregate, &unwatched->total, &state->total,
                                          &histogram->total);
        ntk_aggregate_difference_baseline(aggregate, &unwatched->device, &state->device,
                                          &histogram->device);
    }
    if (any) {
        state->unwatched = unwatched;
    } else {
        ntk_aggregate_free_unwatched(unwatched);
    }
}

/* For a process around another runtime, these totals are each period's trusted values, and no
 * segment counter continues them, so the unobserved part is unknown. */
static void go_on_believed(const struct ntk_ring_core *core, struct core_state *state)
{
    static const size_t trusted[] = { AT_BUSY, NTK_CORE_COUNT_AT(effective_flops) };
    uint64_t now[NTK_CORE_COUNTS];

    ntk_aggregate_core_counters(core, now);
    for (size_t i = 0; i < sizeof trusted / sizeof *trusted; i++) {
        state->trusted_total[trusted[i]] = state->base[trusted[i]];
        state->base[trusted[i]] = now[trusted[i]];
    }
}

/* Continues from the totals that an earlier collector stored. If there are none, counting began
 * before the process. */
static bool start_from_stored(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                              const struct ntk_runtime_reading *reading)
{
    const struct ntk_collector_options *collector = aggregate->options.collector;
    struct ntk_core_sample *stored;
    size_t count = 0;

    if (!collector || !collector->totals_get) {
        return false;
    }
    stored = calloc(NTK_SEGMENT_CORES, sizeof *stored);
    if (!stored) {
        return false;
    }
    bool found = collector->totals_get(aggregate->boot_id ? aggregate->boot_id : "",
                                       (struct ntk_process_key){ reading->process->own_pid,
                                                                 reading->process->uid,
                                                                 reading->process->start_time },
                                       reading->process->clock.monotonic_ns, stored,
                                       NTK_SEGMENT_CORES, &count, collector->totals_ctx);
    for (size_t i = 0; found && i < count && i < NTK_SEGMENT_CORES; i++) {
        struct core_state *core = ntk_aggregate_core_state(runtime, stored[i].core);

        if (!core) {
            continue;
        }
        counters_of_sample(&stored[i], core->base);
        core->known = true;
        core->moved = true;
        ntk_aggregate_stored_baseline(&core->total, &stored[i].total_latency);
        ntk_aggregate_stored_baseline(&core->device, &stored[i].device_latency);
    }
    /* The work since then is counted, but shares of the first period cover only the observed
     * time. */
    for (size_t i = 0; i < reading->core_count; i++) {
        struct core_state *core = ntk_aggregate_core_state(runtime, reading->cores[i].core);

        if (core) {
            core->known = true;
            core->read_ns = reading->cores[i].read_monotonic_ns;
            if (!(reading->process->flags & NTK_PROCESS_SOFTWARE_CORE)) {
                go_on_believed(&reading->cores[i], core);
            }
            see_unwatched(aggregate, reading, &reading->cores[i], core);
        }
    }
    free(stored);
    return true;
}

static void begin_core_latency(struct ntk_aggregate *aggregate,
                               const struct ntk_runtime_reading *reading,
                               const struct ntk_ring_core *core, struct core_state *state,
                               bool of_total)
{
    if (ntk_aggregate_read_core_histogram(aggregate, reading, core)) {
        if (of_total) {
            ntk_aggregate_start_baseline(aggregate, &state->total, &aggregate->histogram.total);
        }
        ntk_aggregate_start_baseline(aggregate, &state->device, &aggregate->histogram.device);
    }
}

static void begin_model_latency(struct ntk_aggregate *aggregate,
                                const struct ntk_runtime_reading *reading,
                                const struct ntk_ring_model *model, struct model_state *state)
{
    if (ntk_aggregate_read_model_histogram(aggregate, reading, model)) {
        ntk_aggregate_start_baseline(aggregate, &state->total, &aggregate->histogram.total);
        ntk_aggregate_start_baseline(aggregate, &state->device, &aggregate->histogram.device);
    }
}

void ntk_aggregate_runtime_begin_latency(struct ntk_aggregate *aggregate,
                                         const struct ntk_runtime_reading *reading, bool of_cores,
                                         bool of_models)
{
    struct runtime_state *runtime = ntk_map_get(&aggregate->by_key, reading->key);

    /* Cores have the latency on the core if models need it. */
    for (size_t i = 0; runtime && (of_cores || of_models) && i < reading->core_count; i++) {
        struct core_state *core = ntk_aggregate_core_state(runtime, reading->cores[i].core);

        if (core) {
            begin_core_latency(aggregate, reading, &reading->cores[i], core, of_cores);
        }
    }
    for (size_t i = 0; runtime && of_models && i < reading->model_count; i++) {
        struct model_state *model = ntk_aggregate_model_state(runtime, reading->models[i].id);

        if (model) {
            begin_model_latency(aggregate, reading, &reading->models[i], model);
        }
    }
}

static int start_from_now(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                          const struct ntk_runtime_reading *reading)
{
    for (size_t i = 0; i < reading->core_count; i++) {
        struct core_state *core = ntk_aggregate_core_state(runtime, reading->cores[i].core);

        if (reading->cores[i].core >= NTK_SEGMENT_CORES) {
            continue;
        }
        if (!core) {
            return -ENOMEM;
        }
        ntk_aggregate_core_counters(&reading->cores[i], core->base);
        core->read_ns = reading->cores[i].read_monotonic_ns;
        core->known = true;
        begin_core_latency(aggregate, reading, &reading->cores[i], core, true);
    }
    return 0;
}

static int start_models_from_now(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                                 const struct ntk_runtime_reading *reading)
{
    for (size_t i = 0; i < reading->model_count; i++) {
        struct model_state *model = ntk_vec_add(&runtime->models);

        if (!model) {
            return -ENOMEM;
        }
        model->id = reading->models[i].id;
        model->executions = reading->models[i].executions;
        model->errors = reading->models[i].errors;
        model->effective_flops = reading->models[i].effective_flops;
        model->node_switches = reading->models[i].node_switches;
        model->starts = reading->models[i].starts;
        model->stops = reading->models[i].stops;
        model->listed = reading->models[i].state != NTK_MODEL_UNLOADED;
        begin_model_latency(aggregate, reading, &reading->models[i], model);
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
    ntk_vec_init(&runtime->ranks, sizeof(struct rank_state));
    ntk_vec_init(&runtime->names, sizeof(struct name_state));
    runtime->key = strdup(reading->key);
    runtime->peaks = calloc(NTK_SEGMENT_CORES + 1, sizeof *runtime->peaks);
    runtime->process.pid = reading->process->pid;
    runtime->process.uid = reading->process->uid;
    runtime->process.start_time = reading->process->start_time;
    if (!runtime->key || !runtime->peaks) {
        goto out;
    }
    ntk_aggregate_see_held(aggregate, runtime, reading);
    if (older) {
        runtime->events_read_base = reading->events_read;
        runtime->events_lost_base = reading->events_lost;
        memcpy(runtime->events_unwritten, reading->events_unwritten,
               sizeof runtime->events_unwritten);
        if (!start_from_stored(aggregate, runtime, reading) &&
            start_from_now(aggregate, runtime, reading) < 0) {
            goto out;
        }
        if (start_models_from_now(aggregate, runtime, reading) < 0 ||
            ntk_aggregate_start_ranks(runtime, reading) < 0) {
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
