/* SPDX-License-Identifier: MIT */
/*
 * progress - one line on stderr for work that takes longer than two seconds. It appears only on a
 * terminal; with NEURON_PROGRESS=always, it appears from the start and on any stderr.
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
    FILE *to;                 /* output stream, normally stderr */
    uint64_t (*now_ns)(void); /* monotonic clock */
};

/* Tests set another stream and clock after this call. */
void ntk_progress_begin(struct ntk_progress *progress, const char *what);
/* Shows a share from 0 to 1. Does nothing if progress is NULL. */
void ntk_progress_show(struct ntk_progress *progress, double share);
void ntk_progress_end(struct ntk_progress *progress);

#endif
