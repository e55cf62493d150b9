/* SPDX-License-Identifier: MIT */
/*
 * mixed_snapshot - a hand-made second of a machine with a driver's tree on which three processes
 * run at once: one on a core of ours, one with preloaded hooks around another runtime, one that an
 * attached program reports.
 *
 * The unknown values of the two are filled with MIXED_POISON: an output that shows it mistakes
 * absent for known.
 */
#ifndef NTK_TESTS_SUPPORT_MIXED_SNAPSHOT_H
#define NTK_TESTS_SUPPORT_MIXED_SNAPSHOT_H

#include <stdint.h>

#include "shared/metrics/snapshot.h"

#define MIXED_POISON 666000666

/* Index of the runtime, and its physical core; tags are "ours", "preloaded", "attached". */
enum { MIXED_OURS = 0, MIXED_PRELOADED = 1, MIXED_ATTACHED = 2, MIXED_COUNT = 3 };

/* One trn2.3xlarge with 4 physical cores. The driver does not time core 1, so its busy time is that
 * of calls. The attached process counts no executions, guesses its core, does not know its model's
 * memory, and has no tensor on the host. Free with ntk_snapshot_destroy(). Aborts without
 * memory. */
struct ntk_snapshot *test_mixed_snapshot(void);

#endif
