/* SPDX-License-Identifier: MIT */
#include "shared/metrics/snapshot.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES (64u * 1024u)
#define ALIGNMENT 16u

const char *const ntk_runtime_group_names[NTK_RUNTIME_GROUP_COUNT] = {
    "execution_stats",
    "memory_used",
    "neuron_runtime_vcpu_usage",
    "neuroncore_counters",
};

const char *const ntk_system_group_names[NTK_SYSTEM_GROUP_COUNT] = {
    "memory_info",
    "neuron_hw_counters",
    "self_stats",
    "vcpu_usage",
};

const char *const ntk_ecc_names[NTK_ECC_COUNT] = {
#define NTK_DEVICE_ECC(symbol, name) #name,
#include "shared/metrics/device.def"
};

#define DEVICE_ROW(name, metric, group, statistic)    \
    { #name,                                          \
      offsetof(struct ntk_device_sample, name),       \
      sizeof((struct ntk_device_sample *)NULL)->name, \
      NTK_DEVICE_HAS_##group,                         \
      NTK_METRIC_##metric,                            \
      statistic },
const struct ntk_device_row ntk_device_rows[NTK_DEVICE_ROWS] = {
#define NTK_DEVICE_BYTES(name, metric, group) DEVICE_ROW(name, metric, group, NULL)
#define NTK_DEVICE_RATIO(name, metric, group, statistic) DEVICE_ROW(name, metric, group, statistic)
#include "shared/metrics/device.def"
};

enum { OF_OPERATIONS, OF_WORK, STORED_NONE = 0, STORED_COLUMN = 1 };
const struct ntk_rank_count_row ntk_rank_count_rows[NTK_RANK_COUNTS] = {
#define NTK_RANK_COUNT(name, of, reported, stored, metric) \
    { #name, OF_##of == OF_WORK, STORED_##stored, NTK_METRIC_##metric },
#include "shared/metrics/rank.def"
};

uint64_t ntk_device_sum(const struct ntk_device_sample *device, const uint64_t *stacks)
{
    uint64_t sum = 0;

    for (size_t s = 0; s < device->stack_count && s < NTK_SNAPSHOT_STACKS_MAX; s++) {
        sum += stacks[s];
    }
    return sum;
}

const char *const ntk_error_code_names[NTK_ERROR_CODE_COUNT] = {
    [NTK_ERROR_CODE_STATUS] = "",
#define NTK_DEVICE_ECC(symbol, name) [NTK_ERROR_CODE_ECC_##symbol] = #name,
#include "shared/metrics/device.def"
    [NTK_ERROR_CODE_RESET] = "device_reset",
};

const char *const ntk_hooks_kind_names[NTK_HOOKS_KIND_COUNT] = {
    [NTK_HOOKS_UNKNOWN] = "",
    [NTK_HOOKS_BUILT_IN] = "built-in",
    [NTK_HOOKS_PRELOADED] = "preloaded",
    [NTK_HOOKS_ATTACHED] = "attached",
};

const char *const ntk_cpu_field_names[NTK_CPU_FIELD_COUNT] = {
    "user", "nice", "system", "idle", "io_wait", "irq", "soft_irq",
};

const char *const ntk_memory_group_keys[NTK_GROUP_COUNT] = {
    "application_memory",
    "constants",
    "dma_buffers",
    "tensors",
    "constants",
    "model_code",
    "model_shared_scratchpad",
    "runtime_memory",
    "tensors",
};

const char *const ntk_memory_category_names[NTK_MEMORY_CATEGORY_COUNT] = {
#define NTK_MEMORY(id, symbol, name, location, sysfs, report_key, oom_row, ntff_type) name,
#include "shared/abi/memory.def"
#undef NTK_MEMORY
};

const char *const ntk_engine_labels[NTK_ENGINE_COUNT] = {
#define NTK_ENGINE(id, symbol, neff_file, short_name, label, profiler_name, nki_engine) label,
#include "shared/abi/engine.def"
#undef NTK_ENGINE
};

const char *const ntk_outcome_names[NTK_OUTCOME_COUNT] = {
#define NTK_OUTCOME(id, symbol, name, text) name,
#include "shared/abi/core_counts.def"
};

const char *const ntk_error_class_names[NTK_ERROR_CLASS_COUNT] = {
#define NTK_ERROR_CLASS(id, symbol, name) name,
#include "shared/abi/core_counts.def"
};

#define COLUMN_ONE(member) #member
#define COLUMN_ENGINE(member) "_busy_ns"
#define COLUMN_OUTCOME(member) ""
#define COLUMN_ERROR_CLASS(member) ""
#define NAMES_ONE NULL
#define NAMES_ENGINE ntk_engine_labels
#define NAMES_OUTCOME ntk_outcome_names
#define NAMES_ERROR_CLASS ntk_error_class_names
const struct ntk_core_count_row ntk_core_count_rows[NTK_CORE_COUNT_ROWS] = {
#define NTK_CORE_COUNT(id, member, list, group, metric)                    \
    [id] = { NTK_CORE_COUNT_AT(member), sizeof(char NTK_CORE_LIST_##list), \
             NTK_CORE_HAS_##group,      NTK_METRIC_##metric,               \
             COLUMN_##list(member),     NAMES_##list },
#include "shared/abi/core_counts.def"
};

/* Of figures that nothing says to be known. */
#define NTK_CORE_HAS_ANY 0
#define SMALLEST_SUM false
#define SMALLEST_ANY false
#define SMALLEST_LARGEST false
#define SMALLEST_SMALLEST true
#define SMALLEST_EARLIEST true
#define SMALLEST_NONE false
const struct ntk_core_state_row ntk_core_state_rows[NTK_CORE_STATES] = {
#define NTK_CORE_STATE(name, type, report, known, rule, metric)                      \
    { offsetof(struct ntk_core_sample, name), NTK_CORE_HAS_##known, SMALLEST_##rule, \
      NTK_METRIC_##metric },
#include "shared/metrics/core_state.def"
};

const struct ntk_system_row ntk_system_rows[NTK_SYSTEM_FIGURES] = {
#define NTK_SYSTEM_GAUGE(id, name, group, rule, metric) \
    { #name, NTK_SYSTEM_HAS_##group, NTK_SYSTEM_GROUP_MEMORY, false, NTK_METRIC_##metric },
#define NTK_SYSTEM_COUNTER(id, name, group, key, metric) \
    { #name, NTK_SYSTEM_HAS_##group, NTK_SYSTEM_GROUP_CPU, true, NTK_METRIC_##metric },
#include "shared/metrics/system.def"
};

const struct ntk_machine_text ntk_instance_texts[NTK_INSTANCE_TEXTS] = {
#define NTK_INSTANCE_TEXT(name, reported, key, column, place, label) { column, label, place },
#include "shared/metrics/machine.def"
};
const struct ntk_machine_text ntk_hardware_texts[NTK_HARDWARE_TEXTS] = {
#define NTK_HARDWARE_TEXT(name, part, key, column) { column, NULL, 0 },
#include "shared/metrics/machine.def"
};

const struct ntk_job_text ntk_job_texts[NTK_JOB_TEXTS] = {
#define NTK_JOB_TEXT(name, column, key, label) { column, label },
#include "shared/metrics/job.def"
};

const char *const ntk_adapter_words[NTK_ADAPTER_COUNT] = {
#define NTK_ADAPTER(family, word) #word,
#include "shared/abi/adapter.def"
};
const struct ntk_adapter_row ntk_adapter_rows[NTK_ADAPTER_COUNTERS] = {
#define NTK_ADAPTER_COUNTER(family, symbol, name, metric) \
    { NTK_ADAPTER_##family, name, NTK_METRIC_##metric },
#include "shared/abi/adapter.def"
};

/* ---- memory of a snapshot: blocks that are freed together ---- */

struct block {
    struct block *next;
    size_t used;
    size_t capacity;
    /* the bytes follow, aligned */
};

struct owned_snapshot {
    struct ntk_snapshot snapshot; /* first: the public pointer is this one */
    struct block *blocks;         /* the one being filled is first */
    unsigned int holders;
    bool failed;
};

#define BLOCK_HEADER ((sizeof(struct block) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT)

static struct owned_snapshot *owned(struct ntk_snapshot *snapshot)
{
    return (struct owned_snapshot *)snapshot;
}

static void set_empty_texts(struct ntk_snapshot *snapshot)
{
    struct ntk_hardware *hardware = &snapshot->hardware;

    snapshot->boot_id = snapshot->host_name = "";
    snapshot->instance.error = hardware->error = "";
    for (size_t i = 0; i < NTK_INSTANCE_TEXTS; i++) {
        snapshot->instance.texts[i] = "";
    }
    for (size_t i = 0; i < NTK_HARDWARE_TEXTS; i++) {
        hardware->texts[i] = "";
    }
    snapshot->system.cpu_error = snapshot->system.memory_error = "";
    snapshot->k8s = (struct ntk_k8s){ .period_ns = NTK_GROUP_ABSENT, .error = "" };
    snapshot->jobs.error = "";
    snapshot->group_period_ns[NTK_SYSTEM_GROUP_SELF] = NTK_GROUP_ABSENT; /* only requested */
}

struct ntk_snapshot *ntk_snapshot_create(void)
{
    struct owned_snapshot *own = calloc(1, sizeof *own);

    if (!own) {
        return NULL;
    }
    own->holders = 1;
    set_empty_texts(&own->snapshot);
    return &own->snapshot;
}

const struct ntk_snapshot *ntk_snapshot_share(const struct ntk_snapshot *snapshot)
{
    /* The count is the one word of a finished snapshot that changes; only these two read it. */
    struct owned_snapshot *own = (struct owned_snapshot *)(uintptr_t)snapshot;

    __atomic_fetch_add(&own->holders, 1, __ATOMIC_RELAXED);
    return snapshot;
}

size_t ntk_snapshot_bytes(const struct ntk_snapshot *snapshot)
{
    const struct owned_snapshot *own = (const struct owned_snapshot *)snapshot;
    size_t bytes = sizeof *own;

    for (const struct block *block = own->blocks; block; block = block->next) {
        bytes += BLOCK_HEADER + block->capacity;
    }
    return bytes;
}

void ntk_snapshot_destroy(const struct ntk_snapshot *snapshot)
{
    struct owned_snapshot *own = (struct owned_snapshot *)(uintptr_t)snapshot;

    /* Pairs with itself: the last holder sees what the others did before they let go. */
    if (!own || __atomic_fetch_sub(&own->holders, 1, __ATOMIC_ACQ_REL) != 1) {
        return;
    }
    while (own->blocks) {
        struct block *next = own->blocks->next;

        free(own->blocks);
        own->blocks = next;
    }
    free(own);
}

bool ntk_snapshot_ok(const struct ntk_snapshot *snapshot)
{
    return !((const struct owned_snapshot *)snapshot)->failed;
}

static struct block *add_block(struct owned_snapshot *own, size_t bytes)
{
    size_t capacity = bytes > BLOCK_BYTES / 4 ? bytes : BLOCK_BYTES;
    struct block *block = calloc(1, BLOCK_HEADER + capacity);

    if (!block) {
        return NULL;
    }
    block->capacity = capacity;
    if (own->blocks && capacity == bytes) {
        /* A block of one large array goes second, so that the one with room stays first. */
        block->next = own->blocks->next;
        own->blocks->next = block;
    } else {
        block->next = own->blocks;
        own->blocks = block;
    }
    return block;
}

void *ntk_snapshot_alloc(struct ntk_snapshot *snapshot, size_t count, size_t item_bytes)
{
    struct owned_snapshot *own = owned(snapshot);
    struct block *block = own->blocks;
    size_t bytes;
    char *at;

    if (count == 0 || item_bytes == 0 || own->failed) {
        return NULL;
    }
    if (__builtin_mul_overflow(count, item_bytes, &bytes) || bytes > SIZE_MAX / 2) {
        own->failed = true;
        return NULL;
    }
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!block || block->capacity - block->used < bytes) {
        block = add_block(own, bytes);
        if (!block) {
            own->failed = true;
            return NULL;
        }
    }
    at = (char *)block + BLOCK_HEADER + block->used;
    block->used += bytes;
    return at;
}

const char *ntk_snapshot_text(struct ntk_snapshot *snapshot, const char *text)
{
    size_t bytes = text ? strlen(text) + 1 : 0;
    char *copy = bytes > 1 ? ntk_snapshot_alloc(snapshot, bytes, 1) : NULL;

    return copy ? memcpy(copy, text, bytes) : "";
}

const char *ntk_snapshot_format(struct ntk_snapshot *snapshot, const char *format, ...)
{
    char text[1024];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return length > 0 ? ntk_snapshot_text(snapshot, text) : "";
}

struct ntk_histogram ntk_snapshot_histogram_of(struct ntk_snapshot *snapshot,
                                               const struct ntk_histogram_entry *entries,
                                               size_t count, uint64_t sum_ns)
{
    struct ntk_histogram histogram = { 0 };
    struct ntk_histogram_entry *copy = ntk_snapshot_alloc(snapshot, count, sizeof *entries);

    if (!copy) {
        return histogram;
    }
    memcpy(copy, entries, count * sizeof *entries);
    for (size_t i = 0; i < count; i++) {
        histogram.count += copy[i].count;
    }
    histogram.sum_ns = sum_ns;
    histogram.entries = copy;
    histogram.entry_count = count;
    return histogram;
}

struct ntk_histogram ntk_snapshot_histogram(struct ntk_snapshot *snapshot,
                                            const struct ntk_histogram_dense *dense)
{
    struct ntk_histogram_entry entries[NTK_HISTOGRAM_BUCKETS];
    size_t used = ntk_histogram_dense_entries(dense, entries, NTK_HISTOGRAM_BUCKETS);

    return ntk_snapshot_histogram_of(snapshot, entries, used, dense->sum_ns);
}

struct ntk_runtime_sample ntk_snapshot_no_runtime(void)
{
    return (struct ntk_runtime_sample){ .tag = "",
                                        .error = "",
                                        .cpu_error = "",
#define NTK_PROCESS_TEXT(name, key) .name = "",
#include "shared/metrics/process.def"
                                        .pod = { "", "", "" },
                                        .lnc = 1 };
}

struct ntk_runtime_sample *ntk_snapshot_alloc_runtimes(struct ntk_snapshot *snapshot, size_t count)
{
    struct ntk_runtime_sample *runtimes = ntk_snapshot_alloc(snapshot, count, sizeof *runtimes);

    snapshot->runtimes = runtimes;
    snapshot->runtime_count = runtimes ? count : 0;
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        runtimes[i] = ntk_snapshot_no_runtime();
    }
    return runtimes;
}

struct ntk_device_sample *ntk_snapshot_alloc_devices(struct ntk_snapshot *snapshot, size_t count)
{
    struct ntk_device_sample *devices = ntk_snapshot_alloc(snapshot, count, sizeof *devices);

    snapshot->devices = devices;
    snapshot->device_count = devices ? count : 0;
    for (size_t i = 0; i < snapshot->device_count; i++) {
        devices[i].name = devices[i].arch = devices[i].serial = "";
    }
    return devices;
}

struct ntk_event_sample *ntk_snapshot_alloc_events(struct ntk_snapshot *snapshot, size_t count)
{
    struct ntk_event_sample *events = ntk_snapshot_alloc(snapshot, count, sizeof *events);

    snapshot->events = events;
    snapshot->event_count = events ? count : 0;
    for (size_t i = 0; i < snapshot->event_count; i++) {
        events[i].name = "";
    }
    return events;
}

const char *const ntk_trouble_kind_names[NTK_TROUBLE_KIND_COUNT] = { "hangs", "broke", "slow",
                                                                     "slower" };
const char *const ntk_rank_state_names[NTK_RANK_STATE_COUNT] = { "joined", "left", "broken" };
const char *const ntk_collective_names[NTK_COLLECTIVE_COUNT] = {
#define NTK_COLLECTIVE(id, symbol, name) name,
#include "shared/abi/collective.def"
};

struct ntk_rank_sample *ntk_snapshot_alloc_ranks(struct ntk_snapshot *snapshot,
                                                 struct ntk_runtime_sample *runtime, size_t count)
{
    struct ntk_rank_sample *ranks = ntk_snapshot_alloc(snapshot, count, sizeof *ranks);

    runtime->ranks = ranks;
    runtime->rank_count = ranks ? count : 0;
    for (size_t i = 0; i < runtime->rank_count; i++) {
        ranks[i].rendezvous = ranks[i].group = "";
        ranks[i].core = NTK_NO_CORE;
    }
    return ranks;
}

void ntk_snapshot_set_ports(struct ntk_snapshot *snapshot, const struct ntk_adapter_port *ports,
                            size_t count)
{
    struct ntk_adapter_port *copy = ntk_snapshot_alloc(snapshot, count, sizeof *copy);

    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = ports[i];
    }
    snapshot->ports = copy;
    snapshot->port_count = copy ? count : 0;
}

struct ntk_lost_rank *ntk_snapshot_alloc_lost_ranks(struct ntk_snapshot *snapshot, size_t count)
{
    struct ntk_lost_rank *lost = ntk_snapshot_alloc(snapshot, count, sizeof *lost);

    snapshot->lost_ranks = lost;
    snapshot->lost_rank_count = lost ? count : 0;
    for (size_t i = 0; i < snapshot->lost_rank_count; i++) {
        lost[i].tag = lost[i].command = lost[i].rank.rendezvous = lost[i].rank.group = "";
        lost[i].rank.core = NTK_NO_CORE;
    }
    return lost;
}

void ntk_snapshot_set_troubles(struct ntk_snapshot *snapshot,
                               const struct ntk_rank_trouble *troubles, size_t count)
{
    struct ntk_rank_trouble *copy =
        count > 0 ? ntk_snapshot_alloc(snapshot, count, sizeof *copy) : NULL;

    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = troubles[i];
        copy[i].rendezvous = ntk_snapshot_text(snapshot, troubles[i].rendezvous);
        copy[i].tag = ntk_snapshot_text(snapshot, troubles[i].tag);
        copy[i].job_id = ntk_snapshot_text(snapshot, troubles[i].job_id);
        copy[i].cause = ntk_snapshot_text(snapshot, troubles[i].cause);
    }
    snapshot->troubles = copy;
    snapshot->trouble_count = copy ? count : 0;
}

static uint32_t *copy_numbers(struct ntk_snapshot *snapshot, const uint32_t *numbers, size_t bound,
                              size_t *count)
{
    *count = *count < bound ? *count : bound;
    uint32_t *copy = ntk_snapshot_alloc(snapshot, *count, sizeof *copy);

    *count = copy ? *count : 0;
    for (size_t i = 0; i < *count; i++) {
        copy[i] = numbers[i];
    }
    return copy;
}

void ntk_snapshot_set_jobs(struct ntk_snapshot *snapshot, const struct ntk_jobs *jobs)
{
    size_t count = jobs->count < NTK_SNAPSHOT_JOBS_MAX ? jobs->count : NTK_SNAPSHOT_JOBS_MAX;
    struct ntk_job *rows = ntk_snapshot_alloc(snapshot, count, sizeof *rows);

    for (size_t i = 0; rows && i < count; i++) {
        struct ntk_job *row = &rows[i];

        *row = jobs->rows[i];
        for (size_t k = 0; k < NTK_JOB_TEXTS; k++) {
            row->texts[k] = ntk_snapshot_text(snapshot, row->texts[k]);
        }
        row->cores =
            copy_numbers(snapshot, row->cores, NTK_SNAPSHOT_JOB_CORES_MAX, &row->core_count);
        row->devices =
            copy_numbers(snapshot, row->devices, NTK_SNAPSHOT_DEVICES_MAX, &row->device_count);
    }
    snapshot->jobs = (struct ntk_jobs){ .is_asked = jobs->is_asked,
                                        .error = ntk_snapshot_text(snapshot, jobs->error),
                                        .rows = rows,
                                        .count = rows ? count : 0 };
}

struct ntk_model_sample *ntk_snapshot_alloc_models(struct ntk_snapshot *snapshot,
                                                   struct ntk_runtime_sample *runtime, size_t count)
{
    struct ntk_model_sample *models = ntk_snapshot_alloc(snapshot, count, sizeof *models);

    runtime->models = models;
    runtime->model_count = models ? count : 0;
    for (size_t i = 0; i < runtime->model_count; i++) {
        models[i].name = models[i].neff_path = "";
    }
    return models;
}

/* ---- views ---- */

const struct ntk_runtime_sample *ntk_snapshot_find_runtime(const struct ntk_snapshot *snapshot,
                                                           const struct ntk_runtime_sample *runtime)
{
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        if (ntk_runtime_is_same(&snapshot->runtimes[i], runtime)) {
            return &snapshot->runtimes[i];
        }
    }
    return NULL;
}

const struct ntk_device_sample *ntk_snapshot_find_device(const struct ntk_snapshot *snapshot,
                                                         uint32_t index)
{
    for (size_t i = 0; snapshot && i < snapshot->device_count; i++) {
        if (snapshot->devices[i].index == index) {
            return &snapshot->devices[i];
        }
    }
    return NULL;
}

const struct ntk_core_sample *ntk_snapshot_find_core(const struct ntk_core_sample *cores,
                                                     size_t core_count, uint32_t core)
{
    for (size_t i = 0; i < core_count; i++) {
        if (cores[i].core == core) {
            return &cores[i];
        }
    }
    return NULL;
}

static void add_count(struct ntk_count *into, struct ntk_count from)
{
    into->period += from.period;
    into->total += from.total;
}

/* Two parts of a core as one, a figure of core_state.def; `has` is still that of the first. */
#define ADD_SUM(name, known) into->name += from->name;
#define ADD_ANY(name, known) into->name = into->name || from->name;
#define ADD_LARGEST(name, known) into->name = from->name > into->name ? from->name : into->name;
#define ADD_EARLIEST(name, known) into->name = ntk_snapshot_earlier(into->name, from->name);
#define ADD_SMALLEST(name, known)                                                     \
    if (from->has & (known) && (!(into->has & (known)) || from->name < into->name)) { \
        into->name = from->name;                                                      \
    }
#define ADD_NONE(name, known)

void ntk_snapshot_add_core(struct ntk_core_sample *into, const struct ntk_core_sample *from)
{
#define NTK_CORE_STATE(name, type, report, known, rule, metric) \
    ADD_##rule(name, NTK_CORE_HAS_##known)
#include "shared/metrics/core_state.def"
    into->has |= from->has;
    for (size_t i = 0; i < NTK_CORE_COUNTS; i++) {
        add_count(&into->counts[i], from->counts[i]);
    }
    if (into->total_latency.count == 0) {
        into->total_latency = from->total_latency;
    }
    if (into->device_latency.count == 0) {
        into->device_latency = from->device_latency;
    }
}

/* A part that claims to be more than the whole is a stream's nonsense. */
static void drop_count(struct ntk_count *from, struct ntk_count part)
{
    from->period -= part.period < from->period ? part.period : from->period;
}

struct ntk_core_sample ntk_snapshot_watched_core(const struct ntk_core_sample *core)
{
    const struct ntk_core_sample *part = core->unwatched;
    struct ntk_core_sample watched = *core;

    watched.unwatched = NULL;
    if (!part) {
        return watched;
    }
    for (size_t i = 0; i < NTK_CORE_COUNTS; i++) {
        drop_count(&watched.counts[i], part->counts[i]);
    }
    return watched;
}

void ntk_snapshot_watched_outcome(const struct ntk_runtime_sample *runtime,
                                  struct ntk_count out_outcome[NTK_OUTCOME_COUNT])
{
    const uint64_t *period_ns = runtime->group_period_ns;

    memcpy(out_outcome, runtime->outcome, sizeof runtime->outcome);
    if (period_ns[NTK_RUNTIME_GROUP_EXECUTIONS] != period_ns[NTK_RUNTIME_GROUP_CORES]) {
        return;
    }
    for (size_t i = 0; i < runtime->core_count; i++) {
        const struct ntk_core_sample *part = runtime->cores[i].unwatched;
        for (size_t k = 0; part && k < NTK_OUTCOME_COUNT; k++) {
            drop_count(&out_outcome[k], part->outcome[k]);
        }
    }
}

static bool sum_logical_core(const struct ntk_core_sample *cores, size_t core_count, uint32_t lnc,
                             uint32_t logical, bool is_watched, struct ntk_core_sample *out)
{
    bool found = false;

    if (lnc == 0) {
        lnc = 1;
    }
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < core_count; i++) {
        if (cores[i].core - logical * lnc < lnc) {
            if (is_watched && cores[i].unwatched) {
                const struct ntk_core_sample watched = ntk_snapshot_watched_core(&cores[i]);
                ntk_snapshot_add_core(out, &watched);
            } else {
                ntk_snapshot_add_core(out, &cores[i]);
            }
            found = true;
        }
    }
    out->core = logical;
    out->utilization /= lnc;
    out->busy_ns.period /= lnc;
    out->busy_ns.total /= lnc;
    for (size_t i = 0; i < NTK_ENGINE_COUNT; i++) {
        out->engine_busy_ns[i].period /= lnc;
        out->engine_busy_ns[i].total /= lnc;
    }
    return found;
}

bool ntk_snapshot_logical_core(const struct ntk_core_sample *cores, size_t core_count, uint32_t lnc,
                               uint32_t logical, struct ntk_core_sample *out)
{
    return sum_logical_core(cores, core_count, lnc, logical, false, out);
}

bool ntk_snapshot_watched_logical_core(const struct ntk_core_sample *cores, size_t core_count,
                                       uint32_t lnc, uint32_t logical, struct ntk_core_sample *out)
{
    return sum_logical_core(cores, core_count, lnc, logical, true, out);
}

size_t ntk_snapshot_logical_list(const struct ntk_core_sample *cores, size_t core_count,
                                 uint32_t lnc, uint32_t *out_logical, size_t capacity)
{
    size_t count = 0;
    uint32_t last = UINT32_MAX;

    if (lnc == 0) {
        lnc = 1;
    }
    for (size_t i = 0; i < core_count; i++) {
        uint32_t logical = cores[i].core / lnc;

        if (logical == last) {
            continue;
        }
        last = logical;
        if (out_logical && count < capacity) {
            out_logical[count] = logical;
        }
        count++;
    }
    return count;
}

double ntk_snapshot_engine_share(const struct ntk_snapshot *snapshot,
                                 const struct ntk_core_sample *core, enum ntk_engine engine)
{
    double share;

    if (snapshot->period_ns == 0) {
        return 0;
    }
    share = (double)core->engine_busy_ns[engine].period / (double)snapshot->period_ns;
    return share > 1 ? 1 : share;
}

double ntk_snapshot_rate(const struct ntk_snapshot *snapshot, struct ntk_count count)
{
    return snapshot->period_ns == 0 ? 0 : (double)count.period * 1e9 / (double)snapshot->period_ns;
}

uint64_t ntk_snapshot_outcome_sum(const struct ntk_count *outcome)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < NTK_OUTCOME_COUNT; i++) {
        sum += outcome[i].period;
    }
    return sum;
}
