/* SPDX-License-Identifier: MIT */
/*
 * ld_cache - finds files for a library name in the loader's cache (/etc/ld.so.cache).
 *
 * It reads files of glibc 2.32 and later, alone or after the table of older tools. As in elf_file,
 * the file is copied, every number is bounded, and only system calls are used, no heap.
 *
 * Owner:   the caller's storage between _open() and _close(); paths are valid as long.
 * Threads: any may read; one at a time opens or closes a struct.
 */
#ifndef NTK_SHARED_FORMATS_ELF_LD_CACHE_H
#define NTK_SHARED_FORMATS_ELF_LD_CACHE_H

#include <stddef.h>
#include <stdint.h>

#define NTK_LD_CACHE_FILE "/etc/ld.so.cache"

struct ntk_ld_cache {
    const char *bytes; /* followed by a NUL */
    size_t size;
    size_t start; /* position of the table, from which offsets count */
    uint32_t entry_count;
};

/* Returns 0, -EBADMSG if it is not a loader cache, or another -errno if it cannot be read. */
int ntk_ld_cache_open(struct ntk_ld_cache *cache, const char *path);
int ntk_ld_cache_open_fd(struct ntk_ld_cache *cache, int fd);
void ntk_ld_cache_close(struct ntk_ld_cache *cache);
/* The next file of this machine for the name, in the order of the cache; *cursor is 0 before the
 * first call. NULL after the last. */
const char *ntk_ld_cache_next(const struct ntk_ld_cache *cache, const char *name, uint32_t *cursor);

#endif
