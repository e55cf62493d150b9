/* SPDX-License-Identifier: MIT */
/*
 * interval - how much time a set of spans covers, overlaps counted once.
 *
 * Owner: caller's storage, zeroed is empty; _fini frees. Threads: one set, one thread.
 */
#ifndef NTK_PROFILER_ANALYSIS_INTERVAL_H
#define NTK_PROFILER_ANALYSIS_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ntk_interval {
    int64_t start_ps, end_ps;
};

struct ntk_intervals {
    struct ntk_interval *items;
    size_t count, capacity;
    int64_t sum_ps; /* of all spans added, overlaps counted again */
    int failed;     /* -ENOMEM sticks */
};

/* a + b, at most INT64_MAX: sums over a file that may say anything. Neither is negative. */
static inline int64_t ntk_ps_sum(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Spans that touch or overlap the last one added are merged at once, so input in order of time needs
 * little memory. */
void ntk_intervals_add(struct ntk_intervals *intervals, int64_t start_ps, int64_t end_ps);
/* Sorts and merges, so that items are the covered spans, and returns their length. */
int64_t ntk_intervals_union_ps(struct ntk_intervals *intervals);
void ntk_intervals_fini(struct ntk_intervals *intervals);

/* The same figures of spans that come in order of their start (trace/walk.h), without memory. Zeroed is
 * empty. */
struct ntk_cover {
    int64_t covered_ps; /* overlaps counted once */
    int64_t sum_ps;     /* and again */
    int64_t end_ps;     /* of what is covered so far; before the first span: its start */
    bool is_begun;
};

static inline void ntk_cover_add(struct ntk_cover *cover, int64_t start_ps, int64_t end_ps)
{
    if (end_ps < start_ps) {
        return;
    }
    cover->sum_ps = ntk_ps_sum(cover->sum_ps, end_ps - start_ps);
    if (!cover->is_begun || start_ps > cover->end_ps) {
        cover->is_begun = true;
        cover->end_ps = start_ps;
    }
    if (end_ps > cover->end_ps) {
        cover->covered_ps += end_ps - cover->end_ps;
        cover->end_ps = end_ps;
    }
}

#endif
