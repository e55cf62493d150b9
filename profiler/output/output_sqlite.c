/* SPDX-License-Identifier: MIT */
/*
 * output_sqlite - tables as an SQLite database, docs/formats/profile-tables.md.
 *
 * One transaction into a file under a temporary name; nobody reads it before it is whole, so there
 * is no journal. All tables are there, also those without rows.
 */
#include <errno.h>
#include <sqlite3.h>
#include <string.h>

#include "profiler/output/export_to.h"
#include "profiler/output/tables.h"

/* Of the file's header, where file(1) shows them: "NTKP", schema 7.4.0. */
#define APPLICATION_ID "0x4e544b50"
#define USER_VERSION "70400"

struct writer {
    sqlite3 *db;
    sqlite3_stmt *insert;
    const struct ntk_table *table;
};

static int code_of(int sqlite_code)
{
    switch (sqlite_code & 0xff) {
    case SQLITE_OK:
    case SQLITE_DONE:
    case SQLITE_ROW:
        return 0;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_TOOBIG:
        return -EFBIG;
    default:
        return -EIO;
    }
}

static int run(const struct writer *writer, const char *sql)
{
    return code_of(sqlite3_exec(writer->db, sql, NULL, NULL, NULL));
}

static const char *type_of(enum ntk_column_kind kind)
{
    switch (kind) {
    case NTK_COLUMN_F64:
    case NTK_COLUMN_F32:
        return "REAL";
    case NTK_COLUMN_JSON:
    case NTK_COLUMN_TEXT:
        return "TEXT";
    default:
        return "INTEGER";
    }
}

static int create_table(struct writer *writer)
{
    const struct ntk_table *table = writer->table;
    struct ntk_buf create = { 0 };
    struct ntk_buf insert = { 0 };
    int ret;

    ntk_buf_add_format(&create, "CREATE TABLE \"%s\" (", table->name);
    ntk_buf_add_format(&insert, "INSERT INTO \"%s\" VALUES (", table->name);
    for (size_t i = 0; i < table->column_count; i++) {
        const struct ntk_column *column = &table->columns[i];
        ntk_buf_add_format(&create, "%s\n  \"%s\" %s%s", i ? "," : "", column->name,
                           type_of(column->kind),
                           column->presence == NTK_COLUMN_ALWAYS ? " NOT NULL" : "");
        ntk_buf_add_text(&insert, i ? ",?" : "?");
    }
    ntk_buf_add_text(&create, "\n) STRICT");
    ntk_buf_add_text(&insert, ")");
    if (!ntk_buf_ok(&create) || !ntk_buf_ok(&insert)) {
        ret = -ENOMEM;
    } else {
        ret = run(writer, ntk_buf_text_get(&create));
    }
    if (ret == 0) {
        ret = code_of(
            sqlite3_prepare_v2(writer->db, ntk_buf_text_get(&insert), -1, &writer->insert, NULL));
    }
    ntk_buf_fini(&create);
    ntk_buf_fini(&insert);
    return ret;
}

static int bind(sqlite3_stmt *insert, int at, const struct ntk_column *column, union ntk_cell cell)
{
    switch (column->kind) {
    case NTK_COLUMN_F64:
    case NTK_COLUMN_F32:
        return sqlite3_bind_double(insert, at, cell.f64);
    case NTK_COLUMN_JSON:
    case NTK_COLUMN_TEXT: /* of the row: it lasts until the step */
        return sqlite3_bind_text(insert, at, cell.text, -1, SQLITE_STATIC);
    default:
        return sqlite3_bind_int64(insert, at, cell.i64);
    }
}

static int put_row(void *ctx, const void *row)
{
    struct writer *writer = ctx;
    int code = SQLITE_OK;

    for (size_t i = 0; i < writer->table->column_count && code == SQLITE_OK; i++) {
        const struct ntk_column *column = &writer->table->columns[i];
        union ntk_cell cell;
        if (column->presence == NTK_COLUMN_NEVER) {
            continue; /* stays NULL */
        }
        code = ntk_cell_get(column, row, &cell) ? bind(writer->insert, (int)i + 1, column, cell)
                                                : sqlite3_bind_null(writer->insert, (int)i + 1);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_step(writer->insert);
    }
    int ret = code_of(code);
    sqlite3_reset(writer->insert);
    return ret;
}

static int write_tables(const struct ntk_export *export, struct writer *writer)
{
    size_t table_count;
    const struct ntk_table *tables = ntk_tables_of(export, &table_count);
    int ret = run(writer, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                          "PRAGMA locking_mode = EXCLUSIVE;"
                          "PRAGMA application_id = " APPLICATION_ID ";"
                          "PRAGMA user_version = " USER_VERSION ";"
                          "BEGIN");

    for (size_t t = 0; t < table_count && ret == 0; t++) {
        writer->table = &tables[t];
        ret = create_table(writer);
        if (ret == 0) {
            ret = tables[t].rows(export, put_row, writer);
        }
        sqlite3_finalize(writer->insert);
        writer->insert = NULL;
    }
    return ret == 0 ? run(writer, "COMMIT") : ret;
}

int ntk_export_to_sqlite(const struct ntk_export *export, const char *path, struct ntk_err *err)
{
    struct writer writer = { 0 };
    struct ntk_fs_replace replace = { 0 };
    bool is_stdout = strcmp(path, "-") == 0;
    int ret = is_stdout ? 0 : ntk_fs_replace_begin(&replace, path, err);

    if (ret < 0) {
        return ret;
    }
    if (!replace.temporary_path) { /* a device, a pipe */
        ntk_fs_replace_abort(&replace);
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "a database is a file: it cannot go to %s", is_stdout ? "stdout" : path);
    }
    ret = code_of(sqlite3_open_v2(replace.temporary_path, &writer.db, SQLITE_OPEN_READWRITE, NULL));
    if (ret == 0) {
        ret = write_tables(export, &writer);
    }
    int close_ret = code_of(sqlite3_close(writer.db));
    ret = ret ? ret : close_ret;
    if (ret < 0) {
        ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot write %s: %s", path, strerror(-ret));
        ntk_fs_replace_abort(&replace);
        return ret;
    }
    return ntk_fs_replace_commit(&replace, err);
}
