/* SPDX-License-Identifier: MIT */
/*
 * store - the writing side of the database: one snapshot per period, in its own thread.
 *
 * ntk_store_put() only queues; the thread writes and commits once per second. A disk that is full
 * or gone stops storing, not monitoring: snapshots wait in a bounded queue and are tried again. Of
 * more than it holds the oldest become one that covers the time of both, so nothing that was
 * counted is lost, only when exactly; what even that cannot hold is counted. The file is SQLite in
 * WAL mode, one file to hand on; any number of readers may have it open. Layout:
 * docs/formats/store.md.
 *
 * A damaged file of ours is renamed to <file>.damaged-<UTC time> and a new one started, at the
 * start or whenever it shows; ntk_store_status tells.
 *
 * Owner:   ntk_store_open() allocates, ntk_store_close() writes what waits, stops the thread,
 *          frees.
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
/* Snapshots that wait for the disk at most. */
#define NTK_STORE_QUEUE_MAX 64

/* How many damaged files one run sets aside at most: then the disk is to blame. */
#define NTK_STORE_SET_ASIDE_MAX 3

/* The resolutions in which samples are kept: a row per second, and what those rows add up to. */
enum ntk_store_tier {
    NTK_STORE_SECOND = 0,
    NTK_STORE_MINUTE = 1,
    NTK_STORE_HOUR = 2,
    NTK_STORE_TIER_COUNT
};

struct ntk_clock;

struct ntk_store_options {
    uint64_t keep_ns[NTK_STORE_TIER_COUNT]; /* older rows go; 0: 7 days, 90 days, 3 years */
    uint64_t keep_bytes;                    /* the oldest go while the file is larger; 0: 1 GiB */
    uint64_t commit_ns;            /* time between two commits; 0: 1 s; the first period at once */
    uint64_t retry_ns;             /* after a failure; 0: 5 s */
    const struct ntk_clock *clock; /* of ages and waits; borrowed; NULL: the system's */
    size_t joined_bytes;           /* memory of a snapshot that stands for many; 0: 64 MiB */
};

struct ntk_store_status {
    bool failing;                       /* the last write failed and is tried again */
    char text[NTK_ERR_TEXT_BYTES];      /* why, "" when it never failed */
    uint64_t set_aside_count;           /* damaged files that were replaced by a new one */
    char set_aside[NTK_ERR_TEXT_BYTES]; /* the message about the last of them */
    uint64_t snapshots_stored;          /* committed */
    uint64_t snapshots_waiting;
    uint64_t snapshots_joined; /* went into the next one: queue full */
    uint64_t snapshots_lost;   /* thrown away: those joined fill their memory */
    uint64_t sequence_stored;  /* of the newest that is committed, 0 none */
    uint64_t rows_stored;
    uint64_t committed_realtime_ns; /* when the last commit was, 0 never */
    uint64_t failures;              /* writes that failed and were tried again */
    bool has_free;
    uint64_t free_bytes; /* of the disk, at the last write */
};

struct ntk_store;

/* Creates the file when there is none (folders must exist). -EBUSY: another agent writes to it;
 * -EPROTO: it is not a database, one of something else, or of a newer version; else the cause. */
int ntk_store_open(const char *path, const struct ntk_store_options *options,
                   struct ntk_store **out_store, struct ntk_err *err);
/* Takes a share of the snapshot (ntk_snapshot_share). Never blocks on the disk. */
void ntk_store_put(struct ntk_store *store, const struct ntk_snapshot *snapshot);
void ntk_store_status_get(struct ntk_store *store, struct ntk_store_status *out_status);
/* Writes what waits, checkpoints, frees. -EIO (and err) when something could not be written. NULL
 * is fine. */
int ntk_store_close(struct ntk_store *store, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
