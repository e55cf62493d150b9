/* SPDX-License-Identifier: MIT */
/*
 * snapshot_merge - two periods that follow each other as one.
 *
 * Counts and histograms add up, shares are weighted by the lengths, everything that is a state
 * (memory, models, totals) is the newer one's; of a runtime that began again the totals of each
 * life stay next to it. A runtime that ended in the older period is still listed. Events of both
 * stay up to NTK_SNAPSHOT_JOINED_EVENTS_MAX, the rest is counted as unlisted. The cumulative series
 * of models are omitted: whoever needs them takes them from the parts.
 *
 * Owner:   the result is the caller's and keeps nothing of its parts.
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

/* The same for one runtime: `to` gets `older` in it, which ended within the period in which `newer`
 * began. Texts and arrays belong to the snapshot. */
void ntk_snapshot_merge_runtime(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *to,
                                const struct ntk_runtime_sample *older,
                                const struct ntk_runtime_sample *newer);

#ifdef __cplusplus
}
#endif
#endif
