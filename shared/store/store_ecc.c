/* SPDX-License-Identifier: MIT */
/* store_ecc - writes and reads the ECC counters of devices as rows. */
#include "shared/store/store_ecc.h"

#include <string.h>

#include "shared/base/word.h"
#include "shared/store/store_sql.h"

static const char select_sql[] =
    "SELECT event, boot_id = :boot_id AS is_same_boot, counter, total FROM ecc_total"
    " WHERE device = :device";

void ntk_store_ecc_reset(struct ntk_store_ecc *ecc)
{
    memset(ecc, 0, sizeof *ecc);
}

static int write_row(sqlite3 *db, sqlite3_stmt *statement, const struct ntk_snapshot *snapshot,
                     const struct ntk_device_sample *device, int kind, uint64_t *row_count,
                     struct ntk_err *err)
{
    ntk_store_sql_bind(statement, "device", device->index);
    ntk_store_sql_bind_text(statement, "event", ntk_ecc_names[kind]);
    ntk_store_sql_bind_text(statement, "boot_id", snapshot->boot_id);
    ntk_store_sql_bind(statement, "time_ns", snapshot->realtime_ns);
    ntk_store_sql_bind(statement, "counter", device->ecc_counter[kind]);
    ntk_store_sql_bind(statement, "total", device->ecc[kind].total);
    return ntk_store_sql_run(db, statement, row_count, err);
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
            ret = statement ? 0 : ntk_store_sql_prepare_row(db, "ecc_total", NULL, &statement, err);
            ret = ret < 0 ? ret : write_row(db, statement, snapshot, device, k, row_count, err);
            if (ret == 0) {
                ecc->rows[device->index][k].is_written = true;
                ecc->rows[device->index][k].counter = device->ecc_counter[k];
                ecc->rows[device->index][k].total = device->ecc[k].total;
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
    ntk_store_sql_bind(statement, "device", device);
    ntk_store_sql_bind_text(statement, "boot_id", boot_id);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        bool is_same_boot = ntk_store_sql_u64(statement, "is_same_boot") == 1;
        int64_t counter = (int64_t)ntk_store_sql_u64(statement, "counter");
        int64_t total = (int64_t)ntk_store_sql_u64(statement, "total");
        size_t k =
            ntk_word_find(ntk_store_sql_word(statement, "event"), ntk_ecc_names, NTK_ECC_COUNT);

        if (k < NTK_ECC_COUNT) {
            out->has |= 1u << k;
            out->counter[k] = is_same_boot && counter > 0 ? (uint64_t)counter : 0;
            out->total[k] = total > 0 ? (uint64_t)total : 0;
        }
    }
    sqlite3_finalize(statement);
    return out->has != 0;
}
