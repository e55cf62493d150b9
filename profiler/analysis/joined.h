/* SPDX-License-Identifier: MIT */
/*
 * joined - the ranks of a job as one graph that is joined at collectives: what each rank did
 * between them, whom it waited for, which chain over ranks decides how long all of it took, and
 * what would change if something were faster. Definitions: docs/ranks.md.
 *
 * The n-th collective operation of a rank (a call, or one inside an execution) belongs with the
 * n-th of every other: all ranks call the same ones in the same order. Where that cannot be so (the
 * kinds differ, a rank left before another came) nothing is claimed. Ranks of other machines are
 * put on the clock of the first machine, by the ends of the collectives.
 *
 * Pure: traces to result; -ENOMEM.
 */
#ifndef NTK_PROFILER_ANALYSIS_JOINED_H
#define NTK_PROFILER_ANALYSIS_JOINED_H

#include "profiler/system/system_trace.h"

#define NTK_JOINED_PIECES_MAX 8U
#define NTK_JOINED_CHANGES_MAX 16U

enum ntk_joined_part {
    NTK_JOINED_RUN,    /* between collectives, a core of the rank executes */
    NTK_JOINED_HOST,   /* between collectives, none does */
    NTK_JOINED_WAIT,   /* in a collective that not all have come to, no core executes */
    NTK_JOINED_LINK,   /* in a collective that all have come to, no core executes */
    NTK_JOINED_INSIDE, /* in a collective while a core executes */
    NTK_JOINED_PART_COUNT,
};
/* "run" */
const char *ntk_joined_part_name(enum ntk_joined_part part);

struct ntk_joined_rank {
    uint32_t worker;
    uint64_t part_ns[NTK_JOINED_PART_COUNT]; /* their sum is span_ns */
    uint64_t span_ns;    /* from the end of the first joint to the end of the last */
    uint64_t waited_ns;  /* for the last to come, whether a core executed or not */
    uint64_t last_count; /* joints that it came to last, alone */
    uint64_t path_ns[NTK_JOINED_PART_COUNT]; /* of the critical path: run, host, link */
    bool has_other_clock;                    /* of another machine than the first rank */
    int64_t offset_ns;        /* of its clock, ahead of the first rank's; taken off */
    uint64_t offset_apart_ns; /* half of the offsets lie in a range as wide as this */
};

/* A part of the time with the rank that the others waited for longest in it. */
struct ntk_joined_piece {
    uint64_t first_joint, joint_count;
    uint64_t skew_ns; /* last to come - first to come, all joints together */
    uint32_t worker;
    uint64_t late_ns; /* behind the first to come where it was last; 0: nobody was, alone */
};

struct ntk_joined_change {
    bool is_of_rank; /* else of all */
    uint32_t worker;
    enum ntk_joined_part part; /* run, host or link */
    double speed;              /* times as fast; 0: takes no time */
};

struct ntk_joined_options {
    size_t change_count;
    struct ntk_joined_change changes[NTK_JOINED_CHANGES_MAX];
};

struct ntk_joined {
    const char *unknown; /* why nothing is told, a sentence; NULL: it is */
    size_t rank_count;
    struct ntk_joined_rank *ranks; /* by number */
    uint64_t joint_count, most_count;
    bool is_from_end;     /* events were lost: the last joints of each, not the first */
    uint64_t total_ns;    /* of the critical path */
    uint64_t span_ns;     /* the longest of a rank */
    uint64_t estimate_ns; /* with the changes, of the same graph without any: model_ns */
    uint64_t model_ns;
    size_t piece_count;
    struct ntk_joined_piece pieces[NTK_JOINED_PIECES_MAX];
    uint64_t absent_count; /* workers between the least and the greatest that have no trace */
    uint32_t absent_first;
    uint64_t twice_count; /* left out: workers of several processes, as after a restart */
    uint32_t twice_first;
};

/* "link=2,rank3.host=0" is added. -EINVAL with a sentence. */
int ntk_joined_changes_add(struct ntk_joined_options *options, const char *text,
                           struct ntk_err *err);
/* options may be NULL. */
int ntk_analysis_joined(const struct ntk_system_trace *const *traces, size_t trace_count,
                        const struct ntk_joined_options *options, struct ntk_joined *out_joined);
void ntk_joined_fini(struct ntk_joined *joined);

#endif
