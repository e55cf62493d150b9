/* SPDX-License-Identifier: MIT */
/*
 * cond - waiting for a condition variable until a time of ntk_clock_monotonic_ns().
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_BASE_COND_H
#define NTK_SHARED_BASE_COND_H

#include <pthread.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_COND_FOREVER UINT64_MAX

/* So long from now; NTK_COND_FOREVER stays that. */
uint64_t ntk_cond_until(uint64_t timeout_ns);
/* -ETIMEDOUT, else 0, which need not mean that anything happened. The lock is held. */
int ntk_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns);

#ifdef __cplusplus
}
#endif
#endif
