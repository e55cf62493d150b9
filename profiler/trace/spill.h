/* SPDX-License-Identifier: MIT */
/*
 * spill - long arrays that need not be in memory: on the heap while their total is small, then in a
 * mapped, unnamed temporary file.
 *
 * Pages of the file use memory until they are returned. A sequential pass over an array returns the
 * pages of it: the content stays, and a later access reads it again.
 *
 * Owner:   caller's storage; _fini() frees all arrays.
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
    int fd; /* -1: everything is on the heap */
    uint64_t file_bytes;
    char *free_first, *free_end; /* of the newest extent of the file */
    struct ntk_vec pieces;       /* of the heap and of the file */
    int failed;                  /* the first -errno */
    struct ntk_err err;
};

/* heap_bytes 0: NTK_SPILL_HEAP_BYTES. folder NULL: $TMPDIR, else /var/tmp; borrowed. */
void ntk_spill_init(struct ntk_spill *spill, size_t heap_bytes, const char *folder);
void ntk_spill_fini(struct ntk_spill *spill);
/* A zeroed array of at least one item; NULL: spill->failed and spill->err have the reason. */
void *ntk_spill_take(struct ntk_spill *spill, size_t count, size_t item_bytes);
/* Returns memory of these bytes of an array, as far as they are whole pages of the file. */
void ntk_spill_give_back(const struct ntk_spill *spill, const void *first, size_t bytes_count);
/* That of all arrays. */
void ntk_spill_give_back_all(const struct ntk_spill *spill);

#endif
