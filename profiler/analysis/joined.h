/* SPDX-License-Identifier: MIT */
/*
 * joined - builds one graph from the ranks of a job, joined at collectives: the activity of each
 * rank between them, the rank for which it waited, the chain of ranks that determines the total
 * time, and the effect of speeding up a part. docs/ranks.md has the definitions.
 *
 * Operations are matched by communicator and number. If traces do not record these, the n-th
 * operation of a rank matches the n-th of every other rank, because all ranks call the same
 * operations in the same order. If that is impossible (the kinds differ, a rank left before another
 * arrived, or a rank lacks the operation), nothing matches. Clocks of other machines are aligned
 * with the first by the ends of collectives.
 *
 * Memory grows with ranks, not with their operations (rank_ops.h).
 *
 * Owner:   the caller provides the storage of the result; ntk_joined_fini() frees its content.
 */
#ifndef NTK_PROFILER_ANALYSIS_JOINED_H
#define NTK_PROFILER_ANALYSIS_JOINED_H

#include "profiler/analysis/rank_ops.h"
#include "profiler/system/system_trace.h"

#define NTK_JOINED_PIECES_MAX 8U
#define NTK_JOINED_CHANGES_MAX 16U

enum ntk_joined_part {
    NTK_JOINED_RUN,     /* between collectives; a core of the rank executes */
    NTK_JOINED_HOST,    /* between collectives; no core executes */
    NTK_JOINED_WAIT,    /* in a collective before all ranks have arrived; no core executes */
    NTK_JOINED_LINK,    /* in a collective after all ranks have arrived; no core executes */
    NTK_JOINED_INSIDE,  /* in a collective; a core executes */
    NTK_JOINED_UNKNOWN, /* in a collective that is missing in a rank's trace, or where
                         * collectives are missing; no core executes */
    NTK_JOINED_PART_COUNT,
};
/* Returns a name such as "run". */
const char *ntk_joined_part_name(enum ntk_joined_part part);

/* Activity of the last rank to arrive while another rank waited for it. */
enum ntk_joined_cause {
    NTK_JOINED_CAUSE_RUN,
    NTK_JOINED_CAUSE_HOST,
    NTK_JOINED_CAUSE_COLLECTIVE, /* in the previous collective, or in another one */
    NTK_JOINED_CAUSE_UNKNOWN,
    NTK_JOINED_CAUSE_COUNT,
};
/* Returns a name such as "run". */
const char *ntk_joined_cause_name(enum ntk_joined_cause cause);

struct ntk_joined_rank {
    uint32_t number; /* the worker's number; if machines share numbers the rank in the world,
                      * else the position in this list */
    uint32_t worker;
    size_t host;
    uint32_t restart_count;
    uint64_t part_ns[NTK_JOINED_PART_COUNT];   /* times add up to span_ns */
    uint64_t cause_ns[NTK_JOINED_CAUSE_COUNT]; /* times add up to waited_ns */
    uint64_t span_ns;    /* from the end of the first joint to the end of the last */
    uint64_t waited_ns;  /* wait for the last rank to arrive, even if a core executed */
    uint64_t last_count; /* number of joints at which only this rank was last */
    /* parts of the critical path: run, host, link, unknown */
    uint64_t path_ns[NTK_JOINED_PART_COUNT];
    bool has_other_clock; /* on a different machine from the first rank */
    int64_t offset_ns;    /* offset of its clock to the first rank's clock; already subtracted */
    uint64_t offset_apart_ns; /* half of the offsets are within a range of this width */
};

struct ntk_joined_host {
    char *name; /* "" if unknown */
    size_t rank_count;
    bool has_offset; /* false for the first rank, or if no collective determines it */
    int64_t offset_ns;
    uint64_t apart_ns;
};

/* A part of the time, and the rank for which the others waited longest in it. */
struct ntk_joined_piece {
    uint64_t first_joint, joint_count;
    uint64_t skew_ns; /* last arrival - first arrival, added up over all joints */
    size_t rank;      /* index of the rank */
    uint32_t worker;  /* number of its worker */
    /* Time from the first arrival to its arrival, added up where it was last; 0 if it never was, or
     * was alone */
    uint64_t late_ns;
};

struct ntk_joined_change {
    bool is_of_rank;           /* true: for one rank; false: for all */
    uint32_t worker;           /* number of its worker */
    enum ntk_joined_part part; /* run, host or link */
    double speed;              /* factor of speed; 0 means that the part takes no time */
};

/* Receives a time of a rank, on the clock of the first rank. rank is an index. Times of a rank are
 * in order. */
typedef int ntk_joined_segment(size_t rank, enum ntk_joined_part part, int64_t start_ns,
                               int64_t end_ns, void *ctx);

struct ntk_joined_options {
    size_t change_count;
    struct ntk_joined_change changes[NTK_JOINED_CHANGES_MAX];
    ntk_joined_segment *segment; /* NULL if not needed */
    ntk_joined_segment *path;    /* for the critical path, from its end */
    void *ctx;
};

struct ntk_joined {
    const char *unknown; /* reason for a missing result; NULL if there is a result */
    bool is_numbered;    /* matched by communicator and number */
    size_t rank_count;
    struct ntk_joined_rank *ranks; /* by number of the worker */
    size_t host_count;
    struct ntk_joined_host *hosts;
    uint64_t joint_count, most_count;
    uint64_t partial_count; /* collectives that are not reported because a rank lacks them */
    uint64_t doubted_count; /* collectives that are not reported because the match is impossible */
    /* events were lost, so operations are matched from the last of each, not from the first */
    bool is_from_end;
    int64_t begin_ns;     /* end of the first joint, on the first rank's clock */
    uint64_t total_ns;    /* length of the critical path */
    uint64_t span_ns;     /* longest span of a rank */
    uint64_t estimate_ns; /* length with the changes; without changes equal to model_ns */
    uint64_t model_ns;
    size_t piece_count;
    struct ntk_joined_piece pieces[NTK_JOINED_PIECES_MAX];
    bool has_world; /* true if the number of ranks is known */
    /* ranks without a trace: in the world, else between the lowest and highest worker */
    uint64_t absent_count;
    uint32_t absent_first;
    /* number of omitted workers that are in several processes at the same time */
    uint64_t twice_count;
    uint32_t twice_first;
};

/* Adds changes such as "link=2,rank3.host=0". -EINVAL with a message. */
int ntk_joined_changes_add(struct ntk_joined_options *options, const char *text,
                           struct ntk_err *err);
/* Checks that the changed ranks exist; -ENOENT with a message. */
int ntk_joined_changes_check(const struct ntk_joined_options *options,
                             const struct ntk_joined *joined, struct ntk_err *err);
/* Joins the ranks of a finished list; sets the instances of its lives. options may be NULL. Returns
 * 0 or -errno. */
int ntk_analysis_joined_list(struct ntk_rank_list *list, const struct ntk_joined_options *options,
                             struct ntk_joined *out_joined);
/* Like ntk_analysis_joined_list(), for traces in memory. */
int ntk_analysis_joined(const struct ntk_system_trace *const *traces, size_t trace_count,
                        const struct ntk_joined_options *options, struct ntk_joined *out_joined);
void ntk_joined_fini(struct ntk_joined *joined);

#endif
