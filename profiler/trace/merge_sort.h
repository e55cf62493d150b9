/* SPDX-License-Identifier: MIT */
/*
 * merge_sort - sorts items that begin with their time; stable, and fast if most are in order.
 *
 * Threads: any.
 */
#ifndef NTK_PROFILER_TRACE_MERGE_SORT_H
#define NTK_PROFILER_TRACE_MERGE_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Compares two items with the same time; negative if a is before b. */
typedef int ntk_merge_sort_compare(const void *a, const void *b);

static inline bool ntk_merge_sort_is_before(const void *a, const void *b,
                                            ntk_merge_sort_compare *compare)
{
    int64_t a_ps;
    int64_t b_ps;

    memcpy(&a_ps, a, sizeof a_ps);
    memcpy(&b_ps, b, sizeof b_ps);
    return a_ps != b_ps ? a_ps < b_ps : compare(a, b) < 0;
}

/* item_bytes must be 16 or 32; scratch has space for half of the items. */
void ntk_merge_sort(char *items, size_t count, size_t item_bytes, ntk_merge_sort_compare *compare,
                    char *scratch);

#endif
