/* SPDX-License-Identifier: MIT */
/*
 * core_heap - which parts of one HBM stack are free.
 *
 * Only addresses: first fit over a sorted list of free ranges, neighbours joined on release. Large
 * blocks come from the bottom; nothing is rounded but the start (NTK_CORE_HEAP_ALIGN).
 *
 * Owner:   caller's storage. Threads: one at a time per heap.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_HEAP_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_HEAP_H

#include <stdint.h>

#include "shared/base/vec.h"

#define NTK_CORE_HEAP_ALIGN 64U

struct ntk_core_heap {
    struct ntk_vec free_ranges; /* of struct range, by offset, none adjacent */
};

/* 0 or -ENOMEM. */
int ntk_core_heap_init(struct ntk_core_heap *heap, uint64_t bytes);
void ntk_core_heap_fini(struct ntk_core_heap *heap);
/* The offset of a free range of this size; -ENOMEM if there is none. align: a power of two. */
int ntk_core_heap_take(struct ntk_core_heap *heap, uint64_t bytes, uint64_t align,
                       uint64_t *out_offset);
/* Returns a range from ntk_core_heap_take(). */
void ntk_core_heap_give_back(struct ntk_core_heap *heap, uint64_t offset, uint64_t bytes);

#endif
