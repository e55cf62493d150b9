/* SPDX-License-Identifier: MIT */
/*
 * nrt_infodump - logs support information after a failed call.
 *
 * Logs one block per public call between an nrt_init() and the next, so that a program with
 * repeated failures does not fill its log. There is no block for errors that the caller can fix: an
 * invalid argument, or a NEFF that this machine cannot run.
 *
 * Threads: any; reads the environment.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_INFODUMP_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_INFODUMP_H

#include "runtime-hooks/libnrt/nrt_front.h"

enum nrt_infodump_call {
    NRT_INFODUMP_INIT,
    NRT_INFODUMP_LOAD,
    NRT_INFODUMP_EXECUTE,
};

/* core is NULL before it is open. Only the first failure of this call is logged. */
void nrt_infodump(enum nrt_infodump_call call, NRT_STATUS status, const struct ntk_core *core);
/* The next failure of each call is logged again. */
void nrt_infodump_reset(void);

#endif
