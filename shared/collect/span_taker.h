/* SPDX-License-Identifier: MIT */
/*
 * span_taker - chooses spans among ring records, and finds the data that belongs to each: the
 * caller's trace, the model's name, the rank.
 *
 * The trace of a record is given by the last TRACE_PARENT record before it of the same thread. If
 * records of the thread were lost in between, the trace is unknown, and the span has none.
 *
 * Owner:   create / destroy.
 * Threads: one.
 */
#ifndef NTK_SHARED_COLLECT_SPAN_TAKER_H
#define NTK_SHARED_COLLECT_SPAN_TAKER_H

#include "shared/collect/aggregate.h"
#include "shared/metrics/spans.h"
#include "shared/ring/ring_registry.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_span_taker;

/* Copies the rules. NULL if out of memory. */
struct ntk_span_taker *ntk_span_taker_create(const struct ntk_span_rules *rules);
void ntk_span_taker_destroy(struct ntk_span_taker *taker);

/* Takes records of one ring in order; spans that ended before begin_monotonic_ns are skipped. */
void ntk_span_taker_take(struct ntk_span_taker *taker, struct ntk_aggregate *aggregate,
                         const struct ntk_ring_segment *segment,
                         const struct ntk_ring_process *process, uint64_t begin_monotonic_ns,
                         const struct ntk_slot *slots, size_t count);
/* Forgets segments that are no longer in the registry. */
void ntk_span_taker_forget(struct ntk_span_taker *taker, const struct ntk_ring_registry *registry);

#ifdef __cplusplus
}
#endif
#endif
