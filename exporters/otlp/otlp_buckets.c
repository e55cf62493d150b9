/* SPDX-License-Identifier: MIT */
/* otlp_buckets - latencies of a segment's log-linear buckets in exponential ones. */
#include <math.h>
#include <string.h>

#include "exporters/otlp/otlp_encode.h"
#include "shared/base/clock.h"

/* Of the bucket at NTK_OTLP_SCALE_MAX that holds the middle of a segment's bucket. */
static int32_t index_of(uint32_t bucket)
{
    double seconds = ntk_histogram_bucket_middle(bucket) / (double)NTK_NS_PER_SECOND;

    return (int32_t)ceil(log2(seconds) * (double)(1 << NTK_OTLP_SCALE_MAX)) - 1;
}

/* The bucket of a scale that is `lower` less: 2^lower of the finer ones are one, towards minus infinity. */
static int32_t coarser(int32_t index, unsigned lower)
{
    int32_t width = (int32_t)1 << lower;

    return index >= 0 ? index / width : -((-index + width - 1) / width);
}

void ntk_otlp_buckets_make(const struct ntk_histogram_dense *histogram,
                           struct ntk_otlp_buckets *out)
{
    uint32_t first = 0; /* of the used ones but 0, which is the time 0 */
    uint32_t last = 0;
    unsigned lower = 0;

    memset(out, 0, sizeof *out);
    out->zero_count = out->count = histogram->bucket[0];
    for (uint32_t i = 1; i < NTK_HISTOGRAM_BUCKETS; i++) {
        if (histogram->bucket[i]) {
            first = first ? first : i;
            last = i;
            out->count += histogram->bucket[i];
        }
    }
    out->scale = NTK_OTLP_SCALE_MAX;
    if (!first) {
        return;
    }
    int32_t from = index_of(first);
    int32_t to = index_of(last);
    while (coarser(to, lower) - coarser(from, lower) >= NTK_OTLP_BUCKETS_MAX) {
        lower++;
    }
    out->scale -= (int32_t)lower;
    out->offset = coarser(from, lower);
    out->bucket_count = (uint32_t)(coarser(to, lower) - out->offset + 1);
    for (uint32_t i = first; i <= last; i++) {
        if (histogram->bucket[i]) {
            out->bucket[coarser(index_of(i), lower) - out->offset] += histogram->bucket[i];
        }
    }
}
