/* SPDX-License-Identifier: MIT */
/* snapshot - manages the memory of a snapshot: blocks that are freed together. */
#include "shared/metrics/snapshot.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"

#define BLOCK_BYTES (64u * 1024u)
#define ALIGNMENT 16u

struct block {
    struct block *next;
    size_t used;
    size_t capacity;
    /* The bytes of the block follow, aligned. */
};

struct owned_snapshot {
    struct ntk_snapshot snapshot; /* first, because the public pointer points here */
    struct block *blocks;         /* the first one is the block being filled */
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
    /* only present if requested */
    snapshot->group_period_ns[NTK_SYSTEM_GROUP_SELF] = NTK_GROUP_ABSENT;
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
    /* The reference count is the only word that changes in a finished snapshot; only these two
     * functions use it. */
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

uint64_t ntk_snapshot_time_ns(const struct ntk_snapshot *snapshot)
{
    return snapshot->realtime_ns ? snapshot->realtime_ns : ntk_clock_realtime_ns();
}

void ntk_snapshot_destroy(const struct ntk_snapshot *snapshot)
{
    struct owned_snapshot *own = (struct owned_snapshot *)(uintptr_t)snapshot;

    /* Pairs with itself: the last owner sees what the others wrote before they released the
     * snapshot. */
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
    struct block *block = malloc(BLOCK_HEADER + capacity);

    if (!block) {
        return NULL;
    }
    block->used = 0;
    block->capacity = capacity;
    if (own->blocks && capacity == bytes) {
        /* A block for a single large array goes into second place, so that the block with free room
         * stays first. */
        block->next = own->blocks->next;
        own->blocks->next = block;
    } else {
        block->next = own->blocks;
        own->blocks = block;
    }
    return block;
}

/* Like ntk_snapshot_alloc(), but does not clear the memory. */
static void *take_room(struct ntk_snapshot *snapshot, size_t count, size_t item_bytes,
                       size_t *out_bytes)
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
    *out_bytes = bytes;
    return at;
}

void *ntk_snapshot_alloc(struct ntk_snapshot *snapshot, size_t count, size_t item_bytes)
{
    size_t bytes;
    void *room = take_room(snapshot, count, item_bytes, &bytes);

    /* Cleared here and not with its block, because it is in the processor's cache afterwards. */
    return room ? memset(room, 0, bytes) : NULL;
}

const char *ntk_snapshot_text(struct ntk_snapshot *snapshot, const char *text)
{
    size_t bytes = text ? strlen(text) + 1 : 0;
    size_t room;
    char *copy = bytes > 1 ? take_room(snapshot, bytes, 1, &room) : NULL;

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
#define NTK_PROCESS_TEXT(name) .name = "",
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
        devices[i].name = devices[i].arch = devices[i].serial_number = "";
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

struct ntk_rank_sample *ntk_snapshot_alloc_ranks(struct ntk_snapshot *snapshot,
                                                 struct ntk_runtime_sample *runtime, size_t count)
{
    struct ntk_rank_sample *ranks = ntk_snapshot_alloc(snapshot, count, sizeof *ranks);

    runtime->ranks = ranks;
    runtime->rank_count = ranks ? count : 0;
    for (size_t i = 0; i < runtime->rank_count; i++) {
        ranks[i].rendezvous = ranks[i].members = "";
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
        lost[i].tag = lost[i].command = lost[i].rank.rendezvous = lost[i].rank.members = "";
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
