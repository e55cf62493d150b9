/* SPDX-License-Identifier: MIT */
/*
 * ranks_pace - finds the rank of a communicator that the others repeatedly wait for.
 *
 * Ranks leave an operation together and come to the next one each by itself, so the rank that comes
 * last spends the least time in operations and the others wait as long as it is behind them. Over a
 * window that is the difference between its time in an operation and what is usual for the others:
 * no clocks are compared, and a delay that strikes each rank now and then cancels out. Who comes
 * with the others and then takes long to send what it has lets them wait as well: its time in an
 * operation less its waiting is more than theirs.
 *
 * For each rank the median over the periods of the window counts, so one long pause is nobody's
 * pace as soon as a window has three periods.
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

/* A verdict needs this many operations of each rank that is compared. */
#define NTK_PACE_OPERATIONS_MIN 10u
/* A rank is slow when the others wait for it for this share of the time from one operation to the
 * next ... */
#define NTK_PACE_SHARE_MIN 0.10
/* ... and it is at least this much further behind than the next slowest. */
#define NTK_PACE_TIMES_MIN 2.0
/* ... and that in this share of the periods of the window, so that chance accuses no rank. */
#define NTK_PACE_PERIODS_SHARE_MIN 0.75

#define NTK_PACE_PERIODS_MAX 16u /* of a window; more are added to the last */

struct ntk_pace_period {
    uint64_t operations;
    uint64_t time_ns;                      /* in them */
    uint64_t wait_ns;                      /* of that, until the last rank had come */
    uint64_t busy_ns;                      /* its cores */
    uint64_t engine_ns, dma_ns, dma_bytes; /* of those; 0 when unknown */
};

/* What one rank did in the window. */
struct ntk_pace_rank {
    uint64_t key;
    uint32_t rank, rank_count;
    const char *host;
    uint32_t pid;
    uint64_t span_ns; /* of the periods that were added */
    uint64_t operations;
    struct ntk_pace_period periods[NTK_PACE_PERIODS_MAX];
    uint32_t period_count;
    double time, wait, busy; /* an operation's, the medians of the periods; once it is judged */
    uint32_t next;           /* index + 1 of the one before it with the same hash */
    uint32_t round;          /* the last one that had it */
};

enum ntk_pace_where {
    NTK_PACE_UNKNOWN, /* the same either way */
    NTK_PACE_CORE,    /* its cores are busy longer than those of the others */
    NTK_PACE_HOST,    /* they are not: the host, or what it reads, keeps it */
    NTK_PACE_MEMORY,  /* they are, and it is transfers that are slow, not engines */
    NTK_PACE_LINK,    /* it comes in time, and is long in the operation itself */
    NTK_PACE_WHERE_COUNT
};
extern const char *const ntk_pace_where_names[NTK_PACE_WHERE_COUNT];

struct ntk_pace_verdict {
    uint64_t key;
    uint32_t rank_count;
    uint32_t seen;                    /* ranks that were compared */
    const struct ntk_pace_rank *slow; /* NULL: none */
    uint64_t behind_ns;               /* the others wait this long for it in each operation */
    uint64_t interval_ns;             /* from one operation to the next */
    double share;                     /* of behind_ns in it */
    enum ntk_pace_where where;
    bool has_transfers; /* of CORE: transfers were checked, and are not what is slow */
};

struct ntk_pace {
    struct ntk_vec ranks;    /* struct ntk_pace_rank */
    struct ntk_vec verdicts; /* struct ntk_pace_verdict, slow ranks come first */
    struct ntk_map by_hash;  /* index + 1 of ranks, while they are added */
    uint32_t round;          /* periods that were added */
};

void ntk_pace_init(struct ntk_pace *pace);
void ntk_pace_fini(struct ntk_pace *pace);
/* Forgets the window. */
void ntk_pace_clear(struct ntk_pace *pace);
/* Adds what ranks did in the period of a snapshot; host is borrowed. 0 or -ENOMEM. */
int ntk_pace_add(struct ntk_pace *pace, const struct ntk_snapshot *snapshot, const char *host);
/* Judges each communicator with at least two ranks that did enough. 0 or -ENOMEM. */
int ntk_pace_judge(struct ntk_pace *pace);

#ifdef __cplusplus
}
#endif
#endif
