/* SPDX-License-Identifier: MIT */
/*
 * nrt_queues - holds the queues of the runtime by core, unit and index, and assigns sequence ids to
 * their items.
 *
 * A sequence id has 11 bits for the core, 3 for the unit, 2 for the index, then 48 for the number
 * in the queue. The queues of a core share a crew with one worker per queue, because items of one
 * queue may wait for another.
 *
 * Owner:   this module owns the queues; found queues are borrowed until nrt_queues_close().
 * Threads: any, between nrt_queues_open() and nrt_queues_close().
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_QUEUES_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_QUEUES_H

#include "runtime-hooks/core/core_queue.h"

/* The 2.x form has the first five units, with these numbers; the 3.0 form has the middle three. */
enum nrt_queue_unit {
    NRT_QUEUE_READ,
    NRT_QUEUE_WRITE,
    NRT_QUEUE_OP,
    NRT_QUEUE_COMPUTE,
    NRT_QUEUE_COLLECTIVES,
    NRT_QUEUE_IMPLICIT,
    NRT_QUEUE_UNITS /* number of units, also "no unit" */
};

struct nrt_queue {
    struct ntk_core_queue *items; /* NULL if the queue does not exist */
    uint32_t core;
    uint32_t unit;
    uint32_t index;
};

/* Opens queues with a depth per queue; if implicit_depth is 0, none is implicit. -ENOMEM:
 * nothing is open. */
int nrt_queues_open(uint32_t core_count, uint32_t compute_depth, uint32_t implicit_depth);
/* Runs queued items to their end; new items are rejected. */
void nrt_queues_stop(void);
void nrt_queues_close(void);
/* Forgets the workers, which belong to the parent. */
void nrt_queues_forget_after_fork(void);

/* Returns NULL for an unknown queue. */
const struct nrt_queue *nrt_queues_find(uint32_t core, uint32_t unit, uint32_t index);
uint64_t nrt_queues_sequence_make(const struct nrt_queue *queue, uint64_t number);
/* Returns NULL if the sequence belongs to no queue. */
const struct nrt_queue *nrt_queues_sequence_find(uint64_t sequence, uint64_t *out_number);

#endif
