/* SPDX-License-Identifier: MIT */
/*
 * ld_cache - the loader's cache of libraries (/etc/ld.so.cache): the files for a name.
 *
 * Files of glibc 2.32 and later, alone or after the table of older tools. As in elf_file: a copy,
 * every number bounded, system calls and no heap.
 *
 * Owner:   the caller's storage between _open() and _close(); paths live as long.
 * Threads: any; opened and closed by one at a time per struct.
 */
#ifndef NTK_SHARED_FORMATS_ELF_LD_CACHE_H
#define NTK_SHARED_FORMATS_ELF_LD_CACHE_H

#include <stddef.h>
#include <stdint.h>

#define NTK_LD_CACHE_FILE "/etc/ld.so.cache"

struct ntk_ld_cache {
    const char *bytes; /* followed by a NUL */
    size_t size;
    size_t start; /* of the table; offsets count from here */
    uint32_t entry_count;
};

/* 0; -EBADMSG if it is not a loader cache, another -errno if it cannot be read. */
int ntk_ld_cache_open(struct ntk_ld_cache *cache, const char *path);
int ntk_ld_cache_open_fd(struct ntk_ld_cache *cache, int fd);
void ntk_ld_cache_close(struct ntk_ld_cache *cache);
/* The next file of this machine for the name, in the order of the cache; *cursor is 0 before the
 * first. NULL: no more. */
const char *ntk_ld_cache_next(const struct ntk_ld_cache *cache, const char *name, uint32_t *cursor);

#endif
