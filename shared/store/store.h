/* SPDX-License-Identifier: MIT */
/*
 * store - writes snapshots to the database, one per period, in a separate thread.
 *
 * ntk_store_put() only queues; the thread writes and commits once per second. A full or missing
 * disk stops storing, not monitoring: snapshots wait in a bounded queue, and writing is retried.
 * When the queue is full, the two oldest snapshots are joined into one, so no count is lost, only
 * its exact time; snapshots that still do not fit are counted as lost. The file is SQLite in WAL
 * mode, a single file; any number of readers may have it open. Layout: docs/formats/store.md.
 *
 * A damaged database is renamed to <file>.damaged-<UTC time> and a new one is created, at the start
 * or when the damage is found; see ntk_store_status.
 *
 * Owner:   ntk_store_open() allocates, ntk_store_close() writes the queue, stops the thread, frees.
 * Threads: put and status from any thread.
 */
#ifndef NTK_SHARED_STORE_STORE_H
#define NTK_SHARED_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_STORE_SCHEMA_VERSION 1
/* Maximum number of snapshots that wait for the disk. */
#define NTK_STORE_QUEUE_MAX 64

/* Maximum number of damaged files that one run sets aside: more indicate a faulty disk. */
#define NTK_STORE_SET_ASIDE_MAX 3

/* The resolutions of stored samples: a row per second, and sums of these rows. */
enum ntk_store_tier {
    NTK_STORE_SECOND = 0,
    NTK_STORE_MINUTE = 1,
    NTK_STORE_HOUR = 2,
    NTK_STORE_TIER_COUNT
};

struct ntk_clock;

struct ntk_store_options {
    /* Rows older than this are deleted; 0: 7 days, 90 days, 3 years. */
    uint64_t keep_ns[NTK_STORE_TIER_COUNT];
    /* The oldest rows are deleted while the file is larger than this; 0: 1 GiB. */
    uint64_t keep_bytes;
    /* time between two commits; 0: 1 s; the first period is committed at once */
    uint64_t commit_ns;
    uint64_t retry_ns;             /* time before a retry after a failure; 0: 5 s */
    const struct ntk_clock *clock; /* clock for ages and waits; borrowed; NULL: the system's */
    size_t joined_bytes;           /* memory limit of a joined snapshot; 0: 64 MiB */
};

struct ntk_store_status {
    bool failing;                       /* the last write failed and will be retried */
    char text[NTK_ERR_TEXT_BYTES];      /* reason of the last failure; "" if there was none */
    uint64_t set_aside_count;           /* damaged files that were replaced by a new one */
    char set_aside[NTK_ERR_TEXT_BYTES]; /* message about the last of them */
    uint64_t snapshots_stored;          /* number of committed snapshots */
    uint64_t snapshots_waiting;
    /* number of snapshots joined with the next one because the queue was full */
    uint64_t snapshots_joined;
    /* number of snapshots dropped because joined ones filled their memory */
    uint64_t snapshots_lost;
    uint64_t sequence_stored; /* number of the newest committed snapshot; 0: none */
    uint64_t rows_stored;
    uint64_t committed_realtime_ns; /* time of the last commit; 0: never */
    uint64_t failures;              /* number of failed writes that were retried */
    bool has_free;
    uint64_t free_bytes; /* free bytes on the disk at the last write */
};

struct ntk_store;

/* Creates the file if there is none (its folder must exist). Returns -EBUSY if another agent writes
 * to it; -EPROTO if it is not a database, another program's, or of a newer version; otherwise the
 * cause. */
int ntk_store_open(const char *path, const struct ntk_store_options *options,
                   struct ntk_store **out_store, struct ntk_err *err);
/* Adds a reference to the snapshot (ntk_snapshot_share). Never blocks on the disk. */
void ntk_store_put(struct ntk_store *store, const struct ntk_snapshot *snapshot);
void ntk_store_status_get(struct ntk_store *store, struct ntk_store_status *out_status);
/* Writes the queue, checkpoints and frees. Returns -EIO with a message if something could not be
 * written. Accepts NULL. */
int ntk_store_close(struct ntk_store *store, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
