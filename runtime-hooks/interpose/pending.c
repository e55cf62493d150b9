/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/interpose/pending.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POLL_NS 1000000L

struct queue {
    struct pending_place place;
    pthread_mutex_t lock;
    uint64_t head; /* number of the oldest request; only increases */
    uint64_t tail;
    struct pending_request requests[PENDING_REQUESTS];
};

/* Filled from the start under the lock; entries stay. */
static struct queue *queues[PENDING_QUEUES];
static pthread_mutex_t queues_lock = PTHREAD_MUTEX_INITIALIZER;

static const pthread_mutex_t fresh_mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- queues ---- */

static struct queue *queue_find(uint64_t key)
{
    for (uint32_t i = 0; i < PENDING_QUEUES; i++) {
        struct queue *queue = __atomic_load_n(&queues[i], __ATOMIC_ACQUIRE);

        if (!queue || queue->place.key == key) {
            return queue;
        }
    }
    return NULL;
}

static struct queue *queue_make(const struct pending_place *place)
{
    struct queue *queue;

    pthread_mutex_lock(&queues_lock);
    queue = queue_find(place->key);
    for (uint32_t i = 0; i < PENDING_QUEUES && !queue; i++) {
        if (!queues[i]) {
            queue = calloc(1, sizeof *queue);
            if (!queue) {
                break;
            }
            queue->place = *place;
            memcpy(&queue->lock, &fresh_mutex, sizeof fresh_mutex);
            __atomic_store_n(&queues[i], queue, __ATOMIC_RELEASE);
        }
    }
    pthread_mutex_unlock(&queues_lock);
    return queue;
}

static struct pending_request *request_at(struct queue *queue, uint64_t index)
{
    return &queue->requests[index % PENDING_REQUESTS];
}

/* ---- the end of a request ---- */

static void request_end(struct pending_request *request, NRT_STATUS status)
{
    if (request->generation != __atomic_load_n(&interpose_generation, __ATOMIC_ACQUIRE)) {
        return;
    }
    switch (request->kind) {
    case PENDING_EXECUTION:
        request->execution.status = (uint32_t)status;
        ntk_hooks_exec_end(&request->execution);
        break;
    case PENDING_TRANSFER:
        if (status == NRT_SUCCESS) {
            ntk_hooks_transfer(&request->transfer);
        }
        break;
    case PENDING_COLLECTIVE:
        ntk_hooks_collective_end(request->comm, 0, (uint32_t)status);
        break;
    }
}

static void request_end_with_status(struct pending_request *request)
{
    request_end(request, request->status_get && request->status == NRT_SUCCESS
                             ? request->status_get(request)
                             : request->status);
}

/* Removes the oldest request up to the sequence; false if there is none. */
static bool queue_pop(struct queue *queue, uint64_t sequence, struct pending_request *out_request)
{
    bool is_found = false;

    pthread_mutex_lock(&queue->lock);
    if (queue->head != queue->tail && request_at(queue, queue->head)->sequence <= sequence) {
        *out_request = *request_at(queue, queue->head);
        __atomic_store_n(&queue->head, queue->head + 1, __ATOMIC_RELEASE);
        is_found = true;
    }
    pthread_mutex_unlock(&queue->lock);
    return is_found;
}

void pending_end_first(uint64_t key, NRT_STATUS status)
{
    struct queue *queue = queue_find(key);
    struct pending_request request;

    if (queue && queue_pop(queue, 0, &request)) {
        request_end(&request, status);
    }
}

static void queue_end_through(struct queue *queue, uint64_t sequence)
{
    struct pending_request request;

    while (queue_pop(queue, sequence, &request)) {
        request_end_with_status(&request);
    }
}

void pending_end_through(uint64_t sequence)
{
    struct queue *queue = queue_find(PENDING_EXPLICIT(sequence));

    if (queue) {
        queue_end_through(queue, sequence);
    }
}

void pending_end_implicit(uint16_t core, NRT_STATUS status)
{
    for (uint32_t i = 0; i < PENDING_QUEUES; i++) {
        struct queue *queue = __atomic_load_n(&queues[i], __ATOMIC_ACQUIRE);
        struct pending_request request;

        if (!queue) {
            break;
        }
        if (!queue->place.latest &&
            (core == NTK_NO_CORE || queue->place.key == PENDING_IMPLICIT(core))) {
            while (queue_pop(queue, 0, &request)) {
                /* The end time is unknown. */
                request.execution.call_start_ticks = 0;
                request_end(&request, status);
            }
        }
    }
}

bool pending_remove(uint64_t key, uint64_t execution_id)
{
    struct queue *queue = queue_find(key);
    bool is_found = false;

    if (!queue) {
        return false;
    }
    pthread_mutex_lock(&queue->lock);
    for (uint64_t i = queue->head; i != queue->tail; i++) {
        is_found = is_found || request_at(queue, i)->execution.execution_id == execution_id;
        if (is_found && i + 1 != queue->tail) {
            *request_at(queue, i) = *request_at(queue, i + 1);
        }
    }
    if (is_found) {
        queue->tail--;
    }
    pthread_mutex_unlock(&queue->lock);
    return is_found;
}

void pending_listed(const void *tracker, const uint64_t *sequences, const NRT_STATUS *statuses,
                    size_t count)
{
    for (uint32_t q = 0; q < PENDING_QUEUES; q++) {
        struct queue *queue = __atomic_load_n(&queues[q], __ATOMIC_ACQUIRE);

        if (!queue) {
            break;
        }
        pthread_mutex_lock(&queue->lock);
        for (uint64_t i = queue->head; i != queue->tail; i++) {
            struct pending_request *request = request_at(queue, i);

            if (request->sequence == 0 || request->outcome != tracker) {
                continue;
            }
            request->was_listed = true;
            for (size_t e = 0; e < count; e++) {
                if (sequences[e] == request->sequence) {
                    request->status = statuses[e];
                }
            }
        }
        pthread_mutex_unlock(&queue->lock);
    }
}

/* ---- the thread ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool is_running;
    bool is_waiting; /* true while all queues are empty */
    bool stop;
} poller = { .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER };

/* Polls all queues; returns true if any request is left. */
static bool poll_once(void)
{
    bool is_left = false;

    for (uint32_t i = 0; i < PENDING_QUEUES; i++) {
        struct queue *queue = __atomic_load_n(&queues[i], __ATOMIC_ACQUIRE);
        uint64_t sequence = 0;

        if (!queue) {
            break;
        }
        if (!queue->place.latest || __atomic_load_n(&queue->head, __ATOMIC_ACQUIRE) ==
                                        __atomic_load_n(&queue->tail, __ATOMIC_ACQUIRE)) {
            continue;
        }
        if (queue->place.latest(queue->place.vnc, queue->place.unit, queue->place.queue,
                                &sequence)) {
            queue_end_through(queue, sequence);
        }
        is_left = is_left || __atomic_load_n(&queue->head, __ATOMIC_ACQUIRE) !=
                                 __atomic_load_n(&queue->tail, __ATOMIC_ACQUIRE);
    }
    return is_left;
}

static void *poller_run(void *unused)
{
    const struct timespec pause = { .tv_nsec = POLL_NS };

    (void)unused;
    interpose_thread.depth = 1; /* calls of this thread are not observed */
    pthread_mutex_lock(&poller.lock);
    while (!poller.stop) {
        pthread_mutex_unlock(&poller.lock);
        (void)nanosleep(&pause, NULL);
        bool is_left = poll_once();
        pthread_mutex_lock(&poller.lock);
        while (!is_left && !poller.stop) {
            __atomic_store_n(&poller.is_waiting, true, __ATOMIC_SEQ_CST);
            is_left = poll_once();
            if (!is_left) {
                pthread_cond_wait(&poller.wake, &poller.lock);
                is_left = true;
            }
            __atomic_store_n(&poller.is_waiting, false, __ATOMIC_SEQ_CST);
        }
    }
    pthread_mutex_unlock(&poller.lock);
    return NULL;
}

/* Runs before the destructors of the runtime, because the runtime was loaded before this handler
 * was registered. */
static void at_exit(void)
{
    pending_stop();
}

static void poller_start(void)
{
    static bool has_handler;
    sigset_t all;
    sigset_t before;

    pthread_mutex_lock(&poller.lock);
    if (!poller.is_running) {
        if (!has_handler) {
            has_handler = atexit(at_exit) == 0;
        }
        poller.stop = false;
        (void)sigfillset(&all);
        /* signals are for the client's threads */
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        poller.is_running =
            has_handler && pthread_create(&poller.thread, NULL, poller_run, NULL) == 0;
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (poller.is_running) {
            (void)pthread_setname_np(poller.thread, "neuron-hooks");
        }
    } else {
        (void)pthread_cond_signal(&poller.wake);
    }
    pthread_mutex_unlock(&poller.lock);
}

void pending_stop(void)
{
    bool is_running;

    pthread_mutex_lock(&poller.lock);
    is_running = poller.is_running;
    poller.is_running = false;
    poller.stop = true;
    (void)pthread_cond_signal(&poller.wake);
    pthread_mutex_unlock(&poller.lock);
    if (is_running && !pthread_equal(pthread_self(), poller.thread)) {
        (void)pthread_join(poller.thread, NULL);
        (void)poll_once();
    }
}

void pending_add(const struct pending_place *place, const struct pending_request *request)
{
    struct queue *queue = queue_find(place->key);
    bool is_in = false;

    if (!queue) {
        queue = queue_make(place);
    }
    if (queue) {
        pthread_mutex_lock(&queue->lock);
        if (queue->tail - queue->head < PENDING_REQUESTS) {
            *request_at(queue, queue->tail) = *request;
            __atomic_store_n(&queue->tail, queue->tail + 1, __ATOMIC_SEQ_CST);
            is_in = true;
        }
        pthread_mutex_unlock(&queue->lock);
    }
    if (!is_in) {
        struct pending_request lost = *request;

        if (lost.kind == PENDING_EXECUTION) {
            lost.execution.call_start_ticks = 0;
        }
        request_end(&lost, NRT_SUCCESS);
    } else if (place->latest && (!__atomic_load_n(&poller.is_running, __ATOMIC_RELAXED) ||
                                 __atomic_load_n(&poller.is_waiting, __ATOMIC_SEQ_CST))) {
        poller_start();
    }
}

/* Drops threads and requests, which belong to the parent. */
void pending_after_fork(void)
{
    memcpy(&queues_lock, &fresh_mutex, sizeof fresh_mutex);
    memcpy(&poller.lock, &fresh_mutex, sizeof fresh_mutex);
    memset(&poller.wake, 0, sizeof poller.wake);
    poller.is_running = false;
    poller.is_waiting = false;
    poller.stop = false;
    for (uint32_t i = 0; i < PENDING_QUEUES && queues[i]; i++) {
        memcpy(&queues[i]->lock, &fresh_mutex, sizeof fresh_mutex);
        queues[i]->head = queues[i]->tail = 0;
    }
}
