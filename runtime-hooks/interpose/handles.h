/* SPDX-License-Identifier: MIT */
/*
 * handles - the known models and tensors of the runtime, by their pointers.
 *
 * Looking up takes no lock and allocates nothing; a writer that is at work makes it try again.
 *
 * Owner:   a table is in static memory, zeroed but for its lock. Its entries are allocated in
 *          blocks, used again, and never returned: a reader may still stand on one.
 * Threads: any. After a fork, _after_fork() in the child first.
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_HANDLES_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_HANDLES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define INTERPOSE_HANDLE_BUCKETS 8192u
#define INTERPOSE_HANDLE_WORDS 4

/* What a caller keeps by a handle: its struct, copied as words. */
struct interpose_handle_value {
    uint64_t word[INTERPOSE_HANDLE_WORDS];
};

struct interpose_handle;

struct interpose_handles {
    pthread_mutex_t lock; /* writers */
    uint64_t seq;         /* odd while one is at work */
    struct interpose_handle *free;
    struct interpose_handle *bucket[INTERPOSE_HANDLE_BUCKETS];
};
#define INTERPOSE_HANDLES_INIT             \
    {                                      \
        .lock = PTHREAD_MUTEX_INITIALIZER, \
    }

/* The same as before: nothing has changed. Odd: something is. */
static inline uint64_t interpose_handles_seq(const struct interpose_handles *handles)
{
    return __atomic_load_n(&handles->seq, __ATOMIC_ACQUIRE);
}

/* Adds or replaces. false: out of memory. */
bool interpose_handles_put(struct interpose_handles *handles, const void *key,
                           const struct interpose_handle_value *value);
bool interpose_handles_get(struct interpose_handles *handles, const void *key,
                           struct interpose_handle_value *out_value);
/* Gets and removes. */
bool interpose_handles_take(struct interpose_handles *handles, const void *key,
                            struct interpose_handle_value *out_value);
/* Removes when this is what it has: a handle may be another's by now. */
void interpose_handles_remove(struct interpose_handles *handles, const void *key,
                              const struct interpose_handle_value *value);
/* One after the other, removed; false: there is none left. *cursor is 0 before the first. */
bool interpose_handles_take_next(struct interpose_handles *handles, uint32_t *cursor,
                                 struct interpose_handle_value *out_value);
void interpose_handles_after_fork(struct interpose_handles *handles);

#endif
