/* SPDX-License-Identifier: MIT */
/*
 * ranks - determines which ranks of a communicator have reached the current operation, which have
 * not, and for how long.
 *
 * Ranks of one communicator share its key, in the snapshots of one or more machines. All ranks
 * number their operations in the same way, so the highest number of any rank shows which ranks are
 * awaited. Times are durations that each machine measured. The machines' clocks are compared only
 * for processes that started after the others arrived, see clock_error_ns.
 *
 * A verdict uses only rows: a rank without a row is "unseen", and so is a rank on a machine that is
 * not monitored.
 *
 * Owner:   ntk_ranks holds rows and verdicts; the caller owns the added snapshots, which must live
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

#define NTK_RANKS_MAX 65536u /* maximum ranks of a communicator; a larger number is not trusted */

/* Default threshold: this multiple of the longest successful operation, within limits. */
#define NTK_RANKS_TIMES 8u
#define NTK_RANKS_LEAST_NS UINT64_C(5000000000)
#define NTK_RANKS_MOST_NS UINT64_C(600000000000)
#define NTK_RANKS_UNKNOWN_NS UINT64_C(60000000000) /* used until an operation has ended */
/* A broken communicator is reported for this long; its processes may continue in another one. */
#define NTK_RANKS_BROKE_NS UINT64_C(3600000000000)

/* The time after which an operation counts as hanging, if the longest one so far took longest_ns
 * (0: none has ended). *out_is_learned: whether longest_ns was used. */
uint64_t ntk_ranks_limit(uint64_t longest_ns, bool *out_is_learned);

/* One rank, as reported by one process on one machine. */
struct ntk_rank_row {
    const char *host; /* "": this machine */
    uint32_t pid;
    const char *tag;
    const char *command;
    bool is_lost;               /* its process ended; its state shows whether it left before */
    uint64_t lost_for_ns;       /* time since it was lost */
    uint64_t begin_realtime_ns; /* time at which it joined, on the caller's clock */
    uint64_t clock_error_ns;    /* possible error of begin_realtime_ns */
    const struct ntk_rank_sample *sample;
};

enum ntk_rank_where {
    NTK_RANK_ARRIVED,   /* in the operation, or beyond it */
    NTK_RANK_ELSEWHERE, /* in no operation: the previous one was its last */
    NTK_RANK_BEHIND,    /* in an earlier operation */
    NTK_RANK_RESTARTED, /* its process began after other ranks had arrived */
    NTK_RANK_GONE,      /* it left the communicator, or its process exited successfully */
    NTK_RANK_LOST,      /* its process died */
    NTK_RANK_UNSEEN,    /* no source reports this rank */
    NTK_RANK_WHERE_COUNT
};
extern const char *const ntk_rank_where_names[NTK_RANK_WHERE_COUNT];

enum ntk_comm_verdict_kind {
    NTK_COMM_IDLE,    /* no rank is in an operation, or was in one within NTK_RANKS_LEAST_NS */
    NTK_COMM_GOES_ON, /* within the threshold; age_ns 0: no rank is in an operation now */
    NTK_COMM_HANGS,
    NTK_COMM_BROKE, /* a rank died or left, and the others were informed */
    NTK_COMM_VERDICT_COUNT
};
extern const char *const ntk_comm_verdict_names[NTK_COMM_VERDICT_COUNT];

struct ntk_rank_verdict {
    uint32_t rank;
    enum ntk_rank_where where;
    const struct ntk_rank_row *row; /* NULL if unseen */
};

struct ntk_comm_verdict {
    enum ntk_comm_verdict_kind kind;
    const struct ntk_rank_row *first; /* any of its ranks, for names and sizes */
    uint64_t sequence;                /* the awaited operation */
    enum ntk_collective operation;
    uint64_t age_ns;       /* time since the first rank arrived */
    uint64_t threshold_ns; /* time after which the operation counts as hanging */
    bool is_learned;       /* the threshold comes from the longest operation so far */
    uint32_t rank_count;
    uint32_t missing_count; /* ranks that have not arrived; 0 although it hangs: all have arrived */
    uint32_t seen;          /* number of ranks with a row */
    /* ranks with rows, by rank number: as many as there are rows, whatever they claim */
    struct ntk_rank_verdict *ranks;
};
/* The time since a communicator broke, that is, since a rank was lost or informed; 0 if unknown. */
uint64_t ntk_comm_verdict_broke_for(const struct ntk_comm_verdict *verdict);
/* Finds the first missing rank from `rank` on, in rank order; false after the last. */
bool ntk_comm_verdict_missing(const struct ntk_comm_verdict *verdict, uint32_t from,
                              struct ntk_rank_verdict *out);
/* Same, for ranks with this verdict; unseen ranks are not included. */
bool ntk_comm_verdict_missing_as(const struct ntk_comm_verdict *verdict, enum ntk_rank_where where,
                                 uint32_t from, struct ntk_rank_verdict *out);
/* The verdict on a rank, even an unseen one; rank must be below rank_count. */
struct ntk_rank_verdict ntk_comm_verdict_rank(const struct ntk_comm_verdict *verdict,
                                              uint32_t rank);

struct ntk_ranks {
    struct ntk_vec rows; /* struct ntk_rank_row */
    /* elements are struct ntk_comm_verdict, sorted by severity, then duration */
    struct ntk_vec verdicts;
};

void ntk_ranks_init(struct ntk_ranks *ranks);
void ntk_ranks_fini(struct ntk_ranks *ranks);

/* Offset of the snapshot machine's clock, and its possible error. */
#define NTK_RANKS_CLOCK_UNKNOWN UINT64_MAX
struct ntk_ranks_clock {
    int64_t ahead_ns;  /* how far it is ahead of our clock */
    uint64_t error_ns; /* NTK_RANKS_CLOCK_UNKNOWN if no bound is known */
};
/* Adds a machine's rows; host is borrowed. Returns 0 or -ENOMEM. */
int ntk_ranks_add(struct ntk_ranks *ranks, const struct ntk_snapshot *snapshot, const char *host,
                  struct ntk_ranks_clock clock);
/* Judges all communicators in the rows. threshold_ns 0: use the learned threshold. Returns 0 or
 * -ENOMEM. */
int ntk_ranks_judge(struct ntk_ranks *ranks, uint64_t threshold_ns);

#ifdef __cplusplus
}
#endif
#endif
