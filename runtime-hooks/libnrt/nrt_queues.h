/* SPDX-License-Identifier: MIT */
/*
 * nrt_queues - the queues of the runtime, by core, unit and index, and the sequence ids of their
 * items.
 *
 * A sequence id: 11 bits of core, 3 of unit, 2 of index, then 48 of the number in the queue. A
 * core's queues share a crew with a worker for each, because items of one queue may wait for
 * another.
 *
 * Owner:   the module; found queues are borrowed until nrt_queues_close().
 * Threads: any, between nrt_queues_open() and nrt_queues_close().
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_QUEUES_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_QUEUES_H

#include "runtime-hooks/core/core_queue.h"

/* The 2.x form has the first five, with these numbers; the 3.0 form the middle three. */
enum nrt_queue_unit {
    NRT_QUEUE_READ,
    NRT_QUEUE_WRITE,
    NRT_QUEUE_OP,
    NRT_QUEUE_COMPUTE,
    NRT_QUEUE_COLLECTIVES,
    NRT_QUEUE_IMPLICIT,
    NRT_QUEUE_UNITS /* none */
};

struct nrt_queue {
    struct ntk_core_queue *items; /* NULL: no such queue */
    uint32_t core;
    uint32_t unit;
    uint32_t index;
};

/* Depths are per queue; implicit_depth 0 opens no implicit queue. -ENOMEM: nothing is open. */
int nrt_queues_open(uint32_t core_count, uint32_t compute_depth, uint32_t implicit_depth);
/* Everything queued runs to its end; new items are rejected. */
void nrt_queues_stop(void);
void nrt_queues_close(void);
/* The workers belong to the parent. */
void nrt_queues_forget_after_fork(void);

/* NULL: unknown queue. */
const struct nrt_queue *nrt_queues_find(uint32_t core, uint32_t unit, uint32_t index);
uint64_t nrt_queues_sequence_make(const struct nrt_queue *queue, uint64_t number);
/* NULL: of no queue. */
const struct nrt_queue *nrt_queues_sequence_find(uint64_t sequence, uint64_t *out_number);

#endif
