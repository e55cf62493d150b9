/* SPDX-License-Identifier: MIT */
/*
 * long_list - stores a long array of an analysis on the heap or, if it is long, in a mapped
 * temporary file.
 *
 * Items do not move until the list grows. A pass over many items returns memory
 * (ntk_long_list_give_back): the items stay in the file, and a later access maps them again.
 *
 * Owner:   the caller provides the storage; _fini frees the content, and accepts a zeroed struct.
 * Threads: one writer, then any number of readers.
 */
#ifndef NTK_PROFILER_TRACE_LONG_LIST_H
#define NTK_PROFILER_TRACE_LONG_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

struct ntk_trace;

struct ntk_long_list {
    void *items; /* zeroed until written; NULL if none */
    size_t count;
    size_t item_bytes, capacity;
    size_t heap_bytes_max;
    const char *folder;
    bool is_mapped;
    int fd; /* file descriptor; only if mapped */
};

/* Initialises one of `share` lists that exist at the same time: together they use no more heap than
 * one list of the trace. */
void ntk_long_list_init(struct ntk_long_list *list, const struct ntk_trace *trace,
                        size_t item_bytes, size_t share);
void ntk_long_list_fini(struct ntk_long_list *list);
/* Reserves space for this many items, and sets count. Returns 0 or -errno, as for
 * ntk_long_list_err_set(). */
int ntk_long_list_resize(struct ntk_long_list *list, size_t count);
/* Adds an item at the end, borrowed until the next call; NULL with -errno in *out_failed. */
void *ntk_long_list_add(struct ntk_long_list *list, int *out_failed);
void ntk_long_list_give_back(const struct ntk_long_list *list);

/* Maps items of a file; also used by spill and sorter. Reserves the bytes from offset on before
 * mapping them, so that a full disk is an error here instead of SIGBUS at a later write. If *fd is
 * -1, creates an unnamed file. Returns NULL with -errno in *out_failed. */
void *ntk_long_file_map(int *fd, const char *folder, uint64_t offset, size_t bytes_count,
                        int *out_failed);
/* Unmaps or frees items; unmapped items may be NULL. */
void ntk_long_items_free(void *items, size_t bytes_count, bool is_mapped);
/* Returns memory of mapped whole pages to the system; the data stays in the file. */
void ntk_long_items_give_back(const void *items, size_t bytes_count, bool is_mapped);

/* Sets the message for a failure of a list; returns code. */
int ntk_long_list_err_set(struct ntk_err *err, int code, const char *folder);

#endif
