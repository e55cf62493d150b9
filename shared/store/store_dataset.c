/* SPDX-License-Identifier: MIT */
/* store_dataset - reads the database as tables for other programs. */
#include "shared/store/store_dataset.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/base/clock.h"
#include "shared/store/columns.h"
#include "shared/store/store_reader_state.h"
#include "shared/store/store_sql.h"

#define STEP_HOUR (3600 * NTK_NS_PER_SECOND)
#define STEP_DAY (24 * STEP_HOUR)
#define KEPT_EVER NTK_STORE_TIER_COUNT
#define KEPT_SECOND NTK_STORE_SECOND
#define KEPT_MINUTE NTK_STORE_MINUTE
#define KEPT_HOUR NTK_STORE_HOUR

enum of { OF_ROWS, OF_LOG, OF_STATE };

#define NTK_STORE_DATASET(name, step, kept, of, meaning, sql) \
    { #name, meaning, STEP_##step, OF_##of == OF_LOG },
const struct ntk_store_dataset_info ntk_store_datasets[NTK_STORE_DATASET_COUNT] = {
#include "shared/store/store_datasets.def"
};

#define NTK_STORE_DATASET(name, step, kept, of, meaning, sql) { OF_##of, KEPT_##kept, sql },
static const struct {
    enum of of;
    int kept; /* enum ntk_store_tier, or forever */
    const char *sql;
} rows[NTK_STORE_DATASET_COUNT] = {
#include "shared/store/store_datasets.def"
};

struct ntk_store_cursor {
    sqlite3 *db;
    sqlite3_stmt *statement;
    size_t column_count;
    struct ntk_store_cursor_column columns[NTK_STORE_DATASET_COLUMNS_MAX];
    struct ntk_store_cell cells[NTK_STORE_DATASET_COLUMNS_MAX];
};

enum ntk_store_dataset_id ntk_store_dataset_find(const char *name)
{
    enum ntk_store_dataset_id id = 0;

    while (id < NTK_STORE_DATASET_COUNT && strcmp(ntk_store_datasets[id].name, name) != 0) {
        id++;
    }
    return id;
}

uint64_t ntk_store_dataset_start(enum ntk_store_dataset_id id, uint64_t time_ns)
{
    uint64_t step_ns = ntk_store_datasets[id].step_ns;

    return (time_ns - (time_ns > 0)) / step_ns * step_ns;
}

/* ---- times of rows ---- */

/* Reads two numbers of one row, with :bound set; -1 for NULL. */
static int ask(struct ntk_store_reader *reader, const char *sql, uint64_t bound,
               int64_t numbers[static 2], struct ntk_err *err)
{
    sqlite3_stmt *statement;
    int ret = ntk_store_sql_prepare(reader->db, sql, &statement, err);

    numbers[0] = numbers[1] = -1;
    if (ret < 0) {
        return ret;
    }
    ntk_store_sql_bind(statement, "bound", ntk_store_sql_integer(bound));
    int step = sqlite3_step(statement);
    for (int i = 0; step == SQLITE_ROW && i < 2 && i < sqlite3_column_count(statement); i++) {
        if (sqlite3_column_type(statement, i) != SQLITE_NULL) {
            numbers[i] = sqlite3_column_int64(statement, i);
        }
    }
    if (step != SQLITE_ROW && step != SQLITE_DONE) {
        ret = ntk_store_sql_error(reader->db, "database", err);
    }
    sqlite3_finalize(statement);
    return ret;
}

int ntk_store_dataset_next(struct ntk_store_reader *reader, enum ntk_store_dataset_id id,
                           uint64_t after_ns, uint64_t *out_time_ns, struct ntk_err *err)
{
    char sql[160];
    int64_t found[2];

    if (rows[id].of == OF_STATE) {
        return ntk_store_reader_next(reader, after_ns, out_time_ns, err);
    }
    (void)snprintf(sql, sizeof sql, "SELECT min(time_ns) FROM %s WHERE time_ns > :bound",
                   ntk_store_datasets[id].name);
    int ret = ask(reader, sql, after_ns, found, err);
    if (ret == 0 && found[0] <= 0) {
        return -ENODATA;
    }
    if (ret == 0) {
        *out_time_ns = (uint64_t)found[0];
    }
    return ret;
}

int ntk_store_dataset_span(struct ntk_store_reader *reader, enum ntk_store_dataset_id id,
                           uint64_t *out_whole_ns, uint64_t *out_done_ns, struct ntk_err *err)
{
    struct ntk_tier_extent extents[NTK_STORE_TIER_COUNT];
    int ret = ntk_tier_load_extents(reader->db, extents, err);

    if (ret < 0) {
        return ret;
    }
    *out_whole_ns = rows[id].kept < NTK_STORE_TIER_COUNT ? extents[rows[id].kept].first_ns : 0;
    /* The newest sample does not show that earlier ones are stored: after a step back of the clock
     * it is in the future, and rows of the repeated time follow. The mark of the minutes is set
     * back with the first of them. Rows of a log are as recent as the samples, although they are
     * kept as long as another tier. */
    bool is_hour = rows[id].of == OF_ROWS && rows[id].kept == NTK_STORE_HOUR &&
                   id != NTK_STORE_DATASET_unwatched && id != NTK_STORE_DATASET_device_health;
    *out_done_ns = extents[is_hour ? NTK_STORE_HOUR : NTK_STORE_MINUTE].done_ns;
    return 0;
}

int ntk_store_dataset_late(struct ntk_store_reader *reader, enum ntk_store_dataset_id id,
                           uint64_t above, uint64_t *out_last, uint64_t *out_time_ns,
                           struct ntk_err *err)
{
    char sql[200];
    int64_t found[2];

    assert(ntk_store_datasets[id].is_log);
    (void)snprintf(sql, sizeof sql,
                   "SELECT (SELECT max(event_id) FROM %1$s),"
                   " (SELECT min(time_ns) FROM %1$s WHERE event_id > :bound)",
                   ntk_store_datasets[id].name);
    int ret = ask(reader, sql, above, found, err);
    if (ret == 0) {
        *out_last = found[0] > 0 ? (uint64_t)found[0] : 0;
        *out_time_ns = found[1] > 0 ? (uint64_t)found[1] : UINT64_MAX;
    }
    return ret;
}

int ntk_store_dataset_origin(struct ntk_store_reader *reader, uint64_t time_ns, uint64_t *out_id,
                             char host[NTK_STORE_HOST_BYTES], struct ntk_err *err)
{
    sqlite3_stmt *statement;
    int ret = ntk_store_sql_prepare(
        reader->db,
        "SELECT host_name, (SELECT min(since_ns) FROM machine) AS first_ns FROM machine"
        " ORDER BY since_ns > :time_ns, abs(since_ns / 1000 - :time_ns / 1000) LIMIT 1",
        &statement, err);

    if (ret < 0) {
        return ret;
    }
    host[0] = '\0';
    *out_id = 0;
    ntk_store_sql_bind(statement, "time_ns", ntk_store_sql_integer(time_ns));
    int step = sqlite3_step(statement);
    if (step == SQLITE_ROW) {
        const char *text = ntk_store_sql_text(statement, "host_name");
        int length = snprintf(host, NTK_STORE_HOST_BYTES, "%s", text);
        *out_id = ntk_store_sql_u64(statement, "first_ns");
        if (length >= NTK_STORE_HOST_BYTES) {
            ret = ntk_err_set(err, -ENAMETOOLONG, NTK_ERR_NO_OFFSET,
                              "its host name is longer than %d bytes", NTK_STORE_HOST_BYTES - 1);
        }
    } else if (step != SQLITE_DONE) {
        ret = ntk_store_sql_error(reader->db, "database", err);
    }
    sqlite3_finalize(statement);
    return ret;
}

/* ---- rows ---- */

/* Finds a column's name and type: from "first_seen timestamp", or the type in the table. */
static void name_column(sqlite3_stmt *statement, int index, struct ntk_store_cursor_column *column)
{
    const char *name = sqlite3_column_name(statement, index);
    const char *type = sqlite3_column_decltype(statement, index);
    size_t length = strcspn(name, " ");

    type = name[length] ? name + length + 1 : type ? type : "";
    (void)snprintf(column->name, sizeof column->name, "%.*s", (int)length, name);
    column->kind = strcmp(type, "timestamp") == 0 ? NTK_STORE_CELL_TIME
                   : strcmp(type, "INTEGER") == 0 || strcmp(type, "integer") == 0
                       ? NTK_STORE_CELL_I64
                   : strcmp(type, "REAL") == 0 ? NTK_STORE_CELL_F64
                   : strcmp(type, "BLOB") == 0 ? NTK_STORE_CELL_BLOB
                                               : NTK_STORE_CELL_TEXT;
}

/* Adds the SQL, in which @ is replaced by the dataset's tier: "core_minute" contains the
 * minutes. */
static void tell(struct ntk_buf *sql, enum ntk_store_dataset_id id)
{
    const char *tier = strrchr(ntk_store_datasets[id].name, '_');
    const char *text = rows[id].sql;
    struct ntk_buf plain = { 0 };

    for (const char *at; (at = strchr(text, '@')); text = at + 1) {
        ntk_buf_add(&plain, text, (size_t)(at - text));
        ntk_buf_add_text(&plain, tier ? tier + 1 : "");
    }
    ntk_buf_add_text(&plain, text);
    ntk_columns_tell(sql, ntk_buf_text_get(&plain));
    sql->failed = sql->failed || !ntk_buf_ok(&plain);
    ntk_buf_fini(&plain);
}

int ntk_store_cursor_open(struct ntk_store_reader *reader, enum ntk_store_dataset_id id,
                          uint64_t from_ns, uint64_t to_ns, struct ntk_store_cursor **out_cursor,
                          struct ntk_err *err)
{
    struct ntk_store_cursor *cursor = calloc(1, sizeof *cursor);
    struct ntk_buf sql = { 0 };

    if (!cursor) {
        return ntk_err_no_memory(err);
    }
    tell(&sql, id);
    cursor->db = reader->db;
    int ret = ntk_store_sql_prepare_buf(reader->db, &sql, &cursor->statement, err);
    if (ret < 0) {
        ntk_store_cursor_close(cursor);
        return ret;
    }
    cursor->column_count = (size_t)sqlite3_column_count(cursor->statement);
    assert(cursor->column_count <= NTK_STORE_DATASET_COLUMNS_MAX);
    for (size_t i = 0; i < cursor->column_count; i++) {
        name_column(cursor->statement, (int)i, &cursor->columns[i]);
    }
    ntk_store_sql_bind(cursor->statement, "from_ns", from_ns);
    ntk_store_sql_bind(cursor->statement, "to_ns", to_ns);
    *out_cursor = cursor;
    return 0;
}

void ntk_store_cursor_close(struct ntk_store_cursor *cursor)
{
    if (cursor) {
        sqlite3_finalize(cursor->statement);
        free(cursor);
    }
}

const struct ntk_store_cursor_column *
ntk_store_cursor_columns(const struct ntk_store_cursor *cursor, size_t *out_count)
{
    *out_count = cursor->column_count;
    return cursor->columns;
}

static void take_cell(sqlite3_stmt *statement, int index, enum ntk_store_cell_kind kind,
                      struct ntk_store_cell *cell)
{
    cell->kind = sqlite3_column_type(statement, index) == SQLITE_NULL ? NTK_STORE_CELL_NULL : kind;
    switch (cell->kind) {
    case NTK_STORE_CELL_NULL:
        break;
    case NTK_STORE_CELL_F64:
        cell->f64 = sqlite3_column_double(statement, index);
        break;
    case NTK_STORE_CELL_TEXT:
        cell->bytes = sqlite3_column_text(statement, index);
        cell->bytes_count = (size_t)sqlite3_column_bytes(statement, index);
        break;
    case NTK_STORE_CELL_BLOB:
        cell->bytes = sqlite3_column_blob(statement, index);
        cell->bytes_count = (size_t)sqlite3_column_bytes(statement, index);
        break;
    case NTK_STORE_CELL_I64:
    case NTK_STORE_CELL_TIME: /* a sum beyond 64 bits is a real number: use the maximum */
        cell->i64 = sqlite3_column_int64(statement, index);
        break;
    }
}

int ntk_store_cursor_next(struct ntk_store_cursor *cursor, const struct ntk_store_cell **out_cells,
                          struct ntk_err *err)
{
    int step = sqlite3_step(cursor->statement);

    if (step == SQLITE_DONE) {
        return 0;
    }
    if (step != SQLITE_ROW) {
        return ntk_store_sql_error(cursor->db, "database", err);
    }
    for (size_t i = 0; i < cursor->column_count; i++) {
        take_cell(cursor->statement, (int)i, cursor->columns[i].kind, &cursor->cells[i]);
    }
    *out_cells = cursor->cells;
    return 1;
}
