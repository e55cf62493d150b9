/* SPDX-License-Identifier: MIT */
/*
 * core_thread - threads of this library in a user's process.
 *
 * They block all signals, so that the process's other threads get them.
 *
 * Owner:   the caller joins the thread.
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_THREAD_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_THREAD_H

#include <pthread.h>

/* Returns 0 or -errno. */
int ntk_core_thread_start(pthread_t *out_thread, void *(*run)(void *ctx), void *ctx);

#endif
