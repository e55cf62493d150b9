/* SPDX-License-Identifier: MIT */
/*
 * store_health - stores the health of devices as rows of device_health: one for each reason,
 * whenever a device's verdict or reasons change, and when an agent starts.
 *
 * Owner:   caller's storage; ntk_store_health_fini() frees its contents.
 * Threads: the writer's; ntk_store_health_read() is for the reader's.
 */
#ifndef NTK_SHARED_STORE_STORE_HEALTH_H
#define NTK_SHARED_STORE_STORE_HEALTH_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"

/* A zeroed struct means that nothing is written yet. */
struct ntk_store_health {
    struct {
        uint64_t state; /* number that identifies the last rows; 0: none */
        uint64_t counts;
        uint64_t time_ns; /* time at which that state began */
    } written[NTK_SNAPSHOT_DEVICES_MAX];
};

/* Call this after the written rows were lost. */
void ntk_store_health_reset(struct ntk_store_health *health);
/* Reads the device's last verdict in this boot, with its reasons; false if there is none. */
bool ntk_store_health_read(sqlite3 *db, const char *boot_id, uint32_t device,
                           struct ntk_health_stored *out);
/* Adds the number of rows written to *row_count. */
int ntk_store_health_write(struct ntk_store_health *health, sqlite3 *db,
                           const struct ntk_snapshot *snapshot, uint64_t *row_count,
                           struct ntk_err *err);

#endif
