/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_handle.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CHUNK_OBJECTS 64U

static size_t chunk_objects(size_t chunk)
{
    return (size_t)FIRST_CHUNK_OBJECTS << chunk;
}

/* Returns NULL if the pointer is not the start of an object in the pool. */
static struct ntk_core_handle *object_find(struct ntk_core_handle_pool *pool, const void *pointer)
{
    uintptr_t address = (uintptr_t)pointer;

    for (size_t i = 0; i < NTK_CORE_HANDLE_CHUNKS; i++) {
        /* Pairs with the release store in pool_grow(). */
        char *chunk = atomic_load_explicit(&pool->chunks[i], memory_order_acquire);

        if (!chunk) {
            return NULL;
        }
        if (address < (uintptr_t)chunk) {
            continue;
        }
        size_t distance = address - (uintptr_t)chunk;
        if (distance >= chunk_objects(i) * pool->object_bytes) {
            continue;
        }
        if (distance % pool->object_bytes != 0) {
            return NULL;
        }
        return (struct ntk_core_handle *)(void *)(chunk + distance);
    }
    return NULL;
}

/* The caller holds the pool's lock. */
static void free_list_add(struct ntk_core_handle_pool *pool, struct ntk_core_handle *object)
{
    object->next_free = NULL;
    if (pool->last_free) {
        pool->last_free->next_free = object;
    } else {
        pool->first_free = object;
    }
    pool->last_free = object;
}

/* The caller holds the pool's lock. */
static bool pool_grow(struct ntk_core_handle_pool *pool)
{
    for (size_t i = 0; i < NTK_CORE_HANDLE_CHUNKS; i++) {
        if (atomic_load_explicit(&pool->chunks[i], memory_order_relaxed)) {
            continue;
        }
        char *chunk = calloc(chunk_objects(i), pool->object_bytes);
        if (!chunk) {
            return false;
        }
        for (size_t k = 0; k < chunk_objects(i); k++) {
            free_list_add(pool, (struct ntk_core_handle *)(void *)(chunk + k * pool->object_bytes));
        }
        /* Pairs with the acquire load in object_find(). */
        atomic_store_explicit(&pool->chunks[i], chunk, memory_order_release);
        return true;
    }
    return false;
}

static void *handle_create(struct ntk_core_handle_pool *pool, uint32_t is_open)
{
    struct ntk_core_handle *object = NULL;

    pthread_mutex_lock(&pool->lock);
    if (pool->first_free || pool_grow(pool)) {
        object = pool->first_free;
        pool->first_free = object->next_free;
        if (!pool->first_free) {
            pool->last_free = NULL;
        }
    }
    uint64_t generation = ++pool->generation;
    pthread_mutex_unlock(&pool->lock);

    if (!object) {
        return NULL;
    }
    object->next_free = NULL;
    object->generation = generation;
    memset((char *)object + sizeof *object, 0, pool->object_bytes - sizeof *object);
    atomic_fetch_add_explicit(&pool->live_count, 1, memory_order_relaxed);
    atomic_store_explicit(&object->is_open, is_open, memory_order_relaxed);
    /* Pairs with the acquire in ntk_core_handle_take(): a thread that increments the count sees the
     * zeroed object. */
    atomic_store_explicit(&object->references, 1, memory_order_release);
    return object;
}

void *ntk_core_handle_create(struct ntk_core_handle_pool *pool)
{
    return handle_create(pool, 1);
}

void *ntk_core_handle_create_hidden(struct ntk_core_handle_pool *pool)
{
    return handle_create(pool, 0);
}

void ntk_core_handle_show(void *object)
{
    /* Pairs with the acquire in ntk_core_handle_take(): a thread that sees the object open sees it
     * complete. */
    atomic_store_explicit(&((struct ntk_core_handle *)object)->is_open, 1, memory_order_release);
}

void *ntk_core_handle_take(struct ntk_core_handle_pool *pool, const void *pointer)
{
    struct ntk_core_handle *object = object_find(pool, pointer);

    if (!object) {
        return NULL;
    }
    uint32_t references = atomic_load_explicit(&object->references, memory_order_relaxed);
    do {
        if (references == 0) {
            return NULL;
        }
    } while (!atomic_compare_exchange_weak_explicit(&object->references, &references,
                                                    references + 1, memory_order_acquire,
                                                    memory_order_relaxed));
    if (!atomic_load_explicit(&object->is_open, memory_order_acquire)) {
        ntk_core_handle_drop(pool, object);
        return NULL;
    }
    return object;
}

void ntk_core_handle_hold(void *object)
{
    atomic_fetch_add_explicit(&((struct ntk_core_handle *)object)->references, 1,
                              memory_order_relaxed);
}

void ntk_core_handle_drop(struct ntk_core_handle_pool *pool, void *object)
{
    struct ntk_core_handle *handle = object;

    uint32_t references = atomic_load_explicit(&handle->references, memory_order_relaxed);
    while (references > 1) {
        if (!atomic_compare_exchange_weak_explicit(&handle->references, &references, references - 1,
                                                   memory_order_acq_rel, memory_order_relaxed)) {
            continue;
        }
        /* Chunks are never freed, so this read is safe without a reference. */
        if (!atomic_load_explicit(&handle->is_open, memory_order_acquire)) {
            pthread_mutex_lock(&pool->lock);
            pthread_cond_broadcast(&pool->dropped);
            pthread_mutex_unlock(&pool->lock);
        }
        return;
    }
    /* The only reference is ours, but another thread may be reading the pointer: it either
     * increments the count before this exchange and drops the last reference, or finds 0. */
    if (!atomic_compare_exchange_strong_explicit(&handle->references, &references, 0,
                                                 memory_order_acq_rel, memory_order_relaxed)) {
        ntk_core_handle_drop(pool, object);
        return;
    }
    pool->destroy(handle);
    atomic_fetch_sub_explicit(&pool->live_count, 1, memory_order_relaxed);
    pthread_mutex_lock(&pool->lock);
    free_list_add(pool, handle);
    pthread_mutex_unlock(&pool->lock);
}

/* Closes the object and returns whether this call did it. waits: until no other thread holds a
 * reference. */
static bool handle_close(struct ntk_core_handle_pool *pool, const void *pointer, bool waits)
{
    struct ntk_core_handle *object = ntk_core_handle_take(pool, pointer);

    if (!object) {
        return false;
    }
    /* If several threads close it, one of them succeeds. */
    bool won = atomic_exchange_explicit(&object->is_open, 0, memory_order_acq_rel) == 1;
    if (won) {
        ntk_core_handle_drop(pool, object); /* drops the creator's reference */
    }
    if (won && waits) {
        pthread_mutex_lock(&pool->lock);
        /* Pairs with the decrement in ntk_core_handle_drop(). */
        while (atomic_load_explicit(&object->references, memory_order_acquire) > 1) {
            pthread_cond_wait(&pool->dropped, &pool->lock);
        }
        pthread_mutex_unlock(&pool->lock);
    }
    ntk_core_handle_drop(pool, object);
    return won;
}

bool ntk_core_handle_close(struct ntk_core_handle_pool *pool, const void *pointer)
{
    return handle_close(pool, pointer, false);
}

bool ntk_core_handle_close_and_wait(struct ntk_core_handle_pool *pool, const void *pointer)
{
    return handle_close(pool, pointer, true);
}

void ntk_core_handle_close_all(struct ntk_core_handle_pool *pool)
{
    for (size_t i = 0; i < NTK_CORE_HANDLE_CHUNKS; i++) {
        char *chunk = atomic_load_explicit(&pool->chunks[i], memory_order_acquire);

        if (!chunk || atomic_load_explicit(&pool->live_count, memory_order_relaxed) == 0) {
            return;
        }
        for (size_t k = 0; k < chunk_objects(i); k++) {
            (void)ntk_core_handle_close(pool, chunk + k * pool->object_bytes);
        }
    }
}

void ntk_core_handle_forget(struct ntk_core_handle_pool *pool)
{
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->dropped, NULL);
    for (size_t i = 0; i < NTK_CORE_HANDLE_CHUNKS; i++) {
        char *chunk = atomic_load_explicit(&pool->chunks[i], memory_order_relaxed);

        for (size_t k = 0; chunk && k < chunk_objects(i); k++) {
            struct ntk_core_handle *object =
                (struct ntk_core_handle *)(void *)(chunk + k * pool->object_bytes);

            atomic_store_explicit(&object->is_open, 0, memory_order_relaxed);
        }
    }
    atomic_store_explicit(&pool->live_count, 0, memory_order_relaxed);
}
