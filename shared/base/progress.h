/* SPDX-License-Identifier: MIT */
/*
 * progress - one line on stderr for work that takes longer than two seconds; nothing when stderr is
 * not a terminal. With NEURON_PROGRESS=always, from the start and on any stderr.
 *
 * Owner: caller's storage. Threads: one.
 */
#ifndef NTK_SHARED_BASE_PROGRESS_H
#define NTK_SHARED_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct ntk_progress {
    const char *what;
    uint64_t start_ns, last_ns;
    bool is_terminal, is_forced, is_shown;
    FILE *to;                 /* stderr */
    uint64_t (*now_ns)(void); /* the monotonic clock */
};

/* A test sets another stream and clock afterwards. */
void ntk_progress_begin(struct ntk_progress *progress, const char *what);
/* share from 0 to 1. NULL: does nothing. */
void ntk_progress_show(struct ntk_progress *progress, double share);
void ntk_progress_end(struct ntk_progress *progress);

#endif
