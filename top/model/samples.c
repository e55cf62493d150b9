/* SPDX-License-Identifier: MIT */
/* samples - fills the tables of samples.def from a model and its snapshot, and writes them as JSON
 * and CSV. */
#include "top/model/samples.h"

#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/json.h"
#include "shared/base/timestamp.h"
#include "shared/metrics/health.h"
#include "top/model/model_alerts.h"

#define FORMAT_VERSION 1

enum table {
    TABLE_machine,
    TABLE_devices,
    TABLE_cores,
    TABLE_applications,
    TABLE_models,
    TABLE_COUNT
};

enum column {
#define NTK_TOP_COLUMN(table, id, ...) COLUMN_##table##_##id,
#include "top/model/samples.def"
    COLUMN_COUNT
};

/* Sample types for the fields in a row. */
#define SAMPLE_machine struct ntk_system_sample
#define SAMPLE_devices struct ntk_device_sample
#define SAMPLE_cores struct ntk_core_sample
#define SAMPLE_applications struct ntk_runtime_sample
#define SAMPLE_models struct ntk_model_sample

/* Formats of fields, and the types of their members. */
enum form { FORM_NONE, FORM_TEXT, FORM_U64, FORM_BOOL, FORM_PERIOD, FORM_RATE, FORM_PERCENT };
#define TYPE_TEXT const char *
#define TYPE_U64 uint64_t
#define TYPE_BOOL bool
#define TYPE_PERIOD struct ntk_count
#define TYPE_RATE struct ntk_count
#define TYPE_PERCENT double

static const struct {
    enum table table;
    const char *name;
    enum form form; /* NONE: filled by code */
    size_t offset;  /* offset of the member */
    uint32_t has;   /* 0 if always known */
} columns[COLUMN_COUNT] = {
#define NTK_TOP_COLUMN(table, id, name, meaning) { TABLE_##table, name, FORM_NONE, 0, 0 },
#define NTK_TOP_FIELD(table, member, name, form, has, meaning) \
    { TABLE_##table, name, FORM_##form, offsetof(SAMPLE_##table, member), has },
#include "top/model/samples.def"
};

#define NTK_TOP_COLUMN(...)
#define NTK_TOP_FIELD(table, member, name, form, ...) \
    static_assert(_Generic(((SAMPLE_##table *)0)->member, TYPE_##form : 1), name);
#include "top/model/samples.def"

/* A row under construction: values that are not set are unknown. */
struct row {
    struct {
        enum { ABSENT, TEXT, COUNT, NUMBER, FLAG } kind;
        const char *text;
        uint64_t count;
        double number;
    } values[COLUMN_COUNT];
    char time[NTK_TIMESTAMP_BYTES];
    struct ntk_buf cores; /* the only text that is built here */
    void (*emit)(struct row *row, enum table table);
    struct ntk_json *json;
    struct ntk_buf *csv;
};

/* ---- setting values ---- */

static void set_text(struct row *row, enum column column, const char *text)
{
    if (text[0]) {
        row->values[column].kind = TEXT;
        row->values[column].text = text;
    }
}

static void set_count(struct row *row, enum column column, bool is_known, uint64_t count)
{
    if (is_known) {
        row->values[column].kind = COUNT;
        row->values[column].count = count;
    }
}

static void set_number(struct row *row, enum column column, bool is_known, double number)
{
    if (is_known) {
        row->values[column].kind = NUMBER;
        row->values[column].number = number;
    }
}

static void set_flag(struct row *row, enum column column, bool flag)
{
    row->values[column].kind = FLAG;
    row->values[column].count = flag;
}

static void set_share(struct row *row, enum column column, struct ntk_top_number percent)
{
    set_number(row, column, percent.present, percent.value);
}

static void set_bytes(struct row *row, enum column column, struct ntk_top_bytes bytes)
{
    set_count(row, column, bytes.present, bytes.value);
}

/* Sets the fields of a table from the sample of the row. */
static void set_fields(struct row *row, enum table table, const struct ntk_snapshot *snapshot,
                       const void *sample, uint32_t has)
{
    for (int c = 0; c < COLUMN_COUNT; c++) {
        const void *member = (const char *)sample + columns[c].offset;
        bool is_known = columns[c].has == 0 || (has & columns[c].has) != 0;

        switch (columns[c].table == table && is_known ? columns[c].form : FORM_NONE) {
        case FORM_NONE:
            break;
        case FORM_TEXT:
            set_text(row, (enum column)c, *(const TYPE_TEXT *)member);
            break;
        case FORM_U64:
            set_count(row, (enum column)c, true, *(const TYPE_U64 *)member);
            break;
        case FORM_BOOL:
            set_flag(row, (enum column)c, *(const TYPE_BOOL *)member);
            break;
        case FORM_PERIOD:
            set_count(row, (enum column)c, true, ((const TYPE_PERIOD *)member)->period);
            break;
        case FORM_RATE:
            set_number(row, (enum column)c, true,
                       ntk_snapshot_rate(snapshot, *(const TYPE_RATE *)member));
            break;
        case FORM_PERCENT:
            set_number(row, (enum column)c, true, 100 * *(const TYPE_PERCENT *)member);
            break;
        }
    }
}

/* Sets the executions in the period, and the executions that did not succeed. */
static void set_outcomes(struct row *row, enum column all, enum column failed, bool is_known,
                         const struct ntk_count *outcome)
{
    uint64_t sum = ntk_snapshot_outcome_sum(outcome);

    set_count(row, all, is_known, sum);
    set_count(row, failed, is_known, sum - outcome[NTK_OUTCOME_COMPLETED].period);
}

/* Sets the median in the first column, p99 in the second. */
static void set_latency(struct row *row, enum column p50, enum column p99,
                        const struct ntk_histogram *histogram)
{
    static const double percents[] = { 50, 99 };
    double ns[2];

    if (ntk_histogram_percentiles(histogram, percents, 2, ns)) {
        set_number(row, p50, true, ns[0] / (double)NTK_NS_PER_SECOND);
        set_number(row, p99, true, ns[1] / (double)NTK_NS_PER_SECOND);
    }
}

/* Sets logical cores with a physical core in the list, such as "0-3,8". */
static void set_cores(struct row *row, enum column column, const uint32_t *cores, size_t count)
{
    ntk_buf_reset(&row->cores);
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;

        while (end < count && cores[end] == cores[end - 1] + 1) {
            end++;
        }
        ntk_buf_add_format(&row->cores, i > 0 ? ",%u" : "%u", (unsigned int)cores[i]);
        if (end > i + 1) {
            ntk_buf_add_format(&row->cores, "-%u", (unsigned int)cores[end - 1]);
        }
        i = end;
    }
    set_text(row, column, ntk_buf_text_get(&row->cores));
}

static void emit(struct row *row, enum table table)
{
    row->emit(row, table);
    memset(row->values, 0, sizeof row->values);
}

/* ---- the tables ---- */

static void walk_machine(const struct ntk_top_model *model, struct row *row)
{
    const struct ntk_snapshot *snapshot = model->snapshot;
    const struct ntk_system_sample *system = &snapshot->system;
    const struct ntk_top_memory *memory = &model->memory;
    bool has_devices = model->device_count > 0;
    /* without a process, no work was done */
    bool has_executions = ntk_top_model_has_no_application(model);
    bool is_partial = false;

    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        has_executions = has_executions || snapshot->runtimes[i].has & NTK_RUNTIME_HAS_EXECUTIONS;
        is_partial = is_partial || snapshot->runtimes[i].executions_counted != NTK_EXECUTIONS_ALL;
    }
    set_text(row, COLUMN_machine_time, row->time);
    set_number(row, COLUMN_machine_period_seconds, true,
               (double)snapshot->period_ns / (double)NTK_NS_PER_SECOND);
    set_text(row, COLUMN_machine_instance_id, model->instance_id);
    set_text(row, COLUMN_machine_instance_type, model->instance_type);
    set_text(row, COLUMN_machine_driver_version, snapshot->hardware.driver_version);
    set_count(row, COLUMN_machine_neuron_device_count, true, model->device_count);
    set_count(row, COLUMN_machine_neuroncore_count, true,
              (uint64_t)model->device_count * model->cores_per_device);
    set_text(row, COLUMN_machine_neuroncore_version, model->core_version);
    set_count(row, COLUMN_machine_logical_neuroncore_config, has_devices, model->lnc);
    set_share(row, COLUMN_machine_utilization_percent, model->busy_percent_mean);
    set_number(row, COLUMN_machine_effective_flops_per_second, model->teraflops_total.present,
               model->teraflops_total.value * 1e12);
    set_share(row, COLUMN_machine_vcpu_user_percent, model->system_vcpu.user_percent);
    set_share(row, COLUMN_machine_vcpu_system_percent, model->system_vcpu.system_percent);
    set_share(row, COLUMN_machine_runtime_vcpu_user_percent, model->runtime_vcpu.user_percent);
    set_share(row, COLUMN_machine_runtime_vcpu_system_percent, model->runtime_vcpu.system_percent);
    set_fields(row, TABLE_machine, snapshot, system, system->has);
    set_count(row, COLUMN_machine_application_count, true, snapshot->runtime_count);
    set_outcomes(row, COLUMN_machine_executions, COLUMN_machine_errors, has_executions,
                 snapshot->outcome);
    set_bytes(row, COLUMN_machine_host_memory_bytes, memory->host_total);
    set_bytes(row, COLUMN_machine_host_tensors_bytes, memory->host[NTK_TOP_GROUP_TENSORS]);
    set_bytes(row, COLUMN_machine_host_constants_bytes, memory->host[NTK_TOP_GROUP_CONSTANTS]);
    set_bytes(row, COLUMN_machine_host_dma_buffers_bytes, memory->host[NTK_TOP_GROUP_DMA_BUFFERS]);
    set_bytes(row, COLUMN_machine_host_application_memory_bytes,
              memory->host[NTK_TOP_GROUP_APP_MEMORY]);
    set_bytes(row, COLUMN_machine_device_memory_bytes, memory->device_total);
    if (memory->device_total.present) {
        set_flag(row, COLUMN_machine_memory_estimated, memory->device_total.estimated);
    }
    set_bytes(row, COLUMN_machine_device_tensors_bytes, memory->device[NTK_TOP_GROUP_TENSORS]);
    set_bytes(row, COLUMN_machine_device_constants_bytes, memory->device[NTK_TOP_GROUP_CONSTANTS]);
    set_bytes(row, COLUMN_machine_device_model_code_bytes,
              memory->device[NTK_TOP_GROUP_MODEL_CODE]);
    set_bytes(row, COLUMN_machine_device_runtime_memory_bytes,
              memory->device[NTK_TOP_GROUP_RUNTIME_MEMORY]);
    set_bytes(row, COLUMN_machine_device_model_shared_scratchpad_bytes,
              memory->device[NTK_TOP_GROUP_SCRATCHPAD]);
    set_text(row, COLUMN_machine_notice, model->notice);
    if (has_executions) {
        set_flag(row, COLUMN_machine_executions_partial, is_partial);
    }
    emit(row, TABLE_machine);
}

static void set_device(struct row *row, const struct ntk_snapshot *snapshot,
                       const struct ntk_device_sample *device)
{
    static const enum column ecc[NTK_ECC_COUNT] = {
#define NTK_DEVICE_ECC(symbol, name) [NTK_ECC_##symbol] = COLUMN_devices_##name,
#include "shared/metrics/device.def"
    };

    set_fields(row, TABLE_devices, snapshot, device, device->has);
    if (device->has & NTK_DEVICE_HAS_HEALTH) {
        set_text(row, COLUMN_devices_health, ntk_health_verdict_names[device->verdict]);
        if (device->health_count > 0) {
            set_text(row, COLUMN_devices_health_reason, ntk_health_worst(device)->name);
        }
    }
#define NTK_DEVICE_BYTES(name, metric, group)                                          \
    set_count(row, COLUMN_devices_##name, (device->has & NTK_DEVICE_HAS_##group) != 0, \
              ntk_device_sum(device, device->name));
#include "shared/metrics/device.def"
    for (int kind = 0; kind < NTK_ECC_COUNT; kind++) {
        set_count(row, ecc[kind], device->has & NTK_DEVICE_HAS_ECC && device->ecc_has & 1u << kind,
                  device->ecc[kind].period);
    }
}

static void walk_devices(const struct ntk_top_model *model, struct row *row)
{
    for (uint32_t d = 0; d < model->device_count; d++) {
        const struct ntk_device_sample *device = ntk_snapshot_find_device(model->snapshot, d);
        struct ntk_top_number busy = ntk_top_model_device_busy(model, d);

        set_count(row, COLUMN_devices_neuron_device, true, d);
        set_count(row, COLUMN_devices_neuroncore_count, true, model->cores_per_device);
        set_number(row, COLUMN_devices_utilization_percent, busy.present, busy.value);
        if (device) {
            set_device(row, model->snapshot, device);
        }
        emit(row, TABLE_devices);
    }
}

static void set_estimated(struct row *row, enum column column, const struct ntk_memory_total *total)
{
    if (total->known) {
        set_flag(row, column, total->estimated);
    }
}

/* Sets the bytes that all applications have on the physical cores of each logical core. */
static void set_core_memory(struct row *row, const struct ntk_top_model *model, uint32_t logical)
{
    const struct ntk_snapshot *snapshot = model->snapshot;
    struct ntk_memory_total sum = { .known = ntk_top_model_has_no_application(model) };
    bool is_unreported = false;

    for (size_t r = 0; r < snapshot->runtime_count; r++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[r];

        if (!(runtime->has & NTK_RUNTIME_HAS_MEMORY)) {
            continue;
        }
        sum.known = true;
        for (uint32_t part = 0; part < model->lnc; part++) {
            uint32_t core = logical * model->lnc + part;
            struct ntk_memory_total host;
            struct ntk_memory_total device;

            ntk_snapshot_memory_total(runtime, core, NTK_MEMORY_ANY, &host, &device);
            sum.bytes += device.bytes;
            sum.estimated = sum.estimated || device.estimated;
            is_unreported = is_unreported ||
                            (!device.known &&
                             ntk_snapshot_find_core(runtime->cores, runtime->core_count, core));
        }
    }
    sum.known = sum.known && (sum.bytes > 0 || !is_unreported);
    set_count(row, COLUMN_cores_device_memory_bytes, sum.known, sum.bytes);
    set_estimated(row, COLUMN_cores_memory_estimated, &sum);
}

static void set_core(struct row *row, const struct ntk_top_model *model,
                     const struct ntk_core_sample *core)
{
    static const enum column engines[NTK_ENGINE_COUNT] = {
#define NTK_ENGINE(id, symbol, ...) [id] = COLUMN_cores_engine_##symbol,
#include "shared/abi/engine.def"
#undef NTK_ENGINE
    };
    const struct ntk_snapshot *snapshot = model->snapshot;
    const struct ntk_hardware *hardware = &snapshot->hardware;
    double effective = ntk_snapshot_rate(snapshot, core->effective_flops);
    bool has_effective = (core->has & NTK_CORE_HAS_EFFECTIVE_FLOPS) != 0;
    bool has_executions = (core->has & NTK_CORE_HAS_EXECUTIONS) != 0;

    set_fields(row, TABLE_cores, snapshot, core, core->has);
    if (has_effective && hardware->has & NTK_HARDWARE_HAS_PEAK && hardware->tensor_peak_flops > 0) {
        set_number(row, COLUMN_cores_peak_flops_percent, true,
                   100 * effective / (hardware->tensor_peak_flops * model->lnc));
    }
    for (int e = 0; e < NTK_ENGINE_COUNT; e++) {
        set_number(row, engines[e], (core->has & NTK_CORE_HAS_ENGINES) != 0,
                   100 * ntk_snapshot_engine_share(snapshot, core, (enum ntk_engine)e));
    }
    set_outcomes(row, COLUMN_cores_executions, COLUMN_cores_errors, has_executions, core->outcome);
}

/* Sets latencies of a core. A core belongs to one application, so the first histogram found is
 * used. */
static void set_core_latency(struct row *row, const struct ntk_top_model *model, uint32_t logical)
{
    const struct ntk_snapshot *snapshot = model->snapshot;

    for (size_t r = 0; r < snapshot->runtime_count; r++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[r];
        struct ntk_core_sample core;

        if (ntk_snapshot_logical_core(runtime->cores, runtime->core_count, model->lnc, logical,
                                      &core) &&
            core.total_latency.count > 0) {
            set_latency(row, COLUMN_cores_total_latency_p50_seconds,
                        COLUMN_cores_total_latency_p99_seconds, &core.total_latency);
            return;
        }
    }
}

static void walk_cores(const struct ntk_top_model *model, struct row *row)
{
    uint32_t count = model->device_count * model->cores_per_device;

    for (uint32_t logical = 0; logical < count; logical++) {
        struct ntk_core_sample core;

        set_count(row, COLUMN_cores_neuroncore, true, logical);
        set_count(row, COLUMN_cores_neuron_device, true, logical / model->cores_per_device);
        set_count(row, COLUMN_cores_device_core, true, logical % model->cores_per_device);
        /* Also known for idle cores, which a report does not list. */
        set_share(row, COLUMN_cores_utilization_percent, model->cores[logical].busy_percent);
        set_number(row, COLUMN_cores_effective_flops_per_second,
                   model->cores[logical].teraflops.present,
                   model->cores[logical].teraflops.value * 1e12);
        if (ntk_top_model_core_find(model, logical, &core)) {
            set_core(row, model, &core);
            if (core.has & NTK_CORE_HAS_EXECUTIONS) {
                const char *word =
                    ntk_top_model_alerts_word(ntk_top_model_alerts_core(model, logical), false);

                set_text(row, COLUMN_cores_state, word[0] ? word : "good");
            }
        }
        set_core_latency(row, model, logical);
        set_core_memory(row, model, logical);
        emit(row, TABLE_cores);
    }
}

/* Sets latencies of a runtime; a report without histograms has percentiles. */
static void set_runtime_latency(struct row *row, const struct ntk_runtime_sample *runtime)
{
    static const int p50 = 3;
    static const int p99 = 5;
    const double second_ns = (double)NTK_NS_PER_SECOND;

    set_latency(row, COLUMN_applications_total_latency_p50_seconds,
                COLUMN_applications_total_latency_p99_seconds, &runtime->total_latency);
    set_latency(row, COLUMN_applications_device_latency_p50_seconds,
                COLUMN_applications_device_latency_p99_seconds, &runtime->device_latency);
    if (runtime->has & NTK_RUNTIME_HAS_PERCENTILES) {
        set_number(row, COLUMN_applications_total_latency_p50_seconds, true,
                   runtime->total_percentile_ns[p50] / second_ns);
        set_number(row, COLUMN_applications_total_latency_p99_seconds, true,
                   runtime->total_percentile_ns[p99] / second_ns);
    }
    if (runtime->has & NTK_RUNTIME_HAS_DEVICE_PERCENTILES) {
        set_number(row, COLUMN_applications_device_latency_p50_seconds, true,
                   runtime->device_percentile_ns[p50] / second_ns);
        set_number(row, COLUMN_applications_device_latency_p99_seconds, true,
                   runtime->device_percentile_ns[p99] / second_ns);
    }
}

static void walk_applications(const struct ntk_top_model *model, struct row *row)
{
    const struct ntk_snapshot *snapshot = model->snapshot;

    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];
        bool has_executions = (runtime->has & NTK_RUNTIME_HAS_EXECUTIONS) != 0;
        struct ntk_memory_total host;
        struct ntk_memory_total device;
        uint32_t cores[NTK_SNAPSHOT_DEVICES_MAX * 8];
        size_t capacity = sizeof cores / sizeof *cores;
        size_t core_count = ntk_snapshot_logical_list(runtime->cores, runtime->core_count,
                                                      model->lnc, cores, capacity);
        uint64_t model_count = 0;

        for (size_t m = 0; m < runtime->model_count; m++) {
            model_count += runtime->models[m].loaded;
        }
        ntk_snapshot_memory_total(runtime, NTK_MEMORY_ANY, NTK_MEMORY_ANY, &host, &device);
        set_fields(row, TABLE_applications, snapshot, runtime, runtime->has);
        set_count(row, COLUMN_applications_pid, true, runtime->pid);
        set_text(row, COLUMN_applications_container,
                 runtime->pod.container_name[0] ? runtime->pod.container_name
                                                : runtime->container_id);
        set_text(row, COLUMN_applications_pod_name, runtime->pod.name);
        set_text(row, COLUMN_applications_namespace, runtime->pod.namespace_name);
        set_cores(row, COLUMN_applications_neuroncores, cores,
                  core_count < capacity ? core_count : capacity);
        set_count(row, COLUMN_applications_host_memory_bytes, host.known, host.bytes);
        set_count(row, COLUMN_applications_device_memory_bytes, device.known, device.bytes);
        set_estimated(row, COLUMN_applications_memory_estimated, &device);
        set_count(row, COLUMN_applications_model_count,
                  (runtime->has & NTK_RUNTIME_HAS_MODELS) != 0, model_count);
        set_outcomes(row, COLUMN_applications_executions, COLUMN_applications_errors,
                     has_executions, runtime->outcome);
        set_runtime_latency(row, runtime);
        if (runtime->hooks != NTK_HOOKS_UNKNOWN) {
            set_text(row, COLUMN_applications_hooks, ntk_hooks_kind_names[runtime->hooks]);
            set_flag(row, COLUMN_applications_cores_guessed, runtime->cores_guessed);
            set_text(row, COLUMN_applications_executions_counted,
                     ntk_executions_counted_names[runtime->executions_counted]);
        }
        emit(row, TABLE_applications);
    }
}

static void set_model(struct row *row, const struct ntk_top_model *top,
                      const struct ntk_runtime_sample *runtime,
                      const struct ntk_model_sample *model)
{
    uint32_t cores[NTK_SNAPSHOT_DEVICES_MAX];
    size_t core_count = 0;
    struct ntk_memory_total host;
    struct ntk_memory_total device;

    for (uint32_t c = 0; c < model->core_count && core_count < NTK_SNAPSHOT_DEVICES_MAX;
         c += top->lnc) {
        cores[core_count++] = (model->core + c) / top->lnc;
    }
    ntk_snapshot_memory_total(runtime, NTK_MEMORY_ANY, model->id, &host, &device);
    set_fields(row, TABLE_models, top->snapshot, model, model->has);
    set_count(row, COLUMN_models_pid, true, runtime->pid);
    set_text(row, COLUMN_models_tag, runtime->tag);
    set_count(row, COLUMN_models_model_id, true, model->id);
    set_text(row, COLUMN_models_uuid, model->uuid);
    set_cores(row, COLUMN_models_neuroncores, cores, core_count);
    set_latency(row, COLUMN_models_total_latency_p50_seconds,
                COLUMN_models_total_latency_p99_seconds, &model->total_latency);
    set_latency(row, COLUMN_models_device_latency_p50_seconds,
                COLUMN_models_device_latency_p99_seconds, &model->device_latency);
    set_count(row, COLUMN_models_host_memory_bytes, host.known, host.bytes);
    set_count(row, COLUMN_models_device_memory_bytes, device.known, device.bytes);
}

static void walk_models(const struct ntk_top_model *model, struct row *row)
{
    const struct ntk_snapshot *snapshot = model->snapshot;

    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];

        for (size_t m = 0; m < runtime->model_count; m++) {
            set_model(row, model, runtime, &runtime->models[m]);
            emit(row, TABLE_models);
        }
    }
}

static const struct {
    const char *name;
    void (*walk)(const struct ntk_top_model *model, struct row *row);
} tables[TABLE_COUNT] = {
    [TABLE_machine] = { "machine", walk_machine },
    [TABLE_devices] = { "devices", walk_devices },
    [TABLE_cores] = { "cores", walk_cores },
    [TABLE_applications] = { "applications", walk_applications },
    [TABLE_models] = { "models", walk_models },
};

int ntk_top_samples_table_find(const char *name)
{
    for (int i = 0; i < TABLE_COUNT; i++) {
        if (!name[0] || strcmp(tables[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

/* ---- forms ---- */

static void set_time(struct row *row, const struct ntk_snapshot *snapshot)
{
    ntk_timestamp_format(snapshot->realtime_ns, row->time, sizeof row->time);
}

static void emit_json(struct row *row, enum table table)
{
    struct ntk_json *json = row->json;

    if (table != TABLE_machine) {
        ntk_json_object_begin(json);
    }
    for (int c = 0; c < COLUMN_COUNT; c++) {
        if (columns[c].table != table) {
            continue;
        }
        ntk_json_key(json, columns[c].name);
        switch (row->values[c].kind) {
        case ABSENT:
            ntk_json_null(json);
            break;
        case TEXT:
            ntk_json_text(json, row->values[c].text);
            break;
        case COUNT:
            ntk_json_u64(json, row->values[c].count);
            break;
        case NUMBER:
            ntk_json_double(json, row->values[c].number);
            break;
        case FLAG:
            ntk_json_bool(json, row->values[c].count);
            break;
        }
    }
    if (table != TABLE_machine) {
        ntk_json_object_end(json);
    }
}

static void emit_csv(struct row *row, enum table table)
{
    struct ntk_buf *csv = row->csv;
    char number[32];
    bool is_first = true;

    if (table != TABLE_machine) {
        ntk_buf_add_text(csv, row->time);
        is_first = false;
    }
    for (int c = 0; c < COLUMN_COUNT; c++) {
        if (columns[c].table != table) {
            continue;
        }
        ntk_buf_add_text(csv, is_first ? "" : ",");
        is_first = false;
        switch (row->values[c].kind) {
        case ABSENT:
            break;
        case TEXT:
            ntk_buf_add_csv(csv, row->values[c].text);
            break;
        case COUNT:
            ntk_buf_add_u64(csv, row->values[c].count);
            break;
        case NUMBER:
            ntk_json_format_double(number, sizeof number, row->values[c].number);
            ntk_buf_add_text(csv, number);
            break;
        case FLAG:
            ntk_buf_add_text(csv, row->values[c].count ? "true" : "false");
            break;
        }
    }
    ntk_buf_add_char(csv, '\n');
}

void ntk_top_samples_json(const struct ntk_top_model *model, struct ntk_buf *out)
{
    struct ntk_json json;
    struct row row = { .emit = emit_json, .json = &json };

    set_time(&row, model->snapshot);
    ntk_json_init(&json, out, false);
    ntk_json_object_begin(&json);
    ntk_json_key_u64(&json, "format", FORMAT_VERSION);
    for (int t = 0; t < TABLE_COUNT; t++) {
        if (t != TABLE_machine) {
            ntk_json_key_array_begin(&json, tables[t].name);
        }
        tables[t].walk(model, &row);
        if (t != TABLE_machine) {
            ntk_json_array_end(&json);
        }
    }
    ntk_json_object_end(&json);
    ntk_buf_add_char(out, '\n');
    out->failed = out->failed || !ntk_buf_ok(&row.cores);
    ntk_buf_fini(&row.cores);
}

void ntk_top_samples_csv(const struct ntk_top_model *model, int table, bool with_header,
                         struct ntk_buf *out)
{
    struct row row = { .emit = emit_csv, .csv = out };

    set_time(&row, model->snapshot);
    if (with_header) {
        const char *separator = "";

        if (table != TABLE_machine) {
            ntk_buf_add_text(out, "time");
            separator = ",";
        }
        for (int c = 0; c < COLUMN_COUNT; c++) {
            if (columns[c].table == (enum table)table) {
                ntk_buf_add_text(out, separator);
                ntk_buf_add_text(out, columns[c].name);
                separator = ",";
            }
        }
        ntk_buf_add_char(out, '\n');
    }
    tables[table].walk(model, &row);
    out->failed = out->failed || !ntk_buf_ok(&row.cores);
    ntk_buf_fini(&row.cores);
}
