/* SPDX-License-Identifier: MIT */
/*
 * store_rows - one snapshot as rows of the open transaction.
 *
 * Keeps the state for comparisons (known processes, last memory rows, cumulative histograms) and
 * loads it from the database if a process is older than this writer. Private to shared/store.
 * Threads: the writer's.
 *
 * Owner:   create / destroy; the database is borrowed.
 */
#ifndef NTK_SHARED_STORE_STORE_ROWS_H
#define NTK_SHARED_STORE_STORE_ROWS_H

#include <sqlite3.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"

struct ntk_store_rows;

/* Borrows db. */
int ntk_store_rows_create(sqlite3 *db, struct ntk_store_rows **out_rows, struct ntk_err *err);
void ntk_store_rows_destroy(struct ntk_store_rows *rows);
/* Adds the number of rows written to *out_row_count. */
int ntk_store_rows_write(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                         uint64_t *out_row_count, struct ntk_err *err);
/* After a rollback: forgets its state, so that it is loaded again from the database. */
void ntk_store_rows_forget(struct ntk_store_rows *rows);

#endif
