/* SPDX-License-Identifier: MIT */
/* ring_segment_comms - copies the communicators of a segment into bounded plain structs. */
#include "shared/ring/ring_segment_private.h"

#include <string.h>

#include "shared/abi/raw_clock.h"

/* Reads under the entry's sequence word. If that stays odd, the writer was killed during a change,
 * and the current words are used. Pairs with entry_open() in runtime-hooks/hooks/comms.c. */
static void read_comm(const struct ntk_segment_comm *entry, struct ntk_segment_comm *out)
{
    int i;

    for (i = 0; i < TRIES; i++) {
        uint64_t seq = ntk_abi_load_acquire(&entry->seq);

        segment_copy_words(out, entry, sizeof *out);
        ntk_abi_fence_acquire();
        if ((seq & 1) == 0 && ntk_abi_load(&entry->seq) == seq) {
            return;
        }
    }
}

static void take_comm(const struct ntk_ring_segment *segment, const struct ntk_segment_comm *comm,
                      uint64_t now, struct ntk_ring_comm *out)
{
    uint64_t since = comm->leave_ticks;

    out->state = comm->state;
    out->key = comm->key;
    out->join_realtime_ns = comm->join_realtime_ns;
    out->rank = comm->rank;
    out->rank_count = comm->rank_count;
    out->world_rank = comm->world_rank;
    out->world_count = comm->world_count;
    out->model = comm->model;
    out->name = comm->name;
    out->group = comm->group;
    out->core = comm->core < NTK_SEGMENT_CORES ? comm->core : (uint16_t)NTK_NO_CORE;
    out->sequence = comm->sequence;
    out->in_flight = comm->in_flight <= comm->sequence ? comm->in_flight : 0;
    if (out->in_flight > 0) {
        since = comm->enter_ticks;
        out->sequence -= out->in_flight - 1;
    }
    /* A rank that has not entered any operation has not left any either. */
    out->state_ns =
        since != 0 && now > since ? ntk_ring_segment_ticks_to_ns(segment, now - since) : 0;
    out->bytes = comm->bytes;
    out->operation = comm->operation;
    out->dtype = comm->dtype;
    out->status = comm->status;
    out->tid = comm->tid;
    memcpy(out->count, comm->count, sizeof out->count);
    out->errors = comm->errors;
    out->bytes_total = comm->bytes_total;
    out->time_ns = comm->time_ns;
    out->wait_ns = comm->wait_ns;
    out->longest_ns = comm->longest_ns;
}

static bool get_comm(const struct ntk_ring_segment *segment, uint32_t slot, uint64_t now,
                     struct ntk_ring_comm *out)
{
    const struct ntk_segment_comm *entry =
        (const void *)segment_entry_at(segment, NTK_SECTION_COMMS, slot);
    struct ntk_segment_comm comm;

    read_comm(entry, &comm);
    if (comm.state == NTK_COMM_FREE || comm.state > NTK_COMM_BROKEN || comm.key == 0 ||
        comm.rank >= comm.rank_count || comm.operation >= NTK_COLLECTIVE_COUNT) {
        return false;
    }
    out->slot = slot;
    take_comm(segment, &comm, now, out);
    return true;
}

static bool is_comm_free(const struct ntk_ring_segment *segment, uint32_t slot)
{
    const struct ntk_segment_comm *entry =
        (const void *)segment_entry_at(segment, NTK_SECTION_COMMS, slot);

    return ntk_abi_load_acquire(&entry->state) == NTK_COMM_FREE;
}

size_t ntk_ring_segment_comms(const struct ntk_ring_segment *segment,
                              struct ntk_ring_comm *out_comms, size_t out_count)
{
    uint64_t now = ntk_raw_clock_now(segment->process.clock.kind);
    size_t filled = 0;
    uint32_t i;

    for (i = 0; i < segment->section[NTK_SECTION_COMMS].count && filled < out_count; i++) {
        if (is_comm_free(segment, i)) {
            break; /* entries are used in order, so the rest is unused */
        }
        filled += get_comm(segment, i, now, &out_comms[filled]);
    }
    return filled;
}

bool ntk_ring_segment_comm(const struct ntk_ring_segment *segment, uint32_t slot,
                           struct ntk_ring_comm *out)
{
    return slot < segment->section[NTK_SECTION_COMMS].count && !is_comm_free(segment, slot) &&
           get_comm(segment, slot, ntk_raw_clock_now(segment->process.clock.kind), out);
}
