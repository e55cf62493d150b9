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

/* Opens a regular file for reading, and nothing else: a FIFO without a writer is refused at once,
 * not waited for. The descriptor or -errno; out_status may be NULL. */
int ntk_fs_open_regular(const char *path, struct stat *out_status, struct ntk_err *err);
/* Whether the path leads to something that a library which opens it would wait for: neither a
 * regular file nor a folder nor nothing. */
bool ntk_fs_may_block(const char *path);
/* Reads a whole regular file of at most limit_bytes; *out_bytes is freed with free(). A NUL follows
 * the bytes and does not count. -EFBIG when it is larger. */
int ntk_fs_read(const char *path, size_t limit_bytes, uint8_t **out_bytes, size_t *out_count,
                struct ntk_err *err);
/* Reads a short text file (sysfs, /proc) into buf, NUL-ended, last line break removed. The number
 * of bytes or -errno; no message. */
ssize_t ntk_fs_read_text(const char *path, char *buf, size_t buf_bytes);
/* Whether the file is this user's or root's, so that its content may be run. False when it cannot
 * be checked. */
bool ntk_fs_is_ours(const char *path);
/* mkdir -p; existing folders are fine. */
int ntk_fs_make_folders(const char *path, mode_t mode, struct ntk_err *err);
/* A file without a name in the folder, for reading and writing, gone with its last descriptor. The
 * descriptor or -errno. */
int ntk_fs_open_unnamed(const char *folder, struct ntk_err *err);
/* Where large temporary files go: $TMPDIR, else /var/tmp (which is on a disk), else /tmp.
 * Borrowed. */
const char *ntk_fs_temporary_folder(void);
/* Opens what is below the folder, through no symbolic link and never outside of it. The descriptor,
 * or -1 with errno; no message. */
int ntk_fs_open_below(int folder, const char *path, int flags);
/* pwrite() of all of it: 0 or -errno; no message. */
int ntk_fs_pwrite(int fd, const void *bytes, size_t bytes_count, uint64_t offset);
/* pread() of all of it; -EIO when the file ends before; no message. */
int ntk_fs_pread(int fd, void *bytes, size_t bytes_count, uint64_t offset);
/* So that this process may have `most` descriptors open, or as many as its hard limit lets it. */
void ntk_fs_raise_descriptor_limit(uint64_t most);
/* rm -r that follows no links; a missing path is fine. The depth of the tree costs neither stack
 * nor descriptors. -E2BIG after 5,000 levels or ten million entries, for example in a tree that
 * keeps growing; the next call continues. */
int ntk_fs_remove_tree(const char *path, struct ntk_err *err);

/* A bounded look at a tree that may be large or deep. */
struct ntk_fs_walk {
    unsigned depth_max; /* levels of folders below the first one; recursion goes no deeper */
    size_t entries_max; /* of all folders together */
    bool is_any_owner;  /* also folders of other users, which may change meanwhile */
    /* Each regular file: its path below the folder; false ends the walk. */
    bool (*file)(const char *name, const struct stat *status, void *ctx);
    void *ctx;
};
/* Follows no links and, unless told otherwise, enters only folders of this user. 0; -E2BIG when the
 * bounds or another user's folder hide a part; -errno. No sentence. */
int ntk_fs_walk(const char *path, const struct ntk_fs_walk *walk);

/*
 * A file that is written under a temporary name in the same folder and renamed when complete.
 * Owner:   caller's storage, zeroed before _begin; _abort after a _commit or on a zeroed struct does
 * nothing.
 */
struct ntk_fs_replace {
    FILE *file; /* write here */
    char *path;
    char *temporary_path;
};

int ntk_fs_replace_begin(struct ntk_fs_replace *replace, const char *path, struct ntk_err *err);
/* Flushes, checks every write, renames. On failure the temporary file is gone. */
int ntk_fs_replace_commit(struct ntk_fs_replace *replace, struct ntk_err *err);
void ntk_fs_replace_abort(struct ntk_fs_replace *replace);
/* All three steps for bytes in memory. */
int ntk_fs_write(const char *path, const void *bytes, size_t bytes_count, struct ntk_err *err);
/* A whole text to standard output; a reader that stops early is not a failure. */
int ntk_fs_print(const struct ntk_buf *text, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
