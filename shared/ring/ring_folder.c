/* SPDX-License-Identifier: MIT */
#include "shared/ring/ring_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/abi/paths.h"
#include "shared/base/clock.h"
#include "shared/base/process.h"

/* Resolution of modification times, the kernel's tick: a second change in the same tick would be
 * missed. */
#define TICK_NS (50 * NTK_NS_PER_MS)

/* ---- open and close ---- */

int ntk_ring_folder_open(const char *path, int64_t owner, struct ring_folder **out_folder,
                         struct ntk_err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (owner >= 0 ? O_NOFOLLOW : 0));
    struct ring_folder *folder;
    struct stat status;

    if (fd < 0) {
        return errno == ENOENT ? -ENOENT
               : errno == ELOOP || errno == ENOTDIR
                   ? ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "%s is not a folder", path)
                   : ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot open '%s': %s", path,
                                 strerror(errno));
    }
    if (fstat(fd, &status) != 0 || (owner >= 0 && (int64_t)status.st_uid != owner)) {
        close(fd);
        return ntk_err_set(err, -EPERM, NTK_ERR_NO_OFFSET, "%s is owned by the wrong user", path);
    }
    folder = calloc(1, sizeof *folder);
    if (folder == NULL || (folder->path = strdup(path)) == NULL) {
        free(folder);
        close(fd);
        return ntk_err_no_memory(err);
    }
    folder->fd = fd;
    folder->mark_fd = -1;
    folder->device = (uint64_t)status.st_dev;
    folder->inode = (uint64_t)status.st_ino;
    folder->owner = (uint32_t)status.st_uid;
    *out_folder = folder;
    return 0;
}

bool ntk_ring_folder_is_at(const struct ring_folder *folder, const struct stat *status)
{
    return (uint64_t)status->st_dev == folder->device && (uint64_t)status->st_ino == folder->inode;
}

/* ---- the mark ---- */

static uint64_t changed_ns(const struct stat *status)
{
    return (uint64_t)status->st_mtim.tv_sec * NTK_NS_PER_SECOND + (uint64_t)status->st_mtim.tv_nsec;
}

/* First byte of the locks: byte n stands for the n-th microsecond of CLOCK_MONOTONIC. A reader that
 * has not read yet locks an earlier byte than all others. */
#define LOOKS_BASE 4096

static struct flock lock_of(short type, off_t start, off_t length)
{
    return (
        struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length };
}

void ntk_ring_folder_let_go(int fd, off_t byte)
{
    struct flock lock = lock_of(F_UNLCK, byte, 1);

    (void)fcntl(fd, F_OFD_SETLK, &lock);
}

static bool set_lock(int fd, off_t byte)
{
    struct flock lock = lock_of(F_RDLCK, byte, 1);

    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

void ntk_ring_folder_hold(int fd, off_t byte)
{
    (void)set_lock(fd, byte);
}

/* Locks of this reader are not counted. */
bool ntk_ring_folder_is_held_by_others(int fd, off_t start, off_t length)
{
    struct flock lock = lock_of(F_WRLCK, start, length);

    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static void drop_mark(struct ring_folder *folder)
{
    struct stat held;
    struct stat there;

    if (folder->mark_fd < 0) {
        return;
    }
    if (folder->marks && folder->stays) {
        (void)futimens(folder->mark_fd, NULL); /* the mark now waits for the next reader */
    } else if (folder->marks && !ntk_ring_folder_is_held_by_others(folder->mark_fd, 0, 1) &&
               fstat(folder->mark_fd, &held) == 0 && held.st_size == 0 &&
               fstatat(folder->fd, NTK_READER_MARK_NAME, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
               held.st_ino == there.st_ino && held.st_dev == there.st_dev) {
        (void)unlinkat(folder->fd, NTK_READER_MARK_NAME, 0);
    }
    close(folder->mark_fd);
    folder->mark_fd = -1;
}

void ntk_ring_folder_close(struct ring_folder *folder)
{
    if (folder == NULL) {
        return;
    }
    drop_mark(folder);
    if (folder->list != NULL) {
        closedir(folder->list);
    }
    close(folder->fd);
    free(folder->path);
    free(folder);
}

/* Opens the mark. In a folder that everyone may write to, root and the service replace another
 * user's mark, because writers would not trust it. */
static int open_mark(const struct ring_folder *folder)
{
    int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    struct stat status;

    if (!folder->marks) {
        return openat(folder->fd, NTK_READER_MARK_NAME, O_RDONLY | flags);
    }
    if (ntk_process_reads_all_users() &&
        fstatat(folder->fd, NTK_READER_MARK_NAME, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        (!S_ISREG(status.st_mode) ||
         (status.st_uid != geteuid() && status.st_uid != folder->owner &&
          !ntk_paths_is_trusted_user(status.st_uid)))) {
        (void)unlinkat(folder->fd, NTK_READER_MARK_NAME,
                       S_ISDIR(status.st_mode) ? AT_REMOVEDIR : 0);
    }
    return openat(folder->fd, NTK_READER_MARK_NAME,
                  (folder->stays ? O_RDWR : O_RDONLY) | O_CREAT | flags, 0644);
}

void ntk_ring_folder_mark(struct ring_folder *folder, uint64_t now_ns)
{
    struct stat status;

    if (folder->mark_fd >= 0) {
        if (fstat(folder->mark_fd, &status) == 0 && status.st_nlink > 0) {
            if (folder->marks && (folder->stays || status.st_size == 0) &&
                now_ns - folder->marked_ns >= RING_FOLDER_RENEW_NS) {
                folder->marked_ns = now_ns;
                (void)futimens(folder->mark_fd, NULL);
            }
            return;
        }
        close(folder->mark_fd); /* another reader removed the mark */
    }
    folder->mark_fd = open_mark(folder);
    if (folder->mark_fd < 0) {
        return;
    }
    folder->look_us = 0;
    folder->marked_ns = now_ns;
    folder->still_ns = 0; /* check files that a writer left while no reader was running */
    (void)set_lock(folder->mark_fd, LOOKS_BASE);
    if (folder->marks) {
        ntk_ring_folder_hold(folder->mark_fd, 0);
        /* one byte long: see NTK_READER_MARK_NAME */
        if (folder->stays && ftruncate(folder->mark_fd, 1) == 0) {
            (void)futimens(folder->mark_fd, NULL);
        }
    }
}

/* Moves this reader's lock: all files of the folder were checked since that time. */
static void move_look(struct ring_folder *folder, uint64_t since_ns)
{
    uint64_t us = since_ns / NTK_NS_PER_US;

    if (folder->mark_fd >= 0 && us > folder->look_us &&
        set_lock(folder->mark_fd, (off_t)(LOOKS_BASE + us))) {
        ntk_ring_folder_let_go(folder->mark_fd, (off_t)(LOOKS_BASE + folder->look_us));
        folder->look_us = us;
    }
}

bool ntk_ring_folder_has_others(const struct ring_folder *folder)
{
    return folder->mark_fd >= 0 && ntk_ring_folder_is_held_by_others(folder->mark_fd, 0, 0);
}

bool ntk_ring_folder_awaits_reader(const struct ring_folder *folder)
{
    struct stat status;

    return folder->mark_fd >= 0 && !folder->stays && fstat(folder->mark_fd, &status) == 0 &&
           status.st_size > 0 &&
           ntk_clock_realtime_ns() <
               changed_ns(&status) + NTK_READER_MARK_KEEPS_S * NTK_NS_PER_SECOND;
}

bool ntk_ring_folder_others_looked(const struct ring_folder *folder, uint64_t since_ns)
{
    return folder->mark_fd < 0 ||
           !ntk_ring_folder_is_held_by_others(folder->mark_fd, LOOKS_BASE,
                                              (off_t)(since_ns / NTK_NS_PER_US) + 1);
}

/* ---- passes ---- */

/* Begins a pass, if there is anything to check. */
static bool begin_pass(struct ring_folder *folder, uint64_t now_ns)
{
    struct stat status;
    int copy;

    if (fstat(folder->fd, &status) != 0) {
        return false;
    }
    folder->pass_begin_ns = now_ns;
    if (folder->still_ns != 0 && folder->still_ns == changed_ns(&status)) {
        return false;
    }
    copy = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    folder->list = copy >= 0 ? fdopendir(copy) : NULL;
    if (folder->list == NULL) {
        if (copy >= 0) {
            close(copy);
        }
        folder->pass_begin_ns = 0; /* the folder was not checked */
        return false;
    }
    folder->pass++;
    folder->pass_changed_ns = changed_ns(&status);
    folder->is_fresh = ntk_clock_realtime_ns() <= folder->pass_changed_ns + TICK_NS;
    folder->is_left = false;
    folder->is_owed = false;
    return true;
}

static void end_pass(struct ring_folder *folder)
{
    closedir(folder->list);
    folder->list = NULL;
    folder->still_ns =
        folder->is_left || folder->is_owed || folder->is_fresh ? 0 : folder->pass_changed_ns;
}

bool ntk_ring_folder_step(struct ring_folder *folder, uint64_t now_ns, unsigned int *entries,
                          void (*fn)(struct ring_folder *folder, const char *name, void *ctx),
                          void *ctx)
{
    const struct dirent *entry = NULL;

    if (folder->list == NULL && !begin_pass(folder, now_ns)) {
        move_look(folder, folder->pass_begin_ns);
        return false;
    }
    while (*entries > 0 && (entry = readdir(folder->list)) != NULL) {
        --*entries;
        fn(folder, entry->d_name, ctx);
    }
    if (entry != NULL) {
        return false; /* the next step continues */
    }
    end_pass(folder);
    if (!folder->is_owed) {
        move_look(folder, folder->pass_begin_ns);
    }
    return true;
}
