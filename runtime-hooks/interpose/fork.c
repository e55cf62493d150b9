/* SPDX-License-Identifier: MIT */
/*
 * fork - resets state in the child of a fork: locks held by threads of the parent, tables of the
 * parent's objects, and a half-open library.
 */
#include <pthread.h>

#include "runtime-hooks/interpose/observe.h"

static void in_child(void)
{
    interpose_real_after_fork();
    interpose_process_after_fork();
    interpose_collectives_after_fork();
}

void interpose_fork_watch(void)
{
    static uint32_t is_watched;

    if (__atomic_exchange_n(&is_watched, 1, __ATOMIC_ACQ_REL) == 0 &&
        pthread_atfork(interpose_real_before_fork, NULL, in_child) != 0) {
        /* out of memory: the next call retries */
        __atomic_store_n(&is_watched, 0, __ATOMIC_RELEASE);
    }
}
