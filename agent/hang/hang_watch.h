/* SPDX-License-Identifier: MIT */
/*
 * hang_watch - checks the ranks of the agent's machine. It reports once when an operation hangs, a
 * rank is lost or a rank is slow, and once when that has ended.
 *
 * It covers one machine: neuron-monitor hang also shows ranks on other machines for which
 * operations wait.
 *
 * Owner:   create / destroy.
 * Threads: one.
 */
#ifndef NTK_AGENT_HANG_HANG_WATCH_H
#define NTK_AGENT_HANG_HANG_WATCH_H

#include <stdbool.h>

#include "shared/base/buf.h"
#include "shared/metrics/snapshot.h"

struct ntk_hang_watch;

/* Interval of checks on a machine with ranks. */
#define NTK_HANG_WATCH_NS UINT64_C(1000000000)

/* Returns NULL if out of memory. */
struct ntk_hang_watch *ntk_hang_watch_create(void);
void ntk_hang_watch_destroy(struct ntk_hang_watch *watch);
/* Judges and logs; adds the current verdicts to the snapshot. Returns true if a verdict changed. */
bool ntk_hang_watch_put(struct ntk_hang_watch *watch, struct ntk_snapshot *snapshot);
/* Requests captures of reported problems; borrowed, NULL if none. */
struct ntk_captures;
void ntk_hang_watch_set_captures(struct ntk_hang_watch *watch, struct ntk_captures *captures);
/* Returns true if there are any ranks. */
bool ntk_hang_watch_has_ranks(const struct ntk_hang_watch *watch);

/* Writes a report of only the ranks, as one line. Returns false if out of memory. */
bool ntk_hang_ranks_write(const struct ntk_snapshot *snapshot, struct ntk_buf *line);

#endif
