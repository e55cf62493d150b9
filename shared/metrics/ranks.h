/* SPDX-License-Identifier: MIT */
/*
 * ranks - which ranks of a communicator have come to the current operation, which have not, and
 * since when.
 *
 * Ranks of one communicator are known by its key and lie in the snapshots of one machine or of
 * many. All ranks number their operations alike, so the highest number that some rank is in says
 * which ranks are awaited. Times are spans that each machine measured by itself; clocks of machines
 * are compared only where a process began later than the others came, see clock_error_ns.
 *
 * A verdict claims no more than the rows say: a rank without a row is "unseen", and so is a rank on
 * a machine that was not asked.
 *
 * Owner:   ntk_ranks holds rows and verdicts; the snapshots added stay the caller's and must live
 *          as long.
 * Threads: one at a time.
 */
#ifndef NTK_SHARED_METRICS_RANKS_H
#define NTK_SHARED_METRICS_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/vec.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_RANKS_MAX 65536u /* of a communicator; what says it has more is not believed */

/* Without a threshold given: this many times the longest operation that succeeded, within
 * bounds. */
#define NTK_RANKS_TIMES 8u
#define NTK_RANKS_LEAST_NS UINT64_C(5000000000)
#define NTK_RANKS_MOST_NS UINT64_C(600000000000)
#define NTK_RANKS_UNKNOWN_NS UINT64_C(60000000000) /* while none has ended */
/* A communicator that broke is reported for this long; its processes may live on in another one. */
#define NTK_RANKS_BROKE_NS UINT64_C(3600000000000)

/* From where on an operation hangs, after one that took this time (0: none has ended);
 * *out_is_learned: that counted. */
uint64_t ntk_ranks_limit(uint64_t longest_ns, bool *out_is_learned);

/* One rank as one process of one machine tells. */
struct ntk_rank_row {
    const char *host; /* "": this machine */
    uint32_t pid;
    const char *tag;
    const char *command;
    bool is_lost;               /* its process ended; it left before if its state says so */
    uint64_t lost_for_ns;       /* ... this long ago */
    uint64_t begin_realtime_ns; /* when it joined, by the asker's clock */
    uint64_t clock_error_ns;    /* with this possible error */
    const struct ntk_rank_sample *sample;
};

enum ntk_rank_where {
    NTK_RANK_ARRIVED,   /* in the operation, or past it */
    NTK_RANK_ELSEWHERE, /* not in any operation: the one before was its last */
    NTK_RANK_BEHIND,    /* in an operation before it */
    NTK_RANK_RESTARTED, /* its process began after others had come */
    NTK_RANK_GONE,      /* it left the communicator, or its process succeeded */
    NTK_RANK_LOST,      /* its process died */
    NTK_RANK_UNSEEN,    /* no source reports it */
    NTK_RANK_WHERE_COUNT
};
extern const char *const ntk_rank_where_names[NTK_RANK_WHERE_COUNT];

enum ntk_comm_verdict_kind {
    NTK_COMM_IDLE,    /* no rank is in an operation, or was within NTK_RANKS_LEAST_NS */
    NTK_COMM_GOES_ON, /* within the threshold; age_ns 0: no rank is in one now */
    NTK_COMM_HANGS,
    NTK_COMM_BROKE, /* a rank died or left, and the others were informed */
    NTK_COMM_VERDICT_COUNT
};
extern const char *const ntk_comm_verdict_names[NTK_COMM_VERDICT_COUNT];

struct ntk_rank_verdict {
    uint32_t rank;
    enum ntk_rank_where where;
    const struct ntk_rank_row *row; /* NULL: unseen */
};

struct ntk_comm_verdict {
    enum ntk_comm_verdict_kind kind;
    const struct ntk_rank_row *first; /* any rank of it: names, sizes */
    uint64_t sequence;                /* the operation that is waited for */
    enum ntk_collective operation;
    uint64_t age_ns;       /* since the first rank came */
    uint64_t threshold_ns; /* from where on it hangs */
    bool is_learned;       /* the threshold, from the longest so far */
    uint32_t rank_count;
    uint32_t missing_count;         /* ranks that have not come; 0 while it hangs: all are in it */
    uint32_t seen;                  /* ranks with a row */
    struct ntk_rank_verdict *ranks; /* seen of them, by rank: as many as rows, whatever those
                                     * claim */
};
/* How long a communicator that broke has been so: since a rank was lost or told; 0 unknown. */
uint64_t ntk_comm_verdict_broke_for(const struct ntk_comm_verdict *verdict);
/* The first rank from one on that has not come, in order of ranks; false: no more. */
bool ntk_comm_verdict_missing(const struct ntk_comm_verdict *verdict, uint32_t from,
                              struct ntk_rank_verdict *out);
/* The same of those with this verdict alone, unseen ones aside. */
bool ntk_comm_verdict_missing_as(const struct ntk_comm_verdict *verdict, enum ntk_rank_where where,
                                 uint32_t from, struct ntk_rank_verdict *out);
/* A rank of it, unseen ones too; rank < rank_count. */
struct ntk_rank_verdict ntk_comm_verdict_rank(const struct ntk_comm_verdict *verdict,
                                              uint32_t rank);

struct ntk_ranks {
    struct ntk_vec rows;     /* struct ntk_rank_row */
    struct ntk_vec verdicts; /* struct ntk_comm_verdict; the worst first, of those the longest */
};

void ntk_ranks_init(struct ntk_ranks *ranks);
void ntk_ranks_fini(struct ntk_ranks *ranks);

/* How far the clock of the machine that took a snapshot is off. */
#define NTK_RANKS_CLOCK_UNKNOWN UINT64_MAX
struct ntk_ranks_clock {
    int64_t ahead_ns;  /* of ours */
    uint64_t error_ns; /* NTK_RANKS_CLOCK_UNKNOWN: it may be anywhere */
};
/* Adds the rows of a machine; host is borrowed. 0 or -ENOMEM. */
int ntk_ranks_add(struct ntk_ranks *ranks, const struct ntk_snapshot *snapshot, const char *host,
                  struct ntk_ranks_clock clock);
/* Judges all communicators of the rows. threshold_ns 0: learned. 0 or -ENOMEM. */
int ntk_ranks_judge(struct ntk_ranks *ranks, uint64_t threshold_ns);

#ifdef __cplusplus
}
#endif
#endif
