/* SPDX-License-Identifier: MIT */
/*
 * store_verdicts - stores an agent's verdicts on ranks as rows of rank_verdict: one row while the
 * verdict on a rank stays the same, closed when it ends.
 *
 * A restarted agent continues open rows; verdicts that no longer hold ended with the last stored
 * period.
 *
 * Owner:   the caller's storage; ntk_store_verdicts_reset() frees its contents.
 * Threads: the writer's.
 */
#ifndef NTK_SHARED_STORE_STORE_VERDICTS_H
#define NTK_SHARED_STORE_STORE_VERDICTS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/base/vec.h"
#include "shared/metrics/snapshot.h"

/* A zeroed struct loads open rows first. */
struct ntk_store_verdicts {
    bool is_loaded;
    struct ntk_vec open; /* elements are struct open_verdict */
};

/* Call this after the written rows were lost. */
void ntk_store_verdicts_reset(struct ntk_store_verdicts *verdicts);
/* Adds the number of rows written to *row_count. */
int ntk_store_verdicts_write(struct ntk_store_verdicts *verdicts, sqlite3 *db,
                             const struct ntk_snapshot *snapshot, uint64_t *row_count,
                             struct ntk_err *err);

#endif
