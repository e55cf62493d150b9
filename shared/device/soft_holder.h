/* SPDX-License-Identifier: MIT */
/*
 * soft_holder - the process that holds a core of the software machine, by its soft.lock.
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_DEVICE_SOFT_HOLDER_H
#define NTK_SHARED_DEVICE_SOFT_HOLDER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_SOFT_HOLDER_ELSEWHERE UINT32_MAX /* in another PID namespace */

/* A descriptor of soft.lock, or -1. hooks_dir: NULL for the environment's. */
int ntk_soft_lock_open(const char *hooks_dir, int flags);
/* Pid of a process that locks a byte of the range, NTK_SOFT_HOLDER_ELSEWHERE, or 0 for none. It
 * needs no write permission. A process with locks of the file must not call it: it would lose
 * them. */
uint32_t ntk_soft_lock_holder(const char *hooks_dir, uint32_t first, uint32_t count);

struct ntk_soft_holder {
    uint32_t pid; /* as ntk_soft_lock_holder() */
    /* the owner's pid in its PID namespace; with pid 0 an owner that was killed */
    uint32_t noted_pid;
    uint64_t since_ns; /* since 1970, when the owner took the core; 0 unknown */
};
/* core: physical, numbered within the machine. */
struct ntk_soft_holder ntk_soft_holder_of(const char *hooks_dir, uint32_t core);

#ifdef __cplusplus
}
#endif
#endif
