/* SPDX-License-Identifier: MIT */
/*
 * past - the last snapshots of a source that knows only the present, in memory, to walk back in.
 *
 * Owner:   caller's storage, zeroed first; _fini frees. Snapshots are shared with their viewers.
 * Threads: one.
 */
#ifndef NTK_TOP_SOURCE_PAST_H
#define NTK_TOP_SOURCE_PAST_H

#include "shared/metrics/snapshot.h"

/* As many as fit: ten minutes at a refresh of a second, on the largest machines less. */
#define NTK_TOP_PAST_MAX 600u
#define NTK_TOP_PAST_BYTES_MAX (64u * 1024 * 1024)

struct ntk_top_past {
    const struct ntk_snapshot *items[NTK_TOP_PAST_MAX]; /* a ring */
    size_t first;
    size_t count;
    size_t bytes;
};

void ntk_top_past_fini(struct ntk_top_past *past);
/* Keeps the snapshot, newer than all before, and drops the oldest ones that have no room. */
void ntk_top_past_add(struct ntk_top_past *past, const struct ntk_snapshot *snapshot);
/* Index 0 is the oldest; NULL after the last. Borrowed. */
const struct ntk_snapshot *ntk_top_past_get(const struct ntk_top_past *past, size_t index);
/* Where a walk from the moment `from_ns` over `distance_ns` ends, at least one snapshot away if
 * there is one: back to the newest one at that distance, or forward to the oldest. past->count when
 * nothing is kept. */
size_t ntk_top_past_back(const struct ntk_top_past *past, uint64_t from_ns, uint64_t distance_ns);
size_t ntk_top_past_forward(const struct ntk_top_past *past, uint64_t from_ns,
                            uint64_t distance_ns);

#endif
