/* SPDX-License-Identifier: MIT */
/*
 * core_heap - manages the free parts of an HBM stack.
 *
 * It handles only addresses: first fit over a sorted list of free ranges, which are joined with
 * adjacent ones on release. Large blocks come from the bottom; only the start is rounded
 * (NTK_CORE_HEAP_ALIGN).
 *
 * Owner:   caller's storage. Threads: one at a time per heap.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_HEAP_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_HEAP_H

#include <stdint.h>

#include "shared/base/vec.h"

#define NTK_CORE_HEAP_ALIGN 64U

struct ntk_core_heap {
    struct ntk_vec free_ranges; /* elements are struct range, sorted by offset, none adjacent */
};

/* Returns 0 or -ENOMEM. */
int ntk_core_heap_init(struct ntk_core_heap *heap, uint64_t bytes);
void ntk_core_heap_fini(struct ntk_core_heap *heap);
/* Finds a free range of this size and takes it; -ENOMEM if there is none. align is a power of
 * two. */
int ntk_core_heap_take(struct ntk_core_heap *heap, uint64_t bytes, uint64_t align,
                       uint64_t *out_offset);
/* Returns a range from ntk_core_heap_take(). */
void ntk_core_heap_give_back(struct ntk_core_heap *heap, uint64_t offset, uint64_t bytes);

#endif
