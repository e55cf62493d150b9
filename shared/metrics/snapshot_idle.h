/* SPDX-License-Identifier: MIT */
/*
 * snapshot_idle - why cores of processes were idle, as part of a snapshot: what host threads did in
 * the meantime (docs/idle.md). An observation takes up to one minute; its result is in the next
 * snapshot.
 *
 * Owner:   the snapshot. Threads: the same as for the snapshot.
 */
#ifndef NTK_SHARED_METRICS_SNAPSHOT_IDLE_H
#define NTK_SHARED_METRICS_SNAPSHOT_IDLE_H

#include "shared/metrics/snapshot.h"

struct ntk_idle_cause {
    const char *cause;
    const char *thread, *function, *module, *syscall, *object; /* "" if unknown */
    uint64_t idle_ns;
    uint64_t gaps;       /* number of gaps that contain it */
    uint64_t longest_ns; /* longest part in one gap */
};

/* Idle time of a process. */
struct ntk_idle_sample {
    struct ntk_process_key key;
    uint64_t realtime_ns; /* time of the observation's end */
    uint64_t period_ns;
    uint64_t held_ns; /* held time, summed over cores */
    uint64_t idle_ns; /* idle time, summed over cores */
    uint64_t gaps, longest_ns;
    uint64_t lost; /* number of lost records */
    const struct ntk_idle_cause *causes;
    size_t cause_count;
};

#define NTK_SNAPSHOT_IDLE_MAX 512u       /* maximum; the newest are kept */
#define NTK_SNAPSHOT_IDLE_CAUSES_MAX 20u /* maximum for each */

/* Copies the entries of both, the older first, into the snapshot. If out of memory, there are none,
 * and the snapshot is not ok. */
void ntk_snapshot_join_idle(struct ntk_snapshot *snapshot, const struct ntk_idle_sample *older,
                            size_t older_count, const struct ntk_idle_sample *newer,
                            size_t newer_count);

#endif
