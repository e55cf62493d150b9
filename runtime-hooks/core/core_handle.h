/* SPDX-License-Identifier: MIT */
/*
 * core_handle - handles of a front's callers that can be checked before they are trusted.
 *
 * Objects are in chunks that are never returned, so that any pointer can be judged without
 * touching memory that is not ours: a stale, foreign or NULL handle is rejected, never followed.
 * Freed objects are reused oldest first, which keeps stale handles recognisable for long.
 *
 * Owner:   the pool, static storage of the front. An object lives while its creator or a taker
 *          holds it; the last drop calls the pool's destroy function.
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_HANDLE_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_HANDLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NTK_CORE_HANDLE_CHUNKS 20 /* of 64, 128, 256 ... objects: more than 60 million */

/* The first member of every object. */
struct ntk_core_handle {
    _Atomic uint32_t references; /* 0: free */
    _Atomic uint32_t is_open;    /* 1 until the creator closed it */
    uint64_t generation;         /* differs between two uses of one object */
    struct ntk_core_handle *next_free;
};

struct ntk_core_handle_pool {
    size_t object_bytes;
    /* Releases what the object holds; its memory stays in the pool. */
    void (*destroy)(struct ntk_core_handle *object);
    pthread_mutex_t lock;
    pthread_cond_t dropped; /* a reference to a closed object was dropped */
    uint64_t generation;
    _Atomic(char *) chunks[NTK_CORE_HANDLE_CHUNKS];
    struct ntk_core_handle *first_free, *last_free;
    _Atomic uint32_t live_count;
};

#define NTK_CORE_HANDLE_POOL_INIT(type, destroy_function)            \
    {                                                                \
        .object_bytes = sizeof(type), .destroy = (destroy_function), \
        .lock = PTHREAD_MUTEX_INITIALIZER                            \
    }

/* Zeroed after the handle, with one reference, open; NULL if out of memory. */
void *ntk_core_handle_create(struct ntk_core_handle_pool *pool);
/* The same, but no thread can take it before it is shown, so a stale handle to this place never
 * finds it incomplete. One that is not shown is freed with ntk_core_handle_drop(). */
void *ntk_core_handle_create_hidden(struct ntk_core_handle_pool *pool);
void ntk_core_handle_show(void *object);
/* The object with one more reference if pointer is an open object of this pool, else NULL. */
void *ntk_core_handle_take(struct ntk_core_handle_pool *pool, const void *pointer);
/* Adds a reference to an object that the caller holds, open or closed. */
void ntk_core_handle_hold(void *object);
/* Number of current references, including the creator's while open. */
static inline uint32_t ntk_core_handle_references(const void *object)
{
    return atomic_load_explicit(&((const struct ntk_core_handle *)object)->references,
                                memory_order_relaxed);
}
void ntk_core_handle_drop(struct ntk_core_handle_pool *pool, void *object);
/* Closes: later takes fail; drops the creator's reference. False if pointer is not an open
 * object. */
bool ntk_core_handle_close(struct ntk_core_handle_pool *pool, const void *pointer);
/* The same, but returns only when all takers have dropped it and it is destroyed. */
bool ntk_core_handle_close_and_wait(struct ntk_core_handle_pool *pool, const void *pointer);
/* Closes every open object. */
void ntk_core_handle_close_all(struct ntk_core_handle_pool *pool);
/* In a child after fork: resets the lock, and closes every object of the parent without destroying
 * it. */
void ntk_core_handle_forget(struct ntk_core_handle_pool *pool);

#endif
