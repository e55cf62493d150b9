/* SPDX-License-Identifier: MIT */
/*
 * pending - requests that the runtime has taken and that end later: queues, each ended in its
 * order.
 *
 * An execution of the implicit asynchronous mode ends with the runtime's callback, or when the
 * client has drained the queue. A request of the explicit interface ends when the client hears so,
 * else when our thread does: it asks each millisecond for the latest sequence of queues in which
 * something is left, is started by the first request and ends before nrt_close and with the
 * program. The one event of a queue is the client's.
 *
 * Owner:   queues are made once, by their first request, and stay. Inputs are copied.
 * Threads: any. After a fork, _after_fork() in the child first.
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_PENDING_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_PENDING_H

#include "runtime-hooks/interpose/observe.h"

#define PENDING_QUEUES 256u
#define PENDING_REQUESTS 1024u /* of one queue; what comes more is counted without latency */

/* Says how a request that is complete has ended. Called without a lock. */
struct pending_request;
typedef NRT_STATUS pending_status_function(const struct pending_request *request);
/* The latest sequence that is complete; false: unknown. */
typedef bool pending_latest_function(uint32_t vnc, uint32_t unit, int queue,
                                     uint64_t *out_sequence);

enum pending_kind { PENDING_EXECUTION, PENDING_TRANSFER, PENDING_COLLECTIVE };

struct pending_request {
    uint64_t sequence; /* 0: of the implicit mode */
    uint32_t generation;
    enum pending_kind kind;
    bool was_listed;   /* the client may hold the list of its error tracker */
    NRT_STATUS status; /* what the list said; NRT_SUCCESS else */
    union {
        struct ntk_hooks_exec execution;
        struct ntk_hooks_transfer transfer;
        ntk_hooks_comm comm; /* in which the operation has started */
    };
    pending_status_function *status_get; /* NULL: status */
    void *outcome;                       /* the client's status, or its error tracker */
};

/* Which queue: of the implicit mode by core, of the explicit interface by the upper part of its
 * sequences. */
#define PENDING_IMPLICIT(core) (1ull << 63 | (uint64_t)(core))
#define PENDING_EXPLICIT(sequence) ((sequence) >> 48)

struct pending_place {
    uint64_t key;
    pending_latest_function *latest; /* NULL: implicit */
    uint32_t vnc;
    uint32_t unit;
    int queue;
};

void pending_add(const struct pending_place *place, const struct pending_request *request);
/* The runtime refused it after all; by its execution id. false: it has ended. */
bool pending_remove(uint64_t key, uint64_t execution_id);
void pending_end_first(uint64_t key, NRT_STATUS status);
/* Up to this sequence, with it. */
void pending_end_through(uint64_t sequence);
/* All of the implicit mode on the core; NTK_NO_CORE: on all. */
void pending_end_implicit(uint16_t core, NRT_STATUS status);
/* What the client got for requests of an error tracker. */
void pending_listed(const void *tracker, const uint64_t *sequences, const NRT_STATUS *statuses,
                    size_t count);

/* Before the runtime closes: our thread ends, after a last look. */
void pending_stop(void);
void pending_after_fork(void);

#endif
