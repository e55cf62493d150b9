/* SPDX-License-Identifier: MIT */
/*
 * sqlite_tables - writes tables of an export to an SQLite database: their definitions, and their
 * rows.
 *
 * Threads: one at a time per database.
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_SQLITE_TABLES_H
#define NTK_PROFILER_OUTPUT_TABLES_SQLITE_TABLES_H

#include <sqlite3.h>

#include "profiler/output/tables/table.h"
#include "shared/base/progress.h"

/* Returns 0 or the -errno that corresponds to a code of SQLite. */
int ntk_sqlite_errno(int code);

/* Returns "INTEGER", "REAL" or "TEXT". */
const char *ntk_sqlite_type(enum ntk_column_kind kind);
/* Returns an approximate number of rows, for progress. */
uint64_t ntk_sqlite_rows_expected(const struct ntk_export *export, const struct ntk_table *table);

/* Returns the collation of a column. Tables contain gpsimd, like the vendor's tables, but other
 * outputs show GpSimd: queries find both. */
const char *ntk_sqlite_collation(const struct ntk_column *column);
/* Creates an empty STRICT table with all columns; required columns are NOT NULL. Returns 0 or
 * -errno. */
int ntk_sqlite_table_create(sqlite3 *db, const struct ntk_table *table);
/* Adds all rows to the table; progress may be NULL. Returns 0 or -errno. */
int ntk_sqlite_table_fill(sqlite3 *db, const struct ntk_export *export,
                          const struct ntk_table *table, struct ntk_progress *progress);

#endif
