/* SPDX-License-Identifier: MIT */
#include "profiler/output/traces/lanes.h"

#include <stdlib.h>

struct ntk_lane *ntk_lanes_search(struct ntk_lanes *lanes, int64_t start_ns, int64_t end_ns)
{
    size_t at = 0;

    while (at < lanes->count && lanes->items[at].end_ns > start_ns) {
        at++;
    }
    if (at == lanes->capacity) {
        size_t capacity = at ? 2 * at : 4;
        struct ntk_lane *items = realloc(lanes->items, capacity * sizeof *items);
        if (!items) {
            return NULL;
        }
        lanes->items = items;
        lanes->capacity = capacity;
    }
    if (at == lanes->count) {
        lanes->items[lanes->count++].id = 0;
    }
    lanes->items[at].end_ns = end_ns;
    return &lanes->items[at];
}

void ntk_lanes_fini(struct ntk_lanes *lanes)
{
    free(lanes->items);
    *lanes = (struct ntk_lanes){ 0 };
}
