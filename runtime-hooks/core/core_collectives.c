/* SPDX-License-Identifier: MIT */
/*
 * core_collectives - runs collective operations. An operation is a series of steps: every rank
 * announces its operation and writes a chunk to its area, all wait for each other, and each reads
 * what it needs. With two alternating sets of areas and records, one wait per step is sufficient:
 * an area is rewritten two steps later, when all have waited again and so have read it.
 */
#include "runtime-hooks/core/core_collectives.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime-hooks/core/core_comm_private.h"
#include "runtime-hooks/engine/kernel_dtype.h"
#include "shared/base/clock.h"
#include "shared/formats/neff/neff.h"

/* interval in which a waiting rank checks that the others are alive */
#define LOOK_NS (20 * NTK_NS_PER_MS)
#define BLOCK_ELEMENTS 1024U
/* The cost of a link between ranks, used for faults that slow it (docs/faults.md). */
#define LINK_LATENCY_NS 15000.0
#define LINK_BYTES_PER_NS 12.5

/* An operation's number in the file, where 0 means no record. */
static uint32_t operation_number(enum ntk_collective operation)
{
    return (uint32_t)operation + 1;
}

/* --- one step --------------------------------------------------------------------------------- */

static char *area(const struct ntk_core_comm *comm, uint32_t round, uint32_t rank)
{
    const struct core_comm_file *shared = comm->shared;

    return (char *)comm->shared + shared->data_offset +
           ((uint64_t)(round & 1) * comm->count + rank) * shared->chunk_bytes;
}

static void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
    struct timespec time = { .tv_sec = (time_t)(ns / NTK_NS_PER_SECOND),
                             .tv_nsec = (long)(ns % NTK_NS_PER_SECOND) };

    (void)syscall(SYS_futex, word, FUTEX_WAIT, value, &time, NULL, 0);
}

/* A rank that has not arrived in this round; the error message of a timeout names it. */
static uint32_t missing_rank(const struct ntk_core_comm *comm)
{
    for (uint32_t i = 0; i < comm->count; i++) {
        if (atomic_load(&comm->shared->ranks[i].state) != CORE_COMM_RANK_JOINED) {
            return i;
        }
    }
    /* All ranks are present; one of them is busy with other work. */
    return comm->rank == 0 ? comm->count - 1 : 0;
}

static int all_wait(const struct ntk_core_comm *comm, uint32_t round, struct ntk_err *err)
{
    struct core_comm_file *shared = comm->shared;
    uint64_t deadline_ns =
        comm->timeout_ns > 0 ? ntk_clock_now_ns(comm->clock) + comm->timeout_ns : UINT64_MAX;

    /* Acquire and release: what a rank wrote before it arrived is visible to all that see the end
     * of the round. */
    if (atomic_fetch_add(&shared->arrived, 1) + 1 == comm->count) {
        atomic_store(&shared->arrived, 0);
        atomic_fetch_add(&shared->round, 1);
        core_comm_wake(shared);
        return 0;
    }
    for (;;) {
        if (atomic_load(&shared->round) != round) {
            return 0;
        }
        uint32_t broken = atomic_load(&shared->broken);
        if (broken != 0) {
            return core_comm_broken_error(comm, broken, err);
        }
        uint64_t now_ns = ntk_clock_now_ns(comm->clock);
        if (now_ns >= deadline_ns) {
            core_comm_break(shared, CORE_COMM_LATE, missing_rank(comm));
            core_comm_name_remove(comm);
            continue;
        }
        uint64_t left_ns = deadline_ns - now_ns;
        futex_wait(&shared->round, round, left_ns < LOOK_NS ? left_ns : LOOK_NS);
        core_comm_look_for_dead(comm);
    }
}

/* Announces this rank's operation and waits for all; then the areas of *out_round contain the
 * chunks of all ranks. The caller has filled area(comm, round, comm->rank) and holds comm->lock. */
static int step(struct ntk_core_comm *comm, const struct core_comm_record *record, uint32_t round,
                struct ntk_err *err)
{
    struct core_comm_file *shared = comm->shared;
    uint32_t broken = atomic_load(&shared->broken);

    if (broken != 0) {
        return core_comm_broken_error(comm, broken, err);
    }
    shared->ranks[comm->rank].records[round & 1] = *record;
    uint64_t start_ticks = ntk_hooks_now();
    int ret = all_wait(comm, round, err);
    comm->wait_ticks += ntk_hooks_now() - start_ticks;
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

/* Delays this rank like a slow link if a fault requests it, because software ranks meet in
 * memory. */
static void link_wait(const struct ntk_core_comm *comm, uint64_t bytes)
{
    double ns = LINK_LATENCY_NS + (double)bytes / LINK_BYTES_PER_NS;
    double more_ns = ns * (comm->link_factor - 1);

    if (comm->link_factor > 1) {
        core_pause(comm->clock, more_ns < (double)NTK_CORE_FAULT_TIME_MAX_NS
                                    ? (uint64_t)more_ns
                                    : NTK_CORE_FAULT_TIME_MAX_NS);
    }
}

/* Reports the start of an operation to monitors. */
static void operation_begin(struct ntk_core_comm *comm, enum ntk_collective operation,
                            uint32_t dtype, uint64_t bytes)
{
    pthread_mutex_lock(&comm->lock);
    comm->wait_ticks = 0;
    comm->link_factor = comm->core->faults
                            ? ntk_core_faults_link_factor(comm->core->faults, comm->logical_core)
                            : 1;
    atomic_fetch_add_explicit(&comm->operations_begun, 1, memory_order_relaxed);
    (void)ntk_hooks_collective_begin(comm->hook, operation, dtype, bytes);
}

static void operation_end(struct ntk_core_comm *comm, int ret)
{
    comm->has_failed |= ret < 0 && atomic_load(&comm->shared->broken) != 0;
    ntk_hooks_collective_end(comm->hook, comm->wait_ticks, core_status(ntk_core_outcome_of(ret)));
    pthread_mutex_unlock(&comm->lock);
}

int ntk_core_comm_barrier(struct ntk_core_comm *comm, struct ntk_err *err)
{
    struct core_comm_record record = { .operation = operation_number(NTK_COLLECTIVE_BARRIER) };

    operation_begin(comm, NTK_COLLECTIVE_BARRIER, 0, 0);
    link_wait(comm, 0);
    int ret = step(comm, &record, round_get(comm), err);
    operation_end(comm, ret);
    return ret;
}

/* --- data ------------------------------------------------------------------------------------- */

/* An operation with data, in parts that fit the areas. */
struct transfer {
    struct ntk_core_comm *comm;
    const char *from;
    char *to;
    uint64_t bytes; /* bytes of one rank */
    uint64_t chunk; /* bytes of one rank in a step */
    enum ntk_dtype dtype;
    enum ntk_core_reduction reduction;
};

/* Processes the part at an offset, before or after the step: writes to the rank's own area, or
 * reads from all areas. */
typedef void transfer_part(const struct transfer *transfer, uint32_t round, uint64_t offset,
                           uint64_t part);

/* Runs the steps. Every rank runs the same number, at least one, so an empty operation also
 * waits. */
static int transfer_run(const struct transfer *transfer, enum ntk_collective operation,
                        transfer_part *put, transfer_part *take, struct ntk_err *err)
{
    struct ntk_core_comm *comm = transfer->comm;
    struct core_comm_record record = { .operation = operation_number(operation),
                                       .dtype = transfer->dtype,
                                       .reduction = transfer->reduction,
                                       .bytes = transfer->bytes };
    int ret = 0;

    operation_begin(comm, operation, transfer->dtype, transfer->bytes);
    do {
        uint64_t left = transfer->bytes - record.offset;
        uint64_t part = left < transfer->chunk ? left : transfer->chunk;
        uint32_t round = round_get(comm);

        if (part > 0) {
            put(transfer, round, record.offset, part);
        }
        link_wait(comm, part);
        ret = step(comm, &record, round, err);
        if (ret == 0 && part > 0) {
            take(transfer, round, record.offset, part);
        }
        record.offset += part;
    } while (record.offset < transfer->bytes && ret == 0);
    operation_end(comm, ret);
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

    return transfer_run(&transfer, NTK_COLLECTIVE_ALL_GATHER, own_put, all_take, err);
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

/* Reduces the same part of every rank's area, in rank order. */
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

/* Writes a part for each rank, one after the other, into the rank's own area. */
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
                           "element type %u, reduction %u: unsupported in collective operations",
                           dtype, reduction);
    }
    return 0;
}

static int reduce(struct ntk_core_comm *comm, enum ntk_collective operation, const void *from,
                  void *to, uint64_t element_count, uint32_t dtype,
                  enum ntk_core_reduction reduction, struct ntk_err *err)
{
    bool scatters = operation == NTK_COLLECTIVE_REDUCE_SCATTER;
    int ret = core_comm_reduction_check(dtype, reduction, element_count, err);

    if (ret < 0) {
        return ret;
    }
    uint64_t bytes = comm->shared->chunk_bytes;
    struct transfer transfer = { .comm = comm,
                                 .from = from,
                                 .to = to,
                                 .bytes = element_count * ntk_dtype_bytes((enum ntk_dtype)dtype),
                                 .chunk = scatters ? bytes / comm->count / 64 * 64 : bytes,
                                 .dtype = (enum ntk_dtype)dtype,
                                 .reduction = reduction };
    return transfer_run(&transfer, operation, scatters ? parts_put : own_put,
                        scatters ? own_sum_take : sum_take, err);
}

int ntk_core_comm_all_reduce(struct ntk_core_comm *comm, const void *from, void *to,
                             uint64_t element_count, uint32_t dtype,
                             enum ntk_core_reduction reduction, struct ntk_err *err)
{
    return reduce(comm, NTK_COLLECTIVE_ALL_REDUCE, from, to, element_count, dtype, reduction, err);
}

int ntk_core_comm_reduce_scatter(struct ntk_core_comm *comm, const void *from, void *to,
                                 uint64_t element_count, uint32_t dtype,
                                 enum ntk_core_reduction reduction, struct ntk_err *err)
{
    return reduce(comm, NTK_COLLECTIVE_REDUCE_SCATTER, from, to, element_count, dtype, reduction,
                  err);
}
