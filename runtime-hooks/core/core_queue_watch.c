/* SPDX-License-Identifier: MIT */
/*
 * core_queue_watch - signals completions through eventfds.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime-hooks/core/core_queue_private.h"

#define WATCHES_MAX 4096U /* maximum watches of one queue */

struct watch {
    uint64_t number;
    int fd;
};

void ntk_core_queue_watches_init(struct ntk_core_queue *queue)
{
    ntk_vec_init(&queue->watches, sizeof(struct watch));
    queue->watch_all_fd = -1;
}

void ntk_core_queue_watches_fini(struct ntk_core_queue *queue)
{
    ntk_vec_each(struct watch, watch, &queue->watches) {
        close(watch->fd);
    }
    ntk_vec_fini(&queue->watches);
    if (queue->watch_all_fd >= 0) {
        close(queue->watch_all_fd);
    }
}

static void event_signal(int fd)
{
    (void)eventfd_write(fd, 1);
}

void ntk_core_queue_watches_signal(struct ntk_core_queue *queue, uint64_t completed)
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

/* Duplicates the caller's eventfd, because the caller may close it at any time. Rejects other
 * files, which could block the worker. */
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

/* The caller holds the lock. */
static void watches_remove(struct ntk_core_queue *queue, uint64_t number)
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

int ntk_core_queue_watch(struct ntk_core_queue *queue, uint64_t number, int fd)
{
    int own = fd < 0 ? -1 : event_dup(fd);
    int ret = 0;

    if (fd >= 0 && own < 0) {
        return own;
    }
    pthread_mutex_lock(&queue->crew->lock);
    if (number == 0 || number > queue->submitted) {
        ret = -EINVAL;
    } else if (own < 0) {
        watches_remove(queue, number);
    } else if (number <= ntk_core_queue_completed_get(queue)) {
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
    pthread_mutex_unlock(&queue->crew->lock);
    if (own >= 0) {
        close(own);
    }
    return ret;
}

int ntk_core_queue_watch_all(struct ntk_core_queue *queue, int fd)
{
    int own = fd < 0 ? -1 : event_dup(fd);

    if (fd >= 0 && own < 0) {
        return own;
    }
    pthread_mutex_lock(&queue->crew->lock);
    int before = queue->watch_all_fd;
    queue->watch_all_fd = own;
    pthread_mutex_unlock(&queue->crew->lock);
    if (before >= 0) {
        close(before);
    }
    return 0;
}
