/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/hooks/core_lock.h"

#include <errno.h>
#include <time.h>

#define SPINS 2000
#define SLEEP_NS 20000L
#define SLEEPS 500 /* with what the system adds, tens of milliseconds in all */

__thread char hooks_core_lock_mark __attribute__((tls_model("initial-exec")));

static inline void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int take(struct hooks_core_lock *lock)
{
    const void *none = NULL;

    return __atomic_load_n(&lock->holder, __ATOMIC_RELAXED) == NULL &&
           __atomic_compare_exchange_n(&lock->holder, &none, hooks_core_lock_self(), 0,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

int hooks_core_lock_wait(struct hooks_core_lock *lock)
{
    const struct timespec pause = { .tv_nsec = SLEEP_NS };
    int error = errno;
    int is_taken = 0;

    if (__atomic_load_n(&lock->holder, __ATOMIC_RELAXED) == hooks_core_lock_self()) {
        return 0;
    }
    for (int i = 0; i < SPINS && !is_taken; i++) {
        pause_briefly();
        is_taken = take(lock);
    }
    for (int i = 0; i < SLEEPS && !is_taken; i++) {
        (void)nanosleep(&pause, NULL);
        is_taken = take(lock);
    }
    errno = error;
    return is_taken;
}
