/* SPDX-License-Identifier: MIT */
/*
 * stuck - executions that do not end although they wait for no other rank: a core that has work for
 * longer than ever before.
 *
 * The time of a core counts from the last start or end of an execution on it. Processes that run a
 * model together with other ranks are omitted while they do: ranks.h shows the rank that they wait
 * for.
 *
 * Owner:   ntk_stuck holds rows; the caller keeps the added snapshots, which must live as long.
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
    uint64_t threshold_ns; /* the core's running_ns is above it */
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
/* Adds stuck executions of a machine; host is borrowed. threshold_ns 0: that of ntk_ranks_limit().
 * 0 or -ENOMEM. */
int ntk_stuck_add(struct ntk_stuck *stuck, const struct ntk_snapshot *snapshot, const char *host,
                  uint64_t threshold_ns);
/* The longest first. */
void ntk_stuck_sort(struct ntk_stuck *stuck);

#ifdef __cplusplus
}
#endif
#endif
