/* SPDX-License-Identifier: MIT */
/*
 * rank_store - many lists of small items, each written once and read forwards: in memory while all
 * of them are short together, beyond that in one unnamed temporary file.
 *
 * A list is read through a cursor with its own few KiB, so memory follows from the number of lists
 * that are read at once. Nothing is mapped: of a mapped file the kernel brings in as much as it
 * likes.
 *
 * Owner:   caller's storage; _fini() frees. Threads: one at a time.
 */
#ifndef NTK_PROFILER_ANALYSIS_RANK_STORE_H
#define NTK_PROFILER_ANALYSIS_RANK_STORE_H

#include <stddef.h>
#include <stdint.h>

#define NTK_RANK_CURSOR_BYTES 4096U

struct ntk_rank_store {
    char *heap; /* all of it or, once there is a file, what is not written yet */
    size_t heap_bytes, heap_capacity;
    int fd;              /* -1: none */
    uint64_t file_bytes; /* written */
    int failed;          /* the first -errno */
};

struct ntk_rank_rows {
    uint64_t offset;
    size_t count;
};

void ntk_rank_store_init(struct ntk_rank_store *store);
void ntk_rank_store_fini(struct ntk_rank_store *store);
/* Begins a list behind the others. Items are added to the list that was started last. */
void ntk_rank_store_begin(const struct ntk_rank_store *store, struct ntk_rank_rows *out_rows);
/* store->failed reports failures, here and below. */
void ntk_rank_store_add(struct ntk_rank_store *store, struct ntk_rank_rows *rows, const void *item,
                        size_t item_bytes);

struct ntk_rank_cursor {
    struct ntk_rank_store *store;
    struct ntk_rank_rows rows;
    size_t item_bytes;
    size_t first, loaded; /* items in buffer */
    char buffer[NTK_RANK_CURSOR_BYTES];
};

void ntk_rank_cursor_init(struct ntk_rank_cursor *cursor, struct ntk_rank_store *store,
                          struct ntk_rank_rows rows, size_t item_bytes);
/* index < count. Valid until the next call. Quick for items a little behind the one before. */
const void *ntk_rank_cursor_at(struct ntk_rank_cursor *cursor, size_t index);

#endif
