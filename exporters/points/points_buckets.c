/* SPDX-License-Identifier: MIT */
/* points_buckets - converts latencies from a segment's log-linear buckets to exponential ones. */
#include "exporters/points/points_buckets.h"

#include <math.h>
#include <stdio.h>

#include "shared/base/clock.h"

#define GAP_MAX 2 /* up to this number, empty buckets cost less as zeros than a new span */

/* Returns the bucket at NTK_POINTS_SCALE_MAX that contains the middle of a segment's bucket. */
static int32_t index_of(uint32_t bucket)
{
    double seconds = ntk_histogram_bucket_middle(bucket) / (double)NTK_NS_PER_SECOND;

    return (int32_t)ceil(log2(seconds) * (double)(1 << NTK_POINTS_SCALE_MAX)) - 1;
}

/* Adds a count; buckets arrive in order of index. */
static void add(struct ntk_points_buckets *buckets, int32_t index, uint64_t count)
{
    size_t used = buckets->bucket_count;

    if (used == 0 || buckets->bucket[used - 1].index != index) {
        buckets->bucket[buckets->bucket_count++] = (struct ntk_points_bucket){ index, count };
    } else {
        buckets->bucket[used - 1].count += count;
    }
}

void ntk_points_buckets_make(const struct ntk_histogram_dense *histogram,
                             struct ntk_points_buckets *out)
{
    out->scale = NTK_POINTS_SCALE_MAX;
    out->zero_count = out->count = histogram->bucket[0];
    out->bucket_count = 0;
    for (uint32_t i = 1; i < NTK_HISTOGRAM_BUCKETS; i++) {
        if (histogram->bucket[i]) {
            out->count += histogram->bucket[i];
            add(out, index_of(i), histogram->bucket[i]);
        }
    }
}

void ntk_points_buckets_halve(struct ntk_points_buckets *buckets)
{
    size_t before = buckets->bucket_count;

    buckets->scale--;
    buckets->bucket_count = 0;
    for (size_t i = 0; i < before; i++) {
        int32_t index = buckets->bucket[i].index;
        /* Round towards minus infinity. */
        add(buckets, index >= 0 ? index / 2 : -((1 - index) / 2), buckets->bucket[i].count);
    }
}

/* Returns the number of empty buckets before bucket i to write as zeros; -1 if a new span
 * starts. */
static int32_t zeros_before(const struct ntk_points_buckets *buckets, size_t i)
{
    if (i == 0) {
        return -1;
    }
    int32_t gap = buckets->bucket[i].index - buckets->bucket[i - 1].index - 1;
    return gap <= GAP_MAX ? gap : -1;
}

static size_t native_count(const struct ntk_points_buckets *buckets)
{
    size_t count = buckets->bucket_count;

    for (size_t i = 0; i < buckets->bucket_count; i++) {
        int32_t zeros = zeros_before(buckets, i);
        count += zeros > 0 ? (size_t)zeros : 0;
    }
    return count;
}

void ntk_points_native_make(const struct ntk_histogram_dense *histogram,
                            struct ntk_points_native *out)
{
    struct ntk_points_buckets buckets;
    uint64_t before = 0;
    int32_t next = 0;

    ntk_points_buckets_make(histogram, &buckets);
    while (native_count(&buckets) > NTK_POINTS_NATIVE_MAX) {
        ntk_points_buckets_halve(&buckets);
    }
    out->schema = buckets.scale;
    out->zero_count = buckets.zero_count;
    out->span_count = out->delta_count = 0;
    for (size_t i = 0; i < buckets.bucket_count; i++) {
        /* Prometheus numbers buckets by their upper edge */
        int32_t index = buckets.bucket[i].index + 1;
        int32_t zeros = zeros_before(&buckets, i);
        if (zeros < 0) {
            out->span[out->span_count].offset = index - next;
            out->span[out->span_count++].length = 0;
        }
        uint32_t *length = &out->span[out->span_count - 1].length;
        for (; zeros > 0; zeros--) {
            out->delta[out->delta_count++] = -(int64_t)before;
            before = 0;
            ++*length;
        }
        out->delta[out->delta_count++] = (int64_t)(buckets.bucket[i].count - before);
        before = buckets.bucket[i].count;
        ++*length;
        next = index + 1;
    }
}

void ntk_points_edge_format(unsigned int i, char text[NTK_POINTS_EDGE_BYTES])
{
    snprintf(text, NTK_POINTS_EDGE_BYTES, "%.13g",
             (double)ntk_latency_edge_ns(i) / (double)NTK_NS_PER_SECOND);
}
