/* SPDX-License-Identifier: MIT */
/*
 * store_schema - the layout of the database: created in a new file, checked in an existing one.
 *
 * It is created in one transaction, so readers see either an empty or a complete file. Private to
 * shared/store. Threads: the writer's; _check may also be called by a reader.
 */
#ifndef NTK_SHARED_STORE_STORE_SCHEMA_H
#define NTK_SHARED_STORE_STORE_SCHEMA_H

#include <sqlite3.h>

#include "shared/base/err.h"

/* Creates tables, indexes and views in an empty file. */
int ntk_store_schema_make(sqlite3 *db, struct ntk_err *err);

/* Rejects (-EPROTO) a file with tables or indexes other than ours, because other parts of a schema
 * may run code. Users' views are allowed; our programs do not read them. */
int ntk_store_schema_check(sqlite3 *db, struct ntk_err *err);

#endif
