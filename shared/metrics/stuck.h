/* SPDX-License-Identifier: MIT */
/*
 * stuck - executions that do not end although no other rank is waited for: a core that has had work
 * for longer than it ever took.
 *
 * A core counts from the last moment when an execution began or ended on it. Processes that run a
 * model together with other ranks are omitted while one of them does: ranks.h shows what that
 * execution waits for.
 *
 * Owner:   ntk_stuck holds rows; the snapshots added stay the caller's and must live as long.
 * Threads: one at a time.
 */
#ifndef NTK_SHARED_METRICS_STUCK_H
#define NTK_SHARED_METRICS_STUCK_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/vec.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_stuck_row {
    const char *host; /* "": this machine */
    const struct ntk_runtime_sample *runtime;
    const struct ntk_core_sample *core;
    uint64_t threshold_ns; /* running_ns of the core is above it */
    bool is_learned;       /* from the longest execution of the process on that core */
};

struct ntk_stuck {
    struct ntk_vec rows; /* struct ntk_stuck_row */
    size_t running;      /* cores that were checked: with something in flight */
    uint64_t longest_ns; /* running_ns of the core nearest to its threshold or beyond it */
    uint64_t longest_threshold_ns;
};

void ntk_stuck_init(struct ntk_stuck *stuck);
void ntk_stuck_fini(struct ntk_stuck *stuck);
/* Adds what is stuck on a machine; host is borrowed. threshold_ns 0: that of ntk_ranks_limit().
 * 0 or -ENOMEM. */
int ntk_stuck_add(struct ntk_stuck *stuck, const struct ntk_snapshot *snapshot, const char *host,
                  uint64_t threshold_ns);
/* The longest first. */
void ntk_stuck_sort(struct ntk_stuck *stuck);

#ifdef __cplusplus
}
#endif
#endif
