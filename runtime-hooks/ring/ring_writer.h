/* SPDX-License-Identifier: MIT */
/*
 * ring_writer - writes records to one event ring: reserve, fill, commit; no malloc, lock or log.
 *
 * The ring (shared/abi/event_abi.h) has one writer at a time and always overwrites its oldest
 * record. A signal handler that interrupts a record of its own thread finds the writer busy: its
 * record is only counted as dropped. The functions are inline, because a record must cost little
 * more than a write to its cache line.
 *
 * Owner:   the caller provides the storage for the writer; slots and the directory entry belong to
 *          the segment.
 * Threads: one at a time; a writer may pass to another thread through a release/acquire pair.
 */
#ifndef NTK_RUNTIME_HOOKS_RING_RING_WRITER_H
#define NTK_RUNTIME_HOOKS_RING_RING_WRITER_H

#include <stdint.h>

#include "shared/abi/event_abi.h"
#include "shared/abi/segment_abi.h"

/* Two cache lines: neighbours in an array belong to different threads, and the prefetcher fetches
 * pairs of lines. */
#define NTK_RING_WRITER_ALIGNMENT 128

struct ntk_ring_writer {
    _Alignas(NTK_RING_WRITER_ALIGNMENT) struct ntk_slot *slots;
    uint64_t mask; /* capacity - 1 */
    uint64_t head; /* local copy of ring->head */
    struct ntk_segment_ring *ring;
    const void *owner; /* identifies the owning thread; NULL if free */
    volatile uint32_t
        busy;        /* a record is being written; only read by the owner and its signal handlers */
    uint32_t thread; /* thread table index of the owner */
};
static_assert(sizeof(struct ntk_ring_writer) == NTK_RING_WRITER_ALIGNMENT, "writers share no line");

/* Initialises the writer. ring->head may be above 0: counting continues there. capacity is a power
 * of two. */
void ntk_ring_writer_init(struct ntk_ring_writer *writer, struct ntk_segment_ring *ring,
                          struct ntk_slot *slots, uint64_t capacity);

/* Opens a span of records. Returns 1, or 0 if a record of this thread is open (the new record is
 * dropped). */
static inline int ntk_ring_writer_enter(struct ntk_ring_writer *writer)
{
    if (__builtin_expect(writer->busy != 0, 0)) {
        /* Only the owner's thread reaches this place, and it cannot interrupt itself here, so no
         * lock is needed. */
        ntk_abi_add_owned(&writer->ring->dropped, 1);
        return 0;
    }
    writer->busy = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return 1;
}

static inline void ntk_ring_writer_leave(struct ntk_ring_writer *writer)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    writer->busy = 0;
}

/* Writes one record between enter and leave. meta is NTK_SLOT_META(). */
static inline void ntk_ring_writer_put(struct ntk_ring_writer *writer, uint64_t start_ticks,
                                       uint64_t meta, uint64_t word_0, uint64_t word_1,
                                       uint64_t word_2, uint64_t word_3, uint64_t word_4)
{
    uint64_t index = writer->head;
    struct ntk_slot *slot = &writer->slots[index & writer->mask];

    ntk_abi_store(&slot->seq, 0);
    /* Pairs with the acquire fence in ntk_ring_reader_next(): a reader that sees a new word also
     * sees seq 0 or the new head. */
    ntk_abi_fence_release();
    ntk_abi_store(&slot->start_ticks, start_ticks);
    ntk_abi_store(ntk_slot_meta(slot), meta);
    ntk_abi_store(&slot->word[0], word_0);
    ntk_abi_store(&slot->word[1], word_1);
    ntk_abi_store(&slot->word[2], word_2);
    ntk_abi_store(&slot->word[3], word_3);
    ntk_abi_store(&slot->word[4], word_4);
    ntk_abi_store_release(&slot->seq, index + 1);
    writer->head = index + 1;
    /* Pairs with the acquire loads of head in ntk_ring_reader_next(). */
    ntk_abi_store_release(&writer->ring->head, index + 1);
}

#endif
