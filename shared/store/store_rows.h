/* SPDX-License-Identifier: MIT */
/*
 * store_rows - writes a snapshot as rows of the open transaction.
 *
 * It keeps state for comparisons (known processes, last memory rows, cumulative histograms), which
 * it loads from the database if a process is older than this writer. Private to shared/store.
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

/* Borrows the database. */
int ntk_store_rows_create(sqlite3 *db, struct ntk_store_rows **out_rows, struct ntk_err *err);
void ntk_store_rows_destroy(struct ntk_store_rows *rows);
/* Adds the number of rows written to *out_row_count. */
int ntk_store_rows_write(struct ntk_store_rows *rows, const struct ntk_snapshot *snapshot,
                         uint64_t *out_row_count, struct ntk_err *err);
/* After a rollback: drops the state, so that it is loaded from the database again. */
void ntk_store_rows_forget(struct ntk_store_rows *rows);

#endif
