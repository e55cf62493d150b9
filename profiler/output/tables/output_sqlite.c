/* SPDX-License-Identifier: MIT */
/*
 * output_sqlite - writes tables as an SQLite database, docs/formats/profile-tables.md.
 *
 * The database is written in one transaction to a temporary file, which no program reads before it
 * is complete, so it needs no journal. Tables without rows are also written.
 */
#include <errno.h>
#include <string.h>

#include "profiler/output/export_to.h"
#include "profiler/output/tables/sqlite_tables.h"
#include "profiler/output/tables/tables.h"

/* Value in the file's header, for file(1): "NTKP", schema 7.4.0. */
#define APPLICATION_ID "0x4e544b50"
#define USER_VERSION "70400"

static int run(sqlite3 *db, const char *sql)
{
    return ntk_sqlite_errno(sqlite3_exec(db, sql, NULL, NULL, NULL));
}

static int write_tables(const struct ntk_export *export, sqlite3 *db)
{
    size_t table_count;
    const struct ntk_table *tables = ntk_tables_of(export, &table_count);
    int ret = run(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                      "PRAGMA locking_mode = EXCLUSIVE;"
                      "PRAGMA application_id = " APPLICATION_ID ";"
                      "PRAGMA user_version = " USER_VERSION ";"
                      "BEGIN");

    for (size_t t = 0; t < table_count && ret == 0; t++) {
        ret = ntk_sqlite_table_create(db, &tables[t]);
        ret = ret < 0 ? ret : ntk_sqlite_table_fill(db, export, &tables[t], NULL);
    }
    return ret == 0 ? run(db, "COMMIT") : ret;
}

int ntk_export_to_sqlite(const struct ntk_export *export, const char *path, struct ntk_err *err)
{
    sqlite3 *db = NULL;
    struct ntk_fs_replace replace = { 0 };
    bool is_stdout = strcmp(path, "-") == 0;
    int ret = is_stdout ? 0 : ntk_fs_replace_begin(&replace, path, err);

    if (ret < 0) {
        return ret;
    }
    if (!replace.temporary_path) { /* a device or a pipe */
        ntk_fs_replace_abort(&replace);
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "a database is a file and cannot be written to %s",
                           is_stdout ? "stdout" : path);
    }
    ret =
        ntk_sqlite_errno(sqlite3_open_v2(replace.temporary_path, &db, SQLITE_OPEN_READWRITE, NULL));
    if (ret == 0) {
        ret = write_tables(export, db);
    }
    int close_ret = ntk_sqlite_errno(sqlite3_close(db));
    ret = ret ? ret : close_ret;
    if (ret < 0) {
        ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot write '%s': %s", path, strerror(-ret));
        ntk_fs_replace_abort(&replace);
        return ret;
    }
    return ntk_fs_replace_commit(&replace, err);
}
