/* SPDX-License-Identifier: MIT */
/*
 * ranks_pace - finds the rank of a communicator that the others repeatedly wait for.
 *
 * Ranks leave an operation together and reach the next one separately, so the last rank spends the
 * least time in operations, and the others wait for its delay. Over a window the delay is the
 * difference between its time in an operation and the usual time of the others: no clocks are
 * compared, and delays that affect every rank from time to time cancel out. A rank that comes in
 * time and then sends slowly also makes the others wait: its time in an operation without waiting
 * is longer than theirs.
 *
 * The median over the periods of the window is used for each rank, so in a window of three or more
 * periods a single long pause has no effect.
 *
 * Owner:   ntk_pace holds sums; snapshots are only read.
 * Threads: one at a time.
 */
#ifndef NTK_SHARED_METRICS_RANKS_PACE_H
#define NTK_SHARED_METRICS_RANKS_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/map.h"
#include "shared/base/vec.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A verdict needs this many operations of each compared rank. */
#define NTK_PACE_OPERATIONS_MIN 10u
/* A rank is slow when the others wait for it during this share of the time from one operation to
 * the next ... */
#define NTK_PACE_SHARE_MIN 0.10
/* ... and its delay exceeds that of the next slowest by at least this much ... */
#define NTK_PACE_TIMES_MIN 2.0
/* ... in this share of the periods of the window, so that chance accuses no rank. */
#define NTK_PACE_PERIODS_SHARE_MIN 0.75

#define NTK_PACE_PERIODS_MAX 16u /* periods of a window; further ones are added to the last */

struct ntk_pace_period {
    uint64_t operations;
    uint64_t time_ns;                      /* in them */
    uint64_t wait_ns;                      /* the part of it before the last rank came */
    uint64_t busy_ns;                      /* its cores */
    uint64_t engine_ns, dma_ns, dma_bytes; /* of those; 0 when unknown */
};

/* The work of one rank in the window. */
struct ntk_pace_rank {
    uint64_t key;
    uint32_t rank, rank_count;
    const char *host;
    uint32_t pid;
    uint64_t span_ns; /* total time of the added periods */
    uint64_t operations;
    struct ntk_pace_period periods[NTK_PACE_PERIODS_MAX];
    uint32_t period_count;
    double time, wait, busy; /* per operation, medians of the periods; set by judging */
    uint32_t next;           /* index + 1 of the one before it with the same hash */
    uint32_t round;          /* the last round with this rank */
};

enum ntk_pace_where {
    NTK_PACE_UNKNOWN, /* equally likely */
    NTK_PACE_CORE,    /* its cores are busy longer than those of the others */
    NTK_PACE_HOST,    /* they are not: the host, or its input, delays it */
    NTK_PACE_MEMORY,  /* they are, and transfers are slow, not engines */
    NTK_PACE_LINK,    /* it comes in time, and is slow in the operation itself */
    NTK_PACE_WHERE_COUNT
};
extern const char *const ntk_pace_where_names[NTK_PACE_WHERE_COUNT];

struct ntk_pace_verdict {
    uint64_t key;
    uint32_t rank_count;
    uint32_t seen;                    /* number of compared ranks */
    const struct ntk_pace_rank *slow; /* NULL: none */
    uint64_t behind_ns;               /* the others wait this long for it in each operation */
    uint64_t interval_ns;             /* from one operation to the next */
    double share;                     /* share of the time that the others wait for it */
    enum ntk_pace_where where;
    bool has_transfers; /* CORE: transfers were checked, and are not slow */
};

struct ntk_pace {
    struct ntk_vec ranks;    /* struct ntk_pace_rank */
    struct ntk_vec verdicts; /* struct ntk_pace_verdict, slow ranks come first */
    struct ntk_map by_hash;  /* index + 1 in ranks, while ranks are added */
    uint32_t round;          /* periods that were added */
};

void ntk_pace_init(struct ntk_pace *pace);
void ntk_pace_fini(struct ntk_pace *pace);
/* Forgets the window. */
void ntk_pace_clear(struct ntk_pace *pace);
/* Adds the work of ranks in the period of a snapshot; host is borrowed. 0 or -ENOMEM. */
int ntk_pace_add(struct ntk_pace *pace, const struct ntk_snapshot *snapshot, const char *host);
/* Judges each communicator with at least two ranks that did enough. 0 or -ENOMEM. */
int ntk_pace_judge(struct ntk_pace *pace);

#ifdef __cplusplus
}
#endif
#endif
