/* SPDX-License-Identifier: MIT */
/*
 * core_thread - threads of this library in a user's process.
 *
 * They block all signals, which are for the process's own threads.
 *
 * Owner:   the thread that starts one joins it.
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_THREAD_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_THREAD_H

#include <pthread.h>

/* 0 or -errno. */
int ntk_core_thread_start(pthread_t *out_thread, void *(*run)(void *ctx), void *ctx);

#endif
