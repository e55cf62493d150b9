/* SPDX-License-Identifier: MIT */
/*
 * handles - tables of known models and tensors of the runtime, by pointer.
 *
 * Lookups take no lock and allocate nothing; they retry while a writer is active.
 *
 * Owner:   a table is in static memory, zeroed except for its lock. Its entries are allocated in
 *          blocks, reused and never freed, because a reader may still use one.
 * Threads: any. After a fork, the child calls _after_fork() first.
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_HANDLES_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_HANDLES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define INTERPOSE_HANDLE_BUCKETS 8192u
#define INTERPOSE_HANDLE_WORDS 4

/* Data of the caller for a handle: a struct copied as words. */
struct interpose_handle_value {
    uint64_t word[INTERPOSE_HANDLE_WORDS];
};

struct interpose_handle;

struct interpose_handles {
    pthread_mutex_t lock; /* locked by writers */
    uint64_t seq;         /* odd during a write */
    struct interpose_handle *free;
    struct interpose_handle *bucket[INTERPOSE_HANDLE_BUCKETS];
};
#define INTERPOSE_HANDLES_INIT             \
    {                                      \
        .lock = PTHREAD_MUTEX_INITIALIZER, \
    }

/* An unchanged value means that nothing has changed. An odd value means that a write is in
 * progress. */
static inline uint64_t interpose_handles_seq(const struct interpose_handles *handles)
{
    return __atomic_load_n(&handles->seq, __ATOMIC_ACQUIRE);
}

/* Adds or replaces an entry. Returns false if out of memory. */
bool interpose_handles_put(struct interpose_handles *handles, const void *key,
                           const struct interpose_handle_value *value);
bool interpose_handles_get(struct interpose_handles *handles, const void *key,
                           struct interpose_handle_value *out_value);
/* Gets and removes an entry. */
bool interpose_handles_take(struct interpose_handles *handles, const void *key,
                            struct interpose_handle_value *out_value);
/* Removes the entry if it has this value, because the handle may have been reused. */
void interpose_handles_remove(struct interpose_handles *handles, const void *key,
                              const struct interpose_handle_value *value);
/* Removes one entry per call; false if none is left. *cursor is 0 before the first call. */
bool interpose_handles_take_next(struct interpose_handles *handles, uint32_t *cursor,
                                 struct interpose_handle_value *out_value);
void interpose_handles_after_fork(struct interpose_handles *handles);

#endif
