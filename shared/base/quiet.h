/* SPDX-License-Identifier: MIT */
/*
 * quiet - writing inside another program's process without ending it.
 *
 * A write beyond the process's file size limit raises SIGXFSZ; a write to a pipe without a reader
 * raises SIGPIPE. Both end a program that does not handle them. Between ntk_quiet_enter() and
 * ntk_quiet_leave() the calling thread gets the error (EFBIG, EPIPE) and no signal; the program's
 * handlers and masks stay unchanged.
 *
 * Threads: the thread that enters also leaves. Pairs may be nested.
 */
#ifndef NTK_SHARED_BASE_QUIET_H
#define NTK_SHARED_BASE_QUIET_H

#include <signal.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_quiet {
    sigset_t mask;    /* the thread's previous mask */
    sigset_t pending; /* signals that were already pending */
    bool is_entered;
};

void ntk_quiet_enter(struct ntk_quiet *quiet);
/* Accepts a zeroed struct; keeps errno. */
void ntk_quiet_leave(struct ntk_quiet *quiet);

/* Returns true if the process has a file size limit. */
bool ntk_quiet_is_limited(void);

#ifdef __cplusplus
}
#endif
#endif
