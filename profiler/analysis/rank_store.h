/* SPDX-License-Identifier: MIT */
/*
 * rank_store - stores many lists of small items, each written once and read forwards: in memory
 * while their total is small, then in one unnamed temporary file.
 *
 * A list is read through a cursor of a few KiB, so memory depends on the number of lists read at
 * once. Nothing is mapped, because the kernel decides how much of a mapped file is in memory.
 *
 * Owner: the caller provides the storage; _fini() frees the content. Threads: one at a time.
 */
#ifndef NTK_PROFILER_ANALYSIS_RANK_STORE_H
#define NTK_PROFILER_ANALYSIS_RANK_STORE_H

#include <stddef.h>
#include <stdint.h>

#define NTK_RANK_CURSOR_BYTES 4096U

struct ntk_rank_store {
    char *heap; /* all data or, once there is a file, the part that is not yet written */
    size_t heap_bytes, heap_capacity;
    int fd;              /* -1 if none */
    uint64_t file_bytes; /* number of written bytes */
    int failed;          /* first -errno */
};

struct ntk_rank_rows {
    uint64_t offset;
    size_t count;
};

void ntk_rank_store_init(struct ntk_rank_store *store);
void ntk_rank_store_fini(struct ntk_rank_store *store);
/* Starts a list after the others. Items are added to the latest list. */
void ntk_rank_store_begin(const struct ntk_rank_store *store, struct ntk_rank_rows *out_rows);
/* Failures of this function and those below are stored in store->failed. */
void ntk_rank_store_add(struct ntk_rank_store *store, struct ntk_rank_rows *rows, const void *item,
                        size_t item_bytes);

struct ntk_rank_cursor {
    struct ntk_rank_store *store;
    struct ntk_rank_rows rows;
    size_t item_bytes;
    size_t first, loaded; /* range of items in buffer */
    char buffer[NTK_RANK_CURSOR_BYTES];
};

void ntk_rank_cursor_init(struct ntk_rank_cursor *cursor, struct ntk_rank_store *store,
                          struct ntk_rank_rows rows, size_t item_bytes);
/* Returns the item at index, which must be below count. Valid until the next call. Fast for items
 * close after the previous item. */
const void *ntk_rank_cursor_at(struct ntk_rank_cursor *cursor, size_t index);

#endif
