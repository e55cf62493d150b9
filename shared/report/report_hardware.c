/* SPDX-License-Identifier: MIT */
/* report_hardware - instance_info, neuron_hardware_info, and our part of the line about the
 * machine. */
#include "shared/report/report_part.h"

#include "shared/base/word.h"

#define AT(member) .offset = offsetof(struct ntk_instance, member)
const struct report_field report_fields_instance[] = {
#define ALWAYS false
#define WHERE_ANY true
#define NTK_INSTANCE_TEXT(name, reported, key, ...) \
    REPORT_ROW(key, REPORT_TEXT, AT(name), .sparse = reported),
#include "shared/metrics/machine.def"
#undef ALWAYS
#undef WHERE_ANY
    REPORT_ROW("error", REPORT_TEXT, AT(error)),
    REPORT_END,
};
#undef AT

#define AT(member) .offset = offsetof(struct ntk_hardware, member)
/* In the line, neuroncore_per_device_count is a number of logical cores; see below. */
const struct report_field report_fields_hardware[] = {
#define TEXT_OURS(key, member)
#define TEXT_VENDOR(key, member) REPORT_ROW(key, REPORT_TEXT, AT(member)),
#define NTK_HARDWARE_TEXT(name, part, key, ...) TEXT_##part(key, name)
#include "shared/metrics/machine.def"
#undef TEXT_OURS
#undef TEXT_VENDOR
    REPORT_ROW("neuron_device_count", REPORT_U32, AT(device_count)),
    REPORT_ROW("neuron_device_memory_size", REPORT_U64, AT(device_memory_bytes)),
    REPORT_ROW("neuroncore_per_device_count", REPORT_U32, AT(cores_per_device)),
    REPORT_ROW("logical_neuroncore_config", REPORT_U32, AT(lnc)),
    REPORT_ROW("error", REPORT_TEXT, AT(error)),
    REPORT_END,
};
const struct report_field report_fields_hardware_ext[] = {
    REPORT_ROW("software", REPORT_BOOL, AT(software)),
#define TEXT_OURS(key, member) REPORT_ROW(key, REPORT_TEXT, AT(member), .sparse = true),
#define TEXT_VENDOR(key, member)
#define NTK_HARDWARE_TEXT(name, part, key, ...) TEXT_##part(key, name)
#include "shared/metrics/machine.def"
#undef TEXT_OURS
#undef TEXT_VENDOR
    REPORT_ROW("cores_per_device", REPORT_U32, AT(cores_per_device)),
    REPORT_ROW("stack_count", REPORT_U32, AT(stack_count)),
    REPORT_ROW("cores_per_stack", REPORT_U32, AT(cores_per_stack)),
    REPORT_ROW("tensor_peak_flops", REPORT_DOUBLE, AT(tensor_peak_flops),
               .has = NTK_HARDWARE_HAS_PEAK),
    REPORT_END,
};
#undef AT

#define AT(member) .offset = offsetof(struct ntk_device_sample, member)
const struct report_field report_fields_device_ext[] = {
    REPORT_ROW("index", REPORT_U32, AT(index)),
    REPORT_ROW("name", REPORT_TEXT, AT(name), .sparse = true),
    REPORT_ROW("arch", REPORT_TEXT, AT(arch), .sparse = true),
    REPORT_ROW("serial_number", REPORT_TEXT, AT(serial_number), .sparse = true),
    REPORT_ROW("core_count", REPORT_U32, AT(core_count)),
    REPORT_ROW("power_timestamp_seconds", REPORT_U64, AT(power_timestamp_seconds),
               .has = NTK_DEVICE_HAS_POWER),
#define NTK_DEVICE_RATIO(name, metric, group, statistic) \
    REPORT_ROW(#name, REPORT_RATIO, AT(name), .has = NTK_DEVICE_HAS_##group),
#include "shared/metrics/device.def"
    REPORT_END,
};
const struct report_field report_fields_device_lists[] = {
    REPORT_ROW("connected_devices", REPORT_DEVICE, AT(connected_devices),
               .has = NTK_DEVICE_HAS_CONNECTED_DEVICES, .count = NTK_SNAPSHOT_CONNECTED_DEVICES_MAX,
               .length = offsetof(struct ntk_device_sample, connected_device_count)),
#define NTK_DEVICE_BYTES(name, metric, group)                              \
    REPORT_ROW(#name, REPORT_U64, AT(name), .has = NTK_DEVICE_HAS_##group, \
               .count = NTK_SNAPSHOT_STACKS_MAX,                           \
               .length = offsetof(struct ntk_device_sample, stack_count)),
#include "shared/metrics/device.def"
    REPORT_END,
};
#undef AT

#define AT(member) .offset = offsetof(struct ntk_health_sample, member)
const struct report_field report_fields_health_reason[] = {
    REPORT_ROW("since_ns", REPORT_U64, AT(since_ns)),
    REPORT_ROW("last_ns", REPORT_U64, AT(last_ns)),
    REPORT_ROW("count", REPORT_U64, AT(count), .sparse = true),
    REPORT_ROW("nrt_status", REPORT_U32, AT(status), .sparse = true),
    REPORT_ROW("detail", REPORT_TEXT, AT(detail), .sparse = true),
    REPORT_END,
};
#undef AT

#define AT(member) .offset = offsetof(struct ntk_snapshot, member)
const struct report_field report_fields_machine_ext[] = {
    REPORT_ROW("time_ns", REPORT_U64, AT(realtime_ns), .sparse = true),
    REPORT_ROW("period_ns", REPORT_U64, AT(period_ns)),
    REPORT_ROW("every_ns", REPORT_U64, AT(every_ns), .sparse = true),
    REPORT_ROW("host_name", REPORT_TEXT, AT(host_name), .sparse = true),
    REPORT_ROW("boot_id", REPORT_TEXT, AT(boot_id), .sparse = true),
    REPORT_ROW("events_read", REPORT_COUNT, AT(events_read)),
    REPORT_ROW("events_lost", REPORT_COUNT, AT(events_lost)),
    REPORT_ROW("events_without_ring", REPORT_COUNT, AT(events_unwritten[NTK_UNWRITTEN_NO_RING]),
               .sparse = true),
    REPORT_ROW("events_in_signals", REPORT_COUNT, AT(events_unwritten[NTK_UNWRITTEN_SIGNAL]),
               .sparse = true),
    REPORT_ROW("collect_duration_ns", REPORT_U64, AT(collect_duration_ns)),
    REPORT_END,
};
#undef AT

/* -- instance_info ----------------------------------------------------------------------------- */

void report_write_instance(struct report_writer *w)
{
    struct ntk_instance instance = w->snapshot->instance;

    if (instance.type[0] == '\0') {
        instance.type = w->snapshot->hardware.instance_type;
    }
    ntk_json_key_object_begin(&w->json, "instance_info");
    report_write_fields(w, report_fields_instance, &instance);
    ntk_json_object_end(&w->json);
}

void report_read_instance(struct ntk_snapshot *snapshot, const json_t *object)
{
    report_read_fields(snapshot, object, report_fields_instance, &snapshot->instance);
}

/* -- neuron_hardware_info ---------------------------------------------------------------------- */

void report_write_hardware(struct report_writer *w)
{
    struct ntk_hardware hardware = w->snapshot->hardware;

    hardware.lnc = hardware.lnc ? hardware.lnc : 1;
    hardware.cores_per_device /= hardware.lnc;
    ntk_json_key_object_begin(&w->json, "neuron_hardware_info");
    report_write_fields(w, report_fields_hardware, &hardware);
    ntk_json_object_end(&w->json);
}

static void read_ext_hardware(struct ntk_snapshot *snapshot, const json_t *object)
{
    struct ntk_hardware *hardware = &snapshot->hardware;
    uint32_t cores_per_device = hardware->cores_per_device;

    report_read_fields(snapshot, object, report_fields_hardware_ext, hardware);
    /* Computed from the vendor's key and the LNC, within limits. */
    hardware->cores_per_device = cores_per_device;
    if (hardware->stack_count > NTK_SNAPSHOT_STACKS_MAX) {
        hardware->stack_count = 0;
    }
}

void report_read_hardware(struct ntk_snapshot *snapshot, const json_t *object, const json_t *ext)
{
    struct ntk_hardware *hardware = &snapshot->hardware;

    report_read_fields(snapshot, object, report_fields_hardware, hardware);
    if (hardware->lnc != 2) {
        hardware->lnc = 1;
    }
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
    read_ext_hardware(snapshot, report_get_object(ext, "hardware"));
}

/* -- our part: devices ------------------------------------------------------------------------- */

/* Writes the counts since the driver was loaded, for the kinds of ECC events that it counts. */
static void write_ecc_totals(struct report_writer *w, const struct ntk_device_sample *device)
{
    ntk_json_key_object_begin(&w->json, "ecc_total");
    for (int i = 0; i < NTK_ECC_COUNT; i++) {
        if (device->ecc_has & 1u << i) {
            report_key_u64(w, ntk_ecc_names[i], device->ecc[i].total);
        }
    }
    ntk_json_object_end(&w->json);
}

/* Writes the cores of a reason by their numbers on the machine. */
static void write_reason_cores(struct report_writer *w, const struct ntk_device_sample *device,
                               uint32_t cores)
{
    if (!cores) {
        return;
    }
    ntk_json_key_array_begin(&w->json, "cores");
    for (uint32_t i = 0; i < NTK_HEALTH_CORES_MAX; i++) {
        if (cores & 1u << i) {
            report_value_u64(w, ntk_health_core_number(device, i));
        }
    }
    ntk_json_array_end(&w->json);
}

static void write_health(struct report_writer *w, const struct ntk_device_sample *device)
{
    enum ntk_health_action action = ntk_health_action_of(device);

    ntk_json_key_object_begin(&w->json, "health");
    report_key_text(w, "verdict", ntk_health_verdict_names[device->verdict]);
    report_key_u64(w, "since_ns", device->verdict_since_ns);
    report_key_text(w, "action", ntk_health_actions[action].name);
    ntk_json_key_array_begin(&w->json, "evidence");
    for (int i = 0; i < NTK_HEALTH_EVIDENCE_COUNT; i++) {
        if (device->health_evidence & 1u << i) {
            report_value_text(w, ntk_health_evidence_names[i]);
        }
    }
    ntk_json_array_end(&w->json);
    ntk_json_key_array_begin(&w->json, "reasons");
    for (size_t i = 0; i < device->health_count; i++) {
        const struct ntk_health_sample *health = &device->health[i];
        const struct ntk_health_reason_row *row = &ntk_health_reasons[health->reason];

        ntk_json_object_begin(&w->json);
        report_key_text(w, "reason", row->name);
        report_key_text(w, "verdict", ntk_health_verdict_names[row->verdict]);
        report_key_text(w, "message", row->sentence);
        report_key_text(w, "action", ntk_health_actions[row->action].name);
        report_write_fields(w, report_fields_health_reason, health);
        if (health->core != NTK_NO_CORE) {
            report_key_u64(w, "core", health->core);
        }
        write_reason_cores(w, device, health->cores);
        ntk_json_object_end(&w->json);
    }
    ntk_json_array_end(&w->json);
    ntk_json_object_end(&w->json);
}

static void write_device(struct report_writer *w, const struct ntk_device_sample *device)
{
    ntk_json_object_begin(&w->json);
    report_write_fields(w, report_fields_device_ext, device);
    report_write_fields(w, report_fields_device_lists, device);
    if (device->has & NTK_DEVICE_HAS_ECC) {
        write_ecc_totals(w, device);
    }
    if (device->has & NTK_DEVICE_HAS_HEALTH) {
        write_health(w, device);
    }
    ntk_json_object_end(&w->json);
}

/* Reads the totals, after the vendor's counts, which have a key for each kind whether it is counted
 * or not. */
static void read_ecc_totals(struct ntk_device_sample *device, const json_t *totals)
{
    device->has &= ~(uint32_t)NTK_DEVICE_HAS_ECC;
    device->ecc_has = 0;
    for (int i = 0; i < NTK_ECC_COUNT; i++) {
        if (report_has(totals, ntk_ecc_names[i])) {
            device->has |= NTK_DEVICE_HAS_ECC | NTK_DEVICE_HAS_ECC_TOTAL;
            device->ecc_has |= 1u << i;
            device->ecc[i].total = report_get_u64(totals, ntk_ecc_names[i]);
        }
    }
}

static uint32_t read_reason_cores(const struct ntk_device_sample *device, const json_t *cores)
{
    uint32_t bits = 0;

    for (size_t i = 0; i < json_array_size(cores) && i < NTK_HEALTH_CORES_MAX; i++) {
        bits |= ntk_health_core_bit(device, report_item_u64(cores, i));
    }
    return bits;
}

/* Reads the health. Unknown reasons are omitted; the verdict is kept. */
static void read_health(struct ntk_snapshot *snapshot, struct ntk_device_sample *device,
                        const json_t *health)
{
    const json_t *evidence = report_get_array(health, "evidence");
    const json_t *reasons = report_get_array(health, "reasons");
    size_t listed = report_bounded(json_array_size(reasons), NTK_HEALTH_REASON_COUNT);
    size_t verdict =
        report_find_word(health, "verdict", ntk_health_verdict_names, NTK_HEALTH_VERDICT_COUNT);

    if (verdict == NTK_HEALTH_VERDICT_COUNT) {
        return;
    }
    device->has |= NTK_DEVICE_HAS_HEALTH;
    device->verdict = (uint32_t)verdict;
    device->verdict_since_ns = report_get_u64(health, "since_ns");
    for (size_t i = 0; i < json_array_size(evidence) && i < NTK_HEALTH_EVIDENCE_COUNT; i++) {
        size_t k = ntk_word_find(json_string_value(json_array_get(evidence, i)),
                                 ntk_health_evidence_names, NTK_HEALTH_EVIDENCE_COUNT);

        device->health_evidence |= k < NTK_HEALTH_EVIDENCE_COUNT ? 1u << k : 0;
    }
    device->health = ntk_snapshot_alloc(snapshot, listed, sizeof *device->health);
    for (size_t i = 0; device->health && i < listed; i++) {
        const json_t *object = json_array_get(reasons, i);
        struct ntk_health_sample *sample = &device->health[device->health_count];
        int reason = ntk_health_reason_of(report_get_text(snapshot, object, "reason"));

        if (reason < 0) {
            continue;
        }
        *sample = (struct ntk_health_sample){ .reason = (uint16_t)reason,
                                              .core = NTK_NO_CORE,
                                              .detail = "" };
        report_read_fields(snapshot, object, report_fields_health_reason, sample);
        if (report_has(object, "core") && report_get_u32(object, "core") < REPORT_CORES_MAX) {
            sample->core = (uint16_t)report_get_u32(object, "core");
        }
        sample->cores = read_reason_cores(device, report_get_array(object, "cores"));
        device->health_count++;
    }
}

void report_read_ext_device(struct ntk_snapshot *snapshot, struct ntk_device_sample *device,
                            const json_t *object)
{
    const json_t *totals = report_get_object(object, "ecc_total");

    report_read_fields(snapshot, object, report_fields_device_ext, device);
    report_read_fields(snapshot, object, report_fields_device_lists, device);
    read_ecc_totals(device, totals);
    read_health(snapshot, device, report_get_object(object, "health"));
}

/* -- our part: the machine --------------------------------------------------------------------- */

void report_write_machine_ext(struct report_writer *w)
{
    const struct ntk_snapshot *snapshot = w->snapshot;

    ntk_json_key_object_begin(&w->json, "neuron_ext");
    report_write_fields(w, report_fields_machine_ext, snapshot);
    if (snapshot->hardware.has & NTK_HARDWARE_HAS_DEVICES) {
        ntk_json_key_object_begin(&w->json, "hardware");
        report_write_fields(w, report_fields_hardware_ext, &snapshot->hardware);
        ntk_json_key_text(&w->json, "memory_type", ntk_machine_memory_type(&snapshot->hardware));
        ntk_json_object_end(&w->json);
    }
    ntk_json_key_array_begin(&w->json, "devices");
    for (size_t i = 0; i < snapshot->device_count; i++) {
        write_device(w, &snapshot->devices[i]);
    }
    ntk_json_array_end(&w->json);
    /* Software cores work only for runtimes, so the reader can add up the runtimes; a driver's tree
     * also includes work that no hook sees. */
    if (!snapshot->hardware.software && snapshot->core_count > 0) {
        report_write_ext_cores(w, snapshot->cores, snapshot->core_count);
    }
    report_write_adapters(w);
    report_write_lost_ranks(w);
    report_write_troubles(w);
    report_write_jobs(w);
    report_write_events(w);
    ntk_json_object_end(&w->json);
}

void report_read_machine_ext(struct ntk_snapshot *snapshot, const json_t *ext)
{
    report_read_fields(snapshot, ext, report_fields_machine_ext, snapshot);
    report_read_adapters(snapshot, ext);
    report_read_lost_ranks(snapshot, ext);
    report_read_troubles(snapshot, ext);
    report_read_jobs(snapshot, ext);
    report_read_events(snapshot, ext);
}
