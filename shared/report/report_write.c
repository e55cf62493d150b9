/* SPDX-License-Identifier: MIT */
/* report_write - a snapshot as one line of neuron-monitor's JSON; see report_json.h. */
#include "shared/report/report_json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/json.h"
#include "shared/base/str.h"
#include "shared/base/vec.h"
#include "shared/metrics/percentile.h"
#include "shared/metrics/snapshot.h"

/* Names of models are cut here, as the vendor does. */
#define MODEL_NAME_BYTES_MAX 255
/* Longer texts are cut. */
#define TEXT_BYTES_MAX 1024
/* Cores that one runtime lists at most, whatever the snapshot claims. */
#define CORES_MAX 4096

struct writer {
    struct ntk_json json;
    const struct ntk_snapshot *snapshot;
    const struct ntk_report_options *options;
    bool extended; /* with "neuron_ext" */
};

/* Percentile keys in the order of their texts: p0 p1 p100 p25 p50 p75 p99. */
static const int percentile_order[NTK_PERCENTILE_COUNT] = { 0, 1, 6, 2, 3, 4, 5 };

/* -- small things ------------------------------------------------------------------------------- */

/* Readers keep integers in 63 bits; a hostile process must not make the whole line unreadable. */
static void value_u64(struct writer *w, uint64_t value)
{
    ntk_json_u64(&w->json, value < INT64_MAX ? value : INT64_MAX);
}

static void key_u64(struct writer *w, const char *key, uint64_t value)
{
    ntk_json_key(&w->json, key);
    value_u64(w, value);
}

/* Names come from other processes: what is no UTF-8 would make the whole line unreadable. */
static void key_text(struct writer *w, const char *key, const char *text)
{
    char clean[TEXT_BYTES_MAX];

    ntk_str_copy_clean(clean, sizeof clean, text, strlen(text));
    ntk_json_key_text(&w->json, key, clean);
}

static double round_percent(double ratio)
{
    return round(ratio * 10000) / 100;
}

static uint64_t group_period(const struct writer *w, uint64_t group_period_ns)
{
    return group_period_ns == 0 ? w->snapshot->period_ns : group_period_ns;
}

static void write_period(struct writer *w, uint64_t group_period_ns)
{
    ntk_json_key_double(&w->json, "period",
                        (double)group_period(w, group_period_ns) / (double)NTK_NS_PER_SECOND);
}

static uint64_t per_second(const struct writer *w, uint64_t group_period_ns, uint64_t count)
{
    uint64_t period_ns = group_period(w, group_period_ns);

    if (period_ns == 0) {
        return 0;
    }
    double rate = (double)count * (double)NTK_NS_PER_SECOND / (double)period_ns;
    return rate < 9e18 ? (uint64_t)rate : INT64_MAX;
}

/* Numbers as their decimal texts are sorted: 0 1 10 11 2. */
static int compare_as_text(const void *a, const void *b)
{
    char text_a[16];
    char text_b[16];

    snprintf(text_a, sizeof text_a, "%u", *(const uint32_t *)a);
    snprintf(text_b, sizeof text_b, "%u", *(const uint32_t *)b);
    return strcmp(text_a, text_b);
}

static void key_number(struct writer *w, uint32_t number)
{
    char text[16];

    snprintf(text, sizeof text, "%u", number);
    ntk_json_key(&w->json, text);
}

static bool holds(const struct ntk_vec *numbers, uint32_t number)
{
    ntk_vec_each(uint32_t, at, numbers) {
        if (*at == number) {
            return true;
        }
    }
    return false;
}

static void add_number(struct ntk_vec *numbers, uint32_t number)
{
    if (numbers->count < CORES_MAX && !holds(numbers, number)) {
        ntk_vec_push(numbers, &number);
    }
}

static uint32_t lnc_of(const struct writer *w, const struct ntk_runtime_sample *runtime)
{
    uint32_t lnc = runtime->lnc ? runtime->lnc : w->snapshot->hardware.lnc;

    return lnc ? lnc : 1;
}

/* "v3" of "v3d": the version of a physical core. */
static void physical_version(const struct writer *w, char *to, size_t to_bytes)
{
    snprintf(to, to_bytes, "%s", w->snapshot->hardware.core_version);
    size_t length = strlen(to);
    if (length > 1 && to[length - 1] == 'd') {
        to[length - 1] = '\0';
    }
}

/* The logical cores that a runtime lists: its own, those it has memory on, or all. */
static void list_cores(const struct writer *w, const struct ntk_runtime_sample *runtime,
                       struct ntk_vec *out_logical)
{
    const struct ntk_hardware *hardware = &w->snapshot->hardware;
    uint32_t lnc = lnc_of(w, runtime);

    ntk_vec_init(out_logical, sizeof(uint32_t));
    for (size_t i = 0; i < runtime->core_count; i++) {
        add_number(out_logical, runtime->cores[i].core / lnc);
    }
    for (size_t i = 0; i < runtime->memory_count; i++) {
        const struct ntk_memory_sample *row = &runtime->memory[i];
        if (row->location == NTK_MEMORY_DEVICE && row->core != NTK_NO_CORE) {
            add_number(out_logical, row->core / lnc);
        }
    }
    if (w->options->all_cores) {
        uint64_t count = (uint64_t)hardware->device_count * hardware->cores_per_device / lnc;
        for (uint32_t i = 0; i < count && i < CORES_MAX; i++) {
            add_number(out_logical, i);
        }
    }
    ntk_vec_sort(out_logical, compare_as_text);
}

/* -- groups of a runtime ------------------------------------------------------------------------ */

static void write_percentiles(struct writer *w, const char *key,
                              const struct ntk_histogram *histogram, const double *known_ns)
{
    double ns[NTK_PERCENTILE_COUNT];

    ntk_json_key(&w->json, key);
    if (ntk_histogram_percentiles(histogram, ntk_percentile_list, NTK_PERCENTILE_COUNT, ns)) {
        known_ns = ns;
    }
    if (!known_ns) {
        ntk_json_null(&w->json);
        return;
    }
    ntk_json_object_begin(&w->json);
    for (int i = 0; i < NTK_PERCENTILE_COUNT; i++) {
        int at = percentile_order[i];
        ntk_json_key_double(&w->json, ntk_percentile_names[at],
                            known_ns[at] / (double)NTK_NS_PER_SECOND);
    }
    ntk_json_object_end(&w->json);
}

static void write_executions(struct writer *w, const struct ntk_runtime_sample *runtime)
{
    ntk_json_key_object_begin(&w->json, "execution_stats");
    write_period(w, runtime->group_period_ns[NTK_RUNTIME_GROUP_EXECUTIONS]);
    ntk_json_key_object_begin(&w->json, "error_summary");
    for (int i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        key_u64(w, ntk_error_class_names[i], runtime->error_class[i].period);
    }
    ntk_json_object_end(&w->json);
    ntk_json_key_object_begin(&w->json, "execution_summary");
    for (int i = 0; i < NTK_OUTCOME_COUNT; i++) {
        key_u64(w, ntk_outcome_names[i], runtime->outcome[i].period);
    }
    ntk_json_object_end(&w->json);
    ntk_json_key_object_begin(&w->json, "latency_stats");
    write_percentiles(w, "total_latency", &runtime->total_latency,
                      runtime->has & NTK_RUNTIME_HAS_PERCENTILES ? runtime->total_percentile_ns
                                                                 : NULL);
    write_percentiles(
        w, "device_latency", &runtime->device_latency,
        runtime->has & NTK_RUNTIME_HAS_DEVICE_PERCENTILES ? runtime->device_percentile_ns : NULL);
    ntk_json_object_end(&w->json);
    key_text(w, "error", "");
    ntk_json_object_end(&w->json);
}

static void write_host_groups(struct writer *w, const uint64_t group[NTK_GROUP_COUNT])
{
    ntk_json_key_object_begin(&w->json, "host");
    for (int i = NTK_GROUP_HOST_APPLICATION; i <= NTK_GROUP_HOST_TENSORS; i++) {
        key_u64(w, ntk_memory_group_keys[i], group[i]);
    }
    ntk_json_object_end(&w->json);
}

static void write_core_memory(struct writer *w, const struct ntk_runtime_sample *runtime)
{
    uint32_t lnc = lnc_of(w, runtime);
    struct ntk_vec logical;

    ntk_json_key_object_begin(&w->json, "neuroncore_memory_usage");
    list_cores(w, runtime, &logical);
    ntk_vec_each(uint32_t, core, &logical) {
        uint64_t sum[NTK_GROUP_COUNT] = { 0 };
        for (uint32_t i = 0; i < lnc; i++) {
            uint64_t group[NTK_GROUP_COUNT] = { 0 };
            ntk_snapshot_memory_sum(runtime, *core * lnc + i, NTK_MEMORY_ANY, group, NULL, NULL);
            for (int k = 0; k < NTK_GROUP_COUNT; k++) {
                sum[k] += group[k];
            }
        }
        key_number(w, *core);
        ntk_json_object_begin(&w->json);
        for (int i = NTK_GROUP_CONSTANTS; i <= NTK_GROUP_TENSORS; i++) {
            key_u64(w, ntk_memory_group_keys[i], sum[i]);
        }
        ntk_json_object_end(&w->json);
    }
    ntk_vec_fini(&logical);
    ntk_json_object_end(&w->json);
}

/* One physical core of a model. Host memory of the model counts with its first core. */
static void write_subgraph(struct writer *w, const struct ntk_runtime_sample *runtime,
                           const struct ntk_model_sample *model, uint32_t index)
{
    const struct ntk_hardware *hardware = &w->snapshot->hardware;
    uint32_t core = model->core + index;
    uint32_t per_device = hardware->cores_per_device ? hardware->cores_per_device : 1;
    uint64_t group[NTK_GROUP_COUNT] = { 0 };
    uint64_t host_bytes = 0;
    uint64_t device_bytes = 0;
    char key[24];
    char name[48];
    char version[24];

    ntk_snapshot_memory_sum(runtime, core, model->id, group, &host_bytes, &device_bytes);
    if (index == 0) {
        uint64_t more[NTK_GROUP_COUNT] = { 0 };
        uint64_t more_host = 0;
        uint64_t more_device = 0;
        ntk_snapshot_memory_sum(runtime, NTK_NO_CORE, model->id, more, &more_host, &more_device);
        for (int i = 0; i < NTK_GROUP_COUNT; i++) {
            group[i] += more[i];
        }
        host_bytes += more_host;
        device_bytes += more_device;
    }
    snprintf(key, sizeof key, "sg_%02u", index);
    ntk_json_key_object_begin(&w->json, key);
    ntk_json_key_object_begin(&w->json, "memory_used_bytes");
    key_u64(w, "host", host_bytes);
    key_u64(w, "neuron_device", device_bytes);
    ntk_json_key_object_begin(&w->json, "usage_breakdown");
    write_host_groups(w, group);
    ntk_json_key_object_begin(&w->json, "neuron_device");
    key_u64(w, "constants", group[NTK_GROUP_CONSTANTS]);
    key_u64(w, "model_code", group[NTK_GROUP_MODEL_CODE]);
    /* There is no key for scratchpad here; it counts with the runtime's so that the sum is right. */
    key_u64(w, "runtime_memory", group[NTK_GROUP_RUNTIME] + group[NTK_GROUP_SCRATCHPAD]);
    key_u64(w, "tensors", group[NTK_GROUP_TENSORS]);
    ntk_json_object_end(&w->json);
    ntk_json_object_end(&w->json);
    ntk_json_object_end(&w->json);
    key_u64(w, "neuroncore_index", core % per_device / lnc_of(w, runtime));
    key_u64(w, "neuron_device_index", core / per_device);
    physical_version(w, version, sizeof version);
    if (version[0]) {
        snprintf(name, sizeof name, "nc_%s.%u", version, core);
        key_text(w, version, name);
    }
    ntk_json_object_end(&w->json);
}

static void write_model_name(struct writer *w, const struct ntk_model_sample *model)
{
    char text[MODEL_NAME_BYTES_MAX + 1];
    const char *name = model->name[0] ? model->name : model->neff_path;

    ntk_str_copy_clean(text, sizeof text, name, strlen(name)); /* cuts between characters */
    ntk_json_key_text(&w->json, "name", text);
}

static void write_models(struct writer *w, const struct ntk_runtime_sample *runtime)
{
    ntk_json_key_array_begin(&w->json, "loaded_models");
    for (size_t i = 0; i < runtime->model_count; i++) {
        const struct ntk_model_sample *model = &runtime->models[i];
        if (!model->loaded) {
            continue;
        }
        ntk_json_object_begin(&w->json);
        write_model_name(w, model);
        key_text(w, "uuid", model->uuid);
        key_u64(w, "model_id", model->id);
        ntk_json_key_bool(&w->json, "is_running", model->is_running);
        if (model
                ->estimated) { /* ours, so absent where the vendor's tool could have written this */
            ntk_json_key_bool(&w->json, "estimated", true);
        }
        ntk_json_key_object_begin(&w->json, "subgraphs");
        for (uint32_t k = 0; k < model->core_count && k < CORES_MAX; k++) {
            write_subgraph(w, runtime, model, k);
        }
        ntk_json_object_end(&w->json);
        ntk_json_object_end(&w->json);
    }
    ntk_json_array_end(&w->json);
}

static void write_memory(struct writer *w, const struct ntk_runtime_sample *runtime)
{
    uint64_t group[NTK_GROUP_COUNT] = { 0 };
    uint64_t host_bytes = 0;
    uint64_t device_bytes = 0;

    ntk_snapshot_memory_sum(runtime, NTK_MEMORY_ANY, NTK_MEMORY_ANY, group, &host_bytes,
                            &device_bytes);
    ntk_json_key_object_begin(&w->json, "memory_used");
    write_period(w, runtime->group_period_ns[NTK_RUNTIME_GROUP_MEMORY]);
    ntk_json_key_object_begin(&w->json, "neuron_runtime_used_bytes");
    key_u64(w, "host", host_bytes);
    key_u64(w, "neuron_device", device_bytes);
    ntk_json_key_object_begin(&w->json, "usage_breakdown");
    write_host_groups(w, group);
    write_core_memory(w, runtime);
    ntk_json_object_end(&w->json);
    if (!w->options->vendor_only && runtime->has & NTK_RUNTIME_HAS_RSS) {
        key_u64(w, "host_rss_bytes", runtime->rss_bytes);
    }
    ntk_json_object_end(&w->json);
    write_models(w, runtime);
    key_text(w, "error", "");
    ntk_json_object_end(&w->json);
}

static void write_cpu(struct writer *w, const struct ntk_runtime_sample *runtime)
{
    ntk_json_key_object_begin(&w->json, "neuron_runtime_vcpu_usage");
    write_period(w, runtime->group_period_ns[NTK_RUNTIME_GROUP_CPU]);
    ntk_json_key_object_begin(&w->json, "vcpu_usage");
    ntk_json_key_double(&w->json, "user", round_percent(runtime->cpu_user));
    ntk_json_key_double(&w->json, "system", round_percent(runtime->cpu_system));
    ntk_json_object_end(&w->json);
    key_text(w, "error", runtime->cpu_error);
    ntk_json_object_end(&w->json);
}

static void write_core(struct writer *w, const struct ntk_runtime_sample *runtime, uint32_t logical)
{
    const uint64_t period_ns = runtime->group_period_ns[NTK_RUNTIME_GROUP_CORES];
    uint32_t lnc = lnc_of(w, runtime);
    struct ntk_core_sample core;
    char version[24];
    char name[48];

    ntk_snapshot_logical_core(runtime->cores, runtime->core_count, lnc, logical, &core);
    key_number(w, logical);
    ntk_json_object_begin(&w->json);
    ntk_json_key_double(&w->json, "neuroncore_utilization", core.utilization * 100);
    if (core.has & NTK_CORE_HAS_FLOPS) {
        key_u64(w, "flops", per_second(w, period_ns, core.flops.period));
    }
    if (core.has & NTK_CORE_HAS_EFFECTIVE_FLOPS) {
        key_u64(w, "effective_flops", per_second(w, period_ns, core.effective_flops.period));
    }
    physical_version(w, version, sizeof version - 1);
    if (lnc > 1 && version[0]) {
        snprintf(name, sizeof name, "%sd", version);
        ntk_json_key_object_begin(&w->json, name);
        for (uint32_t i = 0; i < lnc; i++) {
            const struct ntk_core_sample *part =
                ntk_snapshot_find_core(runtime->cores, runtime->core_count, logical * lnc + i);
            snprintf(name, sizeof name, "nc_%s.%u", version, logical * lnc + i);
            ntk_json_key_object_begin(&w->json, name);
            ntk_json_key_double(&w->json, "neuroncore_utilization",
                                part ? part->utilization * 100 : 0);
            ntk_json_object_end(&w->json);
        }
        ntk_json_object_end(&w->json);
    }
    ntk_json_object_end(&w->json);
}

static void write_cores(struct writer *w, const struct ntk_runtime_sample *runtime)
{
    struct ntk_vec logical;

    ntk_json_key_object_begin(&w->json, "neuroncore_counters");
    write_period(w, runtime->group_period_ns[NTK_RUNTIME_GROUP_CORES]);
    ntk_json_key_object_begin(&w->json, "neuroncores_in_use");
    list_cores(w, runtime, &logical);
    ntk_vec_each(uint32_t, core, &logical) {
        write_core(w, runtime, *core);
    }
    ntk_vec_fini(&logical);
    ntk_json_object_end(&w->json);
    key_text(w, "error", "");
    ntk_json_object_end(&w->json);
}

/* -- our additive part -------------------------------------------------------------------------- */

static void ext_histogram(struct writer *w, const char *key, const struct ntk_histogram *histogram)
{
    if (histogram->count == 0) {
        return;
    }
    ntk_json_key_object_begin(&w->json, key);
    key_u64(w, "sum_ns", histogram->sum_ns);
    ntk_json_key_array_begin(&w->json, "buckets");
    for (size_t i = 0; i < histogram->entry_count; i++) {
        ntk_json_array_begin(&w->json);
        value_u64(w, histogram->entries[i].bucket);
        value_u64(w, histogram->entries[i].count);
        ntk_json_array_end(&w->json);
    }
    ntk_json_array_end(&w->json);
    ntk_json_object_end(&w->json);
}

static void ext_text(struct writer *w, const char *key, const char *text)
{
    if (text[0]) {
        key_text(w, key, text);
    }
}

static void ext_counts(struct writer *w, const char *key, const struct ntk_count *counts, int count)
{
    ntk_json_key_array_begin(&w->json, key);
    for (int i = 0; i < count; i++) {
        value_u64(w, counts[i].period);
    }
    ntk_json_array_end(&w->json);
}

static void ext_core(struct writer *w, const struct ntk_core_sample *core)
{
    key_number(w, core->core);
    ntk_json_object_begin(&w->json);
    ntk_json_key_double(&w->json, "utilization", core->utilization);
    key_u64(w, "in_flight", core->in_flight);
    if (core->has & NTK_CORE_HAS_BUSY) {
        key_u64(w, "busy_ns", core->busy_ns.period);
    }
    if (core->has & NTK_CORE_HAS_ENGINES) {
        ntk_json_key_object_begin(&w->json, "engines");
        for (int i = 0; i < NTK_ENGINE_COUNT; i++) {
            key_u64(w, ntk_engine_labels[i], core->engine_busy_ns[i].period);
        }
        ntk_json_object_end(&w->json);
    }
    if (core->has & NTK_CORE_HAS_FLOPS) {
        key_u64(w, "flops", core->flops.period);
    }
    if (core->has & NTK_CORE_HAS_EFFECTIVE_FLOPS) {
        key_u64(w, "effective_flops", core->effective_flops.period);
    }
    if (core->has & NTK_CORE_HAS_BYTES) {
        key_u64(w, "hbm_bytes_read", core->hbm_bytes_read.period);
        key_u64(w, "hbm_bytes_written", core->hbm_bytes_written.period);
        key_u64(w, "dma_bytes", core->dma_bytes.period);
    }
    if (core->has & NTK_CORE_HAS_EXECUTIONS) {
        ext_counts(w, "execution_summary", core->outcome, NTK_OUTCOME_COUNT);
        ext_counts(w, "error_summary", core->error_class, NTK_ERROR_CLASS_COUNT);
    }
    if (core->has & NTK_CORE_HAS_TRANSFERS) {
        key_u64(w, "host_to_device_bytes", core->host_to_device_bytes.period);
        key_u64(w, "device_to_host_bytes", core->device_to_host_bytes.period);
    }
    ntk_json_object_end(&w->json);
}

static void ext_memory(struct writer *w, const char *key, const struct ntk_memory_sample *rows,
                       size_t count)
{
    ntk_json_key_array_begin(&w->json, key);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].category >= NTK_MEMORY_CATEGORY_COUNT) {
            continue;
        }
        ntk_json_object_begin(&w->json);
        key_text(w, "category", ntk_memory_category_names[rows[i].category]);
        if (rows[i].core != NTK_NO_CORE) {
            key_u64(w, "core", rows[i].core);
        }
        if (rows[i].model_id) {
            key_u64(w, "model_id", rows[i].model_id);
        }
        key_u64(w, "bytes", rows[i].current_bytes);
        key_u64(w, "peak_bytes", rows[i].peak_bytes);
        ntk_json_object_end(&w->json);
    }
    ntk_json_array_end(&w->json);
}

static void ext_model(struct writer *w, const struct ntk_model_sample *model)
{
    ntk_json_object_begin(&w->json);
    key_u64(w, "model_id", model->id);
    key_text(w, "name", model->name);
    ext_text(w, "neff_path", model->neff_path);
    key_text(w, "uuid", model->uuid);
    ntk_json_key_bool(&w->json, "loaded", model->loaded);
    ntk_json_key_bool(&w->json, "is_running", model->is_running);
    if (model->estimated) {
        ntk_json_key_bool(&w->json, "estimated", true);
    }
    key_u64(w, "core", model->core);
    key_u64(w, "core_count", model->core_count);
    key_u64(w, "in_flight", model->in_flight);
    key_u64(w, "executions", model->executions.period);
    key_u64(w, "errors", model->errors.period);
    key_u64(w, "load_ns", model->load_ns);
    key_u64(w, "load_timestamp_ns", model->load_realtime_ns);
    ext_histogram(w, "total_latency", &model->total_latency);
    ext_histogram(w, "device_latency", &model->device_latency);
    ntk_json_object_end(&w->json);
}

static bool is_due(const struct ntk_runtime_sample *runtime, enum ntk_runtime_group group)
{
    return runtime->group_period_ns[group] != NTK_GROUP_ABSENT;
}

/* Each part goes with the vendor's group that it refines, so that a count is in one report only. */
static void write_runtime_ext(struct writer *w, const struct ntk_runtime_sample *runtime)
{
    ntk_json_key_object_begin(&w->json, "neuron_ext");
    key_u64(w, "header_pid", runtime->header_pid);
    key_u64(w, "start_time", runtime->start_time);
    key_u64(w, "uid", runtime->uid);
    ntk_json_key_bool(&w->json, "software", runtime->software);
    key_u64(w, "lnc", runtime->lnc);
    ext_text(w, "command", runtime->command);
    ext_text(w, "user", runtime->user);
    ext_text(w, "container_id", runtime->container);
    ext_text(w, "runtime_version", runtime->runtime_version);
    ext_text(w, "framework_version", runtime->framework_version);
    ext_text(w, "instance_type", runtime->instance_type);
    if (is_due(runtime, NTK_RUNTIME_GROUP_EXECUTIONS)) {
        key_u64(w, "in_flight", runtime->in_flight);
        ext_histogram(w, "total_latency", &runtime->total_latency);
        ext_histogram(w, "device_latency", &runtime->device_latency);
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_CORES) && runtime->has & NTK_RUNTIME_HAS_CORES) {
        ntk_json_key_object_begin(&w->json, "neuroncores");
        for (size_t i = 0; i < runtime->core_count; i++) {
            ext_core(w, &runtime->cores[i]);
        }
        ntk_json_object_end(&w->json);
    } else if (runtime->core_count > 0) {
        ntk_json_key_array_begin(&w->json, "owned_cores"); /* which, though not what they did */
        for (size_t i = 0; i < runtime->core_count; i++) {
            value_u64(w, runtime->cores[i].core);
        }
        ntk_json_array_end(&w->json);
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_MEMORY) && runtime->has & NTK_RUNTIME_HAS_MEMORY) {
        ext_memory(w, "memory", runtime->memory, runtime->memory_count);
        ext_memory(w, "memory_by_category", runtime->memory_by_category,
                   runtime->memory_by_category_count);
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_EXECUTIONS) && runtime->has & NTK_RUNTIME_HAS_MODELS) {
        ntk_json_key_array_begin(&w->json, "models");
        for (size_t i = 0; i < runtime->model_count; i++) {
            ext_model(w, &runtime->models[i]);
        }
        ntk_json_array_end(&w->json);
    }
    ntk_json_object_end(&w->json);
}

static void write_machine_ext(struct writer *w)
{
    const struct ntk_snapshot *snapshot = w->snapshot;
    const struct ntk_hardware *hardware = &snapshot->hardware;

    ntk_json_key_object_begin(&w->json, "neuron_ext");
    key_u64(w, "period_ns", snapshot->period_ns);
    ext_text(w, "host_name", snapshot->host_name);
    ext_text(w, "boot_id", snapshot->boot_id);
    key_u64(w, "events_read", snapshot->events_read.period);
    key_u64(w, "events_lost", snapshot->events_lost.period);
    key_u64(w, "collect_duration_ns", snapshot->collect_duration_ns);
    if (hardware->has & NTK_HARDWARE_HAS_DEVICES) {
        ntk_json_key_object_begin(&w->json, "hardware");
        ntk_json_key_bool(&w->json, "software", hardware->software);
        ext_text(w, "instance_type", hardware->instance_type);
        ext_text(w, "driver_version", hardware->driver_version);
        key_u64(w, "cores_per_device", hardware->cores_per_device);
        key_u64(w, "stack_count", hardware->stack_count);
        key_u64(w, "cores_per_stack", hardware->cores_per_stack);
        if (hardware->has & NTK_HARDWARE_HAS_PEAK) {
            ntk_json_key_double(&w->json, "tensor_peak_flops", hardware->tensor_peak_flops);
        }
        ntk_json_object_end(&w->json);
    }
    ntk_json_key_array_begin(&w->json, "devices");
    for (size_t i = 0; i < snapshot->device_count; i++) {
        const struct ntk_device_sample *device = &snapshot->devices[i];
        ntk_json_object_begin(&w->json);
        key_u64(w, "index", device->index);
        ext_text(w, "name", device->name);
        ext_text(w, "arch", device->arch);
        ext_text(w, "serial_number", device->serial);
        key_u64(w, "core_count", device->core_count);
        if (device->has & NTK_DEVICE_HAS_NEIGHBOURS) {
            ntk_json_key_array_begin(&w->json, "connected_devices");
            for (uint32_t k = 0; k < device->neighbour_count && k < NTK_SNAPSHOT_NEIGHBOURS_MAX;
                 k++) {
                value_u64(w, device->neighbours[k]);
            }
            ntk_json_array_end(&w->json);
        }
        uint32_t stacks = device->stack_count < NTK_SNAPSHOT_STACKS_MAX ? device->stack_count
                                                                        : NTK_SNAPSHOT_STACKS_MAX;
        if (device->has & NTK_DEVICE_HAS_MEMORY_CAPACITY) {
            ntk_json_key_array_begin(&w->json, "memory_capacity_bytes");
            for (uint32_t k = 0; k < stacks; k++) {
                value_u64(w, device->stack_capacity_bytes[k]);
            }
            ntk_json_array_end(&w->json);
        }
        if (device->has & NTK_DEVICE_HAS_MEMORY_USED) {
            ntk_json_key_array_begin(&w->json, "memory_used_bytes");
            for (uint32_t k = 0; k < stacks; k++) {
                value_u64(w, device->stack_used_bytes[k]);
            }
            ntk_json_array_end(&w->json);
        }
        ntk_json_object_end(&w->json);
    }
    ntk_json_array_end(&w->json);
    /* Software cores work for runtimes only, so the reader adds those up; a driver's tree also
     * knows of work that no hook sees. */
    if (!hardware->software && snapshot->core_count > 0) {
        ntk_json_key_object_begin(&w->json, "neuroncores");
        for (size_t i = 0; i < snapshot->core_count; i++) {
            ext_core(w, &snapshot->cores[i]);
        }
        ntk_json_object_end(&w->json);
    }
    ntk_json_object_end(&w->json);
}

/* -- the report --------------------------------------------------------------------------------- */

static void write_runtime(struct writer *w, const struct ntk_runtime_sample *runtime)
{
    ntk_json_object_begin(&w->json);
    key_u64(w, "pid", runtime->pid);
    key_text(w, "neuron_runtime_tag", runtime->tag);
    key_text(w, "error", runtime->error);
    ntk_json_key_object_begin(&w->json, "report");
    if (is_due(runtime, NTK_RUNTIME_GROUP_EXECUTIONS) &&
        runtime->has & NTK_RUNTIME_HAS_EXECUTIONS) {
        write_executions(w, runtime);
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_MEMORY) && runtime->has & NTK_RUNTIME_HAS_MEMORY) {
        write_memory(w, runtime);
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_CPU) &&
        (runtime->has & NTK_RUNTIME_HAS_CPU || runtime->cpu_error[0])) {
        write_cpu(w, runtime);
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_CORES) && runtime->has & NTK_RUNTIME_HAS_CORES) {
        write_cores(w, runtime);
    }
    if (w->extended) {
        write_runtime_ext(w, runtime);
    }
    ntk_json_object_end(&w->json);
    if (runtime->ended && !w->options->vendor_only) {
        ntk_json_key_bool(&w->json, "ended", true);
    }
    ntk_json_object_end(&w->json);
}

static void write_memory_info(struct writer *w)
{
    const struct ntk_system_sample *system = &w->snapshot->system;

    ntk_json_key_object_begin(&w->json, "memory_info");
    write_period(w, w->snapshot->group_period_ns[NTK_SYSTEM_GROUP_MEMORY]);
    key_u64(w, "memory_total_bytes", system->memory_total_bytes);
    key_u64(w, "memory_used_bytes", system->memory_used_bytes);
    key_u64(w, "swap_total_bytes", system->swap_total_bytes);
    key_u64(w, "swap_used_bytes", system->swap_used_bytes);
    key_text(w, "error", system->memory_error);
    ntk_json_object_end(&w->json);
}

static void write_hw_counters(struct writer *w)
{
    const struct ntk_snapshot *snapshot = w->snapshot;

    ntk_json_key_object_begin(&w->json, "neuron_hw_counters");
    write_period(w, snapshot->group_period_ns[NTK_SYSTEM_GROUP_ECC]);
    ntk_json_key(&w->json, "neuron_devices");
    if (snapshot->device_count == 0) {
        ntk_json_null(&w->json);
    } else {
        ntk_json_array_begin(&w->json);
        for (size_t i = 0; i < snapshot->device_count; i++) {
            ntk_json_object_begin(&w->json);
            key_u64(w, "neuron_device_index", snapshot->devices[i].index);
            for (int k = 0; k < NTK_ECC_COUNT; k++) {
                key_u64(w, ntk_ecc_names[k], snapshot->devices[i].ecc[k].period);
            }
            ntk_json_object_end(&w->json);
        }
        ntk_json_array_end(&w->json);
    }
    key_text(w, "error", "");
    ntk_json_object_end(&w->json);
}

static void write_cpu_fields(struct writer *w, const double share[NTK_CPU_FIELD_COUNT])
{
    ntk_json_object_begin(&w->json);
    for (int i = 0; i < NTK_CPU_FIELD_COUNT; i++) {
        ntk_json_key_double(&w->json, ntk_cpu_field_names[i], round_percent(share[i]));
    }
    ntk_json_object_end(&w->json);
}

static int compare_cpus_as_text(const void *a, const void *b)
{
    const struct ntk_cpu_sample *const *left = a;
    const struct ntk_cpu_sample *const *right = b;

    return compare_as_text(&(*left)->cpu, &(*right)->cpu);
}

static void write_vcpu_usage(struct writer *w)
{
    const struct ntk_system_sample *system = &w->snapshot->system;
    struct ntk_vec cpus = NTK_VEC_INIT(const struct ntk_cpu_sample *);

    ntk_json_key_object_begin(&w->json, "vcpu_usage");
    write_period(w, w->snapshot->group_period_ns[NTK_SYSTEM_GROUP_CPU]);
    ntk_json_key(&w->json, "average_usage");
    write_cpu_fields(w, system->average);
    ntk_json_key_object_begin(&w->json, "usage_data");
    for (size_t i = 0; i < system->cpu_count; i++) {
        const struct ntk_cpu_sample *cpu = &system->cpus[i];
        if (ntk_vec_push(&cpus, &cpu) < 0) {
            w->json.buf->failed = true;
        }
    }
    ntk_vec_sort(&cpus, compare_cpus_as_text);
    for (size_t i = 0; i < cpus.count; i++) {
        const struct ntk_cpu_sample *cpu = ((const struct ntk_cpu_sample **)cpus.items)[i];
        key_number(w, cpu->cpu);
        write_cpu_fields(w, cpu->share);
    }
    ntk_vec_fini(&cpus);
    ntk_json_object_end(&w->json);
    key_u64(w, "context_switch_count", system->context_switches);
    key_text(w, "error", system->cpu_error);
    ntk_json_object_end(&w->json);
}

static bool system_due(const struct writer *w, enum ntk_system_group group)
{
    return w->snapshot->group_period_ns[group] != NTK_GROUP_ABSENT;
}

static void write_system(struct writer *w)
{
    const struct ntk_system_sample *system = &w->snapshot->system;

    ntk_json_key_object_begin(&w->json, "system_data");
    if (system_due(w, NTK_SYSTEM_GROUP_MEMORY) &&
        (system->has & NTK_SYSTEM_HAS_MEMORY || system->memory_error[0])) {
        write_memory_info(w);
    }
    if (system_due(w, NTK_SYSTEM_GROUP_ECC)) {
        write_hw_counters(w);
    }
    if (system_due(w, NTK_SYSTEM_GROUP_CPU) &&
        (system->has & NTK_SYSTEM_HAS_CPU || system->cpu_error[0])) {
        write_vcpu_usage(w);
    }
    ntk_json_object_end(&w->json);
}

static void write_instance(struct writer *w)
{
    const struct ntk_instance *instance = &w->snapshot->instance;

    ntk_json_key_object_begin(&w->json, "instance_info");
    key_text(w, "instance_name", instance->name);
    key_text(w, "instance_id", instance->id);
    key_text(w, "instance_type",
             instance->type[0] ? instance->type : w->snapshot->hardware.instance_type);
    key_text(w, "instance_availability_zone", instance->zone);
    key_text(w, "instance_availability_zone_id", instance->zone_id);
    key_text(w, "instance_region", instance->region);
    key_text(w, "ami_id", instance->ami_id);
    key_text(w, "subnet_id", instance->subnet_id);
    if (instance->ultraserver_id[0]) {
        key_text(w, "ultraserver_id", instance->ultraserver_id);
    }
    key_text(w, "error", instance->error);
    ntk_json_object_end(&w->json);
}

static void write_hardware(struct writer *w)
{
    const struct ntk_hardware *hardware = &w->snapshot->hardware;
    uint32_t lnc = hardware->lnc ? hardware->lnc : 1;

    ntk_json_key_object_begin(&w->json, "neuron_hardware_info");
    key_text(w, "neuron_device_type", hardware->device_type);
    key_text(w, "neuron_device_version", hardware->device_version);
    key_text(w, "neuroncore_version", hardware->core_version);
    key_u64(w, "neuron_device_count", hardware->device_count);
    key_u64(w, "neuron_device_memory_size", hardware->device_memory_bytes);
    key_u64(w, "neuroncore_per_device_count", hardware->cores_per_device / lnc);
    key_u64(w, "logical_neuroncore_config", lnc);
    key_text(w, "error", hardware->error);
    ntk_json_object_end(&w->json);
}

static void write_report(struct writer *w, struct ntk_buf *out)
{
    ntk_json_init(&w->json, out, w->options->pretty);
    ntk_json_object_begin(&w->json);
    ntk_json_key_array_begin(&w->json, "neuron_runtime_data");
    for (size_t i = 0; i < w->snapshot->runtime_count; i++) {
        write_runtime(w, &w->snapshot->runtimes[i]);
    }
    ntk_json_array_end(&w->json);
    write_system(w);
    write_instance(w);
    write_hardware(w);
    if (w->extended) {
        write_machine_ext(w);
    }
    if (w->options->timestamps) {
        key_u64(w, "timestamp_ns", w->snapshot->realtime_ns);
        key_u64(w, "sequence", w->snapshot->sequence);
    }
    ntk_json_object_end(&w->json);
    ntk_buf_add_char(out, '\n');
}

int ntk_report_write(const struct ntk_snapshot *snapshot, const struct ntk_report_options *options,
                     struct ntk_buf *out, bool *out_cut)
{
    struct writer w = { .snapshot = snapshot,
                        .options = options,
                        .extended = !options->vendor_only };
    size_t before = out->bytes_count;
    bool cut = false;

    write_report(&w, out);
    if (w.extended && !options->pretty && options->line_bytes_max > 0 &&
        out->bytes_count - before > options->line_bytes_max) {
        out->bytes_count = before;
        w.extended = false;
        cut = true;
        write_report(&w, out);
    }
    if (!ntk_buf_ok(out)) {
        return -ENOMEM;
    }
    if (out_cut) {
        *out_cut = cut;
    }
    return 0;
}
