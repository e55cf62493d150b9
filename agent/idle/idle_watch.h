/* SPDX-License-Identifier: MIT */
/*
 * idle_watch - implements neuron-monitor --idle: samples thread states once per second to find why
 * cores of processes are idle, as one sample per process and minute (docs/idle.md).
 *
 * A process is observed from the first second in which its segment is seen. An observation ends
 * with the minute, with the process, and with _stop(). Processes that this user may not trace are
 * skipped.
 *
 * Owner:   _create() allocates, _destroy() stops and frees. Errors: -errno with a message.
 * Threads: a separate thread samples; the functions are called from one other thread.
 */
#ifndef NTK_AGENT_IDLE_IDLE_WATCH_H
#define NTK_AGENT_IDLE_IDLE_WATCH_H

#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"

#define NTK_IDLE_PROCESSES_MAX 64u /* maximum number at the same time */

/* Expands to a row for the options of the agent. */
#define NTK_IDLE_OPT(flag)                                                                     \
    {                                                                                          \
        0, "idle", 0, NTK_OPT_FLAG, &(flag),                                                   \
            "sample once per second what host threads do while cores are idle, and store the " \
            "causes "                                                                          \
            "per minute (neuron-monitor query idle); requires --db"                            \
    }

struct ntk_idle_watch;

int ntk_idle_watch_create(struct ntk_idle_watch **out_watch, struct ntk_err *err);
/* Adds the observations that ended since the last call to the snapshot. */
void ntk_idle_watch_take(struct ntk_idle_watch *watch, struct ntk_snapshot *snapshot);
/* Ends all observations now; _take() returns the last samples. Accepts NULL. */
void ntk_idle_watch_stop(struct ntk_idle_watch *watch);
void ntk_idle_watch_destroy(struct ntk_idle_watch *watch);

#endif
