/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_heap.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>

#include "shared/base/bisect.h"

struct range {
    uint64_t offset;
    uint64_t bytes;
};

static uint64_t round_up(uint64_t value, uint64_t align)
{
    return (value + align - 1) & ~(align - 1);
}

int ntk_core_heap_init(struct ntk_core_heap *heap, uint64_t bytes)
{
    struct range all = { .offset = 0, .bytes = bytes };

    ntk_vec_init(&heap->free_ranges, sizeof(struct range));
    return ntk_vec_push(&heap->free_ranges, &all);
}

void ntk_core_heap_fini(struct ntk_core_heap *heap)
{
    ntk_vec_fini(&heap->free_ranges);
}

/* Inserts a range at index. Returns 0 or -ENOMEM. */
static int range_insert(struct ntk_core_heap *heap, size_t index, struct range range)
{
    if (!ntk_vec_add(&heap->free_ranges)) {
        return -ENOMEM;
    }
    struct range *items = heap->free_ranges.items;
    for (size_t i = heap->free_ranges.count - 1; i > index; i--) {
        items[i] = items[i - 1];
    }
    items[index] = range;
    return 0;
}

int ntk_core_heap_take(struct ntk_core_heap *heap, uint64_t bytes, uint64_t align,
                       uint64_t *out_offset)
{
    bytes = round_up(bytes, NTK_CORE_HEAP_ALIGN);
    if (align < NTK_CORE_HEAP_ALIGN) {
        align = NTK_CORE_HEAP_ALIGN;
    }
    for (size_t i = 0; i < heap->free_ranges.count; i++) {
        struct range *range = ntk_vec_at(&heap->free_ranges, i);
        uint64_t start = round_up(range->offset, align);
        uint64_t skipped = start - range->offset;

        if (skipped > range->bytes || range->bytes - skipped < bytes) {
            continue;
        }
        uint64_t behind = range->bytes - skipped - bytes;
        if (skipped > 0 && behind > 0) {
            struct range rest = { .offset = start + bytes, .bytes = behind };

            if (range_insert(heap, i + 1, rest) < 0) {
                return -ENOMEM;
            }
            range = ntk_vec_at(&heap->free_ranges, i);
            range->bytes = skipped;
        } else if (skipped > 0) {
            range->bytes = skipped;
        } else if (behind > 0) {
            range->offset = start + bytes;
            range->bytes = behind;
        } else {
            ntk_vec_remove(&heap->free_ranges, i);
        }
        *out_offset = start;
        return 0;
    }
    return -ENOMEM;
}

void ntk_core_heap_give_back(struct ntk_core_heap *heap, uint64_t offset, uint64_t bytes)
{
    const struct range *ranges = heap->free_ranges.items;
    size_t low = 0;

    bytes = round_up(bytes, NTK_CORE_HEAP_ALIGN);
    NTK_BISECT(low, heap->free_ranges.count, i, ranges[i].offset < offset);
    struct range *before = low > 0 ? ntk_vec_at(&heap->free_ranges, low - 1) : NULL;
    struct range *after =
        low < heap->free_ranges.count ? ntk_vec_at(&heap->free_ranges, low) : NULL;
    bool joins_before = before && before->offset + before->bytes == offset;
    bool joins_after = after && offset + bytes == after->offset;

    assert(!before || before->offset + before->bytes <= offset);
    assert(!after || offset + bytes <= after->offset);
    if (joins_before && joins_after) {
        before->bytes += bytes + after->bytes;
        ntk_vec_remove(&heap->free_ranges, low);
    } else if (joins_before) {
        before->bytes += bytes;
    } else if (joins_after) {
        after->offset = offset;
        after->bytes += bytes;
    } else {
        /* If out of memory for the entry, the range stays taken until the process exits. */
        (void)range_insert(heap, low, (struct range){ .offset = offset, .bytes = bytes });
    }
}
