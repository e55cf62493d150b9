/* SPDX-License-Identifier: MIT */
#include "profiler/output/tables/sqlite_tables.h"

#include <errno.h>
#include <string.h>

#include "profiler/output/export.h"
#include "shared/base/buf.h"

int ntk_sqlite_errno(int code)
{
    switch (code & 0xff) {
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

const char *ntk_sqlite_type(enum ntk_column_kind kind)
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

const char *ntk_sqlite_collation(const struct ntk_column *column)
{
    return strcmp(column->name, "engine") == 0 ? " COLLATE NOCASE" : "";
}

int ntk_sqlite_table_create(sqlite3 *db, const struct ntk_table *table)
{
    struct ntk_buf create = { 0 };

    ntk_buf_add_format(&create, "CREATE TABLE \"%s\" (", table->name);
    for (size_t i = 0; i < table->column_count; i++) {
        const struct ntk_column *column = &table->columns[i];

        ntk_buf_add_format(&create, "%s\n  \"%s\" %s%s%s", i ? "," : "", column->name,
                           ntk_sqlite_type(column->kind),
                           column->presence == NTK_COLUMN_ALWAYS ? " NOT NULL" : "",
                           ntk_sqlite_collation(column));
    }
    ntk_buf_add_text(&create, "\n) STRICT");
    int ret = ntk_buf_ok(&create)
                  ? ntk_sqlite_errno(sqlite3_exec(db, ntk_buf_text_get(&create), NULL, NULL, NULL))
                  : -ENOMEM;
    ntk_buf_fini(&create);
    return ret;
}

#define ROWS_BETWEEN_LOOKS 4096

struct writer {
    sqlite3_stmt *insert;
    const struct ntk_table *table;
    struct ntk_progress *progress; /* NULL if not shown */
    uint64_t row_count, expected_count;
};

/* Returns an estimate. Most tables have a row per span of one kind; for smaller tables the progress
 * stays low. */
uint64_t ntk_sqlite_rows_expected(const struct ntk_export *export, const struct ntk_table *table)
{
    uint64_t counts[3] = { 0 };

    for (size_t c = 0; export->trace && c < export->trace->core_count; c++) {
        counts[0] += export->trace->cores[c].instruction_count;
        counts[1] += export->trace->cores[c].packet_count;
        counts[2] += export->trace->cores[c].event_count;
    }
    return strcmp(table->name, "Instruction") == 0     ? counts[0]
           : strncmp(table->name, "Dma", 3) == 0       ? counts[1]
           : strncmp(table->name, "Semaphore", 9) == 0 ? counts[2]
                                                       : counts[0] + counts[1] + counts[2];
}

static int bind(sqlite3_stmt *insert, int at, const struct ntk_column *column, union ntk_cell cell)
{
    switch (column->kind) {
    case NTK_COLUMN_F64:
    case NTK_COLUMN_F32:
        return sqlite3_bind_double(insert, at, cell.f64);
    case NTK_COLUMN_JSON:
    case NTK_COLUMN_TEXT: /* owned by the row, which is valid until the step */
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
            continue; /* the value stays NULL */
        }
        code = ntk_cell_get(column, row, &cell) ? bind(writer->insert, (int)i + 1, column, cell)
                                                : sqlite3_bind_null(writer->insert, (int)i + 1);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_step(writer->insert);
    }
    writer->row_count++;
    if (writer->row_count % ROWS_BETWEEN_LOOKS == 0 &&
        writer->row_count <= writer->expected_count) {
        ntk_progress_show(writer->progress,
                          (double)writer->row_count / (double)writer->expected_count);
    }
    int ret = ntk_sqlite_errno(code);
    sqlite3_reset(writer->insert);
    return ret;
}

int ntk_sqlite_table_fill(sqlite3 *db, const struct ntk_export *export,
                          const struct ntk_table *table, struct ntk_progress *progress)
{
    struct writer writer = { .table = table, .progress = progress };
    struct ntk_buf insert = { 0 };

    writer.expected_count = progress ? ntk_sqlite_rows_expected(export, table) : 0;
    ntk_buf_add_format(&insert, "INSERT INTO \"%s\" VALUES (", table->name);
    for (size_t i = 0; i < table->column_count; i++) {
        ntk_buf_add_text(&insert, i ? ",?" : "?");
    }
    ntk_buf_add_text(&insert, ")");
    int ret = ntk_buf_ok(&insert) ? ntk_sqlite_errno(sqlite3_prepare_v2(
                                        db, ntk_buf_text_get(&insert), -1, &writer.insert, NULL))
                                  : -ENOMEM;
    ntk_buf_fini(&insert);
    ret = ret < 0 ? ret : table->rows(export, put_row, &writer);
    sqlite3_finalize(writer.insert);
    return ret;
}
