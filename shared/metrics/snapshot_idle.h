/* SPDX-License-Identifier: MIT */
/*
 * snapshot_idle - why cores of processes were idle, in a snapshot: what host threads did meanwhile
 * (docs/idle.md). An observation lasts up to one minute; its end is in the snapshot that follows.
 *
 * Owner:   the snapshot. Threads: as the snapshot.
 */
#ifndef NTK_SHARED_METRICS_SNAPSHOT_IDLE_H
#define NTK_SHARED_METRICS_SNAPSHOT_IDLE_H

#include "shared/metrics/snapshot.h"

struct ntk_idle_cause {
    const char *cause;
    const char *thread, *function, *module, *syscall, *object; /* "" unknown */
    uint64_t idle_ns;
    uint64_t gaps;       /* that have any of it */
    uint64_t longest_ns; /* most of it in one gap */
};

/* Of a process. */
struct ntk_idle_sample {
    struct ntk_process_key key;
    uint64_t realtime_ns; /* end of the observation */
    uint64_t period_ns;
    uint64_t held_ns; /* of all cores */
    uint64_t idle_ns; /* the same */
    uint64_t gaps, longest_ns;
    uint64_t lost; /* records */
    const struct ntk_idle_cause *causes;
    size_t cause_count;
};

#define NTK_SNAPSHOT_IDLE_MAX 512u       /* the newest */
#define NTK_SNAPSHOT_IDLE_CAUSES_MAX 20u /* of each */

/* Copies those of both, older first, into the snapshot. Without memory there are none, and the
 * snapshot is not ok. */
void ntk_snapshot_join_idle(struct ntk_snapshot *snapshot, const struct ntk_idle_sample *older,
                            size_t older_count, const struct ntk_idle_sample *newer,
                            size_t newer_count);

#endif
