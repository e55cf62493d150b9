/* SPDX-License-Identifier: MIT */
/*
 * lanes - assigns spans of an engine or queue to lines, so that spans of a line do not overlap.
 *
 * Spans come in order of their start. The first free line takes the span; as a file can need as
 * many lines as spans, a tree over their ends finds it. Owner: caller's storage, zeroed is empty,
 * _fini frees. Threads: one.
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
    size_t count, capacity; /* capacity: a power of two */
    /* the earliest end of the lines below a node; 1 is the root, leaves come last */
    int64_t *least;
};

/* Valid until the next call; NULL if out of memory. */
struct ntk_lane *ntk_lanes_search(struct ntk_lanes *lanes, int64_t start_ns, int64_t end_ns);
static inline struct ntk_lane *ntk_lanes_take(struct ntk_lanes *lanes, int64_t start_ns,
                                              int64_t end_ns)
{
    /* fast path: most engines do one at a time */
    if (lanes->count && lanes->items[0].end_ns <= start_ns) {
        lanes->items[0].end_ns = end_ns;
        return &lanes->items[0];
    }
    return ntk_lanes_search(lanes, start_ns, end_ns);
}
void ntk_lanes_fini(struct ntk_lanes *lanes);

#endif
