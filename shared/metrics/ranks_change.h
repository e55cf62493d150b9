/* SPDX-License-Identifier: MIT */
/*
 * ranks_change - whether all ranks of a communicator became slower together, and since when.
 *
 * Comparing ranks with each other (ranks_pace.h) finds nothing when all of them slow down equally:
 * because of the links of a machine, a shared file system, or a throttled clock. So a communicator
 * is compared with its past. Every few operations are a sample: the time from one operation to the
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

#define NTK_CHANGE_OPERATIONS 4u  /* operations of each rank in a sample, at least */
#define NTK_CHANGE_USUAL_MIN 8u   /* samples before a verdict is given ... */
#define NTK_CHANGE_USUAL_MAX 64u  /* ... and samples that are remembered */
#define NTK_CHANGE_SHARE_MIN 0.10 /* at least this much longer counts as slower */
/* After this time the new pace is the usual one. */
#define NTK_CHANGE_HOLDS_NS UINT64_C(900000000000)
#define NTK_CHANGE_COMMS_MAX 1024u /* communicators that are followed: the first ones */

enum ntk_change_where {
    NTK_CHANGE_UNKNOWN,     /* no part alone */
    NTK_CHANGE_EXECUTION,   /* cores are busy for longer */
    NTK_CHANGE_COLLECTIVES, /* operations take longer after all ranks have come */
    NTK_CHANGE_OUTSIDE,     /* neither: the host, or its input */
    NTK_CHANGE_WHERE_COUNT
};
extern const char *const ntk_change_where_names[NTK_CHANGE_WHERE_COUNT];

/* A communicator with ranks that became slower. */
struct ntk_change_verdict {
    uint64_t key;
    uint32_t rank_count;
    uint32_t seen; /* ranks that were checked */
    uint64_t since_ns;
    uint64_t before_ns; /* from one operation to the next, before and after the change */
    uint64_t after_ns;
    enum ntk_change_where where;
};

struct ntk_change {
    struct ntk_map comms;    /* struct change_comm, by key */
    struct ntk_vec verdicts; /* struct ntk_change_verdict, the current ones */
    struct ntk_vec rows;     /* of the current period */
    uint64_t round;
};

void ntk_change_init(struct ntk_change *change);
void ntk_change_fini(struct ntk_change *change);
/* Takes the period of a snapshot and judges: `verdicts` are the current ones. Communicators that
 * are not in the snapshot are forgotten. 0 or -ENOMEM. */
int ntk_change_add(struct ntk_change *change, const struct ntk_snapshot *snapshot);
/* NULL: its ranks are as fast as before, or too little is known. */
const struct ntk_change_verdict *ntk_change_find(const struct ntk_change *change, uint64_t key);

#ifdef __cplusplus
}
#endif
#endif
