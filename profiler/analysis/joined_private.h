/* SPDX-License-Identifier: MIT */
/*
 * joined_private - the state of a merge of ranks: joined_walk.c goes through their operations, and
 * joined_path.c back through the collectives found. Private to joined*.c. Threads: one.
 */
#ifndef NTK_PROFILER_ANALYSIS_JOINED_PRIVATE_H
#define NTK_PROFILER_ANALYSIS_JOINED_PRIVATE_H

#include "profiler/analysis/joined.h"
#include "profiler/analysis/joined_match.h"
#include "profiler/trace/long_list.h"

#define NTK_JOIN_NODES_PASS ((size_t)65536) /* whole pages */
#define NTK_JOIN_NO_NODE UINT64_MAX

/* A collective that all ranks of it have. */
struct ntk_join_node {
    int64_t start_ns;                    /* arrival of the last rank */
    int64_t left_ns;                     /* when that rank left its previous collective */
    int64_t run_ns, host_ns, unknown_ns; /* its activity since then */
    uint64_t before;                     /* its previous collective, NTK_JOIN_NO_NODE: none */
    uint64_t skew_ns;
    uint32_t last;
    bool is_alone; /* it arrived after all others */
};

/* The position of a rank in its operations. */
struct ntk_join_walker {
    struct ntk_rank_ops *ops;
    struct ntk_joined_rank *out;
    int64_t offset_ns;
    size_t next;   /* next operation; later ones that are done are in `done` */
    uint64_t done; /* bit i: next + i */
    size_t run;    /* the first run that may still matter */
    size_t restart;
    struct ntk_rank_cursor list, runs; /* its operations and its executions */
    bool has_left;
    int64_t left_ns; /* end of the previous operation */
    uint64_t node;   /* the last complete collective; NTK_JOIN_NO_NODE */
    int64_t node_left_ns;
    int64_t run_ns, host_ns, unknown_ns;     /* since then */
    uint64_t part_ns[NTK_JOINED_PART_COUNT]; /* since then; counts once another one comes */
    double first_left[2], left[2]; /* of the recomputed graph: without and with the changes */
    double factor[NTK_JOINED_PART_COUNT];
};

/* An operation of the current collective. */
struct ntk_join_member {
    struct ntk_join_walker *walker;
    struct ntk_rank_op op;
    size_t at;
    int64_t start_ns, end_ns;            /* on the first clock, not before the previous operation */
    int64_t run_ns, host_ns, unknown_ns; /* since the previous operation */
    bool is_broken;                      /* collectives are missing before it */
};

struct ntk_join {
    struct ntk_joined *joined;
    const struct ntk_joined_options *options;
    struct ntk_joined_match match;
    struct ntk_join_walker *walkers;
    struct ntk_join_member *members; /* room for all ranks */
    size_t member_count;
    int64_t (*comes)[2]; /* room for all ranks: arrival time, index of the member */
    struct ntk_long_list nodes;
    int64_t base_ns; /* a moment in the first collective: nearby times are small numbers */
    bool is_of_kinds, is_of_times; /* a doubt about all, if nothing is numbered */
    int ret;
};

/* Who comes to the current collective: indices of members. */
struct ntk_join_come {
    size_t first, last;
    bool is_alone; /* the last one came after all others */
    int64_t first_ns, last_ns;
};

/* Joins the ranks of the list, in the order of joined->ranks. */
int ntk_join_ranks(struct ntk_rank_list *list, struct ntk_rank_ops *const *ranks,
                   const struct ntk_joined_options *options, struct ntk_joined *joined);
/* Called for each index on the way up: returns memory of earlier nodes. */
void ntk_join_nodes_pass(const struct ntk_join *join, size_t index);

/* From the last collective back to the first: the last rank to arrive made the others wait. */
void ntk_join_path_find(struct ntk_join *join);
/* By the changes of the options: 1 for none. */
double ntk_join_factor(const struct ntk_joined_options *options, uint32_t number,
                       enum ntk_joined_part part);
/* Times the current collective again, without and with the changes: a rank arrives when its own
 * work is done, and leaves as long after the last arrival as it did. The time since the previous
 * node is in the walkers. */
void ntk_join_time(struct ntk_join *join, const struct ntk_join_come *come);
/* The length of the recomputed graph. */
void ntk_join_estimate(struct ntk_join *join);
/* The late rank at each time. */
int ntk_join_pieces_make(struct ntk_join *join);

#endif
