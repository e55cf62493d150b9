/* SPDX-License-Identifier: MIT */
/*
 * What ranks do together and the host calls itself: the process as a rank, and the operation it is
 * in.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/interpose/observe.h"

#define WORLDS 256 /* ranks that the process has; more are passed on unseen */

struct world {
    uint32_t generation; /* when it joined; another: free */
    uint32_t rank, count;
    ntk_hooks_comm comm;
};

static struct world worlds[WORLDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The rank's communicator, joined when it is first asked for; 0 none. */
static ntk_hooks_comm comm_get(const struct interpose_scope *scope, int32_t vnc, uint32_t rank,
                               uint32_t count)
{
    const struct ntk_hooks_rank about = { .rendezvous = getenv("NEURON_RT_ROOT_COMM_ID"),
                                          .world_rank = rank,
                                          .world_count = count };
    struct world *found = NULL;
    ntk_hooks_comm comm = 0;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < WORLDS && !found; i++) {
        if (worlds[i].generation != scope->generation ||
            (worlds[i].rank == rank && worlds[i].count == count)) {
            found = &worlds[i]; /* those of now come first */
        }
    }
    if (found && found->generation != scope->generation) {
        *found = (struct world){ .generation = scope->generation,
                                 .rank = rank,
                                 .count = count,
                                 .comm = ntk_hooks_comm_join(&about, interpose_core_get(vnc)) };
    }
    if (found) {
        comm = found->comm;
    }
    pthread_mutex_unlock(&lock);
    return comm;
}

void interpose_collectives_after_fork(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    memcpy(&lock, &fresh, sizeof fresh); /* its holder is a thread of the parent */
}

/* Ends with the call, however that ends. */
struct operation {
    ntk_hooks_comm comm;
    NRT_STATUS status;
};

static void operation_end(const struct operation *operation)
{
    ntk_hooks_collective_end(operation->comm, 0, (uint32_t)operation->status);
}

#define OPERATION(kind, vnc, rank, count, bytes)                                                \
    struct operation operation                                                                  \
        __attribute__((cleanup(operation_end))) = { .comm = comm_get(&scope, vnc, rank, count), \
                                                    .status = NRT_FAILURE };                    \
    (void)ntk_hooks_collective_begin(operation.comm, NTK_COLLECTIVE_##kind, 0, bytes)

NRT_STATUS observed_nrt_barrier(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count)
{
    INTERPOSE_SCOPE;

    if (!scope.generation) {
        return REAL(nrt_barrier)(vnc, g_device_id, g_device_count);
    }
    OPERATION(BARRIER, vnc, g_device_id, g_device_count, 0);
    operation.status = REAL(nrt_barrier)(vnc, g_device_id, g_device_count);
    return operation.status;
}

NRT_STATUS observed_nrt_all_gather(int32_t vnc, uint32_t g_device_id, uint32_t g_device_count,
                                   uint32_t rank_input_size, void *input, void *output)
{
    INTERPOSE_SCOPE;

    if (!scope.generation) {
        return REAL(nrt_all_gather)(vnc, g_device_id, g_device_count, rank_input_size, input,
                                    output);
    }
    OPERATION(ALL_GATHER, vnc, g_device_id, g_device_count, rank_input_size);
    operation.status =
        REAL(nrt_all_gather)(vnc, g_device_id, g_device_count, rank_input_size, input, output);
    return operation.status;
}
