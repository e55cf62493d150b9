/* SPDX-License-Identifier: MIT */
/*
 * query_table - holds the rows of an answer, and writes them in three formats.
 *
 * For users: columns with units, "-" where a value is unknown. CSV (RFC 4180) and JSON (an array
 * of objects): plain numbers in the unit that ends the column's name, nothing or null where
 * unknown.
 *
 * Owner: init/fini; texts are copied. Threads: any; plain data.
 */
#ifndef NTK_AGENT_QUERY_QUERY_TABLE_H
#define NTK_AGENT_QUERY_QUERY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/base/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_QUERY_COLUMNS_MAX 32
#define NTK_QUERY_NAME_BYTES 64

enum ntk_query_kind {
    NTK_QUERY_TEXT,
    NTK_QUERY_TIME,    /* ns since 1970, written as UTC */
    NTK_QUERY_COUNT,   /* a whole number */
    NTK_QUERY_NS,      /* a duration */
    NTK_QUERY_SECONDS, /* duration in ns, written in seconds */
    NTK_QUERY_BYTES,
    NTK_QUERY_RATIO, /* 0 to 1; for users in percent */
    NTK_QUERY_NUMBER,
    NTK_QUERY_DECIMAL, /* usually a small number */
    /* True if the count in the previous column is an estimate; shown as "~" in a table */
    NTK_QUERY_ESTIMATED,
};

enum ntk_query_form {
    NTK_QUERY_FORM_TABLE,
    NTK_QUERY_FORM_LIST, /* for users, one line per column */
    NTK_QUERY_FORM_CSV,
    NTK_QUERY_FORM_JSON,
    NTK_QUERY_FORM_JSON_DENSE, /* without blanks, for programs */
};

struct ntk_query_column {
    char name[NTK_QUERY_NAME_BYTES];
    enum ntk_query_kind kind;
    bool is_optional;
};

struct ntk_query_table {
    struct ntk_query_column columns[NTK_QUERY_COLUMNS_MAX];
    size_t column_count;
    struct ntk_vec cells; /* elements are cells, row by row */
    struct ntk_vec texts; /* elements are owned char * */
    size_t row_max;       /* cells of further rows are counted but not stored; 0 for no limit */
    size_t omitted;       /* number of omitted cells */
    bool failed;          /* true after out of memory */
};

void ntk_query_table_init(struct ntk_query_table *table);
void ntk_query_table_fini(struct ntk_query_table *table);
/* Adds a column; must be called for all columns before the first cell. */
void ntk_query_table_add_column(struct ntk_query_table *table, enum ntk_query_kind kind,
                                const char *name);
/* Like ntk_query_table_add_column(), but users see the column only if a row has a value. */
void ntk_query_table_add_optional_column(struct ntk_query_table *table, enum ntk_query_kind kind,
                                         const char *name);
struct ntk_query_heading {
    enum ntk_query_kind kind;
    const char *name;
};
void ntk_query_table_add_columns(struct ntk_query_table *table,
                                 const struct ntk_query_heading *headings, size_t count);
/* Adds the next cell of the row; a row is complete after column_count cells. */
void ntk_query_table_add_number(struct ntk_query_table *table, bool known, double value);
void ntk_query_table_add_count(struct ntk_query_table *table, bool known, uint64_t value);
/* Adds a text; NULL and "" are unknown. */
void ntk_query_table_add_text(struct ntk_query_table *table, const char *text); /* NULL: unknown */

size_t ntk_query_table_row_count(const struct ntk_query_table *table);
void ntk_query_table_write(const struct ntk_query_table *table, enum ntk_query_form form,
                           struct ntk_buf *out);
/* Writes to standard output; a reader that stops early is not a failure. */
int ntk_query_table_print(const struct ntk_query_table *table, enum ntk_query_form form,
                          struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
