/* SPDX-License-Identifier: MIT */
/*
 * core_collectives - collective operations between ranks: barrier, all-gather, all-reduce,
 * reduce-scatter.
 *
 * A rank is a logical core with a number in a world of a given size; ranks may be in one process,
 * or in several with the same hooks folder. They meet in a file in that folder under a common name.
 * The name is removed as soon as all have joined, so no failure leaves a file behind. Data goes
 * through the file in chunks; results are bit-identical on all ranks.
 *
 * Every rank calls the same operations in the same order with the same sizes; a mismatch fails all
 * of them with -EINVAL. If a rank dies, leaves or is late, the others fail with -ECOMM or
 * -ETIMEDOUT, and the communicator stays broken: after it is dropped, the next join creates a new
 * one.
 *
 * Owner:   _join returns a reference, _leave drops it. The process keeps a communicator, so that
 *          joining it again is cheap, until ntk_core_close() or until it breaks.
 * Threads: every call from any thread; operations of one rank are sequential. A waiting rank blocks
 *          its thread, so each rank of a process needs a separate thread.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_COLLECTIVES_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_COLLECTIVES_H

#include "runtime-hooks/core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_CORE_RANKS_MAX 1024U

struct ntk_core_comm;

struct ntk_core_comm_options {
    const char *rendezvous; /* NULL means "" */
    uint32_t rank;          /* number in the world */
    uint32_t rank_count;    /* number of ranks in the world */
    /* The participating ranks of the world, in the order of their data; NULL: all. */
    const uint32_t *group;
    uint32_t group_count;
    uint64_t timeout_ns;           /* limit on waiting for the other ranks; 0: none */
    const struct ntk_clock *clock; /* clock for this limit; borrowed; NULL: the system's */
    uint32_t nc; /* logical core of the rank, for monitors; NTK_CORE_ANY: unknown */
};

/* Joins without waiting for the others; the first operation waits. Returns -EINVAL if the rank is
 * invalid or in use; -ENOMEM; -EIO. */
int ntk_core_comm_join(struct ntk_core *core, const struct ntk_core_comm_options *options,
                       struct ntk_core_comm **out_comm, struct ntk_err *err);
void ntk_core_comm_leave(struct ntk_core_comm *comm);
/* The rank's index in the group, and the size of the group. */
uint32_t ntk_core_comm_rank(const struct ntk_core_comm *comm);
uint32_t ntk_core_comm_count(const struct ntk_core_comm *comm);
/* The communicator's name in events of system traces (shared/formats/ntrace/ntrace_comm.h); ""
 * without hooks. */
const char *ntk_core_comm_name_get(const struct ntk_core_comm *comm);
/* The number of the last started operation, from 1, the same on all ranks; 0: none yet. */
uint64_t ntk_core_comm_operations_begun(const struct ntk_core_comm *comm);

enum ntk_core_reduction {
    NTK_CORE_SUM,
    NTK_CORE_MAX,
    NTK_CORE_MIN,
};

int ntk_core_comm_barrier(struct ntk_core_comm *comm, struct ntk_err *err);
/* `to` has count * bytes; `from` may be the rank's own part of `to`. */
int ntk_core_comm_all_gather(struct ntk_core_comm *comm, const void *from, void *to, uint64_t bytes,
                             struct ntk_err *err);
/* dtype is a number of shared/formats/neff/dtype.def. Float sums are computed in fp32 in rank order
 * and rounded once; integer sums wrap around. `from` and `to` may be the same. */
int ntk_core_comm_all_reduce(struct ntk_core_comm *comm, const void *from, void *to,
                             uint64_t element_count, uint32_t dtype,
                             enum ntk_core_reduction reduction, struct ntk_err *err);
/* `from` has count * element_count elements; rank r gets the r-th part of the sum. `to` may be its
 * own part of `from`. */
int ntk_core_comm_reduce_scatter(struct ntk_core_comm *comm, const void *from, void *to,
                                 uint64_t element_count, uint32_t dtype,
                                 enum ntk_core_reduction reduction, struct ntk_err *err);

enum ntk_core_collective_kind {
    NTK_CORE_ALL_GATHER,
    NTK_CORE_ALL_REDUCE,
    NTK_CORE_REDUCE_SCATTER,
};

/* An operation on whole tensors; an all-gather ignores dtype and reduction. */
struct ntk_core_collective {
    enum ntk_core_collective_kind kind;
    enum ntk_core_reduction reduction;
    uint32_t dtype;
};

/* Checks without joining whether the operation could run in a communicator with these options;
 * *out_rank is the index in the group. Returns -EINVAL if not. */
int ntk_core_collective_check(const struct ntk_core_comm_options *options,
                              const struct ntk_core_collective *collective,
                              struct ntk_core_tensor *from, struct ntk_core_tensor *to,
                              uint32_t *out_rank, struct ntk_err *err);
/* Runs the operation. The larger tensor of all-gather and reduce-scatter has the bytes of all
 * ranks. The storage of both tensors must stay until the end. */
int ntk_core_comm_run(struct ntk_core_comm *comm, const struct ntk_core_collective *collective,
                      struct ntk_core_tensor *from, struct ntk_core_tensor *to,
                      struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
