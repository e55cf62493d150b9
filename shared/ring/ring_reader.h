/* SPDX-License-Identifier: MIT */
/*
 * ring_reader - reads one event ring of a mapped segment and counts exactly the records that it
 * missed.
 *
 * The ring may overwrite its oldest records at any time; the reader copies batches, checks them and
 * counts the rest as lost. Between writes: records published = read + lost.
 *
 * Owner:   the caller's storage; nothing to free. The mapping belongs to the segment and must
 *          outlive the reader.
 * Threads: one at a time per reader; any number of readers follow one ring.
 */
#ifndef NTK_SHARED_RING_RING_READER_H
#define NTK_SHARED_RING_RING_READER_H

#include <stddef.h>
#include <stdint.h>

#include "shared/abi/event_abi.h"
#include "shared/abi/segment_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_RING_BATCH 256

struct ntk_ring_reader {
    const struct ntk_slot *slots;
    const uint64_t *head;
    uint64_t capacity;
    uint64_t position; /* index of the next record to read */
    uint64_t read;     /* records delivered */
    uint64_t lost;     /* records published but never delivered */
    uint64_t start;    /* initial position: read + lost = position - start */
    /* Set by the owner when the writer has stopped: an overrun reader then continues with the
     * oldest record instead of half a ring later. */
    int writer_gone;
};

enum ntk_ring_from {
    /* start with the records that are still there; older ones count as lost */
    NTK_RING_FROM_OLDEST,
    NTK_RING_FROM_NOW /* only future records; earlier ones do not count as lost */
};

/* slots has `capacity` elements, a power of two. */
void ntk_ring_reader_init(struct ntk_ring_reader *reader, const struct ntk_slot *slots,
                          const uint64_t *head, uint64_t capacity, enum ntk_ring_from from);
/* Copies up to NTK_RING_BATCH valid records, oldest first, into out_slots (room for NTK_RING_BATCH)
 * and returns their number. *out_more (may be NULL) is 1 if more already exist, even if this whole
 * batch was lost. */
size_t ntk_ring_reader_next(struct ntk_ring_reader *reader, struct ntk_slot *out_slots,
                            int *out_more);

#ifdef __cplusplus
}
#endif
#endif
