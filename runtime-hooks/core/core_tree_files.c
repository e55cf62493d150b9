/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/map.h"

#define LOOKS_PER_ROUND 1024 /* leaves checked per round without inotify */
#define VERSION_PATH "module/neuron/version"
#define DEVICES_PATH "devices/virtual/neuron_device"
#define STAGE_SUFFIX ".new"
#define ROOT_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)

static struct core_tree_leaf *leaf_at(const struct core_tree *tree, uint32_t index)
{
    return ntk_vec_at(&tree->leaves, index);
}

static bool is_ours(const struct core_tree *tree, const struct stat *status)
{
    return status->st_mtim.tv_sec == tree->mark.tv_sec &&
           status->st_mtim.tv_nsec == tree->mark.tv_nsec;
}

/* --- folders ---------------------------------------------------------------------------------- */

/* Creates the folder and missing parents, starting with the folder itself, because usually only one
 * is missing. */
static int folder_make(int root_fd, char *path)
{
    char *slash;
    int ret;

    if (mkdirat(root_fd, path, 0755) == 0 || errno == EEXIST) {
        return 0;
    }
    slash = strrchr(path, '/');
    if (errno != ENOENT || !slash) {
        return -errno;
    }
    *slash = '\0';
    ret = folder_make(root_fd, path);
    *slash = '/';
    if (ret == 0 && mkdirat(root_fd, path, 0755) < 0 && errno != EEXIST) {
        ret = -errno;
    }
    return ret;
}

/* Sets folder_fd to the leaf's folder. */
static int folder_open(struct core_tree *tree, const struct core_tree_leaf *leaf)
{
    char path[CORE_TREE_PATH_BYTES];
    int flags = O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
    int ret;

    if (tree->folder_fd >= 0 && tree->open_folder == leaf->folder) {
        return 0;
    }
    if (tree->folder_fd >= 0) {
        close(tree->folder_fd);
        tree->folder_fd = -1;
    }
    memcpy(path, leaf->path, (size_t)leaf->name - 1);
    path[leaf->name - 1] = '\0';
    if (!tree->is_new) {
        tree->folder_fd = openat(tree->root_fd, path, flags);
    }
    if (tree->folder_fd < 0) {
        ret = folder_make(tree->root_fd, path);
        if (ret < 0) {
            return ret;
        }
        tree->folder_fd = openat(tree->root_fd, path, flags);
    }
    if (tree->folder_fd < 0) {
        return -errno;
    }
    tree->open_folder = leaf->folder;
    return 0;
}

/* --- leaves ----------------------------------------------------------------------------------- */

static int text_put(const struct core_tree *tree, int fd, const char *text, bool is_fresh)
{
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, tree->mark };
    size_t bytes = strlen(text);

    /* Written in place: a reader at the same time sees the new text, or the new text followed by
     * the rest of a longer old text. */
    return pwrite(fd, text, bytes, 0) == (ssize_t)bytes &&
                   (is_fresh || ftruncate(fd, (off_t)bytes) == 0) && futimens(fd, times) == 0
               ? 0
               : -errno;
}

static int leaf_write(struct core_tree *tree, const struct core_tree_leaf *leaf, const char *text)
{
    const char *name = leaf->path + leaf->name;
    int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW;
    int ret = folder_open(tree, leaf);
    int fd = -1;

    if (ret < 0) {
        return ret;
    }
    if (tree->is_new) {
        fd = openat(tree->folder_fd, name, flags | O_CREAT | O_EXCL, 0644);
        if (fd >= 0) {
            tree->is_wider = true;
            ret = text_put(tree, fd, text, true);
            close(fd);
            return ret;
        }
    }
    fd = openat(tree->folder_fd, name, flags);
    if (fd < 0 && errno == ENOENT) {
        tree->is_wider = true;
        fd = openat(tree->folder_fd, name, flags | O_CREAT, 0644);
    }
    if (fd < 0) {
        return -errno;
    }
    ret = text_put(tree, fd, text, false);
    close(fd);
    return ret;
}

/* Sets a new time on the device folder, which shows readers that there is more than what they have
 * cached. */
static void tell_readers(struct core_tree *tree)
{
    if (tree->is_wider && utimensat(tree->root_fd, DEVICES_PATH, NULL, 0) == 0) {
        tree->is_wider = false;
    }
}

int ntk_core_tree_write(struct core_tree *tree, bool counters)
{
    char text[CORE_TREE_TEXT_BYTES];
    int ret = 0;

    ntk_vec_each(struct core_tree_leaf, leaf, &tree->leaves) {
        if (!counters && ntk_core_tree_is_counter(leaf)) {
            continue;
        }
        leaf->format(leaf, text, sizeof text);
        if (leaf->last && strcmp(leaf->last, text) == 0) {
            continue;
        }
        ret = leaf_write(tree, leaf, text);
        if (ret < 0) {
            break;
        }
        char *copy = strdup(text);
        free(leaf->last);
        leaf->last = copy;
    }
    tree->is_new = tree->is_new && (ret < 0 || !counters);
    tell_readers(tree);
    return ret;
}

/* --- writes by other programs ----------------------------------------------------------------- */

/* Reads the text of a file without its newline; false if it is unreadable. */
static bool text_get(const struct core_tree *tree, const char *path, char *text, size_t bytes,
                     struct stat *status)
{
    int fd = openat(tree->root_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t got = -1;

    if (fd < 0) {
        return false;
    }
    if (fstat(fd, status) == 0 && S_ISREG(status->st_mode)) {
        got = pread(fd, text, bytes - 1, 0);
    }
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got >= 0;
}

/* Checks whether another process has written to the leaf, and performs the requested action. */
static void leaf_look(struct core_tree *tree, struct core_tree_leaf *leaf)
{
    char text[CORE_TREE_TEXT_BYTES];
    struct stat status;

    if (!leaf->last || (fstatat(tree->root_fd, leaf->path, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                        is_ours(tree, &status))) {
        return;
    }
    if (text_get(tree, leaf->path, text, sizeof text, &status)) {
        text[strcspn(text, "\n")] = '\0';
        ntk_core_tree_take(tree, leaf, text);
    }
    free(leaf->last); /* so that the next round restores the text */
    leaf->last = NULL;
}

static void look_at_some(struct core_tree *tree, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < tree->leaves.count; i++) {
        tree->next_look = tree->next_look + 1 < tree->leaves.count ? tree->next_look + 1 : 0;
        leaf_look(tree, leaf_at(tree, tree->next_look));
    }
}

static void watch_begin(struct core_tree *tree)
{
    char path[NTK_PATH_BYTES + CORE_TREE_PATH_BYTES];

    tree->watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    for (uint32_t i = 0; tree->watch_fd >= 0 && i < tree->folders.count; i++) {
        const struct core_tree_folder *folder = ntk_vec_at(&tree->folders, i);
        const struct core_tree_leaf *leaf = leaf_at(tree, folder->first);
        uint32_t none = CORE_TREE_NONE;
        int watch;

        (void)snprintf(path, sizeof path, "%s/%.*s", tree->root, leaf->name - 1, leaf->path);
        watch = inotify_add_watch(tree->watch_fd, path, IN_MODIFY | IN_ONLYDIR | IN_DONT_FOLLOW);
        while (watch >= 0 && tree->watches.count <= (size_t)watch) {
            if (ntk_vec_push(&tree->watches, &none) < 0) {
                watch = -1;
            }
        }
        if (watch < 0) { /* for example because of the user's limit */
            close(tree->watch_fd);
            tree->watch_fd = -1;
            break;
        }
        *(uint32_t *)ntk_vec_at(&tree->watches, (size_t)watch) = i;
    }
}

static bool watch_is_ours(const struct core_tree *tree)
{
    static const char inotify[] = "anon_inode:inotify";
    char path[64];
    char link[64];
    ssize_t bytes;

    if (tree->watch_fd < 0) {
        return false;
    }
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", tree->watch_fd);
    bytes = readlink(path, link, sizeof link);
    return bytes == (ssize_t)strlen(inotify) && memcmp(link, inotify, (size_t)bytes) == 0;
}

static void event_take(struct core_tree *tree, const struct inotify_event *event)
{
    uint32_t folder = CORE_TREE_NONE;

    if (event->mask & IN_Q_OVERFLOW) {
        look_at_some(tree, (uint32_t)tree->leaves.count);
        return;
    }
    if (event->wd >= 0 && (size_t)event->wd < tree->watches.count) {
        folder = *(uint32_t *)ntk_vec_at(&tree->watches, (size_t)event->wd);
    }
    if (folder == CORE_TREE_NONE || event->len == 0 || !(event->mask & IN_MODIFY)) {
        return;
    }
    uint32_t at = ((struct core_tree_folder *)ntk_vec_at(&tree->folders, folder))->first;
    while (at != CORE_TREE_NONE) {
        struct core_tree_leaf *leaf = leaf_at(tree, at);

        if (strcmp(leaf->path + leaf->name, event->name) == 0) {
            leaf_look(tree, leaf);
            return;
        }
        at = leaf->next;
    }
}

void ntk_core_tree_listen(struct core_tree *tree)
{
    _Alignas(struct inotify_event) char events[16384];
    ssize_t got;

    if (tree->root_fd < 0) {
        return;
    }
    if (!tree->listens) {
        tree->listens = true;
        watch_begin(tree);
        /* check writes from before watching started */
        look_at_some(tree, (uint32_t)tree->leaves.count);
        return;
    }
    if (!watch_is_ours(tree)) {
        tree->watch_fd = -1; /* the descriptor is not ours, so do not close it */
        look_at_some(tree, LOOKS_PER_ROUND);
        return;
    }
    /* Our own writes also cause events, at most a few per leaf. The events of a user who writes in
     * a loop are handled in the next round. */
    for (size_t round = 0; round <= tree->leaves.count; round++) {
        got = read(tree->watch_fd, events, sizeof events);
        if (got <= 0) {
            return;
        }
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *event = (const struct inotify_event *)(events + at);

            event_take(tree, event);
            at += (ssize_t)(sizeof *event + event->len);
        }
    }
}

/* --- opening ---------------------------------------------------------------------------------- */

static void stage_path(const struct core_tree *tree, char path[CORE_TREE_STAGE_BYTES])
{
    (void)snprintf(path, CORE_TREE_STAGE_BYTES, "%s" STAGE_SUFFIX, tree->root);
}

bool ntk_core_tree_exists(const struct core_tree *tree)
{
    char path[NTK_PATH_BYTES + sizeof VERSION_PATH];
    struct stat status;

    (void)snprintf(path, sizeof path, "%s/" VERSION_PATH, tree->root);
    return !tree->soft->is_new && lstat(path, &status) == 0 && is_ours(tree, &status);
}

static int root_open(struct core_tree *tree, const char *path)
{
    struct stat status;

    tree->root_fd = open(path, ROOT_FLAGS);
    if (tree->root_fd < 0 || fstat(tree->root_fd, &status) < 0) {
        return -errno;
    }
    tree->root_device = status.st_dev;
    tree->root_file = status.st_ino;
    return 0;
}

/* Prepares the root. Its parent must belong to us, because the default place is in /tmp. */
static int root_prepare(struct core_tree *tree, struct ntk_err *err)
{
    char path[CORE_TREE_STAGE_BYTES];
    struct stat status;

    (void)snprintf(path, sizeof path, "%s", tree->root);
    *strrchr(path, '/') = '\0';
    int ret = ntk_fs_make_folders(path, 0700, err);
    if (ret < 0) {
        return ret;
    }
    if (lstat(path, &status) < 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid()) {
        return ntk_err_set(
            err, -EPERM, NTK_ERR_NO_OFFSET,
            "%s is not a folder owned by this user; the device tree is not published", path);
    }
    stage_path(tree, path);
    ret = ntk_fs_remove_tree(path, err); /* left behind by a killed process */
    if (ret < 0) {
        return ret;
    }
    tree->is_new = tree->is_staged = !ntk_core_tree_exists(tree);
    if (!tree->is_staged) {
        (void)snprintf(path, sizeof path, "%s", tree->root);
    } else if (mkdir(path, 0755) < 0) {
        ret = -errno;
    }
    ret = ret < 0 ? ret : root_open(tree, path);
    return ret < 0 ? ntk_err_set(err, ret, NTK_ERR_NO_OFFSET,
                                 "cannot open the device tree '%s': %s", path, strerror(-ret))
                   : 0;
}

int ntk_core_tree_enter(struct core_tree *tree)
{
    dev_t device = tree->root_device;
    ino_t file = tree->root_file;
    int ret = tree->root_fd >= 0 ? 0 : root_open(tree, tree->root);

    return ret < 0 || (tree->root_device == device && tree->root_file == file) ? ret : -ESTALE;
}

void ntk_core_tree_leave(struct core_tree *tree)
{
    int *fds[] = { &tree->root_fd, &tree->folder_fd };

    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (*fds[i] >= 0) {
            close(*fds[i]);
            *fds[i] = -1;
        }
    }
}

/* Adopts this machine's tree, which an earlier publisher left. */
static void tree_adopt(struct core_tree *tree)
{
    char text[CORE_TREE_TEXT_BYTES];
    struct stat status;

    tree->adopts = true;
    ntk_vec_each(struct core_tree_leaf, leaf, &tree->leaves) {
        if (!text_get(tree, leaf->path, text, sizeof text, &status)) {
            continue;
        }
        if (is_ours(tree, &status)) {
            leaf->last = strdup(text);
        } else {
            text[strcspn(text, "\n")] = '\0';
            ntk_core_tree_take(tree, leaf, text);
        }
    }
    tree->adopts = false;
}

int ntk_core_tree_open(struct core_tree *tree, struct ntk_err *err)
{
    int ret = root_prepare(tree, err);

    if (ret == 0 && !tree->is_new) {
        tree_adopt(tree);
    }
    return ret;
}

/* Replaces an old tree atomically, so that readers find one or the other. If the file system does
 * not support the exchange, the tree is missing for a moment. */
static int stage_show(struct core_tree *tree, struct ntk_err *err)
{
    char path[CORE_TREE_STAGE_BYTES];
    char old_path[CORE_TREE_STAGE_BYTES];
    int ret;

    stage_path(tree, path);
    if (renameat2(AT_FDCWD, path, AT_FDCWD, tree->root, RENAME_EXCHANGE) == 0) {
        return ntk_fs_remove_tree(path, err);
    }
    (void)snprintf(old_path, sizeof old_path, "%s.old", tree->root);
    ret = ntk_fs_remove_tree(old_path, err);
    if (ret < 0) {
        return ret;
    }
    if ((rename(tree->root, old_path) < 0 && errno != ENOENT) || rename(path, tree->root) < 0) {
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot create the device tree '%s': %s",
                           tree->root, strerror(errno));
    }
    return ntk_fs_remove_tree(old_path, err);
}

int ntk_core_tree_finish(struct core_tree *tree, struct ntk_err *err)
{
    char path[CORE_TREE_PATH_BYTES];
    char target[CORE_TREE_PATH_BYTES];

    for (uint32_t d = 0; d < tree->row->facts.device_count; d++) {
        (void)snprintf(path, sizeof path, "class/neuron_device/neuron%u", d);
        (void)snprintf(target, sizeof target, "../../" DEVICES_PATH "/neuron%u", d);
        if (symlinkat(target, tree->root_fd, path) < 0 && errno != EEXIST) {
            return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot create '%s/%s': %s",
                               tree->root, path, strerror(errno));
        }
    }
    /* A thread that has checked in the meantime then checks again. */
    (void)utimensat(tree->root_fd, DEVICES_PATH, NULL, 0);
    int ret = tree->is_staged ? stage_show(tree, err) : 0;
    if (ret == 0) {
        tree->soft->is_new = tree->is_staged = false;
    }
    return ret;
}

void ntk_core_tree_close(struct core_tree *tree)
{
    ntk_core_tree_leave(tree);
    if (watch_is_ours(tree)) {
        close(tree->watch_fd);
    }
    tree->watch_fd = -1;
    ntk_vec_each(struct core_tree_leaf, leaf, &tree->leaves) {
        free(leaf->last);
        leaf->last = NULL;
    }
    tree->watches.count = 0;
    tree->listens = false;
}
