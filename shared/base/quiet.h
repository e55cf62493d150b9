/* SPDX-License-Identifier: MIT */
/*
 * quiet - writing inside someone else's process without ending it.
 *
 * A write beyond the process's limit of file sizes raises SIGXFSZ, one to a pipe without a reader
 * SIGPIPE; both end a program that did not expect to write at all. Between ntk_quiet_enter() and
 * ntk_quiet_leave() the calling thread gets the error (EFBIG, EPIPE) and no signal; the program's
 * own handlers and masks stay.
 *
 * Threads: one at a time per struct, which also leaves. Pairs nest.
 */
#ifndef NTK_SHARED_BASE_QUIET_H
#define NTK_SHARED_BASE_QUIET_H

#include <signal.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_quiet {
    sigset_t mask;    /* of the thread, before */
    sigset_t pending; /* what was not ours */
    bool is_entered;
};

void ntk_quiet_enter(struct ntk_quiet *quiet);
/* Accepts a zeroed struct; errno stays. */
void ntk_quiet_leave(struct ntk_quiet *quiet);

/* Whether the process has a limit of file sizes at all. */
bool ntk_quiet_is_limited(void);

#ifdef __cplusplus
}
#endif
#endif
