/* SPDX-License-Identifier: MIT */
/* aggregate_spans - spans of the period, with limits so that one user's spans do not displace other
 * users' spans. */
#include "shared/collect/aggregate_state.h"
#include "shared/metrics/spans.h"

#include <string.h>

#define SPANS_OF_USER (NTK_SNAPSHOT_SPANS_MAX / 4 * 3)
/* Limit for sampled spans, so that failed and slow ones still have room. */
#define SPANS_OF_SAMPLES (NTK_SNAPSHOT_SPANS_MAX / 2)

struct ntk_span *ntk_aggregate_span(struct ntk_aggregate *aggregate, struct ntk_process_key key,
                                    unsigned why)
{
    struct ntk_span span = { .key = key, .why = (uint16_t)why, .model_name = "" };
    size_t taken = (size_t)(uintptr_t)ntk_map_get_number(&aggregate->spans_taken, key.uid);
    bool is_sample = !(why & (NTK_SPAN_FAILED | NTK_SPAN_SLOW));

    if (aggregate->spans.count >= (is_sample ? SPANS_OF_SAMPLES : NTK_SNAPSHOT_SPANS_MAX) ||
        taken >= SPANS_OF_USER ||
        ntk_map_put_number(&aggregate->spans_taken, key.uid, (void *)(uintptr_t)(taken + 1)) < 0 ||
        ntk_vec_push(&aggregate->spans, &span) < 0) {
        aggregate->spans_lost++;
        return NULL;
    }
    return ntk_vec_at(&aggregate->spans, aggregate->spans.count - 1);
}

void ntk_aggregate_build_spans(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot)
{
    size_t count = aggregate->spans.count;
    struct ntk_span *spans = count > 0 ? ntk_snapshot_alloc(snapshot, count, sizeof *spans) : NULL;

    if (spans) {
        memcpy(spans, aggregate->spans.items, count * sizeof *spans);
    }
    snapshot->spans = spans;
    snapshot->span_count = spans ? count : 0;
    snapshot->spans_lost = aggregate->spans_lost + (spans ? 0 : count);
    aggregate->spans_lost = 0;
    ntk_vec_clear(&aggregate->spans);
    ntk_map_fini(&aggregate->spans_taken);
}
