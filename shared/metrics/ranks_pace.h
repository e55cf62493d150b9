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
 * For each rank, the median over the window's periods is used, so a single long pause has no effect
 * if there are at least three periods.
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

/* Minimum operations of each compared rank for a verdict. */
#define NTK_PACE_OPERATIONS_MIN 10u
/* A rank is slow if the others wait for it during this share of the time from one operation to the
 * next ... */
#define NTK_PACE_SHARE_MIN 0.10
/* ... its delay is at least this multiple of the next slowest rank's delay ... */
#define NTK_PACE_TIMES_MIN 2.0
/* ... and this holds in this share of the window's periods, so that no rank is blamed by chance. */
#define NTK_PACE_PERIODS_SHARE_MIN 0.75

/* maximum periods of a window; further ones are added to the last */
#define NTK_PACE_PERIODS_MAX 16u

struct ntk_pace_period {
    uint64_t operations;
    uint64_t time_ns;                      /* time in operations */
    uint64_t wait_ns;                      /* part of time_ns before the last rank arrived */
    uint64_t busy_ns;                      /* busy time of its cores */
    uint64_t engine_ns, dma_ns, dma_bytes; /* the same for engines and DMA; 0 if unknown */
};

/* The work of one rank in the window. */
struct ntk_pace_rank {
    uint64_t key;
    uint32_t rank, rank_count;
    const char *host;
    uint32_t pid;
    uint64_t span_ns; /* total duration of the added periods */
    uint64_t operations;
    struct ntk_pace_period periods[NTK_PACE_PERIODS_MAX];
    uint32_t period_count;
    double time, wait, busy; /* per operation, as medians over the periods; set by judging */
    uint32_t next;           /* index + 1 of the previous rank with the same hash */
    uint32_t round;          /* last round in which this rank was present */
};

enum ntk_pace_where {
    NTK_PACE_UNKNOWN, /* no cause is more likely than the others */
    NTK_PACE_CORE,    /* its cores are busy longer than those of the others */
    NTK_PACE_HOST,    /* its cores are not busy longer: the host, or its input, delays it */
    NTK_PACE_MEMORY,  /* its cores are busy longer because transfers are slow, not engines */
    NTK_PACE_LINK,    /* it arrives in time, and is slow in the operation itself */
    NTK_PACE_WHERE_COUNT
};
extern const char *const ntk_pace_where_names[NTK_PACE_WHERE_COUNT];

struct ntk_pace_verdict {
    uint64_t key;
    uint32_t rank_count;
    uint32_t seen;                    /* number of compared ranks */
    const struct ntk_pace_rank *slow; /* NULL if there is none */
    uint64_t behind_ns;               /* time that the others wait for it in each operation */
    uint64_t interval_ns;             /* time from one operation to the next */
    double share;                     /* share of the time during which the others wait for it */
    enum ntk_pace_where where;
    bool has_transfers; /* CORE: transfers were checked and are not slow */
};

struct ntk_pace {
    struct ntk_vec ranks;    /* struct ntk_pace_rank */
    struct ntk_vec verdicts; /* elements are struct ntk_pace_verdict, slow ranks first */
    struct ntk_map by_hash;  /* index + 1 in ranks, used while ranks are added */
    uint32_t round;          /* number of periods added */
};

void ntk_pace_init(struct ntk_pace *pace);
void ntk_pace_fini(struct ntk_pace *pace);
/* Clears the window. */
void ntk_pace_clear(struct ntk_pace *pace);
/* Adds the ranks' work in the period of a snapshot; host is borrowed. Returns 0 or -ENOMEM. */
int ntk_pace_add(struct ntk_pace *pace, const struct ntk_snapshot *snapshot, const char *host);
/* Judges each communicator in which at least two ranks did enough. Returns 0 or -ENOMEM. */
int ntk_pace_judge(struct ntk_pace *pace);

#ifdef __cplusplus
}
#endif
#endif
