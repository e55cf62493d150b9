/* SPDX-License-Identifier: MIT */
/*
 * nrt_trigger - captures on request from outside the process (struct ntk_segment_trigger).
 *
 * A thread of our own sleeps until the word in the segment changes; executions know nothing of it,
 * they only meet a recorder while one is wanted. Without hooks there is no thread.
 *
 * Threads: _start() and _stop() by the thread that opens and closes the runtime; after a fork the
 * child forgets.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_TRIGGER_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_TRIGGER_H

#include "runtime-hooks/core/core.h"

/* clock: for the timeout of a recording; borrowed; NULL: the system's. */
void nrt_trigger_start(struct ntk_core *core, const struct ntk_clock *clock);
/* Ends a running recording; call it before the core is closed. */
void nrt_trigger_stop(void);
void nrt_trigger_forget(void);

#endif
