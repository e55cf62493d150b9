/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_debug.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "shared/base/vec.h"

struct queue {
    uint32_t nc;
    int fd; /* a semaphore that counts queued items */
    uint32_t capacity;
    uint64_t lost;
    uint64_t first; /* index of the oldest item, modulo the capacity */
    uint32_t count;
    struct ntk_core_debug_record **records;
};

/* Protects the list of queues, which is short. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ntk_vec queues = NTK_VEC_INIT(struct queue);
/* Number of queues, for a check without the lock. */
static _Atomic uint32_t queue_count;
static pthread_once_t fork_handler = PTHREAD_ONCE_INIT;

static void fork_prepare(void)
{
    pthread_mutex_lock(&lock);
}

static void fork_parent(void)
{
    pthread_mutex_unlock(&lock);
}

static void queue_fini(struct queue *queue)
{
    for (uint32_t i = 0; i < queue->count; i++) {
        free(queue->records[(queue->first + i) % queue->capacity]);
    }
    free(queue->records);
    close(queue->fd);
}

/* The caller holds the lock. */
static void queues_drop(void)
{
    ntk_vec_each(struct queue, queue, &queues) {
        queue_fini(queue);
    }
    ntk_vec_clear(&queues);
    atomic_store_explicit(&queue_count, 0, memory_order_relaxed);
}

static void fork_child(void)
{
    queues_drop();
    pthread_mutex_unlock(&lock);
}

static void fork_handler_install(void)
{
    (void)pthread_atfork(fork_prepare, fork_parent, fork_child);
}

/* The caller holds the lock. */
static struct queue *queue_of_core(uint32_t nc)
{
    ntk_vec_each(struct queue, queue, &queues) {
        if (queue->nc == nc) {
            return queue;
        }
    }
    return NULL;
}

static struct queue *queue_of_fd(int fd)
{
    ntk_vec_each(struct queue, queue, &queues) {
        if (queue->fd == fd) {
            return queue;
        }
    }
    return NULL;
}

static struct ntk_core_debug_record *record_make(uint32_t nc,
                                                 const struct ntk_engine_print_event *event)
{
    if (event->data_bytes > SIZE_MAX / 2) {
        return NULL;
    }
    struct ntk_core_debug_record *record = calloc(1, sizeof *record + event->data_bytes);
    if (record) {
        record->nc = nc;
        record->pipe = event->pipe;
        (void)snprintf(record->prefix, sizeof record->prefix, "%s",
                       event->prefix ? event->prefix : "");
        (void)snprintf(record->dtype, sizeof record->dtype, "%s", event->dtype ? event->dtype : "");
        memcpy(record->shape, event->shape, sizeof record->shape);
        record->data_bytes = event->data_bytes;
        if (event->data_bytes > 0) {
            memcpy(record->data, event->data, event->data_bytes);
        }
    }
    return record;
}

int ntk_core_debug_push(uint32_t nc, const struct ntk_engine_print_event *event)
{
    static const uint64_t one = 1;
    int ret = 0;

    if (atomic_load_explicit(&queue_count, memory_order_relaxed) == 0) {
        return -ENOTCONN;
    }
    struct ntk_core_debug_record *record = record_make(nc, event);
    if (!record) {
        return -ENOMEM;
    }
    pthread_mutex_lock(&lock);
    struct queue *queue = queue_of_core(nc);
    if (!queue) {
        ret = -ENOTCONN;
    } else if (queue->count == queue->capacity) {
        queue->lost++;
        ret = -ENOSPC;
    } else {
        queue->records[(queue->first + queue->count) % queue->capacity] = record;
        queue->count++;
        record = NULL;
        /* Cannot overflow, because it counts at most NTK_CORE_DEBUG_EVENTS_MAX. */
        (void)!write(queue->fd, &one, sizeof one);
    }
    pthread_mutex_unlock(&lock);
    free(record);
    return ret;
}

int ntk_core_debug_connect(uint32_t nc, uint32_t event_count, int *out_fd)
{
    struct queue queue = { .nc = nc, .capacity = event_count };
    int ret = 0;

    if (event_count == 0 || event_count > NTK_CORE_DEBUG_EVENTS_MAX) {
        return -EINVAL;
    }
    pthread_once(&fork_handler, fork_handler_install);
    queue.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    if (queue.fd < 0) {
        return -errno;
    }
    queue.records = calloc(event_count, sizeof(struct ntk_core_debug_record *));
    pthread_mutex_lock(&lock);
    if (queue_of_core(nc)) {
        ret = -EBUSY;
    } else if (!queue.records || ntk_vec_push(&queues, &queue) < 0) {
        ret = -ENOMEM;
    } else {
        *out_fd = queue.fd;
        atomic_fetch_add_explicit(&queue_count, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&lock);
    if (ret < 0) {
        queue_fini(&queue);
    }
    return ret;
}

int ntk_core_debug_close(int fd)
{
    int ret = -EBADF;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < queues.count; i++) {
        struct queue *queue = ntk_vec_at(&queues, i);

        if (queue->fd == fd) {
            queue_fini(queue);
            ntk_vec_remove(&queues, i);
            atomic_fetch_sub_explicit(&queue_count, 1, memory_order_relaxed);
            ret = 0;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return ret;
}

void ntk_core_debug_close_all(void)
{
    pthread_mutex_lock(&lock);
    queues_drop();
    pthread_mutex_unlock(&lock);
}

int ntk_core_debug_take(int fd, struct ntk_core_debug_record **out_record)
{
    uint64_t one = 0;
    int ret = 0;

    pthread_mutex_lock(&lock);
    struct queue *queue = queue_of_fd(fd);
    if (!queue) {
        ret = -EBADF;
    } else if (queue->count == 0) {
        ret = -EAGAIN;
    } else {
        *out_record = queue->records[queue->first];
        queue->first = (queue->first + 1) % queue->capacity;
        queue->count--;
        (void)!read(fd, &one, sizeof one);
    }
    pthread_mutex_unlock(&lock);
    return ret;
}

int ntk_core_debug_lost(int fd, uint64_t *out_count)
{
    int ret = -EBADF;

    pthread_mutex_lock(&lock);
    const struct queue *queue = queue_of_fd(fd);
    if (queue) {
        *out_count = queue->lost;
        ret = 0;
    }
    pthread_mutex_unlock(&lock);
    return ret;
}
