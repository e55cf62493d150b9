/* SPDX-License-Identifier: MIT */
/*
 * store_schema - the layout of the database: created in a new file, checked in an existing one.
 *
 * It is created in one transaction, so readers see an empty file or a complete one. Private to
 * shared/store. Threads: the writer's; _check: also a reader's.
 */
#ifndef NTK_SHARED_STORE_STORE_SCHEMA_H
#define NTK_SHARED_STORE_STORE_SCHEMA_H

#include <sqlite3.h>

#include "shared/base/err.h"

/* Creates tables, indexes and views in an empty file. */
int ntk_store_schema_make(sqlite3 *db, struct ntk_err *err);

/* Refuses (-EPROTO) a file with other tables and indexes than ours, because other parts of a schema
 * may run code. Users' views are allowed; our programs do not read them. */
int ntk_store_schema_check(sqlite3 *db, struct ntk_err *err);

#endif
