/* SPDX-License-Identifier: MIT */
/*
 * store_schema - the layout of the database: made in a new file, demanded of one that is there.
 *
 * All of it is made in one transaction: whoever looks sees an empty file or a whole one.
 * Private to shared/store. Threads: the writer's; _check: also a reader's.
 */
#ifndef NTK_SHARED_STORE_STORE_SCHEMA_H
#define NTK_SHARED_STORE_STORE_SCHEMA_H

#include <sqlite3.h>

#include "shared/base/err.h"

/* Makes tables, indexes and views in an empty file. */
int ntk_store_schema_make(sqlite3 *db, struct ntk_err *err);

/* Refuses (-EPROTO) a file whose tables and indexes are not ours: what else is in a schema may
 * compute anything. Users' views may be there; our programs do not read them. */
int ntk_store_schema_check(sqlite3 *db, struct ntk_err *err);

#endif
