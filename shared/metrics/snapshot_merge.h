/* SPDX-License-Identifier: MIT */
/*
 * snapshot_merge - two consecutive periods as one.
 *
 * Counts and histograms are added, shares are weighted by the lengths, and state (memory, models,
 * totals) comes from the newer part; a runtime that began again keeps the totals of each run. A
 * runtime that ended in the older period is still listed. Events of both stay, up to
 * NTK_SNAPSHOT_JOINED_EVENTS_MAX; the rest is counted as unlisted. The cumulative series of models
 * are omitted, because they are in the parts.
 *
 * Owner:   the caller owns the result, which has copies of all data.
 * Threads: any.
 */
#ifndef NTK_SHARED_METRICS_SNAPSHOT_MERGE_H
#define NTK_SHARED_METRICS_SNAPSHOT_MERGE_H

#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NULL if out of memory. */
struct ntk_snapshot *ntk_snapshot_merge(const struct ntk_snapshot *older,
                                        const struct ntk_snapshot *newer);

/* Same, for one runtime: `to` gets `older` added, which ended within the period in which `newer`
 * began. Texts and arrays belong to the snapshot. */
void ntk_snapshot_merge_runtime(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *to,
                                const struct ntk_runtime_sample *older,
                                const struct ntk_runtime_sample *newer);

#ifdef __cplusplus
}
#endif
#endif
