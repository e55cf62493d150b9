/* SPDX-License-Identifier: MIT */
/* store_ecc - the ECC counters of devices as rows. */
#include "shared/store/store_ecc.h"

#include <string.h>

#include "shared/store/store_sql.h"

static const char insert_sql[] = "INSERT OR REPLACE INTO ecc_total VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
static const char select_sql[] =
    "SELECT event, boot_id = ?2 AS is_same_boot, counter, total FROM ecc_total WHERE device = ?1";

void ntk_store_ecc_reset(struct ntk_store_ecc *ecc)
{
    memset(ecc, 0, sizeof *ecc);
}

static int write_row(sqlite3 *db, sqlite3_stmt *statement, const struct ntk_snapshot *snapshot,
                     const struct ntk_device_sample *device, int kind, struct ntk_err *err)
{
    sqlite3_bind_int64(statement, 1, device->index);
    sqlite3_bind_text(statement, 2, ntk_ecc_names[kind], -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 3, snapshot->boot_id, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 4, (sqlite3_int64)snapshot->realtime_ns);
    sqlite3_bind_int64(statement, 5, (sqlite3_int64)device->ecc_counter[kind]);
    sqlite3_bind_int64(statement, 6, (sqlite3_int64)device->ecc[kind].total);
    int ret = sqlite3_step(statement) == SQLITE_DONE ? 0 : ntk_store_sql_error(db, "database", err);
    sqlite3_reset(statement);
    return ret;
}

int ntk_store_ecc_write(struct ntk_store_ecc *ecc, sqlite3 *db, const struct ntk_snapshot *snapshot,
                        uint64_t *row_count, struct ntk_err *err)
{
    sqlite3_stmt *statement = NULL;
    int ret = 0;

    for (size_t i = 0; i < snapshot->device_count; i++) {
        const struct ntk_device_sample *device = &snapshot->devices[i];

        for (int k = 0; ret == 0 && k < NTK_ECC_COUNT; k++) {
            if (!(device->has & NTK_DEVICE_HAS_ECC_TOTAL) || !(device->ecc_has >> k & 1) ||
                device->index >= NTK_SNAPSHOT_DEVICES_MAX) {
                continue;
            }
            bool is_same = ecc->rows[device->index][k].is_written &&
                           ecc->rows[device->index][k].counter == device->ecc_counter[k] &&
                           ecc->rows[device->index][k].total == device->ecc[k].total;
            if (is_same) {
                continue;
            }
            ret = statement ? 0 : ntk_store_sql_prepare(db, insert_sql, &statement, err);
            ret = ret < 0 ? ret : write_row(db, statement, snapshot, device, k, err);
            if (ret == 0) {
                ecc->rows[device->index][k].is_written = true;
                ecc->rows[device->index][k].counter = device->ecc_counter[k];
                ecc->rows[device->index][k].total = device->ecc[k].total;
                (*row_count)++;
            }
        }
    }
    sqlite3_finalize(statement);
    return ret;
}

bool ntk_store_ecc_read(sqlite3 *db, const char *boot_id, uint32_t device,
                        struct ntk_ecc_stored *out)
{
    sqlite3_stmt *statement;

    *out = (struct ntk_ecc_stored){ 0 };
    if (ntk_store_sql_prepare(db, select_sql, &statement, NULL) < 0) {
        return false;
    }
    sqlite3_bind_int64(statement, 1, device);
    sqlite3_bind_text(statement, 2, boot_id, -1, SQLITE_STATIC);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *event = ntk_store_sql_word(statement, "event");
        bool is_same_boot = ntk_store_sql_u64(statement, "is_same_boot") == 1;

        for (int k = 0; event && k < NTK_ECC_COUNT; k++) {
            if (strcmp(event, ntk_ecc_names[k]) == 0) {
                int64_t counter = (int64_t)ntk_store_sql_u64(statement, "counter");
                int64_t total = (int64_t)ntk_store_sql_u64(statement, "total");
                out->has |= 1u << k;
                out->counter[k] = is_same_boot && counter > 0 ? (uint64_t)counter : 0;
                out->total[k] = total > 0 ? (uint64_t)total : 0;
            }
        }
    }
    sqlite3_finalize(statement);
    return out->has != 0;
}
