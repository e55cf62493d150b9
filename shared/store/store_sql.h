/* SPDX-License-Identifier: MIT */
/*
 * store_sql - SQLite calls that writer and reader share, with error messages. Private to
 * shared/store. Threads: one at a time per connection.
 *
 * Owner:   the caller finalizes statements.
 */
#ifndef NTK_SHARED_STORE_STORE_SQL_H
#define NTK_SHARED_STORE_STORE_SQL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"

/* "neur": the value of PRAGMA application_id in the file's header. */
#define NTK_STORE_APPLICATION_ID 0x6e657572

/* Sets err to "<what>: <SQLite's message>" and returns the errno. */
int ntk_store_sql_error(sqlite3 *db, const char *what, struct ntk_err *err);
int ntk_store_sql_exec(sqlite3 *db, const char *sql, struct ntk_err *err);
int ntk_store_sql_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out_statement,
                          struct ntk_err *err);
/* Same, for the text in a buffer, which it frees. */
int ntk_store_sql_prepare_buf(sqlite3 *db, struct ntk_buf *sql, sqlite3_stmt **out_statement,
                              struct ntk_err *err);
/* Reads the first column of the first row as a number; -ENODATA if it has no row. */
int ntk_store_sql_number(sqlite3 *db, const char *sql, int64_t *out_number, struct ntk_err *err);
/* Returns true if there is another row. Sets *ret only after an error. */
bool ntk_store_sql_next(sqlite3 *db, sqlite3_stmt *statement, int *ret, struct ntk_err *err);
/* Runs a statement without result rows, and counts a row. Even after an error, its parameters are
 * ready for the next row. */
int ntk_store_sql_run(sqlite3 *db, sqlite3_stmt *statement, uint64_t *row_count,
                      struct ntk_err *err);
/* Same; then resets the statement. */
int ntk_store_sql_finish(sqlite3 *db, sqlite3_stmt *statement, uint64_t *row_count,
                         struct ntk_err *err);
/* Prepares "INSERT INTO table VALUES (...) conflict" with a parameter for each column, which has
 * the column's name; parameters that are not set are NULL. conflict NULL: the row replaces one with
 * the same key. */
int ntk_store_sql_prepare_row(sqlite3 *db, const char *table, const char *conflict,
                              sqlite3_stmt **out_statement, struct ntk_err *err);
/* The nearest number that SQLite can store as an integer. */
sqlite3_int64 ntk_store_sql_integer(uint64_t number);
/* Set parameters by name, ":name" in the SQL, which must exist; unknown values become NULL, and a
 * NULL text becomes "". The caller keeps texts and bytes until the statement is reset. */
int ntk_store_sql_parameter(sqlite3_stmt *statement, const char *name); /* 0: no such parameter */
void ntk_store_sql_bind(sqlite3_stmt *statement, const char *name, uint64_t value);
void ntk_store_sql_bind_known(sqlite3_stmt *statement, const char *name, bool is_known,
                              uint64_t value);
void ntk_store_sql_bind_double(sqlite3_stmt *statement, const char *name, bool is_known,
                               double value);
void ntk_store_sql_bind_text(sqlite3_stmt *statement, const char *name, const char *text);
void ntk_store_sql_bind_blob(sqlite3_stmt *statement, const char *name, const struct ntk_buf *buf);
/* For filters: binds only if there is a text and the statement has the parameter. */
void ntk_store_sql_bind_filter(sqlite3_stmt *statement, const char *name, const char *text);
/* The index or value of a column in the current row, by name, which must exist. The statement owns
 * texts until the next step; an unknown word is NULL, an unknown text is "". */
int ntk_store_sql_column(sqlite3_stmt *statement, const char *name);
uint64_t ntk_store_sql_u64(sqlite3_stmt *statement, const char *column);
double ntk_store_sql_double(sqlite3_stmt *statement, const char *column);
bool ntk_store_sql_known(sqlite3_stmt *statement, const char *column);
const char *ntk_store_sql_word(sqlite3_stmt *statement, const char *column);
const char *ntk_store_sql_text(sqlite3_stmt *statement, const char *column);
/* Reads the columns exit_code and exit_signal. */
struct ntk_exit ntk_store_sql_exit(sqlite3_stmt *statement);
/* Appends the bytes of a BLOB. */
void ntk_store_sql_blob(sqlite3_stmt *statement, const char *column, struct ntk_buf *buf);
/* Same as ntk_store_histogram_decode(). */
int ntk_store_sql_histogram(sqlite3_stmt *statement, const char *column,
                            struct ntk_histogram_dense *histogram);
/* Checks whether the file is one of our databases with our version and layout, or empty. Returns
 * -EPROTO if it is another program's, of a newer version, or has a changed layout; -EBADMSG if it
 * is damaged. */
int ntk_store_sql_check(sqlite3 *db, bool *out_is_empty, struct ntk_err *err);

#endif
