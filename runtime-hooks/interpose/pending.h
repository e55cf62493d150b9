/* SPDX-License-Identifier: MIT */
/*
 * pending - requests accepted by the runtime that end later: queues, each ended in order.
 *
 * An execution of the implicit asynchronous mode ends with the runtime's callback, or when the
 * client has drained the queue. A request of the explicit interface ends when the client learns it,
 * or else our thread: it polls the latest sequence of nonempty queues every millisecond, is started
 * by the first request, and ends before nrt_close and with the program. The only event of a queue
 * is left to the client.
 *
 * Owner:   queues are created by their first request and never freed. Inputs are copied.
 * Threads: any. After a fork, _after_fork() in the child first.
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_PENDING_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_PENDING_H

#include "runtime-hooks/interpose/observe.h"

#define PENDING_QUEUES 256u
#define PENDING_REQUESTS 1024u /* per queue; further ones are counted without latency */

/* Determines the result of a completed request. Called without a lock. */
struct pending_request;
typedef NRT_STATUS pending_status_function(const struct pending_request *request);
/* The latest completed sequence; false: unknown. */
typedef bool pending_latest_function(uint32_t vnc, uint32_t unit, int queue,
                                     uint64_t *out_sequence);

enum pending_kind { PENDING_EXECUTION, PENDING_TRANSFER, PENDING_COLLECTIVE };

struct pending_request {
    uint64_t sequence; /* 0: of the implicit mode */
    uint32_t generation;
    enum pending_kind kind;
    bool was_listed;   /* the client may hold the list of its error tracker */
    NRT_STATUS status; /* status in the list; else NRT_SUCCESS */
    union {
        struct ntk_hooks_exec execution;
        struct ntk_hooks_transfer transfer;
        ntk_hooks_comm comm; /* where the operation has started */
    };
    pending_status_function *status_get; /* NULL: status */
    void *outcome;                       /* the client's status, or its error tracker */
};

/* A queue: in the implicit mode by core, in the explicit interface by the upper part of its
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
/* The runtime rejected it after all; by execution id. False: it has already ended. */
bool pending_remove(uint64_t key, uint64_t execution_id);
void pending_end_first(uint64_t key, NRT_STATUS status);
/* Up to and including this sequence. */
void pending_end_through(uint64_t sequence);
/* All of the implicit mode on the core; NTK_NO_CORE: on all cores. */
void pending_end_implicit(uint16_t core, NRT_STATUS status);
/* The client's results for requests of an error tracker. */
void pending_listed(const void *tracker, const uint64_t *sequences, const NRT_STATUS *statuses,
                    size_t count);

/* Before the runtime closes: stops our thread after a last poll. */
void pending_stop(void);
void pending_after_fork(void);

#endif
