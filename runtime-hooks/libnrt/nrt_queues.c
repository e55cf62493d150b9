/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/libnrt/nrt_queues.h"

#include <errno.h>
#include <stdlib.h>

#define TENSOR_QUEUES 2U
#define COLLECTIVE_QUEUES 3U
#define TENSOR_DEPTH 64U
#define NUMBER_BITS 48U
#define NUMBER_MASK ((UINT64_C(1) << NUMBER_BITS) - 1)
#define INDEX_BITS 2U
#define UNIT_BITS 3U

struct core {
    struct ntk_core_crew *crew;
    struct nrt_queue queues[NRT_QUEUE_UNITS << INDEX_BITS];
};

static struct core *cores;
static uint32_t core_count;

/* Number and capacity of the queues in a unit. */
struct unit {
    uint32_t queue_count;
    uint32_t depth;
};

static int core_open(struct core *core, uint32_t number, const struct unit *units)
{
    uint32_t queue_count = 0;

    for (uint32_t unit = 0; unit < NRT_QUEUE_UNITS; unit++) {
        queue_count += units[unit].queue_count;
    }
    core->crew = ntk_core_crew_create(queue_count);
    if (!core->crew) {
        return -ENOMEM;
    }
    for (uint32_t unit = 0; unit < NRT_QUEUE_UNITS; unit++) {
        for (uint32_t index = 0; index < units[unit].queue_count; index++) {
            struct nrt_queue *queue = &core->queues[unit << INDEX_BITS | index];

            *queue = (struct nrt_queue){ .core = number, .unit = unit, .index = index };
            queue->items =
                ntk_core_queue_create(core->crew, units[unit].depth, NTK_CORE_QUEUE_REFUSES);
            if (!queue->items) {
                return -ENOMEM;
            }
        }
    }
    return 0;
}

int nrt_queues_open(uint32_t count, uint32_t compute_depth, uint32_t implicit_depth)
{
    const struct unit units[NRT_QUEUE_UNITS] = {
        [NRT_QUEUE_READ] = { TENSOR_QUEUES, TENSOR_DEPTH },
        [NRT_QUEUE_WRITE] = { TENSOR_QUEUES, TENSOR_DEPTH },
        [NRT_QUEUE_OP] = { TENSOR_QUEUES, TENSOR_DEPTH },
        [NRT_QUEUE_COMPUTE] = { 1, compute_depth },
        [NRT_QUEUE_COLLECTIVES] = { COLLECTIVE_QUEUES, TENSOR_DEPTH },
        [NRT_QUEUE_IMPLICIT] = { implicit_depth > 0, implicit_depth },
    };
    cores = calloc(count, sizeof *cores);
    core_count = cores ? count : 0;
    int ret = cores ? 0 : -ENOMEM;
    for (uint32_t i = 0; ret == 0 && i < core_count; i++) {
        ret = core_open(&cores[i], i, units);
    }
    if (ret < 0) {
        nrt_queues_close();
    }
    return ret;
}

void nrt_queues_stop(void)
{
    /* Notify all queues before waiting for any: items accepted by one core may wait for items that
     * another core rejects. */
    for (uint32_t i = 0; i < core_count; i++) {
        ntk_core_crew_shut(cores[i].crew);
    }
    for (uint32_t i = 0; i < core_count; i++) {
        ntk_core_crew_stop(cores[i].crew);
    }
}

void nrt_queues_close(void)
{
    for (uint32_t i = 0; i < core_count; i++) {
        for (size_t q = 0; q < sizeof cores[i].queues / sizeof cores[i].queues[0]; q++) {
            ntk_core_queue_destroy(cores[i].queues[q].items);
        }
        ntk_core_crew_destroy(cores[i].crew);
    }
    free(cores);
    nrt_queues_forget_after_fork();
}

void nrt_queues_forget_after_fork(void)
{
    cores = NULL;
    core_count = 0;
}

const struct nrt_queue *nrt_queues_find(uint32_t core, uint32_t unit, uint32_t index)
{
    if (core >= core_count || unit >= NRT_QUEUE_UNITS || index >= 1U << INDEX_BITS) {
        return NULL;
    }
    const struct nrt_queue *queue = &cores[core].queues[unit << INDEX_BITS | index];
    return queue->items ? queue : NULL;
}

uint64_t nrt_queues_sequence_make(const struct nrt_queue *queue, uint64_t number)
{
    uint64_t place = (uint64_t)queue->core << (UNIT_BITS + INDEX_BITS) |
                     (uint64_t)queue->unit << INDEX_BITS | queue->index;

    return place << NUMBER_BITS | (number & NUMBER_MASK);
}

const struct nrt_queue *nrt_queues_sequence_find(uint64_t sequence, uint64_t *out_number)
{
    uint32_t place = (uint32_t)(sequence >> NUMBER_BITS);

    *out_number = sequence & NUMBER_MASK;
    return nrt_queues_find(place >> (UNIT_BITS + INDEX_BITS),
                           place >> INDEX_BITS & ((1U << UNIT_BITS) - 1),
                           place & ((1U << INDEX_BITS) - 1));
}
