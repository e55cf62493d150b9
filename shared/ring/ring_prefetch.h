/* SPDX-License-Identifier: MIT */
/*
 * ring_prefetch - loads the memory of a segment into the processor's caches before it is read.
 *
 * A reader that polls once per second finds nothing in the caches, and a segment is a dozen pages.
 * With hundreds of segments, waiting for one page after the other is most of the time of a poll.
 * These functions do not wait; they only have an effect on speed.
 */
#ifndef NTK_SHARED_RING_RING_PREFETCH_H
#define NTK_SHARED_RING_RING_PREFETCH_H

#include "shared/ring/ring_registry.h"

/* Call this for each segment before it is read, in the order of the registry: it loads the next
 * ones. */
void ntk_ring_prefetch_after(const struct ntk_ring_registry *registry, size_t index);

#endif
