/* SPDX-License-Identifier: MIT */
/*
 * points_buckets - converts latencies from a segment's log-linear buckets to exponential ones of
 * base 2^(2^-scale) seconds.
 *
 * The whole count of a segment's bucket is added to the exponential bucket that contains its
 * middle, which is also the value that percentiles report; 0 ns is added to the count of zeros. So
 * no count is lost or split, the sum is exact, and an edge differs from the reported value by less
 * than base - 1: 1.1 % at scale 6, 2.2 % at 5. Halving merges neighbours, so no value crosses a
 * remaining edge.
 *
 * Threads: any; plain data.
 */
#ifndef NTK_EXPORTERS_POINTS_POINTS_BUCKETS_H
#define NTK_EXPORTERS_POINTS_POINTS_BUCKETS_H

#include <stddef.h>
#include <stdint.h>

#include "shared/metrics/percentile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* maximum number in a native histogram, including written empty buckets */
#define NTK_POINTS_NATIVE_MAX 160
/* Same threshold as in client libraries, so that histograms can be added: 2^-128; only 0 is
 * below. */
#define NTK_POINTS_ZERO_THRESHOLD 0x1p-128
#define NTK_POINTS_EDGE_BYTES 32
#define NTK_POINTS_SCALE_MAX 6 /* 64 buckets per octave, as many as a segment has */

struct ntk_points_bucket {
    int32_t index; /* for values above base^index seconds, up to base^(index + 1) */
    uint64_t count;
};

struct ntk_points_buckets { /* 36 KiB */
    int32_t scale;
    uint64_t count; /* total, including zero_count */
    uint64_t zero_count;
    size_t bucket_count;
    struct ntk_points_bucket bucket[NTK_HISTOGRAM_BUCKETS]; /* used buckets, by index */
};

/* A native histogram of Prometheus: spans of buckets, each bucket as the difference to the previous
 * count. */
struct ntk_points_native {
    int32_t schema;
    uint64_t zero_count;
    size_t span_count;
    struct {
        int32_t offset;  /* number of skipped indices before it; for the first span its index */
        uint32_t length; /* number of buckets */
    } span[NTK_POINTS_NATIVE_MAX];
    size_t delta_count;
    int64_t delta[NTK_POINTS_NATIVE_MAX];
};

/* Creates a native histogram with the largest schema that fits. */
void ntk_points_native_make(const struct ntk_histogram_dense *histogram,
                            struct ntk_points_native *out);
/* Formats the edge of classic bucket i in seconds, with at most 13 digits: exact, and equal to the
 * edge in client libraries. */
void ntk_points_edge_format(unsigned int i, char text[NTK_POINTS_EDGE_BYTES]);
/* Creates buckets at NTK_POINTS_SCALE_MAX. */
void ntk_points_buckets_make(const struct ntk_histogram_dense *histogram,
                             struct ntk_points_buckets *out);
/* Reduces the scale by one: pairs of buckets are merged. */
void ntk_points_buckets_halve(struct ntk_points_buckets *buckets);

#ifdef __cplusplus
}
#endif
#endif
