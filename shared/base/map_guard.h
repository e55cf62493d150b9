/* SPDX-License-Identifier: MIT */
/*
 * map_guard - mapped files that others may truncate: a read beyond the end returns zeros instead of
 * raising SIGBUS.
 *
 * Adding a guarded mapping makes sure that our SIGBUS handler is installed. A fault inside a
 * guarded mapping puts a page of zeros there and marks the mapping; any other SIGBUS is passed to
 * the previously installed handler.
 *
 * Owner:   the caller maps and unmaps; call _remove before munmap.
 * Threads: any.
 */
#ifndef NTK_SHARED_BASE_MAP_GUARD_H
#define NTK_SHARED_BASE_MAP_GUARD_H

#include <stddef.h>

/* Returns a handle of 0 or more, or -ENOSPC. */
int ntk_map_guard_add(const void *base, size_t bytes);
void ntk_map_guard_remove(int guard);
/* The offset of the first hole that was read in this mapping; SIZE_MAX if none was read. */
size_t ntk_map_guard_intact_bytes(int guard);

#endif
