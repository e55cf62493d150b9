/* SPDX-License-Identifier: MIT */
#include "shared/metrics/percentile.h"

#include <assert.h>
#include <string.h>

/* Buckets per cache line: most buckets are unused, so whole lines are checked first. */
#define LINE_BUCKETS 8u

const double ntk_percentile_list[NTK_PERCENTILE_COUNT] = { 0, 1, 25, 50, 75, 99, 100 };
const char *const ntk_percentile_names[NTK_PERCENTILE_COUNT] = { "p0",  "p1",  "p25", "p50",
                                                                 "p75", "p99", "p100" };

void ntk_histogram_dense_reset(struct ntk_histogram_dense *dense)
{
    memset(dense, 0, sizeof *dense);
}

void ntk_histogram_dense_record(struct ntk_histogram_dense *dense, uint64_t ns)
{
    dense->bucket[ntk_histogram_bucket(ns)]++;
    dense->count++;
    dense->sum_ns += ns;
}

void ntk_histogram_dense_merge(struct ntk_histogram_dense *into, const struct ntk_histogram *from)
{
    for (size_t i = 0; i < from->entry_count; i++) {
        uint32_t bucket = from->entries[i].bucket;

        /* Entries may come from a line of JSON; a bucket out of range counts as the last bucket. */
        if (bucket >= NTK_HISTOGRAM_BUCKETS) {
            bucket = NTK_HISTOGRAM_BUCKETS - 1;
        }
        into->bucket[bucket] += from->entries[i].count;
        into->count += from->entries[i].count;
    }
    into->sum_ns += from->sum_ns;
}

size_t ntk_histogram_dense_entries(const struct ntk_histogram_dense *dense,
                                   struct ntk_histogram_entry *entries, size_t capacity)
{
    size_t used = 0;

    static_assert(NTK_HISTOGRAM_BUCKETS % LINE_BUCKETS == 0, "whole lines");
    for (uint32_t line = 0; line < NTK_HISTOGRAM_BUCKETS; line += LINE_BUCKETS) {
        uint64_t any = 0;

        for (uint32_t i = line; i < line + LINE_BUCKETS; i++) {
            any |= dense->bucket[i];
        }
        for (uint32_t i = line; any != 0 && i < line + LINE_BUCKETS; i++) {
            if (dense->bucket[i] == 0) {
                continue;
            }
            if (used < capacity) {
                entries[used] =
                    (struct ntk_histogram_entry){ .bucket = i, .count = dense->bucket[i] };
            }
            used++;
        }
    }
    return used;
}

static uint64_t difference(uint64_t now, uint64_t before)
{
    return now >= before ? now - before : now;
}

void ntk_histogram_dense_difference(const struct ntk_histogram_dense *now,
                                    const struct ntk_histogram_dense *before,
                                    struct ntk_histogram_dense *out)
{
    uint64_t count = 0;

    for (size_t i = 0; i < NTK_HISTOGRAM_BUCKETS; i++) {
        out->bucket[i] = difference(now->bucket[i], before->bucket[i]);
        count += out->bucket[i];
    }
    out->sum_ns = difference(now->sum_ns, before->sum_ns);
    out->count = count;
}

/* The rank of a percentile, never above count - 1, so that it is always found. */
static uint64_t rank_of(double percent, uint64_t count)
{
    double rank;

    if (!(percent > 0)) {
        return 0;
    }
    if (percent >= 100) {
        return count - 1;
    }
    rank = percent / 100.0 * (double)(count - 1);
    return rank >= (double)(count - 1) ? count - 1 : (uint64_t)rank;
}

bool ntk_histogram_percentiles(const struct ntk_histogram *histogram, const double *percents,
                               size_t count, double *out_ns)
{
    uint64_t total = 0;
    uint64_t seen = 0;
    size_t entry = 0;

    /* Uses the sum of the entries, because histogram->count may be wrong. */
    for (size_t i = 0; i < histogram->entry_count; i++) {
        total += histogram->entries[i].count;
    }
    if (total == 0) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t rank = rank_of(percents[i], total);

        while (seen + histogram->entries[entry].count <= rank) {
            seen += histogram->entries[entry].count;
            entry++;
        }
        out_ns[i] = ntk_histogram_bucket_middle(histogram->entries[entry].bucket);
    }
    return true;
}

bool ntk_histogram_percentile(const struct ntk_histogram *histogram, double percent, double *out_ns)
{
    return ntk_histogram_percentiles(histogram, &percent, 1, out_ns);
}

bool ntk_histogram_dense_percentiles(const struct ntk_histogram_dense *dense,
                                     const double *percents, size_t count, double *out_ns)
{
    uint64_t total = 0;
    uint64_t seen = 0;
    uint32_t bucket = 0;

    for (size_t i = 0; i < NTK_HISTOGRAM_BUCKETS; i++) {
        total += dense->bucket[i];
    }
    if (total == 0) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t rank = rank_of(percents[i], total);

        while (seen + dense->bucket[bucket] <= rank) {
            seen += dense->bucket[bucket];
            bucket++;
        }
        out_ns[i] = ntk_histogram_bucket_middle(bucket);
    }
    return true;
}

uint64_t ntk_histogram_dense_below(const struct ntk_histogram_dense *dense, uint64_t edge_ns)
{
    uint32_t edge = ntk_histogram_bucket(edge_ns);
    uint64_t below = 0;

    for (uint32_t i = 0; i < edge; i++) {
        below += dense->bucket[i];
    }
    return below;
}

void ntk_latency_series_add(struct ntk_latency_series *series, const struct ntk_histogram *from)
{
    for (size_t i = 0; i < from->entry_count; i++) {
        uint64_t low = ntk_histogram_bucket_low(from->entries[i].bucket);
        uint32_t top = low == 0 ? 0 : 64u - (uint32_t)__builtin_clzll(low); /* low is below 2^top */
        uint32_t edge = top <= NTK_LATENCY_EDGE_FIRST ? 0 : top - NTK_LATENCY_EDGE_FIRST;

        for (uint32_t k = edge; k < NTK_LATENCY_EDGE_COUNT; k++) {
            series->below[k] += from->entries[i].count;
        }
        series->count += from->entries[i].count;
    }
    series->sum_ns += from->sum_ns;
}
