/* SPDX-License-Identifier: MIT */
/*
 * query - runs one SELECT over the tables of an export, without exporting them first.
 *
 * The tables of docs/formats/profile-tables.md that the statement uses, and no others, are written
 * to a private database that SQLite keeps in memory and spills to a temporary file ($SQLITE_TMPDIR,
 * $TMPDIR, /var/tmp, /tmp), which has no name. Rows are written as they are produced. Statements
 * may only read these tables: no other files, changes or settings.
 *
 * For aggregates over one table, groups of rows with partial counts and sums replace the rows
 * (query_plan.h): no table is built, and the answer is the same.
 *
 * Virtual tables are not used, because rows are generated in order (table.h), so each scan would
 * generate the table again, and a join would do so for every row of the other side.
 *
 * Threads: one.
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_QUERY_H
#define NTK_PROFILER_OUTPUT_TABLES_QUERY_H

#include "profiler/output/export.h"
#include "profiler/output/sink.h"
#include "shared/base/err.h"

/* Exit code of the command if it failed after printing rows. */
#define NTK_QUERY_EXIT_CUT 3

enum ntk_query_format {
    NTK_QUERY_TEXT, /* aligned, with "-" for absent; the whole result is in memory */
    NTK_QUERY_JSON, /* an array of objects, with null for absent */
    NTK_QUERY_CSV,  /* a line of names first, with empty cells for absent */
};

/* row_count_max 0 means all rows; *out_has_more: there are more (may be NULL). Returns -EINVAL with
 * SQLite's message for the statement, for more than one statement, for statements other than
 * SELECT, or for too many columns in a text table. Otherwise 0 or -errno. */
int ntk_query_run(const struct ntk_export *export, const char *sql, enum ntk_query_format format,
                  uint64_t row_count_max, struct ntk_sink *sink, bool *out_has_more,
                  struct ntk_err *err);

/* Returns true if ntk_export_create_rows() suffices for all tables in the statement. */
bool ntk_query_is_of_rows(const char *sql);

/* Lists the tables available to a statement, for a capture or for folders. name: lists the columns
 * of this table, -ENOENT if unknown. */
int ntk_query_list(bool is_of_folders, const char *name, bool is_json, struct ntk_buf *out,
                   struct ntk_err *err);

#endif
