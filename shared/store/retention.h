/* SPDX-License-Identifier: MIT */
/*
 * retention - limits each tier by age and by its share of the file.
 *
 * Rows go only when the next tier has them: nothing is deleted before it was merged. What lasts is
 * as old as its end. While the file is larger than it may be, the tier that is furthest above its
 * share gives up a tenth of its span.
 * Private to shared/store. Threads: the writer's, between two commits.
 */
#ifndef NTK_SHARED_STORE_RETENTION_H
#define NTK_SHARED_STORE_RETENTION_H

#include <sqlite3.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/store/store.h"

/* Rows that one call deletes from one table at most: a pause of the writer stays short. */
#define NTK_RETENTION_SLICE_ROWS 10000

struct ntk_retention {
    uint64_t keep_ns[NTK_STORE_TIER_COUNT];
    uint64_t keep_bytes;
};

/* Deletes a slice of what is too old or too much, and returns free pages to the disk, in its own
 * transaction. 1 when there is more to do, 0, or negative (the transaction may be open then). */
int ntk_retention_run(sqlite3 *db, const struct ntk_retention *retention, uint64_t now_ns,
                      struct ntk_err *err);

#endif
