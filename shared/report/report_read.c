/* SPDX-License-Identifier: MIT */
/*
 * report_read - one line of neuron-monitor's JSON as a snapshot; see report_json.h.
 *
 * A line may come from the vendor's tool, from an older or newer one of ours, or from someone who
 * means harm: a key of another type than expected counts as absent, tables have bounds, and what was
 * read always satisfies the promises of snapshot.h.
 */
#include "shared/report/report_json.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/str.h"
#include "shared/metrics/percentile.h"
#include "shared/metrics/snapshot.h"

/* What is beyond a bound is skipped. */
#define RUNTIMES_MAX 4096
#define CORES_MAX 1024 /* also the highest core number */
#define CPUS_MAX 8192
#define MODELS_MAX 4096
#define MEMORY_ROWS_MAX 65536
#define PERIOD_SECONDS_MAX 1e9

/* -- typed access: absent and of another type is the same --------------------------------------- */

static uint64_t get_u64(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    json_int_t number = json_is_integer(value) ? json_integer_value(value) : 0;

    return number < 0 ? 0 : (uint64_t)number;
}

static uint32_t get_u32(const json_t *object, const char *key)
{
    uint64_t number = get_u64(object, key);

    return number > UINT32_MAX ? 0 : (uint32_t)number;
}

static double get_double(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : 0;
}

static double clamp_ratio(double ratio)
{
    return ratio > 0 ? (ratio < 1 ? ratio : 1) : 0;
}

static double get_percent(const json_t *object, const char *key)
{
    return clamp_ratio(get_double(object, key) / 100);
}

static bool get_bool(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

static const char *get_text(struct ntk_snapshot *snapshot, const json_t *object, const char *key)
{
    return ntk_snapshot_text(snapshot, json_string_value(json_object_get(object, key)));
}

static const json_t *get_object(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_object(value) ? value : NULL;
}

static const json_t *get_array(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_array(value) ? value : NULL;
}

static struct ntk_count count_of(uint64_t period)
{
    return (struct ntk_count){ period, period };
}

/* NTK_GROUP_ABSENT without the group. */
static uint64_t get_period_ns(const json_t *group)
{
    double seconds = get_double(group, "period");

    if (!group) {
        return NTK_GROUP_ABSENT;
    }
    if (!(seconds > 0) || seconds > PERIOD_SECONDS_MAX) {
        return 0;
    }
    return (uint64_t)llround(seconds * (double)NTK_NS_PER_SECOND);
}

/* The number that a key is, below limit; false for other keys. */
static bool key_number(const char *key, uint32_t limit, uint32_t *out_number)
{
    uint64_t number;

    if (key[0] < '0' || key[0] > '9' || ntk_str_parse_u64(key, &number) < 0 || number >= limit) {
        return false;
    }
    *out_number = (uint32_t)number;
    return true;
}

/* -- histograms --------------------------------------------------------------------------------- */

/* Empty unless every entry is sound. */
static struct ntk_histogram read_histogram(struct ntk_snapshot *snapshot, const json_t *object)
{
    const json_t *buckets = get_array(object, "buckets");
    size_t count = json_array_size(buckets);
    struct ntk_histogram histogram = { 0 };

    if (count == 0 || count > NTK_HISTOGRAM_BUCKETS) {
        return histogram;
    }
    struct ntk_histogram_entry *entries = ntk_snapshot_alloc(snapshot, count, sizeof *entries);
    if (!entries) {
        return histogram;
    }
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        const json_t *pair = json_array_get(buckets, i);
        json_int_t bucket = json_integer_value(json_array_get(pair, 0));
        json_int_t hits = json_integer_value(json_array_get(pair, 1));
        if (json_array_size(pair) != 2 || bucket < 0 || bucket >= NTK_HISTOGRAM_BUCKETS ||
            hits <= 0 || (i > 0 && (uint32_t)bucket <= entries[i - 1].bucket) ||
            __builtin_add_overflow(sum, (uint64_t)hits, &sum)) {
            return histogram;
        }
        entries[i].bucket = (uint32_t)bucket;
        entries[i].count = (uint64_t)hits;
    }
    histogram.count = sum;
    histogram.sum_ns = get_u64(object, "sum_ns");
    histogram.entries = entries;
    histogram.entry_count = count;
    return histogram;
}

static bool read_percentiles(const json_t *stats, const char *key, double *out_ns)
{
    const json_t *object = get_object(stats, key);

    for (int i = 0; i < NTK_PERCENTILE_COUNT; i++) {
        const json_t *value = json_object_get(object, ntk_percentile_names[i]);
        double ns = json_number_value(value) * (double)NTK_NS_PER_SECOND;
        if (!json_is_number(value) || !(ns >= 0) || !isfinite(ns)) {
            return false;
        }
        out_ns[i] = ns;
    }
    return true;
}

/* -- runtimes ----------------------------------------------------------------------------------- */

static void read_executions(struct ntk_runtime_sample *runtime, const json_t *group)
{
    const json_t *errors = get_object(group, "error_summary");
    const json_t *outcomes = get_object(group, "execution_summary");
    const json_t *stats = get_object(group, "latency_stats");

    runtime->has |= NTK_RUNTIME_HAS_EXECUTIONS;
    for (int i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        runtime->error_class[i] = count_of(get_u64(errors, ntk_error_class_names[i]));
    }
    for (int i = 0; i < NTK_OUTCOME_COUNT; i++) {
        runtime->outcome[i] = count_of(get_u64(outcomes, ntk_outcome_names[i]));
    }
    if (read_percentiles(stats, "total_latency", runtime->total_percentile_ns)) {
        runtime->has |= NTK_RUNTIME_HAS_PERCENTILES;
    }
    if (read_percentiles(stats, "device_latency", runtime->device_percentile_ns)) {
        runtime->has |= NTK_RUNTIME_HAS_DEVICE_PERCENTILES;
        runtime->has_device_latency = true;
    }
}

static void read_counts(const json_t *array, struct ntk_count *counts, int count)
{
    for (int i = 0; i < count; i++) {
        json_int_t number = json_integer_value(json_array_get(array, (size_t)i));
        counts[i] = count_of(number < 0 ? 0 : (uint64_t)number);
    }
}

static bool has_key(const json_t *object, const char *key)
{
    return json_object_get(object, key) != NULL;
}

static void read_ext_core(struct ntk_core_sample *core, const json_t *object)
{
    const json_t *engines = get_object(object, "engines");

    core->utilization = clamp_ratio(get_double(object, "utilization"));
    core->in_flight = get_u64(object, "in_flight");
    if (has_key(object, "busy_ns")) {
        core->has |= NTK_CORE_HAS_BUSY;
        core->busy_ns = count_of(get_u64(object, "busy_ns"));
    }
    if (engines) {
        core->has |= NTK_CORE_HAS_ENGINES;
        for (int i = 0; i < NTK_ENGINE_COUNT; i++) {
            core->engine_busy_ns[i] = count_of(get_u64(engines, ntk_engine_labels[i]));
        }
    }
    if (has_key(object, "flops")) {
        core->has |= NTK_CORE_HAS_FLOPS;
        core->flops = count_of(get_u64(object, "flops"));
    }
    if (has_key(object, "effective_flops")) {
        core->has |= NTK_CORE_HAS_EFFECTIVE_FLOPS;
        core->effective_flops = count_of(get_u64(object, "effective_flops"));
    }
    if (has_key(object, "hbm_bytes_read")) {
        core->has |= NTK_CORE_HAS_BYTES;
        core->hbm_bytes_read = count_of(get_u64(object, "hbm_bytes_read"));
        core->hbm_bytes_written = count_of(get_u64(object, "hbm_bytes_written"));
        core->dma_bytes = count_of(get_u64(object, "dma_bytes"));
    }
    if (has_key(object, "execution_summary")) {
        core->has |= NTK_CORE_HAS_EXECUTIONS;
        read_counts(get_array(object, "execution_summary"), core->outcome, NTK_OUTCOME_COUNT);
        read_counts(get_array(object, "error_summary"), core->error_class, NTK_ERROR_CLASS_COUNT);
    }
    if (has_key(object, "host_to_device_bytes")) {
        core->has |= NTK_CORE_HAS_TRANSFERS;
        core->host_to_device_bytes = count_of(get_u64(object, "host_to_device_bytes"));
        core->device_to_host_bytes = count_of(get_u64(object, "device_to_host_bytes"));
    }
}

static int compare_cores(const void *a, const void *b)
{
    const struct ntk_core_sample *left = a;
    const struct ntk_core_sample *right = b;

    return left->core < right->core ? -1 : left->core > right->core;
}

/* Keys such as "1" and "01" are one core: the first stays. */
static size_t drop_doubles(struct ntk_core_sample *cores, size_t count)
{
    size_t kept = 0;

    qsort(cores, count, sizeof *cores, compare_cores);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || cores[kept - 1].core != cores[i].core) {
            cores[kept++] = cores[i];
        }
    }
    return kept;
}

static size_t read_ext_cores(struct ntk_snapshot *snapshot, const json_t *object,
                             struct ntk_core_sample **out_cores)
{
    size_t room = json_object_size(object) < CORES_MAX ? json_object_size(object) : CORES_MAX;
    struct ntk_core_sample *cores = ntk_snapshot_alloc(snapshot, room, sizeof *cores);
    size_t count = 0;
    const char *key;
    json_t *value;

    *out_cores = cores;
    if (!cores) {
        return 0;
    }
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        uint32_t number;
        if (count < room && json_is_object(value) && key_number(key, CORES_MAX, &number)) {
            cores[count].core = number;
            read_ext_core(&cores[count++], value);
        }
    }
    return drop_doubles(cores, count);
}

/* Cores of which nothing else is known in this report. */
static size_t read_owned_cores(struct ntk_snapshot *snapshot, const json_t *array,
                               struct ntk_core_sample **out_cores)
{
    size_t room = json_array_size(array) < CORES_MAX ? json_array_size(array) : CORES_MAX;
    struct ntk_core_sample *cores = ntk_snapshot_alloc(snapshot, room, sizeof *cores);
    size_t count = 0;

    for (size_t i = 0; cores && i < room; i++) {
        json_int_t number = json_integer_value(json_array_get(array, i));
        if (number >= 0 && number < CORES_MAX) {
            cores[count++].core = (uint32_t)number;
        }
    }
    *out_cores = cores;
    return cores ? drop_doubles(cores, count) : 0;
}

/* The vendor's group alone: rates and percents of logical cores. */
static void read_vendor_cores(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                              const json_t *in_use)
{
    uint32_t lnc = runtime->lnc;
    size_t listed = json_object_size(in_use);
    size_t room = (listed < CORES_MAX ? listed : CORES_MAX) * lnc;
    struct ntk_core_sample *cores = ntk_snapshot_alloc(snapshot, room, sizeof *cores);
    size_t count = 0;
    const char *key;
    json_t *value;
    double seconds = (double)(runtime->group_period_ns[NTK_RUNTIME_GROUP_CORES]
                                  ? runtime->group_period_ns[NTK_RUNTIME_GROUP_CORES]
                                  : snapshot->period_ns) /
                     (double)NTK_NS_PER_SECOND;

    if (!cores) {
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)in_use, key, value)
    {
        uint32_t logical;
        if (count + lnc > room || !json_is_object(value) ||
            !key_number(key, CORES_MAX / lnc, &logical)) {
            continue;
        }
        double utilization = get_percent(value, "neuroncore_utilization");
        for (uint32_t i = 0; i < lnc; i++) {
            struct ntk_core_sample *core = &cores[count++];
            core->core = logical * lnc + i;
            core->utilization = utilization;
            core->has = NTK_CORE_HAS_BUSY;
            core->busy_ns = count_of((uint64_t)(utilization * seconds * 1e9));
        }
        struct ntk_core_sample *first = &cores[count - lnc];
        double flops = get_double(value, "flops") * seconds;
        double effective = get_double(value, "effective_flops") * seconds;
        if (has_key(value, "flops") && flops >= 0 && flops < 1e18) {
            first->has |= NTK_CORE_HAS_FLOPS;
            first->flops = count_of((uint64_t)(flops + 0.5));
        }
        if (has_key(value, "effective_flops") && effective >= 0 && effective < 1e18) {
            first->has |= NTK_CORE_HAS_EFFECTIVE_FLOPS;
            first->effective_flops = count_of((uint64_t)(effective + 0.5));
        }
    }
    runtime->cores = cores;
    runtime->core_count = drop_doubles(cores, count);
}

static int category_by_name(const char *name)
{
    for (int i = 0; name && i < NTK_MEMORY_CATEGORY_COUNT; i++) {
        if (!strcmp(name, ntk_memory_category_names[i])) {
            return i;
        }
    }
    return -1;
}

static struct ntk_memory_sample *read_ext_memory(struct ntk_snapshot *snapshot, const json_t *array,
                                                 size_t *out_count)
{
    size_t listed = json_array_size(array);
    size_t room = listed < MEMORY_ROWS_MAX ? listed : MEMORY_ROWS_MAX;
    struct ntk_memory_sample *rows = ntk_snapshot_alloc(snapshot, room, sizeof *rows);
    size_t count = 0;

    for (size_t i = 0; rows && i < room; i++) {
        const json_t *entry = json_array_get(array, i);
        int category = category_by_name(json_string_value(json_object_get(entry, "category")));
        uint64_t core = has_key(entry, "core") ? get_u64(entry, "core") : NTK_NO_CORE;
        if (category < 0 || (core >= CORES_MAX && core != NTK_NO_CORE)) {
            continue;
        }
        rows[count++] = (struct ntk_memory_sample){
            .location = (uint16_t)ntk_memory_location_of((enum ntk_memory_category)category),
            .core = (uint16_t)core,
            .category = (uint16_t)category,
            .model_id = get_u32(entry, "model_id"),
            .current_bytes = get_u64(entry, "bytes"),
            .peak_bytes = get_u64(entry, "peak_bytes"),
        };
    }
    *out_count = count;
    return rows;
}

/* The category that stands for a vendor's group when the report has nothing finer. */
static const enum ntk_memory_category category_of_group[NTK_GROUP_COUNT] = {
    [NTK_GROUP_HOST_APPLICATION] = NTK_MEMORY_HOST_APPLICATION,
    [NTK_GROUP_HOST_CONSTANTS] = NTK_MEMORY_HOST_CONSTANTS,
    [NTK_GROUP_HOST_DMA_BUFFERS] = NTK_MEMORY_HOST_DMA_BUFFERS,
    [NTK_GROUP_HOST_TENSORS] = NTK_MEMORY_HOST_TENSORS,
    [NTK_GROUP_CONSTANTS] = NTK_MEMORY_CONSTANTS,
    [NTK_GROUP_MODEL_CODE] = NTK_MEMORY_MODEL_CODE,
    [NTK_GROUP_SCRATCHPAD] = NTK_MEMORY_SHARED_SCRATCHPAD,
    [NTK_GROUP_RUNTIME] = NTK_MEMORY_RUNTIME,
    [NTK_GROUP_TENSORS] = NTK_MEMORY_TENSORS,
};

static size_t add_groups(struct ntk_memory_sample *rows, size_t count, const json_t *object,
                         int first, int last, uint16_t core)
{
    for (int i = first; i <= last; i++) {
        uint64_t bytes = get_u64(object, ntk_memory_group_keys[i]);
        rows[count++] = (struct ntk_memory_sample){
            .location = (uint16_t)ntk_memory_location_of(category_of_group[i]),
            .core = core,
            .category = (uint16_t)category_of_group[i],
            .current_bytes = bytes,
            .peak_bytes = bytes,
        };
    }
    return count;
}

/* The vendor's group alone: sums by group, which become one category each, on the first physical
 * core; which model they belong to is not said. */
static void read_vendor_memory(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                               const json_t *used)
{
    const json_t *breakdown = get_object(used, "usage_breakdown");
    const json_t *cores = get_object(breakdown, "neuroncore_memory_usage");
    size_t listed = json_object_size(cores) < CORES_MAX ? json_object_size(cores) : CORES_MAX;
    size_t room = (listed + 1) * NTK_GROUP_COUNT;
    struct ntk_memory_sample *rows = ntk_snapshot_alloc(snapshot, room, sizeof *rows);
    size_t count = 0;
    const char *key;
    json_t *value;

    if (!rows) {
        return;
    }
    count = add_groups(rows, count, get_object(breakdown, "host"), NTK_GROUP_HOST_APPLICATION,
                       NTK_GROUP_HOST_TENSORS, NTK_NO_CORE);
    json_object_foreach((json_t *)(uintptr_t)cores, key, value)
    {
        uint32_t logical;
        if (count + NTK_GROUP_COUNT <= room && json_is_object(value) &&
            key_number(key, CORES_MAX / runtime->lnc, &logical)) {
            count = add_groups(rows, count, value, NTK_GROUP_CONSTANTS, NTK_GROUP_TENSORS,
                               (uint16_t)(logical * runtime->lnc));
        }
    }
    runtime->memory = runtime->memory_by_category = rows;
    runtime->memory_count = runtime->memory_by_category_count = count;
}

static void read_memory(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                        const json_t *group, const json_t *ext)
{
    const json_t *used = get_object(group, "neuron_runtime_used_bytes");

    runtime->has |= NTK_RUNTIME_HAS_MEMORY;
    if (has_key(used, "host_rss_bytes")) {
        runtime->has |= NTK_RUNTIME_HAS_RSS;
        runtime->rss_bytes = get_u64(used, "host_rss_bytes");
    }
    if (get_array(ext, "memory")) {
        runtime->memory =
            read_ext_memory(snapshot, get_array(ext, "memory"), &runtime->memory_count);
        runtime->memory_by_category = read_ext_memory(
            snapshot, get_array(ext, "memory_by_category"), &runtime->memory_by_category_count);
    } else {
        read_vendor_memory(snapshot, runtime, used);
    }
}

static void copy_uuid(char to[33], const json_t *object)
{
    const char *text = json_string_value(json_object_get(object, "uuid"));

    if (text && strlen(text) == 32 && strspn(text, "0123456789abcdef") == 32) {
        memcpy(to, text, 33);
    }
}

static void read_ext_model(struct ntk_snapshot *snapshot, struct ntk_model_sample *model,
                           const json_t *object)
{
    model->id = get_u32(object, "model_id");
    model->name = get_text(snapshot, object, "name");
    model->neff_path = get_text(snapshot, object, "neff_path");
    copy_uuid(model->uuid, object);
    model->loaded = get_bool(object, "loaded");
    model->is_running = get_bool(object, "is_running");
    model->estimated = get_bool(object, "estimated");
    model->core = get_u32(object, "core");
    model->core_count = get_u32(object, "core_count");
    if (model->core >= CORES_MAX || model->core_count > CORES_MAX) {
        model->core = model->core_count = 0;
    }
    model->in_flight = get_u64(object, "in_flight");
    model->executions = count_of(get_u64(object, "executions"));
    model->errors = count_of(get_u64(object, "errors"));
    model->load_ns = get_u64(object, "load_ns");
    model->load_realtime_ns = get_u64(object, "load_timestamp_ns");
    model->total_latency = read_histogram(snapshot, get_object(object, "total_latency"));
    model->device_latency = read_histogram(snapshot, get_object(object, "device_latency"));
    if (model->total_latency.count > 0) {
        model->has |= NTK_MODEL_HAS_LATENCY;
    }
    if (model->device_latency.count > 0) {
        model->has |= NTK_MODEL_HAS_DEVICE_LATENCY;
    }
}

static void read_vendor_model(struct ntk_snapshot *snapshot,
                              const struct ntk_runtime_sample *runtime,
                              struct ntk_model_sample *model, const json_t *object)
{
    const json_t *subgraphs = get_object(object, "subgraphs");
    const json_t *first = get_object(subgraphs, "sg_00");
    uint32_t per_device = snapshot->hardware.cores_per_device;
    uint64_t core = (uint64_t)get_u32(first, "neuron_device_index") * per_device +
                    (uint64_t)get_u32(first, "neuroncore_index") * runtime->lnc;
    size_t parts = json_object_size(subgraphs);

    model->id = get_u32(object, "model_id");
    model->name = get_text(snapshot, object, "name");
    copy_uuid(model->uuid, object);
    model->loaded = true;
    model->is_running = get_bool(object, "is_running");
    model->estimated = get_bool(object, "estimated");
    if (core < CORES_MAX && parts <= CORES_MAX) {
        model->core = (uint32_t)core;
        model->core_count = (uint32_t)parts;
    }
}

static int compare_models(const void *a, const void *b)
{
    const struct ntk_model_sample *left = a;
    const struct ntk_model_sample *right = b;

    return left->id < right->id ? -1 : left->id > right->id;
}

static void read_models(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                        const json_t *memory, const json_t *ext)
{
    const json_t *ours = get_array(ext, "models");
    const json_t *array = ours ? ours : get_array(memory, "loaded_models");
    size_t listed = json_array_size(array);

    if (!array) {
        return;
    }
    runtime->has |= NTK_RUNTIME_HAS_MODELS;
    struct ntk_model_sample *models =
        ntk_snapshot_alloc_models(snapshot, runtime, listed < MODELS_MAX ? listed : MODELS_MAX);
    for (size_t i = 0; models && i < runtime->model_count; i++) {
        const json_t *entry = json_array_get(array, i);
        if (ours) {
            read_ext_model(snapshot, &models[i], entry);
        } else {
            read_vendor_model(snapshot, runtime, &models[i], entry);
        }
    }
    if (models) {
        qsort(models, runtime->model_count, sizeof *models, compare_models);
    }
}

static void read_runtime_ext(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                             const json_t *ext)
{
    runtime->header_pid = get_u32(ext, "header_pid");
    runtime->start_time = get_u64(ext, "start_time");
    runtime->uid = get_u32(ext, "uid");
    runtime->software = get_bool(ext, "software");
    runtime->command = get_text(snapshot, ext, "command");
    runtime->user = get_text(snapshot, ext, "user");
    runtime->container = get_text(snapshot, ext, "container_id");
    runtime->runtime_version = get_text(snapshot, ext, "runtime_version");
    runtime->framework_version = get_text(snapshot, ext, "framework_version");
    runtime->instance_type = get_text(snapshot, ext, "instance_type");
    runtime->in_flight = get_u64(ext, "in_flight");
    runtime->total_latency = read_histogram(snapshot, get_object(ext, "total_latency"));
    runtime->device_latency = read_histogram(snapshot, get_object(ext, "device_latency"));
    if (runtime->device_latency.count > 0) {
        runtime->has_device_latency = true;
    }
}

/* A group with an error sentence has no numbers that mean anything. */
static bool is_sound(const json_t *group)
{
    const char *error = json_string_value(json_object_get(group, "error"));

    return group && (!error || error[0] == '\0');
}

static void read_runtime(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                         const json_t *object)
{
    const json_t *report = get_object(object, "report");
    const json_t *ext = get_object(report, "neuron_ext");
    const json_t *group[NTK_RUNTIME_GROUP_COUNT];

    runtime->pid = runtime->header_pid = get_u32(object, "pid");
    runtime->tag = get_text(snapshot, object, "neuron_runtime_tag");
    runtime->error = get_text(snapshot, object, "error");
    runtime->ended = get_bool(object, "ended");
    runtime->lnc = get_u32(ext, "lnc");
    if (runtime->lnc != 1 && runtime->lnc != 2) {
        runtime->lnc = snapshot->hardware.lnc;
    }
    for (int i = 0; i < NTK_RUNTIME_GROUP_COUNT; i++) {
        group[i] = get_object(report, ntk_runtime_group_names[i]);
        runtime->group_period_ns[i] = get_period_ns(group[i]);
    }
    if (ext) {
        read_runtime_ext(snapshot, runtime, ext);
    }
    if (is_sound(group[NTK_RUNTIME_GROUP_EXECUTIONS])) {
        read_executions(runtime, group[NTK_RUNTIME_GROUP_EXECUTIONS]);
    }
    if (is_sound(group[NTK_RUNTIME_GROUP_CORES])) {
        runtime->has |= NTK_RUNTIME_HAS_CORES;
        if (get_object(ext, "neuroncores")) {
            runtime->core_count =
                read_ext_cores(snapshot, get_object(ext, "neuroncores"), &runtime->cores);
        } else {
            read_vendor_cores(snapshot, runtime,
                              get_object(group[NTK_RUNTIME_GROUP_CORES], "neuroncores_in_use"));
        }
    }
    if (runtime->core_count == 0 && get_array(ext, "owned_cores")) {
        runtime->core_count =
            read_owned_cores(snapshot, get_array(ext, "owned_cores"), &runtime->cores);
    }
    if (is_sound(group[NTK_RUNTIME_GROUP_MEMORY])) {
        read_memory(snapshot, runtime, group[NTK_RUNTIME_GROUP_MEMORY], ext);
    }
    if (group[NTK_RUNTIME_GROUP_CPU]) {
        const json_t *usage = get_object(group[NTK_RUNTIME_GROUP_CPU], "vcpu_usage");
        runtime->cpu_error = get_text(snapshot, group[NTK_RUNTIME_GROUP_CPU], "error");
        if (runtime->cpu_error[0] == '\0') {
            runtime->has |= NTK_RUNTIME_HAS_CPU;
        }
        runtime->cpu_user = get_percent(usage, "user");
        runtime->cpu_system = get_percent(usage, "system");
    }
    read_models(snapshot, runtime, group[NTK_RUNTIME_GROUP_MEMORY], ext);
}

/* -- the machine -------------------------------------------------------------------------------- */

static void read_hardware(struct ntk_snapshot *snapshot, const json_t *object, const json_t *ext)
{
    struct ntk_hardware *hardware = &snapshot->hardware;
    const json_t *more = get_object(ext, "hardware");

    hardware->error = get_text(snapshot, object, "error");
    hardware->device_type = get_text(snapshot, object, "neuron_device_type");
    hardware->device_version = get_text(snapshot, object, "neuron_device_version");
    hardware->core_version = get_text(snapshot, object, "neuroncore_version");
    hardware->device_count = get_u32(object, "neuron_device_count");
    hardware->device_memory_bytes = get_u64(object, "neuron_device_memory_size");
    hardware->lnc = get_u32(object, "logical_neuroncore_config");
    if (hardware->lnc != 2) {
        hardware->lnc = 1;
    }
    hardware->cores_per_device = get_u32(object, "neuroncore_per_device_count");
    if (hardware->device_count > NTK_SNAPSHOT_DEVICES_MAX || hardware->cores_per_device > 64) {
        hardware->device_count = hardware->cores_per_device = 0;
    }
    hardware->cores_per_device *= hardware->lnc;
    if (hardware->device_count > 0) {
        hardware->has |= NTK_HARDWARE_HAS_DEVICES;
    }
    if (hardware->device_memory_bytes > 0) {
        hardware->has |= NTK_HARDWARE_HAS_MEMORY;
    }
    hardware->software = get_bool(more, "software");
    hardware->instance_type = get_text(snapshot, more, "instance_type");
    hardware->driver_version = get_text(snapshot, more, "driver_version");
    hardware->stack_count = get_u32(more, "stack_count");
    hardware->cores_per_stack = get_u32(more, "cores_per_stack");
    if (hardware->stack_count > NTK_SNAPSHOT_STACKS_MAX) {
        hardware->stack_count = 0;
    }
    if (has_key(more, "tensor_peak_flops")) {
        hardware->has |= NTK_HARDWARE_HAS_PEAK;
        hardware->tensor_peak_flops = get_double(more, "tensor_peak_flops");
    }
}

static void read_instance(struct ntk_snapshot *snapshot, const json_t *object)
{
    struct ntk_instance *instance = &snapshot->instance;

    instance->name = get_text(snapshot, object, "instance_name");
    instance->id = get_text(snapshot, object, "instance_id");
    instance->type = get_text(snapshot, object, "instance_type");
    instance->zone = get_text(snapshot, object, "instance_availability_zone");
    instance->zone_id = get_text(snapshot, object, "instance_availability_zone_id");
    instance->region = get_text(snapshot, object, "instance_region");
    instance->ami_id = get_text(snapshot, object, "ami_id");
    instance->subnet_id = get_text(snapshot, object, "subnet_id");
    instance->ultraserver_id = get_text(snapshot, object, "ultraserver_id");
    instance->error = get_text(snapshot, object, "error");
}

static uint32_t read_stacks(const json_t *array, uint64_t bytes[NTK_SNAPSHOT_STACKS_MAX])
{
    size_t count = json_array_size(array);

    count = count < NTK_SNAPSHOT_STACKS_MAX ? count : NTK_SNAPSHOT_STACKS_MAX;
    for (size_t i = 0; i < count; i++) {
        json_int_t number = json_integer_value(json_array_get(array, i));
        bytes[i] = number < 0 ? 0 : (uint64_t)number;
    }
    return (uint32_t)count;
}

static void read_ext_device(struct ntk_snapshot *snapshot, struct ntk_device_sample *device,
                            const json_t *object)
{
    const json_t *neighbours = get_array(object, "connected_devices");

    device->name = get_text(snapshot, object, "name");
    device->arch = get_text(snapshot, object, "arch");
    device->serial = get_text(snapshot, object, "serial_number");
    device->core_count = get_u32(object, "core_count");
    if (neighbours) {
        device->has |= NTK_DEVICE_HAS_NEIGHBOURS;
        for (size_t i = 0; i < json_array_size(neighbours) &&
                           device->neighbour_count < NTK_SNAPSHOT_NEIGHBOURS_MAX;
             i++) {
            json_int_t number = json_integer_value(json_array_get(neighbours, i));
            if (number >= 0 && number < NTK_SNAPSHOT_DEVICES_MAX) {
                device->neighbours[device->neighbour_count++] = (uint8_t)number;
            }
        }
    }
    if (get_array(object, "memory_capacity_bytes")) {
        device->has |= NTK_DEVICE_HAS_MEMORY_CAPACITY;
        device->stack_count =
            read_stacks(get_array(object, "memory_capacity_bytes"), device->stack_capacity_bytes);
    }
    if (get_array(object, "memory_used_bytes")) {
        device->has |= NTK_DEVICE_HAS_MEMORY_USED;
        device->stack_count =
            read_stacks(get_array(object, "memory_used_bytes"), device->stack_used_bytes);
    }
}

static void read_devices(struct ntk_snapshot *snapshot, const json_t *group, const json_t *ext)
{
    const json_t *counters = get_array(group, "neuron_devices");
    const json_t *ours = get_array(ext, "devices");
    size_t listed = json_array_size(ours) > json_array_size(counters) ? json_array_size(ours)
                                                                      : json_array_size(counters);
    struct ntk_device_sample *devices = ntk_snapshot_alloc_devices(
        snapshot, listed < NTK_SNAPSHOT_DEVICES_MAX ? listed : NTK_SNAPSHOT_DEVICES_MAX);

    /* Both tables list the devices in the same order; the index tells when one is missing. */
    for (size_t i = 0; devices && i < snapshot->device_count; i++) {
        const json_t *more = json_array_get(ours, i);
        const json_t *counter = json_array_get(counters, i);
        struct ntk_device_sample *device = &devices[i];
        device->index = more ? get_u32(more, "index") : get_u32(counter, "neuron_device_index");
        if (more) {
            read_ext_device(snapshot, device, more);
        }
        if (!counter || get_u32(counter, "neuron_device_index") != device->index) {
            continue;
        }
        device->has |= NTK_DEVICE_HAS_ECC;
        for (int k = 0; k < NTK_ECC_COUNT; k++) {
            device->ecc[k] = count_of(get_u64(counter, ntk_ecc_names[k]));
            device->ecc_has |= has_key(counter, ntk_ecc_names[k]) ? 1u << k : 0;
        }
    }
}

static void read_cpu_fields(const json_t *object, double share[NTK_CPU_FIELD_COUNT])
{
    for (int i = 0; i < NTK_CPU_FIELD_COUNT; i++) {
        share[i] = get_percent(object, ntk_cpu_field_names[i]);
    }
}

static int compare_cpus(const void *a, const void *b)
{
    const struct ntk_cpu_sample *left = a;
    const struct ntk_cpu_sample *right = b;

    return left->cpu < right->cpu ? -1 : left->cpu > right->cpu;
}

static void read_vcpu_usage(struct ntk_snapshot *snapshot, const json_t *group)
{
    struct ntk_system_sample *system = &snapshot->system;
    const json_t *usage = get_object(group, "usage_data");
    size_t listed = json_object_size(usage) < CPUS_MAX ? json_object_size(usage) : CPUS_MAX;
    const char *key;
    json_t *value;

    system->cpu_error = get_text(snapshot, group, "error");
    if (system->cpu_error[0] == '\0') {
        system->has |= NTK_SYSTEM_HAS_CPU;
    }
    read_cpu_fields(get_object(group, "average_usage"), system->average);
    if (has_key(group, "context_switch_count")) {
        system->has |= NTK_SYSTEM_HAS_CONTEXT_SWITCHES;
        system->context_switches = get_u64(group, "context_switch_count");
    }
    system->cpus = ntk_snapshot_alloc(snapshot, listed, sizeof *system->cpus);
    if (!system->cpus) {
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)usage, key, value)
    {
        uint32_t number;
        if (system->cpu_count < listed && key_number(key, CPUS_MAX, &number)) {
            system->cpus[system->cpu_count].cpu = number;
            read_cpu_fields(value, system->cpus[system->cpu_count++].share);
        }
    }
    qsort(system->cpus, system->cpu_count, sizeof *system->cpus, compare_cpus);
}

static void read_system(struct ntk_snapshot *snapshot, const json_t *data, const json_t *ext)
{
    struct ntk_system_sample *system = &snapshot->system;
    const json_t *group[NTK_SYSTEM_GROUP_COUNT];

    for (int i = 0; i < NTK_SYSTEM_GROUP_COUNT; i++) {
        group[i] = get_object(data, ntk_system_group_names[i]);
        snapshot->group_period_ns[i] = get_period_ns(group[i]);
    }
    if (group[NTK_SYSTEM_GROUP_MEMORY]) {
        const json_t *memory = group[NTK_SYSTEM_GROUP_MEMORY];
        system->memory_error = get_text(snapshot, memory, "error");
        if (system->memory_error[0] == '\0') {
            system->has |= NTK_SYSTEM_HAS_MEMORY;
        }
        system->memory_total_bytes = get_u64(memory, "memory_total_bytes");
        system->memory_used_bytes = get_u64(memory, "memory_used_bytes");
        system->swap_total_bytes = get_u64(memory, "swap_total_bytes");
        system->swap_used_bytes = get_u64(memory, "swap_used_bytes");
    }
    read_devices(snapshot, group[NTK_SYSTEM_GROUP_ECC], ext);
    if (group[NTK_SYSTEM_GROUP_CPU]) {
        read_vcpu_usage(snapshot, group[NTK_SYSTEM_GROUP_CPU]);
    }
}

/* -- sums that the line does not carry ---------------------------------------------------------- */

static void add_count(struct ntk_count *to, struct ntk_count from)
{
    to->period += from.period;
    to->total += from.total;
}

static void add_core(struct ntk_core_sample *to, const struct ntk_core_sample *from)
{
    to->has |= from->has;
    to->utilization = clamp_ratio(to->utilization + from->utilization);
    to->in_flight += from->in_flight;
    add_count(&to->busy_ns, from->busy_ns);
    for (int i = 0; i < NTK_ENGINE_COUNT; i++) {
        add_count(&to->engine_busy_ns[i], from->engine_busy_ns[i]);
    }
    add_count(&to->flops, from->flops);
    add_count(&to->effective_flops, from->effective_flops);
    add_count(&to->hbm_bytes_read, from->hbm_bytes_read);
    add_count(&to->hbm_bytes_written, from->hbm_bytes_written);
    add_count(&to->dma_bytes, from->dma_bytes);
    for (int i = 0; i < NTK_OUTCOME_COUNT; i++) {
        add_count(&to->outcome[i], from->outcome[i]);
    }
    for (int i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        add_count(&to->error_class[i], from->error_class[i]);
    }
    add_count(&to->host_to_device_bytes, from->host_to_device_bytes);
    add_count(&to->device_to_host_bytes, from->device_to_host_bytes);
}

/* Machine cores by number and machine outcomes, as sums over the runtimes. */
static void sum_runtimes(struct ntk_snapshot *snapshot, const json_t *ext)
{
    const struct ntk_hardware *hardware = &snapshot->hardware;
    size_t machine = (size_t)hardware->device_count * hardware->cores_per_device;
    struct ntk_core_sample *given = NULL;
    size_t given_count = 0;

    if (machine > CORES_MAX) {
        machine = CORES_MAX;
    }
    snapshot->cores = ntk_snapshot_alloc(snapshot, machine, sizeof *snapshot->cores);
    snapshot->core_count = snapshot->cores ? machine : 0;
    for (size_t i = 0; i < snapshot->core_count; i++) {
        snapshot->cores[i].core = (uint32_t)i;
    }
    if (get_object(ext, "neuroncores")) {
        given_count = read_ext_cores(snapshot, get_object(ext, "neuroncores"), &given);
    }
    for (size_t i = 0; i < given_count; i++) {
        if (given[i].core < snapshot->core_count) {
            snapshot->cores[given[i].core] = given[i];
        }
    }
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];
        for (int k = 0; k < NTK_OUTCOME_COUNT; k++) {
            add_count(&snapshot->outcome[k], runtime->outcome[k]);
        }
        for (int k = 0; k < NTK_ERROR_CLASS_COUNT; k++) {
            add_count(&snapshot->error_class[k], runtime->error_class[k]);
        }
        for (size_t k = 0; k < runtime->core_count && given_count == 0; k++) {
            if (runtime->cores[k].core < snapshot->core_count) {
                add_core(&snapshot->cores[runtime->cores[k].core], &runtime->cores[k]);
            }
        }
    }
}

/* The snapshot's own period: what our part says, else the longest of the groups. */
static uint64_t longest_period(const json_t *root)
{
    const json_t *runtimes = get_array(root, "neuron_runtime_data");
    const json_t *system = get_object(root, "system_data");
    uint64_t longest = 0;

    for (int i = 0; i < NTK_SYSTEM_GROUP_COUNT; i++) {
        uint64_t ns = get_period_ns(get_object(system, ntk_system_group_names[i]));
        longest = ns != NTK_GROUP_ABSENT && ns > longest ? ns : longest;
    }
    for (size_t i = 0; i < json_array_size(runtimes) && i < RUNTIMES_MAX; i++) {
        const json_t *report = get_object(json_array_get(runtimes, i), "report");
        for (int k = 0; k < NTK_RUNTIME_GROUP_COUNT; k++) {
            uint64_t ns = get_period_ns(get_object(report, ntk_runtime_group_names[k]));
            longest = ns != NTK_GROUP_ABSENT && ns > longest ? ns : longest;
        }
    }
    return longest;
}

static void read_report(struct ntk_snapshot *snapshot, const json_t *root)
{
    const json_t *runtimes = get_array(root, "neuron_runtime_data");
    const json_t *ext = get_object(root, "neuron_ext");
    size_t listed = json_array_size(runtimes);

    snapshot->realtime_ns = get_u64(root, "timestamp_ns");
    snapshot->sequence = get_u64(root, "sequence");
    snapshot->period_ns =
        has_key(ext, "period_ns") ? get_u64(ext, "period_ns") : longest_period(root);
    snapshot->host_name = get_text(snapshot, ext, "host_name");
    snapshot->boot_id = get_text(snapshot, ext, "boot_id");
    snapshot->events_read = count_of(get_u64(ext, "events_read"));
    snapshot->events_lost = count_of(get_u64(ext, "events_lost"));
    snapshot->collect_duration_ns = get_u64(ext, "collect_duration_ns");
    read_hardware(snapshot, get_object(root, "neuron_hardware_info"), ext);
    read_instance(snapshot, get_object(root, "instance_info"));
    read_system(snapshot, get_object(root, "system_data"), ext);
    ntk_snapshot_alloc_runtimes(snapshot, listed < RUNTIMES_MAX ? listed : RUNTIMES_MAX);
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        read_runtime(snapshot, &snapshot->runtimes[i], json_array_get(runtimes, i));
    }
    sum_runtimes(snapshot, ext);
}

int ntk_report_read(const char *line, size_t line_bytes, struct ntk_snapshot **out_snapshot,
                    struct ntk_err *err)
{
    json_error_t at;

    if (line_bytes > NTK_REPORT_READ_BYTES_MAX) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "a line of %zu bytes is no report",
                           line_bytes);
    }
    json_t *root = json_loadb(line, line_bytes, 0, &at);
    if (!root) {
        return ntk_err_set(err, -EBADMSG, at.position < 0 ? 0 : (uint64_t)at.position,
                           "no JSON: %s", at.text);
    }
    if (!json_is_object(root) ||
        (!has_key(root, "neuron_runtime_data") && !has_key(root, "system_data"))) {
        json_decref(root);
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                           "JSON, but no report of neuron-monitor");
    }
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    if (snapshot) {
        read_report(snapshot, root);
    }
    json_decref(root);
    if (!snapshot || !ntk_snapshot_ok(snapshot)) {
        ntk_snapshot_destroy(snapshot);
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    *out_snapshot = snapshot;
    return 0;
}
