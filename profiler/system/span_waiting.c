/* SPDX-License-Identifier: MIT */
/* span_waiting - a hash table of spans without their other end. */
#include <errno.h>
#include <stdlib.h>

#include "profiler/system/span_reading.h"
#include "shared/base/hash.h"

static size_t first_of(const struct span_waiting *waiting, uint64_t tracking_id)
{
    return (size_t)ntk_hash_number(tracking_id) & (waiting->slot_count - 1);
}

static struct span_slot *slot_find(const struct span_waiting *waiting, uint64_t tracking_id)
{
    size_t i = first_of(waiting, tracking_id);

    while (waiting->slots[i].span && waiting->slots[i].tracking_id != tracking_id) {
        i = (i + 1) & (waiting->slot_count - 1);
    }
    return &waiting->slots[i];
}

static int slots_grow(struct span_waiting *waiting)
{
    size_t count = waiting->slot_count;
    struct span_slot *old = waiting->slots;
    struct span_slot *slots = calloc(count ? 2 * count : 1024, sizeof *slots);

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

/* Removes an entry and closes the gap, so that later entries are still found. */
void ntk_span_waiting_remove(struct span_waiting *waiting, struct span_slot *slot)
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

struct span_slot *ntk_span_waiting_find(struct span_waiting *waiting, uint64_t tracking_id)
{
    if (waiting->count >= waiting->slot_count / 2 && slots_grow(waiting) < 0) {
        return NULL;
    }
    return slot_find(waiting, tracking_id);
}

bool ntk_span_waiting_put(struct span_waiting *waiting, struct span_slot *slot,
                          uint64_t tracking_id, uint64_t span)
{
    if (!slot->span && waiting->count == NTK_SPAN_WAITING_MAX) {
        return false;
    }
    waiting->count += !slot->span;
    slot->tracking_id = tracking_id;
    slot->span = span + 1;
    return true;
}

void ntk_span_waiting_fini(struct span_waiting *waiting)
{
    free(waiting->slots);
}
