/* SPDX-License-Identifier: MIT */
/*
 * spill - allocates long arrays that need not be in memory: on the heap while their total is small,
 * then in a mapped, unnamed temporary file.
 *
 * Pages of the file use memory until they are returned. A sequential pass over an array returns its
 * pages: the content stays in the file, and a later access reads it again.
 *
 * Owner:   the caller provides the storage; _fini() frees all arrays.
 * Threads: only one allocates; any number return memory.
 */
#ifndef NTK_PROFILER_TRACE_SPILL_H
#define NTK_PROFILER_TRACE_SPILL_H

#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/base/vec.h"

/* Default limit for all arrays of a spill on the heap. */
#define NTK_SPILL_HEAP_BYTES ((size_t)64 << 20)

struct ntk_spill {
    const char *folder;
    size_t heap_left_bytes;
    int fd; /* -1 if all arrays are on the heap */
    uint64_t file_bytes;
    char *free_first, *free_end; /* free part of the newest extent of the file */
    struct ntk_vec pieces;       /* pieces of the heap and of the file */
    int failed;                  /* first -errno */
    struct ntk_err err;
};

/* heap_bytes: 0 for NTK_SPILL_HEAP_BYTES. folder: NULL for $TMPDIR, else /var/tmp; borrowed. */
void ntk_spill_init(struct ntk_spill *spill, size_t heap_bytes, const char *folder);
void ntk_spill_fini(struct ntk_spill *spill);
/* Returns a zeroed array of at least one item; NULL with the reason in spill->failed and
 * spill->err. */
void *ntk_spill_take(struct ntk_spill *spill, size_t count, size_t item_bytes);
/* Returns memory of these bytes of an array to the system, as far as they are whole pages of the
 * file. */
void ntk_spill_give_back(const struct ntk_spill *spill, const void *first, size_t bytes_count);
/* Returns memory of all arrays to the system. */
void ntk_spill_give_back_all(const struct ntk_spill *spill);

#endif
