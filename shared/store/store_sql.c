/* SPDX-License-Identifier: MIT */
/* store_sql - SQLite calls that writer and reader share. */
#include "shared/store/store_sql.h"

#include <assert.h>

#include <errno.h>
#include <string.h>

#include "shared/base/str.h"
#include "shared/store/store.h"
#include "shared/store/store_file.h"
#include "shared/store/store_histogram.h"
#include "shared/store/store_schema.h"

#define NAME_BYTES 64 /* maximum length of a parameter name */

/* A schema with a higher version is considered a damaged header, not a newer neuron-monitor. */
#define VERSION_MAX (NTK_STORE_SCHEMA_VERSION + 100)

/* Converts an SQLite result code to a negative errno. */
static int sql_errno(int sqlite_code)
{
    switch (sqlite_code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return 0;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_READONLY:
        return -EROFS;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    case SQLITE_CANTOPEN:
        return -ENOENT;
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return -EACCES;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        return -EBADMSG;
    case SQLITE_INTERRUPT:
        return -ECANCELED;
    default:
        return -EIO;
    }
}

int ntk_store_sql_error(sqlite3 *db, const char *what, struct ntk_err *err)
{
    int code = sql_errno(sqlite3_extended_errcode(db));

    if (code == -ECANCELED) {
        return ntk_err_set(err, code, NTK_ERR_NO_OFFSET,
                           "%s: aborted: the program is exiting, or the query requires more time "
                           "or memory than it would on a valid file",
                           what);
    }
    /* SQLite's message does not contain the reason, so use the system's. */
    int cause = (sqlite3_errcode(db) & 0xff) == SQLITE_CANTOPEN ? sqlite3_system_errno(db) : 0;
    return ntk_err_set(err, code ? code : -EIO, NTK_ERR_NO_OFFSET, "%s: %s%s%s", what,
                       sqlite3_errmsg(db), cause ? ": " : "", cause ? strerror(cause) : "");
}

int ntk_store_sql_exec(sqlite3 *db, const char *sql, struct ntk_err *err)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        return ntk_store_sql_error(db, "database", err);
    }
    return 0;
}

int ntk_store_sql_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out_statement,
                          struct ntk_err *err)
{
    if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, out_statement, NULL) !=
        SQLITE_OK) {
        return ntk_store_sql_error(db, "database", err);
    }
    return 0;
}

int ntk_store_sql_prepare_buf(sqlite3 *db, struct ntk_buf *sql, sqlite3_stmt **out_statement,
                              struct ntk_err *err)
{
    int ret = ntk_buf_ok(sql) ? ntk_store_sql_prepare(db, ntk_buf_text_get(sql), out_statement, err)
                              : ntk_err_no_memory(err);

    ntk_buf_fini(sql);
    return ret;
}

int ntk_store_sql_prepare_row(sqlite3 *db, const char *table, const char *conflict,
                              sqlite3_stmt **out_statement, struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *columns = NULL;

    ntk_buf_add_format(&sql, "SELECT * FROM %s", table);
    int ret = ntk_store_sql_prepare_buf(db, &sql, &columns, err);
    if (ret == 0) {
        ntk_buf_add_format(&sql, "INSERT%s INTO %s VALUES", conflict ? "" : " OR REPLACE", table);
        for (int i = 0; i < sqlite3_column_count(columns); i++) {
            ntk_buf_add_format(&sql, "%s:%s", i == 0 ? " (" : ", ",
                               sqlite3_column_name(columns, i));
        }
        ntk_buf_add_format(&sql, ")%s", conflict ? conflict : "");
        ret = ntk_store_sql_prepare_buf(db, &sql, out_statement, err);
    }
    sqlite3_finalize(columns);
    return ret;
}

bool ntk_store_sql_next(sqlite3 *db, sqlite3_stmt *statement, int *ret, struct ntk_err *err)
{
    int step = sqlite3_step(statement);

    if (step != SQLITE_ROW && step != SQLITE_DONE) {
        *ret = ntk_store_sql_error(db, "database", err);
    }
    return step == SQLITE_ROW;
}

int ntk_store_sql_run(sqlite3 *db, sqlite3_stmt *statement, uint64_t *row_count,
                      struct ntk_err *err)
{
    int ret = sqlite3_step(statement) == SQLITE_DONE ? 0 : ntk_store_sql_error(db, "database", err);

    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    (*row_count)++;
    return ret;
}

int ntk_store_sql_finish(sqlite3 *db, sqlite3_stmt *statement, uint64_t *row_count,
                         struct ntk_err *err)
{
    int ret = ntk_store_sql_run(db, statement, row_count, err);

    sqlite3_finalize(statement);
    return ret;
}

sqlite3_int64 ntk_store_sql_integer(uint64_t number)
{
    return number < INT64_MAX ? (sqlite3_int64)number : INT64_MAX;
}

int ntk_store_sql_number(sqlite3 *db, const char *sql, int64_t *out_number, struct ntk_err *err)
{
    sqlite3_stmt *statement;
    int ret = ntk_store_sql_prepare(db, sql, &statement, err);

    if (ret < 0) {
        return ret;
    }
    int step = sqlite3_step(statement);
    if (step == SQLITE_ROW) {
        *out_number = sqlite3_column_int64(statement, 0);
    } else if (step == SQLITE_DONE) {
        ret = -ENODATA;
    } else {
        ret = ntk_store_sql_error(db, "database", err);
    }
    sqlite3_finalize(statement);
    return ret;
}

/* Checks the layout within one state of the file. */
static int check_layout(sqlite3 *db, bool is_ours, bool *out_is_empty, struct ntk_err *err)
{
    int64_t application = 0;
    int64_t version = 0;
    int64_t objects = 0;
    int ret = ntk_store_sql_number(db, "PRAGMA application_id", &application, err);

    if (ret == 0) {
        ret = ntk_store_sql_number(db, "PRAGMA user_version", &version, err);
    }
    if (ret == 0) {
        ret =
            ntk_store_sql_number(db, "SELECT EXISTS (SELECT 1 FROM sqlite_schema)", &objects, err);
    }
    if (ret == -EBADMSG && !is_ours && application != NTK_STORE_APPLICATION_ID) {
        return ntk_err_set(err, -EPROTO, NTK_ERR_NO_OFFSET,
                           "a damaged database created by another program");
    }
    if (ret < 0 || objects == 0) {
        *out_is_empty = ret == 0;
        return ret;
    }
    if (application != NTK_STORE_APPLICATION_ID && is_ours) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "the header is damaged");
    }
    if (application != NTK_STORE_APPLICATION_ID) {
        return ntk_err_set(err, -EPROTO, NTK_ERR_NO_OFFSET,
                           "a database created by another program");
    }
    if (version > NTK_STORE_SCHEMA_VERSION && version <= VERSION_MAX) {
        return ntk_err_set(
            err, -EPROTO, NTK_ERR_NO_OFFSET,
            "schema version %lld belongs to a newer neuron-monitor (supported: at most %d)",
            (long long)version, NTK_STORE_SCHEMA_VERSION);
    }
    if (version < 1 || version > VERSION_MAX) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "unknown schema version %lld",
                           (long long)version);
    }
    return ntk_store_schema_check(db, err);
}

int ntk_store_sql_check(sqlite3 *db, bool *out_is_empty, struct ntk_err *err)
{
    bool is_ours;
    int ret = ntk_store_file_check(db, &is_ours, err);

    ret = ret < 0 ? ret : ntk_store_sql_exec(db, "BEGIN", err);
    ret = ret < 0 ? ret : check_layout(db, is_ours, out_is_empty, err);
    if (!sqlite3_get_autocommit(db)) {
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    }
    return ret;
}

/* Parameters are bound in order, so it is usually the next one. */
int ntk_store_sql_parameter(sqlite3_stmt *statement, const char *name)
{
    static _Thread_local struct {
        sqlite3_stmt *statement;
        int at;
    } last;
    int at = last.statement == statement ? last.at + 1 : 1;
    const char *next = sqlite3_bind_parameter_name(statement, at);

    if (!next || strcmp(next + 1, name) != 0) {
        char text[NAME_BYTES] = ":";
        ntk_str_copy(text + 1, sizeof text - 1, name);
        at = sqlite3_bind_parameter_index(statement, text);
    }
    last.statement = statement;
    last.at = at;
    return at;
}

static int parameter(sqlite3_stmt *statement, const char *name)
{
    int at = ntk_store_sql_parameter(statement, name);

    assert(at > 0);
    return at;
}

void ntk_store_sql_bind(sqlite3_stmt *statement, const char *name, uint64_t value)
{
    sqlite3_bind_int64(statement, parameter(statement, name), (sqlite3_int64)value);
}

void ntk_store_sql_bind_known(sqlite3_stmt *statement, const char *name, bool is_known,
                              uint64_t value)
{
    if (is_known) {
        ntk_store_sql_bind(statement, name, value);
    }
}

void ntk_store_sql_bind_double(sqlite3_stmt *statement, const char *name, bool is_known,
                               double value)
{
    if (is_known) {
        sqlite3_bind_double(statement, parameter(statement, name), value);
    }
}

void ntk_store_sql_bind_text(sqlite3_stmt *statement, const char *name, const char *text)
{
    sqlite3_bind_text(statement, parameter(statement, name), text ? text : "", -1, SQLITE_STATIC);
}

void ntk_store_sql_bind_blob(sqlite3_stmt *statement, const char *name, const struct ntk_buf *buf)
{
    sqlite3_bind_blob64(statement, parameter(statement, name), buf->bytes, buf->bytes_count,
                        SQLITE_STATIC);
}

void ntk_store_sql_bind_filter(sqlite3_stmt *statement, const char *name, const char *text)
{
    int at = ntk_store_sql_parameter(statement, name);

    if (text && at > 0) {
        sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
    }
}

int ntk_store_sql_column(sqlite3_stmt *statement, const char *name)
{
    int count = sqlite3_column_count(statement);
    int column = 0;

    while (column < count && strcmp(sqlite3_column_name(statement, column), name) != 0) {
        column++;
    }
    assert(column < count);
    return column;
}

uint64_t ntk_store_sql_u64(sqlite3_stmt *statement, const char *column)
{
    return (uint64_t)sqlite3_column_int64(statement, ntk_store_sql_column(statement, column));
}

double ntk_store_sql_double(sqlite3_stmt *statement, const char *column)
{
    return sqlite3_column_double(statement, ntk_store_sql_column(statement, column));
}

bool ntk_store_sql_known(sqlite3_stmt *statement, const char *column)
{
    return sqlite3_column_type(statement, ntk_store_sql_column(statement, column)) != SQLITE_NULL;
}

const char *ntk_store_sql_word(sqlite3_stmt *statement, const char *column)
{
    int at = ntk_store_sql_column(statement, column);

    return (const char *)sqlite3_column_text(statement, at);
}

const char *ntk_store_sql_text(sqlite3_stmt *statement, const char *column)
{
    const char *text = ntk_store_sql_word(statement, column);

    return text ? text : "";
}

struct ntk_exit ntk_store_sql_exit(sqlite3_stmt *statement)
{
    struct ntk_exit code = { NTK_EXIT_CODE, (uint32_t)ntk_store_sql_u64(statement, "exit_code") };
    struct ntk_exit by_signal = { NTK_EXIT_SIGNAL,
                                  (uint32_t)ntk_store_sql_u64(statement, "exit_signal") };

    return ntk_store_sql_known(statement, "exit_signal") ? by_signal
           : ntk_store_sql_known(statement, "exit_code") ? code
                                                         : (struct ntk_exit){ 0 };
}

void ntk_store_sql_blob(sqlite3_stmt *statement, const char *column, struct ntk_buf *buf)
{
    int at = ntk_store_sql_column(statement, column);
    const void *bytes = sqlite3_column_blob(statement, at);

    ntk_buf_add(buf, bytes, (size_t)sqlite3_column_bytes(statement, at));
}

int ntk_store_sql_histogram(sqlite3_stmt *statement, const char *column,
                            struct ntk_histogram_dense *histogram)
{
    int at = ntk_store_sql_column(statement, column);

    return ntk_store_histogram_decode(sqlite3_column_blob(statement, at),
                                      (size_t)sqlite3_column_bytes(statement, at), histogram);
}
