/* SPDX-License-Identifier: MIT */
/*
 * nrt_trigger - captures executions on request from outside the process (struct
 * ntk_segment_trigger).
 *
 * A separate thread sleeps until the word in the segment changes. Executions do not depend on it;
 * they only use a recorder during a request. Without hooks, no thread is created.
 *
 * Threads: _start() and _stop() by the thread that opens and closes the runtime; the child of a
 * fork has no thread and no request.
 */
#ifndef NTK_RUNTIME_HOOKS_LIBNRT_NRT_TRIGGER_H
#define NTK_RUNTIME_HOOKS_LIBNRT_NRT_TRIGGER_H

#include "runtime-hooks/core/core.h"

/* clock: for the timeout of a recording; borrowed; NULL uses the system clock. */
void nrt_trigger_start(struct ntk_core *core, const struct ntk_clock *clock);
/* Ends a running recording; must be called before the core is closed. */
void nrt_trigger_stop(void);
void nrt_trigger_forget(void);

#endif
