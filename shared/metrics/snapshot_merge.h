/* SPDX-License-Identifier: MIT */
/*
 * snapshot_merge - merges two consecutive periods into one.
 *
 * Counts and histograms are added, shares are weighted by duration, and state (memory, models,
 * totals) comes from the newer part. A runtime that was initialised again keeps the totals of each
 * run. A runtime that ended in the older period is still listed. The events of both are kept, up to
 * NTK_SNAPSHOT_JOINED_EVENTS_MAX; the rest counts as unlisted. The cumulative series of models are
 * omitted, because they are in the parts.
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

/* Returns NULL if out of memory. */
struct ntk_snapshot *ntk_snapshot_merge(const struct ntk_snapshot *older,
                                        const struct ntk_snapshot *newer);

/* Same, for one runtime: adds `older`, which ended within the period in which `newer` began, to
 * `to`. Texts and arrays belong to the snapshot. */
void ntk_snapshot_merge_runtime(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *to,
                                const struct ntk_runtime_sample *older,
                                const struct ntk_runtime_sample *newer);

#ifdef __cplusplus
}
#endif
#endif
