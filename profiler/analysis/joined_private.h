/* SPDX-License-Identifier: MIT */
/*
 * joined_private - holds the state of a merge of ranks: joined_walk.c visits their operations, and
 * joined_path.c visits the collectives backwards. Private to joined*.c. Threads: one.
 */
#ifndef NTK_PROFILER_ANALYSIS_JOINED_PRIVATE_H
#define NTK_PROFILER_ANALYSIS_JOINED_PRIVATE_H

#include "profiler/analysis/joined.h"
#include "profiler/analysis/joined_match.h"
#include "profiler/trace/long_list.h"

#define NTK_JOIN_NODES_PASS ((size_t)65536) /* number of nodes in whole pages */
#define NTK_JOIN_NO_NODE UINT64_MAX

/* A collective that all its ranks have. */
struct ntk_join_node {
    int64_t start_ns;                    /* time when the last rank arrived */
    int64_t left_ns;                     /* time when that rank left its previous collective */
    int64_t run_ns, host_ns, unknown_ns; /* activity of that rank since then */
    uint64_t before; /* previous collective of that rank; NTK_JOIN_NO_NODE if none */
    uint64_t skew_ns;
    uint32_t last;
    bool is_alone; /* true if it arrived after all others */
};

/* The position of a rank in its operations. */
struct ntk_join_walker {
    struct ntk_rank_ops *ops;
    struct ntk_joined_rank *out;
    int64_t offset_ns;
    size_t next;   /* next operation; later finished operations are in `done` */
    uint64_t done; /* bit i is operation next + i */
    size_t run;    /* first run that may still matter */
    size_t restart;
    struct ntk_rank_cursor list, runs; /* operations and executions of the rank */
    bool has_left;
    int64_t left_ns; /* end of the previous operation */
    uint64_t node;   /* last complete collective, or NTK_JOIN_NO_NODE */
    int64_t node_left_ns;
    int64_t run_ns, host_ns, unknown_ns; /* activity since then */
    /* parts since then; they count when another collective follows */
    uint64_t part_ns[NTK_JOINED_PART_COUNT];
    double first_left[2], left[2]; /* times in the recomputed graph: without and with the changes */
    double factor[NTK_JOINED_PART_COUNT];
};

/* An operation in the current collective. */
struct ntk_join_member {
    struct ntk_join_walker *walker;
    struct ntk_rank_op op;
    size_t at;
    int64_t start_ns, end_ns;            /* on the first clock, not before the previous operation */
    int64_t run_ns, host_ns, unknown_ns; /* activity since the previous operation */
    bool is_broken;                      /* true if collectives are missing before it */
};

struct ntk_join {
    struct ntk_joined *joined;
    const struct ntk_joined_options *options;
    struct ntk_joined_match match;
    struct ntk_join_walker *walkers;
    struct ntk_join_member *members; /* capacity for all ranks */
    size_t member_count;
    int64_t (*comes)[2]; /* capacity for all ranks: arrival time, index of the member */
    struct ntk_long_list nodes;
    int64_t base_ns; /* a time in the first collective, so that nearby times are small numbers */
    bool is_of_kinds, is_of_times; /* doubts about all collectives, if none is numbered */
    int ret;
};

/* Arrivals at the current collective: indices of members. */
struct ntk_join_come {
    size_t first, last;
    bool is_alone; /* the last rank arrived after all others */
    int64_t first_ns, last_ns;
};

/* Joins the ranks of the list, in the order of joined->ranks. */
int ntk_join_ranks(struct ntk_rank_list *list, struct ntk_rank_ops *const *ranks,
                   const struct ntk_joined_options *options, struct ntk_joined *joined);
/* Called for each increasing index: returns memory of earlier nodes to the system. */
void ntk_join_nodes_pass(const struct ntk_join *join, size_t index);

/* Finds the path from the last collective back to the first: the last rank to arrive made the
 * others wait. */
void ntk_join_path_find(struct ntk_join *join);
/* Returns the factor of speed from the changes in the options; 1 if none applies. */
double ntk_join_factor(const struct ntk_joined_options *options, uint32_t number,
                       enum ntk_joined_part part);
/* Recomputes the times of the current collective, without and with the changes: a rank arrives when
 * its own work is done, and leaves as long after the last arrival as it did. The time since the
 * previous node is in the walkers. */
void ntk_join_time(struct ntk_join *join, const struct ntk_join_come *come);
/* Computes the length of the recomputed graph. */
void ntk_join_estimate(struct ntk_join *join);
/* Finds the late rank at each time. */
int ntk_join_pieces_make(struct ntk_join *join);

#endif
