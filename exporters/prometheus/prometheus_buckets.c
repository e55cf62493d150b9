/* SPDX-License-Identifier: MIT */
/* prometheus_buckets - latencies of a segment's log-linear buckets in exponential ones. */
#include "exporters/prometheus/prometheus_buckets.h"

#include <math.h>

#include "shared/base/clock.h"

/* Of the bucket at NTK_PROMETHEUS_SCALE_MAX that holds the middle of a segment's bucket. */
static int32_t index_of(uint32_t bucket)
{
    double seconds = ntk_histogram_bucket_middle(bucket) / (double)NTK_NS_PER_SECOND;

    return (int32_t)ceil(log2(seconds) * (double)(1 << NTK_PROMETHEUS_SCALE_MAX)) - 1;
}

/* Buckets come by index. */
static void add(struct ntk_prometheus_buckets *buckets, int32_t index, uint64_t count)
{
    size_t used = buckets->bucket_count;

    if (used == 0 || buckets->bucket[used - 1].index != index) {
        buckets->bucket[buckets->bucket_count++] = (struct ntk_prometheus_bucket){ index, count };
    } else {
        buckets->bucket[used - 1].count += count;
    }
}

void ntk_prometheus_buckets_make(const struct ntk_histogram_dense *histogram,
                                 struct ntk_prometheus_buckets *out)
{
    out->scale = NTK_PROMETHEUS_SCALE_MAX;
    out->zero_count = out->count = histogram->bucket[0];
    out->bucket_count = 0;
    for (uint32_t i = 1; i < NTK_HISTOGRAM_BUCKETS; i++) {
        if (histogram->bucket[i]) {
            out->count += histogram->bucket[i];
            add(out, index_of(i), histogram->bucket[i]);
        }
    }
}

void ntk_prometheus_buckets_halve(struct ntk_prometheus_buckets *buckets)
{
    size_t before = buckets->bucket_count;

    buckets->scale--;
    buckets->bucket_count = 0;
    for (size_t i = 0; i < before; i++) {
        int32_t index = buckets->bucket[i].index;
        /* Towards minus infinity. */
        add(buckets, index >= 0 ? index / 2 : -((1 - index) / 2), buckets->bucket[i].count);
    }
}
