/* SPDX-License-Identifier: MIT */
/*
 * ranks_change - detects whether all ranks of a communicator became slower together, and since
 * when.
 *
 * Comparing ranks with each other (ranks_pace.h) finds nothing when all of them slow down equally:
 * because of the links of a machine, a shared file system, or a throttled clock. So a communicator
 * is compared with its past. A sample covers a few operations: the time from one operation to the
 * next, and its parts for executions, operations and other work. The sum of the excess over the
 * usual value (CUSUM, robust: the median and the spread of the last samples, each excess bounded)
 * distinguishes a lasting change from noise and pauses.
 *
 * Longer waiting is not a change of all ranks: at least three quarters must themselves take longer.
 * ranks_pace.h finds the rank that makes the others wait.
 *
 * Owner:   ntk_change holds the data of each communicator; snapshots are only read.
 * Threads: one at a time.
 */
#ifndef NTK_SHARED_METRICS_RANKS_CHANGE_H
#define NTK_SHARED_METRICS_RANKS_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/map.h"
#include "shared/base/vec.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_CHANGE_OPERATIONS 4u  /* minimum operations of each rank in a sample */
#define NTK_CHANGE_USUAL_MIN 8u   /* minimum number of samples before a verdict */
#define NTK_CHANGE_USUAL_MAX 64u  /* maximum number of remembered samples */
#define NTK_CHANGE_SHARE_MIN 0.10 /* minimum increase that counts as slower */
/* Time after which the new pace becomes the usual one. */
#define NTK_CHANGE_HOLDS_NS UINT64_C(900000000000)
/* maximum number of communicators that are observed: the first ones */
#define NTK_CHANGE_COMMS_MAX 1024u

enum ntk_change_where {
    NTK_CHANGE_UNKNOWN,     /* no single part explains it */
    NTK_CHANGE_EXECUTION,   /* cores are busy for longer */
    NTK_CHANGE_COLLECTIVES, /* operations take longer after all ranks have arrived */
    NTK_CHANGE_OUTSIDE,     /* neither of these: the host, or its input */
    NTK_CHANGE_WHERE_COUNT
};
extern const char *const ntk_change_where_names[NTK_CHANGE_WHERE_COUNT];

/* A communicator with ranks that became slower. */
struct ntk_change_verdict {
    uint64_t key;
    uint32_t rank_count;
    uint32_t seen; /* number of ranks that were checked */
    uint64_t since_ns;
    uint64_t before_ns; /* from one operation to the next, before the change and after it */
    uint64_t after_ns;
    enum ntk_change_where where;
};

struct ntk_change {
    struct ntk_map comms;    /* struct change_comm, by key */
    struct ntk_vec verdicts; /* struct ntk_change_verdict, the current ones */
    struct ntk_vec rows;     /* rows of the current period */
    uint64_t round;
};

void ntk_change_init(struct ntk_change *change);
void ntk_change_fini(struct ntk_change *change);
/* Takes the period of a snapshot and updates `verdicts`. Communicators that are not in the snapshot
 * are forgotten. Returns 0 or -ENOMEM. */
int ntk_change_add(struct ntk_change *change, const struct ntk_snapshot *snapshot);
/* NULL if its ranks are as fast as before, or too little is known. */
const struct ntk_change_verdict *ntk_change_find(const struct ntk_change *change, uint64_t key);

#ifdef __cplusplus
}
#endif
#endif
