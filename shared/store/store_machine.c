/* SPDX-License-Identifier: MIT */
/* store_machine - what the machine is, as rows of machine and device. */
#include "shared/store/store_machine.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "shared/store/store_sql.h"

void ntk_store_machine_fini(struct ntk_store_machine *machine)
{
    ntk_buf_fini(&machine->written);
}

static void add_device(struct ntk_buf *sql, const struct ntk_device_sample *device)
{
    char *texts = sqlite3_mprintf("%Q, %Q, %Q", device->name, device->arch, device->serial);

    ntk_buf_add_format(sql, "INSERT OR REPLACE INTO device VALUES (?1, %" PRIu32 ", %s, %" PRIu32,
                       device->index, texts ? texts : "", device->core_count);
    sqlite3_free(texts);
    if (device->has & NTK_DEVICE_HAS_NEIGHBOURS) {
        ntk_buf_add_text(sql, ", '");
        for (uint32_t i = 0; i < device->neighbour_count && i < NTK_SNAPSHOT_NEIGHBOURS_MAX; i++) {
            ntk_buf_add_format(sql, "%s%u", i > 0 ? "," : "", device->neighbours[i]);
        }
        ntk_buf_add_char(sql, '\'');
    } else {
        ntk_buf_add_text(sql, ", NULL");
    }
    ntk_buf_add_format(sql, ", %" PRIu32, device->stack_count);
    if (device->has & NTK_DEVICE_HAS_MEMORY_CAPACITY) {
        ntk_buf_add_format(sql, ", %" PRId64 ");",
                           (int64_t)ntk_device_sum(device, device->memory_capacity_bytes));
    } else {
        ntk_buf_add_text(sql, ", NULL);");
    }
}

/* NULL where the group is not known. */
static void add_known(struct ntk_buf *sql, bool known, uint64_t value)
{
    if (known) {
        ntk_buf_add_format(sql, ", %" PRId64, (int64_t)value);
    } else {
        ntk_buf_add_text(sql, ", NULL");
    }
}

static void add_known_text(struct ntk_buf *sql, bool known, const char *text)
{
    char *quoted = sqlite3_mprintf(", %Q", known ? text : NULL);

    ntk_buf_add_text(sql, quoted ? quoted : "");
    sqlite3_free(quoted);
}

/* The facts as the statements that store them; the time is ?1. */
static void add_facts(struct ntk_buf *sql, const struct ntk_snapshot *snapshot)
{
    const struct ntk_instance *instance = &snapshot->instance;
    const struct ntk_hardware *hardware = &snapshot->hardware;
    bool known = hardware->has & NTK_HARDWARE_HAS_DEVICES;
    bool has_memory = hardware->has & NTK_HARDWARE_HAS_MEMORY;

    ntk_buf_add_text(sql, "INSERT OR REPLACE INTO machine VALUES (?1");
    add_known_text(sql, true, snapshot->boot_id);
    add_known_text(sql, true, snapshot->host_name);
    add_known_text(sql, true, instance->name);
    add_known_text(sql, true, instance->id);
    add_known_text(sql, true, instance->type);
    add_known_text(sql, true, instance->zone);
    add_known_text(sql, true, instance->region);
    add_known_text(sql, known, hardware->instance_type);
    add_known_text(sql, known, hardware->device_type);
    add_known_text(sql, known, hardware->device_version);
    add_known_text(sql, known, hardware->core_version);
    add_known_text(sql, known, hardware->driver_version);
    add_known(sql, known, hardware->software);
    add_known(sql, known, hardware->device_count);
    add_known(sql, known, hardware->cores_per_device);
    add_known(sql, true, hardware->lnc);
    add_known(sql, has_memory, hardware->stack_count);
    add_known(sql, has_memory, hardware->cores_per_stack);
    add_known(sql, has_memory, hardware->device_memory_bytes);
    if (hardware->has & NTK_HARDWARE_HAS_PEAK) {
        ntk_buf_add_format(sql, ", %.17e", hardware->tensor_peak_flops);
    } else {
        ntk_buf_add_text(sql, ", NULL");
    }
    add_known(sql, true, snapshot->core_count);
    ntk_buf_add_text(sql, ");");
    for (size_t i = 0; i < snapshot->device_count; i++) {
        add_device(sql, &snapshot->devices[i]);
    }
}

static int run(sqlite3 *db, const char *sql, uint64_t time_ns, uint64_t *row_count,
               struct ntk_err *err)
{
    int ret = 0;

    while (ret == 0 && *sql) {
        sqlite3_stmt *statement;
        if (sqlite3_prepare_v2(db, sql, -1, &statement, &sql) != SQLITE_OK) {
            return ntk_store_sql_error(db, "database", err);
        }
        sqlite3_bind_int64(statement, 1, (sqlite3_int64)time_ns);
        if (sqlite3_step(statement) != SQLITE_DONE) {
            ret = ntk_store_sql_error(db, "database", err);
        }
        sqlite3_finalize(statement);
        (*row_count)++;
    }
    return ret;
}

int ntk_store_machine_write(struct ntk_store_machine *machine, sqlite3 *db,
                            const struct ntk_snapshot *snapshot, uint64_t *row_count,
                            struct ntk_err *err)
{
    struct ntk_buf facts = { 0 };

    add_facts(&facts, snapshot);
    if (!ntk_buf_ok(&facts)) {
        ntk_buf_fini(&facts);
        return ntk_err_no_memory(err);
    }
    if (strcmp(ntk_buf_text_get(&facts), ntk_buf_text_get(&machine->written)) == 0) {
        ntk_buf_fini(&facts);
        return 0;
    }
    int ret = run(db, ntk_buf_text_get(&facts), snapshot->realtime_ns, row_count, err);
    ntk_buf_fini(&machine->written);
    machine->written = facts;
    return ret;
}
