/* SPDX-License-Identifier: MIT */
/* report_runtime - one application: executions, CPU time, and identity; see report_part.h. */
#include <math.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/metrics/percentile.h"
#include "shared/report/report_part.h"

static const char *const exit_keys[] = {
    [NTK_EXIT_CODE] = "exit_code", [NTK_EXIT_SIGNAL] = "exit_signal"
};

#define AT(member) .offset = offsetof(struct ntk_runtime_sample, member)
const struct report_field report_fields_runtime[] = {
    REPORT_ROW("neuron_runtime_tag", REPORT_TEXT, AT(tag)),
    REPORT_ROW("error", REPORT_TEXT, AT(error)),
    REPORT_END,
};
const struct report_field report_fields_executions[] = {
    REPORT_ROW("error_summary", REPORT_COUNT, AT(error_class), .count = NTK_ERROR_CLASS_COUNT,
               .names = ntk_error_class_names),
    REPORT_ROW("execution_summary", REPORT_COUNT, AT(outcome), .count = NTK_OUTCOME_COUNT,
               .names = ntk_outcome_names),
    REPORT_END,
};
const struct report_field report_fields_runtime_cpu[] = {
#define NTK_PROCESS_SHARE(name, key) REPORT_ROW(key, REPORT_PERCENT, AT(name)),
#include "shared/metrics/process.def"
    REPORT_END,
};
const struct report_field report_fields_runtime_ext[] = {
    REPORT_ROW("header_pid", REPORT_U32, AT(header_pid)),
    REPORT_ROW("start_time", REPORT_U64, AT(start_time)),
    REPORT_ROW("uid", REPORT_U32, AT(uid)),
    REPORT_ROW("software", REPORT_BOOL, AT(software)),
    REPORT_ROW("cores_guessed", REPORT_BOOL, AT(cores_guessed), .sparse = true),
    REPORT_ROW("executions_counted", REPORT_WORD, AT(executions_counted), .sparse = true,
               .names = ntk_executions_counted_names, .count = NTK_EXECUTIONS_COUNTED_COUNT),
    REPORT_ROW("lnc", REPORT_U32, AT(lnc)),
#define NTK_PROCESS_TEXT(name) REPORT_ROW(#name, REPORT_TEXT, AT(name), .sparse = true),
#define NTK_PROCESS_POD(name, key) REPORT_ROW(key, REPORT_TEXT, AT(pod.name), .sparse = true),
#include "shared/metrics/process.def"
    REPORT_ROW("hooks", REPORT_WORD, AT(hooks), .sparse = true, .names = ntk_hooks_kind_names,
               .count = NTK_HOOKS_KIND_COUNT),
    REPORT_END,
};
/* The fields that belong to execution_stats. */
const struct report_field report_fields_executions_ext[] = {
    REPORT_ROW("in_flight", REPORT_U64, AT(in_flight), .has = NTK_RUNTIME_HAS_IN_FLIGHT),
    REPORT_ROW("total_latency", REPORT_HISTOGRAM, AT(total_latency)),
    REPORT_ROW("device_latency", REPORT_HISTOGRAM, AT(device_latency)),
    REPORT_END,
};
#undef AT

/* The order of percentile keys as texts: p0 p1 p100 p25 p50 p75 p99. */
static const int percentile_order[NTK_PERCENTILE_COUNT] = { 0, 1, 6, 2, 3, 4, 5 };

static bool is_due(const struct ntk_runtime_sample *runtime, enum ntk_runtime_group group)
{
    return runtime->group_period_ns[group] != NTK_GROUP_ABSENT;
}

uint32_t report_lnc_of(const struct ntk_snapshot *snapshot,
                       const struct ntk_runtime_sample *runtime)
{
    uint32_t lnc = runtime->lnc ? runtime->lnc : snapshot->hardware.lnc;

    return lnc ? lnc : 1;
}

/* -- execution_stats --------------------------------------------------------------------------- */

/* Writes percentiles, or null if nothing was executed. */
static void write_percentiles(struct report_writer *w, const char *key,
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

static bool read_percentiles(const json_t *stats, const char *key, double *out_ns)
{
    const json_t *object = report_get_object(stats, key);

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

static void write_executions(struct report_writer *w, const struct ntk_runtime_sample *runtime)
{
    bool known = runtime->has & NTK_RUNTIME_HAS_PERCENTILES;
    bool device_known = runtime->has & NTK_RUNTIME_HAS_DEVICE_PERCENTILES;

    ntk_json_key_object_begin(&w->json, ntk_runtime_group_names[NTK_RUNTIME_GROUP_EXECUTIONS]);
    report_write_period(w, runtime->group_period_ns[NTK_RUNTIME_GROUP_EXECUTIONS]);
    report_write_fields(w, report_fields_executions, runtime);
    ntk_json_key_object_begin(&w->json, "latency_stats");
    write_percentiles(w, "total_latency", &runtime->total_latency,
                      known ? runtime->total_percentile_ns : NULL);
    write_percentiles(w, "device_latency", &runtime->device_latency,
                      device_known ? runtime->device_percentile_ns : NULL);
    ntk_json_object_end(&w->json);
    report_key_text(w, "error", "");
    ntk_json_object_end(&w->json);
}

static void read_executions(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                            const json_t *group)
{
    const json_t *stats = report_get_object(group, "latency_stats");

    if (!group) {
        return;
    }
    runtime->has |= NTK_RUNTIME_HAS_EXECUTIONS;
    report_read_fields(snapshot, group, report_fields_executions, runtime);
    if (read_percentiles(stats, "total_latency", runtime->total_percentile_ns)) {
        runtime->has |= NTK_RUNTIME_HAS_PERCENTILES;
    }
    if (read_percentiles(stats, "device_latency", runtime->device_percentile_ns)) {
        runtime->has |= NTK_RUNTIME_HAS_DEVICE_PERCENTILES;
        runtime->has_device_latency = true;
    }
}

/* -- neuron_runtime_vcpu_usage ----------------------------------------------------------------- */

static void write_cpu(struct report_writer *w, const struct ntk_runtime_sample *runtime)
{
    ntk_json_key_object_begin(&w->json, ntk_runtime_group_names[NTK_RUNTIME_GROUP_CPU]);
    report_write_period(w, runtime->group_period_ns[NTK_RUNTIME_GROUP_CPU]);
    ntk_json_key_object_begin(&w->json, "vcpu_usage");
    report_write_fields(w, report_fields_runtime_cpu, runtime);
    ntk_json_object_end(&w->json);
    report_key_text(w, "error", runtime->cpu_error);
    ntk_json_object_end(&w->json);
}

static void read_cpu(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                     const json_t *group)
{
    if (!group) {
        return;
    }
    runtime->cpu_error = report_get_text(snapshot, group, "error");
    if (runtime->cpu_error[0] == '\0') {
        runtime->has |= NTK_RUNTIME_HAS_CPU;
    }
    report_read_fields(snapshot, report_get_object(group, "vcpu_usage"), report_fields_runtime_cpu,
                       runtime);
}

/* -- the application --------------------------------------------------------------------------- */

/* Writes our part of the application. Each item is due together with the vendor's group that it
 * refines, so that a count is in only one report. */
static void write_ext(struct report_writer *w, const struct ntk_runtime_sample *runtime)
{
    ntk_json_key_object_begin(&w->json, "neuron_ext");
    report_write_fields(w, report_fields_runtime_ext, runtime);
    if (runtime->by_address) {
        report_key_u64(w, "pid", runtime->pid);
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_EXECUTIONS)) {
        report_write_fields(w, report_fields_executions_ext, runtime);
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_CORES) && runtime->has & NTK_RUNTIME_HAS_CORES) {
        report_write_ext_cores(w, runtime->cores, runtime->core_count);
    } else if (runtime->core_count > 0) {
        report_write_owned_cores(w, runtime);
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_MEMORY) && runtime->has & NTK_RUNTIME_HAS_MEMORY) {
        report_write_ext_memory(w, runtime);
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_EXECUTIONS) && runtime->has & NTK_RUNTIME_HAS_MODELS) {
        report_write_ext_models(w, runtime);
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_EXECUTIONS) && runtime->rank_count > 0) {
        report_write_ranks(w, runtime);
    }
    ntk_json_object_end(&w->json);
}

void report_write_runtime(struct report_writer *w, const struct ntk_runtime_sample *runtime)
{
    ntk_json_object_begin(&w->json);
    report_key_u64(w, "pid", runtime->by_address ? 0 : runtime->pid);
    report_write_fields(w, report_fields_runtime, runtime);
    if (runtime->by_address) {
        report_key_text(w, "address", runtime->tag);
    }
    ntk_json_key_object_begin(&w->json, "report");
    if (is_due(runtime, NTK_RUNTIME_GROUP_EXECUTIONS) &&
        runtime->has & NTK_RUNTIME_HAS_EXECUTIONS) {
        write_executions(w, runtime);
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_MEMORY) && runtime->has & NTK_RUNTIME_HAS_MEMORY) {
        report_write_memory(w, runtime);
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_CPU) &&
        (runtime->has & NTK_RUNTIME_HAS_CPU || runtime->cpu_error[0])) {
        write_cpu(w, runtime);
    }
    if (is_due(runtime, NTK_RUNTIME_GROUP_CORES) && runtime->has & NTK_RUNTIME_HAS_CORES) {
        report_write_cores(w, runtime);
    }
    if (w->extended) {
        write_ext(w, runtime);
    }
    ntk_json_object_end(&w->json);
    if (runtime->ended && !w->options->vendor_only) {
        ntk_json_key_bool(&w->json, "ended", true);
        if (runtime->killed) {
            ntk_json_key_bool(&w->json, "killed", true);
        }
        if (runtime->exit.kind != NTK_EXIT_UNKNOWN) {
            ntk_json_key_u64(&w->json, exit_keys[runtime->exit.kind], runtime->exit.value);
        }
        if (runtime->first) {
            ntk_json_key_bool(&w->json, "first", true);
        }
    }
    ntk_json_object_end(&w->json);
}

static void read_ext(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                     const json_t *ext)
{
    runtime->lnc = 0;
    report_read_fields(snapshot, ext, report_fields_runtime_ext, runtime);
    report_read_fields(snapshot, ext, report_fields_executions_ext, runtime);
    if (runtime->device_latency.count > 0) {
        runtime->has_device_latency = true;
    }
    if (runtime->lnc != 1 && runtime->lnc != 2) {
        runtime->lnc = snapshot->hardware.lnc;
    }
}

/* The group, or NULL if it has an error message, because its numbers are invalid then. */
static const json_t *sound(const json_t *group)
{
    const char *error = json_string_value(json_object_get(group, "error"));

    return !error || error[0] == '\0' ? group : NULL;
}

void report_read_runtime(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                         const json_t *object)
{
    const json_t *report = report_get_object(object, "report");
    const json_t *ext = report_get_object(report, "neuron_ext");
    const json_t *group[NTK_RUNTIME_GROUP_COUNT];

    report_read_fields(snapshot, object, report_fields_runtime, runtime);
    runtime->by_address = json_string_length(json_object_get(object, "address")) > 0;
    runtime->pid =
        report_get_u32(runtime->by_address && report_has(ext, "pid") ? ext : object, "pid");
    runtime->header_pid = runtime->pid;
    runtime->ended = report_get_bool(object, "ended");
    runtime->killed = runtime->ended && report_get_bool(object, "killed");
    for (int kind = NTK_EXIT_CODE; runtime->ended && kind <= NTK_EXIT_SIGNAL; kind++) {
        if (report_has(object, exit_keys[kind])) {
            runtime->exit = (struct ntk_exit){ (enum ntk_exit_kind)kind,
                                               report_get_u32(object, exit_keys[kind]) };
        }
    }
    runtime->first = report_get_bool(object, "first");
    for (int i = 0; i < NTK_RUNTIME_GROUP_COUNT; i++) {
        group[i] = report_get_object(report, ntk_runtime_group_names[i]);
        runtime->group_period_ns[i] = report_get_period_ns(group[i]);
    }
    read_ext(snapshot, runtime, ext);
    if (runtime->executions_counted != NTK_EXECUTIONS_ALL && report_get_array(ext, "models")) {
        /* The group is due, although no source counts executions. */
        runtime->group_period_ns[NTK_RUNTIME_GROUP_EXECUTIONS] = 0;
    }
    read_executions(snapshot, runtime, sound(group[NTK_RUNTIME_GROUP_EXECUTIONS]));
    report_read_cores(snapshot, runtime, sound(group[NTK_RUNTIME_GROUP_CORES]), ext);
    report_read_memory(snapshot, runtime, sound(group[NTK_RUNTIME_GROUP_MEMORY]), ext);
    read_cpu(snapshot, runtime, group[NTK_RUNTIME_GROUP_CPU]);
    report_read_models(snapshot, runtime, group[NTK_RUNTIME_GROUP_MEMORY], ext);
    report_read_ranks(snapshot, runtime, ext);
}
