/* SPDX-License-Identifier: MIT */
/*
 * bisect - finds a place in elements that are in order.
 *
 *   size_t low = 0;
 *   NTK_BISECT(low, count, i, items[i].start_ns <= time_ns);
 *
 * moves low to the first index i, or to count, for which the condition is false. The condition must
 * be true for all elements before that one, and false for all after it.
 *
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_BASE_BISECT_H
#define NTK_SHARED_BASE_BISECT_H

#include <stddef.h>

#define NTK_BISECT(low, count, i, condition)          \
    for (size_t high_ = (count); (low) < high_;) {    \
        const size_t i = (low) + (high_ - (low)) / 2; \
                                                      \
        if (condition) {                              \
            (low) = i + 1;                            \
        } else {                                      \
            high_ = i;                                \
        }                                             \
    }

#endif
