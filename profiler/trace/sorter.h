/* SPDX-License-Identifier: MIT */
/*
 * sorter - sorts items by time that are almost in order, in bounded memory.
 *
 * An item is 16 or 32 bytes and begins with its time, an int64_t. Items with equal times are
 * ordered by a function; if it returns 0, they keep their order. A list longer than the memory is
 * stored in an unnamed temporary file, which is mapped at the end. It is written once if items are
 * late by less than half of the memory, else twice.
 *
 * Owner:   the caller provides the storage; ntk_sorter_fini() frees the content.
 * Threads: one at a time per sorter.
 */
#ifndef NTK_PROFILER_TRACE_SORTER_H
#define NTK_PROFILER_TRACE_SORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/trace/merge_sort.h"
#include "shared/base/err.h"
#include "shared/base/vec.h"

#define NTK_SORTER_ITEM_BYTES_MAX 32
/* Minimum memory, in items. */
#define NTK_SORTER_ITEMS_MIN 64

struct ntk_sorter {
    size_t item_bytes;
    ntk_merge_sort_compare *compare;
    const char *folder;
    size_t items_max; /* maximum number in memory */
    size_t count, capacity;
    char *items;
    char *scratch; /* space for half of items_max */
    int fd;        /* file of the ordered part; -1 if nothing is written yet */
    uint64_t written;
    char last[NTK_SORTER_ITEM_BYTES_MAX]; /* last written item */
    int late_fd;                          /* file of late runs */
    uint64_t late_written;
    struct ntk_vec late_runs; /* each run is sorted */
    int failed;               /* first -errno */
    struct ntk_err err;
};

struct ntk_sorted {
    void *items; /* NULL if none */
    size_t count;
    bool is_mapped; /* true: munmap() frees all items; false: free() */
};
void ntk_sorted_fini(struct ntk_sorted *sorted, size_t item_bytes);

/* folder is borrowed. */
void ntk_sorter_init(struct ntk_sorter *sorter, size_t item_bytes, ntk_merge_sort_compare *compare,
                     size_t memory_bytes, const char *folder);
void ntk_sorter_fini(struct ntk_sorter *sorter);
/* Frees space; false after a failure, which _finish returns. Called only by _add. */
bool ntk_sorter_make_room(struct ntk_sorter *sorter);
/* Returns all items in order, in a file if larger than heap_bytes; the sorter is empty afterwards.
 * Returns 0 or -errno with a message. */
int ntk_sorter_finish(struct ntk_sorter *sorter, size_t heap_bytes, struct ntk_sorted *out_sorted,
                      struct ntk_err *err);

/* Returns the place for the next item; NULL after a failure. */
static inline void *ntk_sorter_add(struct ntk_sorter *sorter)
{
    if (sorter->count == sorter->capacity && !ntk_sorter_make_room(sorter)) {
        return NULL;
    }
    return sorter->items + sorter->item_bytes * sorter->count++;
}

#endif
