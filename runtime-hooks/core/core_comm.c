/* SPDX-License-Identifier: MIT */
/*
 * core_comm - membership: ranks meet in a mapped file in the hooks folder
 * (docs/formats/collectives.md), and are detected as missing when they die, leave or never arrive.
 */
#include "runtime-hooks/core/core_comm_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COMM_MAGIC UINT64_C(0x314d4d4f434b544e) /* "NTKCOMM1" */
#define AREAS_BYTES_MAX (UINT64_C(16) << 20)    /* for one set of areas */
#define CHUNK_BYTES_MAX (UINT64_C(1) << 20)
#define CHUNK_BYTES_MIN UINT64_C(4096)
#define PAGE_BYTES UINT64_C(4096)
#define NAME_PREFIX "cc-"
#define ATTEMPTS_MAX 1000

/* --- present ranks -----------------------------------------------------------------------------
 * */

void core_comm_wake(struct core_comm_file *shared)
{
    (void)syscall(SYS_futex, &shared->round, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Marks the communicator as broken; the first reason is kept. */
void core_comm_break(struct core_comm_file *shared, enum core_comm_end reason, uint32_t rank)
{
    uint32_t none = 0;

    (void)atomic_compare_exchange_strong(&shared->broken, &none, CORE_COMM_BROKEN(reason, rank));
    core_comm_wake(shared);
}

static bool rank_is_dead(const struct ntk_core *core, const struct core_comm_rank *rank)
{
    const struct ntk_soft_process *process = NULL;

    if (atomic_load(&rank->state) != CORE_COMM_RANK_JOINED || rank->slot >= NTK_SOFT_PROCESSES) {
        return false;
    }
    /* Check the owner before its memory: a slot without an owner may never have had one. */
    if (rank->slot != core->soft->slot &&
        ntk_core_soft_holder(core->soft, NTK_SOFT_LOCK_PROCESS + rank->slot) == 0) {
        return true;
    }
    process = &core->soft->state->process[rank->slot];
    return ntk_abi_load_acquire(&process->pid) != rank->pid ||
           /* The slot may have a new owner by now. */
           ntk_abi_load(&process->start_time) != rank->start_time;
}

/* Breaks the communicator if a rank is dead. */
void core_comm_look_for_dead(const struct ntk_core_comm *comm)
{
    for (uint32_t i = 0; i < comm->count; i++) {
        if (rank_is_dead(comm->core, &comm->shared->ranks[i])) {
            core_comm_break(comm->shared, CORE_COMM_DIED, i);
        }
    }
}

int core_comm_broken_error(const struct ntk_core_comm *comm, uint32_t broken, struct ntk_err *err)
{
    static const char *const reasons[] = { "", "died", "left", "timed out" };
    uint32_t reason = broken >> 16 < sizeof reasons / sizeof *reasons ? broken >> 16 : 0;

    return ntk_err_set(err, reason == CORE_COMM_LATE ? -ETIMEDOUT : -ECOMM, NTK_ERR_NO_OFFSET,
                       "rank %u of %u: rank %u %s during a collective operation", comm->rank,
                       comm->count, broken & 0xffff, reasons[reason]);
}

/* --- joining and leaving ---------------------------------------------------------------------- */

static uint64_t hash_add(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static void path_make(struct ntk_core_comm *comm)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    hash = hash_add(hash, comm->rendezvous, strlen(comm->rendezvous) + 1);
    hash = hash_add(hash, &comm->world_count, sizeof comm->world_count);
    if (comm->group) {
        hash = hash_add(hash, comm->group, comm->count * sizeof *comm->group);
    }
    (void)snprintf(comm->path, sizeof comm->path, "%s/" NAME_PREFIX "%016llx",
                   comm->core->soft->folder, (unsigned long long)hash);
}

static uint64_t data_offset_of(uint32_t count)
{
    return (sizeof(struct core_comm_file) + count * sizeof(struct core_comm_rank) + PAGE_BYTES -
            1) /
           PAGE_BYTES * PAGE_BYTES;
}

/* Fills a new file: reserves its memory, with smaller chunks if space is short. The caller has
 * locked the file. */
static int file_fill(int fd, uint32_t count, struct ntk_err *err)
{
    uint64_t chunk_min =
        (uint64_t)count * 64 > CHUNK_BYTES_MIN ? (uint64_t)count * 64 : CHUNK_BYTES_MIN;
    uint64_t chunk = AREAS_BYTES_MAX / count / 64 * 64;
    int ret = ENOSPC;
    struct core_comm_file header = { .magic = COMM_MAGIC,
                                     .data_offset = data_offset_of(count),
                                     .rank_count = count };

    chunk = chunk < CHUNK_BYTES_MAX ? chunk : CHUNK_BYTES_MAX;
    chunk = chunk > chunk_min ? chunk : chunk_min;
    for (;; chunk = chunk / 128 * 64) {
        header.chunk_bytes = chunk;
        header.file_bytes = header.data_offset + 2 * chunk * count;
        ret = posix_fallocate(fd, 0, (off_t)header.file_bytes);
        if (ret == 0 || chunk / 2 < chunk_min) {
            break;
        }
        if (ftruncate(fd, 0) < 0) {
            ret = errno;
            break;
        }
    }
    if (ret != 0) {
        return ntk_err_set(err, ret == ENOSPC ? -ENOMEM : -ret, NTK_ERR_NO_OFFSET,
                           "no shared memory for collective operations of %u ranks: %s", count,
                           strerror(ret));
    }
    if (pwrite(fd, &header, sizeof header, 0) != (ssize_t)sizeof header) {
        return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET,
                           "cannot write the shared-memory file of a communicator");
    }
    return 0;
}

/* Opens the file by its name and locks it. All processes use this name until the file is unlinked,
 * which is done only under this lock. */
static int file_open_locked(const char *path, bool create, bool wait, struct ntk_err *err)
{
    for (unsigned attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        struct stat status;
        int fd =
            open(path, O_RDWR | (create ? O_CREAT : 0) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

        if (fd < 0) {
            return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot open '%s': %s", path,
                               strerror(errno));
        }
        if (flock(fd, wait ? LOCK_EX : LOCK_EX | LOCK_NB) != 0 || fstat(fd, &status) != 0) {
            int code = -errno;

            close(fd);
            if (code == -EINTR) {
                continue;
            }
            return ntk_err_set(err, code, NTK_ERR_NO_OFFSET, "cannot lock '%s': %s", path,
                               strerror(-code));
        }
        if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) {
            close(fd);
            return ntk_err_set(err, -EPERM, NTK_ERR_NO_OFFSET,
                               "%s is not a regular file owned by this user", path);
        }
        if (status.st_nlink > 0) {
            return fd;
        }
        close(fd);
    }
    return ntk_err_set(err, -EBUSY, NTK_ERR_NO_OFFSET, "'%s' appears and disappears repeatedly",
                       path);
}

/* Maps the file; NULL if its content does not match its name. */
static struct core_comm_file *file_map(int fd, uint32_t count)
{
    struct core_comm_file header;
    struct stat status;

    if (fstat(fd, &status) != 0 || pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        header.magic != COMM_MAGIC || header.rank_count != count ||
        header.data_offset != data_offset_of(count) || header.chunk_bytes < CHUNK_BYTES_MIN ||
        header.chunk_bytes % 64 != 0 || header.chunk_bytes < (uint64_t)count * 64 ||
        header.chunk_bytes > CHUNK_BYTES_MAX ||
        header.file_bytes != header.data_offset + 2 * header.chunk_bytes * count ||
        (uint64_t)status.st_size < header.file_bytes) {
        return NULL;
    }
    void *mapped = mmap(NULL, header.file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

/* Takes the rank's slot in the locked file. Returns -EAGAIN if the file was unusable and its name
 * was removed. */
static int place_take(struct ntk_core_comm *comm, int fd, struct ntk_err *err)
{
    const struct ntk_core_soft *soft = comm->core->soft;
    struct stat status;
    int ret = 0;

    if (fstat(fd, &status) == 0 && status.st_size == 0) {
        ret = file_fill(fd, comm->count, err);
        if (ret < 0) {
            (void)unlink(comm->path);
            return ret;
        }
    }
    struct core_comm_file *shared = file_map(fd, comm->count);
    if (!shared) {
        (void)unlink(comm->path);
        return -EAGAIN;
    }
    comm->shared = shared;
    core_comm_look_for_dead(comm);
    if (atomic_load(&shared->broken) != 0) {
        (void)unlink(comm->path); /* left behind by ranks that failed early */
        ret = -EAGAIN;
    } else if (atomic_load(&shared->ranks[comm->rank].state) != CORE_COMM_RANK_ABSENT) {
        ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "duplicate rank %u", comm->world_rank);
    }
    if (ret < 0) {
        munmap(shared, shared->file_bytes);
        comm->shared = NULL;
        return ret;
    }
    struct core_comm_rank *rank = &shared->ranks[comm->rank];
    rank->slot = soft->slot;
    rank->pid = ntk_abi_load(&soft->process->pid);
    rank->start_time = ntk_abi_load(&soft->process->start_time);
    atomic_store(&rank->state, CORE_COMM_RANK_JOINED);
    if (++shared->joined == shared->rank_count) {
        /* From here on the name is not needed, and a process that dies leaves no file behind. */
        (void)unlink(comm->path);
        atomic_store(&shared->is_complete, 1);
    }
    return 0;
}

static int comm_connect(struct ntk_core_comm *comm, struct ntk_err *err)
{
    int ret = -EAGAIN;

    for (unsigned attempt = 0; attempt < ATTEMPTS_MAX && ret == -EAGAIN; attempt++) {
        int fd = file_open_locked(comm->path, true, true, err);

        if (fd < 0) {
            return fd;
        }
        ret = place_take(comm, fd, err);
        /* unlock explicitly, because the mapping keeps the open file and so the lock */
        (void)flock(fd, LOCK_UN);
        close(fd);
    }
    return ret == -EAGAIN
               ? ntk_err_set(err, -EBUSY, NTK_ERR_NO_OFFSET, "cannot replace '%s'", comm->path)
               : ret;
}

/* Removes the name of a communicator that is still incomplete. */
void core_comm_name_remove(const struct ntk_core_comm *comm)
{
    struct stat status;

    if (atomic_load(&comm->shared->is_complete)) {
        return;
    }
    int fd = file_open_locked(comm->path, false, true, NULL);
    if (fd < 0) {
        return;
    }
    /* The file may be ours or that of the next communicator. The break was published before, so no
     * new rank joined ours. */
    struct core_comm_file *there =
        fstat(fd, &status) == 0 && status.st_size > 0 ? file_map(fd, comm->count) : NULL;
    if (there) {
        if (atomic_load(&there->broken) != 0) {
            (void)unlink(comm->path);
        }
        munmap(there, there->file_bytes);
    }
    close(fd);
}

/* Returns true if a rank is missing. Finished ranks leave one after the other, which does not
 * count. */
static bool has_missed(const struct ntk_core_comm *comm)
{
    uint32_t broken = atomic_load(&comm->shared->broken);

    return comm->has_failed || (broken != 0 && broken >> 16 != CORE_COMM_LEFT);
}

static void comm_free(struct ntk_core_comm *comm)
{
    if (comm->shared) {
        ntk_hooks_comm_leave(comm->hook, has_missed(comm));
        atomic_store(&comm->shared->ranks[comm->rank].state, CORE_COMM_RANK_LEFT);
        core_comm_break(comm->shared, CORE_COMM_LEFT, comm->rank);
        core_comm_name_remove(comm);
        munmap(comm->shared, comm->shared->file_bytes);
    }
    pthread_mutex_destroy(&comm->lock);
    free(comm->rendezvous);
    free(comm->group);
    free(comm);
}

/* Returns true if any rank that joined the locked file is alive. */
static bool file_has_living(const struct ntk_core *core, int fd)
{
    struct core_comm_file header;
    bool has_living = false;

    if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header || header.rank_count == 0 ||
        header.rank_count > NTK_CORE_RANKS_MAX) {
        return false;
    }
    struct core_comm_file *shared = file_map(fd, header.rank_count);
    for (uint32_t i = 0; shared && i < header.rank_count; i++) {
        has_living = has_living || (atomic_load(&shared->ranks[i].state) == CORE_COMM_RANK_JOINED &&
                                    !rank_is_dead(core, &shared->ranks[i]));
    }
    if (shared) {
        munmap(shared, header.file_bytes);
    }
    return has_living;
}

void core_comms_sweep(const struct ntk_core *core)
{
    DIR *folder = opendir(core->soft->folder);
    const struct dirent *entry = NULL;

    while (folder && (entry = readdir(folder)) != NULL) {
        char path[sizeof((struct ntk_core_comm *)NULL)->path];

        if (strncmp(entry->d_name, NAME_PREFIX, sizeof NAME_PREFIX - 1) != 0 ||
            (size_t)snprintf(path, sizeof path, "%s/%s", core->soft->folder, entry->d_name) >=
                sizeof path) {
            continue;
        }
        int fd = file_open_locked(path, false, false, NULL); /* a file in use is kept */
        if (fd >= 0) {
            if (!file_has_living(core, fd)) {
                (void)unlink(path);
            }
            (void)flock(fd, LOCK_UN);
            close(fd);
        }
    }
    if (folder) {
        (void)closedir(folder);
    }
}

/* The caller holds comm_lock. */
static void reference_drop(struct ntk_core_comm *comm)
{
    if (--comm->references == 0) {
        comm_free(comm);
    }
}

/* The caller holds comm_lock. */
static void unlist(struct ntk_core_comm *comm)
{
    struct ntk_core_comm **link = &comm->core->comms;

    while (*link && *link != comm) {
        link = &(*link)->next;
    }
    if (*link) {
        *link = comm->next;
        comm->is_listed = false;
        reference_drop(comm);
    }
}

void core_comms_drop(struct ntk_core *core)
{
    pthread_mutex_lock(&core->comm_lock);
    while (core->comms) {
        unlist(core->comms);
    }
    pthread_mutex_unlock(&core->comm_lock);
}

static bool is_same(const struct ntk_core_comm *comm, const struct ntk_core_comm_options *options)
{
    const char *rendezvous = options->rendezvous ? options->rendezvous : "";

    return comm->world_rank == options->rank && comm->world_count == options->rank_count &&
           strcmp(comm->rendezvous, rendezvous) == 0 &&
           (comm->group != NULL) == (options->group != NULL) &&
           (!comm->group ||
            (comm->count == options->group_count &&
             memcmp(comm->group, options->group, comm->count * sizeof *comm->group) == 0));
}

int core_comm_options_check(const struct ntk_core_comm_options *options, uint32_t *out_rank,
                            struct ntk_err *err)
{
    uint32_t found = UINT32_MAX;

    if (options->rank_count == 0 || options->rank_count > NTK_CORE_RANKS_MAX ||
        options->rank >= options->rank_count) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "invalid rank %u of %u ranks (at most %u)", options->rank,
                           options->rank_count, NTK_CORE_RANKS_MAX);
    }
    *out_rank = options->rank;
    if (!options->group) {
        return 0;
    }
    for (uint32_t i = 0; i < options->group_count && i < options->rank_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (options->group[k] == options->group[i]) {
                return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                                   "rank %u appears twice in its group", options->group[i]);
            }
        }
        if (options->group[i] >= options->rank_count) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "rank %u does not exist in a world of %u ranks", options->group[i],
                               options->rank_count);
        }
        found = options->group[i] == options->rank ? i : found;
    }
    if (options->group_count > options->rank_count || found == UINT32_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "rank %u is not in its group",
                           options->rank);
    }
    *out_rank = found;
    return 0;
}

static void hooks_join(struct ntk_core_comm *comm, uint32_t nc)
{
    const struct ntk_hooks_rank rank = { .rendezvous = comm->rendezvous,
                                         .world_rank = comm->world_rank,
                                         .world_count = comm->world_count,
                                         .group = comm->group,
                                         .group_count = comm->count };

    comm->hook = ntk_hooks_comm_join(&rank, nc < ntk_core_count(comm->core)
                                                ? (uint16_t)comm->core->ncs[nc].first_physical
                                                : (uint16_t)NTK_NO_CORE);
    struct ntk_ntrace_comm name = { .key = ntk_hooks_comm_key(comm->hook),
                                    .rank = comm->rank,
                                    .rank_count = comm->count,
                                    .world_rank = comm->world_rank,
                                    .world_count = comm->world_count };
    if (name.key != 0) {
        ntk_ntrace_comm_write(&name, comm->name);
    }
}

/* The caller holds comm_lock. */
static int comm_create(struct ntk_core *core, const struct ntk_core_comm_options *options,
                       uint32_t rank, struct ntk_core_comm **out_comm, struct ntk_err *err)
{
    struct ntk_core_comm *comm = calloc(1, sizeof *comm);

    if (!comm) {
        return ntk_err_no_memory(err);
    }
    comm->core = core;
    comm->world_rank = options->rank;
    comm->world_count = options->rank_count;
    comm->rank = rank;
    comm->count = options->group ? options->group_count : options->rank_count;
    comm->rendezvous = strdup(options->rendezvous ? options->rendezvous : "");
    if (options->group) {
        comm->group = calloc(comm->count, sizeof *comm->group);
    }
    pthread_mutex_init(&comm->lock, NULL);
    int ret = 0;
    if (!comm->rendezvous || (options->group && !comm->group)) {
        ret = ntk_err_no_memory(err);
    } else {
        if (comm->group && options->group) {
            memcpy(comm->group, options->group, comm->count * sizeof *comm->group);
        }
        path_make(comm);
        ret = comm_connect(comm, err);
    }
    if (ret < 0) {
        comm_free(comm);
        return ret;
    }
    hooks_join(comm, options->nc);
    comm->logical_core = options->nc < ntk_core_count(core)
                             ? core->ncs[options->nc].first_physical / core->lnc
                             : UINT32_MAX;
    *out_comm = comm;
    return 0;
}

int ntk_core_comm_join(struct ntk_core *core, const struct ntk_core_comm_options *options,
                       struct ntk_core_comm **out_comm, struct ntk_err *err)
{
    struct ntk_core_comm *comm = NULL;
    uint32_t rank = 0;
    int ret = core_comm_options_check(options, &rank, err);

    if (ret < 0) {
        return ret;
    }
    pthread_mutex_lock(&core->comm_lock);
    for (comm = core->comms; comm && !is_same(comm, options);) {
        comm = comm->next;
    }
    if (comm && atomic_load(&comm->shared->broken) != 0) {
        unlist(comm);
        comm = NULL;
    }
    if (!comm) {
        ret = comm_create(core, options, rank, &comm, err);
        if (ret == 0 && comm) {
            comm->references = 1;
            comm->is_listed = true;
            comm->next = core->comms;
            core->comms = comm;
        }
    }
    if (ret == 0 && comm) {
        comm->references++;
        comm->timeout_ns = options->timeout_ns;
        comm->clock = options->clock;
        *out_comm = comm;
    }
    pthread_mutex_unlock(&core->comm_lock);
    return ret;
}

void ntk_core_comm_leave(struct ntk_core_comm *comm)
{
    if (!comm) {
        return;
    }
    struct ntk_core *core = comm->core;

    pthread_mutex_lock(&core->comm_lock);
    if (comm->is_listed && atomic_load(&comm->shared->broken) != 0) {
        unlist(comm);
    }
    /* Drop the list's reference, then the caller's. */
    reference_drop(comm); /* NOLINT(clang-analyzer-unix.Malloc) */
    pthread_mutex_unlock(&core->comm_lock);
}

uint32_t ntk_core_comm_rank(const struct ntk_core_comm *comm)
{
    return comm->rank;
}

uint32_t ntk_core_comm_count(const struct ntk_core_comm *comm)
{
    return comm->count;
}

const char *ntk_core_comm_name_get(const struct ntk_core_comm *comm)
{
    return comm->name;
}

uint64_t ntk_core_comm_operations_begun(const struct ntk_core_comm *comm)
{
    return atomic_load_explicit(&comm->operations_begun, memory_order_relaxed);
}
