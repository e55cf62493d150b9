/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/hooks/core_lock.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#define SPINS 2000
#define SLEEP_NS 20000L /* initial sleep, which grows up to the maximum */
#define SLEEP_NS_LAST 1000000L
#define SLEEPS 1000

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
    struct timespec pause = { .tv_nsec = SLEEP_NS };
    int error = errno;
    int cancel_state;
    int is_taken = 0;

    if (__atomic_load_n(&lock->holder, __ATOMIC_RELAXED) == hooks_core_lock_self()) {
        return 0;
    }
    for (int i = 0; i < SPINS && !is_taken; i++) {
        pause_briefly();
        is_taken = take(lock);
    }
    if (is_taken) {
        return 1;
    }
    /* A thread must complete what it has started counting, so the sleep must not be a cancellation
     * point. */
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    for (int i = 0; i < SLEEPS && !is_taken; i++) {
        (void)nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec < SLEEP_NS_LAST / 2 ? pause.tv_nsec * 2 : SLEEP_NS_LAST;
        is_taken = take(lock);
    }
    (void)pthread_setcancelstate(cancel_state, NULL);
    if (!is_taken) {
        __atomic_store_n(&lock->holder, hooks_core_lock_self(), __ATOMIC_SEQ_CST);
    }
    errno = error;
    return 1;
}
