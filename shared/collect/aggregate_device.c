/* SPDX-License-Identifier: MIT */
/* aggregate_device - devices, facts about the machine, and its cores across all runtimes. */
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/abi/core_number.h"
#include "shared/base/str.h"
#include "shared/collect/aggregate_state.h"

#define LATENCIES (NTK_CORE_HAS_LATENCY | NTK_CORE_HAS_DEVICE_LATENCY)
/* The driver reports power once per minute; older readings are stale. */
#define POWER_OLD_SECONDS 150

static const struct ntk_device_value *ecc_value(const struct ntk_device_reading *reading,
                                                enum ntk_ecc ecc)
{
    switch (ecc) {
    case NTK_ECC_MEM_CORRECTED:
        return &reading->mem_ecc_corrected;
    case NTK_ECC_MEM_UNCORRECTED:
        return &reading->mem_ecc_uncorrected;
    case NTK_ECC_SRAM_UNCORRECTED:
        return &reading->sram_ecc_uncorrected;
    case NTK_ECC_SRAM_CORRECTED:
        return &reading->sram_ecc_corrected;
    default:
        return &reading->mem_ecc_repairable_uncorrected;
    }
}

/* Handles the first reading of a counter: its total continues from the stored total. If the tree
 * has just appeared, the counter counts from 0, or from the stored counter: the driver may only
 * have been out of reach, and then the total already includes its earlier counts. */
static void begin_ecc(struct device_state *state, const struct ntk_ecc_stored *stored, int ecc,
                      uint64_t value, bool appeared)
{
    bool is_stored = stored->has >> ecc & 1;

    state->known[ecc] = true;
    state->base[ecc] = !appeared                                    ? value
                       : is_stored && value >= stored->counter[ecc] ? stored->counter[ecc]
                                                                    : 0;
    state->total[ecc] = is_stored ? stored->total[ecc] : state->base[ecc];
    if (is_stored && !appeared) {
        state->unwatched[ecc] = ntk_aggregate_difference(value, stored->counter[ecc]);
        state->total[ecc] += state->unwatched[ecc];
    }
}

static struct ntk_ecc_stored stored_ecc(const struct ntk_aggregate *aggregate, uint32_t device)
{
    const struct ntk_collector_options *collector = aggregate->options.collector;
    struct ntk_ecc_stored stored = { 0 };

    if (!collector || !collector->ecc_get ||
        !collector->ecc_get(aggregate->boot_id ? aggregate->boot_id : "", device, &stored,
                            collector->totals_ctx)) {
        stored.has = 0;
    }
    return stored;
}

void ntk_aggregate_devices(struct ntk_aggregate *aggregate, const struct ntk_device_tree *tree,
                           bool appeared, const struct ntk_device_reading *readings, size_t count)
{
    size_t devices = tree->device_count < NTK_DEVICES_MAX ? tree->device_count : NTK_DEVICES_MAX;

    aggregate->tree = *tree;
    if (devices > 0) {
        memcpy(aggregate->tree_devices, tree->devices, devices * sizeof *tree->devices);
    }
    aggregate->tree.devices = aggregate->tree_devices;
    aggregate->tree.device_count = devices;
    aggregate->reading_count = count < devices ? count : devices;
    for (size_t i = 0; i < aggregate->reading_count; i++) {
        uint32_t index = readings[i].index;
        struct device_state *state;
        struct ntk_ecc_stored stored;
        bool is_asked = false;

        /* without its cores, which are the largest part */
        memcpy(&aggregate->readings[i], &readings[i], offsetof(struct ntk_device_reading, cores));
        if (index >= NTK_DEVICES_MAX) {
            continue;
        }
        state = &aggregate->devices[index];
        for (int ecc = 0; ecc < NTK_ECC_COUNT; ecc++) {
            const struct ntk_device_value *value = ecc_value(&readings[i], (enum ntk_ecc)ecc);

            if (value->present && !state->known[ecc]) {
                if (!is_asked) {
                    stored = stored_ecc(aggregate, index);
                    is_asked = true;
                }
                begin_ecc(state, &stored, ecc, value->value, appeared);
            }
        }
        for (uint32_t c = 0; c < tree->cores_per_device && c < NTK_DEVICE_CORES_MAX; c++) {
            uint32_t core = ntk_core_number(index, tree->cores_per_device, c);

            if (core < NTK_AGGREGATE_CORES_MAX) {
                const struct ntk_device_core_reading *reading = &readings[i].cores[c];
                struct machine_core *machine = ntk_aggregate_machine_core(aggregate, core);

                ntk_aggregate_take_tree_core(machine, reading, appeared);
                machine->has_memory = reading->device_memory_bytes.present;
                machine->memory_bytes = reading->device_memory_bytes.value;
            }
        }
    }
}

struct ntk_health *ntk_aggregate_health(struct ntk_aggregate *aggregate)
{
    return aggregate->health;
}

bool ntk_aggregate_has_software_process(const struct ntk_aggregate *aggregate)
{
    ntk_vec_each(struct runtime_state *, runtime, &aggregate->runtimes) {
        if ((*runtime)->sample.software && !(*runtime)->ended) {
            return true;
        }
    }
    return false;
}

bool ntk_aggregate_has_process(const struct ntk_aggregate *aggregate)
{
    return aggregate->runtimes.count > 0;
}

void ntk_aggregate_set_has_core(struct ntk_aggregate *aggregate, ntk_aggregate_has_core *has_core,
                                void *ctx)
{
    aggregate->has_core = has_core;
    aggregate->has_core_ctx = ctx;
}

void ntk_aggregate_set_speaker(struct ntk_aggregate *aggregate, const char *key,
                               const struct ntk_ring_process *process)
{
    aggregate->speaker = process;
    aggregate->speaker_runtime = ntk_map_get(&aggregate->by_key, key);
}

void ntk_aggregate_see_held(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                            const struct ntk_runtime_reading *reading)
{
    for (size_t i = 0; i < reading->core_count; i++) {
        struct core_state *state = reading->cores[i].owned && !reading->ended
                                       ? ntk_aggregate_core_state(runtime, reading->cores[i].core)
                                       : NULL;

        if (state && !state->is_held) {
            state->is_held = !aggregate->has_core ||
                             aggregate->has_core(aggregate->has_core_ctx, reading->process,
                                                 reading->cores[i].core);
        }
    }
}

/* Returns true if the runtime was seen to own the core. At the runtime's end, ownership is no
 * longer visible. */
static bool was_held(const struct ntk_aggregate *aggregate, const struct runtime_state *runtime,
                     uint32_t core)
{
    return !aggregate->has_core || (runtime && core < NTK_SEGMENT_CORES && runtime->cores[core] &&
                                    runtime->cores[core]->is_held);
}

void ntk_aggregate_failure(struct ntk_aggregate *aggregate, uint32_t core, uint32_t status,
                           bool is_new)
{
    uint32_t per_device = aggregate->tree.cores_per_device;

    if (per_device == 0 || core >= aggregate->tree.device_count * per_device) {
        return;
    }
    if (was_held(aggregate, aggregate->speaker_runtime, core) ||
        (aggregate->speaker &&
         aggregate->has_core(aggregate->has_core_ctx, aggregate->speaker, core))) {
        ntk_health_execution(aggregate->health, core / per_device, core % per_device, status,
                             is_new, aggregate->moment);
    }
}

bool ntk_aggregate_wants_device_cores(const struct ntk_aggregate *aggregate)
{
    uint32_t count = (uint32_t)aggregate->tree.device_count * aggregate->tree.cores_per_device;

    if (aggregate->tree.origin == NTK_DEVICE_ORIGIN_SOFTWARE) {
        return false;
    }
    for (uint32_t i = 0; i < count && i < NTK_AGGREGATE_CORES_MAX; i++) {
        if (aggregate->cores[i].observed > 0 ||
            !(aggregate->cores[i].has_software & NTK_CORE_HAS_EFFECTIVE_FLOPS)) {
            return true;
        }
    }
    return aggregate->tree.device_count == 0;
}

static struct ntk_machine_answer find_machine(const struct ntk_aggregate *aggregate)
{
    struct ntk_machine_answer answer = ntk_machine_of_tree(&aggregate->tree);

    ntk_vec_each(struct runtime_state *, runtime, &aggregate->runtimes) {
        if ((*runtime)->sampled) {
            ntk_machine_hear(&answer, (*runtime)->sample.instance_type);
        }
    }
    return answer;
}

static bool holds_some_core(const struct ntk_aggregate *aggregate,
                            const struct runtime_state *runtime)
{
    for (uint32_t core = 0; core < NTK_SEGMENT_CORES; core++) {
        if (was_held(aggregate, runtime, core)) {
            return true;
        }
    }
    return false;
}

/* The LNC on which the running processes agree; 0 if they differ or there are none. */
static uint32_t agreed_lnc(const struct ntk_aggregate *aggregate, bool only_holders)
{
    uint32_t agreed = 0;
    bool differ = false;

    ntk_vec_each(struct runtime_state *, runtime, &aggregate->runtimes) {
        uint32_t lnc = (*runtime)->sample.lnc;

        if ((*runtime)->sampled && !(*runtime)->ended &&
            (!only_holders || holds_some_core(aggregate, *runtime))) {
            differ = differ || (agreed != 0 && agreed != lnc);
            agreed = lnc;
        }
    }
    return differ ? 0 : agreed;
}

/* The LNC that tools show: the value on which the running processes (if possible, those with cores)
 * agree, else the environment's value, else the family's default. */
static uint32_t choose_lnc(const struct ntk_aggregate *aggregate, const struct ntk_machine *machine)
{
    uint32_t agreed = agreed_lnc(aggregate, true);

    agreed = agreed ? agreed : agreed_lnc(aggregate, false);
    return agreed ? agreed : ntk_machine_lnc(machine);
}

void ntk_aggregate_build_hardware(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot)
{
    struct ntk_hardware *out = &snapshot->hardware;
    const struct ntk_device_tree *tree = &aggregate->tree;
    struct ntk_machine_answer answer = find_machine(aggregate);
    const struct ntk_machine *machine = answer.machine;

    out->software = tree->origin == NTK_DEVICE_ORIGIN_SOFTWARE;
    out->instance_type = ntk_snapshot_text(snapshot, answer.type);
    out->driver_version = ntk_snapshot_text(snapshot, tree->driver_version);
    out->lnc = choose_lnc(aggregate, machine);
    if (tree->origin != NTK_DEVICE_ORIGIN_NONE && tree->device_count > 0) {
        out->has |= NTK_HARDWARE_HAS_DEVICES;
        out->device_count = (uint32_t)tree->device_count;
        out->cores_per_device = tree->cores_per_device;
    } else if (machine && answer.type[0]) {
        out->has |= NTK_HARDWARE_HAS_DEVICES;
        out->device_count = machine->device_count;
        out->cores_per_device = machine->cores_per_device;
    } else {
        out->error =
            ntk_snapshot_text(snapshot, tree->missing[0] ? tree->missing : "no Neuron device");
    }
    if (!machine) {
        return;
    }
    out->has |= NTK_HARDWARE_HAS_MEMORY | NTK_HARDWARE_HAS_PEAK;
    out->device_type = machine->device_type;
    out->device_version = machine->device_version;
    out->core_version = out->lnc == 2 && machine->core_version_lnc2[0] ? machine->core_version_lnc2
                                                                       : machine->core_version;
    out->stack_count = machine->stack_count;
    out->cores_per_stack = machine->cores_per_stack;
    out->device_memory_bytes = machine->stack_bytes * machine->stack_count;
    out->tensor_peak_flops = machine->tensor_peak_flops;
}

static bool is_on(const struct ntk_runtime_sample *runtime, uint32_t first, uint32_t count)
{
    for (size_t i = 0; i < runtime->core_count; i++) {
        if (runtime->cores[i].core >= first && runtime->cores[i].core - first < count) {
            return true;
        }
    }
    return false;
}

static void build_stacks(const struct ntk_aggregate *aggregate, const struct ntk_snapshot *snapshot,
                         struct ntk_device_sample *device)
{
    const struct ntk_hardware *hardware = &snapshot->hardware;
    uint32_t first = ntk_core_number(device->index, hardware->cores_per_device, 0);

    if (!(hardware->has & NTK_HARDWARE_HAS_MEMORY)) {
        return;
    }
    device->stack_count = hardware->stack_count < NTK_SNAPSHOT_STACKS_MAX ? hardware->stack_count
                                                                          : NTK_SNAPSHOT_STACKS_MAX;
    device->has |= NTK_DEVICE_HAS_MEMORY_CAPACITY;
    for (uint32_t s = 0; s < device->stack_count; s++) {
        device->memory_capacity_bytes[s] = hardware->device_memory_bytes / hardware->stack_count;
    }
    /* A driver's tree covers every process. The software machine's tree is up to a second old and
     * stays unchanged after its last process was killed, so the processes' readings are used. If
     * only a part of a process's memory is known, the device's sum is unknown. */
    if (aggregate->tree.origin == NTK_DEVICE_ORIGIN_SOFTWARE ||
        aggregate->tree.origin == NTK_DEVICE_ORIGIN_NONE) {
        device->has |= NTK_DEVICE_HAS_MEMORY_USED;
        for (size_t r = 0; r < snapshot->runtime_count; r++) {
            const struct ntk_runtime_sample *runtime = &snapshot->runtimes[r];

            if (!ntk_snapshot_tells_memory(runtime) &&
                is_on(runtime, first, hardware->cores_per_device)) {
                device->has &= ~(uint32_t)NTK_DEVICE_HAS_MEMORY_USED;
            }
            for (size_t i = 0; i < runtime->memory_count; i++) {
                const struct ntk_memory_sample *row = &runtime->memory[i];
                uint32_t stack = (row->core - first) / hardware->cores_per_stack;

                if (row->location == NTK_MEMORY_DEVICE && row->core >= first &&
                    row->core < first + hardware->cores_per_device && stack < device->stack_count) {
                    device->memory_used_bytes[stack] += row->current_bytes;
                }
            }
        }
        return;
    }
    for (uint32_t c = 0; c < hardware->cores_per_device; c++) {
        const struct machine_core *core =
            first + c < NTK_AGGREGATE_CORES_MAX ? &aggregate->cores[first + c] : NULL;
        uint32_t stack = c / hardware->cores_per_stack;

        if (core && core->has_memory && stack < device->stack_count) {
            device->has |= NTK_DEVICE_HAS_MEMORY_USED;
            device->memory_used_bytes[stack] += core->memory_bytes;
        }
    }
}

/* Passes the work of processes on cores that they owned to the judge. */
static void tell_work(struct ntk_aggregate *aggregate, const struct ntk_snapshot *snapshot)
{
    const struct ntk_health_time now = { snapshot->monotonic_ns, snapshot->realtime_ns };
    struct ntk_health_work *work = aggregate->work;
    uint32_t per_device = aggregate->tree.cores_per_device;
    size_t count = per_device * aggregate->tree.device_count;

    count = count < NTK_AGGREGATE_CORES_MAX ? count : NTK_AGGREGATE_CORES_MAX;
    memset(work, 0, count * sizeof *work);
    ntk_vec_each(struct runtime_state *, runtime, &aggregate->runtimes) {
        const struct ntk_runtime_sample *sample = &(*runtime)->sample;

        for (size_t c = 0; (*runtime)->sampled && c < sample->core_count; c++) {
            struct ntk_core_sample core = ntk_snapshot_watched_core(&sample->cores[c]);

            if (core.core < count && was_held(aggregate, *runtime, core.core)) {
                work[core.core].is_owned = work[core.core].is_owned || !sample->ended;
                work[core.core].completed += core.outcome[NTK_OUTCOME_COMPLETED].period;
                work[core.core].hardware_errors += core.error_class[NTK_ERROR_HARDWARE].period;
                work[core.core].timeouts += core.outcome[NTK_OUTCOME_TIMED_OUT].period;
            }
        }
    }
    for (uint32_t c = 0; c < count; c++) {
        ntk_health_work(aggregate->health, c / per_device, c % per_device, &work[c], now);
    }
}

/* Adds devices that the driver no longer lists, marked as gone. */
static void build_gone(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot)
{
    uint32_t indices[NTK_DEVICES_MAX];
    size_t gone = ntk_health_gone(aggregate->health, indices);
    const struct ntk_device_sample *there = snapshot->devices;
    size_t count = snapshot->device_count;
    struct ntk_device_sample *devices;

    if (gone == 0 || aggregate->tree.device_count + gone > NTK_DEVICES_MAX) {
        return;
    }
    /* Without a tree, the devices may already be listed because processes reported them. */
    count = aggregate->tree.device_count > 0 ? count : 0;
    devices = ntk_snapshot_alloc_devices(snapshot, count + gone);
    for (size_t i = 0; devices && i < count; i++) {
        devices[i] = there[i];
    }
    for (size_t i = 0; devices && i < gone; i++) {
        devices[count + i].index = indices[i];
        ntk_health_fill(aggregate->health, snapshot, &devices[count + i]);
    }
}

static void build_tree_devices(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot);

void ntk_aggregate_build_devices(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot)
{
    tell_work(aggregate, snapshot);
    build_tree_devices(aggregate, snapshot);
    build_gone(aggregate, snapshot);
}

static void build_tree_devices(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot)
{
    const struct ntk_device_tree *tree = &aggregate->tree;
    bool from_tree = tree->device_count > 0;
    size_t count = from_tree ? tree->device_count : snapshot->hardware.device_count;
    struct ntk_device_sample *devices;

    if (count > NTK_DEVICES_MAX) {
        count = NTK_DEVICES_MAX;
    }
    devices = ntk_snapshot_alloc_devices(snapshot, count);
    for (size_t i = 0; i < snapshot->device_count; i++) {
        struct ntk_device_sample *out = &devices[i];
        struct device_state *state;

        out->index = from_tree ? tree->devices[i].index : (uint32_t)i;
        out->core_count =
            from_tree ? tree->devices[i].core_count : snapshot->hardware.cores_per_device;
        build_stacks(aggregate, snapshot, out);
        if (!from_tree) {
            continue;
        }
        out->name = ntk_snapshot_text(snapshot, tree->devices[i].name);
        out->arch = ntk_snapshot_text(snapshot, tree->devices[i].arch);
        out->serial_number = ntk_snapshot_text(snapshot, tree->devices[i].serial_number);
        if (tree->devices[i].has_connected_devices) {
            out->has |= NTK_DEVICE_HAS_CONNECTED_DEVICES;
            out->connected_device_count = tree->devices[i].connected_device_count;
            memcpy(out->connected_devices, tree->devices[i].connected_devices,
                   sizeof out->connected_devices);
        }
        ntk_health_fill(aggregate->health, snapshot, out);
        if (i >= aggregate->reading_count || out->index >= NTK_DEVICES_MAX) {
            continue;
        }
        state = &aggregate->devices[out->index];
        for (int ecc = 0; ecc < NTK_ECC_COUNT; ecc++) {
            const struct ntk_device_value *value =
                ecc_value(&aggregate->readings[i], (enum ntk_ecc)ecc);

            if (value->present && state->known[ecc]) {
                out->has |= NTK_DEVICE_HAS_ECC | NTK_DEVICE_HAS_ECC_TOTAL;
                out->ecc_has |= 1u << ecc;
                out->ecc[ecc].period = ntk_aggregate_difference(value->value, state->base[ecc]);
                state->total[ecc] += out->ecc[ecc].period;
                out->ecc[ecc].total = state->total[ecc];
                out->ecc_counter[ecc] = value->value;
                out->ecc_unwatched[ecc] = state->unwatched[ecc];
                state->base[ecc] = value->value;
                state->unwatched[ecc] = 0;
            }
        }
        if (aggregate->readings[i].has_power &&
            !(snapshot->hardware.software && /* its publisher ends with its last process */
              aggregate->readings[i].power_timestamp_seconds + POWER_OLD_SECONDS <
                  snapshot->realtime_ns / NTK_NS_PER_SECOND)) {
            out->has |= NTK_DEVICE_HAS_POWER;
            out->power_timestamp_seconds = aggregate->readings[i].power_timestamp_seconds;
            out->power_min = aggregate->readings[i].power_min_percent / 100;
            out->power_max = aggregate->readings[i].power_max_percent / 100;
            out->power_average = aggregate->readings[i].power_average_percent / 100;
        }
    }
}

static const struct ntk_core_sample *unwatched_of(const struct machine_core *core,
                                                  struct ntk_snapshot *snapshot, uint32_t index)
{
    static const uint64_t no_total[NTK_CORE_COUNTS];
    struct ntk_core_sample *part = ntk_snapshot_alloc(snapshot, 1, sizeof *part);

    if (part) {
        ntk_aggregate_fill_core(part, core->unwatched, no_total);
        part->core = index;
        part->has = (core->has_software | core->has_observed) & ~(uint32_t)LATENCIES;
    }
    return part;
}

void ntk_aggregate_build_cores(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot)
{
    size_t count = (size_t)snapshot->hardware.device_count * snapshot->hardware.cores_per_device;

    for (size_t i = count; i < aggregate->cores_used; i++) {
        if (aggregate->cores[i].is_listed) {
            count = i + 1;
        }
    }
    if (count > NTK_AGGREGATE_CORES_MAX) {
        count = NTK_AGGREGATE_CORES_MAX;
    }
    snapshot->cores = ntk_snapshot_alloc(snapshot, count, sizeof *snapshot->cores);
    snapshot->core_count = snapshot->cores ? count : 0;
    for (size_t i = 0; i < count || i < aggregate->cores_used; i++) {
        struct machine_core *core = &aggregate->cores[i];

        bool busy_of_calls;
        uint32_t has =
            ntk_aggregate_tell_machine(core, snapshot->hardware.software, &busy_of_calls);

        for (size_t k = 0; k < NTK_CORE_COUNTS; k++) {
            core->total[k] += core->period[k];
        }
        if (i < snapshot->core_count) {
            struct ntk_core_sample *out = &snapshot->cores[i];

            ntk_aggregate_fill_core(out, core->period, core->total);
            out->core = (uint32_t)i;
            out->has = has & ~(uint32_t)LATENCIES;
            out->busy_of_calls = busy_of_calls;
            out->in_flight = core->in_flight;
            out->running_ns = core->running_ns;
            out->failing_since_ns = core->failing_since_ns;
            out->utilization =
                ntk_aggregate_share(core->period[AT_BUSY] - core->unwatched[AT_BUSY],
                                    core->window_known ? core->window_ns : snapshot->period_ns);
            out->unwatched = core->has_unwatched ? unwatched_of(core, snapshot, (uint32_t)i) : NULL;
        }
        memset(core->period, 0, sizeof core->period);
        memset(core->tree_period, 0, sizeof core->tree_period);
        core->has_tree = core->has_observed = core->observed = 0;
        if (core->has_unwatched) {
            memset(core->unwatched, 0, sizeof core->unwatched);
            core->has_unwatched = false;
        }
        core->busy = core->window_known = false;
        core->window_ns = 0;
        core->in_flight = core->running_ns = core->failing_since_ns = 0;
    }
}
