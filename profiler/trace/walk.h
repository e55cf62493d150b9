/* SPDX-License-Identifier: MIT */
/*
 * walk - visits the spans of all cores in one order of time.
 *
 *   struct ntk_walk walk;
 *   struct ntk_walk_span span;
 *   ntk_walk_init(&walk, trace, NTK_WALK_INSTRUCTIONS | NTK_WALK_PACKETS);
 *   while (ntk_walk_next(&walk, &span)) { ... }
 *
 * Memory does not grow with the trace, because lists are read like scans of trace.h. Spans with the
 * same start are in order of cores, instructions before packets.
 *
 * Owner: the caller provides the storage; nothing must be freed. Threads: one at a time per walk.
 */
#ifndef NTK_PROFILER_TRACE_WALK_H
#define NTK_PROFILER_TRACE_WALK_H

#include "profiler/trace/trace.h"

#define NTK_WALK_INSTRUCTIONS 1u
#define NTK_WALK_PACKETS 2u
#define NTK_WALK_LISTS_MAX (2 * NTK_NTFF_SUBGRAPHS_MAX)

struct ntk_walk_span {
    int64_t start_ps, end_ps;
    const struct ntk_trace_core *core;
    const struct ntk_trace_instruction *instruction; /* NULL for a packet */
    const struct ntk_trace_packet *packet;           /* NULL for an instruction */
};

struct ntk_walk_list {
    const struct ntk_trace_core *core;
    const void *first, *at, *end;
    bool has_packets, is_mapped;
};

struct ntk_walk_next {
    int64_t start_ps; /* start of the next element in the list */
    size_t list;      /* at equal starts, the lower list is first */
};

struct ntk_walk {
    size_t list_count, left_count; /* left_count: lists that are not yet at their end */
    struct ntk_walk_list lists[NTK_WALK_LISTS_MAX];
    struct ntk_walk_next heap[NTK_WALK_LISTS_MAX]; /* a heap with the earliest start on top */
};

/* what: mask of NTK_WALK_*. */
void ntk_walk_init(struct ntk_walk *walk, const struct ntk_trace *trace, unsigned what);
/* Returns false at the end. */
bool ntk_walk_next(struct ntk_walk *walk, struct ntk_walk_span *out_span);

#endif
