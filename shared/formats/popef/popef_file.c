/* SPDX-License-Identifier: MIT */
/* popef_file - the storage of blobs: a seekable file, or bytes in memory. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/formats/popef/popef_private.h"

static struct ntk_popef_file *file_make(const char *name)
{
    size_t name_bytes = strlen(name) + 1;
    struct ntk_popef_file *file = calloc(1, sizeof *file + name_bytes);

    if (file) {
        atomic_init(&file->references, 1);
        file->fd = -1;
        memcpy(file->name, name, name_bytes);
    }
    return file;
}

/* Takes ownership of the descriptor in any case. */
static int file_of(int fd, const char *name, struct ntk_popef_file **out_file,
                   struct popef_error *err)
{
    struct ntk_popef_file *file = NULL;
    struct stat status;
    int ret;

    if (fd < 0 || fstat(fd, &status) < 0) {
        ret = ntk_popef_fail(err, POPEF_ERROR_OPEN, POPEF_NO_OFFSET, "cannot open '%s': %s", name,
                             strerror(errno));
    } else if (!S_ISREG(status.st_mode)) {
        ret = ntk_popef_fail(err, POPEF_ERROR_OPEN, POPEF_NO_OFFSET,
                             "cannot open '%s': not a regular file", name);
    } else if (!(file = file_make(name))) {
        ret = ntk_popef_no_memory(err);
    } else {
        file->fd = fd;
        file->size = (uint64_t)status.st_size;
        *out_file = file;
        return 0;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return ret;
}

int ntk_popef_file_open(const char *path, struct ntk_popef_file **out_file, struct popef_error *err)
{
    /* O_NONBLOCK, so that a pipe without a writer is rejected at once instead of blocking. */
    return file_of(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), path, out_file, err);
}

int ntk_popef_file_open_fd(int fd, const char *name, struct ntk_popef_file **out_file,
                           struct popef_error *err)
{
    return file_of(fcntl(fd, F_DUPFD_CLOEXEC, 0), name, out_file, err);
}

int ntk_popef_file_open_bytes(const void *bytes, size_t bytes_count, const char *name,
                              struct ntk_popef_file **out_file, struct popef_error *err)
{
    struct ntk_popef_file *file = file_make(name);

    if (!file) {
        return ntk_popef_no_memory(err);
    }
    file->bytes = bytes;
    file->size = bytes_count;
    *out_file = file;
    return 0;
}

struct ntk_popef_file *ntk_popef_file_keep(struct ntk_popef_file *file)
{
    (void)atomic_fetch_add_explicit(&file->references, 1, memory_order_relaxed);
    return file;
}

void ntk_popef_file_release(struct ntk_popef_file *file)
{
    /* Releases the writes of this thread; the last reference acquires the writes of all others. */
    if (file && atomic_fetch_sub_explicit(&file->references, 1, memory_order_acq_rel) == 1) {
        if (file->fd >= 0) {
            (void)close(file->fd);
        }
        free(file);
    }
}

int ntk_popef_file_read(const struct ntk_popef_file *file, uint64_t offset, void *to,
                        size_t bytes_count, struct popef_error *err)
{
    uint8_t *at = to;

    if (offset > file->size || bytes_count > file->size - offset) {
        return ntk_popef_fail(err, POPEF_ERROR_TRUNCATED, offset,
                              "%s: truncated blob at offset %llu", file->name,
                              (unsigned long long)offset);
    }
    if (file->fd < 0) {
        if (bytes_count > 0) {
            memcpy(to, file->bytes + offset, bytes_count);
        }
        return 0;
    }
    while (bytes_count > 0) {
        ssize_t got = pread(file->fd, at, bytes_count, (off_t)offset);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return ntk_popef_fail(err, POPEF_ERROR_IO, offset, "cannot read '%s': %s", file->name,
                                  strerror(errno));
        }
        if (got == 0) {
            return ntk_popef_fail(err, POPEF_ERROR_TRUNCATED, offset,
                                  "%s: truncated blob at offset %llu (the file was shortened while "
                                  "it was being read)",
                                  file->name, (unsigned long long)offset);
        }
        at += got;
        offset += (uint64_t)got;
        bytes_count -= (size_t)got;
    }
    return 0;
}
