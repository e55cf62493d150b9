/* SPDX-License-Identifier: MIT */
/*
 * rollup - keeps the tiers of a minute and of an hour up to date with the samples.
 *
 * A step is merged once a later sample shows that it has ended. Its rows are a function of the rows
 * below and replace earlier ones, and the table `tier` stores the progress in the same transaction:
 * after a kill the next writer continues, and nothing counts twice. When the clock is set back, the
 * mark goes back, too, so that repeated steps are merged again. Private to shared/store. Threads:
 * the writer's.
 *
 * Owner:   create / destroy; the database is borrowed.
 */
#ifndef NTK_SHARED_STORE_ROLLUP_H
#define NTK_SHARED_STORE_ROLLUP_H

#include <sqlite3.h>
#include <stdint.h>

#include "shared/base/err.h"

struct ntk_rollup;

/* Borrows db. */
int ntk_rollup_create(sqlite3 *db, struct ntk_rollup **out_rollup, struct ntk_err *err);
void ntk_rollup_destroy(struct ntk_rollup *rollup);
/* A sample of this time is part of the open transaction. */
int ntk_rollup_see(struct ntk_rollup *rollup, uint64_t time_ns, uint64_t period_ns,
                   struct ntk_err *err);
/* Merges steps that have ended, in a separate transaction. After budget_ns it stops between two
 * steps: 1 if there is more to do, 0, or negative (the transaction may be open then). */
int ntk_rollup_run(struct ntk_rollup *rollup, uint64_t budget_ns, struct ntk_err *err);
/* After a rollback: forgets its state, so that it is loaded again from the database. */
void ntk_rollup_forget(struct ntk_rollup *rollup);

#endif
