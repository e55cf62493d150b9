/* SPDX-License-Identifier: MIT */
/*
 * merge_sort - sorts blocks by insertion, then merges them, doubling the length each time.
 * Neighbours in order cost one comparison; otherwise only the overlapping part is moved.
 */
#include "profiler/trace/merge_sort.h"

#include <assert.h>

#include "shared/base/bisect.h"

#define BLOCK_ITEMS 32
#define ITEM_BYTES_MAX 32

/* The size is constant after inlining, so copies are single instructions. */
#define INLINE static inline __attribute__((always_inline))

INLINE void sort_block(char *items, size_t count, size_t size, ntk_merge_sort_compare *compare)
{
    char moving[ITEM_BYTES_MAX];

    for (size_t i = 1; i < count; i++) {
        char *at = items + i * size;
        if (!ntk_merge_sort_is_before(at, at - size, compare)) {
            continue;
        }
        memcpy(moving, at, size);
        do {
            memcpy(at, at - size, size);
            at -= size;
        } while (at > items && ntk_merge_sort_is_before(moving, at - size, compare));
        memcpy(at, moving, size);
    }
}

/* Returns the number of sorted items before the item, or not after it. */
INLINE size_t count_before(const char *items, size_t count, size_t size, const char *one,
                           bool with_same, ntk_merge_sort_compare *compare)
{
    size_t before = 0;

    NTK_BISECT(before, count, i,
               with_same ? !ntk_merge_sort_is_before(one, items + i * size, compare)
                         : ntk_merge_sort_is_before(items + i * size, one, compare));
    return before;
}

INLINE void merge_upward(char *to, const char *left, const char *left_end, const char *right,
                         const char *right_end, size_t size, ntk_merge_sort_compare *compare)
{
    while (left < left_end && right < right_end) {
        if (ntk_merge_sort_is_before(right, left, compare)) {
            memcpy(to, right, size);
            right += size;
        } else {
            memcpy(to, left, size);
            left += size;
        }
        to += size;
    }
    memcpy(to, left, (size_t)(left_end - left)); /* the rest of the right part is in place */
}

INLINE void merge_downward(char *to_end, const char *left, const char *left_end, const char *right,
                           const char *right_end, size_t size, ntk_merge_sort_compare *compare)
{
    while (left < left_end && right < right_end) {
        to_end -= size;
        if (ntk_merge_sort_is_before(right_end - size, left_end - size, compare)) {
            left_end -= size;
            memcpy(to_end, left_end, size);
        } else {
            right_end -= size;
            memcpy(to_end, right_end, size);
        }
    }
    memcpy(to_end - (right_end - right), right, (size_t)(right_end - right));
}

INLINE void merge(char *items, size_t left_count, size_t count, size_t size,
                  ntk_merge_sort_compare *compare, char *scratch)
{
    char *middle = items + left_count * size;

    if (!ntk_merge_sort_is_before(middle, middle - size, compare)) {
        return;
    }
    char *left = items + count_before(items, left_count, size, middle, true, compare) * size;
    size_t left_bytes = (size_t)(middle - left);
    size_t right_bytes =
        count_before(middle, count - left_count, size, middle - size, false, compare) * size;
    char *end = middle + right_bytes;
    if (left_bytes <= right_bytes) {
        memcpy(scratch, left, left_bytes);
        merge_upward(left, scratch, scratch + left_bytes, middle, end, size, compare);
    } else {
        memcpy(scratch, middle, right_bytes);
        merge_downward(end, left, middle, scratch, scratch + right_bytes, size, compare);
    }
}

INLINE void sort(char *items, size_t count, size_t size, ntk_merge_sort_compare *compare,
                 char *scratch)
{
    for (size_t at = 0; at < count; at += BLOCK_ITEMS) {
        size_t left = count - at;
        sort_block(items + at * size, left < BLOCK_ITEMS ? left : BLOCK_ITEMS, size, compare);
    }
    for (size_t width = BLOCK_ITEMS; width < count; width *= 2) {
        for (size_t at = 0; at + width < count; at += 2 * width) {
            size_t left = count - at;
            merge(items + at * size, width, left < 2 * width ? left : 2 * width, size, compare,
                  scratch);
        }
    }
}

void ntk_merge_sort(char *items, size_t count, size_t item_bytes, ntk_merge_sort_compare *compare,
                    char *scratch)
{
    assert(item_bytes == 16 || item_bytes == 32);
    if (item_bytes == 16) {
        sort(items, count, 16, compare, scratch);
    } else {
        sort(items, count, 32, compare, scratch);
    }
}
