/* SPDX-License-Identifier: MIT */
/*
 * past - keeps the last snapshots of a source without a past in memory, so that the user can go
 * back in time.
 *
 * Owner:   the caller provides the storage, zeroed first; _fini frees the content. Snapshots are
 *          shared with their viewers.
 * Threads: one.
 */
#ifndef NTK_TOP_SOURCE_PAST_H
#define NTK_TOP_SOURCE_PAST_H

#include <stdbool.h>

#include "shared/metrics/snapshot.h"

/* Limits: ten minutes at a refresh of one second; fewer on the largest machines. */
#define NTK_TOP_PAST_MAX 600u
#define NTK_TOP_PAST_BYTES_MAX (64u * 1024 * 1024)

struct ntk_top_past {
    const struct ntk_snapshot *items[NTK_TOP_PAST_MAX]; /* a ring */
    size_t first;
    size_t count;
    size_t bytes;
};

void ntk_top_past_fini(struct ntk_top_past *past);
/* Returns true if the oldest snapshot must be dropped to keep this one. */
bool ntk_top_past_is_full(const struct ntk_top_past *past, const struct ntk_snapshot *snapshot);
void ntk_top_past_drop(struct ntk_top_past *past);
/* Keeps the snapshot, which must be newer than all others, and drops the oldest ones that do not
 * fit. */
void ntk_top_past_add(struct ntk_top_past *past, const struct ntk_snapshot *snapshot);
/* Returns a snapshot; index 0 is the oldest; NULL after the last. Borrowed. */
const struct ntk_snapshot *ntk_top_past_get(const struct ntk_top_past *past, size_t index);
/* Returns the end of a walk from `from_ns` over `distance_ns`, at least one snapshot away if there
 * is one: back to the newest at that distance, or forward to the oldest. Returns past->count if
 * nothing is kept. */
size_t ntk_top_past_back(const struct ntk_top_past *past, uint64_t from_ns, uint64_t distance_ns);
size_t ntk_top_past_forward(const struct ntk_top_past *past, uint64_t from_ns,
                            uint64_t distance_ns);

#endif
