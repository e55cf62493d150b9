/* SPDX-License-Identifier: MIT */
/* aggregate_histogram - cumulative histograms to the difference of one period. */
#include "shared/collect/aggregate_state.h"

#include <errno.h>
#include <stdlib.h>

int ntk_aggregate_set_baseline(struct baseline *base, const struct ntk_histogram_dense *dense)
{
    size_t used = ntk_histogram_dense_entries(dense, base->entries, base->capacity);

    if (used > base->capacity) {
        size_t capacity = used + used / 2 + 8;
        struct ntk_histogram_entry *entries = realloc(base->entries, capacity * sizeof *entries);

        if (!entries) {
            return -ENOMEM;
        }
        base->entries = entries;
        base->capacity = capacity;
        used = ntk_histogram_dense_entries(dense, base->entries, base->capacity);
    }
    base->count = used;
    base->sum_ns = dense->sum_ns;
    return 0;
}

void ntk_aggregate_load_dense(struct ntk_histogram_dense *dense, const uint64_t *buckets,
                              uint64_t sum_ns)
{
    uint64_t count = 0;

    for (size_t i = 0; i < NTK_HISTOGRAM_BUCKETS; i++) {
        dense->bucket[i] = buckets[i];
        count += buckets[i];
    }
    dense->count = count;
    dense->sum_ns = sum_ns;
}

void ntk_aggregate_subtract_baseline(struct ntk_histogram_dense *dense, const struct baseline *base)
{
    for (size_t i = 0; i < base->count; i++) {
        uint64_t *bucket = &dense->bucket[base->entries[i].bucket];

        *bucket = ntk_aggregate_difference(*bucket, base->entries[i].count);
    }
    dense->sum_ns = ntk_aggregate_difference(dense->sum_ns, base->sum_ns);
}

/* The difference to the baseline, which becomes the reading. */
static struct ntk_histogram take_histogram(struct ntk_aggregate *aggregate, struct baseline *base,
                                           const uint64_t *buckets, uint64_t sum_ns)
{
    struct ntk_histogram_dense *dense = &aggregate->dense;
    struct baseline old = *base;
    struct ntk_histogram out;

    ntk_aggregate_load_dense(dense, buckets, sum_ns);
    *base = (struct baseline){ 0 };
    if (ntk_aggregate_set_baseline(base, dense) < 0) {
        *base = old;
        return (struct ntk_histogram){ 0 };
    }
    ntk_aggregate_subtract_baseline(dense, &old);
    free(old.entries);
    out = ntk_snapshot_histogram(aggregate->pending, dense);
    if (out.count == 0) {
        out.sum_ns = 0;
    }
    return out;
}

struct ntk_histogram ntk_aggregate_take_total(struct ntk_aggregate *aggregate,
                                              struct baseline *base)
{
    return take_histogram(aggregate, base, aggregate->histogram.total,
                          aggregate->histogram.total_sum_ns);
}

struct ntk_histogram ntk_aggregate_take_device(struct ntk_aggregate *aggregate,
                                               struct baseline *base)
{
    return take_histogram(aggregate, base, aggregate->histogram.device,
                          aggregate->histogram.device_sum_ns);
}

int ntk_aggregate_start_baseline(struct ntk_aggregate *aggregate, struct baseline *base,
                                 const uint64_t *buckets, uint64_t sum_ns)
{
    ntk_aggregate_load_dense(&aggregate->dense, buckets, sum_ns);
    return ntk_aggregate_set_baseline(base, &aggregate->dense);
}

int ntk_aggregate_stored_baseline(struct ntk_aggregate *aggregate, struct baseline *base,
                                  const struct ntk_histogram *stored)
{
    ntk_histogram_dense_reset(&aggregate->dense);
    ntk_histogram_dense_merge(&aggregate->dense, stored);
    return ntk_aggregate_set_baseline(base, &aggregate->dense);
}

struct ntk_histogram ntk_aggregate_histogram_of(struct ntk_aggregate *aggregate,
                                                const struct baseline *base)
{
    struct ntk_histogram all = { .sum_ns = base->sum_ns,
                                 .entries = base->entries,
                                 .entry_count = base->count };

    for (size_t i = 0; i < base->count; i++) {
        all.count += base->entries[i].count;
    }
    ntk_histogram_dense_reset(&aggregate->dense);
    ntk_histogram_dense_merge(&aggregate->dense, &all);
    return ntk_snapshot_histogram(aggregate->pending, &aggregate->dense);
}
