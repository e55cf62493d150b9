/* SPDX-License-Identifier: MIT */
/*
 * core_queue - queues of items that a common crew of workers processes, each queue in order.
 *
 * Items of one queue are numbered from 1, and run and complete in that order, one at a time. Queues
 * with runnable items wait in line: a worker takes the first, runs one item of it and puts the
 * queue at the end. A crew starts workers on demand; their maximum number limits parallel items. If
 * items wait for items of other queues, it needs one worker per queue.
 *
 * Owner:   items are structs of the caller that begin with ntk_core_queue_item; from its submission
 *          until its destroy function is called, an item belongs to the queue. Destroy all queues
 *          of a crew before it.
 * Threads: any; stop and destroy from one at a time, and not from a worker. run and destroy are
 *          called in a worker, or in a thread that acts as one, with nothing locked.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_QUEUE_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_CORE_QUEUE_FOREVER UINT64_MAX

struct ntk_core_crew;
struct ntk_core_queue;

struct ntk_core_queue_item {
    /* Does the work. is_broken: an earlier item broke the queue, so only inform the caller. Returns
     * false if this item breaks the queue. Its writes are visible to all that see the item
     * complete. */
    bool (*run)(struct ntk_core_queue_item *item, bool is_broken);
    /* Called after completion; frees the item. */
    void (*destroy)(struct ntk_core_queue_item *item);
    /* Set by the queue. Times are CLOCK_MONOTONIC: start before run, end before destroy. */
    uint64_t number;
    uint64_t submit_ns, start_ns, end_ns;
    struct ntk_core_queue_item *next;
    int kind;
};

/* What a submission to a full queue does. */
enum ntk_core_queue_full { NTK_CORE_QUEUE_REFUSES, NTK_CORE_QUEUE_WAITS };

/* Returns NULL if out of memory. Starts no thread. */
struct ntk_core_crew *ntk_core_crew_create(uint32_t worker_count_max);
/* Makes all queues reject further items from now on. */
void ntk_core_crew_shut(struct ntk_core_crew *crew);
/* Shuts down, then waits until every queue is empty and every worker has ended. */
void ntk_core_crew_stop(struct ntk_core_crew *crew);
/* Stops the crew first. */
void ntk_core_crew_destroy(struct ntk_core_crew *crew);
/* Returns true if the calling thread is a worker of any crew, which must not wait for queues. */
bool ntk_core_crew_is_worker(void);

/* depth is the maximum number of incomplete items, not 0. Returns NULL if out of memory. */
struct ntk_core_queue *ntk_core_queue_create(struct ntk_core_crew *crew, uint32_t depth,
                                             enum ntk_core_queue_full full);
/* Lets a thread that waits without a timeout run the queue's items itself if no worker has taken
 * them, which saves two hand-overs: run and destroy are then called in that thread. An item may
 * start about 0.1 ms later, because submissions wake no worker that naps. To be called before the
 * first submission. */
void ntk_core_queue_let_help(struct ntk_core_queue *queue);
/* Rejects further submissions of the queue's own items, waits until it is empty, and frees it. No
 * other thread may use it. */
void ntk_core_queue_destroy(struct ntk_core_queue *queue);

/* Submits an item. Returns -EAGAIN if the queue is full and rejects; -EDEADLK if it is full and the
 * caller is a worker that would have to wait; -ENOTRECOVERABLE if it is broken; -ESHUTDOWN if it is
 * shut; -ENOMEM if no thread could be started. On failure, the caller still owns the item.
 * Otherwise sets *out_number (may be NULL) before run is called. */
int ntk_core_queue_submit(struct ntk_core_queue *queue, struct ntk_core_queue_item *item,
                          uint64_t *out_number);

/* Reserves an empty queue for one item that the calling thread runs itself, which saves the
 * hand-over to a worker. The thread is not a worker, and blocks or ignores SIGXFSZ. Items that are
 * submitted meanwhile wait. Returns false if the queue is not empty, or accepts no items. */
bool ntk_core_queue_reserve(struct ntk_core_queue *queue);
/* Runs and destroys the item of a reserved queue. */
void ntk_core_queue_run(struct ntk_core_queue *queue, struct ntk_core_queue_item *item);

/* The number of the latest complete item; 0 before the first. */
uint64_t ntk_core_queue_completed_get(const struct ntk_core_queue *queue);
/* Returns 1 if complete, 0 if not yet, -EINVAL if never submitted. */
int ntk_core_queue_is_complete(struct ntk_core_queue *queue, uint64_t number);
/* Waits until the item is complete. Returns -EINVAL if it was never submitted, -ETIMEDOUT, or
 * -EDEADLK if called by a worker that would have to wait. */
int ntk_core_queue_wait(struct ntk_core_queue *queue, uint64_t number, uint64_t timeout_ns);
/* Returns true if all submitted items are complete. */
bool ntk_core_queue_is_idle(struct ntk_core_queue *queue);
/* Waits until all items submitted before are complete. Returns -EDEADLK if called by a worker that
 * would have to wait. */
int ntk_core_queue_sync(struct ntk_core_queue *queue);

/* Adds 1 to the eventfd when the item completes, or now if it has; fd -1 cancels the request for
 * this number. The descriptor is duplicated. Returns -EINVAL if the item was never submitted or fd
 * is not an eventfd, -ENOSPC if there are too many. */
int ntk_core_queue_watch(struct ntk_core_queue *queue, uint64_t number, int fd);
/* Same, for every completion from now on; one descriptor per queue, fd -1 cancels it. */
int ntk_core_queue_watch_all(struct ntk_core_queue *queue, int fd);

#ifdef __cplusplus
}
#endif
#endif
