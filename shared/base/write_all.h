/* SPDX-License-Identifier: MIT */
/*
 * write_all - writes all bytes to a descriptor, such as a file or a blocking pipe.
 *
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_BASE_WRITE_ALL_H
#define NTK_SHARED_BASE_WRITE_ALL_H

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

/* Returns 0 or -errno, after a part of the bytes; no message. */
static inline int ntk_write_all(int fd, const void *bytes, size_t bytes_count)
{
    const char *from = bytes;

    while (bytes_count > 0) {
        ssize_t n = write(fd, from, bytes_count);

        if (n == 0 || (n < 0 && errno != EINTR)) {
            return n < 0 ? -errno : -ENOSPC;
        }
        from += n > 0 ? n : 0;
        bytes_count -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

#endif
