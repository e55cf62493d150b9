/* SPDX-License-Identifier: MIT */
/*
 * store_ecc - stores the ECC counters of devices as rows of ecc_total, whenever one changes; the
 * next agent continues from them.
 *
 * Owner:   the caller's storage; a zeroed struct means that nothing is written yet.
 * Threads: the writer's; ntk_store_ecc_read() is for the reader's.
 */
#ifndef NTK_SHARED_STORE_STORE_ECC_H
#define NTK_SHARED_STORE_STORE_ECC_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"

struct ntk_store_ecc {
    struct {
        bool is_written;
        uint64_t counter;
        uint64_t total;
    } rows[NTK_SNAPSHOT_DEVICES_MAX][NTK_ECC_COUNT];
};

/* Call this after the written rows were lost. */
void ntk_store_ecc_reset(struct ntk_store_ecc *ecc);
/* Adds the number of rows written to *row_count. */
int ntk_store_ecc_write(struct ntk_store_ecc *ecc, sqlite3 *db, const struct ntk_snapshot *snapshot,
                        uint64_t *row_count, struct ntk_err *err);
/* Returns false if nothing is stored for the device. */
bool ntk_store_ecc_read(sqlite3 *db, const char *boot_id, uint32_t device,
                        struct ntk_ecc_stored *out);

#endif
