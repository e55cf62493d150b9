/* SPDX-License-Identifier: MIT */
/*
 * ntff_spool - bytes that wait for their place in a capture: in memory up to NTK_NTFF_SPOOL_BYTES,
 * then in an unnamed file. A zeroed struct with fd -1 is empty. One thread at a time.
 *
 * Owner:   ntff_spool_fini() frees and closes.
 */
#ifndef NTK_SHARED_FORMATS_NTFF_NTFF_SPOOL_H
#define NTK_SHARED_FORMATS_NTFF_NTFF_SPOOL_H

#include "shared/base/buf.h"

struct ntff_spool {
    struct ntk_buf memory;
    int fd; /* -1 while everything is in memory */
    uint64_t bytes_count;
    uint64_t file_bytes;
};

/* Adds bytes; creates the file in `folder` if needed. Returns 0, -ENOMEM or a file system error, in
 * which case nothing was added. */
int ntff_spool_add(struct ntff_spool *spool, const char *folder, const void *bytes,
                   size_t bytes_count);
/* Copies the first bytes_count bytes to fd at offset. */
int ntff_spool_copy(const struct ntff_spool *spool, uint64_t bytes_count, int fd, uint64_t offset);
void ntff_spool_fini(struct ntff_spool *spool);

#endif
