/* SPDX-License-Identifier: MIT */
/*
 * columns - the columns of samples (columns.def), and the counters of a core, in the order of
 * the ids of shared/abi/core_counts.def.
 *
 * SQL names them as {set|text}: the text once for each column of the set, with its name for % and
 * its type for $. "SELECT core{core|, sum(%)}" is "SELECT core, sum(busy_ns), sum(pe_busy_ns) ...".
 * # is " / 1e9" for the type REAL, otherwise nothing (packed.h).
 *
 *   device_sample, device_step ...  the columns of a table, without time_ns and what identifies a
 *              row: of seconds, and of each coarser tier; device_samples, device_steps with it
 *   core       the counted columns, as in core_sample and its tiers
 *   execution  those of execution_sample: outcomes and error classes
 *   count      both, as core_total and unwatched have them
 *   process_text, instance_text, hardware_text, job_text
 *              the texts that shared/metrics has as rows
 *   outcome    outcomes of executions; failed: those that did not complete; error: error classes
 *
 * Private to shared/store. Threads: any; constant data.
 *
 * Owner:   the caller finalizes statements.
 */
#ifndef NTK_SHARED_STORE_COLUMNS_H
#define NTK_SHARED_STORE_COLUMNS_H

#include <sqlite3.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"
#include "shared/store/tier.h"

enum ntk_store_counts {
    NTK_STORE_COUNTS_CORE,
    NTK_STORE_COUNTS_EXECUTION,
    NTK_STORE_COUNTS_ALL,
};

/* SQL condition for a process with executions that are not counted. */
#define NTK_STORE_UNCOUNTED "executions_counted <> 'all'"

/* How a column's value in a coarser tier is computed. */
enum ntk_column_merge {
    NTK_COLUMN_KEY,
    NTK_COLUMN_SUM,
    NTK_COLUMN_LARGEST,
    NTK_COLUMN_NEWEST,
    NTK_COLUMN_HISTOGRAM,
    NTK_COLUMN_DERIVED, /* computed from the merged columns */
    NTK_COLUMN_COUNTS,  /* the counts of a set, each added up */
};

/* A column in the tables of coarser tiers. */
struct ntk_column {
    enum ntk_tier_family family;
    enum ntk_column_merge merge;
    const char *name;
    const char *type;
    /* Expression for a row of a second, or NULL: the name; for DERIVED, an expression over the
     * merged row. */
    const char *from;
};
/* The next row of the family after `column` (NULL: the first row); NULL after the last. */
const struct ntk_column *ntk_column_next(enum ntk_tier_family family,
                                         const struct ntk_column *column);

#define ntk_column_each(column, family)                                                     \
    for (const struct ntk_column *column = ntk_column_next((family), NULL); column != NULL; \
         column = ntk_column_next((family), column))

bool ntk_store_counts_have(enum ntk_store_counts set, const struct ntk_core_count_row *row);
/* The column name for element k of the count. */
const char *ntk_store_count_name(const struct ntk_core_count_row *row, size_t k);
/* Reads outcomes and error classes of the current row; `number` reads a column. */
void ntk_store_executions_get(sqlite3_stmt *statement,
                              uint64_t (*number)(sqlite3_stmt *statement, const char *column),
                              uint64_t outcome[NTK_OUTCOME_COUNT],
                              uint64_t error_class[NTK_ERROR_CLASS_COUNT]);
/* Adds the text, in which sets are expanded. */
void ntk_columns_tell(struct ntk_buf *sql, const char *text);
/* Same as ntk_store_sql_prepare() and _exec(), but expand the text first. */
int ntk_columns_prepare(sqlite3 *db, const char *text, sqlite3_stmt **out_statement,
                        struct ntk_err *err);
int ntk_columns_exec(sqlite3 *db, const char *text, struct ntk_err *err);

#endif
