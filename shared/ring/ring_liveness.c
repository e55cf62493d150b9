/* SPDX-License-Identifier: MIT */
#include "shared/ring/ring_liveness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/abi/paths.h"
#include "shared/abi/process_stat.h"
#include "shared/base/fs.h"

#define FREE_LOCK_POLLS 2 /* a process that cannot be checked for this many polls counts as dead */
#define STATUS_BYTES 4096
#define UIDS 4 /* real, effective, saved and file system uid */
#define EXITS_AT_ONCE 64

/* ---- facts from /proc ---- */

/* The start time of the process, see process_stat.h; 0 if it does not exist here or has ended. */
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

/* Returns true if proc_root belongs to another PID namespace: its "self" is not this process. */
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
        return false; /* not mounted, or a folder made by a test */
    }
    self[bytes] = '\0';
    return strtoul(self, NULL, 10) != (unsigned long)getpid();
}

/* The user of a process, and its pid in its namespace. The user is not the owner of its /proc
 * folder, which is root for a process that may not be traced. */
struct proc_status {
    uint32_t uid[UIDS];
    uint32_t innermost_pid; /* last pid in "NSpid:"; 0 unknown */
};

/* The text after "\nname:", or NULL. */
static const char *status_field(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at != NULL ? at + strlen(name) : NULL;
}

static bool read_status(const char *proc_root, const char *pid, struct proc_status *out)
{
    char path[NTK_PATH_BYTES];
    char text[STATUS_BYTES];

    if (ntk_paths_checked(snprintf(path, sizeof path, "%s/%s/status", proc_root, pid), path,
                          sizeof path) < 0 ||
        ntk_fs_read_text(path, text, sizeof text) <= 0) {
        return false;
    }
    const char *at = status_field(text, "\nUid:");
    if (at == NULL) {
        return false;
    }
    for (size_t i = 0; i < UIDS; i++) {
        char *end;

        out->uid[i] = (uint32_t)strtoul(at, &end, 10);
        at = end;
    }
    out->innermost_pid = 0;
    at = status_field(text, "\nNSpid:");
    while (at != NULL && *at == '\t') {
        char *end;

        out->innermost_pid = (uint32_t)strtoul(at, &end, 10);
        at = end;
    }
    return true;
}

/* Returns true if the owner may have written the process's file; root may have switched to any user
 * afterwards. */
static bool is_of(const struct proc_status *status, uint32_t owner)
{
    for (size_t i = 0; i < UIDS; i++) {
        if (status->uid[i] == owner) {
            return true;
        }
    }
    return owner == 0;
}

/* Returns true if the lock holder writes about another process: then the header has that process's
 * pid, as the writer sees it. */
static bool is_attached(const struct ntk_ring_segment *segment)
{
    return (segment->process.flags & NTK_PROCESS_ATTACHED) != 0;
}

/* The pid of the segment's process in proc_root; 0 if there is none. */
static uint32_t translate_pid(const char *proc_root, const struct ntk_ring_segment *segment)
{
    const struct ntk_ring_process *process = &segment->process;
    const struct dirent *entry;
    struct proc_status status;
    uint32_t found = 0;
    DIR *folder;

    if (is_attached(segment)) { /* its writer observed it from outside */
        char pid[16];

        (void)snprintf(pid, sizeof pid, "%" PRIu32, process->own_pid);
        return start_time_of(proc_root, pid) == process->start_time &&
                       read_status(proc_root, pid, &status) && is_of(&status, process->uid)
                   ? process->own_pid
                   : 0;
    }
    folder = opendir(proc_root);
    while (folder != NULL && found == 0 && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            start_time_of(proc_root, entry->d_name) == process->start_time &&
            read_status(proc_root, entry->d_name, &status) &&
            status.innermost_pid == process->own_pid && is_of(&status, process->uid)) {
            found = (uint32_t)strtoul(entry->d_name, NULL, 10);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return found;
}

bool ntk_ring_liveness_runs(const struct ntk_ring_liveness *liveness, unsigned int pid,
                            unsigned long long start_time)
{
    char text[16];

    (void)snprintf(text, sizeof text, "%u", pid);
    return start_time_of(liveness->proc_root, text) == start_time;
}

void ntk_ring_liveness_init(struct ntk_ring_liveness *liveness, const char *proc_root)
{
    *liveness = (struct ntk_ring_liveness){ .proc_root = proc_root,
                                            .is_foreign_proc = is_foreign_proc(proc_root),
                                            .own_pid_namespace = pid_namespace_of(proc_root),
                                            .own_start_time = start_time_of("/proc", "self"),
                                            .own_pid = (uint32_t)getpid() };
}

void ntk_ring_liveness_fini(struct ntk_ring_liveness *liveness)
{
    if (liveness->has_exits) {
        close(liveness->exits);
    }
}

/* ---- the writer of a segment ---- */

int64_t ntk_ring_liveness_holder(int fd)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1 };

    if (fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) {
        return 0;
    }
    return lock.l_pid > 0 ? lock.l_pid : -1;
}

static bool is_same_namespace(const struct ntk_ring_liveness *liveness,
                              const struct ntk_ring_segment *segment)
{
    return segment->pid_namespace != 0 && segment->pid_namespace == liveness->own_pid_namespace;
}

/* Watches for the exit of the process instead of its lock: with hundreds of processes, checking
 * each lock takes long. */
static void watch_exit(struct ntk_ring_liveness *liveness, struct ntk_ring_segment *segment)
{
    struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.ptr = segment };
    int fd = (int)syscall(SYS_pidfd_open, segment->process.pid, 0);

    if (!liveness->has_exits) {
        liveness->exits = epoll_create1(EPOLL_CLOEXEC);
        liveness->has_exits = liveness->exits >= 0;
    }
    /* The process still has the lock, so its pid was not reused. */
    if (fd >= 0 && liveness->has_exits &&
        ntk_ring_liveness_holder(segment->fd) == segment->process.pid &&
        epoll_ctl(liveness->exits, EPOLL_CTL_ADD, fd, &event) == 0) {
        segment->pid_fd = fd; /* closing it removes it from the epoll */
    } else if (fd >= 0) {
        close(fd);
    }
}

int ntk_ring_liveness_check(const struct ntk_ring_liveness *liveness,
                            struct ntk_ring_segment *segment, struct ntk_err *err)
{
    struct ntk_ring_process *process = &segment->process;
    int64_t holder = liveness->is_foreign_proc ? 0 : ntk_ring_liveness_holder(segment->fd);
    struct proc_status status;
    uint64_t start_time;
    char pid[16];

    if (liveness->is_foreign_proc) {
        return 0; /* translate_pid() finds it */
    }
    if (is_attached(segment)) {
        /* The lock holder proves nothing: root may write for any process, other users for processes
         * that they can check. */
        holder = 0;
        if (process->uid != 0 && !is_same_namespace(liveness, segment)) {
            return ntk_err_set(
                err, -EPERM, NTK_ERR_NO_OFFSET,
                "%s (user %" PRIu32
                ") describes a process in another PID namespace, which cannot be verified",
                segment->path, process->uid);
        }
    }
    if (holder <= 0 && !is_same_namespace(liveness, segment)) {
        return 0; /* no process to check here */
    }
    (void)snprintf(pid, sizeof pid, "%" PRIu32, holder > 0 ? (uint32_t)holder : process->own_pid);
    start_time = start_time_of(liveness->proc_root, pid);
    if (start_time == 0 || !read_status(liveness->proc_root, pid, &status)) {
        return 0; /* the process has ended, or may not be checked */
    }
    if (holder <= 0 && start_time != process->start_time) {
        return 0; /* another process has its pid now */
    }
    if (!is_of(&status, process->uid)) {
        return ntk_err_set(err, -EPERM, NTK_ERR_NO_OFFSET,
                           "%s (user %" PRIu32 ") describes process %s of user %" PRIu32,
                           segment->path, process->uid, pid, status.uid[0]);
    }
    if (holder > 0) {
        /* Use this value even if the file has another one, as for a process in another time
         * namespace. */
        process->start_time = start_time;
        process->own_pid = status.innermost_pid != 0 ? status.innermost_pid : process->own_pid;
    }
    return 0;
}

/* Marks the segments of exited processes; done once per scan. */
static void find_exits(struct ntk_ring_liveness *liveness, uint64_t look)
{
    struct epoll_event events[EXITS_AT_ONCE];
    int count = liveness->look != look ? EXITS_AT_ONCE : 0;

    liveness->look = look;
    while (count == EXITS_AT_ONCE) {
        count = epoll_wait(liveness->exits, events, EXITS_AT_ONCE, 0);
        for (int i = 0; i < count; i++) {
            ((struct ntk_ring_segment *)events[i].data.ptr)->has_exited = true;
        }
    }
}

bool ntk_ring_liveness_has_ended(struct ntk_ring_liveness *liveness,
                                 struct ntk_ring_segment *segment, uint64_t look)
{
    int64_t holder;
    char pid[16];

    if (ntk_ring_segment_said_goodbye(segment)) {
        return true;
    }
    if (segment->pid_fd >= 0) {
        find_exits(liveness, look);
        return segment->has_exited;
    }
    if (liveness->is_foreign_proc && !segment->is_host_pid_sought) {
        segment->is_host_pid_sought = true;
        segment->host_pid = translate_pid(liveness->proc_root, segment);
    }
    holder = ntk_ring_liveness_holder(segment->fd);
    if (holder != 0) {
        segment->free_lock_polls = 0;
        segment->process.pid = segment->host_pid != 0 ? segment->host_pid
                               : holder > 0 && !is_attached(segment) && !liveness->is_foreign_proc
                                   ? (uint32_t)holder
                                   : segment->process.own_pid;
        if (holder == segment->process.own_pid && !is_attached(segment) &&
            !liveness->is_foreign_proc && is_same_namespace(liveness, segment)) {
            watch_exit(liveness, segment);
        }
        return false;
    }
    if (is_attached(segment)) {
        return true; /* even if the process runs, because it has no writer any more */
    }
    /* It may only have closed its descriptors. */
    if (liveness->is_foreign_proc ? segment->host_pid != 0 : is_same_namespace(liveness, segment)) {
        (void)snprintf(pid, sizeof pid, "%" PRIu32,
                       liveness->is_foreign_proc ? segment->host_pid : segment->process.own_pid);
        return start_time_of(liveness->proc_root, pid) != segment->process.start_time;
    }
    if (segment->free_lock_poll != look) {
        segment->free_lock_poll = look;
        segment->free_lock_polls++;
    }
    return segment->free_lock_polls >= FREE_LOCK_POLLS;
}
