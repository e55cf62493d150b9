/* SPDX-License-Identifier: MIT */
/* cloudwatch_encode - each group of a snapshot to the series that stand for it. */
#include "exporters/cloudwatch/cloudwatch_encode.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/exporter.h"
#include "shared/base/buf.h"
#include "shared/base/clock.h"
#include "shared/base/str.h"

#define NS ((double)NTK_NS_PER_SECOND)
#define PERCENT 100.0
/* Equal values are put together whenever a series has so many entries. */
#define COMPACT_ENTRIES 4096u

static const struct ntk_cloudwatch_metric_row metrics[NTK_CLOUDWATCH_METRIC_COUNT] = {
    [NTK_CLOUDWATCH_CORE_UTILIZATION] = { "NeuronCoreUtilization", "Percent", true },
    [NTK_CLOUDWATCH_CORE_MEMORY_USED] = { "NeuronCoreMemoryUsed", "Bytes", false },
    [NTK_CLOUDWATCH_RUNTIME_MEMORY_USED] = { "RuntimeMemoryUsed", "Bytes", false },
    [NTK_CLOUDWATCH_RUNTIME_VCPU_USAGE] = { "RuntimeVcpuUsage", "Percent", false },
    [NTK_CLOUDWATCH_EXECUTION_ERRORS] = { "ExecutionErrors", "Count", false },
    [NTK_CLOUDWATCH_EXECUTION_STATUS] = { "ExecutionStatus", "Count", false },
    [NTK_CLOUDWATCH_EXECUTION_LATENCY] = { "ExecutionLatency", "Seconds", true },
    [NTK_CLOUDWATCH_HARDWARE_ECC_EVENTS] = { "HardwareEccEvents", "Count", false },
    [NTK_CLOUDWATCH_DEVICES_UNHEALTHY] = { "NeuronDevicesUnhealthy", "Count", false },
    [NTK_CLOUDWATCH_DEVICE_HEALTH] = { "NeuronDeviceHealth", "None", true },
    [NTK_CLOUDWATCH_SYSTEM_VCPU_USAGE] = { "SystemVcpuUsage", "Percent", true },
    [NTK_CLOUDWATCH_SYSTEM_MEMORY_USED] = { "SystemMemoryUsed", "Bytes", true },
    [NTK_CLOUDWATCH_SYSTEM_MEMORY_TOTAL] = { "SystemMemoryTotal", "Bytes", true },
};

/* Whether a counter of a core is sent as a rate: those of time are shares, and of the operations
 * the effective ones count. */
static bool is_rate(const struct ntk_core_count_row *row)
{
    return row->metric != NTK_METRIC_NONE && row->metric != NTK_METRIC_CORE_FLOPS_TOTAL &&
           ntk_metrics[row->metric].unit != NTK_METRIC_UNIT_SECONDS;
}

/* "NeuronCoreHbmReadBytes" of hbm_read_bytes. */
struct ntk_cloudwatch_metric_row ntk_cloudwatch_metric_get(enum ntk_cloudwatch_metric metric)
{
    size_t id = (size_t)metric - NTK_CLOUDWATCH_CORE_RATE;
    const struct ntk_core_count_row *row = &ntk_core_count_rows[id];

    if (id >= NTK_CORE_COUNT_ROWS || !is_rate(row)) {
        return metrics[metric];
    }
    struct ntk_cloudwatch_metric_row rate = { "NeuronCore", "Count/Second", false };
    const char *from =
        ntk_str_starts_with(row->column, "effective_") ? row->column + 9 : row->column;
    size_t used = strlen(rate.name);
    bool is_first = true;
    for (; *from && used + 1 < sizeof rate.name; from++) {
        if (*from != '_') {
            rate.name[used++] = (char)(is_first ? toupper((unsigned char)*from) : *from);
        }
        is_first = *from == '_';
    }
    rate.unit = ntk_metrics[row->metric].unit == NTK_METRIC_UNIT_BYTES ? "Bytes/Second" : rate.unit;
    return rate;
}

/* While one snapshot is added. */
struct adder {
    struct ntk_cloudwatch_data *data;
    const struct ntk_snapshot *snapshot;
    uint32_t metric_mask;
    const char *tag;  /* of the runtime that is being added; NULL: the machine */
    const char *user; /* its user, where another user's application has that tag; NULL: none */
    char uid[16];     /* of a user without a name */
    struct ntk_buf key;
    bool has_failed;   /* out of memory */
    uint64_t unlisted; /* values without room for a series */
};

struct label {
    const char *name;
    const char *value; /* NULL: `number` */
    uint32_t number;
};

int ntk_cloudwatch_metrics_parse(const char *text, uint32_t *out_mask, struct ntk_err *err)
{
    uint32_t mask = 0;

    for (;;) {
        size_t length = strcspn(text, ",");
        int found = -1;
        for (int i = 0; i < NTK_CLOUDWATCH_METRIC_COUNT; i++) {
            struct ntk_cloudwatch_metric_row row =
                ntk_cloudwatch_metric_get((enum ntk_cloudwatch_metric)i);
            bool is_it = length > 0 && strlen(row.name) == length;
            found = is_it && !strncmp(row.name, text, length) ? i : found;
        }
        if (found < 0) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "unknown metric '%.*s'",
                               (int)(length < 100 ? length : 100), text);
        }
        mask |= 1u << found;
        if (!text[length]) {
            break;
        }
        text += length + 1;
    }
    *out_mask = mask;
    return 0;
}

/* -- series ------------------------------------------------------------------------------------ */

static void series_destroy(struct ntk_cloudwatch_series *series)
{
    if (!series) {
        return;
    }
    for (size_t i = 0; i < series->dimension_count; i++) {
        free(series->dimensions[i].value);
    }
    ntk_vec_fini(&series->values);
    free(series);
}

/* What the service takes as a value of a dimension: nothing for blanks alone. Two texts that become
 * the same are one series. */
static void add_clean(struct ntk_buf *buf, const char *text)
{
    if (text[strspn(text, " ")] == '\0') {
        return;
    }
    for (size_t i = 0; i < NTK_CLOUDWATCH_DIMENSION_BYTES_MAX && text[i]; i++) {
        ntk_buf_add_char(buf, text[i] < ' ' || text[i] > '~' ? '?' : text[i]);
    }
}

static int add_dimension(struct ntk_cloudwatch_series *series, const char *name, const char *text)
{
    struct ntk_cloudwatch_dimension *dimension = &series->dimensions[series->dimension_count];
    struct ntk_buf value = { 0 };

    add_clean(&value, text);
    if (ntk_buf_ok(&value) && value.bytes_count == 0) {
        return 0; /* an empty one is none */
    }
    dimension->name = name;
    dimension->value = ntk_buf_take(&value, NULL);
    if (!dimension->value) {
        return -ENOMEM;
    }
    series->dimension_count++;
    return 0;
}

static const char *instance_type(const struct ntk_snapshot *snapshot)
{
    return snapshot->instance.type[0] ? snapshot->instance.type : snapshot->hardware.instance_type;
}

/* Off EC2 hosts have no id: their name keeps their metrics apart. */
static const char *host_of(const struct ntk_snapshot *snapshot)
{
    return snapshot->instance.id[0] ? snapshot->instance.id : snapshot->host_name;
}

/* The labels as text; a number needs room. */
static const char *value_of(const struct label *label, char room[16])
{
    if (label->value) {
        return label->value;
    }
    (void)snprintf(room, 16, "%u", label->number);
    return room;
}

static struct ntk_cloudwatch_series *series_create(struct adder *adder,
                                                   enum ntk_cloudwatch_metric metric,
                                                   const struct label *labels, size_t label_count)
{
    struct ntk_cloudwatch_series *series = calloc(1, sizeof *series);
    char room[16];

    if (!series) {
        return NULL;
    }
    series->metric = metric;
    series->compact_at = COMPACT_ENTRIES;
    ntk_vec_init(&series->values, sizeof(struct ntk_cloudwatch_value));
    int ret = add_dimension(series, adder->snapshot->instance.id[0] ? "InstanceId" : "HostName",
                            host_of(adder->snapshot));
    ret = ret < 0 ? ret : add_dimension(series, "InstanceType", instance_type(adder->snapshot));
    ret = ret < 0 || !adder->tag ? ret : add_dimension(series, "RuntimeTag", adder->tag);
    ret = ret < 0 || !adder->user ? ret : add_dimension(series, "User", adder->user);
    for (size_t i = 0; i < label_count && ret >= 0; i++) {
        ret = add_dimension(series, labels[i].name, value_of(&labels[i], room));
    }
    for (size_t i = 0; i < ntk_labels_option.count && ret >= 0; i++) {
        ret =
            add_dimension(series, ntk_labels_option.rows[i].name, ntk_labels_option.rows[i].value);
    }
    if (ret < 0 || ntk_map_put(&adder->data->series, adder->key.bytes, series) < 0) {
        series_destroy(series);
        return NULL;
    }
    return series;
}

/* The series of the metric with these labels; NULL when it was not requested, or has no room. */
static struct ntk_cloudwatch_series *find(struct adder *adder, enum ntk_cloudwatch_metric metric,
                                          const struct label *labels, size_t label_count)
{
    char room[16];

    if (!(adder->metric_mask & 1u << metric)) {
        return NULL;
    }
    ntk_buf_reset(&adder->key);
    ntk_buf_add_i64(&adder->key, metric);
    const char *const common[] = { host_of(adder->snapshot), instance_type(adder->snapshot),
                                   adder->tag ? adder->tag : "", adder->user ? adder->user : "" };
    for (size_t i = 0; i < sizeof common / sizeof *common; i++) {
        ntk_buf_add_char(&adder->key, '\n');
        add_clean(&adder->key, common[i]);
    }
    for (size_t i = 0; i < label_count; i++) {
        ntk_buf_add_char(&adder->key, '\n');
        add_clean(&adder->key, value_of(&labels[i], room));
    }
    if (!ntk_buf_ok(&adder->key)) {
        adder->has_failed = true;
        return NULL;
    }
    struct ntk_cloudwatch_series *series = ntk_map_get(&adder->data->series, adder->key.bytes);
    if (!series && adder->data->series.count >= NTK_CLOUDWATCH_SERIES_MAX) {
        adder->unlisted++;
        return NULL;
    }
    if (!series) {
        series = series_create(adder, metric, labels, label_count);
        adder->has_failed = adder->has_failed || !series;
    }
    return series;
}

static bool is_value(double value)
{
    return isfinite(value) && value > -NTK_CLOUDWATCH_VALUE_MAX && value < NTK_CLOUDWATCH_VALUE_MAX;
}

#define LABELS(...)                          \
    ((const struct label[]){ __VA_ARGS__ }), \
        sizeof((const struct label[]){ __VA_ARGS__ }) / sizeof(struct label)
#define NO_LABELS NULL, 0

/* One value of this snapshot, with what the series already has of it. */
static void add(struct adder *adder, enum ntk_cloudwatch_metric metric, const struct label *labels,
                size_t label_count, double value)
{
    struct ntk_cloudwatch_series *series =
        is_value(value) ? find(adder, metric, labels, label_count) : NULL;

    if (!series) {
        return;
    }
    if (!series->has_pending) {
        series->pending = value;
    } else if (!metrics[metric].is_largest) {
        series->pending += value;
    } else if (value > series->pending) {
        series->pending = value;
    }
    series->has_pending = true;
}

static int compare_values(const void *a, const void *b)
{
    const struct ntk_cloudwatch_value *left = a;
    const struct ntk_cloudwatch_value *right = b;

    return (left->value > right->value) - (left->value < right->value);
}

static void compact(struct ntk_cloudwatch_series *series)
{
    struct ntk_cloudwatch_value *values = series->values.items;
    size_t kept = 0;

    ntk_vec_sort(&series->values, compare_values);
    for (size_t i = 0; i < series->values.count; i++) {
        if (kept && values[kept - 1].value == values[i].value) {
            values[kept - 1].count += values[i].count;
        } else {
            values[kept++] = values[i];
        }
    }
    series->values.count = kept;
}

static void push(struct adder *adder, struct ntk_cloudwatch_series *series, double value,
                 double count)
{
    const struct ntk_cloudwatch_value pair = { value, count };

    if (series->values.count >= series->compact_at) {
        compact(series);
        series->compact_at = 2 * series->values.count + COMPACT_ENTRIES;
    }
    adder->has_failed = ntk_vec_push(&series->values, &pair) < 0 || adder->has_failed;
}

/* -- groups ------------------------------------------------------------------------------------ */

static bool is_due(const struct ntk_runtime_sample *runtime, enum ntk_runtime_group group,
                   uint32_t has)
{
    return runtime->group_period_ns[group] != NTK_GROUP_ABSENT && runtime->has & has;
}

static void add_percentiles(struct adder *adder, const char *type,
                            const struct ntk_histogram *histogram, const double *known_ns)
{
    double ns[NTK_PERCENTILE_COUNT];
    const double *percentile_ns = known_ns;

    if (ntk_histogram_percentiles(histogram, ntk_percentile_list, NTK_PERCENTILE_COUNT, ns)) {
        percentile_ns = ns;
    }
    for (int i = 0; percentile_ns && i < NTK_PERCENTILE_COUNT; i++) {
        add(adder, NTK_CLOUDWATCH_EXECUTION_LATENCY,
            LABELS({ "LatencyType", type, 0 }, { "Percentile", ntk_percentile_names[i], 0 }),
            percentile_ns[i] / NS);
    }
}

/* Every execution counts in a series without its own percentile: the service computes any. */
static void add_histogram(struct adder *adder, const char *type,
                          const struct ntk_histogram *histogram)
{
    struct ntk_cloudwatch_series *series =
        histogram->entry_count
            ? find(adder, NTK_CLOUDWATCH_EXECUTION_LATENCY, LABELS({ "LatencyType", type, 0 }))
            : NULL;

    if (!series) {
        return;
    }
    series->is_weighted = true;
    for (size_t i = 0; i < histogram->entry_count; i++) {
        push(adder, series, ntk_histogram_bucket_middle(histogram->entries[i].bucket) / NS,
             (double)histogram->entries[i].count);
    }
}

static void add_executions(struct adder *adder, const struct ntk_runtime_sample *runtime)
{
    for (int i = 0; i < NTK_OUTCOME_COUNT; i++) {
        add(adder, NTK_CLOUDWATCH_EXECUTION_STATUS,
            LABELS({ "StatusType", ntk_outcome_names[i], 0 }), (double)runtime->outcome[i].period);
    }
    for (int i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        add(adder, NTK_CLOUDWATCH_EXECUTION_ERRORS,
            LABELS({ "ErrorType", ntk_error_class_names[i], 0 }),
            (double)runtime->error_class[i].period);
    }
    add_percentiles(adder, "total_latency", &runtime->total_latency,
                    runtime->has & NTK_RUNTIME_HAS_PERCENTILES ? runtime->total_percentile_ns
                                                               : NULL);
    add_percentiles(
        adder, "device_latency", &runtime->device_latency,
        runtime->has & NTK_RUNTIME_HAS_DEVICE_PERCENTILES ? runtime->device_percentile_ns : NULL);
    add_histogram(adder, "total_latency", &runtime->total_latency);
    add_histogram(adder, "device_latency", &runtime->device_latency);
}

static void add_core_memory(struct adder *adder, const struct ntk_runtime_sample *runtime,
                            uint32_t core, uint32_t lnc)
{
    for (int group = NTK_GROUP_CONSTANTS; group < NTK_GROUP_COUNT; group++) {
        uint64_t bytes = 0;
        if (!ntk_snapshot_tells_group(runtime, (enum ntk_memory_group)group)) {
            continue;
        }
        for (size_t i = 0; i < runtime->memory_count; i++) {
            const struct ntk_memory_sample *row = &runtime->memory[i];
            if (row->core != NTK_NO_CORE && row->core / lnc == core &&
                row->location == NTK_MEMORY_DEVICE && row->category < NTK_MEMORY_CATEGORY_COUNT &&
                (int)ntk_memory_group_of((enum ntk_memory_category)row->category) == group) {
                bytes += row->current_bytes;
            }
        }
        add(adder, NTK_CLOUDWATCH_CORE_MEMORY_USED,
            LABELS({ "NeuronCore", NULL, core }, { "MemoryType", ntk_memory_group_keys[group], 0 }),
            (double)bytes);
    }
}

static void add_memory(struct adder *adder, const struct ntk_runtime_sample *runtime, uint32_t lnc)
{
    struct ntk_memory_total host;
    struct ntk_memory_total device;

    ntk_snapshot_memory_total(runtime, NTK_MEMORY_ANY, NTK_MEMORY_ANY, &host, &device);
    if (host.known) {
        add(adder, NTK_CLOUDWATCH_RUNTIME_MEMORY_USED, LABELS({ "MemoryLocation", "host", 0 }),
            (double)host.bytes);
    }
    if (device.known) {
        add(adder, NTK_CLOUDWATCH_RUNTIME_MEMORY_USED,
            LABELS({ "MemoryLocation", "neuron_device", 0 }), (double)device.bytes);
    }
    for (size_t i = 0; i < runtime->core_count; i++) {
        uint32_t core = runtime->cores[i].core / lnc;
        if (i == 0 || runtime->cores[i - 1].core / lnc != core) {
            add_core_memory(adder, runtime, core, lnc);
        }
    }
}

static void add_cores(struct adder *adder, const struct ntk_runtime_sample *runtime, uint32_t lnc)
{
    uint64_t own_ns = runtime->group_period_ns[NTK_RUNTIME_GROUP_CORES];
    double seconds = (double)(own_ns ? own_ns : adder->snapshot->period_ns) / NS;

    for (size_t i = 0; i < runtime->core_count; i++) {
        uint32_t number = runtime->cores[i].core / lnc;
        struct ntk_core_sample core;
        if ((i > 0 && runtime->cores[i - 1].core / lnc == number) ||
            !ntk_snapshot_watched_logical_core(runtime->cores, runtime->core_count, lnc, number,
                                               &core)) {
            continue;
        }
        if (core.has & NTK_CORE_HAS_BUSY) {
            add(adder, NTK_CLOUDWATCH_CORE_UTILIZATION, LABELS({ "NeuronCore", NULL, number }),
                core.utilization * PERCENT);
        }
        for (unsigned k = 0; k < NTK_CORE_COUNT_ROWS && seconds > 0; k++) {
            const struct ntk_core_count_row *row = &ntk_core_count_rows[k];
            if (core.has & row->has && is_rate(row)) {
                add(adder, NTK_CLOUDWATCH_CORE_RATE + k, LABELS({ "NeuronCore", NULL, number }),
                    (double)core.counts[row->at].period / seconds);
            }
        }
    }
}

/* The name of a later user, or the uid where another one of that tag has this name already. */
static const char *later_user(struct adder *adder, const struct ntk_runtime_sample *runtime,
                              void *own)
{
    struct ntk_map *users = &adder->data->users;
    char *named = NULL; /* of a tag and the name of a user */

    (void)snprintf(adder->uid, sizeof adder->uid, "%u", runtime->uid);
    if (!runtime->user || !runtime->user[0]) {
        return adder->uid;
    }
    if (asprintf(&named, "%s\n%s", runtime->tag, runtime->user) < 0) {
        adder->has_failed = true;
        return adder->uid;
    }
    const void *known = ntk_map_get(users, named);
    bool is_own = known == own || (!known && ntk_map_put(users, named, own) == 0);
    free(named);
    return is_own ? runtime->user : adder->uid;
}

static bool has_room(const struct adder *adder, const void *own)
{
    const struct ntk_map *tags = &adder->data->tags;
    size_t of_user = 0;

    ntk_map_each(entry, tags) {
        of_user += entry->value == own;
    }
    return ntk_exporter_has_room(NTK_EXPORTER_APPLICATIONS, tags->count, of_user);
}

/* Whose series the runtime has. Two users' applications of one tag are never one: the one that
 * comes later has the dimension User. */
static void owner_take(struct adder *adder, const struct ntk_runtime_sample *runtime)
{
    struct ntk_map *tags = &adder->data->tags;
    void *own = (void *)((uintptr_t)runtime->uid + 1); /* not NULL, as a value of the map */
    const void *first = ntk_map_get(tags, runtime->tag);
    char *pair = NULL; /* of a tag and a later user */

    adder->tag = runtime->tag;
    adder->user = NULL;
    if (first == own) {
        return;
    }
    if (first && asprintf(&pair, "%s\n%u", runtime->tag, runtime->uid) < 0) {
        pair = NULL;
        adder->has_failed = true;
    }
    const char *key = first ? pair : runtime->tag;
    bool has_series = key && (ntk_map_get(tags, key) ||
                              (has_room(adder, own) && ntk_map_put(tags, key, own) == 0));
    free(pair);
    if (!has_series) {
        adder->tag = NTK_EXPORTER_OTHER;
    } else if (first) {
        adder->user = later_user(adder, runtime, own);
    }
}

static void add_runtime(struct adder *adder, const struct ntk_runtime_sample *runtime)
{
    uint32_t lnc = runtime->lnc ? runtime->lnc : 1;

    owner_take(adder, runtime);
    if (is_due(runtime, NTK_RUNTIME_GROUP_EXECUTIONS, NTK_RUNTIME_HAS_EXECUTIONS)) {
        add_executions(adder, runtime);
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_MEMORY, NTK_RUNTIME_HAS_MEMORY)) {
        add_memory(adder, runtime, lnc);
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_CPU, NTK_RUNTIME_HAS_CPU)) {
        add(adder, NTK_CLOUDWATCH_RUNTIME_VCPU_USAGE, LABELS({ "UsageType", "user", 0 }),
            runtime->cpu_user * PERCENT);
        add(adder, NTK_CLOUDWATCH_RUNTIME_VCPU_USAGE, LABELS({ "UsageType", "system", 0 }),
            runtime->cpu_system * PERCENT);
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_CORES, NTK_RUNTIME_HAS_CORES)) {
        add_cores(adder, runtime, lnc);
    }
    adder->tag = adder->user = NULL;
}

/* Each kind over all devices, and of a device what happened there: series of zeros would be most of
 * what is paid for. */
static void add_devices(struct adder *adder)
{
    const struct ntk_snapshot *snapshot = adder->snapshot;

    for (size_t i = 0; i < snapshot->device_count; i++) {
        const struct ntk_device_sample *device = &snapshot->devices[i];
        for (int k = 0; k < NTK_ECC_COUNT && device->has & NTK_DEVICE_HAS_ECC; k++) {
            if (!(device->ecc_has & 1u << k)) {
                continue;
            }
            add(adder, NTK_CLOUDWATCH_HARDWARE_ECC_EVENTS,
                LABELS({ "EventType", ntk_ecc_names[k], 0 }), (double)device->ecc[k].period);
            if (device->ecc[k].period > 0) {
                add(adder, NTK_CLOUDWATCH_HARDWARE_ECC_EVENTS,
                    LABELS({ "NeuronDevice", NULL, device->index },
                           { "EventType", ntk_ecc_names[k], 0 }),
                    (double)device->ecc[k].period);
            }
        }
    }
}

/* How many devices are unhealthy, and of those that are not healthy which and how: one series for a
 * machine that is well. */
static void add_health(struct adder *adder)
{
    const struct ntk_snapshot *snapshot = adder->snapshot;

    for (size_t i = 0; i < snapshot->device_count; i++) {
        const struct ntk_device_sample *device = &snapshot->devices[i];
        if (!(device->has & NTK_DEVICE_HAS_HEALTH)) {
            continue;
        }
        add(adder, NTK_CLOUDWATCH_DEVICES_UNHEALTHY, NO_LABELS,
            device->verdict == NTK_HEALTH_UNHEALTHY ? 1.0 : 0.0);
        if (device->verdict != NTK_HEALTH_HEALTHY) {
            const struct ntk_health_reason_row *worst = ntk_health_worst(device);
            add(adder, NTK_CLOUDWATCH_DEVICE_HEALTH,
                LABELS({ "NeuronDevice", NULL, device->index },
                       { "Reason", worst ? worst->name : "other", 0 }),
                (double)device->verdict);
        }
    }
}

static void add_system(struct adder *adder)
{
    const struct ntk_system_sample *system = &adder->snapshot->system;
    const uint64_t *due = adder->snapshot->group_period_ns;
    double busy = 0;

    if (due[NTK_SYSTEM_GROUP_CPU] != NTK_GROUP_ABSENT && system->has & NTK_SYSTEM_HAS_CPU) {
        for (int i = 0; i < NTK_CPU_FIELD_COUNT; i++) {
            busy += i == NTK_CPU_IDLE ? 0 : system->average[i];
        }
        add(adder, NTK_CLOUDWATCH_SYSTEM_VCPU_USAGE, NO_LABELS, (busy > 1 ? 1 : busy) * PERCENT);
    }
    if (due[NTK_SYSTEM_GROUP_MEMORY] != NTK_GROUP_ABSENT && system->has & NTK_SYSTEM_HAS_MEMORY) {
        add(adder, NTK_CLOUDWATCH_SYSTEM_MEMORY_USED, NO_LABELS, (double)system->memory_used_bytes);
        add(adder, NTK_CLOUDWATCH_SYSTEM_MEMORY_TOTAL, NO_LABELS,
            (double)system->memory_total_bytes);
    }
}

/* -- the whole --------------------------------------------------------------------------------- */

static void settle(struct adder *adder)
{
    ntk_map_each(entry, &adder->data->series) {
        struct ntk_cloudwatch_series *series = entry->value;
        if (series->has_pending && is_value(series->pending)) {
            push(adder, series, series->pending, 1);
        }
        series->has_pending = false;
    }
}

int ntk_cloudwatch_encode(struct ntk_cloudwatch_data *data, const struct ntk_snapshot *snapshot,
                          uint32_t metric_mask, struct ntk_err *err)
{
    struct adder adder = { .data = data, .snapshot = snapshot, .metric_mask = metric_mask };

    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        add_runtime(&adder, &snapshot->runtimes[i]);
    }
    if (snapshot->group_period_ns[NTK_SYSTEM_GROUP_ECC] != NTK_GROUP_ABSENT) {
        add_devices(&adder);
    }
    add_health(&adder);
    add_system(&adder);
    settle(&adder);
    ntk_buf_fini(&adder.key);
    if (adder.has_failed) {
        return ntk_err_no_memory(err);
    }
    return adder.unlisted
               ? ntk_err_set(err, -ENOSPC, NTK_ERR_NO_OFFSET,
                             "more than %u series; ignoring the rest", NTK_CLOUDWATCH_SERIES_MAX)
               : 0;
}

void ntk_cloudwatch_data_sort(struct ntk_cloudwatch_data *data)
{
    ntk_map_each(entry, &data->series) {
        compact(entry->value);
    }
}

void ntk_cloudwatch_data_fini(struct ntk_cloudwatch_data *data)
{
    ntk_map_each(entry, &data->series) {
        series_destroy(entry->value);
    }
    ntk_map_fini(&data->series);
    ntk_map_fini(&data->tags);
    ntk_map_fini(&data->users);
}
