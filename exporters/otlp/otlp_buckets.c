/* SPDX-License-Identifier: MIT */
/* otlp_buckets - creates exponential buckets without gaps, as OTLP requires. */
#include <string.h>

#include "exporters/otlp/otlp_encode.h"

/* Returns the number of buckets from the first used to the last. */
static int64_t width(const struct ntk_points_buckets *sparse)
{
    return (int64_t)sparse->bucket[sparse->bucket_count - 1].index - sparse->bucket[0].index + 1;
}

void ntk_otlp_buckets_make(const struct ntk_histogram_dense *histogram,
                           struct ntk_otlp_buckets *out)
{
    struct ntk_points_buckets sparse;

    memset(out, 0, sizeof *out);
    ntk_points_buckets_make(histogram, &sparse);
    while (sparse.bucket_count && width(&sparse) > NTK_OTLP_BUCKETS_MAX) {
        ntk_points_buckets_halve(&sparse);
    }
    out->scale = sparse.scale;
    out->count = sparse.count;
    out->zero_count = sparse.zero_count;
    if (!sparse.bucket_count) {
        return;
    }
    out->offset = sparse.bucket[0].index;
    out->bucket_count = (uint32_t)width(&sparse);
    for (size_t i = 0; i < sparse.bucket_count; i++) {
        out->bucket[sparse.bucket[i].index - out->offset] = sparse.bucket[i].count;
    }
}
