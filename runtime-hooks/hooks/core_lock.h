/* SPDX-License-Identifier: MIT */
/*
 * core_lock - protects the counts of a core while several threads execute on it: one locked
 * instruction for all counts of an execution.
 *
 * The lock is held for a few dozen stores, never during foreign calls. A waiting thread spins, then
 * sleeps so that a holder with lower priority can continue, and after a second takes the lock from
 * a holder that has exited, so a cancelled thread blocks no other. A signal handler that
 * interrupted the holder cannot get the lock.
 *
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_HOOKS_CORE_LOCK_H
#define NTK_RUNTIME_HOOKS_HOOKS_CORE_LOCK_H

#include <stddef.h>
#include <stdint.h>

#define HOOKS_CACHE_LINE 64

struct hooks_core_lock {
    const void *holder; /* hooks_core_lock_self() of the thread; NULL: free */
} __attribute__((aligned(HOOKS_CACHE_LINE)));

/* A variable with an address that identifies the calling thread. */
extern __thread char hooks_core_lock_mark __attribute__((tls_model("initial-exec")));
static inline const void *hooks_core_lock_self(void)
{
    return &hooks_core_lock_mark;
}

int hooks_core_lock_wait(struct hooks_core_lock *lock);

/* Takes the lock. Returns 1, or 0 if the thread already holds it. */
static inline int hooks_core_lock_take(struct hooks_core_lock *lock)
{
    const void *none = NULL;

    return __builtin_expect(__atomic_compare_exchange_n(&lock->holder, &none,
                                                        hooks_core_lock_self(), 0, __ATOMIC_ACQUIRE,
                                                        __ATOMIC_RELAXED),
                            1) ||
           hooks_core_lock_wait(lock);
}

static inline void hooks_core_lock_drop(struct hooks_core_lock *lock)
{
    if (__builtin_expect(__atomic_load_n(&lock->holder, __ATOMIC_RELAXED) == hooks_core_lock_self(),
                         1)) {
        __atomic_store_n(&lock->holder, (const void *)NULL, __ATOMIC_RELEASE);
    }
}

#endif
