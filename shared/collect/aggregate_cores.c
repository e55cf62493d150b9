/* SPDX-License-Identifier: MIT */
/* aggregate_cores - turns cumulative readings of processes' cores into differences. */
#include "shared/collect/aggregate_state.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "shared/abi/core_number.h"

void ntk_aggregate_core_counters(const struct ntk_ring_core *core, uint64_t out[NTK_CORE_COUNTS])
{
    out[AT_BUSY] = core->busy_ns;
#define NTK_CORE_BUSY(...)
#define NTK_CORE_COUNT(id, member, list, ...)                       \
    memcpy(&out[NTK_CORE_COUNT_AT(member)], &core->counters.member, \
           sizeof(uint64_t NTK_CORE_LIST_##list));
#include "shared/abi/core_counts.def"
}

void ntk_aggregate_fill_core(struct ntk_core_sample *sample, const uint64_t period[NTK_CORE_COUNTS],
                             const uint64_t total[NTK_CORE_COUNTS])
{
    for (size_t i = 0; i < NTK_CORE_COUNTS; i++) {
        sample->counts[i] = (struct ntk_count){ period[i], total[i] };
    }
}

struct core_state *ntk_aggregate_core_state(struct runtime_state *runtime, uint32_t core)
{
    if (core >= NTK_SEGMENT_CORES) {
        return NULL;
    }
    if (!runtime->cores[core]) {
        runtime->cores[core] = calloc(1, sizeof *runtime->cores[core]);
    }
    return runtime->cores[core];
}

/* Returns the part of a first period that the collector did not observe; it is at most the period.
 * The machine's core uses it, too. */
static const struct ntk_core_sample *take_unwatched(struct ntk_aggregate *aggregate,
                                                    struct core_state *state,
                                                    struct machine_core *machine,
                                                    const uint64_t period[NTK_CORE_COUNTS],
                                                    uint32_t reported)
{
    static const uint64_t no_total[NTK_CORE_COUNTS];
    struct unwatched *unwatched = state->unwatched;
    struct ntk_core_sample *out = ntk_snapshot_alloc(aggregate->pending, 1, sizeof *out);

    if (out) {
        for (size_t i = 0; i < NTK_CORE_COUNTS; i++) {
            unwatched->counts[i] =
                unwatched->counts[i] < period[i] ? unwatched->counts[i] : period[i];
            machine->unwatched[i] += unwatched->counts[i];
        }
        machine->has_unwatched = true;
        ntk_aggregate_fill_core(out, unwatched->counts, no_total);
        /* The totals are explained in aggregate_first.c. */
        out->has =
            reported & NTK_CORE_HAS_ENGINES ? reported : reported & ~(uint32_t)NTK_CORE_HAS_BUSY;
        out->total_latency = ntk_aggregate_histogram_of(aggregate, &unwatched->total);
        if (reported & NTK_CORE_HAS_DEVICE_LATENCY) {
            out->device_latency = ntk_aggregate_histogram_of(aggregate, &unwatched->device);
        }
    }
    ntk_aggregate_free_unwatched(unwatched);
    state->unwatched = NULL;
    return out;
}

static void add_count(struct ntk_count *into, struct ntk_count from)
{
    into->period += from.period;
    into->total += from.total;
}

static bool core_moved(const struct ntk_core_sample *core)
{
    return core->busy_ns.period > 0 || core->total_latency.count > 0 ||
           ntk_snapshot_outcome_sum(core->outcome) > 0 || core->host_to_device_bytes.period > 0 ||
           core->device_to_host_bytes.period > 0;
}

/* The longest execution, including those that ended before this collector started. Only needed if
 * one takes long. */
static uint64_t longest_of(struct ntk_aggregate *aggregate,
                           const struct ntk_runtime_reading *reading,
                           const struct ntk_ring_core *core)
{
    uint32_t bucket = NTK_HISTOGRAM_BUCKETS;

    aggregate->histogram.total_only = true;
    if (core->in_flight == 0 || core->running_ns < NTK_NS_PER_SECOND || !core->has_histogram ||
        reading->core_histogram(reading->ctx, core->core, &aggregate->histogram) != 0) {
        return 0;
    }
    while (bucket > 0 && aggregate->histogram.total.bucket[bucket - 1] == 0) {
        bucket--;
    }
    return bucket == 0                      ? 0
           : bucket < NTK_HISTOGRAM_BUCKETS ? ntk_histogram_bucket_low(bucket) - 1
                                            : UINT64_MAX;
}

/* Processes one core of one reading: writes differences to out and updates the baselines. */
static void take_core(struct ntk_aggregate *aggregate, const struct ntk_runtime_reading *reading,
                      const struct ntk_ring_core *core, struct core_state *state,
                      struct ntk_core_sample *out)
{
    bool software = reading->process->flags & NTK_PROCESS_SOFTWARE_CORE;
    uint32_t reported = ntk_aggregate_believed_of_segment(reading->process);
    struct machine_core *machine = ntk_aggregate_machine_core(aggregate, core->core);
    uint64_t total[NTK_CORE_COUNTS];
    uint64_t period[NTK_CORE_COUNTS];
    bool moved = false;

    ntk_aggregate_core_counters(core, total);
    /* "Now - since" of a running execution may be slightly above its final time, and a killed
     * writer's counters stop changing. Busy time then pauses; it never restarts. */
    if (total[AT_BUSY] < state->base[AT_BUSY]) {
        total[AT_BUSY] = state->base[AT_BUSY];
    }
    for (size_t i = 0; i < NTK_CORE_COUNTS; i++) {
        period[i] = ntk_aggregate_difference(total[i], state->base[i]);
        state->base[i] = total[i];
        machine->period[i] += period[i];
    }
    if (state->unwatched) {
        out->unwatched = take_unwatched(aggregate, state, machine, period, reported);
    }
    /* Readings are taken shortly before or after the period's ends; the time between them bounds
     * the busy time of a core. A process that came or went during the period was idle for the rest
     * of it. */
    state->window_ns = state->read_ns > 0 && !reading->ended
                           ? ntk_aggregate_advance(core->read_monotonic_ns, state->read_ns)
                           : 0;
    state->read_ns = core->read_monotonic_ns;
    if (period[AT_BUSY] > 0) {
        machine->window_known = state->window_ns > 0 && (machine->window_known || !machine->busy);
        machine->window_ns =
            machine->window_ns > state->window_ns ? machine->window_ns : state->window_ns;
        machine->busy = true;
    }
    ntk_aggregate_fill_core(out, period, total);
    out->core = core->core;
    out->began_ns = reading->process->clock.monotonic_ns;
    out->has = reported;
    machine->is_listed = true;
    if (software) {
        machine->has_software |= reported;
    } else if (core->owned || core_moved(out)) {
        machine->has_observed |= reported;
        machine->observed++;
    }
    /* Count only on the first physical core: each one of a logical core counts the same
     * executions. */
    if (!reading->ended && core->core % (reading->process->lnc == 2 ? 2 : 1) == 0) {
        out->in_flight = core->in_flight;
        out->running_ns = core->in_flight > 0 ? core->running_ns : 0;
        if (core->owned && reported & NTK_CORE_HAS_EXECUTIONS &&
            !(reading->process->flags & (NTK_PROCESS_ATTACHED | NTK_PROCESS_CORES_GUESSED))) {
            out->has |= NTK_CORE_HAS_HELD_IDLE;
            out->held_idle_ns = core->idle_ns;
        }
        out->longest_ns = longest_of(aggregate, reading, core);
        machine->in_flight += core->in_flight;
        machine->running_ns =
            out->running_ns > machine->running_ns ? out->running_ns : machine->running_ns;
        out->failing_since_ns = core->owned ? core->failing_since_ns : 0;
        machine->failing_since_ns =
            ntk_snapshot_earlier(machine->failing_since_ns, out->failing_since_ns);
    }
    if (!core->has_histogram || aggregate->no_latency || !(reported & NTK_CORE_HAS_LATENCY)) {
        out->has &= ~(uint32_t)(NTK_CORE_HAS_LATENCY | NTK_CORE_HAS_DEVICE_LATENCY);
        return;
    }
    if (aggregate->no_model_latency) {
        out->has &= ~(uint32_t)NTK_CORE_HAS_DEVICE_LATENCY;
    }
    for (size_t i = 0; i < NTK_OUTCOME_COUNT; i++) {
        moved = moved || period[NTK_CORE_COUNT_AT(outcome) + i] > 0;
    }
    if ((moved || state->moved || reading->ended) &&
        ntk_aggregate_read_core_histogram(aggregate, reading, core)) {
        out->total_latency =
            ntk_aggregate_take_histogram(aggregate, &state->total, &aggregate->histogram.total);
        if (software && !aggregate->no_model_latency) {
            out->device_latency = ntk_aggregate_take_histogram(aggregate, &state->device,
                                                               &aggregate->histogram.device);
        }
    }
    /* The count may be ahead of its histogram, so read it again after the last change. */
    state->moved = moved;
}

uint8_t ntk_aggregate_cores_at_work(const struct ntk_aggregate *aggregate, uint32_t device,
                                    uint32_t cores_per_device)
{
    uint8_t cores = 0;

    static_assert(NTK_DEVICE_CORES_MAX <= 8, "a bit for each core");
    for (uint32_t c = 0; c < cores_per_device && c < NTK_DEVICE_CORES_MAX; c++) {
        uint32_t core = ntk_core_number(device, cores_per_device, c);

        if (core < NTK_AGGREGATE_CORES_MAX && aggregate->cores[core].busy) {
            cores |= (uint8_t)(1u << c);
        }
    }
    return cores;
}

/* Merges the latency histograms of all cores; if only one has entries, shares its entries. */
static struct ntk_histogram merge_cores(struct ntk_aggregate *aggregate,
                                        const struct ntk_runtime_sample *runtime, size_t offset)
{
    const struct ntk_histogram nothing = { 0 };
    struct ntk_histogram_dense *merged = &aggregate->merged;
    const struct ntk_histogram *only = NULL;
    size_t used = 0;

    for (size_t i = 0; i < runtime->core_count; i++) {
        const struct ntk_histogram *one = (const void *)((const char *)&runtime->cores[i] + offset);

        if (one->entry_count == 0) {
            continue;
        }
        if (used++ == 0) {
            only = one;
            continue;
        }
        if (used == 2) {
            ntk_histogram_dense_reset(merged);
            ntk_histogram_dense_merge(merged, only);
        }
        ntk_histogram_dense_merge(merged, one);
    }
    if (used > 1) {
        return ntk_snapshot_histogram(aggregate->pending, merged);
    }
    return used == 1 ? *only : nothing;
}

int ntk_aggregate_take_cores(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                             const struct ntk_runtime_reading *reading,
                             struct ntk_runtime_sample *out)
{
    size_t listed = 0;

    out->cores = ntk_snapshot_alloc(aggregate->pending, reading->core_count, sizeof *out->cores);
    if (reading->core_count > 0 && !out->cores) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < reading->core_count; i++) {
        struct ntk_core_sample sample = { 0 };
        struct core_state *state = ntk_aggregate_core_state(runtime, reading->cores[i].core);

        if (reading->cores[i].core >= NTK_SEGMENT_CORES) {
            continue; /* invalid data from one process must not affect the others */
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
        if (reading->cores[i].owned || core_moved(&sample)) {
            out->cores[listed++] = sample;
        }
    }
    out->core_count = listed;
    out->total_latency =
        merge_cores(aggregate, out, offsetof(struct ntk_core_sample, total_latency));
    out->has_device_latency = !aggregate->no_latency && !aggregate->no_model_latency &&
                              (reading->process->flags & NTK_PROCESS_SOFTWARE_CORE);
    out->device_latency =
        merge_cores(aggregate, out, offsetof(struct ntk_core_sample, device_latency));
    out->has |= NTK_RUNTIME_HAS_CORES | NTK_RUNTIME_HAS_TOTALS;
    if (out->executions_counted == NTK_EXECUTIONS_ALL) {
        out->has |= NTK_RUNTIME_HAS_EXECUTIONS | NTK_RUNTIME_HAS_IN_FLIGHT;
    }
    for (size_t k = 0; k < NTK_OUTCOME_COUNT; k++) {
        if (out->executions_counted == NTK_EXECUTIONS_NONE && out->outcome[k].total > 0) {
            out->executions_counted = NTK_EXECUTIONS_PART;
        }
    }
    return 0;
}
