/* SPDX-License-Identifier: MIT */
/*
 * store_schema - the layout of the database: made in a new file, brought up to date in an old one.
 *
 * A new file goes through the same steps as one of the first schema, so both end alike. All steps are
 * one transaction: whoever looks sees the old schema or the new one.
 * Private to shared/store. Threads: the writer's.
 */
#ifndef NTK_SHARED_STORE_STORE_SCHEMA_H
#define NTK_SHARED_STORE_STORE_SCHEMA_H

#include <sqlite3.h>
#include <stdint.h>

#include "shared/base/err.h"

/* version: what ntk_store_sql_check() found, 0 for an empty file. Does nothing for the present one. */
int ntk_store_schema_update(sqlite3 *db, int64_t version, struct ntk_err *err);

/* Refuses (-EPROTO) a file whose tables and indexes are not those of its version, which says 1 to the present one:
 * what else stands in a schema may compute anything. Views of people may stand there; nobody of ours asks them. */
int ntk_store_schema_check(sqlite3 *db, int64_t version, struct ntk_err *err);

/* For a reader of a file that it does not change: what an older version lacks is made in the connection's
 * own temporary schema, where names are looked up first: tables that are empty, columns that are NULL. */
int ntk_store_schema_read_older(sqlite3 *db, int64_t version, struct ntk_err *err);

#endif
