/* SPDX-License-Identifier: MIT */
/*
 * percentile - latency histograms of a period: difference, merge, percentiles.
 *
 * Segments keep cumulative log-linear histograms (shared/abi/segment_abi.h: 64 sub-buckets per
 * octave, 2,240 counters). A period is the difference of two readings; few of its buckets are used,
 * so a period is stored as a sorted list of (bucket, count). To merge many histograms, add them to
 * a dense one.
 *
 * The same rule applies everywhere: a percentile has the rank floor(p / 100 * (n - 1)); its value
 * is the middle of that rank's bucket, with a relative error of at most 0.8 %.
 *
 * Owner:   struct ntk_histogram borrows its entries, mostly from a snapshot; a dense one is plain
 *          data of 18 KiB.
 * Threads: any; plain data.
 */
#ifndef NTK_SHARED_METRICS_PERCENTILE_H
#define NTK_SHARED_METRICS_PERCENTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/abi/segment_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The percentiles of every report, in numeric order. */
#define NTK_PERCENTILE_COUNT 7
extern const double ntk_percentile_list[NTK_PERCENTILE_COUNT];       /* 0 1 25 50 75 99 100 */
extern const char *const ntk_percentile_names[NTK_PERCENTILE_COUNT]; /* "p0" ... "p100" */

struct ntk_histogram_entry {
    uint32_t bucket; /* below NTK_HISTOGRAM_BUCKETS */
    uint32_t reserved;
    uint64_t count; /* above 0 */
};

/* Sorted by bucket, each bucket at most once. A zeroed struct is empty. */
struct ntk_histogram {
    uint64_t count; /* sum over the entries */
    uint64_t sum_ns;
    const struct ntk_histogram_entry *entries; /* borrowed */
    size_t entry_count;
};

struct ntk_histogram_dense {
    uint64_t count;
    uint64_t sum_ns;
    uint64_t bucket[NTK_HISTOGRAM_BUCKETS];
};

void ntk_histogram_dense_reset(struct ntk_histogram_dense *dense);
void ntk_histogram_dense_record(struct ntk_histogram_dense *dense, uint64_t ns);
void ntk_histogram_dense_merge(struct ntk_histogram_dense *into, const struct ntk_histogram *from);

/* Returns the number of used buckets; writes at most capacity entries. */
size_t ntk_histogram_dense_entries(const struct ntk_histogram_dense *dense,
                                   struct ntk_histogram_entry *entries, size_t capacity);

/* Computes now - before, bucket by bucket; a bucket that decreased counts from 0 again. sum_ns
 * follows the same rule. out may be `before`. */
void ntk_histogram_dense_difference(const struct ntk_histogram_dense *now,
                                    const struct ntk_histogram_dense *before,
                                    struct ntk_histogram_dense *out);

/* Returns false if the histogram is empty. percent is 0 to 100 (clamped). */
bool ntk_histogram_percentile(const struct ntk_histogram *histogram, double percent,
                              double *out_ns);
/* Same, for several percentiles in one pass; percents must be ascending. */
bool ntk_histogram_percentiles(const struct ntk_histogram *histogram, const double *percents,
                               size_t count, double *out_ns);
bool ntk_histogram_dense_percentiles(const struct ntk_histogram_dense *dense,
                                     const double *percents, size_t count, double *out_ns);

/* The number of values below `edge_ns`; exact for bucket edges, such as every power of two. */
uint64_t ntk_histogram_dense_below(const struct ntk_histogram_dense *dense, uint64_t edge_ns);

/* The cumulative edges in reports and exports are 2^k ns with k = 10 to 40. */
#define NTK_LATENCY_EDGE_FIRST 10u
#define NTK_LATENCY_EDGE_COUNT 31u

/* i must be below NTK_LATENCY_EDGE_COUNT. */
static inline uint64_t ntk_latency_edge_ns(unsigned int i)
{
    return UINT64_C(1) << (NTK_LATENCY_EDGE_FIRST + i);
}

struct ntk_latency_series {
    uint64_t count; /* value of the edge "+Inf" */
    uint64_t sum_ns;
    uint64_t below[NTK_LATENCY_EDGE_COUNT]; /* cumulative: number of values below 2^(10 + i) ns */
};

/* Adds the period in `from` to the running totals. */
void ntk_latency_series_add(struct ntk_latency_series *series, const struct ntk_histogram *from);

#ifdef __cplusplus
}
#endif
#endif
