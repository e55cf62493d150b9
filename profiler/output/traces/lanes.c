/* SPDX-License-Identifier: MIT */
#include "profiler/output/traces/lanes.h"

#include <stdbool.h>
#include <stdlib.h>

/* Sets the end of a line, and the minima above it. */
static void set_end(struct ntk_lanes *lanes, size_t at, int64_t end_ns)
{
    int64_t *least = lanes->least;

    lanes->items[at].end_ns = end_ns;
    for (size_t node = lanes->capacity + at; node > 0; node /= 2) {
        least[node] = node >= lanes->capacity                 ? end_ns
                      : least[2 * node] < least[2 * node + 1] ? least[2 * node]
                                                              : least[2 * node + 1];
    }
}

static bool grow(struct ntk_lanes *lanes)
{
    size_t capacity = lanes->capacity ? 2 * lanes->capacity : 4;
    struct ntk_lane *items = realloc(lanes->items, capacity * sizeof *items);

    if (!items) {
        return false;
    }
    lanes->items = items;
    int64_t *least = malloc(2 * capacity * sizeof *least);
    if (!least) {
        return false;
    }
    for (size_t node = 0; node < 2 * capacity; node++) {
        least[node] = INT64_MAX;
    }
    free(lanes->least);
    lanes->least = least;
    lanes->capacity = capacity;
    for (size_t i = 0; i < lanes->count; i++) {
        set_end(lanes, i, items[i].end_ns);
    }
    return true;
}

struct ntk_lane *ntk_lanes_search(struct ntk_lanes *lanes, int64_t start_ns, int64_t end_ns)
{
    size_t at = 1;

    if (lanes->count) {
        set_end(lanes, 0, lanes->items[0].end_ns); /* ntk_lanes_take() does not update the tree */
    }
    if (!lanes->count || lanes->least[1] > start_ns) {
        if (lanes->count == lanes->capacity && !grow(lanes)) {
            return NULL;
        }
        at = lanes->count++;
        lanes->items[at].id = 0;
    } else {
        while (at < lanes->capacity) {
            at = 2 * at + (lanes->least[2 * at] > start_ns);
        }
        at -= lanes->capacity;
    }
    set_end(lanes, at, end_ns);
    return &lanes->items[at];
}

void ntk_lanes_fini(struct ntk_lanes *lanes)
{
    free(lanes->items);
    free(lanes->least);
    *lanes = (struct ntk_lanes){ 0 };
}
