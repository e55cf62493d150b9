/* SPDX-License-Identifier: MIT */
/* ring_scan - finds the folders of users that this user may read, and scans them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/abi/paths.h"
#include "shared/base/process.h"
#include "shared/base/str.h"
#include "shared/ring/ring_registry_state.h"

/* names of all folders that one poll checks; the next poll continues */
#define ENTRIES_OF_POLL 8192u
#define FOLDERS_MAX 1024u /* maximum folders of other users, which root reads */

static struct ring_folder *find_folder(const struct ntk_ring_registry *registry, const char *path)
{
    for (size_t i = 0; i < registry->folders.count; i++) {
        if (strcmp(ntk_ring_registry_folder(registry, i)->path, path) == 0) {
            return ntk_ring_registry_folder(registry, i);
        }
    }
    return NULL;
}

static void remove_folder(struct ntk_ring_registry *registry, size_t index)
{
    struct ring_folder *folder = ntk_ring_registry_folder(registry, index);

    ntk_ring_known_forget_unseen(&registry->known, folder->device, folder->inode, UINT64_MAX);
    ntk_ring_folder_close(folder);
    ntk_vec_remove(&registry->folders, index);
}

/* Adds this folder. owner is the required owner, or any. A missing folder is accepted. */
static void add_folder(struct ntk_ring_registry *registry, const char *path, int64_t owner)
{
    struct ring_folder *folder = NULL;
    struct ntk_err err = { 0 };
    int code;

    if (find_folder(registry, path) != NULL) {
        return;
    }
    if (registry->folders.count >= FOLDERS_MAX) {
        (void)ntk_err_set(&err, -ENOSPC, NTK_ERR_NO_OFFSET, "%s ignored: too many folders", path);
        ntk_ring_ignore(registry->out, err.code, err.text);
        return;
    }
    code = ntk_ring_folder_open(path, owner, &folder, &err);
    if (code < 0) {
        if (code != -ENOENT) {
            ntk_ring_ignore(registry->out, code, err.text);
        }
        registry->out->unreadable_users += code == -EACCES;
        return;
    }
    folder->has_one_owner = owner >= 0 && strcmp(path, NTK_HOOKS_SHARED_DIR) != 0;
    folder->marks = registry->options.reap;
    folder->stays = registry->options.reap && registry->options.remembers;
    if (ntk_vec_push(&registry->folders, &folder) < 0) {
        ntk_ring_folder_close(folder);
    }
}

/* Adds a user's folder. Any user can create a folder with another user's name, so the owner is
 * checked first; the opened folder then belongs to the user, under the name that paths.h finds. */
static void find_user_folder(struct ring_folder *parent, const char *name, void *ctx)
{
    struct ntk_ring_registry *registry = ctx;
    const char *digits = name + strlen(NTK_HOOKS_USER_PREFIX);
    char path[NTK_PATH_BYTES];
    unsigned long long uid;
    struct stat status;
    char *end = NULL;

    if (strncmp(name, NTK_HOOKS_USER_PREFIX, strlen(NTK_HOOKS_USER_PREFIX)) != 0 ||
        digits[0] < '0' || digits[0] > '9') {
        return;
    }
    errno = 0;
    uid = strtoull(digits, &end, 10);
    if (errno != 0 || (*end != '\0' && *end != '.') || uid > UINT32_MAX ||
        (digits[0] == '0' && end != digits + 1) ||
        fstatat(parent->fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return;
    }
    if (!S_ISDIR(status.st_mode) || status.st_uid != uid) {
        struct ntk_err err = { 0 };

        (void)ntk_err_set(&err, -EPERM, NTK_ERR_NO_OFFSET,
                          NTK_HOOKS_PARENT "/%s is not a folder owned by user %llu", name, uid);
        ntk_ring_ignore(registry->out, err.code, err.text);
        return;
    }
    if (ntk_paths_user_hooks_dir((uid_t)uid, path, sizeof path) < 0 ||
        strcmp(path + strlen(NTK_HOOKS_PARENT) + 1, name) != 0) {
        return;
    }
    add_folder(registry, path, (int64_t)uid);
    parent->is_left = parent->is_left || find_folder(registry, path) == NULL;
}

/* The number of other users' folders that this user may not read. */
static uint32_t count_unreadable_users(void)
{
    struct dirent *entry;
    uint32_t count = 0;
    DIR *parent = opendir(NTK_HOOKS_PARENT);

    for (unsigned int i = 0; parent != NULL && i < NTK_RING_ENTRIES_OF_FOLDER; i++) {
        const size_t prefix = strlen(NTK_HOOKS_USER_PREFIX);
        struct stat status;
        uint64_t uid;

        entry = readdir(parent);
        if (entry == NULL) {
            break;
        }
        count += strncmp(entry->d_name, NTK_HOOKS_USER_PREFIX, prefix) == 0 &&
                 ntk_str_parse_u64(entry->d_name + prefix, &uid) == 0 && uid != geteuid() &&
                 fstatat(dirfd(parent), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                 S_ISDIR(status.st_mode) && status.st_uid == uid &&
                 faccessat(dirfd(parent), entry->d_name, R_OK | X_OK, AT_EACCESS) != 0;
    }
    if (parent != NULL) {
        closedir(parent);
    }
    return count;
}

void ntk_ring_scan_find(struct ntk_ring_registry *registry)
{
    const char *folder =
        registry->folder != NULL ? registry->folder : ntk_paths_hooks_dir_variable();
    bool reads_all = ntk_process_reads_all_users();
    char path[NTK_PATH_BYTES];

    if (folder != NULL) {
        add_folder(registry, folder, RING_FOLDER_OF_ANYONE);
        return;
    }
    add_folder(registry, NTK_HOOKS_SHARED_DIR, 0);
    if (ntk_paths_user_hooks_dir(geteuid(), path, sizeof path) >= 0) {
        add_folder(registry, path, (int64_t)geteuid());
    }
    if (!reads_all && registry->poll_count <= 1) {
        registry->unreadable_users = count_unreadable_users();
    }
    registry->out->unreadable_users += registry->unreadable_users;
    if (reads_all &&
        (registry->parent != NULL || ntk_ring_folder_open(NTK_HOOKS_PARENT, RING_FOLDER_OF_ANYONE,
                                                          &registry->parent, NULL) == 0)) {
        (void)ntk_ring_folder_step(registry->parent, registry->poll_ns,
                                   &(unsigned int){ NTK_RING_ENTRIES_OF_FOLDER }, find_user_folder,
                                   registry);
    }
}

void ntk_ring_scan_drop_moved(struct ntk_ring_registry *registry)
{
    for (size_t i = registry->folders.count; i-- > 0;) {
        const struct ring_folder *folder = ntk_ring_registry_folder(registry, i);
        struct stat status;

        if (stat(folder->path, &status) != 0 || !ntk_ring_folder_is_at(folder, &status)) {
            remove_folder(registry, i);
            if (registry->parent != NULL) {
                registry->parent->still_ns = 0; /* another folder may be there now */
            }
        }
    }
}

void ntk_ring_scan_files(struct ntk_ring_registry *registry)
{
    unsigned int entries = ENTRIES_OF_POLL;
    size_t count = registry->folders.count;

    for (size_t i = 0; i < count && entries > 0; i++) {
        struct ring_folder *folder =
            ntk_ring_registry_folder(registry, (registry->next_folder + i) % count);
        unsigned int share =
            entries < NTK_RING_ENTRIES_OF_FOLDER ? entries : NTK_RING_ENTRIES_OF_FOLDER;
        unsigned int left = share;

        ntk_ring_folder_mark(folder, registry->poll_ns);
        if (ntk_ring_folder_step(folder, registry->poll_ns, &left, ntk_ring_files_take, registry)) {
            ntk_ring_known_forget_unseen(&registry->known, folder->device, folder->inode,
                                         folder->pass);
        }
        entries -= share - left;
        if (entries == 0) {
            registry->next_folder = (registry->next_folder + i) % count;
        }
    }
}
