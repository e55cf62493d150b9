/* SPDX-License-Identifier: MIT */
/*
 * fs - whole files, folders, and files that appear complete or not at all.
 *
 * Every function returns 0 or -errno and fills err with a message that names the path.
 * Threads: any.
 */
#ifndef NTK_SHARED_BASE_FS_H
#define NTK_SHARED_BASE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens only regular files, for reading: a FIFO without a writer is rejected at once instead of
 * blocking. Returns the descriptor or -errno; out_status may be NULL. */
int ntk_fs_open_regular(const char *path, struct stat *out_status, struct ntk_err *err);
/* Returns true if opening the path could block a library: it exists and is neither a regular file
 * nor a folder. */
bool ntk_fs_may_block(const char *path);
/* Reads a whole regular file of at most limit_bytes; the caller frees *out_bytes with free(). A NUL
 * follows the bytes and is not counted. -EFBIG when the file is larger. */
int ntk_fs_read(const char *path, size_t limit_bytes, uint8_t **out_bytes, size_t *out_count,
                struct ntk_err *err);
/* Reads a short text file (sysfs, /proc) into buf, NUL-ended and without the last line break.
 * Returns the number of bytes or -errno; no message. */
ssize_t ntk_fs_read_text(const char *path, char *buf, size_t buf_bytes);
/* Returns true if the file belongs to this user or root, so that its content may be run. False when
 * it cannot be checked. */
bool ntk_fs_is_ours(const char *path);
/* mkdir -p; existing folders are accepted. */
int ntk_fs_make_folders(const char *path, mode_t mode, struct ntk_err *err);
/* Creates an unnamed file in the folder, for reading and writing; it is deleted with its last
 * descriptor. Returns the descriptor or -errno. */
int ntk_fs_open_unnamed(const char *folder, struct ntk_err *err);
/* The folder for large temporary files: $TMPDIR, else /var/tmp (which is on disk), else /tmp.
 * Borrowed. */
const char *ntk_fs_temporary_folder(void);
/* Opens a path below the folder, follows no symbolic link and never leaves the folder. Returns the
 * descriptor, or -1 with errno; no message. */
int ntk_fs_open_below(int folder, const char *path, int flags);
/* Writes all bytes with pwrite(). Returns 0 or -errno; no message. */
int ntk_fs_pwrite(int fd, const void *bytes, size_t bytes_count, uint64_t offset);
/* Reads all bytes with pread(). Returns -EIO if the file ends before; no message. */
int ntk_fs_pread(int fd, void *bytes, size_t bytes_count, uint64_t offset);
/* Raises the limit on open descriptors to `most`, or to the hard limit if that is lower. */
void ntk_fs_raise_descriptor_limit(uint64_t most);
/* rm -r that follows no links; a missing path is accepted. A deep tree needs no extra stack or
 * descriptors. -E2BIG after 5,000 levels or ten million entries, for example in a tree that keeps
 * growing; the next call continues. */
int ntk_fs_remove_tree(const char *path, struct ntk_err *err);

/* A bounded walk through a tree that may be large or deep. */
struct ntk_fs_walk {
    unsigned depth_max; /* maximum levels of folders below the first one */
    size_t entries_max; /* maximum entries in all folders together */
    bool is_any_owner;  /* enter folders of other users, too, which may change during the walk */
    /* Called for each regular file with its path below the folder; false ends the walk. */
    bool (*file)(const char *name, const struct stat *status, void *ctx);
    void *ctx;
};
/* Follows no links and, unless is_any_owner is set, enters only folders of this user. Returns 0,
 * -E2BIG if a part was skipped because of the bounds or another user's folder, or -errno. No
 * message. */
int ntk_fs_walk(const char *path, const struct ntk_fs_walk *walk);

/*
 * A file that is written under a temporary name in the same folder and renamed when complete.
 * Owner:   caller's storage, zeroed before _begin; _abort after a _commit or on a zeroed struct
 *          does nothing.
 */
struct ntk_fs_replace {
    FILE *file; /* the stream to write to */
    char *path;
    char *temporary_path;
};

/* -EISDIR: the path is a folder. */
int ntk_fs_replace_begin(struct ntk_fs_replace *replace, const char *path, struct ntk_err *err);
/* Flushes, checks every write, and renames. After a failure, removes the temporary file. */
int ntk_fs_replace_commit(struct ntk_fs_replace *replace, struct ntk_err *err);
void ntk_fs_replace_abort(struct ntk_fs_replace *replace);
/* Writes a whole file from memory: begin, write and commit in one call. */
int ntk_fs_write(const char *path, const void *bytes, size_t bytes_count, struct ntk_err *err);
/* Writes a whole text to standard output; a reader that stops early is not a failure. */
int ntk_fs_print(const struct ntk_buf *text, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
