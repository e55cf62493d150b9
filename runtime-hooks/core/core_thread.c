/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_thread.h"

#include <signal.h>

int ntk_core_thread_start(pthread_t *out_thread, void *(*run)(void *ctx), void *ctx)
{
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(out_thread, NULL, run, ctx);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}
