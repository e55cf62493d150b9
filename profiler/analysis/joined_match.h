/* SPDX-License-Identifier: MIT */
/*
 * joined_match - matches the communicators of ranks, and the clocks of their machines. Only for
 * joined.c.
 *
 * Owner:   the caller provides the storage of the result; ntk_joined_match_fini() frees its
 *          content.
 * Threads: one at a time.
 */
#ifndef NTK_PROFILER_ANALYSIS_JOINED_MATCH_H
#define NTK_PROFILER_ANALYSIS_JOINED_MATCH_H

#include "profiler/analysis/joined.h"

/* A rank in a communicator; members of one communicator are adjacent. */
struct ntk_joined_member {
    uint32_t rank; /* index in ranks */
    uint32_t life;
};

struct ntk_joined_instance {
    size_t first, count; /* range in members */
};

struct ntk_joined_match {
    /* elements are struct ntk_joined_instance; life->instance is the index */
    struct ntk_vec members;
    /* elements are struct ntk_joined_instance; life->instance is the index */
    struct ntk_vec instances;
};

/* Sets life->instance (UINT32_MAX if no other rank has the communicator) and the offsets of ranks
 * and hosts of *joined. */
int ntk_joined_match_make(struct ntk_rank_store *store, struct ntk_rank_ops *const *ranks,
                          struct ntk_joined *joined, struct ntk_joined_match *out_match);
void ntk_joined_match_fini(struct ntk_joined_match *match);

#endif
