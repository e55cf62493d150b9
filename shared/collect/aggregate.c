/* SPDX-License-Identifier: MIT */
#include "shared/collect/aggregate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/map.h"
#include "shared/base/str.h"
#include "shared/base/vec.h"

/* The counters of a core, as one array that baselines and totals share. */
enum counter {
    COUNTER_BUSY,
    COUNTER_ENGINE, /* NTK_ENGINE_COUNT of them */
    COUNTER_FLOPS = COUNTER_ENGINE + NTK_ENGINE_COUNT,
    COUNTER_EFFECTIVE_FLOPS,
    COUNTER_HBM_READ,
    COUNTER_HBM_WRITTEN,
    COUNTER_DMA,
    COUNTER_OUTCOME,                                     /* NTK_OUTCOME_COUNT */
    COUNTER_ERROR = COUNTER_OUTCOME + NTK_OUTCOME_COUNT, /* NTK_ERROR_CLASS_COUNT */
    COUNTER_TO_DEVICE = COUNTER_ERROR + NTK_ERROR_CLASS_COUNT,
    COUNTER_FROM_DEVICE,
    COUNTER_COUNT
};

#define CORE_HAS_ALWAYS \
    (NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EXECUTIONS | NTK_CORE_HAS_LATENCY | NTK_CORE_HAS_TRANSFERS)
#define CORE_HAS_SOFTWARE                                                       \
    (NTK_CORE_HAS_ENGINES | NTK_CORE_HAS_FLOPS | NTK_CORE_HAS_EFFECTIVE_FLOPS | \
     NTK_CORE_HAS_BYTES | NTK_CORE_HAS_DEVICE_LATENCY)

/* A histogram at the last reading, few of whose buckets are used. */
struct baseline {
    struct ntk_histogram_entry *entries;
    size_t count;
    size_t capacity;
    uint64_t sum_ns;
};

struct core_state {
    bool known;
    bool moved; /* the histograms changed last time: read them once more */
    uint64_t base[COUNTER_COUNT];
    struct baseline total;
    struct baseline device;
};

struct model_state {
    uint32_t id;
    bool seen;   /* in this round */
    bool listed; /* as loaded, in the last snapshot */
    bool moved;
    uint64_t executions;
    uint64_t errors;
    struct baseline total;
    struct baseline device;
};

struct name_state {
    char *name;
    struct ntk_latency_series total;
    struct ntk_latency_series device;
};

struct runtime_state {
    char *key;
    struct ntk_aggregate_process process; /* first facts for sources */
    bool sampled;                         /* in this period */
    bool ended;
    bool emitted; /* was in a snapshot */
    char *command;
    char *user;
    char *container;
    struct core_state *cores[NTK_SEGMENT_CORES];
    struct ntk_vec models; /* struct model_state */
    struct ntk_vec names;  /* struct name_state */
    /* highest sum seen, by core (the last for none) and category */
    uint64_t (*peaks)[NTK_MEMORY_CATEGORY_COUNT];
    uint64_t events_read_base;
    uint64_t events_lost_base;
    uint64_t events_read;
    uint64_t events_lost;
    bool has_usage_base;
    uint64_t user_base;
    uint64_t system_base;
    struct ntk_runtime_sample sample; /* of this period; texts and arrays in the pending snapshot */
};

struct tag_state {
    char *tag;
    struct ntk_tag_total total; /* its tag is unused */
    uint64_t used;              /* sequence of the last snapshot that had it */
};

struct device_state {
    bool known[NTK_ECC_COUNT];
    uint64_t base[NTK_ECC_COUNT];
    uint64_t since_start[NTK_ECC_COUNT];
};

struct machine_core {
    uint32_t has_segment; /* enum ntk_core_has that segments gave, ever */
    uint32_t has_tree;    /* ... that the tree gives now */
    bool tree_known;
    uint64_t tree_base[COUNTER_COUNT];
    uint64_t period[COUNTER_COUNT];
    uint64_t total[COUNTER_COUNT];
    uint64_t in_flight;
    uint64_t memory_bytes; /* of the tree */
    bool has_memory;
};

struct ntk_aggregate {
    struct ntk_aggregate_options options;
    char *boot_id;
    char *host_name;
    uint64_t sequence;
    uint64_t last_monotonic_ns;
    struct ntk_snapshot *pending;

    struct ntk_vec runtimes; /* struct runtime_state * */
    struct ntk_map by_key;
    void (*context_free)(void *);

    struct ntk_vec events; /* struct ntk_event_sample */
    uint64_t events_unlisted;
    uint64_t events_read_total;
    uint64_t events_lost_total;

    struct ntk_map tags; /* struct tag_state * */
    uint64_t outcome_total[NTK_OUTCOME_COUNT];
    uint64_t error_total[NTK_ERROR_CLASS_COUNT];

    struct ntk_device_tree tree; /* devices points to tree_devices */
    struct ntk_device_info tree_devices[NTK_DEVICES_MAX];
    struct ntk_device_reading readings[NTK_DEVICES_MAX];
    size_t reading_count;
    struct device_state devices[NTK_DEVICES_MAX];
    struct machine_core cores[NTK_AGGREGATE_CORES_MAX];

    bool has_system;
    bool has_system_base;
    struct ntk_system_reading
        system;                 /* cpus points to system_cpus.items, errors to the pending texts */
    struct ntk_vec system_cpus; /* struct ntk_cpu_reading */
    struct ntk_cpu_reading system_average_base;
    struct ntk_vec system_base; /* struct ntk_cpu_reading */
    uint64_t switches_base;

    /* scratch */
    struct ntk_ring_histogram histogram;
    struct ntk_histogram_dense dense;
    struct ntk_histogram_dense merged_total;
    struct ntk_histogram_dense merged_device;
    uint64_t sums[NTK_SEGMENT_CORES + 1][NTK_MEMORY_CATEGORY_COUNT];
};

/* name is a struct runtime_state **. */
#define each_runtime(name, aggregate)                                            \
    for (struct runtime_state **name = (aggregate)->runtimes.items,              \
                              **name##_end = name + (aggregate)->runtimes.count; \
         name && name < name##_end; name++)

static uint64_t difference(uint64_t now, uint64_t before)
{
    return now >= before ? now - before : now;
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

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

/* ---- life ---- */

int ntk_aggregate_create(const struct ntk_aggregate_options *options, struct ntk_aggregate **out)
{
    struct ntk_aggregate *aggregate = calloc(1, sizeof *aggregate);

    if (!aggregate) {
        return -ENOMEM;
    }
    aggregate->pending = ntk_snapshot_create();
    if (!aggregate->pending) {
        free(aggregate);
        return -ENOMEM;
    }
    aggregate->options = *options;
    if (aggregate->options.events_max == 0) {
        aggregate->options.events_max = NTK_COLLECT_EVENTS_MAX;
    }
    aggregate->last_monotonic_ns = options->begin_monotonic_ns;
    ntk_vec_init(&aggregate->runtimes, sizeof(struct runtime_state *));
    ntk_vec_init(&aggregate->events, sizeof(struct ntk_event_sample));
    ntk_vec_init(&aggregate->system_cpus, sizeof(struct ntk_cpu_reading));
    ntk_vec_init(&aggregate->system_base, sizeof(struct ntk_cpu_reading));
    *out = aggregate;
    return 0;
}

static void free_model(struct model_state *model)
{
    free(model->total.entries);
    free(model->device.entries);
}

static void free_runtime(struct ntk_aggregate *aggregate, struct runtime_state *runtime)
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

void ntk_aggregate_destroy(struct ntk_aggregate *aggregate)
{
    if (!aggregate) {
        return;
    }
    each_runtime(runtime, aggregate)
    {
        free_runtime(aggregate, *runtime);
    }
    ntk_map_each(entry, &aggregate->tags) {
        struct tag_state *tag = entry->value;

        free(tag->tag);
        free(tag);
    }
    ntk_map_fini(&aggregate->tags);
    ntk_map_fini(&aggregate->by_key);
    ntk_vec_fini(&aggregate->runtimes);
    ntk_vec_fini(&aggregate->events);
    ntk_vec_fini(&aggregate->system_cpus);
    ntk_vec_fini(&aggregate->system_base);
    ntk_snapshot_destroy(aggregate->pending);
    free(aggregate->boot_id);
    free(aggregate->host_name);
    free(aggregate);
}

void ntk_aggregate_set_host(struct ntk_aggregate *aggregate, const char *boot_id,
                            const char *host_name)
{
    replace_text(&aggregate->boot_id, boot_id);
    replace_text(&aggregate->host_name, host_name);
}

/* ---- the host ---- */

void ntk_aggregate_system(struct ntk_aggregate *aggregate, const struct ntk_system_reading *reading)
{
    size_t count =
        reading->cpu_count < NTK_AGGREGATE_CPUS_MAX ? reading->cpu_count : NTK_AGGREGATE_CPUS_MAX;

    aggregate->system = *reading;
    aggregate->system.cpu_error = ntk_snapshot_text(aggregate->pending, reading->cpu_error);
    aggregate->system.memory_error = ntk_snapshot_text(aggregate->pending, reading->memory_error);
    ntk_vec_clear(&aggregate->system_cpus);
    for (size_t i = 0; i < count; i++) {
        ntk_vec_push(&aggregate->system_cpus, &reading->cpus[i]);
    }
    aggregate->has_system = true;
    if (!aggregate->has_system_base && (reading->has & NTK_SYSTEM_HAS_CPU)) {
        aggregate->system_average_base = reading->average;
        aggregate->switches_base = reading->context_switches;
        for (size_t i = 0; i < count; i++) {
            ntk_vec_push(&aggregate->system_base, &reading->cpus[i]);
        }
        aggregate->has_system_base = true;
    }
}

/* Ticks never go back but for the kernel's own corrections of idle and io_wait: those count 0. */
static void cpu_shares(const struct ntk_cpu_reading *now, const struct ntk_cpu_reading *before,
                       double share[NTK_CPU_FIELD_COUNT])
{
    uint64_t ticks[NTK_CPU_FIELD_COUNT];
    uint64_t whole =
        now->other_ticks > before->other_ticks ? now->other_ticks - before->other_ticks : 0;

    for (size_t i = 0; i < NTK_CPU_FIELD_COUNT; i++) {
        ticks[i] = now->ticks[i] > before->ticks[i] ? now->ticks[i] - before->ticks[i] : 0;
        whole += ticks[i];
    }
    for (size_t i = 0; i < NTK_CPU_FIELD_COUNT; i++) {
        share[i] = whole == 0 ? 0 : (double)ticks[i] / (double)whole;
    }
}

static const struct ntk_cpu_reading *find_cpu(const struct ntk_vec *cpus, size_t hint, uint32_t cpu)
{
    const struct ntk_cpu_reading *rows = cpus->items;

    if (hint < cpus->count && rows[hint].cpu == cpu) {
        return &rows[hint];
    }
    for (size_t i = 0; i < cpus->count; i++) {
        if (rows[i].cpu == cpu) {
            return &rows[i];
        }
    }
    return NULL;
}

static void build_system(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot)
{
    const struct ntk_system_reading *now = &aggregate->system;
    struct ntk_system_sample *out = &snapshot->system;

    if (!aggregate->has_system) {
        return;
    }
    out->has = now->has;
    out->cpu_error = or_empty(now->cpu_error);
    out->memory_error = or_empty(now->memory_error);
    out->memory_total_bytes = now->memory_total_bytes;
    out->memory_used_bytes = now->memory_used_bytes;
    out->swap_total_bytes = now->swap_total_bytes;
    out->swap_used_bytes = now->swap_used_bytes;
    if ((now->has & NTK_SYSTEM_HAS_CPU) && aggregate->has_system_base) {
        const struct ntk_cpu_reading *cpus = aggregate->system_cpus.items;

        cpu_shares(&now->average, &aggregate->system_average_base, out->average);
        out->cpus = ntk_snapshot_alloc(snapshot, aggregate->system_cpus.count, sizeof *out->cpus);
        out->cpu_count = out->cpus ? aggregate->system_cpus.count : 0;
        for (size_t i = 0; i < out->cpu_count; i++) {
            const struct ntk_cpu_reading *before =
                find_cpu(&aggregate->system_base, i, cpus[i].cpu);

            out->cpus[i].cpu = cpus[i].cpu;
            cpu_shares(&cpus[i], before ? before : &cpus[i], out->cpus[i].share);
        }
        out->context_switches = difference(now->context_switches, aggregate->switches_base);
        aggregate->system_average_base = now->average;
        aggregate->switches_base = now->context_switches;
        ntk_vec_clear(&aggregate->system_base);
        for (size_t i = 0; i < aggregate->system_cpus.count; i++) {
            ntk_vec_push(&aggregate->system_base, &cpus[i]);
        }
    } else {
        out->has &= ~(uint32_t)(NTK_SYSTEM_HAS_CPU | NTK_SYSTEM_HAS_CONTEXT_SWITCHES);
    }
    aggregate->has_system = false;
}

/* ---- devices ---- */

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

static void take_tree_core(struct machine_core *core, const struct ntk_device_core_reading *reading,
                           bool appeared)
{
    const struct {
        enum counter counter;
        uint32_t has;
        const struct ntk_device_value *value;
        uint64_t scale;
    } rows[] = {
        { COUNTER_BUSY, NTK_CORE_HAS_BUSY, &reading->busy_us, 1000 },
        { COUNTER_EFFECTIVE_FLOPS, NTK_CORE_HAS_EFFECTIVE_FLOPS, &reading->flops, 1 },
        { COUNTER_OUTCOME + NTK_OUTCOME_COMPLETED, NTK_CORE_HAS_EXECUTIONS,
          &reading->inference_count, 1 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t now = rows[i].value->value * rows[i].scale;

        if (!rows[i].value->present || (core->has_segment & rows[i].has)) {
            core->has_tree &= ~rows[i].has;
            continue;
        }
        if (!(core->has_tree & rows[i].has)) {
            core->tree_base[rows[i].counter] = appeared ? 0 : now;
            core->has_tree |= rows[i].has;
        }
        core->period[rows[i].counter] += difference(now, core->tree_base[rows[i].counter]);
        core->tree_base[rows[i].counter] = now;
    }
    core->has_memory = reading->device_memory_bytes.present;
    core->memory_bytes = reading->device_memory_bytes.value;
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

        aggregate->readings[i] = readings[i];
        if (index >= NTK_DEVICES_MAX) {
            continue;
        }
        state = &aggregate->devices[index];
        for (int ecc = 0; ecc < NTK_ECC_COUNT; ecc++) {
            const struct ntk_device_value *value = ecc_value(&readings[i], (enum ntk_ecc)ecc);

            if (value->present && !state->known[ecc]) {
                state->known[ecc] = true;
                state->base[ecc] = appeared ? 0 : value->value;
            }
        }
        for (uint32_t c = 0; c < tree->cores_per_device && c < NTK_DEVICE_CORES_MAX; c++) {
            uint32_t core = index * tree->cores_per_device + c;

            if (core < NTK_AGGREGATE_CORES_MAX) {
                take_tree_core(&aggregate->cores[core], &readings[i].cores[c], appeared);
            }
        }
    }
}

bool ntk_aggregate_wants_device_cores(const struct ntk_aggregate *aggregate)
{
    uint32_t count = (uint32_t)aggregate->tree.device_count * aggregate->tree.cores_per_device;

    if (aggregate->tree.origin == NTK_DEVICE_ORIGIN_SOFTWARE) {
        return false;
    }
    for (uint32_t i = 0; i < count && i < NTK_AGGREGATE_CORES_MAX; i++) {
        if (!(aggregate->cores[i].has_segment & NTK_CORE_HAS_EFFECTIVE_FLOPS)) {
            return true;
        }
    }
    return aggregate->tree.device_count == 0;
}

static const struct ntk_machine *find_machine(const struct ntk_aggregate *aggregate,
                                              const char **out_type)
{
    const struct ntk_device_tree *tree = &aggregate->tree;
    const struct ntk_machine *machine = NULL;

    *out_type = "";
    if (tree->machine_type[0]) {
        *out_type = tree->machine_type;
        machine = ntk_machine_find(tree->machine_type);
    }
    if (!machine && tree->device_count > 0) {
        machine = ntk_machine_find_device(tree->devices[0].name);
    }
    each_runtime(runtime, aggregate)
    {
        const char *type = (*runtime)->sample.instance_type;

        if (!(*runtime)->sampled || !type[0] || (machine && (*out_type)[0])) {
            continue;
        }
        /* A process names its machine; a tree, where there is one, has the last word on the family. */
        const struct ntk_machine *named = ntk_machine_find(type);

        if (named &&
            (!machine || strcmp(machine->sysfs_device_name, named->sysfs_device_name) == 0)) {
            machine = named;
            *out_type = type;
        }
    }
    return machine;
}

/* The LNC that a tool shows: what the running processes agree on, else the environment, else the
 * family's default. */
static uint32_t choose_lnc(const struct ntk_aggregate *aggregate, const struct ntk_machine *machine)
{
    static const char *const variables[] = { "NEURON_RT_VIRTUAL_CORE_SIZE",
                                             "NEURON_LOGICAL_NC_CONFIG" };
    uint32_t agreed = 0;
    bool differ = false;

    each_runtime(runtime, aggregate)
    {
        uint32_t lnc = (*runtime)->sample.lnc;

        if ((*runtime)->sampled && !(*runtime)->ended) {
            differ = differ || (agreed != 0 && agreed != lnc);
            agreed = lnc;
        }
    }
    if (agreed != 0 && !differ) {
        return agreed;
    }
    for (size_t i = 0; i < 2; i++) {
        const char *text = getenv(variables[i]);
        uint64_t lnc;

        if (text && ntk_str_parse_u64(text, &lnc) == 0 && (lnc == 1 || lnc == 2)) {
            return machine && lnc > machine->lnc_max ? machine->lnc_max : (uint32_t)lnc;
        }
    }
    return machine ? machine->lnc_default : 1;
}

static void build_hardware(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot)
{
    struct ntk_hardware *out = &snapshot->hardware;
    const struct ntk_device_tree *tree = &aggregate->tree;
    const char *type;
    const struct ntk_machine *machine = find_machine(aggregate, &type);

    out->software = tree->origin == NTK_DEVICE_ORIGIN_SOFTWARE;
    out->instance_type = ntk_snapshot_text(snapshot, type);
    out->driver_version = ntk_snapshot_text(snapshot, tree->driver_version);
    out->lnc = choose_lnc(aggregate, machine);
    if (tree->origin != NTK_DEVICE_ORIGIN_NONE && tree->device_count > 0) {
        out->has |= NTK_HARDWARE_HAS_DEVICES;
        out->device_count = (uint32_t)tree->device_count;
        out->cores_per_device = tree->cores_per_device;
    } else if (machine && type[0]) {
        out->has |= NTK_HARDWARE_HAS_DEVICES;
        out->device_count = machine->device_count;
        out->cores_per_device = machine->cores_per_device;
    } else {
        out->error = "no Neuron driver and no software machine found";
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

static void build_stacks(const struct ntk_aggregate *aggregate, const struct ntk_snapshot *snapshot,
                         struct ntk_device_sample *device)
{
    const struct ntk_hardware *hardware = &snapshot->hardware;
    uint32_t first = device->index * hardware->cores_per_device;

    if (!(hardware->has & NTK_HARDWARE_HAS_MEMORY)) {
        return;
    }
    device->stack_count = hardware->stack_count < NTK_SNAPSHOT_STACKS_MAX ? hardware->stack_count
                                                                          : NTK_SNAPSHOT_STACKS_MAX;
    device->has |= NTK_DEVICE_HAS_MEMORY_CAPACITY;
    for (uint32_t s = 0; s < device->stack_count; s++) {
        device->stack_capacity_bytes[s] = hardware->device_memory_bytes / hardware->stack_count;
    }
    /* A driver's tree knows every process. The software machine's is a second old and stays as it is
     * when its last process was killed: there the processes themselves are asked. */
    if (aggregate->tree.origin == NTK_DEVICE_ORIGIN_SOFTWARE ||
        aggregate->tree.origin == NTK_DEVICE_ORIGIN_NONE) {
        device->has |= NTK_DEVICE_HAS_MEMORY_USED;
        for (size_t r = 0; r < snapshot->runtime_count; r++) {
            const struct ntk_runtime_sample *runtime = &snapshot->runtimes[r];

            for (size_t i = 0; i < runtime->memory_count; i++) {
                const struct ntk_memory_sample *row = &runtime->memory[i];
                uint32_t stack = (row->core - first) / hardware->cores_per_stack;

                if (row->location == NTK_MEMORY_DEVICE && row->core >= first &&
                    row->core < first + hardware->cores_per_device && stack < device->stack_count) {
                    device->stack_used_bytes[stack] += row->current_bytes;
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
            device->stack_used_bytes[stack] += core->memory_bytes;
        }
    }
}

static void build_devices(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot)
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
        out->serial = ntk_snapshot_text(snapshot, tree->devices[i].serial);
        if (tree->devices[i].has_neighbours) {
            out->has |= NTK_DEVICE_HAS_NEIGHBOURS;
            out->neighbour_count = tree->devices[i].neighbour_count;
            memcpy(out->neighbours, tree->devices[i].neighbours, sizeof out->neighbours);
        }
        if (i >= aggregate->reading_count || out->index >= NTK_DEVICES_MAX) {
            continue;
        }
        state = &aggregate->devices[out->index];
        for (int ecc = 0; ecc < NTK_ECC_COUNT; ecc++) {
            const struct ntk_device_value *value =
                ecc_value(&aggregate->readings[i], (enum ntk_ecc)ecc);

            if (value->present && state->known[ecc]) {
                out->has |= NTK_DEVICE_HAS_ECC;
                out->ecc_has |= 1u << ecc;
                out->ecc[ecc].total = value->value;
                out->ecc[ecc].period = difference(value->value, state->base[ecc]);
                state->base[ecc] = value->value;
                state->since_start[ecc] += out->ecc[ecc].period;
            }
            out->ecc_since_start[ecc] = state->since_start[ecc];
        }
        if (aggregate->readings[i].has_power) {
            out->has |= NTK_DEVICE_HAS_POWER;
            out->power_time_seconds = aggregate->readings[i].power_time_seconds;
            out->power_min = aggregate->readings[i].power_min_percent / 100;
            out->power_max = aggregate->readings[i].power_max_percent / 100;
            out->power_average = aggregate->readings[i].power_average_percent / 100;
        }
    }
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
    for (size_t i = 0; i < old.count; i++) {
        uint64_t *bucket = &dense->bucket[old.entries[i].bucket];

        *bucket = difference(*bucket, old.entries[i].count);
    }
    dense->sum_ns = difference(sum_ns, old.sum_ns);
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

static void sample_of_counters(struct ntk_core_sample *sample, const uint64_t period[COUNTER_COUNT],
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
    found = collector->totals_get(or_empty(aggregate->boot_id), reading->process->own_pid,
                                  reading->process->start_time, stored, NTK_SEGMENT_CORES, &count,
                                  collector->totals_ctx);
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
    free(stored);
    return found;
}

static int start_from_now(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                          const struct ntk_runtime_reading *reading)
{
    struct ntk_ring_histogram *histogram = &aggregate->histogram;

    for (size_t i = 0; i < reading->core_count; i++) {
        struct core_state *core = core_state(runtime, reading->cores[i].core);

        if (!core) {
            return -ENOMEM;
        }
        core_counters(&reading->cores[i], core->base);
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
    free_runtime(aggregate, runtime);
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
        period[i] = difference(total[i], state->base[i]);
        state->base[i] = total[i];
        machine->period[i] += period[i];
    }
    sample_of_counters(out, period, total);
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

        if (!state) {
            return reading->cores[i].core < NTK_SEGMENT_CORES ? -ENOMEM : -EINVAL;
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
    out->in_flight = reading->ended ? 0 : model->running;
    out->load_realtime_ns = model->load_realtime_ns;
    out->load_ns = model->load_ns;
    out->executions.total = model->executions;
    out->executions.period = difference(model->executions, state->executions);
    out->errors.total = model->errors;
    out->errors.period = difference(model->errors, state->errors);
    out->is_running = out->executions.period > 0 || model->running > 0;
    moved = out->executions.period > 0;
    state->executions = model->executions;
    state->errors = model->errors;
    if (!model->has_histogram) {
        state->moved = moved;
        return;
    }
    out->has = NTK_MODEL_HAS_LATENCY | (software ? NTK_MODEL_HAS_DEVICE_LATENCY : 0u);
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
    out->events_read.total = difference(reading->events_read, runtime->events_read_base);
    out->events_read.period = difference(out->events_read.total, runtime->events_read);
    out->events_lost.total = difference(reading->events_lost, runtime->events_lost_base);
    out->events_lost.period = difference(out->events_lost.total, runtime->events_lost);
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
    uint64_t user = difference(user_ticks, runtime->user_base);
    uint64_t system = difference(system_ticks, runtime->system_base);

    runtime->has_usage_base = true;
    runtime->user_base = user_ticks;
    runtime->system_base = system_ticks;
    if (!runtime->sampled) {
        return;
    }
    out->has |= NTK_RUNTIME_HAS_RSS | NTK_RUNTIME_HAS_CPU;
    out->rss_bytes = rss_pages * aggregate->options.page_bytes;
    if (had_base) {
        /* Ticks for now; finish() knows how long the period was. */
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

/* ---- events ---- */

struct ntk_event_sample *ntk_aggregate_event(struct ntk_aggregate *aggregate)
{
    struct ntk_event_sample *event = NULL;

    if (aggregate->events.count < aggregate->options.events_max) {
        event = ntk_vec_add(&aggregate->events);
    }
    if (!event) {
        aggregate->events_unlisted++;
        return NULL;
    }
    event->name = "";
    event->core = NTK_NO_CORE;
    event->error_class = NTK_ERROR_CLASS_NONE;
    return event;
}

const char *ntk_aggregate_event_text(struct ntk_aggregate *aggregate, const char *text)
{
    return ntk_snapshot_text(aggregate->pending, text);
}

static int compare_events(const void *a, const void *b)
{
    const struct ntk_event_sample *x = a;
    const struct ntk_event_sample *y = b;

    return x->realtime_ns < y->realtime_ns ? -1 : x->realtime_ns > y->realtime_ns;
}

static void build_events(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot)
{
    struct ntk_event_sample *events = ntk_snapshot_alloc_events(snapshot, aggregate->events.count);

    if (events) {
        memcpy(events, aggregate->events.items, aggregate->events.count * sizeof *events);
        qsort(events, snapshot->event_count, sizeof *events, compare_events);
    }
    snapshot->events_unlisted = aggregate->events_unlisted;
    aggregate->events_unlisted = 0;
    ntk_vec_clear(&aggregate->events);
}

/* ---- the end of the period ---- */

static struct tag_state *tag_state(struct ntk_aggregate *aggregate, const char *text,
                                   uint64_t realtime_ns)
{
    struct tag_state *tag = ntk_map_get(&aggregate->tags, text);

    if (tag) {
        return tag;
    }
    if (aggregate->tags.count >= NTK_AGGREGATE_TAGS_MAX) {
        struct tag_state *oldest = NULL;

        ntk_map_each(entry, &aggregate->tags) {
            struct tag_state *candidate = entry->value;

            if (!oldest || candidate->used < oldest->used) {
                oldest = candidate;
            }
        }
        if (oldest) {
            ntk_map_remove(&aggregate->tags, oldest->tag);
            free(oldest->tag);
            free(oldest);
        }
    }
    tag = calloc(1, sizeof *tag);
    if (!tag) {
        return NULL;
    }
    tag->tag = strdup(text);
    if (!tag->tag || ntk_map_put(&aggregate->tags, text, tag) < 0) {
        free(tag->tag);
        free(tag);
        return NULL;
    }
    tag->total.first_realtime_ns = realtime_ns;
    return tag;
}

static void build_tags(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot)
{
    snapshot->tags = ntk_snapshot_alloc(snapshot, snapshot->runtime_count, sizeof *snapshot->tags);
    if (!snapshot->tags) {
        return;
    }
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];
        struct tag_state *tag = tag_state(aggregate, runtime->tag, snapshot->realtime_ns);

        if (!tag) {
            continue;
        }
        for (size_t k = 0; k < NTK_OUTCOME_COUNT; k++) {
            tag->total.outcome[k] += runtime->outcome[k].period;
        }
        for (size_t k = 0; k < NTK_ERROR_CLASS_COUNT; k++) {
            tag->total.error_class[k] += runtime->error_class[k].period;
        }
        tag->used = snapshot->sequence;
    }
    /* Each tag once, in the order of its first runtime. */
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const char *text = snapshot->runtimes[i].tag;
        struct tag_state *tag = ntk_map_get(&aggregate->tags, text);
        bool listed = false;

        for (size_t k = 0; k < snapshot->tag_count && !listed; k++) {
            listed = strcmp(snapshot->tags[k].tag, text) == 0;
        }
        if (tag && !listed) {
            snapshot->tags[snapshot->tag_count] = tag->total;
            snapshot->tags[snapshot->tag_count++].tag = text;
        }
    }
}

static double share_of(uint64_t ns, uint64_t period_ns)
{
    double share = period_ns == 0 ? 0 : (double)ns / (double)period_ns;

    return share > 1 ? 1 : share;
}

static void build_cores(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot)
{
    size_t count = (size_t)snapshot->hardware.device_count * snapshot->hardware.cores_per_device;

    for (size_t i = count; i < NTK_AGGREGATE_CORES_MAX; i++) {
        if (aggregate->cores[i].has_segment) {
            count = i + 1;
        }
    }
    if (count > NTK_AGGREGATE_CORES_MAX) {
        count = NTK_AGGREGATE_CORES_MAX;
    }
    snapshot->cores = ntk_snapshot_alloc(snapshot, count, sizeof *snapshot->cores);
    snapshot->core_count = snapshot->cores ? count : 0;
    for (size_t i = 0; i < NTK_AGGREGATE_CORES_MAX; i++) {
        struct machine_core *core = &aggregate->cores[i];

        for (size_t k = 0; k < COUNTER_COUNT; k++) {
            core->total[k] += core->period[k];
        }
        if (i < snapshot->core_count) {
            struct ntk_core_sample *out = &snapshot->cores[i];

            sample_of_counters(out, core->period, core->total);
            out->core = (uint32_t)i;
            out->has = core->has_segment | core->has_tree;
            out->has &= ~(uint32_t)(NTK_CORE_HAS_LATENCY | NTK_CORE_HAS_DEVICE_LATENCY);
            if (snapshot->hardware.software) {
                /* Nobody runs on it: it is idle, which is known. */
                out->has |= NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EXECUTIONS | CORE_HAS_SOFTWARE;
                out->has &= ~(uint32_t)NTK_CORE_HAS_DEVICE_LATENCY;
            }
            out->in_flight = core->in_flight;
            out->utilization = share_of(core->period[COUNTER_BUSY], snapshot->period_ns);
        }
        memset(core->period, 0, sizeof core->period);
        core->in_flight = 0;
    }
}

static int compare_runtimes(const void *a, const void *b)
{
    const struct ntk_runtime_sample *x = a;
    const struct ntk_runtime_sample *y = b;

    if (x->start_time != y->start_time) {
        return x->start_time < y->start_time ? -1 : 1;
    }
    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void build_runtimes(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot)
{
    size_t cpus = aggregate->system_cpus.count > 0 ? aggregate->system_cpus.count : 1;
    double period_ticks = (double)snapshot->period_ns * aggregate->options.ticks_per_second / 1e9;
    size_t count = 0;
    size_t at = 0;

    each_runtime(runtime, aggregate)
    {
        count += (*runtime)->sampled;
    }
    ntk_snapshot_alloc_runtimes(snapshot, count);
    each_runtime(runtime, aggregate)
    {
        struct ntk_runtime_sample *sample = &(*runtime)->sample;

        if (!(*runtime)->sampled || at >= snapshot->runtime_count) {
            continue;
        }
        (*runtime)->emitted = true;
        for (size_t i = 0; i < sample->core_count; i++) {
            sample->cores[i].utilization =
                share_of(sample->cores[i].busy_ns.period, snapshot->period_ns);
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

/* Processes that ended were in this snapshot; those that no source saw any more are gone as well. */
static void forget_ended(struct ntk_aggregate *aggregate)
{
    for (size_t i = aggregate->runtimes.count; i-- > 0;) {
        struct runtime_state *runtime = runtime_at(aggregate, i);

        if (runtime->ended || !runtime->sampled) {
            ntk_map_remove(&aggregate->by_key, runtime->key);
            ntk_vec_remove(&aggregate->runtimes, i);
            free_runtime(aggregate, runtime);
            continue;
        }
        runtime->sampled = false;
        runtime->sample.instance_type = "";
    }
}

int ntk_aggregate_finish(struct ntk_aggregate *aggregate, uint64_t monotonic_ns,
                         uint64_t realtime_ns, struct ntk_snapshot **out_snapshot)
{
    struct ntk_snapshot *snapshot = aggregate->pending;
    struct ntk_snapshot *next = ntk_snapshot_create();

    if (!next) {
        return -ENOMEM;
    }
    snapshot->sequence = ++aggregate->sequence;
    snapshot->monotonic_ns = monotonic_ns;
    snapshot->realtime_ns = realtime_ns;
    snapshot->period_ns = monotonic_ns > aggregate->last_monotonic_ns
                              ? monotonic_ns - aggregate->last_monotonic_ns
                              : 0;
    aggregate->last_monotonic_ns = monotonic_ns;
    snapshot->boot_id = ntk_snapshot_text(snapshot, aggregate->boot_id);
    snapshot->host_name = ntk_snapshot_text(snapshot, aggregate->host_name);
    build_hardware(aggregate, snapshot);
    build_runtimes(aggregate, snapshot);
    build_devices(aggregate, snapshot);
    build_cores(aggregate, snapshot);
    build_system(aggregate, snapshot);
    build_events(aggregate, snapshot);
    build_tags(aggregate, snapshot);
    forget_ended(aggregate);
    aggregate->pending = next;
    if (!ntk_snapshot_ok(snapshot)) {
        ntk_snapshot_destroy(snapshot);
        return -ENOMEM;
    }
    *out_snapshot = snapshot;
    return 0;
}
