/* SPDX-License-Identifier: MIT */
#include "shared/ring/ring_reader.h"

void ntk_ring_reader_init(struct ntk_ring_reader *reader, const struct ntk_slot *slots,
                          const uint64_t *head, uint64_t capacity, enum ntk_ring_from from)
{
    reader->slots = slots;
    reader->head = head;
    reader->capacity = capacity;
    reader->position = from == NTK_RING_FROM_NOW ? ntk_abi_load_acquire(head) : 0;
    reader->read = 0;
    reader->lost = 0;
    reader->start = reader->position;
    reader->writer_gone = 0;
}

static inline void copy_slot(const struct ntk_slot *from, struct ntk_slot *to)
{
    to->seq = ntk_abi_load(&from->seq);
    to->start_ticks = ntk_abi_load(&from->start_ticks);
    *ntk_slot_meta(to) = ntk_abi_load((const ntk_abi_word *)(const void *)&from->kind);
    to->word[0] = ntk_abi_load(&from->word[0]);
    to->word[1] = ntk_abi_load(&from->word[1]);
    to->word[2] = ntk_abi_load(&from->word[2]);
    to->word[3] = ntk_abi_load(&from->word[3]);
    to->word[4] = ntk_abi_load(&from->word[4]);
}

size_t ntk_ring_reader_next(struct ntk_ring_reader *reader, struct ntk_slot *out_slots,
                            int *out_more)
{
    /* Pairs with the release store to head in ntk_ring_writer_put(). */
    uint64_t head = ntk_abi_load_acquire(reader->head);
    uint64_t position = reader->position;
    uint64_t mask = reader->capacity - 1;
    uint64_t available = head - position;
    uint64_t count;
    uint64_t i;
    size_t good = 0;

    if (out_more != NULL) {
        *out_more = 0;
    }
    if (head <= position) {
        return 0; /* a head that decreases is invalid, so no record is read */
    }
    if (available >= reader->capacity) {
        /* Overrun: the oldest record could be overwritten during the copy while the writer runs. */
        uint64_t skip_to =
            reader->writer_gone ? head - reader->capacity + 1 : head - reader->capacity / 2;

        reader->lost += skip_to - position;
        position = skip_to;
        available = head - position;
    }
    count = available < NTK_RING_BATCH ? available : NTK_RING_BATCH;
    for (i = 0; i < count; i++) {
        copy_slot(&reader->slots[(position + i) & mask], &out_slots[i]);
    }
    /* Pairs with the release fence of ntk_ring_writer_put(): if a copied word belongs to a newer
     * record, the head after that record is visible below. */
    ntk_abi_fence_acquire();
    head = ntk_abi_load(reader->head);
    for (i = 0; i < count; i++) {
        if (head - (position + i) < reader->capacity && out_slots[i].seq == position + i + 1) {
            if (good != i) {
                out_slots[good] = out_slots[i];
            }
            good++;
        }
    }
    reader->position = position + count;
    reader->read += good;
    reader->lost += count - good;
    if (out_more != NULL) {
        *out_more = head > reader->position;
    }
    return good;
}
