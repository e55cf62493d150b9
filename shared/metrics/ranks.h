/* SPDX-License-Identifier: MIT */
/*
 * ranks - which ranks of a communicator have reached the current operation, which have not, and for
 * how long.
 *
 * Ranks of one communicator share its key, in the snapshots of one or more machines. All ranks
 * number their operations in the same way, so the highest number of some rank shows which ranks are
 * awaited. Times are durations that each machine measured; clocks of machines are only compared for
 * processes that started after the others arrived, see clock_error_ns.
 *
 * A verdict only uses rows: a rank without a row is "unseen", and so is a rank on a machine that is
 * not monitored.
 *
 * Owner:   ntk_ranks holds rows and verdicts; the caller keeps the added snapshots, which must live
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

#define NTK_RANKS_MAX 65536u /* of a communicator; a larger number is not trusted */

/* Default threshold: this many times the longest operation that succeeded, within bounds. */
#define NTK_RANKS_TIMES 8u
#define NTK_RANKS_LEAST_NS UINT64_C(5000000000)
#define NTK_RANKS_MOST_NS UINT64_C(600000000000)
#define NTK_RANKS_UNKNOWN_NS UINT64_C(60000000000) /* while none has ended */
/* A broken communicator is reported for this long; its processes may continue in another one. */
#define NTK_RANKS_BROKE_NS UINT64_C(3600000000000)

/* The time after which an operation hangs, if the longest one so far took this time (0: none has
 * ended); *out_is_learned: it was used. */
uint64_t ntk_ranks_limit(uint64_t longest_ns, bool *out_is_learned);

/* One rank, as one process of one machine reports it. */
struct ntk_rank_row {
    const char *host; /* "": this machine */
    uint32_t pid;
    const char *tag;
    const char *command;
    bool is_lost;               /* its process ended; it left before if its state says so */
    uint64_t lost_for_ns;       /* ... this long ago */
    uint64_t begin_realtime_ns; /* time at which it joined, on the caller's clock */
    uint64_t clock_error_ns;    /* with this possible error */
    const struct ntk_rank_sample *sample;
};

enum ntk_rank_where {
    NTK_RANK_ARRIVED,   /* in the operation, or past it */
    NTK_RANK_ELSEWHERE, /* in no operation: the previous one was its last */
    NTK_RANK_BEHIND,    /* in an earlier operation */
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
    const struct ntk_rank_row *first; /* any rank of it, for names and sizes */
    uint64_t sequence;                /* the awaited operation */
    enum ntk_collective operation;
    uint64_t age_ns;       /* since the first rank came */
    uint64_t threshold_ns; /* it hangs after this time */
    bool is_learned;       /* the threshold comes from the longest operation so far */
    uint32_t rank_count;
    uint32_t missing_count;         /* ranks that have not come; 0 while it hangs: all are in it */
    uint32_t seen;                  /* ranks with a row */
    struct ntk_rank_verdict *ranks; /* ranks with rows, by rank: as many as rows, whatever they
                                     * claim */
};
/* The time since a communicator broke: since a rank was lost or informed; 0 unknown. */
uint64_t ntk_comm_verdict_broke_for(const struct ntk_comm_verdict *verdict);
/* The first missing rank from `rank` on, in order of ranks; false: no more. */
bool ntk_comm_verdict_missing(const struct ntk_comm_verdict *verdict, uint32_t from,
                              struct ntk_rank_verdict *out);
/* Same, for ranks with this verdict, without unseen ones. */
bool ntk_comm_verdict_missing_as(const struct ntk_comm_verdict *verdict, enum ntk_rank_where where,
                                 uint32_t from, struct ntk_rank_verdict *out);
/* The verdict of a rank, even of an unseen one; rank < rank_count. */
struct ntk_rank_verdict ntk_comm_verdict_rank(const struct ntk_comm_verdict *verdict,
                                              uint32_t rank);

struct ntk_ranks {
    struct ntk_vec rows;     /* struct ntk_rank_row */
    struct ntk_vec verdicts; /* struct ntk_comm_verdict; worst first, of those the longest */
};

void ntk_ranks_init(struct ntk_ranks *ranks);
void ntk_ranks_fini(struct ntk_ranks *ranks);

/* The possible error of the clock of the snapshot's machine. */
#define NTK_RANKS_CLOCK_UNKNOWN UINT64_MAX
struct ntk_ranks_clock {
    int64_t ahead_ns;  /* of ours */
    uint64_t error_ns; /* NTK_RANKS_CLOCK_UNKNOWN: no bound is known */
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
