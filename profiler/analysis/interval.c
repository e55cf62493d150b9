/* SPDX-License-Identifier: MIT */
/* interval - the union of spans: sorted, then merged. */
#include "profiler/analysis/interval.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ntk_intervals_add(struct ntk_intervals *intervals, int64_t start_ps, int64_t end_ps)
{
    if (intervals->failed || end_ps < start_ps) {
        return;
    }
    intervals->sum_ps = ntk_ps_sum(intervals->sum_ps, end_ps - start_ps);
    if (intervals->count) {
        struct ntk_interval *last = &intervals->items[intervals->count - 1];
        if (start_ps >= last->start_ps && start_ps <= last->end_ps) {
            last->end_ps = end_ps > last->end_ps ? end_ps : last->end_ps;
            return;
        }
    }
    if (intervals->count == intervals->capacity) {
        size_t capacity = intervals->capacity ? 2 * intervals->capacity : 64;
        struct ntk_interval *items = realloc(intervals->items, capacity * sizeof *items);
        if (!items) {
            intervals->failed = -ENOMEM;
            return;
        }
        intervals->items = items;
        intervals->capacity = capacity;
    }
    intervals->items[intervals->count++] = (struct ntk_interval){ start_ps, end_ps };
}

static int compare(const void *a, const void *b)
{
    const struct ntk_interval *x = a;
    const struct ntk_interval *y = b;

    return x->start_ps < y->start_ps ? -1 : x->start_ps > y->start_ps;
}

int64_t ntk_intervals_union_ps(struct ntk_intervals *intervals)
{
    int64_t covered_ps = 0;
    size_t kept = 0;

    if (intervals->count > 1) {
        qsort(intervals->items, intervals->count, sizeof *intervals->items, compare);
    }
    for (size_t i = 0; i < intervals->count; i++) {
        struct ntk_interval *last = kept ? &intervals->items[kept - 1] : NULL;
        if (last && intervals->items[i].start_ps <= last->end_ps) {
            if (intervals->items[i].end_ps > last->end_ps) {
                last->end_ps = intervals->items[i].end_ps;
            }
        } else {
            intervals->items[kept++] = intervals->items[i];
        }
    }
    intervals->count = kept;
    for (size_t i = 0; i < kept; i++) {
        covered_ps += intervals->items[i].end_ps - intervals->items[i].start_ps;
    }
    return covered_ps;
}

void ntk_intervals_fini(struct ntk_intervals *intervals)
{
    free(intervals->items);
    memset(intervals, 0, sizeof *intervals);
}
