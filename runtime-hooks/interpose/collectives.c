/* SPDX-License-Identifier: MIT */
/*
 * collectives - observes collective operations called by the host: the process as a rank, and its
 * current operation.
 */
#include "runtime-hooks/interpose/collectives.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/interpose/handles.h"

#define WORLDS 256     /* maximum number of ranks in the process; further ranks are not observed */
#define GROUP_MAX 4096 /* maximum number of ranks that distinguish a group */
#define QUEUES 3       /* queues for operations on each core */

/* A rank in the whole world or in a group. Each queue is a separate communicator, and so are calls
 * of the host: order matters only within a communicator. */
struct world {
    uint32_t generation; /* generation in which it joined; a free entry has any other value */
    uint32_t rank, count;
    uint32_t *group; /* owned copy; NULL for all ranks */
    uint32_t group_count;
    ntk_hooks_comm host;
    ntk_hooks_comm queue[QUEUES];
};

static struct world worlds[WORLDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Prepared operations, by context. */
struct prepared {
    uint32_t generation;
    uint32_t vnc;
    uint16_t world;
    uint16_t core;
    uint8_t operation; /* enum ntk_collective */
    uint8_t dtype;
    uint64_t bytes;
};
_Static_assert(sizeof(struct prepared) <= sizeof(struct interpose_handle_value), "kept as words");

static struct interpose_handles contexts = INTERPOSE_HANDLES_INIT;

static bool is_world(const struct world *world, const struct world *wanted)
{
    return world->generation == wanted->generation && world->rank == wanted->rank &&
           world->count == wanted->count && world->group_count == wanted->group_count &&
           (world->group_count == 0 ||
            memcmp(world->group, wanted->group, wanted->group_count * sizeof *wanted->group) == 0);
}

static bool world_fill(struct world *world, const struct world *wanted)
{
    size_t bytes = wanted->group_count * sizeof *wanted->group;
    uint32_t *group = bytes > 0 ? malloc(bytes) : NULL;

    if (bytes > 0) {
        if (!group) {
            return false;
        }
        memcpy(group, wanted->group, bytes);
    }
    free(world->group);
    *world = *wanted;
    world->group = group;
    return true;
}

/* Finds or adds a rank; copies the group of the caller. The caller holds the lock. Returns NULL if
 * there are too many, or if out of memory. */
static struct world *world_get(const struct world *wanted)
{
    for (size_t i = 0; i < WORLDS; i++) {
        if (is_world(&worlds[i], wanted)) {
            return &worlds[i];
        }
        if (worlds[i].generation != wanted->generation) { /* current ranks come first */
            return world_fill(&worlds[i], wanted) ? &worlds[i] : NULL;
        }
    }
    return NULL;
}

static ntk_hooks_comm join(const struct world *world, const char *rendezvous, uint16_t core)
{
    const struct ntk_hooks_rank about = { .rendezvous = rendezvous,
                                          .world_rank = world->rank,
                                          .world_count = world->count,
                                          .group = world->group,
                                          .group_count = world->group_count };

    return ntk_hooks_comm_join(&about, core);
}

/* Returns the communicator of the rank, joined at the first request; 0 if none. */
static ntk_hooks_comm comm_get(const struct interpose_scope *scope, int32_t vnc, uint32_t rank,
                               uint32_t count)
{
    const struct world wanted = { .generation = scope->generation, .rank = rank, .count = count };
    ntk_hooks_comm comm = 0;
    struct world *world;

    pthread_mutex_lock(&lock);
    world = world_get(&wanted);
    if (world && !world->host) {
        world->host = join(world, getenv("NEURON_RT_ROOT_COMM_ID"), interpose_core_get(vnc));
    }
    comm = world ? world->host : 0;
    pthread_mutex_unlock(&lock);
    return comm;
}

void interpose_collectives_after_fork(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    memcpy(&lock, &fresh, sizeof fresh); /* the holder of the lock is a thread of the parent */
    interpose_handles_after_fork(&contexts);
}

/* ---- prepared first, queued later ---- */

void interpose_prepared_add(const struct interpose_scope *scope, const nrt_cc_comm_t *comm,
                            const nrt_tensor_list_t *input, nrt_dtype_t dtype,
                            nrt_cc_op_type_t operation, const void *context)
{
    static const uint8_t operations[] = { [NRT_CC_ALLGATHER] = NTK_COLLECTIVE_ALL_GATHER,
                                          [NRT_CC_ALLREDUCE] = NTK_COLLECTIVE_ALL_REDUCE,
                                          [NRT_CC_REDUCESCATTER] = NTK_COLLECTIVE_REDUCE_SCATTER };
    bool is_group = comm->replica_group != NULL;
    const struct world wanted = { .generation = scope->generation,
                                  .rank = comm->ctx_device_id,
                                  .count = comm->ctx_device_count,
                                  .group = comm->replica_group,
                                  .group_count = is_group ? comm->rank_n : 0 };
    struct prepared prepared = { .generation = scope->generation,
                                 .vnc = comm->vnc,
                                 .core = interpose_core_get(comm->vnc),
                                 .dtype = (uint8_t)dtype };
    struct interpose_handle_value value = { { 0 } };
    struct world *world = NULL;

    if ((unsigned)operation >= sizeof operations || wanted.group_count > GROUP_MAX) {
        return;
    }
    prepared.operation = operations[operation];
    for (size_t i = 0; i < input->num_tensors; i++) {
        prepared.bytes += REAL(nrt_tensor_get_size)(input->tensors[i]);
    }
    pthread_mutex_lock(&lock);
    world = world_get(&wanted);
    pthread_mutex_unlock(&lock);
    if (world) {
        prepared.world = (uint16_t)(world - worlds);
        memcpy(&value, &prepared, sizeof prepared);
        (void)interpose_handles_put(&contexts, context, &value);
    }
}

static ntk_hooks_comm queue_comm_get(const struct prepared *prepared, int queue)
{
    const char *root = getenv("NEURON_RT_ROOT_COMM_ID");
    struct world *world = &worlds[prepared->world];
    char rendezvous[320];
    ntk_hooks_comm comm = 0;

    pthread_mutex_lock(&lock);
    if (world->generation == prepared->generation) {
        if (!world->queue[queue]) {
            (void)snprintf(rendezvous, sizeof rendezvous, "queue %d of %s", queue,
                           root ? root : "");
            world->queue[queue] = join(world, rendezvous, prepared->core);
        }
        comm = world->queue[queue];
    }
    pthread_mutex_unlock(&lock);
    return comm;
}

ntk_hooks_comm interpose_prepared_begin(const struct interpose_scope *scope, const void *context,
                                        int queue, uint32_t *out_vnc)
{
    struct interpose_handle_value value;
    struct prepared prepared;
    ntk_hooks_comm comm;

    if (!interpose_handles_take(&contexts, context, &value)) {
        return 0;
    }
    memcpy(&prepared, &value, sizeof prepared);
    if (prepared.generation != scope->generation || queue < 0 || queue >= QUEUES) {
        return 0;
    }
    comm = queue_comm_get(&prepared, queue);
    (void)ntk_hooks_collective_begin(comm, prepared.operation, prepared.dtype, prepared.bytes);
    *out_vnc = prepared.vnc;
    return comm;
}

/* ---- names of the host ---- */

/* An operation that ends with the call, also after an exception. */
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
