/* SPDX-License-Identifier: MIT */
/*
 * core_comm_private - the layout of the file in which ranks meet, and the state of a communicator;
 * shared by core_comm.c (membership) and core_collectives.c (operations).
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_COMM_PRIVATE_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_COMM_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime-hooks/core/core_collectives.h"
#include "runtime-hooks/core/core_state.h"
#include "shared/formats/ntrace/ntrace_comm.h"

#define NTK_COMM_NAME_BYTES 32

enum core_comm_end {
    CORE_COMM_NONE,
    CORE_COMM_DIED,
    CORE_COMM_LEFT,
    CORE_COMM_LATE,
};

enum core_comm_rank_state {
    CORE_COMM_RANK_ABSENT,
    CORE_COMM_RANK_JOINED,
    CORE_COMM_RANK_LEFT,
};

/* The operation of a rank in a step, which must be equal on all ranks. */
struct core_comm_record {
    uint32_t operation;
    uint32_t dtype;
    uint32_t reduction;
    uint32_t reserved;
    uint64_t bytes;
    uint64_t offset;
};

struct core_comm_rank {
    _Atomic uint32_t state; /* enum core_comm_rank_state */
    uint32_t slot; /* its process's slot in soft.state, which shows whether the process is alive */
    uint64_t pid;
    uint64_t start_time;
    uint64_t reserved;
    struct core_comm_record records[2];
};

struct core_comm_file {
    uint64_t magic;
    uint64_t file_bytes;
    uint64_t chunk_bytes;
    uint64_t data_offset;
    uint32_t rank_count;
    uint32_t joined; /* number of joined ranks; protected by the file's lock */
    _Atomic uint32_t is_complete;
    _Atomic uint32_t broken; /* enum core_comm_end, shifted, and the rank */
    _Atomic uint32_t arrived;
    _Atomic uint32_t round; /* a futex */
    uint8_t reserved[72];
    struct core_comm_rank ranks[];
};
static_assert(sizeof(struct core_comm_record) == 32, "collectives 1");
static_assert(sizeof(struct core_comm_rank) == 96, "collectives 1");
static_assert(sizeof(struct core_comm_file) == 128, "collectives 1");

/* The value of `broken`. */
#define CORE_COMM_BROKEN(reason, rank) ((uint32_t)(reason) << 16 | (rank))

struct ntk_core_comm {
    struct ntk_core *core;
    struct ntk_core_comm *next; /* next in core->comms; protected by comm_lock */
    char *rendezvous;
    uint32_t world_rank, world_count;
    uint32_t *group; /* NULL: all ranks */
    uint32_t rank, count;
    uint64_t timeout_ns;
    const struct ntk_clock *clock;
    uint32_t references; /* protected by comm_lock; one reference belongs to the list */
    bool is_listed;
    char path[NTK_PATH_BYTES + NTK_COMM_NAME_BYTES];
    struct core_comm_file *shared;
    pthread_mutex_t lock; /* held during an operation */
    bool has_failed;      /* an operation failed because of a missing rank; protected by lock */
    ntk_hooks_comm hook;
    char name[NTK_NTRACE_COMM_BYTES];  /* name in system traces; "" without hooks */
    _Atomic uint64_t operations_begun; /* same numbers as in the hooks */
    /* wait in the current operation until all had arrived; protected by lock */
    uint64_t wait_ticks;
    uint32_t logical_core; /* global number, to look up faults; UINT32_MAX: unknown */
    double link_factor;    /* slowdown of links in the current operation; protected by lock */
};

/* Wakes all waiting ranks at the end of a round. */
void core_comm_wake(struct core_comm_file *shared);
/* Breaks the communicator for all ranks, unless another rank already did; rank is the cause. */
void core_comm_break(struct core_comm_file *shared, enum core_comm_end reason, uint32_t rank);
/* Breaks the communicator if another rank is dead. */
void core_comm_look_for_dead(const struct ntk_core_comm *comm);
/* The error of a broken communicator: -ECOMM or -ETIMEDOUT. */
int core_comm_broken_error(const struct ntk_core_comm *comm, uint32_t broken, struct ntk_err *err);
/* Removes the name of a communicator that is still incomplete. */
void core_comm_name_remove(const struct ntk_core_comm *comm);

#endif
