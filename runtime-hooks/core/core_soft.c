/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_soft.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime-hooks/core/core_machine.h"
#include "runtime-hooks/core/core_once.h"
#include "shared/abi/process_stat.h"
#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"

/* Size of the part that every process accesses; a process slot is reserved when it is taken. */
#define COMMON_BYTES offsetof(struct ntk_soft_state, process)
#define NEW_STATE_NAME NTK_SOFT_STATE_NAME ".new"
#define SETUP_PAUSE_MIN_NS UINT64_C(500000)
#define SETUP_PAUSE_MAX_NS UINT64_C(32000000)
#define SETUP_ATTEMPTS 100u

static int lock_change(int fd, short type, uint32_t byte)
{
    struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

    for (;;) {
        if (fcntl(fd, F_SETLK, &lock) == 0) {
            return 1;
        }
        if (errno == EAGAIN || errno == EACCES) {
            return 0;
        }
        if (errno != EINTR) {
            return -errno;
        }
    }
}

/* The pid of a process that holds a lock in the range; 0 if there is none. Locks of this process
 * are ignored. */
static int lock_holder(int fd, uint32_t first, uint32_t count)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = first, .l_len = count
    };

    if (fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK) {
        return 0;
    }
    /* l_pid 0: the holder is in another PID namespace */
    return lock.l_pid != 0 ? (int)lock.l_pid : -1;
}

int ntk_core_soft_lock(struct ntk_core_soft *soft, uint32_t byte)
{
    return lock_change(soft->lock_fd, F_WRLCK, byte);
}

void ntk_core_soft_unlock(struct ntk_core_soft *soft, uint32_t byte)
{
    (void)lock_change(soft->lock_fd, F_UNLCK, byte);
}

int ntk_core_soft_holder(const struct ntk_core_soft *soft, uint32_t byte)
{
    return lock_holder(soft->lock_fd, byte, 1);
}

void ntk_core_soft_want(struct ntk_core_soft *soft, uint32_t first, uint32_t count, bool wants)
{
    /* A shared lock, because several processes may wait for a core. */
    struct flock lock = { .l_type = wants ? F_RDLCK : F_UNLCK,
                          .l_whence = SEEK_SET,
                          .l_start = NTK_SOFT_LOCK_WANTED + first,
                          .l_len = count };

    (void)fcntl(soft->lock_fd, F_SETLK, &lock);
}

bool ntk_core_soft_yields(const struct ntk_core_soft *soft, uint32_t first, uint32_t count)
{
    return lock_holder(soft->lock_fd, NTK_SOFT_LOCK_YIELDS + first, count) != 0;
}

static bool is_used_by_others(int fd)
{
    return lock_holder(fd, 0, NTK_SEGMENT_CORES) != 0 ||
           lock_holder(fd, NTK_SOFT_LOCK_PROCESS, NTK_SOFT_PROCESSES) != 0;
}

static bool header_is_sound(const struct ntk_soft_header *header)
{
    return ntk_abi_load_acquire(&header->magic) == NTK_SOFT_MAGIC &&
           header->abi_version == NTK_SOFT_ABI_VERSION &&
           header->state_bytes == sizeof(struct ntk_soft_state) &&
           memchr(header->instance_type, '\0', sizeof header->instance_type) != NULL &&
           ntk_core_machine_row_find(header->instance_type) != NULL;
}

bool ntk_core_soft_peek(char *instance, size_t instance_bytes)
{
    char folder[NTK_PATH_BYTES];
    char path[NTK_PATH_BYTES + 32];
    struct ntk_soft_header header;
    struct stat status;
    bool found = false;

    if (ntk_paths_soft_dir(folder, sizeof folder) < 0) {
        return false;
    }
    (void)snprintf(path, sizeof path, "%s/%s", folder, NTK_SOFT_STATE_NAME);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
        header_is_sound(&header)) {
        found = ntk_str_copy(instance, instance_bytes, header.instance_type);
    }
    close(fd);
    return found;
}

/* Opens a regular file of this user or root, not a link; -ENOENT if it is missing and create is not
 * set. */
static int file_open(const struct ntk_core_soft *soft, const char *name, bool create,
                     struct ntk_err *err)
{
    char path[NTK_PATH_BYTES + 32];
    struct stat status;

    (void)snprintf(path, sizeof path, "%s/%s", soft->folder, name);
    int fd =
        open(path, O_RDWR | (create ? O_CREAT : 0) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0) {
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot open '%s': %s", path,
                           strerror(errno));
    }
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
        (status.st_uid != geteuid() && status.st_uid != 0)) {
        close(fd);
        return ntk_err_set(err, -EPERM, NTK_ERR_NO_OFFSET,
                           "%s is not a regular file owned by this user; not using it", path);
    }
    return fd;
}

static void state_build(struct ntk_soft_state *state, const struct ntk_core_soft_options *options,
                        uint64_t generation)
{
    const struct ntk_core_machine_row *row = ntk_core_machine_row_find(
        options->instance ? options->instance : NTK_CORE_DEFAULT_INSTANCE);
    struct ntk_soft_header *header = &state->header;

    header->abi_version = NTK_SOFT_ABI_VERSION;
    header->state_bytes = sizeof *state;
    header->generation = generation;
    (void)ntk_str_copy(header->instance_type, sizeof header->instance_type, row->facts.instance);
    header->device_count = row->facts.device_count;
    header->cores_per_device = row->facts.cores_per_device;
    header->sysfs_layout = options->new_tree ? 1 : 0;
    header->notify_delay = (uint32_t)-1;
    header->created_realtime_ns = ntk_clock_realtime_ns();
    for (uint32_t d = 0; d < row->facts.device_count; d++) {
        state->device[d].reset_state = 1;
        state->device[d].power_status = 1;
    }
    /* Pairs with the acquire load in header_is_sound(). */
    ntk_abi_store_release(&header->magic, NTK_SOFT_MAGIC);
}

static uint32_t stack_of_core(const struct ntk_core_machine_row *row, uint32_t core)
{
    return core % row->facts.cores_per_device / row->cores_per_stack;
}

static void count_memory(struct ntk_soft_memory *memory, uint64_t bytes)
{
    uint64_t total = ntk_abi_add_shared(&memory->total, bytes) + bytes;
    uint64_t peak = ntk_abi_load(&memory->peak);

    ntk_abi_store(&memory->present, bytes);
    while (total > peak && !__atomic_compare_exchange_n(&memory->peak, &peak, total, true,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static void uncount_memory(struct ntk_soft_memory *memory, uint64_t bytes)
{
    (void)__atomic_fetch_sub(&memory->total, bytes, __ATOMIC_RELEASE);
    ntk_abi_store(&memory->present, bytes);
}

/* Finds the tree's two counters for a memory category of a core. */
static void memory_counters_get(struct ntk_soft_state *state, uint32_t core, uint32_t category,
                                struct ntk_soft_memory *out_counters[2])
{
    uint32_t device = core / state->header.cores_per_device;

    if (ntk_memory_location_of(category) == NTK_MEMORY_HOST) {
        out_counters[0] = &state->device[device].host_memory[category];
        out_counters[1] = &state->core[core].host_memory_total;
    } else {
        out_counters[0] = &state->core[core].memory[category];
        out_counters[1] = &state->core[core].device_memory_total;
    }
}

/* Returns the resources of a dead process. The caller has locked SETUP. */
static void process_reclaim(struct ntk_soft_state *state, struct ntk_soft_process *process)
{
    const struct ntk_core_machine_row *row = ntk_core_machine_row_find(state->header.instance_type);
    uint32_t cores = state->header.device_count * state->header.cores_per_device;

    for (uint32_t core = 0; core < cores && core < NTK_SEGMENT_CORES; core++) {
        uint64_t device_bytes = 0;

        for (uint32_t category = 0; category < NTK_SOFT_CATEGORIES; category++) {
            uint64_t bytes = ntk_abi_load(&process->bytes[core][category]);
            struct ntk_soft_memory *counters[2];

            if (bytes == 0) {
                continue;
            }
            memory_counters_get(state, core, category, counters);
            uncount_memory(counters[0], bytes);
            uncount_memory(counters[1], bytes);
            ntk_abi_store(&process->bytes[core][category], 0);
            device_bytes += ntk_memory_location_of(category) == NTK_MEMORY_HOST ? 0 : bytes;
        }
        if (device_bytes > 0) {
            uint32_t device = core / state->header.cores_per_device;

            (void)__atomic_fetch_sub(
                &state->device[device].hbm_bytes_used[stack_of_core(row, core)], device_bytes,
                __ATOMIC_RELEASE);
        }
        if (ntk_abi_load(&state->core[core].owner_pid) == process->pid) {
            ntk_abi_store(&state->core[core].owner_pid, 0);
        }
    }
    ntk_abi_store_release(&process->pid, 0);
}

static uint64_t start_time_get(void)
{
    char text[NTK_STAT_BYTES];

    return ntk_fs_read_text("/proc/self/stat", text, sizeof text) > 0
               ? ntk_process_stat_start_time(text)
               : 0;
}

static uint64_t slot_offset(uint32_t slot)
{
    return offsetof(struct ntk_soft_state, process) + slot * sizeof(struct ntk_soft_process);
}

static int space_reserve(const struct ntk_core_soft *soft, int fd, uint64_t offset, uint64_t bytes,
                         struct ntk_err *err)
{
    int ret;

    do {
        ret = posix_fallocate(fd, (off_t)offset, (off_t)bytes);
    } while (ret == EINTR);
    return ret != 0 ? ntk_err_set(err, -ret, NTK_ERR_NO_OFFSET,
                                  "not enough space in %s for " NTK_SOFT_STATE_NAME ": %s",
                                  soft->folder, strerror(ret))
                    : 0;
}

/* Returns the resources of dead processes and takes a slot. The caller has locked SETUP. */
static int process_claim(struct ntk_core_soft *soft, int state_fd, struct ntk_err *err)
{
    struct ntk_soft_state *state = soft->state;
    uint32_t limit = state->header.process_limit;
    uint32_t chosen = NTK_SOFT_PROCESSES;

    for (uint32_t i = 0; i < limit && i < NTK_SOFT_PROCESSES; i++) {
        uint64_t pid = 0;

        if (lock_holder(soft->lock_fd, NTK_SOFT_LOCK_PROCESS + i, 1) != 0) {
            continue;
        }
        /* Not read through the mapping, because pages of the slot may be missing. */
        ssize_t got = pread(state_fd, &pid, sizeof pid, (off_t)slot_offset(i));
        if (got == (ssize_t)sizeof pid && pid != 0) {
            process_reclaim(state, &state->process[i]);
        }
        if (chosen == NTK_SOFT_PROCESSES) {
            chosen = i;
        }
    }
    if (chosen == NTK_SOFT_PROCESSES && limit < NTK_SOFT_PROCESSES) {
        chosen = limit;
    }
    if (chosen == NTK_SOFT_PROCESSES) {
        return ntk_err_set(err, -EBUSY, NTK_ERR_NO_OFFSET,
                           "too many processes (%u) are using the software machine in %s",
                           NTK_SOFT_PROCESSES, soft->folder);
    }
    int ret =
        space_reserve(soft, state_fd, slot_offset(chosen), sizeof(struct ntk_soft_process), err);
    if (ret < 0) {
        return ret;
    }
    if (ntk_core_soft_lock(soft, NTK_SOFT_LOCK_PROCESS + chosen) != 1) {
        return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "cannot lock soft.lock in %s",
                           soft->folder);
    }
    if (chosen >= limit) {
        state->header.process_limit = chosen + 1;
    }
    soft->slot = chosen;
    soft->process = &state->process[chosen];
    soft->process->start_time = start_time_get();
    ntk_abi_store_release(&soft->process->pid, (uint64_t)getpid());
    return 0;
}

static int state_map(struct ntk_core_soft *soft, int fd, struct ntk_err *err)
{
    int ret = space_reserve(soft, fd, 0, COMMON_BYTES, err);

    if (ret < 0) {
        return ret;
    }
    soft->state = mmap(NULL, sizeof *soft->state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (soft->state == MAP_FAILED) {
        soft->state = NULL;
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET,
                           "cannot map " NTK_SOFT_STATE_NAME " in %s: %s", soft->folder,
                           strerror(errno));
    }
    return 0;
}

/* Replaces an existing file by a new one: a process that still has the old one mapped keeps it
 * without noticing. Returns the descriptor or -errno. */
static int state_create(struct ntk_core_soft *soft, const struct ntk_core_soft_options *options,
                        uint64_t generation, struct ntk_err *err)
{
    char path[NTK_PATH_BYTES + 32];
    char new_path[sizeof path];
    int ret = 0;

    (void)snprintf(path, sizeof path, "%s/%s", soft->folder, NTK_SOFT_STATE_NAME);
    (void)snprintf(new_path, sizeof new_path, "%s/%s", soft->folder, NEW_STATE_NAME);
    (void)unlink(new_path); /* left behind by a killed process */
    int fd = open(new_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(struct ntk_soft_state)) < 0) {
        ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot create '%s': %s", new_path,
                          strerror(errno));
    }
    if (ret == 0) {
        ret = state_map(soft, fd, err);
    }
    if (ret == 0) {
        state_build(soft->state, options, generation);
        if (rename(new_path, path) < 0) {
            ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot create '%s': %s", path,
                              strerror(errno));
        }
    }
    if (ret < 0 && fd >= 0) {
        (void)unlink(new_path);
        close(fd);
    }
    soft->is_new = ret == 0;
    return ret < 0 ? ret : fd;
}

/* Maps the state, and (re)builds it if it does not match the request. The caller has locked SETUP.
 * Returns the descriptor or -errno. */
static int state_open(struct ntk_core_soft *soft, const struct ntk_core_soft_options *options,
                      struct ntk_err *err)
{
    const char *instance = options->instance;
    struct ntk_soft_header header = { 0 };
    uint64_t generation = 1;
    struct stat status;
    int fd = file_open(soft, NTK_SOFT_STATE_NAME, false, err);
    int ret = 0;

    if (fd < 0 && fd != -ENOENT) {
        return fd;
    }
    bool is_there = fd >= 0 && fstat(fd, &status) == 0 &&
                    (size_t)status.st_size == sizeof(struct ntk_soft_state) &&
                    pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
                    header_is_sound(&header);
    if (is_there && (!instance || strcmp(instance, header.instance_type) == 0)) {
        ret = state_map(soft, fd, err);
        if (ret < 0) {
            close(fd);
        }
        return ret < 0 ? ret : fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    if (is_there) {
        generation = header.generation + 1;
    }
    if (is_used_by_others(soft->lock_fd)) {
        return is_there
                   ? ntk_err_set(err, -EEXIST, NTK_ERR_NO_OFFSET,
                                 "the software machine in %s is in use with type %s, which cannot "
                                 "change to %s",
                                 soft->folder, header.instance_type, instance)
                   : ntk_err_set(err, -EBUSY, NTK_ERR_NO_OFFSET,
                                 "processes of a different version are using the software machine "
                                 "in %s; stop them first, or set " NTK_HOOKS_DIR_VARIABLE
                                 " to another folder",
                                 soft->folder);
    }
    return state_create(soft, options, generation, err);
}

/* Locks SETUP. It is held only for milliseconds unless the holder was stopped or hangs. */
static int setup_wait(const struct ntk_core_soft *soft, struct ntk_err *err)
{
    uint64_t end_ns = ntk_clock_now_ns(soft->clock) + NTK_CORE_SOFT_WAIT_NS;
    uint64_t pause_ns = SETUP_PAUSE_MIN_NS;
    int ret;

    while ((ret = lock_change(soft->lock_fd, F_WRLCK, NTK_SOFT_LOCK_SETUP)) == 0) {
        uint64_t now_ns = ntk_clock_now_ns(soft->clock);
        if (now_ns >= end_ns) {
            return ntk_err_set(err, -EBUSY, NTK_ERR_NO_OFFSET,
                               "process %d has been setting up the software machine in %s for %u s",
                               lock_holder(soft->lock_fd, NTK_SOFT_LOCK_SETUP, 1), soft->folder,
                               (unsigned)(NTK_CORE_SOFT_WAIT_NS / NTK_NS_PER_SECOND));
        }
        ntk_cond_sleep(soft->clock, end_ns - now_ns < pause_ns ? end_ns : now_ns + pause_ns);
        pause_ns = pause_ns < SETUP_PAUSE_MAX_NS ? pause_ns * 2 : pause_ns;
    }
    return ret < 0 ? ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot lock soft.lock in %s: %s",
                                 soft->folder, strerror(-ret))
                   : 0;
}

/* Opens soft.lock and locks SETUP; retries if the lock file was removed in the meantime. */
static int setup_lock(struct ntk_core_soft *soft, struct ntk_err *err)
{
    struct stat status;

    for (unsigned attempt = 0; attempt < SETUP_ATTEMPTS; attempt++) {
        soft->lock_fd = file_open(soft, NTK_SOFT_LOCK_NAME, true, err);
        if (soft->lock_fd < 0) {
            return soft->lock_fd;
        }
        int ret = setup_wait(soft, err);
        if (ret < 0) {
            return ret;
        }
        if (fstat(soft->lock_fd, &status) == 0 && status.st_nlink > 0) {
            return 0;
        }
        close(soft->lock_fd);
        soft->lock_fd = -1;
    }
    return ntk_err_set(err, -EBUSY, NTK_ERR_NO_OFFSET,
                       "soft.lock in %s appears and disappears repeatedly", soft->folder);
}

/* Creates the folder if it is missing. If all users can create files where the folder is, it must
 * belong to this user. */
static int folder_prepare(struct ntk_core_soft *soft, struct ntk_err *err)
{
    const char *named = ntk_paths_hooks_dir_variable();
    char usual[NTK_PATH_BYTES];
    int ret = ntk_paths_soft_dir(soft->folder, sizeof soft->folder);

    if (ret < 0) {
        return ntk_err_set(err, -ENAMETOOLONG, NTK_ERR_NO_OFFSET,
                           "the path of the hooks folder is too long");
    }
    (void)snprintf(usual, sizeof usual, NTK_HOOKS_PARENT "/" NTK_HOOKS_USER_PREFIX "%u",
                   (unsigned)geteuid());
    soft->is_aside = strcmp(soft->folder, named ? named : usual) != 0;
    ret = ntk_fs_make_folders(soft->folder, 0700, err);
    if (ret == 0 && !named && !ntk_paths_is_own_folder(soft->folder, geteuid())) {
        ret = ntk_err_set(
            err, -EPERM, NTK_ERR_NO_OFFSET,
            "%s belongs to another user or is writable by others; set " NTK_HOOKS_DIR_VARIABLE,
            soft->folder);
    }
    return ret;
}

/* Sets up this user's machine below a given folder that contains another user's machine. */
static int setup_aside(struct ntk_core_soft *soft, struct ntk_err *err)
{
    char folder[NTK_PATH_BYTES];
    int length = snprintf(folder, sizeof folder, "%s/" NTK_HOOKS_USER_PREFIX "%u", soft->folder,
                          (unsigned)geteuid());

    if (length < 0 || (size_t)length >= sizeof folder ||
        (mkdir(folder, 0700) < 0 && errno != EEXIST) ||
        !ntk_paths_is_own_folder(folder, geteuid())) {
        return -EPERM; /* keep the message of the first attempt */
    }
    (void)ntk_str_copy(soft->folder, sizeof soft->folder, folder);
    soft->is_aside = true;
    return setup_lock(soft, err);
}

int ntk_core_soft_open(const struct ntk_core_soft_options *options, struct ntk_core_soft **out_soft,
                       struct ntk_err *err)
{
    struct ntk_core_soft *soft = calloc(1, sizeof *soft);
    int state_fd = -1;
    int ret = 0;

    if (!soft) {
        return ntk_err_no_memory(err);
    }
    soft->lock_fd = -1;
    soft->clock = options->clock;
    ret = ntk_core_once_claim(&soft->mark, err);
    if (ret < 0) {
        goto out;
    }
    ret = folder_prepare(soft, err);
    if (ret < 0) {
        goto out;
    }
    ret = setup_lock(soft, err);
    if ((ret == -EACCES || ret == -EPERM) && ntk_paths_hooks_dir_variable()) {
        ret = setup_aside(soft, err);
    }
    if (ret < 0) {
        goto out;
    }
    state_fd = state_open(soft, options, err);
    ret = state_fd < 0 ? state_fd : 0;
    if (ret == 0 && options->as_process) {
        ret = process_claim(soft, state_fd, err);
    }
    ntk_core_soft_unlock(soft, NTK_SOFT_LOCK_SETUP);
    if (ret < 0) {
        goto out;
    }
    *out_soft = soft;
    soft = NULL;

out:
    if (state_fd >= 0) {
        close(state_fd);
    }
    ntk_core_soft_close(soft);
    return ret;
}

void ntk_core_soft_close(struct ntk_core_soft *soft)
{
    if (!soft) {
        return;
    }
    /* If the lock cannot be taken, the next process reclaims the slot, as after a kill. */
    if (soft->process && setup_wait(soft, NULL) == 0) {
        process_reclaim(soft->state, soft->process);
    }
    if (soft->lock_fd >= 0) {
        close(soft->lock_fd); /* this drops every lock */
    }
    if (soft->state) {
        munmap(soft->state, sizeof *soft->state);
    }
    ntk_core_once_release(soft->mark);
    free(soft);
}

void ntk_core_soft_forget(struct ntk_core_soft *soft)
{
    if (soft) {
        close(soft->lock_fd); /* the locks belong to the parent and stay */
        munmap(soft->state, sizeof *soft->state);
        free(soft);
    }
}

int ntk_core_soft_remove(struct ntk_core_soft *soft, struct ntk_err *err)
{
    /* The files, including those of earlier versions. */
    static const char *const names[] = { NTK_SOFT_STATE_NAME, NEW_STATE_NAME, "soft.state",
                                         NTK_SOFT_LOCK_NAME };
    char path[NTK_PATH_BYTES + 32];
    int ret = setup_wait(soft, err);

    if (ret == 0 && is_used_by_others(soft->lock_fd)) {
        ret =
            ntk_err_set(err, -EBUSY, NTK_ERR_NO_OFFSET,
                        "a process is using the software machine in %s; not removed", soft->folder);
    }
    for (size_t i = 0; ret == 0 && i < sizeof names / sizeof *names; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", soft->folder, names[i]);
        if (unlink(path) < 0 && errno != ENOENT) {
            ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot remove '%s': %s", path,
                              strerror(errno));
        }
    }
    ntk_core_soft_unlock(soft, NTK_SOFT_LOCK_SETUP);
    return ret;
}

void ntk_core_soft_memory_add(struct ntk_core_soft *soft, uint32_t core, uint32_t category,
                              uint64_t bytes)
{
    struct ntk_soft_memory *counters[2];

    memory_counters_get(soft->state, core, category, counters);
    count_memory(counters[0], bytes);
    count_memory(counters[1], bytes);
    ntk_abi_add_shared(&soft->process->bytes[core][category], bytes);
}

void ntk_core_soft_memory_remove(struct ntk_core_soft *soft, uint32_t core, uint32_t category,
                                 uint64_t bytes)
{
    struct ntk_soft_memory *counters[2];

    memory_counters_get(soft->state, core, category, counters);
    uncount_memory(counters[0], bytes);
    uncount_memory(counters[1], bytes);
    (void)__atomic_fetch_sub(&soft->process->bytes[core][category], bytes, __ATOMIC_RELEASE);
}

bool ntk_core_soft_stack_reserve(struct ntk_core_soft *soft, uint32_t device, uint32_t stack,
                                 uint64_t bytes, uint64_t limit_bytes)
{
    uint64_t *used = &soft->state->device[device].hbm_bytes_used[stack];
    uint64_t now = ntk_abi_load(used);

    do {
        if (now > limit_bytes || bytes > limit_bytes - now) {
            return false;
        }
    } while (!__atomic_compare_exchange_n(used, &now, now + bytes, true, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    return true;
}

void ntk_core_soft_stack_release(struct ntk_core_soft *soft, uint32_t device, uint32_t stack,
                                 uint64_t bytes)
{
    (void)__atomic_fetch_sub(&soft->state->device[device].hbm_bytes_used[stack], bytes,
                             __ATOMIC_RELEASE);
}
