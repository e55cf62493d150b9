/* SPDX-License-Identifier: MIT */
#include "profiler/output/tables/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/export.h"
#include "profiler/output/tables/query_groups.h"
#include "profiler/output/tables/rows.h"
#include "profiler/output/tables/sqlite_tables.h"
#include "profiler/output/tables/tables.h"
#include "shared/base/progress.h"
#include "shared/base/json.h"
#include "shared/base/suggest.h"
#include "shared/base/text_table.h"

struct query {
    sqlite3 *db;
    sqlite3_stmt *select;
    const struct ntk_table *tables;
    size_t table_count;
    struct reading *readings; /* table_count elements */
    uint64_t rows_left;       /* remaining rows of the answer */
    bool has_more;
};

/* The parts of a table that the statement reads. */
struct reading {
    bool is_read; /* true if the statement has the table's name */
    bool is_column_read[NTK_TABLE_COLUMNS_MAX];
};

/* ---- tables that a query reads --------------------------------------------------------------- */

static int authorize(void *ctx, int action, const char *first, const char *second,
                     const char *database, const char *trigger)
{
    struct query *query = ctx;

    (void)database;
    (void)trigger;
    if (action != SQLITE_READ) {
        return action == SQLITE_SELECT || action == SQLITE_FUNCTION || action == SQLITE_RECURSIVE
                   ? SQLITE_OK
                   : SQLITE_DENY;
    }
    for (size_t t = 0; t < query->table_count; t++) {
        const struct ntk_table *table = &query->tables[t];
        if (strcmp(table->name, first) != 0) {
            continue;
        }
        query->readings[t].is_read = true;
        for (size_t c = 0; c < table->column_count; c++) {
            if (strcmp(table->columns[c].name, second) == 0) {
                query->readings[t].is_column_read[c] = true;
            }
        }
    }
    return SQLITE_OK;
}

static bool has_table(const struct ntk_table *tables, size_t count, const char *name)
{
    bool has = false;

    for (size_t t = 0; t < count; t++) {
        has = has || sqlite3_stricmp(tables[t].name, name) == 0;
    }
    return has;
}

/* Writes "no such table: NAME", with the place of the table or the name that was meant. */
static int table_error(const struct query *query, const char *text, const char *name,
                       struct ntk_err *err)
{
    struct ntk_suggest near = ntk_suggest_begin(name);
    size_t capture_count;
    size_t folder_count;
    const struct ntk_table *of_captures = ntk_tables_schema(&capture_count);
    const struct ntk_table *of_folders = ntk_tables_system(&folder_count);
    bool is_of_folder = query->tables == of_folders;

    if (is_of_folder && has_table(of_captures, capture_count, name)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "no such table in a folder: %s (only captures have this table: pass one "
                           "with -s)",
                           name);
    }
    if (!is_of_folder && has_table(of_folders, folder_count, name)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "no such table in a capture: %s (only folders of inspections have this "
                           "table: pass one with -d)",
                           name);
    }
    for (size_t t = 0; t < query->table_count; t++) {
        ntk_suggest_add(&near, query->tables[t].name);
    }
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                       "%s%s; 'neuron-profile query --tables%s' lists the tables", text,
                       ntk_suggest_text(&near), is_of_folder ? " -d FOLDER" : "");
}

static int sql_error(const struct query *query, struct ntk_err *err)
{
    static const char no_table[] = "no such table: ";
    static const char no_column[] = "no such column: ";
    const char *text = sqlite3_errmsg(query->db);

    if (strncmp(text, no_table, sizeof no_table - 1) == 0) {
        return table_error(query, text, text + sizeof no_table - 1, err);
    }
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s%s", text,
                       strncmp(text, no_column, sizeof no_column - 1) == 0
                           ? "; 'neuron-profile query --tables TABLE' lists the columns of a table"
                           : "");
}

/* Prepares the next statement of a text, NULL after the last: skips blanks, comments and lone
 * semicolons. Returns a code of SQLite. */
static int statement_next(sqlite3 *db, const char **inout_sql, sqlite3_stmt **out_statement)
{
    int code = SQLITE_OK;

    *out_statement = NULL;
    while (code == SQLITE_OK && !*out_statement && **inout_sql) {
        code = sqlite3_prepare_v2(db, *inout_sql, -1, out_statement, inout_sql);
    }
    return code;
}

/* Prepares a statement. The authorizer stays set while a statement exists, and is off only while
 * the tables are filled: some statements act when they are prepared, and some prepare others when
 * they run. */
static int prepare(struct query *query, const char *sql, struct ntk_err *err)
{
    sqlite3_stmt *second = NULL;

    sqlite3_set_authorizer(query->db, authorize, query);
    int code = statement_next(query->db, &sql, &query->select);
    /* VACUUM INTO does not ask the authorizer before it runs. */
    if (code == SQLITE_AUTH || (query->select && !sqlite3_stmt_readonly(query->select))) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "queries can only read the tables of the capture: use one SELECT");
    }
    if (code != SQLITE_OK) {
        return sql_error(query, err);
    }
    if (!query->select) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "the query is empty");
    }
    const char *rest = sql + strspn(sql, " \t\r\n;");
    code = statement_next(query->db, &sql, &second);
    (void)sqlite3_finalize(second);
    if (code != SQLITE_OK || second) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "only one SQL statement is allowed; unexpected text: '%.*s'",
                           (int)strcspn(rest, "\r\n"), rest);
    }
    return 0;
}

/* Fills a table with only the columns that are read, because the others would be most of the
 * work. */
static int fill_table(struct query *query, const struct ntk_export *export, size_t index,
                      struct ntk_progress *progress)
{
    const struct ntk_table *whole = &query->tables[index];
    struct ntk_column *columns = malloc(whole->column_count * sizeof *columns);
    struct ntk_table table = *whole;
    char *drop = sqlite3_mprintf("DROP TABLE \"%w\"", whole->name);
    int ret = columns && drop ? 0 : -ENOMEM;

    table.columns = columns;
    table.column_count = 0;
    for (size_t c = 0; c < whole->column_count && ret == 0; c++) {
        if (query->readings[index].is_column_read[c]) {
            columns[table.column_count++] = whole->columns[c];
        }
    }
    if (ret == 0 && table.column_count == 0) { /* only rows are counted */
        columns[table.column_count++] = whole->columns[0];
    }
    ret = ret < 0 ? ret : ntk_sqlite_errno(sqlite3_exec(query->db, drop, NULL, NULL, NULL));
    ret = ret < 0 ? ret : ntk_sqlite_table_create(query->db, &table);
    struct ntk_export part = *export;
    part.skipped_parts = ntk_rows_unused(&table, table.columns, table.column_count);
    ret = ret < 0 ? ret : ntk_sqlite_table_fill(query->db, &part, &table, progress);
    sqlite3_free(drop);
    free(columns);
    return ret;
}

/* Keeps all columns of tables that may be joined: the authorizer does not report columns joined by
 * NATURAL and USING, or tables that provide no other columns. */
static void keep_joined(struct query *query, const char *sql)
{
    bool joins = strcasestr(sql, "natural") || strcasestr(sql, "using");

    for (size_t t = 0; t < query->table_count && joins; t++) {
        struct reading *reading = &query->readings[t];
        if (strcasestr(sql, query->tables[t].name)) {
            reading->is_read = true;
            memset(reading->is_column_read, true, sizeof reading->is_column_read);
        }
    }
}

static int fill(struct query *query, const struct ntk_export *export, struct ntk_err *err)
{
    struct ntk_progress progress;
    int ret = ntk_sqlite_errno(sqlite3_exec(query->db, "BEGIN", NULL, NULL, NULL));

    for (size_t t = 0; t < query->table_count && ret == 0; t++) {
        char what[96];
        (void)snprintf(what, sizeof what, "reading table %s", query->tables[t].name);
        if (query->readings[t].is_read) {
            ntk_progress_begin(&progress, what);
            ret = fill_table(query, export, t, &progress);
            ntk_progress_show(&progress, 1);
            ntk_progress_end(&progress);
        }
    }
    ret = ret < 0 ? ret : ntk_sqlite_errno(sqlite3_exec(query->db, "COMMIT", NULL, NULL, NULL));
    return ret < 0
               ? ntk_err_set(
                     err, ret, NTK_ERR_NO_OFFSET, "cannot read the tables: %s%s", strerror(-ret),
                     ret == -ENOSPC ? "; set SQLITE_TMPDIR to a folder with more free space" : "")
               : 0;
}

/* Uses groups if they suffice (query_plan.h). Returns 1 with the statement for them, 0, or -errno
 * with a message. */
static int fill_groups(struct query *query, const struct ntk_export *export, const char *sql,
                       char **out_sql, struct ntk_err *err)
{
    struct ntk_query_plan plan = { 0 };
    struct ntk_progress progress;
    char what[96];
    int ret = ntk_query_plan_make(query->tables, query->table_count, sql, &plan);

    if (ret == 1) {
        const struct ntk_table *table = &query->tables[plan.table];
        (void)snprintf(what, sizeof what, "reading table %s", table->name);
        ntk_progress_begin(&progress, what);
        ret = ntk_query_groups_fill(query->db, export, table, &plan, &progress);
        ntk_progress_show(&progress, 1);
        ntk_progress_end(&progress);
    }
    if (ret == 1) {
        *out_sql = plan.sql;
        plan.sql = NULL;
    }
    ntk_query_plan_fini(&plan);
    return ret < 0 ? ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot read the tables: %s",
                                 strerror(-ret))
                   : ret;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void put_json_value(sqlite3_stmt *select, int column, struct ntk_json *json)
{
    switch (sqlite3_column_type(select, column)) {
    case SQLITE_NULL:
        ntk_json_null(json);
        break;
    case SQLITE_INTEGER:
        ntk_json_i64(json, sqlite3_column_int64(select, column));
        break;
    case SQLITE_FLOAT:
        ntk_json_double(json, sqlite3_column_double(select, column));
        break;
    default:
        ntk_json_text(json, (const char *)sqlite3_column_text(select, column));
        break;
    }
}

/* Returns the cell as text, with the shortest exact floating-point numbers. NULL if absent. */
static const char *cell_text(sqlite3_stmt *select, int column, char *number, size_t number_bytes)
{
    if (sqlite3_column_type(select, column) == SQLITE_FLOAT) {
        size_t length =
            ntk_json_format_double(number, number_bytes, sqlite3_column_double(select, column));

        number[length < number_bytes ? length : number_bytes - 1] = '\0';
        return number;
    }
    return (const char *)sqlite3_column_text(select, column);
}

static void put_csv_row(sqlite3_stmt *select, struct ntk_buf *out)
{
    char number[32];

    for (int c = 0; c < sqlite3_column_count(select); c++) {
        const char *text = cell_text(select, c, number, sizeof number);

        ntk_buf_add_text(out, c ? "," : "");
        if (text) {
            ntk_buf_add_csv(out, text);
            ntk_buf_add_text(out, text[0] ? "" : "\"\"");
        }
    }
    ntk_buf_add_char(out, '\n');
}

/* Gets the next row of the answer. Returns a code of SQLite; also SQLITE_DONE if no more rows are
 * needed. */
static int next_row(struct query *query)
{
    int code = sqlite3_step(query->select);

    if (code == SQLITE_ROW && query->rows_left == 0) {
        query->has_more = true;
        return SQLITE_DONE;
    }
    query->rows_left -= code == SQLITE_ROW;
    return code;
}

static int put_csv(struct query *query, struct ntk_sink *sink)
{
    sqlite3_stmt *select = query->select;
    int code;

    for (int c = 0; c < sqlite3_column_count(select); c++) {
        ntk_buf_add_text(&sink->buf, c ? "," : "");
        ntk_buf_add_csv(&sink->buf, sqlite3_column_name(select, c));
    }
    ntk_buf_add_char(&sink->buf, '\n');
    while ((code = next_row(query)) == SQLITE_ROW && ntk_sink_step(sink) == 0) {
        put_csv_row(select, &sink->buf);
    }
    return code == SQLITE_ROW ? SQLITE_DONE : code; /* the sink reports its own failure */
}

static int put_json(struct query *query, struct ntk_sink *sink)
{
    sqlite3_stmt *select = query->select;
    struct ntk_json json;
    int code;

    ntk_json_init(&json, &sink->buf, false);
    ntk_json_array_begin(&json);
    while ((code = next_row(query)) == SQLITE_ROW && ntk_sink_step(sink) == 0) {
        ntk_json_object_begin(&json);
        for (int c = 0; c < sqlite3_column_count(select); c++) {
            ntk_json_key(&json, sqlite3_column_name(select, c));
            put_json_value(select, c, &json);
        }
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_buf_add_char(&sink->buf, '\n');
    return code == SQLITE_ROW ? SQLITE_DONE : code;
}

/* Writes text; numbers are right-aligned, and the first row determines the numeric columns. */
static int put_text(struct query *query, struct ntk_sink *sink)
{
    sqlite3_stmt *select = query->select;
    const char *heads[NTK_TEXT_TABLE_COLUMNS_MAX];
    size_t columns = (size_t)sqlite3_column_count(select);
    struct ntk_text_table table;
    uint32_t left = 0;
    int code = next_row(query);

    for (size_t c = 0; c < columns; c++) {
        heads[c] = sqlite3_column_name(select, (int)c);
        if (code == SQLITE_ROW && sqlite3_column_type(select, (int)c) == SQLITE_TEXT) {
            left |= 1U << c;
        }
    }
    ntk_text_table_init(&table, columns, left, heads);
    for (; code == SQLITE_ROW; code = next_row(query)) {
        for (size_t c = 0; c < columns; c++) {
            char number[32];
            const char *text = cell_text(select, (int)c, number, sizeof number);

            ntk_text_table_text(&table, text ? text : "-");
        }
    }
    ntk_text_table_put(&table, &sink->buf);
    ntk_text_table_fini(&table);
    return code;
}

static int answer(struct query *query, enum ntk_query_format format, struct ntk_sink *sink,
                  struct ntk_err *err)
{
    int columns = sqlite3_column_count(query->select);
    int code;

    if (format == NTK_QUERY_TEXT && columns > NTK_TEXT_TABLE_COLUMNS_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "the result has %d columns, but a table on the screen has at most %d: "
                           "select fewer, or use --json or --csv",
                           columns, NTK_TEXT_TABLE_COLUMNS_MAX);
    }
    code = format == NTK_QUERY_JSON  ? put_json(query, sink)
           : format == NTK_QUERY_CSV ? put_csv(query, sink)
                                     : put_text(query, sink);
    return code == SQLITE_DONE ? 0 : sql_error(query, err);
}

int ntk_query_run(const struct ntk_export *export, const char *sql, enum ntk_query_format format,
                  uint64_t row_count_max, struct ntk_sink *sink, bool *out_has_more,
                  struct ntk_err *err)
{
    struct query query = { .rows_left = row_count_max ? row_count_max : UINT64_MAX };

    query.tables = ntk_tables_of(export, &query.table_count);
    query.readings = calloc(query.table_count, sizeof *query.readings);
    /* Without a name: a private database of this thread, which ends with its connection. */
    int ret = query.readings
                  ? ntk_sqlite_errno(sqlite3_open_v2(
                        "", &query.db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL))
                  : -ENOMEM;
    for (size_t t = 0; t < query.table_count && ret == 0; t++) {
        ret = ntk_sqlite_table_create(query.db, &query.tables[t]);
    }
    if (ret < 0) {
        ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot create a database: %s", strerror(-ret));
    }
    ret = ret < 0 ? ret : prepare(&query, sql, err);
    sqlite3_set_authorizer(query.db, NULL, NULL);
    sqlite3_finalize(query.select);
    query.select = NULL;
    char *grouped = NULL;
    ret = ret < 0 ? ret : fill_groups(&query, export, sql, &grouped, err);
    if (ret == 0) {
        keep_joined(&query, sql);
        ret = fill(&query, export, err);
    }
    /* tables may have changed, so it is prepared here */
    ret = ret < 0 ? ret : prepare(&query, grouped ? grouped : sql, err);
    ret = ret < 0 ? ret : answer(&query, format, sink, err);
    if (out_has_more) {
        *out_has_more = query.has_more;
    }
    sqlite3_finalize(query.select);
    sqlite3_close(query.db);
    free(query.readings);
    free(grouped);
    return ret;
}

bool ntk_query_is_of_rows(const char *sql)
{
    static int (*const of_rows[])(const struct ntk_export *, ntk_row_put *, void *) = {
        ntk_rows_instructions, ntk_rows_packets,      ntk_rows_transfers,
        ntk_rows_semaphores,   ntk_rows_active_spans,
    };
    size_t count;
    const struct ntk_table *tables = ntk_tables_schema(&count);

    for (size_t t = 0; t < count; t++) {
        bool is_of_rows = false;
        for (size_t i = 0; i < sizeof of_rows / sizeof *of_rows; i++) {
            is_of_rows = is_of_rows || tables[t].rows == of_rows[i];
        }
        if (!is_of_rows && strcasestr(sql, tables[t].name)) {
            return false;
        }
    }
    return true;
}
