/* SPDX-License-Identifier: MIT */
/* cond - waiting on a condition variable until a time of ntk_clock_monotonic_ns(). */
#include "shared/base/cond.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <time.h>

#include "shared/base/clock.h"

uint64_t ntk_cond_until(uint64_t timeout_ns)
{
    uint64_t now_ns = ntk_clock_monotonic_ns();

    return timeout_ns < NTK_COND_FOREVER - now_ns ? now_ns + timeout_ns : NTK_COND_FOREVER;
}

int ntk_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns)
{
    const struct timespec until = { .tv_sec = (time_t)(until_ns / NTK_NS_PER_SECOND),
                                    .tv_nsec = (long)(until_ns % NTK_NS_PER_SECOND) };

    return until_ns == NTK_COND_FOREVER
               ? -pthread_cond_wait(cond, lock)
               : -pthread_cond_clockwait(cond, lock, CLOCK_MONOTONIC, &until);
}

int ntk_cond_wait_clock(const struct ntk_clock *clock, pthread_cond_t *cond, pthread_mutex_t *lock,
                        uint64_t until_ns)
{
    return clock && clock->wait_until ? clock->wait_until(clock->ctx, cond, lock, until_ns)
                                      : ntk_cond_wait_until(cond, lock, until_ns);
}

void ntk_cond_sleep(const struct ntk_clock *clock, uint64_t until_ns)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never = PTHREAD_COND_INITIALIZER;

    pthread_mutex_lock(&lock);
    while (ntk_cond_wait_clock(clock, &never, &lock, until_ns) != -ETIMEDOUT) {
    }
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&never);
    pthread_mutex_destroy(&lock);
}

int ntk_cond_poll(const struct ntk_clock *clock, struct pollfd *fds, nfds_t count,
                  uint64_t until_ns)
{
    bool is_endless = until_ns == NTK_COND_FOREVER;
    bool is_real = !clock || !clock->wait_until || is_endless;
    uint64_t now_ns = ntk_clock_now_ns(clock);
    uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    uint64_t left_ms = left_ns / NTK_NS_PER_MS + (left_ns % NTK_NS_PER_MS != 0);
    int ready = poll(fds, count,
                     is_endless          ? -1
                     : !is_real          ? 0
                     : left_ms < INT_MAX ? (int)left_ms
                                         : INT_MAX);

    if (ready != 0 || is_real || left_ns == 0) {
        return ready;
    }
    ntk_cond_sleep(clock, until_ns);
    return poll(fds, count, 0);
}

int ntk_cond_rounds(const struct ntk_clock *clock, uint64_t for_ns, uint64_t step_ns,
                    int (*round)(void *ctx), void *ctx)
{
    uint64_t now_ns = ntk_clock_now_ns(clock);
    uint64_t end_ns = for_ns < UINT64_MAX - now_ns ? now_ns + for_ns : UINT64_MAX;
    int ret = round(ctx);

    while (ret == 0 && (now_ns = ntk_clock_now_ns(clock)) < end_ns) {
        ntk_cond_sleep(clock, end_ns - now_ns < step_ns ? end_ns : now_ns + step_ns);
        ret = round(ctx);
    }
    return ret;
}
