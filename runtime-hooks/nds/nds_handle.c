/* SPDX-License-Identifier: MIT */
/*
 * nds_handle - assigns numbers to instances and objects, and holds the lock of this library.
 *
 * A handle is generation x 2^20 + index + 1, times 16: never NULL, never reused, never followed.
 */
#include <pthread.h>
#include <stdlib.h>

#include "runtime-hooks/nds/nds_store.h"

#define INDEX_BITS 20
#define HANDLE_SHIFT 4
#define FIRST_CAPACITY 64u

static_assert(NDS_HANDLES_MAX < (1u << INDEX_BITS), "an index fits its bits");

struct entry {
    enum nds_handle_kind kind;
    uint64_t generation;
    void *item;
};

static struct {
    pthread_mutex_t lock;
    struct entry *entries;
    uint32_t capacity;
    uint32_t first_free; /* all lower indexes are in use */
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

void nds_lock(void)
{
    (void)pthread_mutex_lock(&table.lock);
}

void nds_unlock(void)
{
    (void)pthread_mutex_unlock(&table.lock);
}

static void *handle_of(uint32_t index)
{
    uint64_t number = table.entries[index].generation << INDEX_BITS | (index + 1u);

    return (void *)(uintptr_t)(number << HANDLE_SHIFT); /* NOLINT(performance-no-int-to-ptr) */
}

static struct entry *entry_of(enum nds_handle_kind kind, const void *handle)
{
    uint64_t index = ((uintptr_t)handle >> HANDLE_SHIFT) & ((1u << INDEX_BITS) - 1u);

    if (index == 0 || index > table.capacity || table.entries[index - 1].kind != kind ||
        handle_of((uint32_t)index - 1) != handle) {
        return NULL;
    }
    return &table.entries[index - 1];
}

void *nds_handle_add(enum nds_handle_kind kind, void *item)
{
    uint32_t i = table.first_free;

    while (i < table.capacity && table.entries[i].kind != NDS_HANDLE_FREE) {
        i++;
    }
    if (i == table.capacity) {
        uint32_t capacity = table.capacity == 0 ? FIRST_CAPACITY : table.capacity * 2;
        struct entry *entries;

        if (capacity > NDS_HANDLES_MAX) {
            return NULL;
        }
        entries = realloc(table.entries, capacity * sizeof *entries);
        if (entries == NULL) {
            return NULL;
        }
        for (uint32_t k = table.capacity; k < capacity; k++) {
            entries[k] = (struct entry){ NDS_HANDLE_FREE, 0, NULL };
        }
        table.entries = entries;
        table.capacity = capacity;
    }
    table.entries[i].kind = kind;
    table.entries[i].generation++;
    table.entries[i].item = item;
    table.first_free = i + 1;
    return handle_of(i);
}

void *nds_handle_get(enum nds_handle_kind kind, const void *handle)
{
    const struct entry *entry = entry_of(kind, handle);

    return entry != NULL ? entry->item : NULL;
}

void *nds_handle_take(enum nds_handle_kind kind, const void *handle)
{
    struct entry *entry = entry_of(kind, handle);

    if (entry == NULL) {
        return NULL;
    }
    entry->kind = NDS_HANDLE_FREE;
    if ((uint32_t)(entry - table.entries) < table.first_free) {
        table.first_free = (uint32_t)(entry - table.entries);
    }
    return entry->item;
}

void *nds_handle_next(enum nds_handle_kind kind, uint32_t *position, void **out_handle)
{
    while (*position < table.capacity) {
        uint32_t i = (*position)++;

        if (table.entries[i].kind == kind) {
            *out_handle = handle_of(i);
            return table.entries[i].item;
        }
    }
    return NULL;
}
