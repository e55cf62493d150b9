/* SPDX-License-Identifier: MIT */
/*
 * soft_holder - finds the process that holds a core of the software machine, by soft.lock.
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_DEVICE_SOFT_HOLDER_H
#define NTK_SHARED_DEVICE_SOFT_HOLDER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_SOFT_HOLDER_ELSEWHERE UINT32_MAX /* the holder is in another PID namespace */

/* Opens soft.lock; returns a descriptor or -1. hooks_dir NULL: the environment's. */
int ntk_soft_lock_open(const char *hooks_dir, int flags);
/* The pid of a process that locks a byte of the range, NTK_SOFT_HOLDER_ELSEWHERE, or 0 if there is
 * none. Needs no write permission. A process that holds locks on the file must not call it, because
 * it would lose them. */
uint32_t ntk_soft_lock_holder(const char *hooks_dir, uint32_t first, uint32_t count);

struct ntk_soft_holder {
    uint32_t pid; /* as returned by ntk_soft_lock_holder() */
    /* The owner's pid in its PID namespace. If pid is 0, the owner was killed. */
    uint32_t noted_pid;
    uint64_t since_ns; /* time since 1970 at which the owner took the core; 0 unknown */
};
/* core is the physical number within the machine. */
struct ntk_soft_holder ntk_soft_holder_of(const char *hooks_dir, uint32_t core);

#ifdef __cplusplus
}
#endif
#endif
