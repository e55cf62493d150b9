/* SPDX-License-Identifier: MIT */
/*
 * interval - computes the time that spans cover, with overlaps counted once.
 *
 * Spans must be in order of their start, as in a walk (trace/walk.h), so none has to be kept.
 *
 * Owner: the caller provides the storage, zeroed if empty; nothing must be freed. Threads: one at a
 *        time per cover.
 */
#ifndef NTK_PROFILER_ANALYSIS_INTERVAL_H
#define NTK_PROFILER_ANALYSIS_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

/* Returns a + b, limited to INT64_MAX, for sums over untrusted files. Neither may be negative. */
static inline int64_t ntk_ps_sum(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Returns a + b for ns or bytes, limited to UINT64_MAX. */
static inline uint64_t ntk_count_sum(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

struct ntk_interval {
    int64_t start_ps, end_ps;
};

struct ntk_cover {
    int64_t covered_ps; /* overlaps counted once */
    int64_t sum_ps;     /* overlaps are counted each time */
    int64_t end_ps;     /* end of the covered time so far */
    bool is_begun;
};

/* Adds a span; ignores a span that ends before it starts. */
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
