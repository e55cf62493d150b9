/* SPDX-License-Identifier: MIT */
/* retention - what is kept how long. */
#include "shared/store/retention.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "shared/store/store_sql.h"

#define SQL_BYTES 256
#define VACUUM_PAGES "2000"

/* Tables with a time_ns that grow; process, model and the *_last and *_total rows stay. */
static const char *const tables[] = {
    "machine_sample", "device_sample", "process_sample", "core_sample", "execution_sample",
    "model_sample",   "memory_sample", "memory_log",     "error_log",   "model_log",
};

/* The time up to which a slice reaches: of the row NTK_RETENTION_SLICE_ROWS behind the oldest, at
 * most limit_ns. -ENODATA for an empty table. */
static int slice_end(sqlite3 *db, const char *table, int64_t limit_ns, int64_t *out_ns,
                     struct ntk_err *err)
{
    char sql[SQL_BYTES];

    snprintf(sql, sizeof sql, "SELECT time_ns FROM %s ORDER BY time_ns LIMIT 1 OFFSET %d", table,
             NTK_RETENTION_SLICE_ROWS);
    int ret = ntk_store_sql_number(db, sql, out_ns, err);
    if (ret == -ENODATA) {
        snprintf(sql, sizeof sql, "SELECT max(time_ns) + 1 FROM %s HAVING count(*) > 0", table);
        ret = ntk_store_sql_number(db, sql, out_ns, err);
    }
    if (ret == 0 && *out_ns > limit_ns) {
        *out_ns = limit_ns;
    }
    return ret;
}

/* Deletes one slice of rows older than limit_ns; the number of rows or negative. */
static int delete_slice(sqlite3 *db, const char *table, int64_t limit_ns, struct ntk_err *err)
{
    char sql[SQL_BYTES];
    int64_t end_ns;
    int ret = slice_end(db, table, limit_ns, &end_ns, err);

    if (ret < 0) {
        return ret == -ENODATA ? 0 : ret;
    }
    snprintf(sql, sizeof sql, "DELETE FROM %s WHERE time_ns < %lld", table, (long long)end_ns);
    ret = ntk_store_sql_exec(db, sql, err);
    return ret < 0 ? ret : sqlite3_changes(db);
}

static int delete_slices(sqlite3 *db, int64_t limit_ns, bool *more, struct ntk_err *err)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        int deleted = delete_slice(db, tables[i], limit_ns, err);
        if (deleted < 0) {
            return deleted;
        }
        *more = *more || deleted >= NTK_RETENTION_SLICE_ROWS;
    }
    return 0;
}

static int file_bytes(sqlite3 *db, int64_t *out_bytes, struct ntk_err *err)
{
    int64_t pages = 0;
    int64_t free_pages = 0;
    int64_t page_bytes = 0;
    int ret = ntk_store_sql_number(db, "PRAGMA page_count", &pages, err);

    if (ret == 0) {
        ret = ntk_store_sql_number(db, "PRAGMA freelist_count", &free_pages, err);
    }
    if (ret == 0) {
        ret = ntk_store_sql_number(db, "PRAGMA page_size", &page_bytes, err);
    }
    *out_bytes = (pages - free_pages) * page_bytes;
    return ret;
}

/* A tenth of the time that the samples span goes. */
static int shorten(sqlite3 *db, bool *more, struct ntk_err *err)
{
    int64_t first_ns = 0;
    int64_t last_ns = 0;
    int ret = ntk_store_sql_number(
        db, "SELECT min(time_ns) FROM machine_sample HAVING count(*) > 1", &first_ns, err);

    if (ret == 0) {
        ret = ntk_store_sql_number(db, "SELECT max(time_ns) FROM machine_sample", &last_ns, err);
    }
    if (ret < 0) {
        return ret == -ENODATA ? 0 : ret;
    }
    *more = true;
    return delete_slices(db, first_ns + (last_ns - first_ns) / 10 + 1, more, err);
}

int ntk_retention_run(sqlite3 *db, uint64_t before_ns, uint64_t keep_bytes, struct ntk_err *err)
{
    bool more = false;
    int64_t used_bytes;
    int ret = delete_slices(db, (int64_t)before_ns, &more, err);

    if (ret == 0) {
        ret = file_bytes(db, &used_bytes, err);
    }
    if (ret == 0 && (uint64_t)used_bytes > keep_bytes) {
        ret = shorten(db, &more, err);
    }
    if (ret == 0) {
        ret = ntk_store_sql_exec(db, "PRAGMA incremental_vacuum(" VACUUM_PAGES ")", err);
    }
    return ret < 0 ? ret : more;
}
