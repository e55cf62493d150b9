/* SPDX-License-Identifier: MIT */
/* store_replay_machine - loads the machine and its devices at a past time. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"
#include "shared/base/word.h"
#include "shared/store/store_replay_state.h"
#include "shared/store/store_sql.h"

/* Maximum per machine; a larger count means the row is damaged. */
#define CORES_MAX 8192

static void take_machine(const struct ntk_replay *replay, sqlite3_stmt *statement)
{
    struct ntk_snapshot *snapshot = replay->snapshot;
    struct ntk_hardware *hardware = &snapshot->hardware;

    snapshot->boot_id = ntk_replay_text(replay, statement, "boot_id");
    snapshot->host_name = ntk_replay_text(replay, statement, "host_name");
    for (size_t i = 0; i < NTK_INSTANCE_TEXTS; i++) {
        if (ntk_instance_texts[i].column) {
            snapshot->instance.texts[i] =
                ntk_replay_text(replay, statement, ntk_instance_texts[i].column);
        }
    }
    hardware->has |= ntk_store_sql_known(statement, "hardware_type") ? NTK_HARDWARE_HAS_DEVICES : 0;
    for (size_t i = 0; i < NTK_HARDWARE_TEXTS; i++) {
        hardware->texts[i] = ntk_replay_text(replay, statement, ntk_hardware_texts[i].column);
    }
    hardware->software = ntk_store_sql_u64(statement, "software") != 0;
    hardware->device_count = (uint32_t)ntk_store_sql_u64(statement, "device_count");
    hardware->cores_per_device = (uint32_t)ntk_store_sql_u64(statement, "cores_per_device");
    hardware->lnc = (uint32_t)ntk_store_sql_u64(statement, "lnc");
    hardware->has |= ntk_store_sql_known(statement, "stack_count") ? NTK_HARDWARE_HAS_MEMORY : 0;
    hardware->stack_count = (uint32_t)ntk_store_sql_u64(statement, "stack_count");
    hardware->cores_per_stack = (uint32_t)ntk_store_sql_u64(statement, "cores_per_stack");
    hardware->device_memory_bytes = ntk_store_sql_u64(statement, "device_memory_bytes");
    hardware->has |=
        ntk_store_sql_known(statement, "tensor_peak_flops") ? NTK_HARDWARE_HAS_PEAK : 0;
    hardware->tensor_peak_flops = ntk_store_sql_double(statement, "tensor_peak_flops");
    uint64_t core_count = ntk_store_sql_u64(statement, "core_count");
    if (core_count <= CORES_MAX) {
        snapshot->cores = ntk_snapshot_alloc(snapshot, core_count, sizeof *snapshot->cores);
        snapshot->core_count = snapshot->cores ? core_count : 0;
    }
    for (size_t i = 0; i < snapshot->core_count; i++) {
        snapshot->cores[i].core = (uint32_t)i;
    }
}

static void take_connected_devices(struct ntk_device_sample *device, const char *list)
{
    uint32_t numbers[NTK_SNAPSHOT_CONNECTED_DEVICES_MAX];
    size_t count = NTK_SNAPSHOT_CONNECTED_DEVICES_MAX;

    if (!list) {
        return;
    }
    device->has |= NTK_DEVICE_HAS_CONNECTED_DEVICES;
    if (*list && ntk_str_parse_list(list, UINT8_MAX, numbers, &count) == 0) {
        for (size_t i = 0; i < count; i++) {
            device->connected_devices[i] = (uint8_t)numbers[i];
        }
        device->connected_device_count = (uint32_t)count;
    }
}

static const char devices_sql[] =
    "SELECT device, name, arch, serial_number, core_count, connected_devices, stack_count, "
    "memory_capacity_bytes"
    " FROM device WHERE since_ns = (SELECT max(since_ns) FROM machine WHERE since_ns <= :time_ns)"
    " ORDER BY device";

static int load_devices(struct ntk_replay *replay, struct ntk_err *err)
{
    struct ntk_vec devices = NTK_VEC_INIT(struct ntk_device_sample);
    sqlite3_stmt *statement;
    int ret = ntk_replay_prepare_plain(replay, devices_sql, &statement, err);

    while (ret == 0 && (ret = ntk_replay_next(replay, statement, err)) > 0) {
        struct ntk_device_sample *device = ntk_replay_add(&devices);
        if (!device) {
            ret = ntk_err_no_memory(err);
            break;
        }
        device->index = (uint32_t)ntk_store_sql_u64(statement, "device");
        device->name = ntk_replay_text(replay, statement, "name");
        device->arch = ntk_replay_text(replay, statement, "arch");
        device->serial_number = ntk_replay_text(replay, statement, "serial_number");
        device->core_count = (uint32_t)ntk_store_sql_u64(statement, "core_count");
        take_connected_devices(device, ntk_store_sql_word(statement, "connected_devices"));
        uint64_t stacks = ntk_store_sql_u64(statement, "stack_count");
        device->stack_count =
            stacks < NTK_SNAPSHOT_STACKS_MAX ? (uint32_t)stacks : NTK_SNAPSHOT_STACKS_MAX;
        if (ntk_store_sql_known(statement, "memory_capacity_bytes") && device->stack_count > 0) {
            device->has |= NTK_DEVICE_HAS_MEMORY_CAPACITY;
            for (uint32_t i = 0; i < device->stack_count; i++) {
                device->memory_capacity_bytes[i] =
                    ntk_store_sql_u64(statement, "memory_capacity_bytes") / device->stack_count;
            }
        }
        ret = 0;
    }
    sqlite3_finalize(statement);
    if (ret == 0 && devices.count > 0) {
        struct ntk_device_sample *to = ntk_snapshot_alloc_devices(replay->snapshot, devices.count);
        if (to) {
            memcpy(to, devices.items, devices.count * sizeof *to);
        }
    }
    ntk_vec_fini(&devices);
    return ret;
}

static const char health_sql[] =
    "SELECT h.device, h.verdict, h.reason, h.since_ns, h.count, h.core, h.nrt_status, h.detail,"
    " (SELECT min(v.time_ns) FROM device_health v WHERE v.device = h.device"
    "  AND v.verdict = h.verdict AND v.time_ns <= h.time_ns AND v.time_ns > coalesce((SELECT"
    "  max(o.time_ns) FROM device_health o WHERE o.device = h.device AND o.verdict <> h.verdict"
    "  AND o.time_ns < h.time_ns), 0)) AS verdict_since_ns"
    " FROM device_health h WHERE h.time_ns = (SELECT max(n.time_ns) FROM device_health n"
    " WHERE n.device = h.device AND n.time_ns <= :time_ns) ORDER BY h.device, h.rank";

static void take_reason(const struct ntk_replay *replay, sqlite3_stmt *statement,
                        struct ntk_device_sample *device)
{
    int reason = ntk_health_reason_of(ntk_replay_text(replay, statement, "reason"));
    struct ntk_health_sample *health;

    if (reason < 0 || device->health_count >= NTK_HEALTH_REASON_COUNT) {
        return;
    }
    if (!device->health) {
        device->health =
            ntk_snapshot_alloc(replay->snapshot, NTK_HEALTH_REASON_COUNT, sizeof *device->health);
        if (!device->health) {
            return;
        }
    }
    health = &device->health[device->health_count++];
    *health = (struct ntk_health_sample){
        .reason = (uint16_t)reason,
        .core = NTK_NO_CORE,
        .since_ns = ntk_store_sql_u64(statement, "since_ns"),
        .last_ns = ntk_store_sql_u64(statement, "since_ns"),
        .count = ntk_store_sql_u64(statement, "count"),
        .status = (uint32_t)ntk_store_sql_u64(statement, "nrt_status"),
        .detail = ntk_replay_text(replay, statement, "detail"),
    };
    if (ntk_store_sql_known(statement, "core") &&
        ntk_store_sql_u64(statement, "core") < CORES_MAX) {
        health->core = (uint16_t)ntk_store_sql_u64(statement, "core");
        health->cores = ntk_health_core_bit(device, health->core);
    }
}

static int load_health(struct ntk_replay *replay, struct ntk_err *err)
{
    sqlite3_stmt *statement;
    int ret = ntk_replay_prepare_plain(replay, health_sql, &statement, err);

    while (ret == 0 && (ret = ntk_replay_next(replay, statement, err)) > 0) {
        ret = 0;
        for (size_t i = 0; i < replay->snapshot->device_count; i++) {
            struct ntk_device_sample *device = &replay->snapshot->devices[i];
            size_t verdict = ntk_word_find(ntk_store_sql_word(statement, "verdict"),
                                           ntk_health_verdict_names, NTK_HEALTH_VERDICT_COUNT);
            if (device->index != ntk_store_sql_u64(statement, "device") ||
                verdict == NTK_HEALTH_VERDICT_COUNT) {
                continue;
            }
            device->has |= NTK_DEVICE_HAS_HEALTH;
            device->verdict = (uint32_t)verdict;
            device->verdict_since_ns = ntk_store_sql_u64(statement, "verdict_since_ns");
            take_reason(replay, statement, device);
        }
    }
    sqlite3_finalize(statement);
    return ret;
}

static void take_device(sqlite3_stmt *statement, bool has_stacks, struct ntk_device_sample *device)
{
    for (int e = 0; e < NTK_ECC_COUNT; e++) {
        if (ntk_store_sql_known(statement, ntk_ecc_names[e])) {
            device->has |= NTK_DEVICE_HAS_ECC;
            device->ecc_has |= 1u << e;
            device->ecc[e].period = ntk_store_sql_u64(statement, ntk_ecc_names[e]);
        }
    }
    for (int s = 0; s < (has_stacks ? NTK_SNAPSHOT_STACKS_MAX : 1); s++) {
        char column[40];
        snprintf(column, sizeof column, "stack_%d_memory_used_bytes", s);
        const char *name = has_stacks ? column : "memory_used_bytes_last";
        device->has |=
            s == 0 && ntk_store_sql_known(statement, name) ? NTK_DEVICE_HAS_MEMORY_USED : 0;
        device->memory_used_bytes[s] = ntk_store_sql_u64(statement, name);
    }
    uint64_t power_period_ns = ntk_store_sql_u64(statement, "power_period_ns");
    if (power_period_ns > 0) { /* only the average is stored */
        device->has |= NTK_DEVICE_HAS_POWER;
        device->power_average =
            (double)ntk_store_sql_u64(statement, "power_ns") / (double)power_period_ns;
        device->power_min = device->power_max = device->power_average;
    }
}

/* Loads the samples of the devices: sums, if the values of stacks are not stored separately. */
static int load_device_samples(struct ntk_replay *replay, struct ntk_err *err)
{
    sqlite3_stmt *statement;
    bool has_stacks = replay->tier == NTK_STORE_SECOND;
    int ret = ntk_replay_prepare(
        replay, NTK_FAMILY_DEVICE, has_stacks ? "r.*, s.*" : "r.*",
        has_stacks ? "JOIN device_sample s ON s.time_ns = :time_ns AND s.device = r.device" : "",
        &statement, err);

    while (ret == 0 && (ret = ntk_replay_next(replay, statement, err)) > 0) {
        ret = 0;
        for (size_t i = 0; i < replay->snapshot->device_count; i++) {
            if (replay->snapshot->devices[i].index == ntk_store_sql_u64(statement, "device")) {
                take_device(statement, has_stacks, &replay->snapshot->devices[i]);
            }
        }
    }
    sqlite3_finalize(statement);
    return ret;
}

/* The suffix of the column in a coarser tier; the column without suffix belongs to the second. */
#define COLUMN_GAUGE "_last"
#define COLUMN_MAX "_max"
#define COLUMN_NEWEST ""
#define COLUMN_SECOND ""
static const char *const system_columns[NTK_SYSTEM_FIGURES] = {
#define NTK_SYSTEM_GAUGE(id, name, group, rule, ...) #name COLUMN_##rule,
#define NTK_SYSTEM_COUNTER(id, name, ...) #name,
#include "shared/metrics/system.def"
};

static int load_system(struct ntk_replay *replay, struct ntk_err *err)
{
    struct ntk_system_sample *system = &replay->snapshot->system;
    bool is_second = replay->tier == NTK_STORE_SECOND;
    sqlite3_stmt *statement;
    int ret = ntk_replay_prepare(replay, NTK_FAMILY_MACHINE, "r.*, s.*",
                                 is_second ? "JOIN machine_sample s ON s.time_ns = :time_ns"
                                           : "LEFT JOIN machine_sample s ON s.time_ns = -1",
                                 &statement, err);

    if (ret == 0 && (ret = ntk_replay_next(replay, statement, err)) > 0) {
        ret = 0;
        double period_ns = (double)ntk_store_sql_u64(statement, "vcpu_period_ns");
        if (period_ns > 0) {
            system->has |= NTK_SYSTEM_HAS_CPU;
            system->average[NTK_CPU_USER] =
                (double)ntk_store_sql_u64(statement, "vcpu_user_ns") / period_ns;
            system->average[NTK_CPU_SYSTEM] =
                (double)ntk_store_sql_u64(statement, "vcpu_system_ns") / period_ns;
            system->average[NTK_CPU_IO_WAIT] =
                ntk_store_sql_double(statement, "vcpu_io_wait_ratio");
            double idle = 1 - system->average[NTK_CPU_USER] - system->average[NTK_CPU_SYSTEM] -
                          system->average[NTK_CPU_IO_WAIT];
            system->average[NTK_CPU_IDLE] = idle > 0 ? idle : 0;
        }
        for (size_t i = 0; i < NTK_SYSTEM_FIGURES; i++) {
            bool is_known = ntk_store_sql_known(statement, system_columns[i]);
            system->has |= is_known ? ntk_system_rows[i].has : 0;
            system->figures[i] = ntk_store_sql_u64(statement, system_columns[i]);
        }
        replay->snapshot->events_read.period = ntk_store_sql_u64(statement, "events_read");
        replay->snapshot->events_lost.period = ntk_store_sql_u64(statement, "events_lost");
        replay->snapshot->events_unlisted = ntk_store_sql_u64(statement, "events_unlisted");
    }
    sqlite3_finalize(statement);
    return ret;
}

int ntk_replay_load_machine(struct ntk_replay *replay, struct ntk_err *err)
{
    sqlite3_stmt *statement;
    /* A file of the first schema has samples older than the first row of machine. */
    int ret = ntk_replay_prepare_plain(
        replay,
        "SELECT * FROM machine WHERE since_ns <= :time_ns ORDER BY since_ns DESC"
        " LIMIT 1",
        &statement, err);

    if (ret == 0 && (ret = ntk_replay_next(replay, statement, err)) > 0) {
        take_machine(replay, statement);
        ret = 0;
    }
    sqlite3_finalize(statement);
    if (ret == 0) {
        ret = load_devices(replay, err);
    }
    if (ret == 0) {
        ret = load_health(replay, err);
    }
    if (ret == 0) {
        ret = load_device_samples(replay, err);
    }
    return ret == 0 ? load_system(replay, err) : ret;
}
