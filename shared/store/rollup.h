/* SPDX-License-Identifier: MIT */
/*
 * rollup - keeps the tiers of a minute and of an hour up to date with the samples.
 *
 * A step is merged once a later sample shows that it has ended. Its rows are a function of the rows
 * below, put in place of what was there, and the table `tier` says in the same transaction how far
 * it went: after a kill the next writer continues, and nothing counts twice. A clock that was set
 * back takes the mark back with it, so that the steps it passes again are made again. Private to
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

/* Borrows db. */
int ntk_rollup_create(sqlite3 *db, struct ntk_rollup **out_rollup, struct ntk_err *err);
void ntk_rollup_destroy(struct ntk_rollup *rollup);
/* A sample of this time is part of the open transaction. */
int ntk_rollup_see(struct ntk_rollup *rollup, uint64_t time_ns, uint64_t period_ns,
                   struct ntk_err *err);
/* Merges what has ended, in its own transaction. After budget_ns it stops between two steps: 1 when
 * there is more to do, 0, or negative (the transaction may be open then). */
int ntk_rollup_run(struct ntk_rollup *rollup, uint64_t budget_ns, struct ntk_err *err);
/* After a rollback: forget, so that all is loaded again from the database. */
void ntk_rollup_forget(struct ntk_rollup *rollup);

#endif
