/* SPDX-License-Identifier: MIT */
/* fs - whole files, folders, and files that appear complete or not at all. */
#include "shared/base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NO_OFFSET NTK_ERR_NO_OFFSET
/* Maximum depth that one ntk_fs_remove_tree() removes. */
#define REMOVED_DEPTH_MAX 5000u
#define REMOVED_ENTRIES_MAX 10000000u

int ntk_fs_open_regular(const char *path, struct stat *out_status, struct ntk_err *err)
{
    struct stat status = { 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int ret = fd < 0 || fstat(fd, &status) < 0 ? -errno : 0;

    if (ret < 0) {
        ret = ntk_err_set(err, ret, NO_OFFSET, "cannot open '%s': %s", path, strerror(-ret));
    } else if (!S_ISREG(status.st_mode)) {
        ret = ntk_err_set(err, S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL, NO_OFFSET,
                          "cannot read '%s': not a regular file", path);
    }
    if (ret < 0) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return ret;
    }
    if (out_status) {
        *out_status = status;
    }
    return fd;
}

bool ntk_fs_may_block(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

static int read_open_file(int fd, const char *path, uint64_t file_bytes, size_t limit_bytes,
                          uint8_t **out_bytes, size_t *out_count, struct ntk_err *err)
{
    if (file_bytes > limit_bytes) {
        return ntk_err_set(err, -EFBIG, NO_OFFSET, "cannot read '%s': %llu bytes (at most %zu)",
                           path, (unsigned long long)file_bytes, limit_bytes);
    }
    size_t size = (size_t)file_bytes;
    uint8_t *bytes = malloc(size + 1);
    if (!bytes) {
        return ntk_err_set(err, -ENOMEM, NO_OFFSET, "cannot read '%s': out of memory", path);
    }
    size_t count = 0;
    while (count < size) {
        ssize_t got = read(fd, bytes + count, size - count);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            int code = -errno;
            free(bytes);
            return ntk_err_set(err, code, count, "cannot read '%s': %s", path, strerror(-code));
        }
        if (got == 0) {
            break; /* the file became shorter while it was read */
        }
        count += (size_t)got;
    }
    bytes[count] = '\0';
    *out_bytes = bytes;
    *out_count = count;
    return 0;
}

int ntk_fs_read(const char *path, size_t limit_bytes, uint8_t **out_bytes, size_t *out_count,
                struct ntk_err *err)
{
    struct stat status;
    int fd = ntk_fs_open_regular(path, &status, err);

    if (fd < 0) {
        return fd;
    }
    int ret =
        read_open_file(fd, path, (uint64_t)status.st_size, limit_bytes, out_bytes, out_count, err);
    close(fd);
    return ret;
}

ssize_t ntk_fs_read_text(const char *path, char *buf, size_t buf_bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0) {
        return -errno;
    }
    ssize_t got = read(fd, buf, buf_bytes - 1);
    ssize_t ret = got < 0 ? -errno : got;
    close(fd);
    if (ret < 0) {
        return ret;
    }
    if (ret > 0 && buf[ret - 1] == '\n') {
        ret--;
    }
    buf[ret] = '\0';
    return ret;
}

void ntk_fs_raise_descriptor_limit(uint64_t most)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < most) {
        limit.rlim_cur = limit.rlim_max < most ? limit.rlim_max : most;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

bool ntk_fs_is_ours(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && (status.st_uid == geteuid() || status.st_uid == 0);
}

int ntk_fs_make_folders(const char *path, mode_t mode, struct ntk_err *err)
{
    char *copy = strdup(path);
    int ret = 0;

    if (!copy) {
        return ntk_err_set(err, -ENOMEM, NO_OFFSET, "out of memory");
    }
    for (char *at = copy + 1; ret == 0; at++) {
        if (*at != '/' && *at != '\0') {
            continue;
        }
        char kept = *at;
        *at = '\0';
        if (mkdir(copy, mode) < 0 && errno != EEXIST) {
            ret = ntk_err_set(err, -errno, NO_OFFSET, "cannot create folder '%s': %s", copy,
                              strerror(errno));
        }
        *at = kept;
        if (kept == '\0') {
            break;
        }
    }
    free(copy);
    return ret;
}

static bool is_dots(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..");
}

/* Opens the folder for readdir(); the caller keeps fd. */
static DIR *open_entries(int fd)
{
    int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = own < 0 ? NULL : fdopendir(own);

    if (!entries && own >= 0) {
        int code = errno;
        close(own);
        errno = code;
    }
    return entries;
}

/* Moves the folder `name` from the folder `from` into `top`, under a new name. */
static int move_up(int from, const char *name, int top, uint64_t *moved)
{
    char new_name[32];

    do {
        (void)snprintf(new_name, sizeof new_name, ".removed-%llu", (unsigned long long)(*moved)++);
        if (renameat(from, name, top, new_name) == 0) {
            return 0;
        }
    } while (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR);
    return errno == ENOENT ? 0 : -errno;
}

/* A limit per call, because the owner of the tree could add to it endlessly. */
struct removal {
    int top;
    uint64_t moved;
    uint64_t entries;
};

static struct dirent *next_entry(struct removal *removal, DIR *entries)
{
    return removal->entries++ < REMOVED_ENTRIES_MAX ? readdir(entries) : NULL;
}

/* Removes a folder in `top` with its files. Subfolders that are not empty move into `top`, so that
 * deep trees need no recursion. */
static int remove_folder(struct removal *removal, const char *name)
{
    int top = removal->top;
    int ret = 0;

    if (unlinkat(top, name, AT_REMOVEDIR) == 0 || errno == ENOENT) {
        return 0;
    }
    int fd = openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (!entries) {
        ret = -errno;
        if (fd >= 0) {
            close(fd);
        }
        return ret;
    }
    for (struct dirent *entry; (entry = next_entry(removal, entries));) {
        if (is_dots(entry->d_name) || unlinkat(fd, entry->d_name, 0) == 0 || errno == ENOENT ||
            unlinkat(fd, entry->d_name, AT_REMOVEDIR) == 0) {
            continue;
        }
        /* The entry is not a folder: report why unlink() failed. */
        int moving = errno == ENOTDIR ? -EPERM : move_up(fd, entry->d_name, top, &removal->moved);
        ret = ret ? ret : moving;
    }
    closedir(entries);
    return unlinkat(top, name, AT_REMOVEDIR) == 0 || ret < 0 ? ret : -errno;
}

/* Removes everything in the folder. Each pass removes one level; the last one moves nothing. */
static int empty_folder(int top)
{
    struct removal removal = { .top = top };
    uint64_t before;
    int ret = 0;
    unsigned passes = 0;

    do {
        DIR *entries = open_entries(top);

        if (!entries) {
            return -errno;
        }
        before = removal.moved;
        for (struct dirent *entry; (entry = next_entry(&removal, entries));) {
            if (!is_dots(entry->d_name) && unlinkat(top, entry->d_name, 0) < 0 && errno != ENOENT) {
                int removing = errno == EISDIR || errno == EPERM
                                   ? remove_folder(&removal, entry->d_name)
                                   : -errno;
                ret = ret ? ret : removing;
            }
        }
        closedir(entries);
        if (ret == 0 && (++passes > REMOVED_DEPTH_MAX || removal.entries > REMOVED_ENTRIES_MAX)) {
            ret = -E2BIG; /* the next call continues */
        }
    } while (removal.moved > before && ret == 0);
    return ret;
}

int ntk_fs_remove_tree(const char *path, struct ntk_err *err)
{
    int ret = 0;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0) {
        ret = empty_folder(fd);
        close(fd);
        if (ret == 0 && rmdir(path) < 0) {
            ret = -errno;
        }
    } else if (errno != ENOENT && unlink(path) < 0) {
        ret = -errno;
    }
    if (ret < 0) {
        return ntk_err_set(err, ret, NO_OFFSET, "cannot remove '%s': %s", path, strerror(-ret));
    }
    return 0;
}

/* ---- a bounded walk ---- */

struct walk_state {
    const struct ntk_fs_walk *walk;
    size_t entries;
    bool is_over; /* the callback requested to stop */
    char name[PATH_MAX];
};

/* Takes ownership of fd. length is that of the path so far. */
static int walk_folder(struct walk_state *state, int fd, size_t length, unsigned depth)
{
    struct stat status;
    bool is_allowed =
        fstat(fd, &status) == 0 && (state->walk->is_any_owner || status.st_uid == geteuid());
    DIR *entries = is_allowed ? fdopendir(fd) : NULL;
    int ret = 0;

    if (!entries) {
        close(fd);
        return -E2BIG;
    }
    for (struct dirent *entry; !state->is_over && (entry = readdir(entries));) {
        size_t left = sizeof state->name - length;

        if (is_dots(entry->d_name)) {
            continue;
        }
        if (state->entries++ >= state->walk->entries_max) {
            ret = -E2BIG;
            break;
        }
        int bytes = snprintf(state->name + length, left, "%s%s", length ? "/" : "", entry->d_name);
        if (bytes < 0 || (size_t)bytes >= left ||
            fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
            continue;
        }
        if (S_ISREG(status.st_mode)) {
            state->is_over = !state->walk->file(state->name, &status, state->walk->ctx);
        } else if (S_ISDIR(status.st_mode)) {
            int below = depth == 0 ? -1
                                   : openat(fd, entry->d_name,
                                            O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            int below_ret =
                below < 0 ? -E2BIG : walk_folder(state, below, length + (size_t)bytes, depth - 1);
            ret = ret ? ret : below_ret;
        }
    }
    closedir(entries);
    return ret;
}

int ntk_fs_walk(const char *path, const struct ntk_fs_walk *walk)
{
    struct walk_state *state = calloc(1, sizeof *state);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int ret = !state ? -ENOMEM : fd < 0 ? -errno : 0;

    if (ret == 0) {
        state->walk = walk;
        ret = walk_folder(state, fd, 0, walk->depth_max);
    } else if (fd >= 0) {
        close(fd);
    }
    free(state);
    return ret;
}

/* A device, pipe or socket such as /dev/null or /dev/stdout is written directly and never
 * replaced. */
static int begin_in_place(struct ntk_fs_replace *replace, const char *path, struct ntk_err *err)
{
    replace->file = fopen(path, "wbe");
    if (!replace->file) {
        int code = errno ? -errno : -EIO;
        ntk_fs_replace_abort(replace);
        return ntk_err_set(err, code, NO_OFFSET, "cannot write '%s': %s", path, strerror(-code));
    }
    return 0;
}

int ntk_fs_replace_begin(struct ntk_fs_replace *replace, const char *path, struct ntk_err *err)
{
    struct stat status;
    bool is_there = stat(path, &status) == 0;

    *replace = (struct ntk_fs_replace){ 0 };
    if (is_there && S_ISDIR(status.st_mode)) {
        return ntk_err_set(err, -EISDIR, NO_OFFSET, "cannot write '%s': %s", path,
                           strerror(EISDIR));
    }
    replace->path = strdup(path);
    if (replace->path && is_there && !S_ISREG(status.st_mode)) {
        return begin_in_place(replace, path, err);
    }
    if (!replace->path || asprintf(&replace->temporary_path, "%s.tmp-XXXXXX", path) < 0) {
        replace->temporary_path = NULL;
        ntk_fs_replace_abort(replace);
        return ntk_err_set(err, -ENOMEM, NO_OFFSET, "out of memory");
    }
    int fd = mkostemp(replace->temporary_path, O_CLOEXEC);
    if (fd < 0) {
        int code = -errno;
        free(replace->temporary_path);
        replace->temporary_path = NULL;
        ntk_fs_replace_abort(replace);
        return ntk_err_set(err, code, NO_OFFSET, "cannot write '%s': %s", path, strerror(-code));
    }
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask);
    replace->file = fdopen(fd, "wb");
    if (!replace->file) {
        close(fd);
        ntk_fs_replace_abort(replace);
        return ntk_err_set(err, -ENOMEM, NO_OFFSET, "out of memory");
    }
    return 0;
}

int ntk_fs_replace_commit(struct ntk_fs_replace *replace, struct ntk_err *err)
{
    int code = 0;

    if (ferror(replace->file) || fflush(replace->file) != 0) {
        code = errno ? -errno : -EIO;
    }
    if (fclose(replace->file) != 0 && code == 0) {
        code = -errno;
    }
    replace->file = NULL;
    if (code == 0 && replace->temporary_path &&
        rename(replace->temporary_path, replace->path) < 0) {
        code = -errno;
    }
    if (code < 0) {
        ntk_err_set(err, code, NO_OFFSET, "cannot write '%s': %s", replace->path, strerror(-code));
        ntk_fs_replace_abort(replace);
        return code;
    }
    free(replace->temporary_path);
    replace->temporary_path = NULL;
    ntk_fs_replace_abort(replace);
    return 0;
}

void ntk_fs_replace_abort(struct ntk_fs_replace *replace)
{
    if (replace->file) {
        fclose(replace->file);
    }
    if (replace->temporary_path) {
        unlink(replace->temporary_path);
    }
    free(replace->temporary_path);
    free(replace->path);
    *replace = (struct ntk_fs_replace){ 0 };
}

int ntk_fs_write(const char *path, const void *bytes, size_t bytes_count, struct ntk_err *err)
{
    struct ntk_fs_replace replace;
    int ret = ntk_fs_replace_begin(&replace, path, err);

    if (ret < 0) {
        return ret;
    }
    errno = 0;
    fwrite(bytes, 1, bytes_count, replace.file); /* the commit reports a failure */
    return ntk_fs_replace_commit(&replace, err);
}

int ntk_fs_print(const struct ntk_buf *text, struct ntk_err *err)
{
    if (!ntk_buf_ok(text)) {
        return ntk_err_no_memory(err);
    }
    if ((fwrite(text->bytes, 1, text->bytes_count, stdout) != text->bytes_count ||
         fflush(stdout) != 0) &&
        errno != EPIPE) {
        return ntk_err_set(err, -errno, NO_OFFSET, "cannot write to stdout: %s", strerror(errno));
    }
    return 0;
}

/* ---- files without a name ---- */

int ntk_fs_open_unnamed(const char *folder, struct ntk_err *err)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char *name = NULL;

    if (fd >= 0) {
        return fd;
    }
    /* Not every file system supports O_TMPFILE. */
    if (asprintf(&name, "%s/.ntk-unnamed-XXXXXX", folder) < 0) {
        return ntk_err_set(err, -ENOMEM, NO_OFFSET, "out of memory");
    }
    fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0) {
        int code = -errno;
        free(name);
        return ntk_err_set(err, code, NO_OFFSET, "cannot create a temporary file in '%s': %s",
                           folder, strerror(-code));
    }
    unlink(name);
    free(name);
    return fd;
}

const char *ntk_fs_temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");

    if (folder && folder[0]) {
        return folder;
    }
    return access("/var/tmp", W_OK | X_OK) == 0 ? "/var/tmp" : "/tmp";
}

/* Opens one path component at a time, for kernels and sandboxes without openat2(). */
static int open_by_parts(int folder, const char *path, int flags)
{
    char copy[PATH_MAX];
    char *rest = copy;
    char *part;
    int at = dup(folder);

    if (strlen(path) >= sizeof copy) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(copy, path, strlen(path) + 1);
    while (at >= 0 && (part = strsep(&rest, "/"))) {
        bool is_last = !rest;
        int next = -1;

        if (strcmp(part, "..") == 0) {
            errno = EXDEV;
        } else {
            next = openat(at, *part ? part : ".",
                          is_last ? flags : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        }
        int error = errno;
        close(at);
        errno = error;
        at = next;
    }
    return at;
}

int ntk_fs_open_below(int folder, const char *path, int flags)
{
    struct open_how how = {
        .flags = (uint64_t)(flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    long fd = path[0] == '/' ? (errno = EXDEV, -1)
                             : syscall(__NR_openat2, folder, path, &how, sizeof how);

    if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EINVAL)) {
        return open_by_parts(folder, path, (int)how.flags);
    }
    return (int)fd;
}

int ntk_fs_pwrite(int fd, const void *bytes, size_t bytes_count, uint64_t offset)
{
    const uint8_t *from = bytes;

    while (bytes_count > 0) {
        ssize_t n = pwrite(fd, from, bytes_count, (off_t)offset);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n < 0 ? -errno : -ENOSPC;
        }
        from += n;
        offset += (uint64_t)n;
        bytes_count -= (size_t)n;
    }
    return 0;
}

int ntk_fs_pread(int fd, void *bytes, size_t bytes_count, uint64_t offset)
{
    uint8_t *to = bytes;

    while (bytes_count > 0) {
        ssize_t n = pread(fd, to, bytes_count, (off_t)offset);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n < 0 ? -errno : -EIO;
        }
        to += n;
        offset += (uint64_t)n;
        bytes_count -= (size_t)n;
    }
    return 0;
}
