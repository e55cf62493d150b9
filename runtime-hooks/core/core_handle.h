/* SPDX-License-Identifier: MIT */
/*
 * core_handle - handles for a front's callers that can be checked before they are trusted.
 *
 * Objects are in chunks that are never freed, so any pointer can be checked without accessing
 * memory that is not ours: a stale, foreign or NULL handle is rejected, never dereferenced. Freed
 * objects are reused oldest first, which keeps stale handles recognisable for a long time.
 *
 * Owner:   the pool, static storage of the front. An object lives while its creator or another
 *          holder has a reference; the last drop calls the pool's destroy function.
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_HANDLE_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_HANDLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NTK_CORE_HANDLE_CHUNKS 20 /* with 64, 128, 256 ... objects: more than 60 million */

/* Must be the first member of every object. */
struct ntk_core_handle {
    _Atomic uint32_t references; /* 0 if the object is free */
    _Atomic uint32_t is_open;    /* 1 until the creator closes it */
    uint64_t generation;         /* differs between two uses of the same object */
    struct ntk_core_handle *next_free;
};

struct ntk_core_handle_pool {
    size_t object_bytes;
    /* Releases an object's resources; its memory stays in the pool. */
    void (*destroy)(struct ntk_core_handle *object);
    pthread_mutex_t lock;
    pthread_cond_t dropped; /* signalled when a reference to a closed object is dropped */
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

/* Returns an open object with one reference, zeroed after the handle; NULL if out of memory. */
void *ntk_core_handle_create(struct ntk_core_handle_pool *pool);
/* Same, but no thread can take the object before it is shown, so a stale handle to this place never
 * finds an incomplete object. If it is never shown, free it with ntk_core_handle_drop(). */
void *ntk_core_handle_create_hidden(struct ntk_core_handle_pool *pool);
void ntk_core_handle_show(void *object);
/* Takes a reference and returns the object if pointer is an open object of this pool, else NULL. */
void *ntk_core_handle_take(struct ntk_core_handle_pool *pool, const void *pointer);
/* Adds a reference to an object that the caller already holds, open or closed. */
void ntk_core_handle_hold(void *object);
/* The current number of references, including the creator's while the object is open. */
static inline uint32_t ntk_core_handle_references(const void *object)
{
    return atomic_load_explicit(&((const struct ntk_core_handle *)object)->references,
                                memory_order_relaxed);
}
void ntk_core_handle_drop(struct ntk_core_handle_pool *pool, void *object);
/* Closes the object, so that later takes fail, and drops the creator's reference. Returns false if
 * pointer is not an open object. */
bool ntk_core_handle_close(struct ntk_core_handle_pool *pool, const void *pointer);
/* Same, but returns only after all holders have dropped the object and it is destroyed. */
bool ntk_core_handle_close_and_wait(struct ntk_core_handle_pool *pool, const void *pointer);
/* Closes every open object. */
void ntk_core_handle_close_all(struct ntk_core_handle_pool *pool);
/* In the child of a fork: resets the lock, and closes every object of the parent without destroying
 * it. */
void ntk_core_handle_forget(struct ntk_core_handle_pool *pool);

#endif
