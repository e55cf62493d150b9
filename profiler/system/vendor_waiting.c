/* SPDX-License-Identifier: MIT */
/* vendor_waiting - a hash table of spans whose other end is missing. */
#include <errno.h>
#include <stdlib.h>

#include "profiler/system/vendor_reading.h"

static size_t first_of(const struct vendor_waiting *waiting, uint64_t tracking_id)
{
    return (size_t)(tracking_id * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (waiting->slot_count - 1);
}

static struct vendor_slot *slot_find(const struct vendor_waiting *waiting, uint64_t tracking_id)
{
    size_t i = first_of(waiting, tracking_id);

    while (waiting->slots[i].span && waiting->slots[i].tracking_id != tracking_id) {
        i = (i + 1) & (waiting->slot_count - 1);
    }
    return &waiting->slots[i];
}

static int slots_grow(struct vendor_waiting *waiting)
{
    size_t count = waiting->slot_count;
    struct vendor_slot *old = waiting->slots;
    struct vendor_slot *slots = calloc(count ? 2 * count : 1024, sizeof *slots);

    if (!slots) {
        return -ENOMEM;
    }
    waiting->slots = slots;
    waiting->slot_count = count ? 2 * count : 1024;
    for (size_t i = 0; i < count; i++) {
        if (old[i].span) {
            *slot_find(waiting, old[i].tracking_id) = old[i];
        }
    }
    free(old);
    return 0;
}

/* Closes the gap, so that what was put behind it is still found. */
void ntk_vendor_waiting_remove(struct vendor_waiting *waiting, struct vendor_slot *slot)
{
    size_t mask = waiting->slot_count - 1;
    size_t hole = (size_t)(slot - waiting->slots);
    size_t i = hole;

    waiting->count--;
    for (;;) {
        i = (i + 1) & mask;
        if (!waiting->slots[i].span) {
            break;
        }
        size_t first = first_of(waiting, waiting->slots[i].tracking_id);
        if (((i - first) & mask) >= ((i - hole) & mask)) {
            waiting->slots[hole] = waiting->slots[i];
            hole = i;
        }
    }
    waiting->slots[hole].span = 0;
}

struct vendor_slot *ntk_vendor_waiting_find(struct vendor_waiting *waiting, uint64_t tracking_id)
{
    if (waiting->count >= waiting->slot_count / 2 && slots_grow(waiting) < 0) {
        return NULL;
    }
    return slot_find(waiting, tracking_id);
}

bool ntk_vendor_waiting_put(struct vendor_waiting *waiting, struct vendor_slot *slot,
                            uint64_t tracking_id, uint64_t span)
{
    if (!slot->span && waiting->count == NTK_VENDOR_WAITING_MAX) {
        return false;
    }
    waiting->count += !slot->span;
    slot->tracking_id = tracking_id;
    slot->span = span + 1;
    return true;
}

void ntk_vendor_waiting_fini(struct vendor_waiting *waiting)
{
    free(waiting->slots);
}
