/* SPDX-License-Identifier: MIT */
/*
 * store_machine - stores facts about the machine as rows of machine and device, at the start and
 * when they change. Private to shared/store. Threads: the writer's.
 *
 * Owner:   ntk_store_machine_fini() frees.
 */
#ifndef NTK_SHARED_STORE_STORE_MACHINE_H
#define NTK_SHARED_STORE_STORE_MACHINE_H

#include <sqlite3.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"

/* A zeroed struct means that nothing is written yet. */
struct ntk_store_machine {
    struct ntk_buf written; /* last written rows as text */
    sqlite3_stmt *machine;
    sqlite3_stmt *device;
};

void ntk_store_machine_fini(struct ntk_store_machine *machine);
/* Adds the number of rows written to *row_count. */
int ntk_store_machine_write(struct ntk_store_machine *machine, sqlite3 *db,
                            const struct ntk_snapshot *snapshot, uint64_t *row_count,
                            struct ntk_err *err);

#endif
