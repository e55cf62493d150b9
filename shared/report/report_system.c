/* SPDX-License-Identifier: MIT */
/* report_system - system_data: host memory, device ECC counts, host CPUs. */
#include <stdio.h>
#include <stdlib.h>

#include "shared/base/order.h"
#include "shared/report/report_part.h"

#define AT(member) .offset = offsetof(struct ntk_system_sample, member)
enum {
    GAUGES = 0
#define NTK_SYSTEM_GAUGE(...) +1
#include "shared/metrics/system.def"
};
const struct report_field report_fields_memory_info[] = {
#define NTK_SYSTEM_GAUGE(id, name, ...) [id] = REPORT_ROW(#name, REPORT_U64, AT(name)),
#include "shared/metrics/system.def"
    [GAUGES] = REPORT_ROW("error", REPORT_TEXT, AT(memory_error)),
    REPORT_END,
};
const struct report_field report_fields_cpu_average[] = {
    REPORT_ROW("average_usage", REPORT_PERCENT, AT(average), .count = NTK_CPU_FIELD_COUNT,
               .names = ntk_cpu_field_names),
    REPORT_END,
};
const struct report_field report_fields_self_vcpu[] = {
    REPORT_ROW("user", REPORT_PERCENT, AT(self_vcpu_user)),
    REPORT_ROW("system", REPORT_PERCENT, AT(self_vcpu_system)),
    REPORT_END,
};
const struct report_field report_fields_self_stats[] = {
    REPORT_ROW("memory_used_bytes", REPORT_U64, AT(self_memory_bytes)),
    REPORT_END,
};
/* The fields after those of the CPUs. */
const struct report_field report_fields_cpus[] = {
#define NTK_SYSTEM_COUNTER(id, name, group, key, ...) REPORT_ROW(key, REPORT_U64, AT(name)),
#include "shared/metrics/system.def"
    REPORT_ROW("error", REPORT_TEXT, AT(cpu_error)),
    REPORT_END,
};
#undef AT

#define AT(member) .offset = offsetof(struct ntk_device_sample, member)
const struct report_field report_fields_ecc_device[] = {
    REPORT_ROW("neuron_device_index", REPORT_U32, AT(index)),
    REPORT_END,
};
#undef AT

/* -- memory_info ------------------------------------------------------------------------------- */

static void write_memory(struct report_writer *w)
{
    ntk_json_key_object_begin(&w->json, ntk_system_group_names[NTK_SYSTEM_GROUP_MEMORY]);
    report_write_period(w, w->snapshot->group_period_ns[NTK_SYSTEM_GROUP_MEMORY]);
    report_write_fields(w, report_fields_memory_info, &w->snapshot->system);
    ntk_json_object_end(&w->json);
}

static void read_memory(struct ntk_snapshot *snapshot, const json_t *group)
{
    struct ntk_system_sample *system = &snapshot->system;

    if (!group) {
        return;
    }
    report_read_fields(snapshot, group, report_fields_memory_info, system);
    if (system->memory_error[0] == '\0') {
        system->has |= NTK_SYSTEM_HAS_MEMORY;
    }
}

/* -- neuron_hw_counters ------------------------------------------------------------------------ */

static void write_counters(struct report_writer *w)
{
    const struct ntk_snapshot *snapshot = w->snapshot;

    ntk_json_key_object_begin(&w->json, ntk_system_group_names[NTK_SYSTEM_GROUP_ECC]);
    report_write_period(w, snapshot->group_period_ns[NTK_SYSTEM_GROUP_ECC]);
    /* Writes an empty list without devices; the vendor's tool writes null, which its
     * exporter cannot handle. */
    ntk_json_key_array_begin(&w->json, "neuron_devices");
    for (size_t i = 0; i < snapshot->device_count; i++) {
        ntk_json_object_begin(&w->json);
        report_write_fields(w, report_fields_ecc_device, &snapshot->devices[i]);
        for (int k = 0; k < NTK_ECC_COUNT; k++) {
            report_key_u64(w, ntk_ecc_names[k], snapshot->devices[i].ecc[k].period);
        }
        ntk_json_object_end(&w->json);
    }
    ntk_json_array_end(&w->json);
    report_key_text(w, "error", snapshot->device_count ? "" : snapshot->hardware.error);
    ntk_json_object_end(&w->json);
}

static void read_counters(struct ntk_device_sample *device, const json_t *counter)
{
    device->has |= NTK_DEVICE_HAS_ECC;
    for (int k = 0; k < NTK_ECC_COUNT; k++) {
        device->ecc[k] = report_count_of(report_get_u64(counter, ntk_ecc_names[k]));
        device->ecc_has |= report_has(counter, ntk_ecc_names[k]) ? 1u << k : 0;
    }
}

/* Reads devices. Both tables list them in the same order; the index shows whether one is
 * missing. */
static void read_devices(struct ntk_snapshot *snapshot, const json_t *group, const json_t *ext)
{
    const json_t *counters = report_get_array(group, "neuron_devices");
    const json_t *ours = report_get_array(ext, "devices");
    size_t listed = json_array_size(ours) > json_array_size(counters) ? json_array_size(ours)
                                                                      : json_array_size(counters);
    struct ntk_device_sample *devices =
        ntk_snapshot_alloc_devices(snapshot, report_bounded(listed, NTK_SNAPSHOT_DEVICES_MAX));

    for (size_t i = 0; devices && i < snapshot->device_count; i++) {
        const json_t *more = json_array_get(ours, i);
        const json_t *counter = json_array_get(counters, i);
        devices[i].index =
            more ? report_get_u32(more, "index") : report_get_u32(counter, "neuron_device_index");
        if (counter && report_get_u32(counter, "neuron_device_index") == devices[i].index) {
            read_counters(&devices[i], counter);
        }
        if (more) {
            report_read_ext_device(snapshot, &devices[i], more);
        }
    }
}

/* -- self_stats: the monitor itself ------------------------------------------------------------ */

static void write_self(struct report_writer *w)
{
    const struct ntk_system_sample *system = &w->snapshot->system;

    ntk_json_key_object_begin(&w->json, ntk_system_group_names[NTK_SYSTEM_GROUP_SELF]);
    report_write_period(w, w->snapshot->group_period_ns[NTK_SYSTEM_GROUP_SELF]);
    report_write_fields(w, report_fields_self_stats, system);
    ntk_json_key_object_begin(&w->json, "vcpu_usage");
    report_write_fields(w, report_fields_self_vcpu, system);
    ntk_json_object_end(&w->json);
    report_key_text(w, "error", system->has & NTK_SYSTEM_HAS_SELF ? "" : "cannot read /proc/self");
    ntk_json_object_end(&w->json);
}

static void read_self(struct ntk_snapshot *snapshot, const json_t *group)
{
    struct ntk_system_sample *system = &snapshot->system;

    if (report_get_object(group, "vcpu_usage") &&
        report_get_text(snapshot, group, "error")[0] == '\0') {
        report_read_fields(snapshot, group, report_fields_self_stats, system);
        report_read_fields(snapshot, report_get_object(group, "vcpu_usage"),
                           report_fields_self_vcpu, system);
        system->has |= NTK_SYSTEM_HAS_SELF;
    }
}

/* -- vcpu_usage -------------------------------------------------------------------------------- */

/* Makes the table of one CPU, with its number as key. */
static void share_table(const char *number, struct report_field fields[2])
{
    fields[0] = (struct report_field)REPORT_ROW(
        number, REPORT_PERCENT, .offset = offsetof(struct ntk_cpu_sample, share),
        .count = NTK_CPU_FIELD_COUNT, .names = ntk_cpu_field_names);
    fields[1] = (struct report_field)REPORT_END;
}

static int compare_cpus_as_text(const void *a, const void *b)
{
    const struct ntk_cpu_sample *const *left = a;
    const struct ntk_cpu_sample *const *right = b;

    return report_compare_as_text(&(*left)->cpu, &(*right)->cpu);
}

static void write_usage_data(struct report_writer *w)
{
    const struct ntk_system_sample *system = &w->snapshot->system;
    struct ntk_vec cpus = NTK_VEC_INIT(const struct ntk_cpu_sample *);

    for (size_t i = 0; i < system->cpu_count; i++) {
        const struct ntk_cpu_sample *cpu = &system->cpus[i];
        if (ntk_vec_push(&cpus, &cpu) < 0) {
            w->json.buf->failed = true;
        }
    }
    ntk_vec_sort(&cpus, compare_cpus_as_text);
    ntk_json_key_object_begin(&w->json, "usage_data");
    for (size_t i = 0; i < cpus.count; i++) {
        const struct ntk_cpu_sample *cpu = ((const struct ntk_cpu_sample **)cpus.items)[i];
        struct report_field fields[2];
        char number[16];
        snprintf(number, sizeof number, "%u", cpu->cpu);
        share_table(number, fields);
        report_write_fields(w, fields, cpu);
    }
    ntk_json_object_end(&w->json);
    ntk_vec_fini(&cpus);
}

static void write_cpu(struct report_writer *w)
{
    const struct ntk_system_sample *system = &w->snapshot->system;

    ntk_json_key_object_begin(&w->json, ntk_system_group_names[NTK_SYSTEM_GROUP_CPU]);
    report_write_period(w, w->snapshot->group_period_ns[NTK_SYSTEM_GROUP_CPU]);
    report_write_fields(w, report_fields_cpu_average, system);
    if (!report_omits(w, NTK_REPORT_OMIT_USAGE_DATA)) {
        write_usage_data(w);
    }
    report_write_fields(w, report_fields_cpus, system);
    ntk_json_object_end(&w->json);
}

NTK_ORDER(compare_cpus, struct ntk_cpu_sample, NTK_UP(cpu));

static void read_cpu(struct ntk_snapshot *snapshot, const json_t *group)
{
    struct ntk_system_sample *system = &snapshot->system;
    const json_t *usage = report_get_object(group, "usage_data");
    size_t room = report_bounded(json_object_size(usage), REPORT_CPUS_MAX);
    const char *key;
    json_t *value;

    if (!group) {
        return;
    }
    report_read_fields(snapshot, group, report_fields_cpu_average, system);
    report_read_fields(snapshot, group, report_fields_cpus, system);
    if (system->cpu_error[0] == '\0') {
        system->has |= NTK_SYSTEM_HAS_CPU;
    }
    if (report_has(group, "context_switch_count")) {
        system->has |= NTK_SYSTEM_HAS_CONTEXT_SWITCHES;
    }
    system->cpus = ntk_snapshot_alloc(snapshot, room, sizeof *system->cpus);
    if (!system->cpus) {
        return;
    }
    report_each_key(usage, key, value)
    {
        struct report_field fields[2];
        uint32_t number;
        (void)value;
        if (system->cpu_count < room && report_key_index(key, REPORT_CPUS_MAX, &number)) {
            struct ntk_cpu_sample *cpu = &system->cpus[system->cpu_count++];
            cpu->cpu = number;
            share_table(key, fields);
            report_read_fields(snapshot, usage, fields, cpu);
        }
    }
    qsort(system->cpus, system->cpu_count, sizeof *system->cpus, compare_cpus);
}

/* -- system_data ------------------------------------------------------------------------------- */

static bool is_due(const struct report_writer *w, enum ntk_system_group group)
{
    return w->snapshot->group_period_ns[group] != NTK_GROUP_ABSENT;
}

void report_write_system(struct report_writer *w)
{
    const struct ntk_system_sample *system = &w->snapshot->system;

    ntk_json_key_object_begin(&w->json, "system_data");
    if (is_due(w, NTK_SYSTEM_GROUP_MEMORY) &&
        (system->has & NTK_SYSTEM_HAS_MEMORY || system->memory_error[0])) {
        write_memory(w);
    }
    if (is_due(w, NTK_SYSTEM_GROUP_ECC)) {
        write_counters(w);
    }
    if (is_due(w, NTK_SYSTEM_GROUP_SELF)) {
        write_self(w);
    }
    if (is_due(w, NTK_SYSTEM_GROUP_CPU) &&
        (system->has & NTK_SYSTEM_HAS_CPU || system->cpu_error[0])) {
        write_cpu(w);
    }
    ntk_json_object_end(&w->json);
}

void report_read_system(struct ntk_snapshot *snapshot, const json_t *data, const json_t *ext)
{
    const json_t *group[NTK_SYSTEM_GROUP_COUNT];

    for (int i = 0; i < NTK_SYSTEM_GROUP_COUNT; i++) {
        group[i] = report_get_object(data, ntk_system_group_names[i]);
        snapshot->group_period_ns[i] = report_get_period_ns(group[i]);
    }
    read_memory(snapshot, group[NTK_SYSTEM_GROUP_MEMORY]);
    read_devices(snapshot, group[NTK_SYSTEM_GROUP_ECC], ext);
    read_self(snapshot, group[NTK_SYSTEM_GROUP_SELF]);
    read_cpu(snapshot, group[NTK_SYSTEM_GROUP_CPU]);
}
