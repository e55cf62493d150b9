/* SPDX-License-Identifier: MIT */
/*
 * lanes - on which of the lines of one engine or queue a span is drawn, so that none of a line
 * overlap.
 *
 * Spans come in order of their start. The first line that is free takes the span. A file can have as
 * many lines as spans, so a tree over the ends finds it. Owner: caller's storage, zeroed is empty,
 * _fini frees. Threads: one.
 */
#ifndef NTK_PROFILER_OUTPUT_TRACES_LANES_H
#define NTK_PROFILER_OUTPUT_TRACES_LANES_H

#include <stddef.h>
#include <stdint.h>

struct ntk_lane {
    int64_t end_ns;
    uint64_t id; /* the owner's; 0 until it sets one */
};

struct ntk_lanes {
    struct ntk_lane *items;
    size_t count, capacity; /* capacity: a power of two */
    int64_t *least; /* the least end of the lines below a node; 1 is the root, then leaves */
};

/* Valid until the next call; NULL if out of memory. */
struct ntk_lane *ntk_lanes_search(struct ntk_lanes *lanes, int64_t start_ns, int64_t end_ns);
static inline struct ntk_lane *ntk_lanes_take(struct ntk_lanes *lanes, int64_t start_ns,
                                              int64_t end_ns)
{
    if (lanes->count && lanes->items[0].end_ns <= start_ns) { /* most engines do one at a time */
        lanes->items[0].end_ns = end_ns;
        return &lanes->items[0];
    }
    return ntk_lanes_search(lanes, start_ns, end_ns);
}
void ntk_lanes_fini(struct ntk_lanes *lanes);

#endif
