/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_async.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime-hooks/core/core_thread.h"
#include "shared/base/vec.h"

#define WATCHES_MAX 4096U /* of one queue */

struct watch {
    uint64_t number;
    int fd;
};

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a request came or completed, or the end */
    struct ntk_core_async_request *first, *last;
    uint64_t submitted;
    _Atomic uint64_t completed;
    uint32_t depth;
    bool is_broken;
    bool is_stopped;
    struct ntk_vec watches; /* of struct watch */
    int watch_all_fd;       /* -1: none */
    pthread_t thread;
};

struct ntk_core_async {
    struct ntk_core_async_unit units[NTK_CORE_ASYNC_UNITS];
    uint32_t core_count;
    pthread_mutex_t lock; /* creation of queues, is_stopped */
    bool is_stopped;
    _Atomic(struct queue *) queues[]; /* core, unit, index */
};

static _Thread_local bool is_worker;

bool ntk_core_async_is_worker(void)
{
    return is_worker;
}

static void event_signal(int fd)
{
    (void)eventfd_write(fd, 1);
}

/* The lock is held. */
static void watches_signal(struct queue *queue, uint64_t completed)
{
    if (queue->watch_all_fd >= 0) {
        event_signal(queue->watch_all_fd);
    }
    for (size_t i = 0; i < queue->watches.count;) {
        const struct watch *watch = ntk_vec_at(&queue->watches, i);

        if (watch->number <= completed) {
            event_signal(watch->fd);
            close(watch->fd);
            ntk_vec_remove(&queue->watches, i);
        } else {
            i++;
        }
    }
}

static void *worker(void *ctx)
{
    struct queue *queue = ctx;

    is_worker = true;
    pthread_mutex_lock(&queue->lock);
    for (;;) {
        while (!queue->first && !queue->is_stopped) {
            pthread_cond_wait(&queue->changed, &queue->lock);
        }
        struct ntk_core_async_request *request = queue->first;
        if (!request) {
            break;
        }
        queue->first = request->next;
        if (!queue->first) {
            queue->last = NULL;
        }
        bool is_broken = queue->is_broken;
        pthread_mutex_unlock(&queue->lock);

        bool is_sound = request->run(request, is_broken);

        pthread_mutex_lock(&queue->lock);
        queue->is_broken |= !is_sound;
        /* Pairs with the acquire in ntk_core_async_is_complete(). */
        atomic_store_explicit(&queue->completed, request->number, memory_order_release);
        watches_signal(queue, request->number);
        pthread_cond_broadcast(&queue->changed);
        pthread_mutex_unlock(&queue->lock);
        request->destroy(request);
        pthread_mutex_lock(&queue->lock);
    }
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

static void queue_free(struct queue *queue)
{
    ntk_vec_each(struct watch, watch, &queue->watches) {
        close(watch->fd);
    }
    ntk_vec_fini(&queue->watches);
    if (queue->watch_all_fd >= 0) {
        close(queue->watch_all_fd);
    }
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

static struct queue *queue_create(uint32_t depth)
{
    struct queue *queue = calloc(1, sizeof *queue);

    if (!queue) {
        return NULL;
    }
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->changed, NULL);
    ntk_vec_init(&queue->watches, sizeof(struct watch));
    queue->depth = depth;
    queue->watch_all_fd = -1;
    if (ntk_core_thread_start(&queue->thread, worker, queue) < 0) {
        queue_free(queue);
        return NULL;
    }
    return queue;
}

static _Atomic(struct queue *) *place_find(struct ntk_core_async *async,
                                           const struct ntk_core_async_queue_name *name)
{
    if (name->core >= async->core_count || name->unit >= NTK_CORE_ASYNC_UNITS ||
        name->index >= async->units[name->unit].queue_count) {
        return NULL;
    }
    return &async->queues[((size_t)name->core * NTK_CORE_ASYNC_UNITS + name->unit) *
                              NTK_CORE_ASYNC_QUEUES +
                          name->index];
}

/* 0 and the queue, NULL when nothing was ever submitted to it; -EINVAL. */
static int queue_find(struct ntk_core_async *async, const struct ntk_core_async_queue_name *name,
                      struct queue **out_queue)
{
    _Atomic(struct queue *) *place = place_find(async, name);

    if (!place) {
        return -EINVAL;
    }
    /* Pairs with the release in queue_open(). */
    *out_queue = atomic_load_explicit(place, memory_order_acquire);
    return 0;
}

/* The queue, made when it is not there. */
static int queue_open(struct ntk_core_async *async, const struct ntk_core_async_queue_name *name,
                      struct queue **out_queue)
{
    int ret = queue_find(async, name, out_queue);

    if (ret < 0 || *out_queue) {
        return ret;
    }
    _Atomic(struct queue *) *place = place_find(async, name);
    pthread_mutex_lock(&async->lock);
    *out_queue = atomic_load_explicit(place, memory_order_relaxed);
    if (async->is_stopped) {
        ret = -ESHUTDOWN;
    } else if (!*out_queue) {
        *out_queue = queue_create(async->units[name->unit].depth);
        ret = *out_queue ? 0 : -ENOMEM;
        atomic_store_explicit(place, *out_queue, memory_order_release);
    }
    pthread_mutex_unlock(&async->lock);
    return ret;
}

static size_t queues_count(const struct ntk_core_async *async)
{
    return (size_t)async->core_count * NTK_CORE_ASYNC_UNITS * NTK_CORE_ASYNC_QUEUES;
}

struct ntk_core_async *ntk_core_async_create(uint32_t core_count,
                                             const struct ntk_core_async_unit *units)
{
    size_t queues = (size_t)core_count * NTK_CORE_ASYNC_UNITS * NTK_CORE_ASYNC_QUEUES;
    struct ntk_core_async *async =
        calloc(1, sizeof *async + queues * sizeof(_Atomic(struct queue *)));

    if (!async) {
        return NULL;
    }
    async->core_count = core_count;
    memcpy(async->units, units, sizeof async->units);
    pthread_mutex_init(&async->lock, NULL);
    return async;
}

void ntk_core_async_stop(struct ntk_core_async *async)
{
    pthread_mutex_lock(&async->lock);
    bool was_stopped = async->is_stopped;
    async->is_stopped = true;
    pthread_mutex_unlock(&async->lock);
    if (was_stopped) {
        return;
    }
    /* No queue is made any more. First all are told, so that they empty side by side. */
    for (size_t i = 0; i < queues_count(async); i++) {
        struct queue *queue = atomic_load_explicit(&async->queues[i], memory_order_acquire);

        if (queue) {
            pthread_mutex_lock(&queue->lock);
            queue->is_stopped = true;
            pthread_cond_broadcast(&queue->changed);
            pthread_mutex_unlock(&queue->lock);
        }
    }
    for (size_t i = 0; i < queues_count(async); i++) {
        struct queue *queue = atomic_load_explicit(&async->queues[i], memory_order_acquire);

        if (queue) {
            pthread_join(queue->thread, NULL);
        }
    }
}

void ntk_core_async_destroy(struct ntk_core_async *async)
{
    if (!async) {
        return;
    }
    ntk_core_async_stop(async);
    for (size_t i = 0; i < queues_count(async); i++) {
        struct queue *queue = atomic_load_explicit(&async->queues[i], memory_order_acquire);

        if (queue) {
            queue_free(queue);
        }
    }
    pthread_mutex_destroy(&async->lock);
    free(async);
}

int ntk_core_async_submit(struct ntk_core_async *async,
                          const struct ntk_core_async_queue_name *name,
                          struct ntk_core_async_request *request, uint64_t *out_number)
{
    struct queue *queue = NULL;
    int ret = queue_open(async, name, &queue);

    if (ret < 0) {
        return ret;
    }
    pthread_mutex_lock(&queue->lock);
    uint64_t pending =
        queue->submitted - atomic_load_explicit(&queue->completed, memory_order_relaxed);
    if (queue->is_stopped) {
        ret = -ESHUTDOWN;
    } else if (queue->is_broken) {
        ret = -ENOTRECOVERABLE;
    } else if (pending >= queue->depth) {
        ret = -EAGAIN;
    } else {
        request->queue = *name;
        request->number = ++queue->submitted;
        request->next = NULL;
        if (out_number) {
            *out_number = request->number;
        }
        if (queue->last) {
            queue->last->next = request;
        } else {
            queue->first = request;
        }
        queue->last = request;
        pthread_cond_broadcast(&queue->changed);
    }
    pthread_mutex_unlock(&queue->lock);
    return ret;
}

int ntk_core_async_completed_get(struct ntk_core_async *async,
                                 const struct ntk_core_async_queue_name *name, uint64_t *out_number)
{
    struct queue *queue = NULL;
    int ret = queue_find(async, name, &queue);

    if (ret < 0) {
        return ret;
    }
    *out_number = queue ? atomic_load_explicit(&queue->completed, memory_order_acquire) : 0;
    return 0;
}

int ntk_core_async_is_complete(struct ntk_core_async *async,
                               const struct ntk_core_async_queue_name *name, uint64_t number)
{
    struct queue *queue = NULL;
    int ret = queue_find(async, name, &queue);

    if (ret < 0 || !queue || number == 0) {
        return -EINVAL;
    }
    if (number <= atomic_load_explicit(&queue->completed, memory_order_acquire)) {
        return 1;
    }
    pthread_mutex_lock(&queue->lock);
    ret = number <= queue->submitted ? 0 : -EINVAL;
    pthread_mutex_unlock(&queue->lock);
    return ret;
}

int ntk_core_async_drain(struct ntk_core_async *async, const struct ntk_core_async_queue_name *name)
{
    struct queue *queue = NULL;
    int ret = queue_find(async, name, &queue);

    if (ret < 0 || !queue) {
        return ret;
    }
    if (is_worker) {
        return -EDEADLK;
    }
    pthread_mutex_lock(&queue->lock);
    while (atomic_load_explicit(&queue->completed, memory_order_relaxed) < queue->submitted) {
        pthread_cond_wait(&queue->changed, &queue->lock);
    }
    pthread_mutex_unlock(&queue->lock);
    return 0;
}

/* A descriptor of our own for the caller's eventfd: he may close his at any time. Anything else could
 * block the worker. */
static int event_dup(int fd)
{
    static const char expected[] = "anon_inode:[eventfd]";
    char link[64];
    char target[64];

    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t bytes = readlink(link, target, sizeof target);
    if (bytes != (ssize_t)strlen(expected) || memcmp(target, expected, (size_t)bytes) != 0) {
        return -EINVAL;
    }
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return own < 0 ? -errno : own;
}

/* The lock is held. */
static void watches_remove(struct queue *queue, uint64_t number)
{
    for (size_t i = 0; i < queue->watches.count;) {
        const struct watch *watch = ntk_vec_at(&queue->watches, i);

        if (watch->number == number) {
            close(watch->fd);
            ntk_vec_remove(&queue->watches, i);
        } else {
            i++;
        }
    }
}

int ntk_core_async_watch(struct ntk_core_async *async, const struct ntk_core_async_queue_name *name,
                         uint64_t number, int fd)
{
    struct queue *queue = NULL;
    int ret = queue_find(async, name, &queue);

    if (ret < 0 || !queue || number == 0) {
        return -EINVAL;
    }
    int own = fd < 0 ? -1 : event_dup(fd);
    if (fd >= 0 && own < 0) {
        return own;
    }
    pthread_mutex_lock(&queue->lock);
    if (number > queue->submitted) {
        ret = -EINVAL;
    } else if (own < 0) {
        watches_remove(queue, number);
    } else if (number <= atomic_load_explicit(&queue->completed, memory_order_relaxed)) {
        event_signal(own);
    } else if (queue->watches.count >= WATCHES_MAX) {
        ret = -ENOSPC;
    } else {
        struct watch *watch = ntk_vec_add(&queue->watches);

        if (watch) {
            *watch = (struct watch){ number, own };
            own = -1;
        } else {
            ret = -ENOMEM;
        }
    }
    pthread_mutex_unlock(&queue->lock);
    if (own >= 0) {
        close(own);
    }
    return ret;
}

int ntk_core_async_watch_all(struct ntk_core_async *async,
                             const struct ntk_core_async_queue_name *name, int fd)
{
    struct queue *queue = NULL;
    int own = fd < 0 ? -1 : event_dup(fd);

    if (fd >= 0 && own < 0) {
        return own;
    }
    int ret = queue_open(async, name, &queue);
    if (ret < 0) {
        if (own >= 0) {
            close(own);
        }
        return ret;
    }
    pthread_mutex_lock(&queue->lock);
    int before = queue->watch_all_fd;
    queue->watch_all_fd = own;
    pthread_mutex_unlock(&queue->lock);
    if (before >= 0) {
        close(before);
    }
    return 0;
}
