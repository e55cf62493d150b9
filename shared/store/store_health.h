/* SPDX-License-Identifier: MIT */
/*
 * store_health - the health of devices as rows of device_health: one for each reason, whenever the
 * verdict or the reasons of a device change, and at the start of an agent.
 *
 * Owner:   caller's storage; ntk_store_health_fini() frees what it remembers.
 * Threads: the writer's; ntk_store_health_read() the reader's.
 */
#ifndef NTK_SHARED_STORE_STORE_HEALTH_H
#define NTK_SHARED_STORE_STORE_HEALTH_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"

/* Zeroed: nothing written yet. */
struct ntk_store_health {
    struct {
        uint64_t state; /* of the last rows, as a number; 0 none */
        uint64_t counts;
        uint64_t time_ns; /* when it began */
    } written[NTK_SNAPSHOT_DEVICES_MAX];
};

/* Call this after the written rows were lost. */
void ntk_store_health_reset(struct ntk_store_health *health);
/* The last verdict of the device in this boot, with its reasons; false: there is none. */
bool ntk_store_health_read(sqlite3 *db, const char *boot_id, uint32_t device,
                           struct ntk_health_stored *out);
/* Adds the number of rows written to *row_count. */
int ntk_store_health_write(struct ntk_store_health *health, sqlite3 *db,
                           const struct ntk_snapshot *snapshot, uint64_t *row_count,
                           struct ntk_err *err);

#endif
