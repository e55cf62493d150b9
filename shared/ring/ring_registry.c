/* SPDX-License-Identifier: MIT */
#include "shared/ring/ring_registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/abi/paths.h"
#include "shared/abi/raw_clock.h"
#include "shared/base/clock.h"
#include "shared/base/order.h"
#include "shared/base/process.h"
#include "shared/base/str.h"
#include "shared/base/vec.h"
#include "shared/ring/ring_folder.h"
#include "shared/ring/ring_known.h"
#include "shared/ring/ring_liveness.h"
#include "shared/ring/ring_segment.h"

#define ENTRIES_OF_FOLDER 2048u /* names of one folder that one poll checks */
/* names of all folders that one poll checks; the next poll continues */
#define ENTRIES_OF_POLL 8192u
#define FOLDERS_MAX 1024u /* maximum folders of other users, which root reads */
#define SEGMENTS_OF_USER 512u
/* from this number on, the next limit applies */
#define SEGMENTS_CROWDED (NTK_RING_REGISTRY_SEGMENTS / 2)
#define SEGMENTS_OF_USER_CROWDED 16u /* only users with fewer segments get another one */
#define BRACKET_TRIES 8
#define PATIENCE_NS (10 * NTK_NS_PER_SECOND) /* time to wait for a reader that hangs */
#define WANTED_BYTE 1 /* locked by readers that still have to store the file's contents */
#define WANTED_NS (60 * NTK_NS_PER_SECOND)
#define REFUSED_AGAIN_NS (60 * NTK_NS_PER_SECOND)
/* After this time, a file without its magic number counts as abandoned by its writer: a writer
 * locks its file directly after creating it, so a second without a lock is enough if the process in
 * its name does not run. */
#define UNREADY_NS (60 * NTK_NS_PER_SECOND)
#define UNREADY_DEAD_NS NTK_NS_PER_SECOND

struct ntk_ring_registry {
    struct ntk_ring_options options;
    char *folder;
    char *proc_root;
    struct ring_folder *parent; /* folder that contains the users' folders, or NULL */
    struct ntk_vec folders;     /* elements are struct ring_folder * */
    size_t next_folder;         /* folder at which the next poll begins */
    struct ntk_vec segments;    /* elements are struct ntk_ring_segment * */
    struct ntk_map by_file;     /* the same segments by file_number() */
    struct ring_known known;
    char *made_folder; /* folder that we created and remove if it is empty, or NULL */
    uint64_t begin_ns;
    uint64_t poll_count;
    uint64_t poll_ns;
    struct ntk_ring_poll *out; /* output of the current poll */
    uint64_t ended_count;
    uint64_t released;
    uint64_t serial;
    struct ntk_ring_liveness liveness;
    uint32_t unreadable_users;
    uint32_t clock_kind; /* clock kind of this machine */
};

/* ---- files ---- */

static void set_ignored(struct ntk_ring_poll *out, const char *reason)
{
    out->ignored++;
    (void)snprintf(out->ignored_reason, sizeof out->ignored_reason, "%.255s", reason);
}

static uint64_t file_number(uint64_t device, uint64_t inode)
{
    return inode * UINT64_C(0x9e3779b97f4a7c15) ^ device;
}

static struct ntk_ring_segment *find_segment(const struct ntk_ring_registry *registry,
                                             uint64_t device, uint64_t inode)
{
    struct ntk_ring_segment *segment =
        ntk_map_get_number(&registry->by_file, file_number(device, inode));

    return segment != NULL && segment->device == device && segment->inode == inode ? segment : NULL;
}

static struct ring_file file_of(const struct ntk_ring_segment *segment)
{
    return (struct ring_file){ .device = segment->device,
                               .inode = segment->inode,
                               .name = segment->name,
                               .uid = segment->process.uid };
}

static struct ring_known_file *remember(struct ntk_ring_registry *registry,
                                        const struct ring_folder *folder,
                                        const struct ring_file *file, enum ring_known_kind kind)
{
    struct ring_known_file *known = ntk_ring_known_add(&registry->known, file);

    if (known != NULL) {
        known->kind = kind;
        known->folder_device = folder->device;
        known->folder_inode = folder->inode;
        known->seen_in_pass = folder->pass;
        known->since_ns = registry->poll_ns;
    }
    return known;
}

/* Rejects a file. Checking it again costs as much as this check, so that is not done at each
 * pass. */
static void refuse(struct ntk_ring_registry *registry, struct ring_folder *folder,
                   const struct ring_file *file, const struct ntk_err *err)
{
    struct ring_known_file *known = remember(registry, folder, file, RING_KNOWN_REFUSED);

    set_ignored(registry->out, err->text);
    registry->out->unreadable += err->code == -EACCES;
    folder->is_left = true; /* so that each poll reports it */
    if (known != NULL) {
        known->reason = strdup(err->text);
        known->is_unreadable = err->code == -EACCES;
    }
}

static bool may_be_removed(const struct ntk_ring_registry *registry,
                           const struct ring_folder *folder, struct ring_known_file *file)
{
    uint64_t age_ns = registry->poll_ns - file->since_ns;

    if (file->kind == RING_KNOWN_OLD) {
        return age_ns >= NTK_READER_MARK_KEEPS_S * NTK_NS_PER_SECOND &&
               !ntk_ring_folder_awaits_reader(folder);
    }
    if (file->kind != RING_KNOWN_LEAVES || file->ended_order > registry->released) {
        return false;
    }
    if (file->is_held) {
        file->is_held = false;
        ntk_ring_folder_let_go(file->fd, WANTED_BYTE);
    }
    /* Leave it to the other reader, which removes the file after it has stored its contents. */
    if (ntk_ring_folder_awaits_reader(folder) ||
        (age_ns < WANTED_NS && ntk_ring_folder_is_held_by_others(file->fd, WANTED_BYTE, 1))) {
        return false;
    }
    if (age_ns > PATIENCE_NS || !ntk_ring_folder_has_others(folder)) {
        return true;
    }
    /* Wait for two passes of each reader, because the first may not have opened the file. */
    if (file->looked_ns == 0 && ntk_ring_folder_others_looked(folder, file->since_ns)) {
        file->looked_ns = registry->poll_ns;
    }
    return file->looked_ns != 0 && ntk_ring_folder_others_looked(folder, file->looked_ns);
}

/* Removes the name from the open folder, if it is still the same file. */
static void try_to_remove(struct ntk_ring_registry *registry, struct ring_folder *folder,
                          struct ring_known_file *known, const struct ring_file *file)
{
    struct stat status;

    if (!registry->options.reap ||
        (known->kind != RING_KNOWN_LEAVES && known->kind != RING_KNOWN_OLD)) {
        return;
    }
    folder->is_left = true;
    if (!may_be_removed(registry, folder, known)) {
        return;
    }
    if (fstatat(folder->fd, file->name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        (uint64_t)status.st_ino != file->inode || (uint64_t)status.st_dev != file->device) {
        return;
    }
    if (unlinkat(folder->fd, file->name, 0) != 0) {
        known->kind = RING_KNOWN_STAYS;
    }
}

/* Handles a file that was checked before. Returns true if nothing else is needed. */
static bool pass_by(struct ntk_ring_registry *registry, struct ring_folder *folder,
                    const struct ring_file *file)
{
    struct ring_known_file *known = ntk_ring_known_get(&registry->known, file);

    if (known == NULL) {
        return false;
    }
    known->seen_in_pass = folder->pass;
    if (known->kind == RING_KNOWN_UNREADY) {
        bool is_soon = registry->poll_ns - known->looked_ns < known->looked_ns - known->since_ns;

        folder->is_owed = folder->is_owed || is_soon;
        return is_soon;
    }
    if (known->kind == RING_KNOWN_REFUSED) {
        folder->is_left = true;
        if (registry->poll_ns - known->since_ns >= REFUSED_AGAIN_NS) {
            ntk_ring_known_remove(&registry->known, file);
            return false;
        }
        set_ignored(registry->out, known->reason != NULL ? known->reason : "");
        registry->out->unreadable += known->is_unreadable;
        return true;
    }
    try_to_remove(registry, folder, known, file);
    return true;
}

/* Handles a file without its magic number: it is being created, or its writer was killed while
 * creating it. */
static void await_ready(struct ntk_ring_registry *registry, struct ring_folder *folder,
                        const struct ring_file *file, int fd, const struct stat *status)
{
    uint64_t changed_ns =
        (uint64_t)status->st_mtim.tv_sec * NTK_NS_PER_SECOND + (uint64_t)status->st_mtim.tv_nsec;
    uint64_t now_ns = ntk_clock_realtime_ns();
    unsigned long long start_time;
    unsigned int pid;
    struct ring_known_file *known = ntk_ring_known_get(&registry->known, file);

    folder->is_left = true;
    if (known == NULL) {
        known = remember(registry, folder, file, RING_KNOWN_UNREADY);
    }
    if (known != NULL) {
        known->looked_ns = registry->poll_ns;
    }
    if (registry->options.reap && now_ns > changed_ns + UNREADY_DEAD_NS &&
        ntk_ring_liveness_holder(fd) == 0 &&
        (now_ns > changed_ns + UNREADY_NS ||
         (ntk_paths_parse_segment_name(file->name, &pid, &start_time) &&
          !ntk_ring_liveness_runs(&registry->liveness, pid, start_time)))) {
        (void)unlinkat(folder->fd, file->name, 0);
    }
}

/* Returns true if the user has room for one more segment. */
static bool has_room(const struct ntk_ring_registry *registry, const struct ring_user *user,
                     bool is_known)
{
    uint32_t most =
        registry->segments.count < SEGMENTS_CROWDED ? SEGMENTS_OF_USER : SEGMENTS_OF_USER_CROWDED;

    return user != NULL && user->segments < most && (is_known || user->known < RING_USER_KNOWN) &&
           registry->segments.count < NTK_RING_REGISTRY_SEGMENTS;
}

/* Returns true if the process had ended before the reader began. A reader that only observes, or
 * stores no earlier counts, leaves the file to a reader that does. */
static bool is_of_the_past(const struct ntk_ring_registry *registry,
                           const struct ntk_ring_segment *segment)
{
    return !registry->options.remembers && segment->process.clock.monotonic_ns < registry->begin_ns;
}

static void take_segment(struct ntk_ring_registry *registry, struct ring_folder *folder,
                         const struct ring_file *file, struct ntk_ring_segment *segment,
                         struct ring_user *user)
{
    struct ntk_err err = { 0 };
    bool has_ended;

    if (ntk_ring_liveness_check(&registry->liveness, segment, &err) < 0) {
        refuse(registry, folder, file, &err);
        ntk_ring_segment_close(segment);
        return;
    }
    has_ended = ntk_ring_liveness_has_ended(&registry->liveness, segment, registry->poll_count);
    if (has_ended && is_of_the_past(registry, segment)) {
        (void)remember(registry, folder, file, RING_KNOWN_OLD);
        ntk_ring_segment_close(segment);
        return;
    }
    segment->folder_device = folder->device;
    segment->folder_inode = folder->inode;
    segment->serial = ++registry->serial;
    if (ntk_map_put_number(&registry->by_file, file_number(segment->device, segment->inode),
                           segment) < 0 ||
        ntk_vec_push(&registry->segments, &segment) < 0) {
        (void)ntk_map_remove_number(&registry->by_file,
                                    file_number(segment->device, segment->inode));
        ntk_ring_segment_close(segment);
        folder->is_owed = true;
        return;
    }
    user->segments++;
    if (registry->options.hold) {
        ntk_ring_folder_hold(segment->fd, WANTED_BYTE);
    }
    registry->out->appeared++;
}

/* Adds a file of the folder to the registry if its name is a segment name. */
static void take_file(struct ring_folder *folder, const char *name, void *ctx)
{
    struct ntk_ring_registry *registry = ctx;
    struct ntk_ring_segment *segment = NULL;
    struct ntk_err err = { 0 };
    unsigned long long start_time;
    char path[NTK_PATH_BYTES];
    struct ring_user *user;
    struct ring_file file;
    struct stat status;
    unsigned int pid;
    bool is_known;
    int code;
    int fd;

    if (!ntk_paths_parse_segment_name(name, &pid, &start_time) ||
        (pid == registry->liveness.own_pid && start_time == registry->liveness.own_start_time) ||
        fstatat(folder->fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return;
    }
    file = (struct ring_file){ .device = (uint64_t)status.st_dev,
                               .inode = (uint64_t)status.st_ino,
                               .name = name,
                               .uid = (uint32_t)status.st_uid };
    segment = find_segment(registry, file.device, file.inode);
    if (segment != NULL && segment->state != NTK_SEGMENT_GONE) {
        return;
    }
    if (pass_by(registry, folder, &file) || segment != NULL) {
        return;
    }
    if (ntk_paths_checked(snprintf(path, sizeof path, "%s/%s", folder->path, name), path,
                          sizeof path) < 0) {
        set_ignored(registry->out, "the path of a segment is too long");
        return;
    }
    if (!S_ISREG(status.st_mode)) {
        (void)ntk_err_set(&err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s is not a regular file", path);
        refuse(registry, folder, &file, &err);
        return;
    }
    if (folder->has_one_owner && status.st_uid != folder->owner) {
        (void)ntk_err_set(&err, -EPERM, NTK_ERR_NO_OFFSET,
                          "%s belongs to a different user than its folder", path);
        refuse(registry, folder, &file, &err);
        return;
    }
    user = ntk_ring_known_user(&registry->known, file.uid);
    is_known = ntk_ring_known_get(&registry->known, &file) != NULL;
    if (!has_room(registry, user, is_known)) {
        (void)ntk_err_set(&err, -ENOSPC, NTK_ERR_NO_OFFSET,
                          "%s ignored: too many segments for user %" PRIu32, path, file.uid);
        set_ignored(registry->out, err.text);
        folder->is_left = true;
        return;
    }
    if (!is_known && !ntk_ring_user_may_open(user, registry->poll_ns)) {
        folder->is_owed = true;
        return;
    }
    fd = openat(folder->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
            folder->is_owed = true;
        }
        if (errno != ENOENT) {
            (void)ntk_err_set(&err, -errno, NTK_ERR_NO_OFFSET, "cannot open '%s': %s", path,
                              strerror(errno));
            refuse(registry, folder, &file, &err);
        }
        return;
    }
    code = ntk_ring_segment_open(fd, path, registry->options.from, &segment, &err);
    if (code != -EAGAIN) {
        ntk_ring_known_remove(&registry->known, &file);
    }
    if (code < 0) {
        if (code == -EAGAIN) {
            await_ready(registry, folder, &file, fd, &status);
        } else {
            refuse(registry, folder, &file, &err);
        }
        close(fd);
        return;
    }
    take_segment(registry, folder, &file, segment, user);
}

/* ---- folders ---- */

static struct ring_folder *folder_at(const struct ntk_ring_registry *registry, size_t index)
{
    return *(struct ring_folder **)ntk_vec_at(&registry->folders, index);
}

static struct ring_folder *find_folder(const struct ntk_ring_registry *registry, const char *path)
{
    for (size_t i = 0; i < registry->folders.count; i++) {
        if (strcmp(folder_at(registry, i)->path, path) == 0) {
            return folder_at(registry, i);
        }
    }
    return NULL;
}

static void remove_folder(struct ntk_ring_registry *registry, size_t index)
{
    struct ring_folder *folder = folder_at(registry, index);

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
        set_ignored(registry->out, err.text);
        return;
    }
    code = ntk_ring_folder_open(path, owner, &folder, &err);
    if (code < 0) {
        if (code != -ENOENT) {
            set_ignored(registry->out, err.text);
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
        set_ignored(registry->out, err.text);
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

    for (unsigned int i = 0; parent != NULL && i < ENTRIES_OF_FOLDER; i++) {
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

static void find_folders(struct ntk_ring_registry *registry)
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
                                   &(unsigned int){ ENTRIES_OF_FOLDER }, find_user_folder,
                                   registry);
    }
}

/* Drops folders if their path leads to another folder now: the user's folders, and the shared
 * place. */
static void drop_moved_folders(struct ntk_ring_registry *registry)
{
    for (size_t i = registry->folders.count; i-- > 0;) {
        const struct ring_folder *folder = folder_at(registry, i);
        struct stat status;

        if (stat(folder->path, &status) != 0 || !ntk_ring_folder_is_at(folder, &status)) {
            remove_folder(registry, i);
            if (registry->parent != NULL) {
                registry->parent->still_ns = 0; /* another folder may be there now */
            }
        }
    }
}

static void look_into_folders(struct ntk_ring_registry *registry)
{
    unsigned int entries = ENTRIES_OF_POLL;
    size_t count = registry->folders.count;

    for (size_t i = 0; i < count && entries > 0; i++) {
        struct ring_folder *folder = folder_at(registry, (registry->next_folder + i) % count);
        unsigned int share = entries < ENTRIES_OF_FOLDER ? entries : ENTRIES_OF_FOLDER;
        unsigned int left = share;

        ntk_ring_folder_mark(folder, registry->poll_ns);
        if (ntk_ring_folder_step(folder, registry->poll_ns, &left, take_file, registry)) {
            ntk_ring_known_forget_unseen(&registry->known, folder->device, folder->inode,
                                         folder->pass);
        }
        entries -= share - left;
        if (entries == 0) {
            registry->next_folder = (registry->next_folder + i) % count;
        }
    }
}

/* ---- the list ---- */

NTK_ORDER_POINTERS(compare_segments, struct ntk_ring_segment,
                   NTK_UP(process.pid) NTK_UP(process.start_time) NTK_TEXT(path));

/* Drops a segment when its mapping is no longer needed; the file is removed when no other process
 * needs it. */
static void leave(struct ntk_ring_registry *registry, const struct ntk_ring_segment *segment)
{
    const struct ring_file file = file_of(segment);

    for (size_t i = 0; i < registry->folders.count; i++) {
        struct ring_folder *folder = folder_at(registry, i);

        if (folder->inode == segment->folder_inode && folder->device == segment->folder_device) {
            struct ring_known_file *known =
                remember(registry, folder, &file,
                         registry->options.reap ? RING_KNOWN_LEAVES : RING_KNOWN_STAYS);

            folder->still_ns = 0;
            if (known != NULL) {
                known->since_ns = segment->ended_ns;
                known->ended_order = segment->ended_order;
                if (registry->options.reap) {
                    known->fd = fcntl(segment->fd, F_DUPFD_CLOEXEC, 0); /* keeps the lock */
                    known->is_held = true;
                }
                try_to_remove(registry, folder, known, &file);
            }
        }
    }
}

static void free_segment(struct ntk_ring_registry *registry, struct ntk_ring_segment *segment)
{
    struct ring_user *user = ntk_ring_known_user(&registry->known, segment->process.uid);

    if (user != NULL) {
        user->segments--;
    }
    (void)ntk_map_remove_number(&registry->by_file, file_number(segment->device, segment->inode));
    ntk_ring_segment_close(segment);
}

/* Handles a segment that no reader uses, because the process has another one. Its file is removed
 * with its writer. */
static void step_double(struct ntk_ring_registry *registry, struct ntk_ring_segment *segment)
{
    if (ntk_ring_segment_is_damaged(segment)) {
        segment->state = NTK_SEGMENT_GONE;
    } else if (ntk_ring_liveness_has_ended(&registry->liveness, segment, registry->poll_count)) {
        segment->ended_ns = registry->poll_ns;
        leave(registry, segment);
        segment->state = NTK_SEGMENT_GONE;
    }
}

static bool is_attached(const struct ntk_ring_segment *segment)
{
    return (segment->process.flags & NTK_PROCESS_ATTACHED) != 0;
}

/* Finds processes with two segments, which are adjacent in the list. */
static void find_doubles(struct ntk_ring_registry *registry)
{
    size_t count = registry->segments.count;

    for (size_t begin = 0, end; begin < count; begin = end) {
        const struct ntk_ring_process *process = &ntk_ring_registry_get(registry, begin)->process;
        bool tells_itself = false;

        for (end = begin; end < count; end++) {
            const struct ntk_ring_segment *segment = ntk_ring_registry_get(registry, end);

            if (segment->process.pid != process->pid ||
                segment->process.start_time != process->start_time) {
                break;
            }
            tells_itself =
                tells_itself || (!is_attached(segment) && segment->state != NTK_SEGMENT_GONE);
        }
        for (size_t i = begin; tells_itself && i < end; i++) {
            struct ntk_ring_segment *segment = ntk_ring_registry_get(registry, i);

            if (is_attached(segment) && segment->state == NTK_SEGMENT_ALIVE) {
                segment->state = NTK_SEGMENT_DOUBLE;
            }
        }
    }
}

/* Renews a file. A starting process removes dead files by their age, and writes to a mapping do not
 * renew a file: the file of a process that ran for hours would be too old for this reader's next
 * run. */
static void renew(const struct ntk_ring_registry *registry, struct ntk_ring_segment *segment)
{
    if (registry->options.reap && registry->options.remembers &&
        (segment->renewed_ns == 0 ||
         registry->poll_ns - segment->renewed_ns >= RING_FOLDER_RENEW_NS)) {
        segment->renewed_ns = registry->poll_ns;
        (void)futimens(segment->fd, NULL);
    }
}

/* Moves each segment one step on: alive, ended, gone, freed. */
static void step_lives(struct ntk_ring_registry *registry)
{
    struct ntk_ring_poll *out = registry->out;
    struct ntk_segment_clock bracket[2];
    size_t i = 0;

    bracket[0] = ntk_raw_clock_bracket(NTK_CLOCK_MONOTONIC, BRACKET_TRIES);
    bracket[1] = ntk_raw_clock_bracket(registry->clock_kind, BRACKET_TRIES);
    while (i < registry->segments.count) {
        struct ntk_ring_segment *segment = ntk_ring_registry_get(registry, i);

        if (segment->state == NTK_SEGMENT_GONE) {
            free_segment(registry, segment);
            ntk_vec_remove(&registry->segments, i);
            continue;
        }
        if (segment->state == NTK_SEGMENT_DOUBLE) {
            step_double(registry, segment);
        } else if (ntk_ring_segment_is_damaged(segment)) {
            struct ntk_err err = { 0 };

            (void)ntk_err_set(&err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s is truncated", segment->path);
            set_ignored(out, err.text);
            segment->state = NTK_SEGMENT_GONE;
        } else if (segment->state == NTK_SEGMENT_ENDED) {
            leave(registry, segment);
            segment->state = NTK_SEGMENT_GONE;
        } else if (ntk_ring_liveness_has_ended(&registry->liveness, segment,
                                               registry->poll_count)) {
            segment->state = NTK_SEGMENT_ENDED;
            segment->ended_ns = registry->poll_ns;
            segment->ended_order = ++registry->ended_count;
            out->ended++;
        } else {
            ntk_ring_segment_refine_clock(
                segment, &bracket[segment->process.clock.kind != NTK_CLOCK_MONOTONIC]);
            renew(registry, segment);
        }
        i++;
    }
}

/* Creates the folder, as the first writer would. If the first process created it, the folder would
 * lack a mark during that process's life. */
static void make_folder(struct ntk_ring_registry *registry)
{
    char path[NTK_PATH_BYTES];

    if (registry->folder != NULL) {
        (void)ntk_paths_checked(snprintf(path, sizeof path, "%s", registry->folder), path,
                                sizeof path);
    } else if (ntk_paths_writer_hooks_dir(path, sizeof path) < 0) {
        return;
    }
    if (path[0] != '\0' && mkdir(path, 0700) == 0 && registry->made_folder == NULL) {
        registry->made_folder = strdup(path);
    }
}

int ntk_ring_registry_poll(struct ntk_ring_registry *registry, struct ntk_ring_poll *out,
                           struct ntk_err *err)
{
    struct ntk_ring_poll unwanted = { 0 };

    (void)err;
    registry->out = out != NULL ? out : &unwanted;
    memset(registry->out, 0, sizeof *registry->out);
    registry->poll_count++;
    registry->poll_ns = ntk_clock_now_ns(registry->options.clock);
    if (registry->options.reap) {
        make_folder(registry);
    }
    drop_moved_folders(registry);
    find_folders(registry);
    look_into_folders(registry);
    step_lives(registry);
    ntk_vec_sort(&registry->segments, compare_segments);
    find_doubles(registry);
    registry->out->segments = (uint32_t)registry->segments.count;
    registry->out = NULL;
    return 0;
}

uint64_t ntk_ring_registry_ended_count(const struct ntk_ring_registry *registry)
{
    return registry->ended_count;
}

void ntk_ring_registry_release(struct ntk_ring_registry *registry, uint64_t ended_count)
{
    registry->released = ended_count > registry->released ? ended_count : registry->released;
}

int ntk_ring_registry_open(const struct ntk_ring_options *options,
                           struct ntk_ring_registry **out_registry, struct ntk_err *err)
{
    struct ntk_ring_registry *registry = calloc(1, sizeof *registry);

    if (registry == NULL) {
        return ntk_err_no_memory(err);
    }
    if (options != NULL) {
        registry->options = *options;
    }
    registry->options.hold = registry->options.hold || registry->options.reap;
    registry->released = registry->options.remembers ? 0 : UINT64_MAX;
    ntk_vec_init(&registry->segments, sizeof(struct ntk_ring_segment *));
    ntk_vec_init(&registry->folders, sizeof(struct ring_folder *));
    if (registry->options.folder != NULL) {
        registry->folder = strdup(registry->options.folder);
    }
    registry->proc_root =
        strdup(registry->options.proc_root != NULL ? registry->options.proc_root : "/proc");
    if (registry->proc_root == NULL ||
        (registry->options.folder != NULL && registry->folder == NULL)) {
        ntk_ring_registry_close(registry);
        return ntk_err_no_memory(err);
    }
    ntk_ring_liveness_init(&registry->liveness, registry->proc_root);
    registry->begin_ns = ntk_clock_monotonic_ns();
    registry->clock_kind = ntk_raw_clock_kind();
    *out_registry = registry;
    return 0;
}

/* Releases a file that waited for this reader. */
static void leave_file(struct ring_folder *folder, const char *name, void *ctx)
{
    struct ntk_ring_registry *registry = ctx;
    struct ring_known_file *known;
    struct stat status;

    if (fstatat(folder->fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
        const struct ring_file file = { .device = (uint64_t)status.st_dev,
                                        .inode = (uint64_t)status.st_ino,
                                        .name = name };

        known = ntk_ring_known_get(&registry->known, &file);
        if (known != NULL) {
            try_to_remove(registry, folder, known, &file);
        }
    }
}

/* Removes files after their contents were listed and stored. */
static void leave_all(struct ntk_ring_registry *registry)
{
    for (size_t i = 0; i < registry->segments.count; i++) {
        if (ntk_ring_registry_get(registry, i)->state == NTK_SEGMENT_ENDED) {
            leave(registry, ntk_ring_registry_get(registry, i));
        }
    }
    for (size_t i = 0; i < registry->folders.count; i++) {
        unsigned int entries = ENTRIES_OF_FOLDER;

        (void)ntk_ring_folder_step(folder_at(registry, i), registry->poll_ns, &entries, leave_file,
                                   registry);
    }
}

void ntk_ring_registry_close(struct ntk_ring_registry *registry)
{
    if (registry == NULL) {
        return;
    }
    if (registry->options.reap) {
        leave_all(registry);
    }
    for (size_t i = 0; i < registry->segments.count; i++) {
        ntk_ring_segment_close(ntk_ring_registry_get(registry, i));
    }
    ntk_vec_fini(&registry->segments);
    for (size_t i = 0; i < registry->folders.count; i++) {
        ntk_ring_folder_close(folder_at(registry, i));
    }
    ntk_vec_fini(&registry->folders);
    ntk_ring_folder_close(registry->parent);
    ntk_map_fini(&registry->by_file);
    ntk_ring_known_fini(&registry->known);
    ntk_ring_liveness_fini(&registry->liveness);
    if (registry->made_folder != NULL) {
        (void)rmdir(registry->made_folder); /* it stays if it is not empty */
    }
    free(registry->made_folder);
    free(registry->folder);
    free(registry->proc_root);
    free(registry);
}

size_t ntk_ring_registry_count(const struct ntk_ring_registry *registry)
{
    return registry->segments.count;
}

struct ntk_ring_segment *ntk_ring_registry_get(const struct ntk_ring_registry *registry,
                                               size_t index)
{
    return index < registry->segments.count
               ? *(struct ntk_ring_segment **)ntk_vec_at(&registry->segments, index)
               : NULL;
}
