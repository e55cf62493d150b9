/* SPDX-License-Identifier: MIT */
/*
 * table - describes a table of an export: its columns, and the source of its rows.
 *
 * One description serves every format: a row is a plain struct with members of type int64_t, double
 * or const char *; a column has its member, name, type and unit. Rows are generated one at a time,
 * so no table is ever completely in memory.
 *
 * An absent value is NTK_ABSENT_I64, NTK_ABSENT_F64 (any NaN) or NULL: never zero or estimated.
 * Threads: descriptions are constants; rows() and the functions that it calls belong to one thread.
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_TABLE_H
#define NTK_PROFILER_OUTPUT_TABLES_TABLE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ntk_export;

#define NTK_TABLE_COLUMNS_MAX 256
#define NTK_ABSENT_I64 INT64_MIN
#define NTK_ABSENT_F64 ((double)NAN)

enum ntk_column_kind {                      /* as written ............ as a member of the row */
                       NTK_COLUMN_I64,      /* integer                 int64_t */
                       NTK_COLUMN_I32,      /* integer below 2^31      int64_t */
                       NTK_COLUMN_F64,      /* number                  double */
                       NTK_COLUMN_F32,      /* number of 24 bits       double that holds a float */
                       NTK_COLUMN_BOOL,     /* true, false             int64_t 0 or 1 */
                       NTK_COLUMN_TEXT,     /* text                    const char *, UTF-8 */
                       NTK_COLUMN_JSON,     /* text, in JSON its value  const char * */
                       NTK_COLUMN_I64_TEXT, /* an integer as text      int64_t */
};

enum ntk_column_presence {
    NTK_COLUMN_ALWAYS,
    NTK_COLUMN_MAYBE,
    NTK_COLUMN_NEVER, /* in the schema, but never in captures; offset is unused */
};

struct ntk_column {
    const char *name;
    enum ntk_column_kind kind;
    enum ntk_column_presence presence;
    size_t offset;       /* offset of the member in the row */
    const char *unit;    /* "" if none */
    const char *meaning; /* "" in tables that do not describe themselves */
};

/* Receives a row, which is valid during the call. A negative result stops and is returned by
 * rows(). */
typedef int ntk_row_put(void *ctx, const void *row);

struct ntk_table {
    const char *name;
    const char *meaning;
    const struct ntk_column *columns;
    size_t column_count;
    /* Passes every row to put, in an order that depends only on the capture. Returns 0 or
     * -errno. */
    int (*rows)(const struct ntk_export *export, ntk_row_put *put, void *ctx);
};

union ntk_cell {
    int64_t i64;
    double f64;
    const char *text;
};

/* Gets a cell; returns false if the row does not have it. */
static inline bool ntk_cell_get(const struct ntk_column *column, const void *row,
                                union ntk_cell *out_cell)
{
    if (column->presence == NTK_COLUMN_NEVER) {
        return false;
    }
    const void *member = (const char *)row + column->offset;
    switch (column->kind) {
    case NTK_COLUMN_F64:
    case NTK_COLUMN_F32:
        out_cell->f64 = *(const double *)member;
        return out_cell->f64 == out_cell->f64;
    case NTK_COLUMN_TEXT:
    case NTK_COLUMN_JSON:
        out_cell->text = *(const char *const *)member;
        return out_cell->text != NULL;
    default:
        out_cell->i64 = *(const int64_t *)member;
        return out_cell->i64 != NTK_ABSENT_I64;
    }
}

/* Returns "integer", "number", "boolean" or "string". */
const char *ntk_column_type_name(enum ntk_column_kind kind);

#endif
