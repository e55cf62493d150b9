/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/ring/ring_writer.h"

void ntk_ring_writer_init(struct ntk_ring_writer *writer, struct ntk_segment_ring *ring,
                          struct ntk_slot *slots, uint64_t capacity)
{
    writer->slots = slots;
    writer->mask = capacity - 1;
    writer->head = ntk_abi_load(&ring->head);
    writer->ring = ring;
    writer->busy = 0;
    writer->thread = 0;
}
