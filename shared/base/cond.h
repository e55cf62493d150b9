/* SPDX-License-Identifier: MIT */
/*
 * cond - waiting on a condition variable until a time of ntk_clock_monotonic_ns(), or of another
 * clock.
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_BASE_COND_H
#define NTK_SHARED_BASE_COND_H

#include <poll.h>
#include <pthread.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_clock;

#define NTK_COND_FOREVER UINT64_MAX

/* The time timeout_ns from now; NTK_COND_FOREVER stays unchanged. */
uint64_t ntk_cond_until(uint64_t timeout_ns);
/* Returns -ETIMEDOUT, or 0, which may be a spurious wakeup. The caller holds the lock. */
int ntk_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns);
/* Same, with the given clock; NULL: the system's. */
int ntk_cond_wait_clock(const struct ntk_clock *clock, pthread_cond_t *cond, pthread_mutex_t *lock,
                        uint64_t until_ns);
/* Sleeps until the clock reaches until_ns. */
void ntk_cond_sleep(const struct ntk_clock *clock, uint64_t until_ns);
/* poll() until the clock reaches until_ns. With a clock other than the system's, it checks the
 * descriptors at once and again at that time; a wait without a limit uses real time. */
int ntk_cond_poll(const struct ntk_clock *clock, struct pollfd *fds, nfds_t count,
                  uint64_t until_ns);
/* Calls round(ctx) at once and then every step_ns, the last time after for_ns, until it returns a
 * value other than 0; returns its last value. */
int ntk_cond_rounds(const struct ntk_clock *clock, uint64_t for_ns, uint64_t step_ns,
                    int (*round)(void *ctx), void *ctx);

#ifdef __cplusplus
}
#endif
#endif
