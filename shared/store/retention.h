/* SPDX-License-Identifier: MIT */
/*
 * retention - what is kept how long: samples and logs by age, and the whole file by size.
 * Private to shared/store. Threads: the writer's, between two commits.
 */
#ifndef NTK_SHARED_STORE_RETENTION_H
#define NTK_SHARED_STORE_RETENTION_H

#include <sqlite3.h>
#include <stdint.h>

#include "shared/base/err.h"

/* Rows that one call deletes from one table at most: a pause of the writer stays short. */
#define NTK_RETENTION_SLICE_ROWS 10000

/* Deletes a slice of what is older than before_ns, and while the file is larger than keep_bytes a
 * slice of the oldest; returns free pages to the disk. 1 when there is more to do, 0, or negative. */
int ntk_retention_run(sqlite3 *db, uint64_t before_ns, uint64_t keep_bytes, struct ntk_err *err);

#endif
