/* SPDX-License-Identifier: MIT */
/* ring_segment_events - reads a segment's valid event rings in turn. */
#include "shared/ring/ring_segment_private.h"

#include <sys/mman.h>
#include <unistd.h>

#define RING_SLOTS_MAX (1u << 24)
#define RELEASED_RECORDS 16384u /* records in one MiB of pages */

/* Sets up readers for rings that are ready; an invalid ring is skipped permanently. */
static void find_rings(struct ntk_ring_segment *segment)
{
    uint64_t slots_begin = (uint64_t)(segment->section[NTK_SECTION_SLOTS].at - segment->base);
    uint64_t slots_end =
        slots_begin + (uint64_t)segment->section[NTK_SECTION_SLOTS].count * NTK_SLOT_BYTES;

    while (segment->ring_count < segment->section[NTK_SECTION_RINGS].count) {
        uint32_t index = segment->ring_count;
        const struct ntk_segment_ring *ring =
            (const void *)segment_entry_at(segment, NTK_SECTION_RINGS, index);
        uint64_t capacity;
        uint64_t offset;

        /* Pairs with the release store in take_ring(). */
        if (ntk_abi_load_acquire(&ring->state) != NTK_RING_READY) {
            return;
        }
        capacity = ntk_abi_load(&ring->capacity);
        offset = ntk_abi_load(&ring->offset);
        if (capacity >= 2 && capacity <= RING_SLOTS_MAX && (capacity & (capacity - 1)) == 0 &&
            offset % NTK_SLOT_BYTES == 0 && offset >= slots_begin && offset <= slots_end &&
            capacity * NTK_SLOT_BYTES <= slots_end - offset) {
            ntk_ring_reader_init(&segment->readers[index], (const void *)(segment->base + offset),
                                 &ring->head, capacity, segment->from);
            segment->ring_usable[index] = 1;
        }
        segment->ring_count++;
    }
}

/* Bounds core and thread, because consumers use them as table indices. */
static void bound_slots(struct ntk_slot *slots, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++) {
        if (slots[i].core >= NTK_SEGMENT_CORES) {
            slots[i].core = (uint16_t)NTK_NO_CORE;
        }
        if (slots[i].thread >= NTK_SEGMENT_THREADS) {
            slots[i].thread = 0;
        }
    }
}

unsigned int ntk_ring_segment_fill(struct ntk_ring_segment *segment)
{
    unsigned int fullest = 0;

    find_rings(segment);
    for (uint32_t i = 0; i < segment->ring_count; i++) {
        const struct ntk_ring_reader *reader = &segment->readers[i];
        uint64_t head = segment->ring_usable[i] ? ntk_abi_load_acquire(reader->head) : 0;

        if (head > reader->position) {
            uint64_t unread = head - reader->position;
            unsigned int fill = unread >= reader->capacity
                                    ? 100
                                    : (unsigned int)((unread * 100 - 1) / reader->capacity + 1);

            fullest = fill > fullest ? fill : fullest;
        }
    }
    return fullest;
}

/* Releases the pages of records that were read, which count as this reader's memory until then. Not
 * done for a fast writer, because its pages are needed again at once, nor for the calling process,
 * which writes them. */
static void release_slots(struct ntk_ring_segment *segment, size_t looked_at)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (uintptr_t)segment->section[NTK_SECTION_SLOTS].at;
    uintptr_t end = begin + (uintptr_t)segment->section[NTK_SECTION_SLOTS].count * NTK_SLOT_BYTES;

    segment->unreleased += looked_at;
    if (segment->unreleased < RELEASED_RECORDS || looked_at > RELEASED_RECORDS / 2 ||
        segment->fd < 0) {
        return;
    }
    segment->unreleased = 0;
    begin = (begin + page_bytes - 1) / page_bytes * page_bytes;
    end = end / page_bytes * page_bytes;
    if (begin < end) {
        (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
}

static size_t drain(struct ntk_ring_segment *segment, size_t limit, ntk_ring_batch_fn fn, void *ctx)
{
    struct ntk_slot slots[NTK_RING_BATCH];
    size_t looked_at = 0;
    uint32_t rings;
    uint32_t i;

    rings = segment->ring_count;
    for (i = 0; i < rings; i++) {
        uint32_t index = (segment->next_ring + i) % rings;
        struct ntk_ring_reader *reader = &segment->readers[index];
        uint64_t batches;
        int more = segment->ring_usable[index];

        reader->writer_gone = segment->state != NTK_SEGMENT_ALIVE;
        /* Reads at most the length of one ring, so that a fast writer cannot keep the reader
         * here. */
        for (batches = 0; more && batches <= reader->capacity / NTK_RING_BATCH + 1; batches++) {
            size_t count = ntk_ring_reader_next(reader, slots, &more);

            if (count > 0) {
                bound_slots(slots, count);
                fn(segment, slots, count, ctx);
            }
            looked_at += more ? NTK_RING_BATCH : count; /* damaged records cost the same */
            if (limit != 0 && looked_at > 0 && looked_at + NTK_RING_BATCH > limit) {
                segment->next_ring = (index + 1) % rings;
                return looked_at;
            }
        }
    }
    return looked_at;
}

size_t ntk_ring_segment_drain(struct ntk_ring_segment *segment, size_t limit, ntk_ring_batch_fn fn,
                              void *ctx)
{
    find_rings(segment);
    size_t looked_at = drain(segment, limit, fn, ctx);

    release_slots(segment, looked_at);
    return looked_at;
}

void ntk_ring_segment_events(const struct ntk_ring_segment *segment, uint64_t *out_read,
                             uint64_t *out_lost, uint64_t *out_published)
{
    uint32_t i;

    *out_read = 0;
    *out_lost = 0;
    *out_published = 0;
    for (i = 0; i < segment->ring_count; i++) {
        if (segment->ring_usable[i]) {
            const struct ntk_ring_reader *reader = &segment->readers[i];
            uint64_t head = ntk_abi_load_acquire(reader->head);

            *out_read += reader->read;
            *out_lost += reader->lost;
            *out_published += head > reader->start ? head - reader->start : 0;
        }
    }
}
