/* SPDX-License-Identifier: MIT */
/*
 * waiting - stores records that wait for their other end: any number of queues, first in first out,
 * in one bounded pool.
 *
 * A queue is a uint32_t: the place of its last item, which links to the first; 0 if empty.
 * Owner: the caller provides the storage, zeroed if empty; _fini frees the content. Threads: one at
 *        a time per pool.
 */
#ifndef NTK_PROFILER_TRACE_WAITING_H
#define NTK_PROFILER_TRACE_WAITING_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "profiler/trace/trace.h"

struct ntk_waiting_item {
    int64_t time_ps;
    uint32_t detail; /* other data needed from the record */
    uint32_t next;   /* place; for an unused item the next unused one */
};

struct ntk_waiting {
    struct ntk_waiting_item *items; /* place p is items[p - 1] */
    uint32_t capacity, used;        /* used: number of items that were ever in use */
    uint32_t unused;                /* place of the first unused item; 0 if none */
};

static inline void ntk_waiting_fini(struct ntk_waiting *pool)
{
    free(pool->items);
    *pool = (struct ntk_waiting){ 0 };
}

/* Returns 0, -ENOMEM, or -ENOBUFS if the pool is full. */
static inline int ntk_waiting_push(struct ntk_waiting *pool, uint32_t *queue, int64_t time_ps,
                                   uint32_t detail)
{
    uint32_t place = pool->unused;

    if (place) {
        pool->unused = pool->items[place - 1].next;
    } else {
        if (pool->used == pool->capacity) {
            uint32_t capacity = pool->capacity ? 2 * pool->capacity : 1024;
            if (pool->capacity >= NTK_TRACE_WAITING_MAX) {
                return -ENOBUFS;
            }
            struct ntk_waiting_item *items = realloc(pool->items, capacity * sizeof *items);
            if (!items) {
                return -ENOMEM;
            }
            pool->items = items;
            pool->capacity = capacity;
        }
        place = ++pool->used;
    }
    struct ntk_waiting_item *item = &pool->items[place - 1];
    *item = (struct ntk_waiting_item){ time_ps, detail, place };
    if (*queue) {
        item->next = pool->items[*queue - 1].next;
        pool->items[*queue - 1].next = place;
    }
    *queue = place;
    return 0;
}

/* Removes and returns the first item of a nonempty queue. */
static inline struct ntk_waiting_item ntk_waiting_pop(struct ntk_waiting *pool, uint32_t *queue)
{
    uint32_t place = pool->items[*queue - 1].next;
    struct ntk_waiting_item item = pool->items[place - 1];

    if (place == *queue) {
        *queue = 0;
    } else {
        pool->items[*queue - 1].next = item.next;
    }
    pool->items[place - 1].next = pool->unused;
    pool->unused = place;
    return item;
}

#endif
