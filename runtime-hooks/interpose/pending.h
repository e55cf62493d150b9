/* SPDX-License-Identifier: MIT */
/*
 * pending - follows requests that the runtime has accepted and that end later, in queues; the
 * requests of a queue end in order.
 *
 * An execution of the implicit asynchronous mode ends with the runtime's callback, or when the
 * client has drained the queue. A request of the explicit interface ends when the client learns of
 * its completion, or when a thread of this library does: the thread polls the latest sequence of
 * nonempty queues every millisecond, starts with the first request, and ends before nrt_close() and
 * with the program. The only event of a queue is left to the client.
 *
 * Owner:   queues are created by their first request and never freed. Inputs are copied.
 * Threads: any. After a fork, the child calls _after_fork() first.
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_PENDING_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_PENDING_H

#include "runtime-hooks/interpose/observe.h"

#define PENDING_QUEUES 256u
#define PENDING_REQUESTS 1024u /* maximum per queue; further requests are counted without latency */

/* Determines the result of a completed request. The caller holds no lock. */
struct pending_request;
typedef NRT_STATUS pending_status_function(const struct pending_request *request);
/* Returns the latest completed sequence; false if unknown. */
typedef bool pending_latest_function(uint32_t vnc, uint32_t unit, int queue,
                                     uint64_t *out_sequence);

enum pending_kind { PENDING_EXECUTION, PENDING_TRANSFER, PENDING_COLLECTIVE };

struct pending_request {
    uint64_t sequence; /* 0 in the implicit mode */
    uint32_t generation;
    enum pending_kind kind;
    bool was_listed;   /* the client may hold the list of its error tracker */
    NRT_STATUS status; /* status from the list, else NRT_SUCCESS */
    union {
        struct ntk_hooks_exec execution;
        struct ntk_hooks_transfer transfer;
        ntk_hooks_comm comm; /* communicator in which the operation has started */
    };
    pending_status_function *status_get; /* NULL if `status` is final */
    void *outcome;                       /* the client's status or error tracker */
};

/* Key of a queue: in the implicit mode by core, in the explicit interface by the upper bits of its
 * sequences. */
#define PENDING_IMPLICIT(core) (1ull << 63 | (uint64_t)(core))
#define PENDING_EXPLICIT(sequence) ((sequence) >> 48)

struct pending_place {
    uint64_t key;
    pending_latest_function *latest; /* NULL in the implicit mode */
    uint32_t vnc;
    uint32_t unit;
    int queue;
};

void pending_add(const struct pending_place *place, const struct pending_request *request);
/* Removes a request that the runtime has rejected, by execution id. Returns false if it has already
 * ended. */
bool pending_remove(uint64_t key, uint64_t execution_id);
void pending_end_first(uint64_t key, NRT_STATUS status);
/* Ends all requests up to and including this sequence. */
void pending_end_through(uint64_t sequence);
/* Ends all requests of the implicit mode on the core; on all cores if NTK_NO_CORE. */
void pending_end_implicit(uint16_t core, NRT_STATUS status);
/* Records the results that the client read for requests of an error tracker. */
void pending_listed(const void *tracker, const uint64_t *sequences, const NRT_STATUS *statuses,
                    size_t count);

/* Called before the runtime closes: stops the polling thread after a last poll. */
void pending_stop(void);
void pending_after_fork(void);

#endif
