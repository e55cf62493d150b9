/* SPDX-License-Identifier: MIT */
/*
 * lanes - assigns spans of an engine or queue to lines, so that spans of a line do not overlap.
 *
 * Spans must be in order of their start. The first free line takes the span; a file can need as
 * many lines as spans, so a tree over their ends is used to find the line. Owner: the caller
 * provides the storage, zeroed if empty; _fini frees the content. Threads: one.
 */
#ifndef NTK_PROFILER_OUTPUT_TRACES_LANES_H
#define NTK_PROFILER_OUTPUT_TRACES_LANES_H

#include <stddef.h>
#include <stdint.h>

struct ntk_lane {
    int64_t end_ns;
    uint64_t id; /* set by the owner; initially 0 */
};

struct ntk_lanes {
    struct ntk_lane *items;
    size_t count, capacity; /* capacity is a power of two */
    /* Earliest end of the lines below a node; 1 is the root, leaves are last */
    int64_t *least;
};

/* Returns a line, valid until the next call; NULL if out of memory. */
struct ntk_lane *ntk_lanes_search(struct ntk_lanes *lanes, int64_t start_ns, int64_t end_ns);
static inline struct ntk_lane *ntk_lanes_take(struct ntk_lanes *lanes, int64_t start_ns,
                                              int64_t end_ns)
{
    /* fast path: most engines execute one instruction at a time */
    if (lanes->count && lanes->items[0].end_ns <= start_ns) {
        lanes->items[0].end_ns = end_ns;
        return &lanes->items[0];
    }
    return ntk_lanes_search(lanes, start_ns, end_ns);
}
void ntk_lanes_fini(struct ntk_lanes *lanes);

#endif
