/* SPDX-License-Identifier: MIT */
/*
 * joined - the ranks of a job as one graph, joined at collectives: what each rank did between them,
 * the rank it waited for, the chain of ranks that determines the total time, and the effect of
 * speeding up a part. Definitions: docs/ranks.md.
 *
 * Operations are matched by communicator and number. If traces do not record these, the n-th of a
 * rank matches the n-th of every other, because all ranks call the same ones in the same order. If
 * that is impossible (the kinds differ, a rank left before another came, one lacks the operation),
 * nothing matches. Clocks of other machines are aligned with the first by the ends of
 * collectives.
 *
 * Pure: traces to result. Memory grows with ranks, not with their operations (rank_ops.h).
 *
 * Owner:   the result is the caller's storage; ntk_joined_fini() frees what it points to.
 */
#ifndef NTK_PROFILER_ANALYSIS_JOINED_H
#define NTK_PROFILER_ANALYSIS_JOINED_H

#include "profiler/analysis/rank_ops.h"
#include "profiler/system/system_trace.h"

#define NTK_JOINED_PIECES_MAX 8U
#define NTK_JOINED_CHANGES_MAX 16U

enum ntk_joined_part {
    NTK_JOINED_RUN,     /* between collectives, a core of the rank executes */
    NTK_JOINED_HOST,    /* between collectives, none does */
    NTK_JOINED_WAIT,    /* in a collective before all have arrived, no core executes */
    NTK_JOINED_LINK,    /* in a collective after all have arrived, no core executes */
    NTK_JOINED_INSIDE,  /* in a collective while a core executes */
    NTK_JOINED_UNKNOWN, /* in a collective that is missing in a rank's trace, or where
                         * collectives are missing; no core executes */
    NTK_JOINED_PART_COUNT,
};
/* "run" */
const char *ntk_joined_part_name(enum ntk_joined_part part);

/* What the last rank to arrive did while another waited for it. */
enum ntk_joined_cause {
    NTK_JOINED_CAUSE_RUN,
    NTK_JOINED_CAUSE_HOST,
    NTK_JOINED_CAUSE_COLLECTIVE, /* it was in the previous collective, or in another one */
    NTK_JOINED_CAUSE_UNKNOWN,
    NTK_JOINED_CAUSE_COUNT,
};
/* "run" */
const char *ntk_joined_cause_name(enum ntk_joined_cause cause);

struct ntk_joined_rank {
    uint32_t number; /* the worker's number; if machines share numbers the rank in the world,
                      * else the position in this list */
    uint32_t worker;
    size_t host;
    uint32_t restart_count;
    uint64_t part_ns[NTK_JOINED_PART_COUNT];   /* their sum is span_ns */
    uint64_t cause_ns[NTK_JOINED_CAUSE_COUNT]; /* their sum is waited_ns */
    uint64_t span_ns;    /* from the end of the first joint to the end of the last */
    uint64_t waited_ns;  /* for the last rank to arrive, whether a core executed or not */
    uint64_t last_count; /* joints at which it was the only last one */
    uint64_t path_ns[NTK_JOINED_PART_COUNT]; /* of the critical path: run, host, link, unknown */
    bool has_other_clock;                    /* on a different machine from the first rank */
    int64_t offset_ns;        /* of its clock relative to the first rank's; already subtracted */
    uint64_t offset_apart_ns; /* half of the offsets are within a range of this width */
};

struct ntk_joined_host {
    char *name; /* "" not known */
    size_t rank_count;
    bool has_offset; /* false: the first rank, or no collective determines it */
    int64_t offset_ns;
    uint64_t apart_ns;
};

/* A part of the time, and the rank that the others waited for longest in it. */
struct ntk_joined_piece {
    uint64_t first_joint, joint_count;
    uint64_t skew_ns; /* last arrival - first arrival, over all joints */
    size_t rank;      /* index */
    uint32_t worker;  /* its number */
    /* time after the first arrival when it was last; 0: it was not, or was alone */
    uint64_t late_ns;
};

struct ntk_joined_change {
    bool is_of_rank;           /* else of all */
    uint32_t worker;           /* its number */
    enum ntk_joined_part part; /* run, host or link */
    double speed;              /* factor of speed; 0: takes no time */
};

/* A time of a rank, on the clock of the first; rank is an index. In order of time for each rank. */
typedef int ntk_joined_segment(size_t rank, enum ntk_joined_part part, int64_t start_ns,
                               int64_t end_ns, void *ctx);

struct ntk_joined_options {
    size_t change_count;
    struct ntk_joined_change changes[NTK_JOINED_CHANGES_MAX];
    ntk_joined_segment *segment; /* NULL: not needed */
    ntk_joined_segment *path;    /* the critical path, last first */
    void *ctx;
};

struct ntk_joined {
    const char *unknown; /* why the result is missing; NULL: it exists */
    bool is_numbered;    /* by communicator and number */
    size_t rank_count;
    struct ntk_joined_rank *ranks; /* by number */
    size_t host_count;
    struct ntk_joined_host *hosts;
    uint64_t joint_count, most_count;
    uint64_t partial_count; /* collectives not reported, because a rank lacks them */
    uint64_t doubted_count; /* ... or because the match is impossible */
    bool is_from_end;       /* events were lost: matched from the last of each, not the first */
    int64_t begin_ns;       /* end of the first joint, on the first rank's clock */
    uint64_t total_ns;      /* of the critical path */
    uint64_t span_ns;       /* the longest of a rank */
    uint64_t estimate_ns;   /* with the changes; without any: model_ns */
    uint64_t model_ns;
    size_t piece_count;
    struct ntk_joined_piece pieces[NTK_JOINED_PIECES_MAX];
    bool has_world;        /* the number of ranks is known */
    uint64_t absent_count; /* ranks without a trace: of the world, else between the lowest and
                            * highest worker */
    uint32_t absent_first;
    uint64_t twice_count; /* omitted: workers in several processes at once */
    uint32_t twice_first;
};

/* Adds "link=2,rank3.host=0". -EINVAL with a message. */
int ntk_joined_changes_add(struct ntk_joined_options *options, const char *text,
                           struct ntk_err *err);
/* Checks that the changed ranks exist. -ENOENT with a message. */
int ntk_joined_changes_check(const struct ntk_joined_options *options,
                             const struct ntk_joined *joined, struct ntk_err *err);
/* The list must be finished; its lives get instances. options may be NULL. 0 or -errno. */
int ntk_analysis_joined_list(struct ntk_rank_list *list, const struct ntk_joined_options *options,
                             struct ntk_joined *out_joined);
/* The same of traces in memory. */
int ntk_analysis_joined(const struct ntk_system_trace *const *traces, size_t trace_count,
                        const struct ntk_joined_options *options, struct ntk_joined *out_joined);
void ntk_joined_fini(struct ntk_joined *joined);

#endif
