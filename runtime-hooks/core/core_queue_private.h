/* SPDX-License-Identifier: MIT */
/*
 * core_queue_private - private interfaces between crew, queues and notifiers.
 *
 * One lock per crew protects all of its data. A queue is driven from the moment it gets an item
 * until it is empty: it waits in line, a worker has it, or it waits for a placement, so it is in at
 * most one list.
 *
 * Owner:   the function that takes an item owns it.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_QUEUE_PRIVATE_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_QUEUE_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime-hooks/core/core_queue.h"
#include "shared/base/vec.h"

/* The kinds of items. */
enum { NTK_CORE_ITEM_WORK, NTK_CORE_ITEM_PLACEMENT, NTK_CORE_ITEM_WAIT };

struct ntk_core_crew {
    pthread_mutex_t lock;
    pthread_cond_t work;                 /* signalled for idle workers */
    pthread_cond_t over;                 /* signalled for ntk_core_crew_stop() */
    struct ntk_core_queue *first, *last; /* line of queues that wait for a worker */
    uint32_t in_line_count;
    uint32_t driven_count;
    uint32_t idle_count;     /* number of sleeping workers that were not woken */
    uint32_t napping_count;  /* number of workers that look at the line soon, woken or not */
    uint32_t expected_count; /* number of workers that were woken or started and have not arrived */
    uint32_t woken_count;    /* how many of expected_count were woken */
    bool is_shut;
    bool naps; /* one of the queues lets threads help */
    uint32_t worker_count, worker_count_max;
    pthread_t workers[];
};

struct ntk_core_queue {
    struct ntk_core_crew *crew;
    /* next in the line, or in a list of queues that wait for a placement */
    struct ntk_core_queue *next;
    struct ntk_core_queue_item *first, *last;
    uint64_t submitted;
    _Atomic uint64_t completed;
    uint64_t wanted; /* threads that wait are woken by the completion of this number */
    uint32_t depth;
    bool is_waiting_when_full;
    bool helps;
    bool is_broken;
    bool is_closing;
    bool is_driven;
    int watch_all_fd;       /* -1 if there is none */
    struct ntk_vec watches; /* elements are struct watch */
    pthread_cond_t changed; /* signalled when an item is complete, or the queue is empty */
};

struct ntk_core_placement {
    struct ntk_core_queue_item item;
    uint32_t holders; /* number of references: the queue, notifiers, waiting queues and threads */
    bool is_reached;
    uint64_t reached_ns;
    struct ntk_core_queue *waiting;
    pthread_cond_t reached;
};

struct ntk_core_queue_wait_item {
    struct ntk_core_queue_item item;
    struct ntk_core_placement *placement;
};

/* The caller must hold the lock for all of the following functions. */

/* Adds the queue at the end of the line. */
void ntk_core_crew_line_add(struct ntk_core_crew *crew, struct ntk_core_queue *queue);
/* Gets a worker for each of this many queues, up to the crew's limit. Returns -errno if a thread
 * cannot be started. */
int ntk_core_crew_call(struct ntk_core_crew *crew, uint32_t queue_count);
void ntk_core_crew_undriven(struct ntk_core_crew *crew);
/* Runs the items of a queue in the line up to this number in this thread, which is not a worker.
 * Returns early if the queue waits for a placement, and false at once if it is not in the line. */
bool ntk_core_crew_help(struct ntk_core_crew *crew, struct ntk_core_queue *queue, uint64_t number);

/* Runs an item of a driven queue that is in no list in this thread, which is not a worker. */
void ntk_core_crew_lend(struct ntk_core_crew *crew, struct ntk_core_queue *queue,
                        struct ntk_core_queue_item *item);

/* Adds an item of any kind; returns the same values as ntk_core_queue_submit(). */
int ntk_core_queue_append(struct ntk_core_queue *queue, struct ntk_core_queue_item *item,
                          uint64_t *out_number);
/* Removes and returns the first item of a queue that is not empty, and marks it as complete. */
struct ntk_core_queue_item *ntk_core_queue_take(struct ntk_core_queue *queue);
void ntk_core_queue_complete(struct ntk_core_queue *queue, const struct ntk_core_queue_item *item);
/* Continues a driven queue that is in no list: processes items that need no worker, until it waits
 * in line, waits for a placement or is empty. */
void ntk_core_queue_advance(struct ntk_core_queue *queue);

/* Watches by eventfd; _signal notifies them. */
void ntk_core_queue_watches_init(struct ntk_core_queue *queue);
void ntk_core_queue_watches_signal(struct ntk_core_queue *queue, uint64_t completed);
void ntk_core_queue_watches_fini(struct ntk_core_queue *queue);

/* Marks a placement as reached; *waiting gets the queues that waited for it. */
void ntk_core_placement_reach(struct ntk_core_placement *placement,
                              struct ntk_core_queue **waiting);
void ntk_core_placement_drop(struct ntk_core_placement *placement);

#endif
