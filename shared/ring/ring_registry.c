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
#include "shared/abi/process_stat.h"
#include "shared/abi/raw_clock.h"
#include "shared/base/fs.h"
#include "shared/base/vec.h"
#include "shared/ring/ring_segment.h"

#define FOLDER_ENTRIES_MAX 65536u /* files of one folder that one poll looks at */
#define FOLDERS_MAX 1024u         /* folders of other users that root looks at */
#define DONE_MAX 4096u            /* ended files that stay where they are */
#define BRACKET_TRIES 8
#define FREE_LOCK_POLLS 2 /* design: cannot be judged for two polls = dead */

/* A file that ended and could not, or should not, be removed: not to be shown again. Told apart by its
 * name too, since some file systems use inode numbers again at once. */
struct done_file {
    uint64_t device;
    uint64_t inode;
    char name[64];
    uint64_t seen_in_poll;
};

/* The mark in a folder that tells writers to leave their files to us. */
struct mark {
    uint64_t folder_device;
    uint64_t folder_inode;
    uint64_t seen_in_poll;
    char *path;
    int fd;
};

struct ntk_ring_registry {
    struct ntk_ring_options options;
    char *folder;
    char *proc_root;
    struct ntk_vec segments; /* struct ntk_ring_segment * */
    struct ntk_vec done;     /* struct done_file */
    struct ntk_vec marks;    /* struct mark; reapers only */
    char *made_folder;       /* made by us, ours to remove while it is empty; NULL */
    uint64_t poll_count;
    bool is_foreign_proc; /* proc_root shows another pid namespace than ours: the host's */
    uint64_t own_pid_namespace;
    uint64_t own_start_time;
    uint32_t own_pid;
    uint32_t clock_kind; /* of this machine */
};

/* ---- processes ---- */

/* When the process started, see process_stat.h; 0 when there is no such process here, or it is over. */
static uint64_t start_time_of(const char *proc_root, const char *pid)
{
    char path[NTK_PATH_BYTES];
    char text[NTK_STAT_BYTES];

    if (ntk_paths_checked(snprintf(path, sizeof path, "%s/%s/stat", proc_root, pid), path,
                          sizeof path) < 0 ||
        ntk_fs_read_text(path, text, sizeof text) <= 0) {
        return 0;
    }
    return ntk_process_stat_start_time(text);
}

static uint64_t pid_namespace_of(const char *proc_root)
{
    char path[NTK_PATH_BYTES];
    struct stat status;

    if (ntk_paths_checked(snprintf(path, sizeof path, "%s/self/ns/pid", proc_root), path,
                          sizeof path) < 0 ||
        stat(path, &status) != 0) {
        return 0;
    }
    return (uint64_t)status.st_ino;
}

/* Whether proc_root belongs to another pid namespace: "self" is not called as we are. */
static bool is_foreign_proc(const char *proc_root)
{
    char path[NTK_PATH_BYTES];
    char self[32];

    if (ntk_paths_checked(snprintf(path, sizeof path, "%s/self", proc_root), path, sizeof path) <
        0) {
        return false;
    }
    ssize_t bytes = readlink(path, self, sizeof self - 1);
    if (bytes <= 0) {
        return false; /* not mounted, or a test's folder */
    }
    self[bytes] = '\0';
    return strtoul(self, NULL, 10) != (unsigned long)getpid();
}

/* The pid a process has in its own namespace: the last of "NSpid:" in its status; 0 unknown. */
static uint32_t innermost_pid_of(const char *proc_root, const char *pid)
{
    char path[NTK_PATH_BYTES];
    char text[4096];

    if (ntk_paths_checked(snprintf(path, sizeof path, "%s/%s/status", proc_root, pid), path,
                          sizeof path) < 0) {
        return 0;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    ssize_t bytes = read(fd, text, sizeof text - 1);
    close(fd);
    if (bytes <= 0) {
        return 0;
    }
    text[bytes] = '\0';
    char *at = strstr(text, "\nNSpid:");
    if (at == NULL) {
        return 0;
    }
    at += sizeof "\nNSpid:" - 1;
    at[strcspn(at, "\n")] = '\0';
    const char *last = strrchr(at, '\t');
    return last != NULL ? (uint32_t)strtoul(last + 1, NULL, 10) : 0;
}

/* The pid that proc_root knows the process by; 0 when it does not. */
static uint32_t translate_pid(const char *proc_root, const struct ntk_ring_process *process)
{
    DIR *folder = opendir(proc_root);
    const struct dirent *entry;
    uint32_t found = 0;

    while (folder != NULL && found == 0 && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            start_time_of(proc_root, entry->d_name) == process->start_time &&
            innermost_pid_of(proc_root, entry->d_name) == process->own_pid) {
            found = (uint32_t)strtoul(entry->d_name, NULL, 10);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return found;
}

static struct flock lock_of_byte(short type, off_t byte)
{
    struct flock lock;

    memset(&lock, 0, sizeof lock);
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = byte;
    lock.l_len = 1;
    return lock;
}

/* The pid that holds byte 0 as this process sees it, 0 when nobody does, -1 when its holder has no pid
 * here. */
static int64_t lock_holder(int fd)
{
    struct flock lock = lock_of_byte(F_WRLCK, 0);

    if (fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) {
        return 0;
    }
    return lock.l_pid > 0 ? lock.l_pid : -1;
}

/* Open-file-description lock: several registries of one process do not drop each other's. */
static void hold_byte(int fd, off_t byte)
{
    struct flock lock = lock_of_byte(F_RDLCK, byte);

    (void)fcntl(fd, F_OFD_SETLK, &lock);
}

/* Whether the writer is over; learns its pid on the way. */
static bool has_ended(const struct ntk_ring_registry *registry, struct ntk_ring_segment *segment)
{
    int64_t holder;
    char pid[16];

    if (ntk_ring_segment_said_goodbye(segment)) {
        return true;
    }
    if (registry->is_foreign_proc && !segment->is_host_pid_sought) {
        segment->is_host_pid_sought = true;
        segment->host_pid = translate_pid(registry->proc_root, &segment->process);
    }
    holder = lock_holder(segment->fd);
    if (holder != 0) {
        segment->free_lock_polls = 0;
        segment->process.pid = segment->host_pid != 0 ? segment->host_pid
                               : holder > 0 && !registry->is_foreign_proc
                                   ? (uint32_t)holder
                                   : segment->process.own_pid;
        return false;
    }
    /* Perhaps it only closed its descriptors. */
    if (registry->is_foreign_proc ? segment->host_pid != 0
                                  : segment->pid_namespace != 0 &&
                                        segment->pid_namespace == registry->own_pid_namespace) {
        (void)snprintf(pid, sizeof pid, "%" PRIu32,
                       registry->is_foreign_proc ? segment->host_pid : segment->process.own_pid);
        return start_time_of(registry->proc_root, pid) != segment->process.start_time;
    }
    if (segment->free_lock_poll != registry->poll_count) {
        segment->free_lock_poll = registry->poll_count;
        segment->free_lock_polls++;
    }
    return segment->free_lock_polls >= FREE_LOCK_POLLS;
}

/* ---- files ---- */

static void set_ignored(struct ntk_ring_poll *out, const char *reason)
{
    out->ignored++;
    (void)snprintf(out->ignored_reason, sizeof out->ignored_reason, "%.255s", reason);
}

static struct ntk_ring_segment *find_segment(const struct ntk_ring_registry *registry,
                                             uint64_t device, uint64_t inode)
{
    size_t i;

    for (i = 0; i < registry->segments.count; i++) {
        struct ntk_ring_segment *segment = ntk_ring_registry_get(registry, i);

        if (segment->inode == inode && segment->device == device) {
            return segment;
        }
    }
    return NULL;
}

static bool is_done(struct ntk_ring_registry *registry, uint64_t device, uint64_t inode,
                    const char *name)
{
    ntk_vec_each(struct done_file, file, &registry->done) {
        if (file->inode == inode && file->device == device && strcmp(file->name, name) == 0) {
            file->seen_in_poll = registry->poll_count;
            return true;
        }
    }
    return false;
}

static void set_done(struct ntk_ring_registry *registry, const struct ntk_ring_segment *segment)
{
    struct done_file file = { .device = segment->device,
                              .inode = segment->inode,
                              .seen_in_poll = registry->poll_count };

    (void)snprintf(file.name, sizeof file.name, "%s", segment->name);
    if (registry->done.count >= DONE_MAX) {
        ntk_vec_remove(&registry->done, 0);
    }
    (void)ntk_vec_push(&registry->done, &file);
}

/* A file of a folder that is named like a segment and is not in the list yet. */
static void take_file(struct ntk_ring_registry *registry, int folder, const char *folder_path,
                      const char *name, const struct stat *folder_status, bool one_owner,
                      struct ntk_ring_poll *out)
{
    struct ntk_ring_segment *segment = NULL;
    struct ntk_err err = { 0 };
    char path[NTK_PATH_BYTES];
    struct stat status;
    int code;
    int fd;

    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return; /* gone meanwhile */
    }
    if (ntk_paths_checked(snprintf(path, sizeof path, "%s/%s", folder_path, name), path,
                          sizeof path) < 0) {
        set_ignored(out, "the path of a segment is too long");
        return;
    }
    segment = find_segment(registry, (uint64_t)status.st_dev, (uint64_t)status.st_ino);
    if (segment != NULL) {
        segment->seen_in_poll = registry->poll_count;
        return;
    }
    if (is_done(registry, (uint64_t)status.st_dev, (uint64_t)status.st_ino, name)) {
        return;
    }
    if (!S_ISREG(status.st_mode)) {
        (void)ntk_err_set(&err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s is no regular file", path);
        set_ignored(out, err.text);
        return;
    }
    if (one_owner && status.st_uid != folder_status->st_uid) {
        (void)ntk_err_set(&err, -EPERM, NTK_ERR_NO_OFFSET,
                          "%s belongs to another user than its folder", path);
        set_ignored(out, err.text);
        return;
    }
    if (registry->segments.count >= NTK_RING_REGISTRY_SEGMENTS) {
        (void)ntk_err_set(&err, -ENOSPC, NTK_ERR_NO_OFFSET, "%s is one segment too many", path);
        set_ignored(out, err.text);
        return;
    }
    fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        if (errno != ENOENT) {
            (void)ntk_err_set(&err, -errno, NTK_ERR_NO_OFFSET, "cannot open %s: %s", path,
                              strerror(errno));
            set_ignored(out, err.text);
        }
        return;
    }
    code = ntk_ring_segment_open(fd, path, registry->options.from, &segment, &err);
    if (code < 0) {
        close(fd);
        if (code != -EAGAIN) {
            set_ignored(out, err.text);
        }
        return;
    }
    /* One that died before it was seen matters only to the reader that cleans up. */
    if (has_ended(registry, segment) && !registry->options.reap) {
        set_done(registry, segment);
        ntk_ring_segment_close(segment);
        return;
    }
    segment->seen_in_poll = registry->poll_count;
    if (ntk_vec_push(&registry->segments, &segment) < 0) {
        ntk_ring_segment_close(segment);
        return;
    }
    if (registry->options.hold) {
        hold_byte(segment->fd, 1);
    }
    out->appeared++;
}

/* ---- marks ---- */

/* The last reader of a folder takes the mark along. */
static void drop_mark(struct mark *mark)
{
    struct flock lock = lock_of_byte(F_WRLCK, 0);

    if (fcntl(mark->fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK) {
        (void)unlink(mark->path);
    }
    close(mark->fd);
    free(mark->path);
}

/* Without a mark (no permission, a full disk) all is well but for processes shorter than a look. */
static void set_mark(struct ntk_ring_registry *registry, int folder, const char *folder_path,
                     const struct stat *folder_status)
{
    char path[NTK_PATH_BYTES];
    struct stat status;
    struct mark mark = { .folder_device = (uint64_t)folder_status->st_dev,
                         .folder_inode = (uint64_t)folder_status->st_ino,
                         .seen_in_poll = registry->poll_count };

    ntk_vec_each(struct mark, known, &registry->marks) {
        if (known->folder_inode != mark.folder_inode ||
            known->folder_device != mark.folder_device) {
            continue;
        }
        known->seen_in_poll = registry->poll_count;
        if (fstat(known->fd, &status) == 0 && status.st_nlink > 0) {
            return;
        }
        known->seen_in_poll = 0; /* another reader took it along: a new one, the old one goes */
        known->folder_inode = 0;
    }
    if (registry->marks.count >= FOLDERS_MAX ||
        ntk_paths_checked(snprintf(path, sizeof path, "%s/%s", folder_path, NTK_READER_MARK_NAME),
                          path, sizeof path) < 0) {
        return;
    }
    mark.fd = openat(folder, NTK_READER_MARK_NAME,
                     O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644);
    if (mark.fd < 0) {
        return;
    }
    mark.path = strdup(path);
    if (mark.path == NULL || ntk_vec_push(&registry->marks, &mark) < 0) {
        close(mark.fd);
        free(mark.path);
        return;
    }
    hold_byte(mark.fd, 0);
}

/* Marks of folders that are no longer there, or that were removed themselves. */
static void sweep_marks(struct ntk_ring_registry *registry)
{
    for (size_t i = registry->marks.count; i-- > 0;) {
        struct mark *mark = ntk_vec_at(&registry->marks, i);

        if (mark->seen_in_poll != registry->poll_count) {
            close(mark->fd);
            free(mark->path);
            ntk_vec_remove(&registry->marks, i);
        }
    }
}

/* owner: who the folder must belong to, -1 anyone. A folder that is not there is fine. */
static void look_into(struct ntk_ring_registry *registry, const char *path, int64_t owner,
                      bool one_owner, struct ntk_ring_poll *out)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (owner >= 0 ? O_NOFOLLOW : 0));
    struct ntk_err err = { 0 };
    unsigned int entries = 0;
    struct dirent *entry;
    struct stat status;
    DIR *list;

    if (fd < 0) {
        if (errno != ENOENT) {
            (void)ntk_err_set(&err, -errno, NTK_ERR_NO_OFFSET, "cannot open %s: %s", path,
                              strerror(errno));
            set_ignored(out, err.text);
        }
        return;
    }
    if (fstat(fd, &status) != 0 || (owner >= 0 && (int64_t)status.st_uid != owner)) {
        (void)ntk_err_set(&err, -EPERM, NTK_ERR_NO_OFFSET, "%s belongs to the wrong user", path);
        set_ignored(out, err.text);
        close(fd);
        return;
    }
    if (registry->options.reap) {
        set_mark(registry, fd, path, &status); /* before the look, so that nobody ends in between */
    }
    list = fdopendir(fd);
    if (list == NULL) {
        close(fd);
        return;
    }
    while (entries++ < FOLDER_ENTRIES_MAX && (entry = readdir(list)) != NULL) {
        unsigned long long start_time;
        unsigned int pid;

        if (ntk_paths_parse_segment_name(entry->d_name, &pid, &start_time) &&
            (pid != registry->own_pid || start_time != registry->own_start_time)) {
            take_file(registry, fd, path, entry->d_name, &status, one_owner, out);
        }
    }
    closedir(list);
}

/* Root sees every user's folder. */
static void look_into_all_users(struct ntk_ring_registry *registry, struct ntk_ring_poll *out)
{
    DIR *list = opendir(NTK_HOOKS_PARENT);
    struct dirent *entry;
    unsigned int folders = 0;

    if (list == NULL) {
        return;
    }
    while (folders < FOLDERS_MAX && (entry = readdir(list)) != NULL) {
        const char *digits = entry->d_name + strlen(NTK_HOOKS_USER_PREFIX);
        char path[NTK_PATH_BYTES];
        char *end = NULL;
        unsigned long long uid;

        if (strncmp(entry->d_name, NTK_HOOKS_USER_PREFIX, strlen(NTK_HOOKS_USER_PREFIX)) != 0 ||
            digits[0] < '0' || digits[0] > '9') {
            continue;
        }
        errno = 0;
        uid = strtoull(digits, &end, 10);
        if (errno != 0 || *end != '\0' || uid > UINT32_MAX ||
            ntk_paths_user_hooks_dir((uid_t)uid, path, sizeof path) < 0 ||
            strcmp(path + strlen(NTK_HOOKS_PARENT) + 1, entry->d_name) != 0) {
            continue;
        }
        folders++;
        look_into(registry, path, (int64_t)uid, true, out);
    }
    closedir(list);
}

/* ---- the list ---- */

static int compare_segments(const void *a, const void *b)
{
    const struct ntk_ring_segment *left = *(struct ntk_ring_segment *const *)a;
    const struct ntk_ring_segment *right = *(struct ntk_ring_segment *const *)b;

    if (left->process.pid != right->process.pid) {
        return left->process.pid < right->process.pid ? -1 : 1;
    }
    if (left->process.start_time != right->process.start_time) {
        return left->process.start_time < right->process.start_time ? -1 : 1;
    }
    return strcmp(left->path, right->path);
}

/* Removes the file if it is still the one that we mapped. */
static void reap(struct ntk_ring_registry *registry, const struct ntk_ring_segment *segment)
{
    struct stat status;

    if (lstat(segment->path, &status) != 0 || (uint64_t)status.st_ino != segment->inode ||
        (uint64_t)status.st_dev != segment->device) {
        return;
    }
    if (!registry->options.reap || unlink(segment->path) != 0) {
        set_done(registry, segment);
    }
}

/* One step of each segment's life: alive, ended, gone, freed. */
static void step_lives(struct ntk_ring_registry *registry, struct ntk_ring_poll *out)
{
    struct ntk_segment_clock bracket[2];
    size_t i = 0;

    bracket[0] = ntk_raw_clock_bracket(NTK_CLOCK_MONOTONIC, BRACKET_TRIES);
    bracket[1] = ntk_raw_clock_bracket(registry->clock_kind, BRACKET_TRIES);
    while (i < registry->segments.count) {
        struct ntk_ring_segment *segment = ntk_ring_registry_get(registry, i);

        if (segment->state == NTK_SEGMENT_GONE) {
            ntk_ring_segment_close(segment);
            ntk_vec_remove(&registry->segments, i);
            continue;
        }
        if (ntk_ring_segment_is_damaged(segment)) {
            struct ntk_err err = { 0 };

            (void)ntk_err_set(&err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s was cut short", segment->path);
            set_ignored(out, err.text);
            segment->state = NTK_SEGMENT_GONE;
        } else if (segment->state == NTK_SEGMENT_ENDED) {
            reap(registry, segment);
            segment->state = NTK_SEGMENT_GONE;
        } else if (has_ended(registry, segment)) {
            segment->state = NTK_SEGMENT_ENDED;
            out->ended++;
        } else {
            ntk_ring_segment_refine_clock(
                segment, &bracket[segment->process.clock.kind != NTK_CLOCK_MONOTONIC]);
        }
        i++;
    }
    i = 0;
    while (i < registry->done.count) {
        const struct done_file *file = ntk_vec_at(&registry->done, i);

        if (file->seen_in_poll + 1 < registry->poll_count) {
            ntk_vec_remove(&registry->done, i);
        } else {
            i++;
        }
    }
}

/* A reader that cleans up makes the folder as the first writer would: one that the first process makes
 * has no mark yet when that process is short. */
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
    struct ntk_ring_poll unwanted;
    char path[NTK_PATH_BYTES];
    const char *folder = registry->folder;

    (void)err;
    if (out == NULL) {
        out = &unwanted;
    }
    memset(out, 0, sizeof *out);
    registry->poll_count++;
    if (registry->options.reap) {
        make_folder(registry);
    }
    if (folder == NULL) {
        folder = ntk_paths_hooks_dir_variable();
    }
    if (folder != NULL) {
        look_into(registry, folder, -1, false, out);
    } else {
        look_into(registry, NTK_HOOKS_SHARED_DIR, 0, false, out);
        if (geteuid() == 0) {
            look_into_all_users(registry, out);
        } else if (ntk_paths_user_hooks_dir(geteuid(), path, sizeof path) >= 0) {
            look_into(registry, path, (int64_t)geteuid(), true, out);
        }
    }
    sweep_marks(registry);
    step_lives(registry, out);
    ntk_vec_sort(&registry->segments, compare_segments);
    out->segments = (uint32_t)registry->segments.count;
    return 0;
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
    ntk_vec_init(&registry->segments, sizeof(struct ntk_ring_segment *));
    ntk_vec_init(&registry->done, sizeof(struct done_file));
    ntk_vec_init(&registry->marks, sizeof(struct mark));
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
    registry->own_pid = (uint32_t)getpid();
    registry->clock_kind = ntk_raw_clock_kind();
    registry->own_start_time = start_time_of("/proc", "self");
    registry->is_foreign_proc = is_foreign_proc(registry->proc_root);
    registry->own_pid_namespace = pid_namespace_of(registry->proc_root);
    *out_registry = registry;
    return 0;
}

void ntk_ring_registry_close(struct ntk_ring_registry *registry)
{
    size_t i;

    if (registry == NULL) {
        return;
    }
    for (i = 0; i < registry->segments.count; i++) {
        ntk_ring_segment_close(ntk_ring_registry_get(registry, i));
    }
    ntk_vec_fini(&registry->segments);
    ntk_vec_each(struct mark, mark, &registry->marks) {
        drop_mark(mark);
    }
    ntk_vec_fini(&registry->marks);
    ntk_vec_fini(&registry->done);
    if (registry->made_folder != NULL) {
        (void)rmdir(registry->made_folder); /* stays when it holds anything */
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
