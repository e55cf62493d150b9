/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_queue_private.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/base/clock.h"
#include "shared/base/cond.h"

struct ntk_core_queue_item *ntk_core_queue_take(struct ntk_core_queue *queue)
{
    struct ntk_core_queue_item *item = queue->first;

    queue->first = item->next;
    if (!queue->first) {
        queue->last = NULL;
    }
    return item;
}

void ntk_core_queue_complete(struct ntk_core_queue *queue, const struct ntk_core_queue_item *item)
{
    /* Pairs with the acquire in ntk_core_queue_completed_get(). */
    atomic_store_explicit(&queue->completed, item->number, memory_order_release);
    ntk_core_queue_watches_signal(queue, item->number);
    if (item->number >= queue->wanted || queue->is_broken) {
        queue->wanted = UINT64_MAX;
        pthread_cond_broadcast(&queue->changed);
    }
}

/* Waits for a completion of this number or a later one; it may return earlier. The caller holds the
 * lock. */
static int changed_wait(struct ntk_core_queue *queue, uint64_t number, uint64_t until_ns)
{
    queue->wanted = number < queue->wanted ? number : queue->wanted;
    return ntk_cond_wait_until(&queue->changed, &queue->crew->lock, until_ns);
}

/* Does one step of ntk_core_queue_advance(); returns false if the queue is blocked. */
static bool step(struct ntk_core_queue *queue, struct ntk_core_queue **also)
{
    struct ntk_core_queue_item *item = queue->first;

    if (!item) {
        queue->is_driven = false;
        pthread_cond_broadcast(&queue->changed);
        ntk_core_crew_undriven(queue->crew);
        return false;
    }
    if (item->kind == NTK_CORE_ITEM_WORK) {
        ntk_core_crew_line_add(queue->crew, queue);
        return false;
    }
    if (item->kind == NTK_CORE_ITEM_WAIT) {
        struct ntk_core_placement *placement = ((struct ntk_core_queue_wait_item *)item)->placement;

        if (!placement->is_reached) {
            queue->next = placement->waiting;
            placement->waiting = queue;
            return false;
        }
        ntk_core_queue_complete(queue, ntk_core_queue_take(queue));
        ntk_core_placement_drop(placement);
        free(item);
        return true;
    }
    ntk_core_queue_complete(queue, ntk_core_queue_take(queue));
    ntk_core_placement_reach((struct ntk_core_placement *)item, also);
    ntk_core_placement_drop((struct ntk_core_placement *)item);
    return true;
}

void ntk_core_queue_advance(struct ntk_core_queue *queue)
{
    /* Iterative instead of recursive, because a chain may be as long as the number of queues. */
    queue->next = NULL;
    while (queue) {
        struct ntk_core_queue *also = queue->next;

        while (step(queue, &also)) {
        }
        queue = also;
    }
}

struct ntk_core_queue *ntk_core_queue_create(struct ntk_core_crew *crew, uint32_t depth,
                                             enum ntk_core_queue_full full)
{
    struct ntk_core_queue *queue = calloc(1, sizeof *queue);

    if (queue) {
        queue->crew = crew;
        queue->depth = depth;
        queue->wanted = UINT64_MAX;
        queue->is_waiting_when_full = full == NTK_CORE_QUEUE_WAITS;
        ntk_core_queue_watches_init(queue);
        pthread_cond_init(&queue->changed, NULL);
    }
    return queue;
}

void ntk_core_queue_destroy(struct ntk_core_queue *queue)
{
    if (!queue) {
        return;
    }
    pthread_mutex_lock(&queue->crew->lock);
    queue->is_closing = true;
    while (queue->is_driven) {
        pthread_cond_wait(&queue->changed, &queue->crew->lock);
    }
    pthread_mutex_unlock(&queue->crew->lock);
    ntk_core_queue_watches_fini(queue);
    pthread_cond_destroy(&queue->changed);
    free(queue);
}

/* Returns 0 if there is room for another item. The caller holds the lock, which is released while
 * waiting. */
static int room_get(struct ntk_core_queue *queue)
{
    for (;;) {
        if (queue->crew->is_shut || queue->is_closing) {
            return -ESHUTDOWN;
        }
        if (queue->is_broken) {
            return -ENOTRECOVERABLE;
        }
        if (queue->submitted - ntk_core_queue_completed_get(queue) < queue->depth) {
            return 0;
        }
        if (!queue->is_waiting_when_full) {
            return -EAGAIN;
        }
        if (ntk_core_crew_is_worker()) {
            return -EDEADLK;
        }
        /* Until a quarter is free, so that this thread does not wake for every item. */
        (void)changed_wait(queue, queue->submitted + 1 - queue->depth + queue->depth / 4,
                           NTK_COND_FOREVER);
    }
}

/* Workers that nap look at the line soon. A queue can wait for them if threads help it. */
static int workers_call(const struct ntk_core_queue *queue, uint32_t queue_count)
{
    return queue->helps && queue_count <= queue->crew->napping_count
               ? 0
               : ntk_core_crew_call(queue->crew, queue_count);
}

int ntk_core_queue_append(struct ntk_core_queue *queue, struct ntk_core_queue_item *item,
                          uint64_t *out_number)
{
    struct ntk_core_crew *crew = queue->crew;
    int ret = room_get(queue);

    if (ret == 0 && item->kind == NTK_CORE_ITEM_WORK && !queue->is_driven &&
        workers_call(queue, crew->in_line_count + 1) < 0) {
        ret = -ENOMEM;
    }
    if (ret < 0) {
        return ret;
    }
    item->number = ++queue->submitted;
    item->next = NULL;
    if (out_number) {
        *out_number = item->number;
    }
    if (queue->last) {
        queue->last->next = item;
    } else {
        queue->first = item;
    }
    queue->last = item;
    if (!queue->is_driven) {
        queue->is_driven = true;
        crew->driven_count++;
        ntk_core_queue_advance(queue);
        (void)workers_call(queue, crew->in_line_count);
    }
    return 0;
}

int ntk_core_queue_submit(struct ntk_core_queue *queue, struct ntk_core_queue_item *item,
                          uint64_t *out_number)
{
    item->kind = NTK_CORE_ITEM_WORK;
    item->submit_ns = ntk_clock_monotonic_ns();
    pthread_mutex_lock(&queue->crew->lock);
    int ret = ntk_core_queue_append(queue, item, out_number);
    pthread_mutex_unlock(&queue->crew->lock);
    return ret;
}

bool ntk_core_queue_reserve(struct ntk_core_queue *queue)
{
    pthread_mutex_lock(&queue->crew->lock);
    bool is_free = !queue->is_driven && room_get(queue) == 0;
    if (is_free) {
        queue->is_driven = true;
        queue->submitted++;
        queue->crew->driven_count++;
    }
    pthread_mutex_unlock(&queue->crew->lock);
    return is_free;
}

void ntk_core_queue_run(struct ntk_core_queue *queue, struct ntk_core_queue_item *item)
{
    struct ntk_core_crew *crew = queue->crew;

    item->kind = NTK_CORE_ITEM_WORK;
    item->submit_ns = ntk_clock_monotonic_ns();
    pthread_mutex_lock(&crew->lock);
    item->number = ntk_core_queue_completed_get(queue) + 1;
    ntk_core_crew_lend(crew, queue, item);
    pthread_mutex_unlock(&crew->lock);
}

uint64_t ntk_core_queue_completed_get(const struct ntk_core_queue *queue)
{
    return atomic_load_explicit(&queue->completed, memory_order_acquire);
}

int ntk_core_queue_is_complete(struct ntk_core_queue *queue, uint64_t number)
{
    if (number == 0) {
        return -EINVAL;
    }
    if (number <= ntk_core_queue_completed_get(queue)) {
        return 1;
    }
    pthread_mutex_lock(&queue->crew->lock);
    int ret = number <= queue->submitted ? 0 : -EINVAL;
    pthread_mutex_unlock(&queue->crew->lock);
    return ret;
}

/* The caller holds the lock. */
static int completion_wait(struct ntk_core_queue *queue, uint64_t number, uint64_t timeout_ns)
{
    uint64_t until_ns = ntk_cond_until(timeout_ns);
    int ret = 0;

    while (ntk_core_queue_completed_get(queue) < number) {
        if (ret < 0 || ntk_core_crew_is_worker()) {
            return ret < 0 ? ret : -EDEADLK;
        }
        if (timeout_ns == NTK_CORE_QUEUE_FOREVER && queue->helps &&
            ntk_core_crew_help(queue->crew, queue, number)) {
            continue;
        }
        ret = changed_wait(queue, number, until_ns);
    }
    return 0;
}

int ntk_core_queue_wait(struct ntk_core_queue *queue, uint64_t number, uint64_t timeout_ns)
{
    int ret = -EINVAL;

    pthread_mutex_lock(&queue->crew->lock);
    if (number > 0 && number <= queue->submitted) {
        ret = completion_wait(queue, number, timeout_ns);
    }
    pthread_mutex_unlock(&queue->crew->lock);
    return ret;
}

void ntk_core_queue_let_help(struct ntk_core_queue *queue)
{
    queue->helps = true;
    pthread_mutex_lock(&queue->crew->lock);
    queue->crew->naps = true;
    pthread_mutex_unlock(&queue->crew->lock);
}

bool ntk_core_queue_is_idle(struct ntk_core_queue *queue)
{
    pthread_mutex_lock(&queue->crew->lock);
    bool is_idle = ntk_core_queue_completed_get(queue) == queue->submitted;
    pthread_mutex_unlock(&queue->crew->lock);
    return is_idle;
}

int ntk_core_queue_sync(struct ntk_core_queue *queue)
{
    pthread_mutex_lock(&queue->crew->lock);
    int ret = completion_wait(queue, queue->submitted, NTK_CORE_QUEUE_FOREVER);
    pthread_mutex_unlock(&queue->crew->lock);
    return ret;
}
