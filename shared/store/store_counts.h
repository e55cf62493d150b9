/* SPDX-License-Identifier: MIT */
/*
 * store_counts - what is counted of a core as columns, in the order of the ids of
 * shared/abi/core_counts.def.
 *
 * SQL names them as {set|text}: the text once for each column of the set, whose name stands for %
 * in it. "SELECT core{core|, sum(%)}" is "SELECT core, sum(busy_ns), sum(pe_busy_ns), ...".
 *
 *   core       the columns of core_sample and its tiers
 *   execution  those of execution_sample: outcomes and error classes
 *   count      both, as core_total and unwatched have them
 *   outcome    of the executions, failed those of them that did not complete, error the error classes
 *
 * Private to shared/store. Threads: constant, any.
 *
 * Owner:   statements are finalized by the caller.
 */
#ifndef NTK_SHARED_STORE_STORE_COUNTS_H
#define NTK_SHARED_STORE_STORE_COUNTS_H

#include <sqlite3.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"

enum ntk_store_counts {
    NTK_STORE_COUNTS_CORE,
    NTK_STORE_COUNTS_EXECUTION,
    NTK_STORE_COUNTS_ALL,
};

/* Of a process, in the column counts_executions: the executions that its counts have; NULL: not
 * known. PART: those until its hooks gave them up. */
enum ntk_store_counted {
    NTK_STORE_COUNTED_NONE = 0,
    NTK_STORE_COUNTED_ALL = 1,
    NTK_STORE_COUNTED_PART = 2,
};
/* ... as SQL: not all of them. */
#define NTK_STORE_UNCOUNTED "counts_executions IN (0, 2)"

bool ntk_store_counts_have(enum ntk_store_counts set, const struct ntk_core_count_row *row);
/* Adds the text with its sets told. */
void ntk_store_counts_tell(struct ntk_buf *sql, const char *text);
/* As ntk_store_sql_prepare() and _exec(), of such a text. */
int ntk_store_counts_prepare(sqlite3 *db, const char *text, sqlite3_stmt **out_statement,
                             struct ntk_err *err);
int ntk_store_counts_exec(sqlite3 *db, const char *text, struct ntk_err *err);

#endif
