/* SPDX-License-Identifier: MIT */
/*
 * rollup - keeps the tiers of a minute and of an hour up to date with the samples.
 *
 * A step is merged once a later sample shows that it has ended. Its rows are a function of the rows
 * in the tier below and replace earlier ones. The table `tier` stores the progress in the same
 * transaction, so if the writer is killed, the next one continues and counts nothing twice. If the
 * clock is set back, the mark is set back, too, so that repeated steps are merged again. Private to
 * shared/store. Threads: the writer's.
 *
 * Owner:   create / destroy; the database is borrowed.
 */
#ifndef NTK_SHARED_STORE_ROLLUP_H
#define NTK_SHARED_STORE_ROLLUP_H

#include <sqlite3.h>
#include <stdint.h>

#include "shared/base/err.h"

struct ntk_rollup;

/* Borrows the database. */
int ntk_rollup_create(sqlite3 *db, struct ntk_rollup **out_rollup, struct ntk_err *err);
void ntk_rollup_destroy(struct ntk_rollup *rollup);
/* Reports that a sample with this time is part of the open transaction. */
int ntk_rollup_see(struct ntk_rollup *rollup, uint64_t time_ns, uint64_t period_ns,
                   struct ntk_err *err);
/* Merges steps that have ended, in a separate transaction. After budget_ns it stops between two
 * steps. Returns 1 if there is more to do, 0 if not, or a negative value (the transaction may be
 * open then). */
int ntk_rollup_run(struct ntk_rollup *rollup, uint64_t budget_ns, struct ntk_err *err);
/* After a rollback: drops the state, so that it is loaded from the database again. */
void ntk_rollup_forget(struct ntk_rollup *rollup);

#endif
