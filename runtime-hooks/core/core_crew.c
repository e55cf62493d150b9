/* SPDX-License-Identifier: MIT */
/*
 * core_crew - the workers, and the line of queues that wait for one.
 */
#include "runtime-hooks/core/core_queue_private.h"

#include <stdlib.h>

#include "runtime-hooks/core/core_thread.h"
#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/quiet.h"

/* If threads help queues, a worker naps a few times before it sleeps. Items that are submitted to
 * these queues meanwhile need not wake it. */
#define NAP_NS (50 * NTK_NS_PER_US)
#define NAPS 4

static _Thread_local bool is_worker;

bool ntk_core_crew_is_worker(void)
{
    return is_worker;
}

void ntk_core_crew_line_add(struct ntk_core_crew *crew, struct ntk_core_queue *queue)
{
    queue->next = NULL;
    if (crew->last) {
        crew->last->next = queue;
    } else {
        crew->first = queue;
    }
    crew->last = queue;
    crew->in_line_count++;
}

/* Takes the first queue from the line; NULL if the line is empty. */
static struct ntk_core_queue *line_take(struct ntk_core_crew *crew)
{
    struct ntk_core_queue *queue = crew->first;

    if (queue) {
        crew->first = queue->next;
        if (!crew->first) {
            crew->last = NULL;
        }
        crew->in_line_count--;
    }
    return queue;
}

/* Removes the queue from the line; false if it is not in the line. */
static bool line_remove(struct ntk_core_crew *crew, const struct ntk_core_queue *queue)
{
    struct ntk_core_queue *before = NULL;

    for (struct ntk_core_queue *at = crew->first; at; before = at, at = at->next) {
        if (at == queue) {
            *(before ? &before->next : &crew->first) = at->next;
            crew->last = crew->last == at ? before : crew->last;
            crew->in_line_count--;
            return true;
        }
    }
    return false;
}

static bool is_over(const struct ntk_core_crew *crew)
{
    return crew->is_shut && crew->driven_count == 0;
}

void ntk_core_crew_undriven(struct ntk_core_crew *crew)
{
    crew->driven_count--;
    if (is_over(crew)) {
        pthread_cond_broadcast(&crew->work);
        pthread_cond_broadcast(&crew->over);
    }
}

/* Sleeps until needed, until the end, or for the time of a nap. Returns true if this worker was
 * woken. The caller holds the lock. */
static bool work_wait(struct ntk_core_crew *crew, bool is_nap)
{
    uint64_t until_ns = is_nap ? ntk_cond_until(NAP_NS) : NTK_COND_FOREVER;
    int ret = 0;

    crew->idle_count++;
    crew->napping_count += is_nap ? 1 : 0;
    while (crew->woken_count == 0 && !is_over(crew) && ret == 0) {
        ret = ntk_cond_wait_until(&crew->work, &crew->lock, until_ns);
    }
    crew->napping_count -= is_nap ? 1 : 0;
    if (crew->woken_count > 0) {
        crew->woken_count--;
        crew->expected_count--;
        return true;
    }
    crew->idle_count--;
    return false;
}

/* Runs an item that was taken from its queue; then the queue continues. The caller holds the lock,
 * which is released during run and destroy. */
static void item_run(struct ntk_core_crew *crew, struct ntk_core_queue *queue,
                     struct ntk_core_queue_item *item)
{
    bool is_broken = queue->is_broken;

    pthread_mutex_unlock(&crew->lock);
    item->start_ns = ntk_clock_monotonic_ns();
    bool is_sound = item->run(item, is_broken);
    item->end_ns = ntk_clock_monotonic_ns();
    pthread_mutex_lock(&crew->lock);
    queue->is_broken |= !is_sound;
    ntk_core_queue_complete(queue, item);
    pthread_mutex_unlock(&crew->lock);
    item->destroy(item);
    pthread_mutex_lock(&crew->lock);
    ntk_core_queue_advance(queue);
    /* This worker serves one queue. With too few workers the line is slower, but never stuck. */
    if (crew->in_line_count > 1) {
        (void)ntk_core_crew_call(crew, crew->in_line_count - 1);
    }
}

void ntk_core_crew_lend(struct ntk_core_crew *crew, struct ntk_core_queue *queue,
                        struct ntk_core_queue_item *item)
{
    is_worker = true; /* it was not one */
    item_run(crew, queue, item);
    is_worker = false;
    /* Get workers for the queues, because this thread serves none of them. */
    (void)ntk_core_crew_call(crew, crew->in_line_count);
}

bool ntk_core_crew_help(struct ntk_core_crew *crew, struct ntk_core_queue *queue, uint64_t number)
{
    if (!line_remove(crew, queue)) {
        return false;
    }
    /* An item may write files. The crew's workers block SIGXFSZ, but the application's threads do
     * not. */
    struct ntk_quiet quiet = { 0 };
    if (ntk_quiet_is_limited()) {
        ntk_quiet_enter(&quiet);
    }
    is_worker = true;
    do {
        item_run(crew, queue, ntk_core_queue_take(queue));
    } while (ntk_core_queue_completed_get(queue) < number && line_remove(crew, queue));
    is_worker = false;
    ntk_quiet_leave(&quiet);
    (void)ntk_core_crew_call(crew, crew->in_line_count);
    return true;
}

static void *worker(void *ctx)
{
    struct ntk_core_crew *crew = ctx;

    unsigned naps = 0;

    is_worker = true;
    pthread_mutex_lock(&crew->lock);
    crew->expected_count--;
    for (;;) {
        struct ntk_core_queue *queue = line_take(crew);

        if (queue) {
            naps = crew->naps ? NAPS : 0;
            item_run(crew, queue, ntk_core_queue_take(queue));
        } else if (is_over(crew)) {
            break;
        } else if (work_wait(crew, naps > 0)) {
            naps = crew->naps ? NAPS : 0;
        } else {
            naps -= naps > 0 ? 1 : 0;
        }
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

int ntk_core_crew_call(struct ntk_core_crew *crew, uint32_t queue_count)
{
    int ret = 0;

    while (ret == 0 && crew->expected_count < queue_count) {
        if (crew->idle_count > 0) {
            crew->idle_count--;
            crew->woken_count++;
            crew->expected_count++;
            pthread_cond_signal(&crew->work);
        } else if (crew->worker_count < crew->worker_count_max) {
            ret = ntk_core_thread_start(&crew->workers[crew->worker_count], worker, crew);
            if (ret == 0) {
                crew->worker_count++;
                crew->expected_count++;
            }
        } else {
            break;
        }
    }
    return ret;
}

struct ntk_core_crew *ntk_core_crew_create(uint32_t worker_count_max)
{
    struct ntk_core_crew *crew =
        calloc(1, sizeof *crew + worker_count_max * sizeof crew->workers[0]);

    if (crew) {
        crew->worker_count_max = worker_count_max;
        pthread_mutex_init(&crew->lock, NULL);
        pthread_cond_init(&crew->work, NULL);
        pthread_cond_init(&crew->over, NULL);
    }
    return crew;
}

void ntk_core_crew_shut(struct ntk_core_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    crew->is_shut = true;
    if (is_over(crew)) {
        pthread_cond_broadcast(&crew->work);
    }
    pthread_mutex_unlock(&crew->lock);
}

void ntk_core_crew_stop(struct ntk_core_crew *crew)
{
    ntk_core_crew_shut(crew);
    pthread_mutex_lock(&crew->lock);
    while (!is_over(crew)) {
        pthread_cond_wait(&crew->over, &crew->lock);
    }
    /* All queues are idle, so no worker is started from here on. */
    uint32_t worker_count = crew->worker_count;
    crew->worker_count = 0;
    pthread_mutex_unlock(&crew->lock);
    for (uint32_t i = 0; i < worker_count; i++) {
        pthread_join(crew->workers[i], NULL);
    }
}

void ntk_core_crew_destroy(struct ntk_core_crew *crew)
{
    if (!crew) {
        return;
    }
    ntk_core_crew_stop(crew);
    pthread_cond_destroy(&crew->over);
    pthread_cond_destroy(&crew->work);
    pthread_mutex_destroy(&crew->lock);
    free(crew);
}
