/* SPDX-License-Identifier: MIT */
/*
 * stuck - finds executions that do not end although they wait for no other rank: a core is busy
 * with one for longer than ever before.
 *
 * A core's time counts from the last start or end of an execution on it. Processes are omitted
 * while they run a model together with other ranks: ranks.h shows the rank that they wait for.
 *
 * Owner:   ntk_stuck holds rows; the caller owns the added snapshots, which must live as long.
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
    uint64_t threshold_ns; /* limit that the core's running_ns exceeds */
    bool is_learned;       /* derived from the process's longest execution on that core */
};

struct ntk_stuck {
    struct ntk_vec rows; /* struct ntk_stuck_row */
    size_t running;      /* number of checked cores: those with work in flight */
    uint64_t longest_ns; /* running_ns of the core that is nearest to its threshold, or beyond it */
    uint64_t longest_threshold_ns;
};

void ntk_stuck_init(struct ntk_stuck *stuck);
void ntk_stuck_fini(struct ntk_stuck *stuck);
/* Adds a machine's stuck executions; host is borrowed. threshold_ns 0: use ntk_ranks_limit().
 * Returns 0 or -ENOMEM. */
int ntk_stuck_add(struct ntk_stuck *stuck, const struct ntk_snapshot *snapshot, const char *host,
                  uint64_t threshold_ns);
/* Sorts by duration, longest first. */
void ntk_stuck_sort(struct ntk_stuck *stuck);

#ifdef __cplusplus
}
#endif
#endif
