/* SPDX-License-Identifier: MIT */
/*
 * map_guard - mapped files that others may cut short: a read beyond the end gives zeros, not
 * SIGBUS.
 *
 * Each guarded mapping sees to it that our SIGBUS handler is in place. A fault inside a guarded
 * mapping puts a page of zeros there and marks the mapping; any other SIGBUS goes to the handler
 * that was there before.
 *
 * Owner:   the caller maps and unmaps; _remove comes before munmap.
 * Threads: any.
 */
#ifndef NTK_SHARED_BASE_MAP_GUARD_H
#define NTK_SHARED_BASE_MAP_GUARD_H

#include <stddef.h>

/* A handle of 0 or more, or -ENOSPC. */
int ntk_map_guard_add(const void *base, size_t bytes);
void ntk_map_guard_remove(int guard);
/* Where the first hole that a read of this mapping hit begins; SIZE_MAX: none did. */
size_t ntk_map_guard_intact_bytes(int guard);

#endif
