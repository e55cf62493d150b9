/* SPDX-License-Identifier: MIT */
/* store_machine - writes facts about the machine as rows of machine and device. */
#include "shared/store/store_machine.h"

#include <stdio.h>
#include <string.h>

#include "shared/store/store_sql.h"

#define NUMBER_BYTES 4 /* characters of "255," */

void ntk_store_machine_fini(struct ntk_store_machine *machine)
{
    ntk_buf_fini(&machine->written);
    sqlite3_finalize(machine->machine);
    sqlite3_finalize(machine->device);
}

static void bind_machine(sqlite3_stmt *row, const struct ntk_snapshot *snapshot)
{
    const struct ntk_hardware *hardware = &snapshot->hardware;
    bool has_memory = hardware->has & NTK_HARDWARE_HAS_MEMORY;

    ntk_store_sql_bind_text(row, "boot_id", snapshot->boot_id);
    ntk_store_sql_bind_text(row, "host_name", snapshot->host_name);
    for (size_t i = 0; i < NTK_INSTANCE_TEXTS; i++) {
        if (ntk_instance_texts[i].column) {
            ntk_store_sql_bind_text(row, ntk_instance_texts[i].column, snapshot->instance.texts[i]);
        }
    }
    if (hardware->has & NTK_HARDWARE_HAS_DEVICES) {
        for (size_t i = 0; i < NTK_HARDWARE_TEXTS; i++) {
            ntk_store_sql_bind_text(row, ntk_hardware_texts[i].column, hardware->texts[i]);
        }
        ntk_store_sql_bind(row, "software", hardware->software);
        ntk_store_sql_bind(row, "device_count", hardware->device_count);
        ntk_store_sql_bind(row, "cores_per_device", hardware->cores_per_device);
    }
    ntk_store_sql_bind(row, "lnc", hardware->lnc);
    ntk_store_sql_bind_known(row, "stack_count", has_memory, hardware->stack_count);
    ntk_store_sql_bind_known(row, "cores_per_stack", has_memory, hardware->cores_per_stack);
    ntk_store_sql_bind_known(row, "device_memory_bytes", has_memory, hardware->device_memory_bytes);
    ntk_store_sql_bind_double(row, "tensor_peak_flops", hardware->has & NTK_HARDWARE_HAS_PEAK,
                              hardware->tensor_peak_flops);
    ntk_store_sql_bind(row, "core_count", snapshot->core_count);
}

/* list is memory for the connected devices, valid while the row is bound. */
static void bind_device(sqlite3_stmt *row, const struct ntk_device_sample *device, char *list)
{
    size_t length = 0;

    ntk_store_sql_bind(row, "device", device->index);
    ntk_store_sql_bind_text(row, "name", device->name);
    ntk_store_sql_bind_text(row, "arch", device->arch);
    ntk_store_sql_bind_text(row, "serial_number", device->serial_number);
    ntk_store_sql_bind(row, "core_count", device->core_count);
    if (device->has & NTK_DEVICE_HAS_CONNECTED_DEVICES) {
        list[0] = '\0';
        for (uint32_t i = 0;
             i < device->connected_device_count && i < NTK_SNAPSHOT_CONNECTED_DEVICES_MAX; i++) {
            length += (size_t)sprintf(list + length, "%s%u", i > 0 ? "," : "",
                                      device->connected_devices[i]);
        }
        ntk_store_sql_bind_text(row, "connected_devices", list);
    }
    ntk_store_sql_bind(row, "stack_count", device->stack_count);
    ntk_store_sql_bind_known(row, "memory_capacity_bytes",
                             device->has & NTK_DEVICE_HAS_MEMORY_CAPACITY,
                             ntk_device_sum(device, device->memory_capacity_bytes));
}

/* Writes the row, or, with `facts`, only adds its values without the time to the text. */
static int take_row(sqlite3 *db, sqlite3_stmt *row, uint64_t time_ns, struct ntk_buf *facts,
                    uint64_t *row_count, struct ntk_err *err)
{
    if (!facts) {
        ntk_store_sql_bind(row, "since_ns", time_ns);
        return ntk_store_sql_run(db, row, row_count, err);
    }
    char *text = sqlite3_expanded_sql(row);
    ntk_buf_add_text(facts, text ? text : "");
    facts->failed = facts->failed || !text;
    sqlite3_free(text);
    sqlite3_clear_bindings(row);
    return 0;
}

static int take_rows(struct ntk_store_machine *machine, sqlite3 *db,
                     const struct ntk_snapshot *snapshot, struct ntk_buf *facts,
                     uint64_t *row_count, struct ntk_err *err)
{
    uint64_t time_ns = snapshot->realtime_ns;

    bind_machine(machine->machine, snapshot);
    int ret = take_row(db, machine->machine, time_ns, facts, row_count, err);
    for (size_t i = 0; ret == 0 && i < snapshot->device_count; i++) {
        char connected_devices[NTK_SNAPSHOT_CONNECTED_DEVICES_MAX * NUMBER_BYTES];

        bind_device(machine->device, &snapshot->devices[i], connected_devices);
        ret = take_row(db, machine->device, time_ns, facts, row_count, err);
    }
    return ret;
}

int ntk_store_machine_write(struct ntk_store_machine *machine, sqlite3 *db,
                            const struct ntk_snapshot *snapshot, uint64_t *row_count,
                            struct ntk_err *err)
{
    struct ntk_buf facts = { 0 };
    int ret = 0;

    if (!machine->machine) {
        ret = ntk_store_sql_prepare_row(db, "machine", NULL, &machine->machine, err);
    }
    if (ret == 0 && !machine->device) {
        ret = ntk_store_sql_prepare_row(db, "device", NULL, &machine->device, err);
    }
    ret = ret < 0 ? ret : take_rows(machine, db, snapshot, &facts, row_count, err);
    if (ret == 0 && !ntk_buf_ok(&facts)) {
        ret = ntk_err_no_memory(err);
    }
    if (ret < 0 || strcmp(ntk_buf_text_get(&facts), ntk_buf_text_get(&machine->written)) == 0) {
        ntk_buf_fini(&facts);
        return ret;
    }
    ret = take_rows(machine, db, snapshot, NULL, row_count, err);
    ntk_buf_fini(&machine->written);
    machine->written = facts;
    return ret;
}
