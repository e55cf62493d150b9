/* SPDX-License-Identifier: MIT */
/*
 * core_async - queues of requests, each worked off in order by a thread of its own.
 *
 * A queue is named by core, unit (a kind of work, the front's numbering) and index. It and its thread
 * come into being with the first request. Requests of one queue are numbered from 1 and complete in
 * order; queues know nothing of one another.
 *
 * Owner:   ntk_core_async_create() allocates, ntk_core_async_destroy() frees after a stop. A request is
 *          the caller's struct with ntk_core_async_request first; submitted, it belongs to the queue
 *          until its destroy function has been called.
 * Threads: any; create, stop and destroy from one at a time. run and destroy are called in the queue's
 *          thread, with nothing locked.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_ASYNC_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_ASYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_CORE_ASYNC_UNITS 8U
#define NTK_CORE_ASYNC_QUEUES 4U /* of a unit, at most */
#define NTK_CORE_ASYNC_DEPTH_MAX 4096U

struct ntk_core_async;

struct ntk_core_async_queue_name {
    uint32_t core;
    uint32_t unit;
    uint32_t index;
};

struct ntk_core_async_unit {
    uint32_t queue_count; /* 0: there is no such unit */
    uint32_t depth;       /* requests of a queue that are not complete, at most */
};

struct ntk_core_async_request {
    /* Does the work. is_broken: an earlier request broke the unit, so tell the caller and do nothing.
     * False when this one broke it. What it wrote is seen by whoever sees the request complete. */
    bool (*run)(struct ntk_core_async_request *request, bool is_broken);
    /* After completion; frees the request. */
    void (*destroy)(struct ntk_core_async_request *request);
    /* Set by the submission, before run. */
    struct ntk_core_async_queue_name queue;
    uint64_t number;
    struct ntk_core_async_request *next;
};

/* units: NTK_CORE_ASYNC_UNITS of them. NULL without memory. Starts no thread. */
struct ntk_core_async *ntk_core_async_create(uint32_t core_count,
                                             const struct ntk_core_async_unit *units);
/* Refuses further requests, then waits until every queue is empty and its thread has ended. */
void ntk_core_async_stop(struct ntk_core_async *async);
void ntk_core_async_destroy(struct ntk_core_async *async);

/* -EINVAL no such queue, -EAGAIN full, -ENOTRECOVERABLE broken, -ESHUTDOWN stopped, -ENOMEM: the request
 * is the caller's still. Else the number goes to *out_number (NULL: nowhere), before run is called. */
int ntk_core_async_submit(struct ntk_core_async *async,
                          const struct ntk_core_async_queue_name *name,
                          struct ntk_core_async_request *request, uint64_t *out_number);

/* The number of the latest complete request, 0 before the first. -EINVAL no such queue. */
int ntk_core_async_completed_get(struct ntk_core_async *async,
                                 const struct ntk_core_async_queue_name *name,
                                 uint64_t *out_number);
/* 1 complete, 0 not yet, -EINVAL never submitted. */
int ntk_core_async_is_complete(struct ntk_core_async *async,
                               const struct ntk_core_async_queue_name *name, uint64_t number);
/* Returns when the queue is empty. */
int ntk_core_async_drain(struct ntk_core_async *async,
                         const struct ntk_core_async_queue_name *name);

/* Adds 1 to the eventfd when the request completes, or now when it has; -1 takes back what was asked
 * for this number. The descriptor is duplicated. -EINVAL never submitted or no eventfd, -ENOSPC too
 * many. */
int ntk_core_async_watch(struct ntk_core_async *async, const struct ntk_core_async_queue_name *name,
                         uint64_t number, int fd);
/* The same for every completion from now on; one descriptor per queue, -1 ends it. */
int ntk_core_async_watch_all(struct ntk_core_async *async,
                             const struct ntk_core_async_queue_name *name, int fd);

/* Whether the calling thread is one of a queue: it must not wait for queues. */
bool ntk_core_async_is_worker(void);

#ifdef __cplusplus
}
#endif
#endif
