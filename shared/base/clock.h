/* SPDX-License-Identifier: MIT */
/*
 * clock - the two clocks of the tools, in nanoseconds.
 *
 * Code that must be testable without waiting takes a struct ntk_clock and never reads the system's
 * clock.
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_BASE_CLOCK_H
#define NTK_SHARED_BASE_CLOCK_H

#include <pthread.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_NS_PER_SECOND UINT64_C(1000000000)
#define NTK_NS_PER_MS UINT64_C(1000000)
#define NTK_NS_PER_US UINT64_C(1000)

struct ntk_clock {
    uint64_t (*monotonic_ns)(void *ctx);
    uint64_t (*realtime_ns)(void *ctx); /* since 1970-01-01 UTC */
    void *ctx;
    /* Replaces ntk_cond_wait_clock() for a clock other than the system's; NULL: waits in real
     * time. */
    int (*wait_until)(void *ctx, pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns);
};

/* The system's clocks, CLOCK_MONOTONIC and CLOCK_REALTIME. Static, never freed. */
const struct ntk_clock *ntk_clock_system_get(void);
uint64_t ntk_clock_monotonic_ns(void);
uint64_t ntk_clock_realtime_ns(void);
/* The clock's monotonic time; NULL: the system's. */
uint64_t ntk_clock_now_ns(const struct ntk_clock *clock);
/* The clock's time since 1970; NULL: the system's. */
uint64_t ntk_clock_wall_ns(const struct ntk_clock *clock);

#ifdef __cplusplus
}
#endif
#endif
