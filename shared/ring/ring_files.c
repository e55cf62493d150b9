/* SPDX-License-Identifier: MIT */
/* ring_files - files of the folders: which become segments, which are rejected, and which are
 * removed after their process ended. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/abi/paths.h"
#include "shared/base/clock.h"
#include "shared/ring/ring_registry_state.h"

#define SEGMENTS_OF_USER 512u
/* from this number on, the next limit applies */
#define SEGMENTS_CROWDED (NTK_RING_REGISTRY_SEGMENTS / 2)
#define SEGMENTS_OF_USER_CROWDED 16u         /* only users with fewer segments get another one */
#define PATIENCE_NS (10 * NTK_NS_PER_SECOND) /* time to wait for a reader that hangs */
#define WANTED_BYTE 1 /* locked by readers that still have to store the file's contents */
#define WANTED_NS (60 * NTK_NS_PER_SECOND)
#define REFUSED_AGAIN_NS (60 * NTK_NS_PER_SECOND)
/* After this time, a file without its magic number counts as abandoned by its writer: a writer
 * locks its file directly after creating it, so a second without a lock is enough if the process in
 * its name does not run. */
#define UNREADY_NS (60 * NTK_NS_PER_SECOND)
#define UNREADY_DEAD_NS NTK_NS_PER_SECOND

static struct ntk_ring_segment *find_segment(const struct ntk_ring_registry *registry,
                                             uint64_t device, uint64_t inode)
{
    struct ntk_ring_segment *segment =
        ntk_map_get_number(&registry->by_file, ntk_ring_file_number(device, inode));

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

/* Counts a rejected file; unreadable ones have their own count. */
static void report(struct ntk_ring_poll *poll, int code, const char *reason)
{
    if (code == -EACCES) {
        poll->ignored++;
        poll->unreadable++;
    } else {
        ntk_ring_ignore(poll, code, reason);
    }
}

/* Rejects a file. Checking it again costs as much as this check, so that is not done at each
 * pass. */
static void refuse(struct ntk_ring_registry *registry, struct ring_folder *folder,
                   const struct ring_file *file, const struct ntk_err *err)
{
    struct ring_known_file *known = remember(registry, folder, file, RING_KNOWN_REFUSED);

    report(registry->out, err->code, err->text);
    folder->is_left = true; /* so that each poll reports it */
    if (known != NULL) {
        known->reason = strdup(err->text);
        known->code = err->code;
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
        report(registry->out, known->code, known->reason != NULL ? known->reason : "");
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
    if (ntk_map_put_number(&registry->by_file,
                           ntk_ring_file_number(segment->device, segment->inode), segment) < 0 ||
        ntk_vec_push(&registry->segments, &segment) < 0) {
        (void)ntk_map_remove_number(&registry->by_file,
                                    ntk_ring_file_number(segment->device, segment->inode));
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

void ntk_ring_files_take(struct ring_folder *folder, const char *name, void *ctx)
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
        ntk_ring_ignore(registry->out, -ENAMETOOLONG, "the path of a segment is too long");
        return;
    }
    if (!S_ISREG(status.st_mode)) {
        (void)ntk_err_set(&err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s is not a regular file", path);
        refuse(registry, folder, &file, &err);
        return;
    }
    if (folder->has_one_owner && status.st_uid != folder->owner) {
        (void)ntk_err_set(&err, -EPERM, NTK_ERR_NO_OFFSET,
                          "%s and its folder belong to different users", path);
        refuse(registry, folder, &file, &err);
        return;
    }
    user = ntk_ring_known_user(&registry->known, file.uid);
    is_known = ntk_ring_known_get(&registry->known, &file) != NULL;
    if (!has_room(registry, user, is_known)) {
        (void)ntk_err_set(&err, -ENOSPC, NTK_ERR_NO_OFFSET,
                          "%s ignored: too many segments for user %" PRIu32, path, file.uid);
        ntk_ring_ignore(registry->out, err.code, err.text);
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

void ntk_ring_files_leave(struct ntk_ring_registry *registry,
                          const struct ntk_ring_segment *segment)
{
    const struct ring_file file = file_of(segment);

    for (size_t i = 0; i < registry->folders.count; i++) {
        struct ring_folder *folder = ntk_ring_registry_folder(registry, i);

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

void ntk_ring_files_release(struct ring_folder *folder, const char *name, void *ctx)
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
