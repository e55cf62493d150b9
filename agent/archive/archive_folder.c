/* SPDX-License-Identifier: MIT */
/*
 * archive_folder - an archive in a folder: a part is written as ".part-...", which readers of
 * archives skip. It is synced before it is renamed, and the rename replaces an existing part
 * atomically.
 *
 * A writer holds a lock on its temporary file. A temporary file without a lock was left by a killed
 * program; the next writer removes it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/archive/archive_target.h"
#include "shared/base/fs.h"

#define HIDDEN ".part-"
#define TEMPORARY ".tmp-"

struct folder {
    struct ntk_archive_target target;
    char *root;
    char *path;      /* path of the part being written; NULL if none */
    char *temporary; /* its temporary path */
    int fd;
    char *swept; /* the folder that was last checked for leftovers */
};

static int fail(const char *path, int code, struct ntk_err *err)
{
    return ntk_err_set(err, code, NTK_ERR_NO_OFFSET, "cannot write '%s': %s", path,
                       strerror(-code));
}

static void abort_part(struct ntk_archive_target *target)
{
    struct folder *folder = (struct folder *)target;

    if (folder->fd >= 0 && folder->temporary) {
        (void)unlink(folder->temporary);
        close(folder->fd);
        folder->fd = -1;
    }
    free(folder->path);
    free(folder->temporary);
    folder->path = folder->temporary = NULL;
}

/* Removes temporary files that killed programs left in the folder. */
static void sweep(struct folder *folder, const char *path)
{
    DIR *dir;

    if (folder->swept && strcmp(folder->swept, path) == 0) {
        return;
    }
    free(folder->swept);
    folder->swept = strdup(path);
    dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (strncmp(entry->d_name, HIDDEN, strlen(HIDDEN)) != 0 ||
            !strstr(entry->d_name, TEMPORARY)) {
            continue;
        }
        int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
        }
        if (fd >= 0) {
            close(fd);
        }
    }
    if (dir) {
        closedir(dir);
    }
}

/* Creates and locks a temporary file. Then checks that the name still refers to it: another process
 * may have removed it before the lock. */
static int open_temporary(struct folder *folder, const char *within, const char *name,
                          struct ntk_err *err)
{
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        struct stat opened, named;
        free(folder->temporary);
        if (asprintf(&folder->temporary, "%s/.%s" TEMPORARY "%ld-%u", within, name, (long)getpid(),
                     attempt) < 0) {
            folder->temporary = NULL;
            return ntk_err_no_memory(err);
        }
        folder->fd =
            open(folder->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        if (folder->fd < 0 && errno != EEXIST) {
            return fail(folder->path, -errno, err);
        }
        if (folder->fd < 0) {
            continue;
        }
        if (flock(folder->fd, LOCK_EX | LOCK_NB) == 0 && fstat(folder->fd, &opened) == 0 &&
            stat(folder->temporary, &named) == 0 && opened.st_ino == named.st_ino) {
            return 0;
        }
        close(folder->fd);
        folder->fd = -1;
    }
    return fail(folder->path, -EEXIST, err);
}

static int begin_part(struct ntk_archive_target *target, const char *path, int *out_fd,
                      struct ntk_err *err)
{
    struct folder *folder = (struct folder *)target;
    char *within;

    abort_part(target);
    if (asprintf(&folder->path, "%s/%s", folder->root, path) < 0) {
        folder->path = NULL;
        return ntk_err_no_memory(err);
    }
    const char *name = strrchr(folder->path, '/') + 1;
    within = strndup(folder->path, (size_t)(name - folder->path) - 1);
    if (!within) {
        abort_part(target);
        return ntk_err_no_memory(err);
    }
    int ret = ntk_fs_make_folders(within, 0777, err);
    if (ret == 0) {
        sweep(folder, within);
        ret = open_temporary(folder, within, name, err);
    }
    free(within);
    if (ret < 0) {
        abort_part(target);
        return ret;
    }
    *out_fd = folder->fd;
    return 0;
}

/* Syncs the folder, and thereby the rename. */
static void sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *within = slash ? strndup(path, (size_t)(slash - path)) : NULL;
    int fd = within ? open(within, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        (void)fsync(fd); /* some file systems do not support it */
        close(fd);
    }
    free(within);
}

static int commit_part(struct ntk_archive_target *target, bool keeps, struct ntk_err *err)
{
    struct folder *folder = (struct folder *)target;
    int ret = 0;

    if (fsync(folder->fd) < 0) {
        ret = -errno;
    } else if (keeps && link(folder->temporary, folder->path) < 0) {
        ret = errno == EEXIST ? 1 : -errno;
        /* the file system does not support links */
        if (ret == -EPERM || ret == -EOPNOTSUPP || ret == -ENOSYS) {
            ret = access(folder->path, F_OK) == 0               ? 1
                  : rename(folder->temporary, folder->path) < 0 ? -errno
                                                                : 0;
        }
    } else if (!keeps && rename(folder->temporary, folder->path) < 0) {
        ret = -errno;
    }
    if (ret < 0) {
        fail(folder->path, ret, err);
    } else if (ret == 0) {
        sync_folder(folder->path);
    }
    abort_part(target);
    return ret;
}

static void close_folder(struct ntk_archive_target *target)
{
    struct folder *folder = (struct folder *)target;

    free(folder->swept);
    free(folder->root);
    free(folder);
}

static const struct ntk_archive_target_ops ops = { begin_part, commit_part, abort_part, NULL,
                                                   close_folder };

int ntk_archive_folder_open(const char *path, struct ntk_archive_target **out_target,
                            struct ntk_err *err)
{
    struct folder *folder = calloc(1, sizeof *folder);

    if (!folder) {
        return ntk_err_no_memory(err);
    }
    folder->target.ops = &ops;
    folder->fd = -1;
    folder->root = strdup(path);
    int ret = folder->root ? ntk_fs_make_folders(path, 0777, err) : ntk_err_no_memory(err);
    if (ret == 0 && access(path, W_OK | X_OK) < 0) {
        ret = fail(path, -errno, err);
    }
    if (ret < 0) {
        close_folder(&folder->target);
        return ret;
    }
    *out_target = &folder->target;
    return 0;
}
