/* SPDX-License-Identifier: MIT */
/*
 * Ranks meet in a file of the hooks folder (docs/formats/collectives.md) that each of them maps for
 * itself. An operation is a row of steps: every rank says what it does and puts a chunk into its area,
 * all wait for each other, everyone reads what it needs. There are two sets of areas and of records in
 * turn, so that one wait per step is enough: an area is written again two steps later, when all have
 * waited once more and so have read it.
 */
#include "runtime-hooks/core/core_collectives.h"

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
#include <time.h>
#include <unistd.h>

#include "runtime-hooks/core/core_state.h"
#include "runtime-hooks/core/kernel_dtype.h"
#include "shared/base/clock.h"
#include "shared/formats/neff/neff.h"

#define COMM_MAGIC UINT64_C(0x314d4d4f434b544e) /* "NTKCOMM1" */
#define AREAS_BYTES_MAX (UINT64_C(16) << 20)    /* of one set */
#define CHUNK_BYTES_MAX (UINT64_C(1) << 20)
#define CHUNK_BYTES_MIN UINT64_C(4096)
#define PAGE_BYTES UINT64_C(4096)
#define LOOK_NS (20 * NTK_NS_PER_MS) /* how often a waiting rank looks whether the others live */
#define NAME_BYTES 32
#define NAME_PREFIX "cc-"
#define ATTEMPTS_MAX 1000
#define BLOCK_ELEMENTS 1024U

enum break_reason {
    BREAK_NONE,
    BREAK_DIED,
    BREAK_LEFT,
    BREAK_LATE,
};

enum rank_state {
    RANK_ABSENT,
    RANK_JOINED,
    RANK_LEFT,
};

enum operation {
    OPERATION_BARRIER = 1,
    OPERATION_ALL_GATHER,
    OPERATION_ALL_REDUCE,
    OPERATION_REDUCE_SCATTER,
};

/* What a rank does in a step; equal on all of them. */
struct record {
    uint32_t operation;
    uint32_t dtype;
    uint32_t reduction;
    uint32_t reserved;
    uint64_t bytes;
    uint64_t offset;
};

struct shared_rank {
    _Atomic uint32_t state; /* enum rank_state */
    uint32_t slot;          /* in soft.state, with who that was: tells whether it lives */
    uint64_t pid;
    uint64_t start_time;
    uint64_t reserved;
    struct record records[2];
};

struct shared {
    uint64_t magic;
    uint64_t file_bytes;
    uint64_t chunk_bytes;
    uint64_t data_offset;
    uint32_t rank_count;
    uint32_t joined; /* under the file's lock */
    _Atomic uint32_t is_complete;
    _Atomic uint32_t broken; /* enum break_reason, shifted, and the rank */
    _Atomic uint32_t arrived;
    _Atomic uint32_t round; /* a futex */
    uint8_t reserved[72];
    struct shared_rank ranks[];
};
static_assert(sizeof(struct record) == 32, "collectives 1");
static_assert(sizeof(struct shared_rank) == 96, "collectives 1");
static_assert(sizeof(struct shared) == 128, "collectives 1");

#define BROKEN(reason, rank) ((uint32_t)(reason) << 16 | (rank))

struct ntk_core_comm {
    struct ntk_core *core;
    struct ntk_core_comm *next; /* in core->comms; under comm_lock */
    char *rendezvous;
    uint32_t world_rank, world_count;
    uint32_t *group; /* NULL: all */
    uint32_t rank, count;
    uint64_t timeout_ns;
    uint32_t references; /* under comm_lock; one is the list's */
    bool is_listed;
    char path[NTK_PATH_BYTES + NAME_BYTES];
    struct shared *shared;
    pthread_mutex_t lock; /* one operation at a time */
};

/* --- who is there -------------------------------------------------------------------------------- */

static void wake_all(struct shared *shared)
{
    (void)syscall(SYS_futex, &shared->round, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The first reason stays. */
static void comm_break(struct shared *shared, enum break_reason reason, uint32_t rank)
{
    uint32_t none = 0;

    (void)atomic_compare_exchange_strong(&shared->broken, &none, BROKEN(reason, rank));
    wake_all(shared);
}

static bool rank_is_dead(const struct ntk_core *core, const struct shared_rank *rank)
{
    const struct ntk_soft_process *process = NULL;

    if (atomic_load(&rank->state) != RANK_JOINED || rank->slot >= NTK_SOFT_PROCESSES) {
        return false;
    }
    process = &core->soft->state->process[rank->slot];
    if (ntk_abi_load_acquire(&process->pid) != rank->pid ||
        ntk_abi_load(&process->start_time) != rank->start_time) {
        return true; /* the slot is somebody else's by now */
    }
    return rank->slot != core->soft->slot &&
           ntk_core_soft_holder(core->soft, NTK_SOFT_LOCK_PROCESS + rank->slot) == 0;
}

/* Breaks the communicator when a rank is dead. */
static void look_for_dead(const struct ntk_core_comm *comm)
{
    for (uint32_t i = 0; i < comm->count; i++) {
        if (rank_is_dead(comm->core, &comm->shared->ranks[i])) {
            comm_break(comm->shared, BREAK_DIED, i);
        }
    }
}

static int broken_error(const struct ntk_core_comm *comm, uint32_t broken, struct ntk_err *err)
{
    static const char *const reasons[] = { "", "died", "left", "did not come in time" };
    uint32_t reason = broken >> 16 < sizeof reasons / sizeof *reasons ? broken >> 16 : 0;

    return ntk_err_set(err, reason == BREAK_LATE ? -ETIMEDOUT : -ECOMM, NTK_ERR_NO_OFFSET,
                       "rank %u of %u: rank %u %s during a collective operation", comm->rank,
                       comm->count, broken & 0xffff, reasons[reason]);
}

/* --- joining and leaving ------------------------------------------------------------------------- */

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
    return (sizeof(struct shared) + count * sizeof(struct shared_rank) + PAGE_BYTES - 1) /
           PAGE_BYTES * PAGE_BYTES;
}

/* A fresh file: reserves its memory, smaller chunks while there is little. The file is locked. */
static int file_fill(int fd, uint32_t count, struct ntk_err *err)
{
    uint64_t chunk_min =
        (uint64_t)count * 64 > CHUNK_BYTES_MIN ? (uint64_t)count * 64 : CHUNK_BYTES_MIN;
    uint64_t chunk = AREAS_BYTES_MAX / count / 64 * 64;
    int ret = ENOSPC;
    struct shared header = { .magic = COMM_MAGIC,
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
        return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "cannot write the file of a communicator");
    }
    return 0;
}

/* Opens the file under its name and locks it: by that name it is known to all until it is unlinked, and
 * that happens only under this lock. */
static int file_open_locked(const char *path, bool create, struct ntk_err *err)
{
    for (unsigned attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        struct stat status;
        int fd = open(path, O_RDWR | (create ? O_CREAT : 0) | O_NOFOLLOW | O_CLOEXEC, 0600);

        if (fd < 0) {
            return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot open %s: %s", path,
                               strerror(errno));
        }
        if (flock(fd, LOCK_EX) != 0 || fstat(fd, &status) != 0) {
            int code = -errno;

            close(fd);
            if (code == -EINTR) {
                continue;
            }
            return ntk_err_set(err, code, NTK_ERR_NO_OFFSET, "cannot lock %s: %s", path,
                               strerror(-code));
        }
        if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) {
            close(fd);
            return ntk_err_set(err, -EPERM, NTK_ERR_NO_OFFSET, "%s is not ours", path);
        }
        if (status.st_nlink > 0) {
            return fd;
        }
        close(fd);
    }
    return ntk_err_set(err, -EBUSY, NTK_ERR_NO_OFFSET, "%s comes and goes", path);
}

/* Maps the file; NULL when it is not what its name says. */
static struct shared *file_map(int fd, uint32_t count)
{
    struct shared header;
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

/* Takes the rank's place in the locked file. -EAGAIN: the file was void and has lost its name. */
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
    struct shared *shared = file_map(fd, comm->count);
    if (!shared) {
        (void)unlink(comm->path);
        return -EAGAIN;
    }
    comm->shared = shared;
    look_for_dead(comm);
    if (atomic_load(&shared->broken) != 0) {
        (void)unlink(comm->path); /* of ranks that did not get far */
        ret = -EAGAIN;
    } else if (atomic_load(&shared->ranks[comm->rank].state) != RANK_ABSENT) {
        ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "rank %u is there already",
                          comm->world_rank);
    }
    if (ret < 0) {
        munmap(shared, shared->file_bytes);
        comm->shared = NULL;
        return ret;
    }
    struct shared_rank *rank = &shared->ranks[comm->rank];
    rank->slot = soft->slot;
    rank->pid = ntk_abi_load(&soft->process->pid);
    rank->start_time = ntk_abi_load(&soft->process->start_time);
    atomic_store(&rank->state, RANK_JOINED);
    if (++shared->joined == shared->rank_count) {
        /* From here on nobody needs the name, and whoever dies leaves nothing. */
        (void)unlink(comm->path);
        atomic_store(&shared->is_complete, 1);
    }
    return 0;
}

static int comm_connect(struct ntk_core_comm *comm, struct ntk_err *err)
{
    int ret = -EAGAIN;

    for (unsigned attempt = 0; attempt < ATTEMPTS_MAX && ret == -EAGAIN; attempt++) {
        int fd = file_open_locked(comm->path, true, err);

        if (fd < 0) {
            return fd;
        }
        ret = place_take(comm, fd, err);
        (void)flock(fd, LOCK_UN); /* the mapping keeps the open file, and so would the lock */
        close(fd);
    }
    return ret == -EAGAIN
               ? ntk_err_set(err, -EBUSY, NTK_ERR_NO_OFFSET, "%s cannot be replaced", comm->path)
               : ret;
}

/* A communicator that never was complete takes its name along. */
static void name_remove(const struct ntk_core_comm *comm)
{
    struct stat status;

    if (atomic_load(&comm->shared->is_complete)) {
        return;
    }
    int fd = file_open_locked(comm->path, false, NULL);
    if (fd < 0) {
        return;
    }
    /* Ours, or by now the next one's? The break is told before, so nobody new came into ours. */
    struct shared *there =
        fstat(fd, &status) == 0 && status.st_size > 0 ? file_map(fd, comm->count) : NULL;
    if (there) {
        if (atomic_load(&there->broken) != 0) {
            (void)unlink(comm->path);
        }
        munmap(there, there->file_bytes);
    }
    close(fd);
}

static void comm_free(struct ntk_core_comm *comm)
{
    if (comm->shared) {
        atomic_store(&comm->shared->ranks[comm->rank].state, RANK_LEFT);
        comm_break(comm->shared, BREAK_LEFT, comm->rank);
        name_remove(comm);
        munmap(comm->shared, comm->shared->file_bytes);
    }
    pthread_mutex_destroy(&comm->lock);
    free(comm->rendezvous);
    free(comm->group);
    free(comm);
}

/* Whether one of the ranks that came into the locked file still lives. */
static bool file_has_living(const struct ntk_core *core, int fd)
{
    struct shared header;
    bool has_living = false;

    if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header || header.rank_count == 0 ||
        header.rank_count > NTK_CORE_RANKS_MAX) {
        return false;
    }
    struct shared *shared = file_map(fd, header.rank_count);
    for (uint32_t i = 0; shared && i < header.rank_count; i++) {
        has_living = has_living || (atomic_load(&shared->ranks[i].state) == RANK_JOINED &&
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
        int fd = file_open_locked(path, false, NULL);
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

/* comm_lock is held. */
static void reference_drop(struct ntk_core_comm *comm)
{
    if (--comm->references == 0) {
        comm_free(comm);
    }
}

/* comm_lock is held. */
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
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "rank %u of %u (at most %u) cannot be",
                           options->rank, options->rank_count, NTK_CORE_RANKS_MAX);
    }
    *out_rank = options->rank;
    if (!options->group) {
        return 0;
    }
    for (uint32_t i = 0; i < options->group_count && i < options->rank_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (options->group[k] == options->group[i]) {
                return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "rank %u is twice in its group",
                                   options->group[i]);
            }
        }
        if (options->group[i] >= options->rank_count) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "rank %u is not of a world of %u",
                               options->group[i], options->rank_count);
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

/* comm_lock is held. */
static int comm_create(struct ntk_core *core, const struct ntk_core_comm_options *options,
                       uint32_t rank, struct ntk_core_comm **out_comm, struct ntk_err *err)
{
    struct ntk_core_comm *comm = calloc(1, sizeof *comm);

    if (!comm) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
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
        ret = ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
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
    /* The list had a reference of its own, the caller's is still there. */
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

/* --- one step ------------------------------------------------------------------------------------ */

static char *area(const struct ntk_core_comm *comm, uint32_t round, uint32_t rank)
{
    const struct shared *shared = comm->shared;

    return (char *)comm->shared + shared->data_offset +
           ((uint64_t)(round & 1) * comm->count + rank) * shared->chunk_bytes;
}

static void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
    struct timespec time = { .tv_sec = (time_t)(ns / NTK_NS_PER_SECOND),
                             .tv_nsec = (long)(ns % NTK_NS_PER_SECOND) };

    (void)syscall(SYS_futex, word, FUTEX_WAIT, value, &time, NULL, 0);
}

/* Who has not arrived in this round: the one to blame for a timeout. */
static uint32_t missing_rank(const struct ntk_core_comm *comm)
{
    for (uint32_t i = 0; i < comm->count; i++) {
        if (atomic_load(&comm->shared->ranks[i].state) != RANK_JOINED) {
            return i;
        }
    }
    /* All are there; one of them is busy with something else. */
    return comm->rank == 0 ? comm->count - 1 : 0;
}

static int all_wait(const struct ntk_core_comm *comm, uint32_t round, struct ntk_err *err)
{
    struct shared *shared = comm->shared;
    uint64_t deadline_ns =
        comm->timeout_ns > 0 ? ntk_clock_monotonic_ns() + comm->timeout_ns : UINT64_MAX;

    /* Acquire and release: what a rank wrote before it arrived is seen by whoever sees the round end. */
    if (atomic_fetch_add(&shared->arrived, 1) + 1 == comm->count) {
        atomic_store(&shared->arrived, 0);
        atomic_fetch_add(&shared->round, 1);
        wake_all(shared);
        return 0;
    }
    for (;;) {
        if (atomic_load(&shared->round) != round) {
            return 0;
        }
        uint32_t broken = atomic_load(&shared->broken);
        if (broken != 0) {
            return broken_error(comm, broken, err);
        }
        uint64_t now_ns = ntk_clock_monotonic_ns();
        if (now_ns >= deadline_ns) {
            comm_break(shared, BREAK_LATE, missing_rank(comm));
            name_remove(comm);
            continue;
        }
        uint64_t left_ns = deadline_ns - now_ns;
        futex_wait(&shared->round, round, left_ns < LOOK_NS ? left_ns : LOOK_NS);
        look_for_dead(comm);
    }
}

/* Says what this rank does and waits for all; the areas of *out_round hold their chunks then. The caller
 * has put its own into area(comm, round, comm->rank). comm->lock is held. */
static int step(const struct ntk_core_comm *comm, const struct record *record, uint32_t round,
                struct ntk_err *err)
{
    struct shared *shared = comm->shared;
    uint32_t broken = atomic_load(&shared->broken);

    if (broken != 0) {
        return broken_error(comm, broken, err);
    }
    shared->ranks[comm->rank].records[round & 1] = *record;
    int ret = all_wait(comm, round, err);
    if (ret < 0) {
        return ret;
    }
    for (uint32_t i = 0; i < comm->count; i++) {
        if (memcmp(&shared->ranks[i].records[round & 1], &shared->ranks[0].records[round & 1],
                   sizeof *record) != 0) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "the ranks do not call the same collective operation (ranks 0 and "
                               "%u differ)",
                               i);
        }
    }
    return 0;
}

static uint32_t round_get(const struct ntk_core_comm *comm)
{
    return atomic_load(&comm->shared->round);
}

int ntk_core_comm_barrier(struct ntk_core_comm *comm, struct ntk_err *err)
{
    struct record record = { .operation = OPERATION_BARRIER };

    pthread_mutex_lock(&comm->lock);
    int ret = step(comm, &record, round_get(comm), err);
    pthread_mutex_unlock(&comm->lock);
    return ret;
}

/* --- data ---------------------------------------------------------------------------------------- */

/* One operation with data, done in parts that fit into the areas. */
struct transfer {
    struct ntk_core_comm *comm;
    const char *from;
    char *to;
    uint64_t bytes; /* of one rank */
    uint64_t chunk; /* bytes of it in a step */
    enum ntk_dtype dtype;
    enum ntk_core_reduction reduction;
};

/* What happens with the part at an offset before or after the step: into the own area, out of all. */
typedef void transfer_part(const struct transfer *transfer, uint32_t round, uint64_t offset,
                           uint64_t part);

/* The same steps on every rank, at least one; an empty operation waits too. */
static int transfer_run(const struct transfer *transfer, enum operation operation,
                        transfer_part *put, transfer_part *take, struct ntk_err *err)
{
    struct ntk_core_comm *comm = transfer->comm;
    struct record record = { .operation = operation,
                             .dtype = transfer->dtype,
                             .reduction = transfer->reduction,
                             .bytes = transfer->bytes };
    int ret = 0;

    pthread_mutex_lock(&comm->lock);
    do {
        uint64_t left = transfer->bytes - record.offset;
        uint64_t part = left < transfer->chunk ? left : transfer->chunk;
        uint32_t round = round_get(comm);

        if (part > 0) {
            put(transfer, round, record.offset, part);
        }
        ret = step(comm, &record, round, err);
        if (ret == 0 && part > 0) {
            take(transfer, round, record.offset, part);
        }
        record.offset += part;
    } while (record.offset < transfer->bytes && ret == 0);
    pthread_mutex_unlock(&comm->lock);
    return ret;
}

static void own_put(const struct transfer *transfer, uint32_t round, uint64_t offset, uint64_t part)
{
    memcpy(area(transfer->comm, round, transfer->comm->rank), transfer->from + offset, part);
}

static void all_take(const struct transfer *transfer, uint32_t round, uint64_t offset,
                     uint64_t part)
{
    for (uint32_t i = 0; i < transfer->comm->count; i++) {
        memcpy(transfer->to + i * transfer->bytes + offset, area(transfer->comm, round, i), part);
    }
}

int ntk_core_comm_all_gather(struct ntk_core_comm *comm, const void *from, void *to, uint64_t bytes,
                             struct ntk_err *err)
{
    struct transfer transfer = {
        .comm = comm, .from = from, .to = to, .bytes = bytes, .chunk = comm->shared->chunk_bytes
    };

    return transfer_run(&transfer, OPERATION_ALL_GATHER, own_put, all_take, err);
}

static void floats_combine(float *sum, const float *next, size_t count,
                           enum ntk_core_reduction reduction)
{
    for (size_t i = 0; i < count; i++) {
        switch (reduction) {
        case NTK_CORE_SUM:
            sum[i] += next[i];
            break;
        case NTK_CORE_MAX:
            sum[i] = sum[i] < next[i] || next[i] != next[i] ? next[i] : sum[i];
            break;
        case NTK_CORE_MIN:
            sum[i] = sum[i] > next[i] || next[i] != next[i] ? next[i] : sum[i];
            break;
        }
    }
}

static void integers_combine(int64_t *sum, const int64_t *next, size_t count,
                             enum ntk_core_reduction reduction, bool is_unsigned)
{
    for (size_t i = 0; i < count; i++) {
        bool is_less = is_unsigned ? (uint64_t)sum[i] < (uint64_t)next[i] : sum[i] < next[i];

        switch (reduction) {
        case NTK_CORE_SUM:
            sum[i] = (int64_t)((uint64_t)sum[i] + (uint64_t)next[i]);
            break;
        case NTK_CORE_MAX:
            sum[i] = is_less ? next[i] : sum[i];
            break;
        case NTK_CORE_MIN:
            sum[i] = is_less ? sum[i] : next[i];
            break;
        }
    }
}

static void integers_load(enum ntk_dtype dtype, const char *from, size_t width, size_t count,
                          int64_t *to)
{
    if (width == sizeof *to) {
        memcpy(to, from, count * sizeof *to);
    } else {
        ntk_kernel_to_i64(dtype, from, (ptrdiff_t)width, count, to);
    }
}

/* Combines the same part of every rank's area, rank after rank. */
static void areas_reduce(const struct transfer *transfer, uint32_t round, uint64_t offset,
                         uint64_t bytes, char *to)
{
    const struct ntk_core_comm *comm = transfer->comm;
    enum ntk_core_reduction reduction = transfer->reduction;
    enum ntk_dtype dtype = transfer->dtype;
    size_t width = ntk_dtype_bytes(dtype);
    size_t count = 0;

    for (uint64_t done = 0; done < bytes; done += count * width) {
        union {
            float floats[BLOCK_ELEMENTS];
            int64_t integers[BLOCK_ELEMENTS];
        } sum, next;

        count = (bytes - done) / width < BLOCK_ELEMENTS ? (bytes - done) / width : BLOCK_ELEMENTS;
        for (uint32_t i = 0; i < comm->count; i++) {
            const char *from = area(comm, round, i) + offset + done;

            if (ntk_dtype_is_float(dtype)) {
                ntk_kernel_to_f32(dtype, from, (ptrdiff_t)width, count,
                                  i == 0 ? sum.floats : next.floats);
            } else {
                integers_load(dtype, from, width, count, i == 0 ? sum.integers : next.integers);
            }
            if (i > 0 && ntk_dtype_is_float(dtype)) {
                floats_combine(sum.floats, next.floats, count, reduction);
            } else if (i > 0) {
                integers_combine(sum.integers, next.integers, count, reduction,
                                 dtype == NTK_DTYPE_UINT64);
            }
        }
        if (ntk_dtype_is_float(dtype)) {
            (void)ntk_kernel_from_f32(dtype, sum.floats, count, to + done, (ptrdiff_t)width);
        } else {
            ntk_kernel_from_bits(dtype, sum.integers, count, to + done, (ptrdiff_t)width);
        }
    }
}

static void sum_take(const struct transfer *transfer, uint32_t round, uint64_t offset,
                     uint64_t part)
{
    areas_reduce(transfer, round, 0, part, transfer->to + offset);
}

/* A part for each rank, one behind the other in the own area. */
static void parts_put(const struct transfer *transfer, uint32_t round, uint64_t offset,
                      uint64_t part)
{
    char *own = area(transfer->comm, round, transfer->comm->rank);

    for (uint32_t i = 0; i < transfer->comm->count; i++) {
        memcpy(own + i * transfer->chunk, transfer->from + i * transfer->bytes + offset, part);
    }
}

static void own_sum_take(const struct transfer *transfer, uint32_t round, uint64_t offset,
                         uint64_t part)
{
    areas_reduce(transfer, round, transfer->comm->rank * transfer->chunk, part,
                 transfer->to + offset);
}

int core_comm_reduction_check(uint32_t dtype, uint32_t reduction, uint64_t element_count,
                              struct ntk_err *err)
{
    if (dtype < NTK_DTYPE_UINT64 || dtype > NTK_DTYPE_FLOAT8E5 || reduction > NTK_CORE_MIN ||
        element_count > UINT64_MAX / 8 / NTK_CORE_RANKS_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "element type %u, reduction %u: not for collective operations", dtype,
                           reduction);
    }
    return 0;
}

int ntk_core_comm_all_reduce(struct ntk_core_comm *comm, const void *from, void *to,
                             uint64_t element_count, uint32_t dtype,
                             enum ntk_core_reduction reduction, struct ntk_err *err)
{
    int ret = core_comm_reduction_check(dtype, reduction, element_count, err);

    if (ret < 0) {
        return ret;
    }
    struct transfer transfer = { .comm = comm,
                                 .from = from,
                                 .to = to,
                                 .bytes = element_count * ntk_dtype_bytes((enum ntk_dtype)dtype),
                                 .chunk = comm->shared->chunk_bytes,
                                 .dtype = (enum ntk_dtype)dtype,
                                 .reduction = reduction };
    return transfer_run(&transfer, OPERATION_ALL_REDUCE, own_put, sum_take, err);
}

int ntk_core_comm_reduce_scatter(struct ntk_core_comm *comm, const void *from, void *to,
                                 uint64_t element_count, uint32_t dtype,
                                 enum ntk_core_reduction reduction, struct ntk_err *err)
{
    int ret = core_comm_reduction_check(dtype, reduction, element_count, err);

    if (ret < 0) {
        return ret;
    }
    struct transfer transfer = { .comm = comm,
                                 .from = from,
                                 .to = to,
                                 .bytes = element_count * ntk_dtype_bytes((enum ntk_dtype)dtype),
                                 .chunk = comm->shared->chunk_bytes / comm->count / 64 * 64,
                                 .dtype = (enum ntk_dtype)dtype,
                                 .reduction = reduction };
    return transfer_run(&transfer, OPERATION_REDUCE_SCATTER, parts_put, own_sum_take, err);
}
