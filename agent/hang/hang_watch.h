/* SPDX-License-Identifier: MIT */
/*
 * hang_watch - the agent's check of the ranks of its machine. It reports once when an operation
 * hangs, a rank is lost or a rank is slow, and once when that has ended.
 *
 * It sees one machine: neuron-monitor hang shows ranks on other machines that are waited for.
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

/* How often a machine with ranks is checked. */
#define NTK_HANG_WATCH_NS UINT64_C(1000000000)

/* NULL if out of memory. */
struct ntk_hang_watch *ntk_hang_watch_create(void);
void ntk_hang_watch_destroy(struct ntk_hang_watch *watch);
/* Judges and logs; returns whether a verdict changed. Adds the current verdicts to the snapshot. */
bool ntk_hang_watch_put(struct ntk_hang_watch *watch, struct ntk_snapshot *snapshot);
/* Requests captures of what it reports; borrowed, NULL: none. */
struct ntk_captures;
void ntk_hang_watch_set_captures(struct ntk_hang_watch *watch, struct ntk_captures *captures);
/* Whether any ranks exist. */
bool ntk_hang_watch_has_ranks(const struct ntk_hang_watch *watch);

/* A report of only the ranks, as one line. False if out of memory. */
bool ntk_hang_ranks_write(const struct ntk_snapshot *snapshot, struct ntk_buf *line);

#endif
