/* SPDX-License-Identifier: MIT */
/*
 * retention - limits each tier by age and by its share of the file.
 *
 * Rows are deleted only after they were merged into the next tier. The age of a row with a duration
 * counts from its end. While the file is too large, the tier that is furthest above its share loses
 * a tenth of its time span. Private to shared/store. Threads: the writer's, between two commits.
 */
#ifndef NTK_SHARED_STORE_RETENTION_H
#define NTK_SHARED_STORE_RETENTION_H

#include <sqlite3.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/store/store.h"

/* Maximum number of rows that one call deletes from one table, so that the writer's pauses stay
 * short; the rows of one time are never divided. */
#define NTK_RETENTION_SLICE_ROWS 10000
/* Same for packed rows, each with up to hundreds of rows. */
#define NTK_RETENTION_SLICE_PACKED 200

struct ntk_retention {
    uint64_t keep_ns[NTK_STORE_TIER_COUNT];
    uint64_t keep_bytes;
};

/* Deletes a slice of rows that are too old or too many, and returns free pages to the disk, in a
 * separate transaction. Returns 1 if there is more to do, 0 if not, or a negative value (the
 * transaction may be open then). */
int ntk_retention_run(sqlite3 *db, const struct ntk_retention *retention, uint64_t now_ns,
                      struct ntk_err *err);

#endif
