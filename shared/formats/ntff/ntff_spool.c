/* SPDX-License-Identifier: MIT */
#include "shared/formats/ntff/ntff_spool.h"

#include <errno.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/formats/ntff/ntff.h"

#define COPY_BYTES (64u << 10)

int ntff_spool_add(struct ntff_spool *spool, const char *folder, const void *bytes,
                   size_t bytes_count)
{
    if (spool->memory.bytes_count + bytes_count > NTK_NTFF_SPOOL_BYTES &&
        spool->memory.bytes_count) {
        if (spool->fd < 0) {
            spool->fd = ntk_fs_open_unnamed(folder, NULL);
            if (spool->fd < 0) {
                return spool->fd;
            }
        }
        int ret = ntk_fs_pwrite(spool->fd, spool->memory.bytes, spool->memory.bytes_count,
                                spool->file_bytes);
        if (ret < 0) {
            return ret;
        }
        spool->file_bytes += spool->memory.bytes_count;
        ntk_buf_reset(&spool->memory);
    }
    ntk_buf_add(&spool->memory, bytes, bytes_count);
    if (!ntk_buf_ok(&spool->memory)) {
        return -ENOMEM;
    }
    spool->bytes_count += bytes_count;
    return 0;
}

void ntff_spool_fini(struct ntff_spool *spool)
{
    ntk_buf_fini(&spool->memory);
    if (spool->fd >= 0) {
        close(spool->fd);
    }
    spool->fd = -1;
}

int ntff_spool_copy(const struct ntff_spool *spool, uint64_t bytes_count, int fd, uint64_t offset)
{
    uint8_t chunk[COPY_BYTES];
    uint64_t from_file = bytes_count < spool->file_bytes ? bytes_count : spool->file_bytes;

    for (uint64_t at = 0; at < from_file;) {
        size_t wanted = from_file - at < sizeof chunk ? (size_t)(from_file - at) : sizeof chunk;
        int ret = ntk_fs_pread(spool->fd, chunk, wanted, at);
        if (ret == 0) {
            ret = ntk_fs_pwrite(fd, chunk, wanted, offset + at);
        }
        if (ret < 0) {
            return ret;
        }
        at += wanted;
    }
    return bytes_count > from_file
               ? ntk_fs_pwrite(fd, spool->memory.bytes, (size_t)(bytes_count - from_file),
                               offset + from_file)
               : 0;
}
