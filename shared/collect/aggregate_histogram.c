/* SPDX-License-Identifier: MIT */
/* aggregate_histogram - turns cumulative histograms into the difference of one period. */
#include "shared/collect/aggregate_state.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool ntk_aggregate_read_core_histogram(struct ntk_aggregate *aggregate,
                                       const struct ntk_runtime_reading *reading,
                                       const struct ntk_ring_core *core)
{
    aggregate->histogram.total_only = aggregate->no_model_latency;
    return !aggregate->no_latency && core->has_histogram &&
           reading->core_histogram(reading->ctx, core->core, &aggregate->histogram) == 0;
}

bool ntk_aggregate_read_model_histogram(struct ntk_aggregate *aggregate,
                                        const struct ntk_runtime_reading *reading,
                                        const struct ntk_ring_model *model)
{
    aggregate->histogram.total_only = false;
    return !aggregate->no_model_latency && model->has_histogram &&
           reading->model_histogram(reading->ctx, model, &aggregate->histogram) == 0;
}

/* A baseline entry packs bucket and count. Its largest count exceeds what a process reaches in a
 * hundred years. */
#define BUCKET_BITS 12
#define COUNT_MAX (UINT64_MAX >> BUCKET_BITS)
static_assert(NTK_HISTOGRAM_BUCKETS <= 1 << BUCKET_BITS, "a bucket fits");

static inline uint32_t bucket_of(uint64_t entry)
{
    return entry & ((1u << BUCKET_BITS) - 1);
}

static inline uint64_t count_of(uint64_t entry)
{
    return entry >> BUCKET_BITS;
}

static inline uint64_t pack(uint32_t bucket, uint64_t count)
{
    return (count < COUNT_MAX ? count : COUNT_MAX) << BUCKET_BITS | bucket;
}

static int reserve(struct baseline *base, size_t count)
{
    size_t capacity = count + count / 8 + 8;
    uint64_t *more =
        count > base->capacity ? realloc(base->entries, capacity * sizeof *more) : base->entries;

    if (!more && count > 0) {
        return -ENOMEM;
    }
    base->capacity = count > base->capacity ? capacity : base->capacity;
    base->entries = more;
    return 0;
}

static int set_baseline(struct baseline *base, const struct ntk_histogram_entry *entries,
                        size_t count, uint64_t sum_ns)
{
    if (reserve(base, count) < 0) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) { /* stored counts may be larger than an entry holds */
        base->entries[i] = pack(entries[i].bucket, entries[i].count);
    }
    base->count = count;
    base->sum_ns = sum_ns;
    return 0;
}

/*
 * Compares a reading with the baseline. Returns the reading, as a baseline, and the difference in
 * scratch memory, from one walk over the used buckets of both, which are sorted.
 */
static void compare(struct ntk_aggregate *aggregate, const struct baseline *base,
                    const struct ntk_ring_buckets *read)
{
    const uint64_t *old = base->entries;
    const uint64_t *old_end = old ? old + base->count : NULL;
    struct baseline_scratch *now = &aggregate->now;
    struct histogram_scratch *period = &aggregate->period;

    now->count = period->count = 0;
    now->sum_ns = read->sum_ns;
    period->sum_ns = ntk_aggregate_difference(read->sum_ns, base->sum_ns);
    for (uint32_t line = 0; (line = ntk_ring_line_next(read->lines, line)) < NTK_HISTOGRAM_LINES;
         line++) {
        const uint64_t *buckets = &read->bucket[line * NTK_HISTOGRAM_LINE_BUCKETS];
        unsigned int used = 0;

        for (unsigned int k = 0; k < NTK_HISTOGRAM_LINE_BUCKETS; k++) {
            used |= (unsigned int)(buckets[k] != 0) << k;
        }
        for (; used != 0; used &= used - 1) {
            unsigned int k = (unsigned int)__builtin_ctz(used);
            uint32_t i = line * NTK_HISTOGRAM_LINE_BUCKETS + k;
            uint64_t count = buckets[k] < COUNT_MAX ? buckets[k] : COUNT_MAX;
            uint64_t before = 0;
            uint64_t more;

            while (old < old_end && bucket_of(*old) < i) {
                old++;
            }
            if (old < old_end && bucket_of(*old) == i) {
                before = count_of(*old);
            }
            now->entries[now->count++] = count << BUCKET_BITS | i;
            more = ntk_aggregate_difference(count, before);
            /* Written without a branch, because branch prediction would often fail. */
            period->entries[period->count] =
                (struct ntk_histogram_entry){ .bucket = i, .count = more };
            period->count += more > 0;
        }
    }
}

static int keep(struct baseline *base, const struct baseline_scratch *from)
{
    if (reserve(base, from->count) < 0) {
        return -ENOMEM;
    }
    if (from->count > 0) {
        memcpy(base->entries, from->entries, from->count * sizeof *base->entries);
    }
    base->count = from->count;
    base->sum_ns = from->sum_ns;
    return 0;
}

struct ntk_histogram ntk_aggregate_take_histogram(struct ntk_aggregate *aggregate,
                                                  struct baseline *base,
                                                  const struct ntk_ring_buckets *read)
{
    struct histogram_scratch *period = &aggregate->period;

    compare(aggregate, base, read);
    if (period->count == 0 && read->sum_ns >= base->sum_ns) {
        /* entries after its count belong to the next period */
        aggregate->now.sum_ns = base->sum_ns;
    }
    if (keep(base, &aggregate->now) < 0 || period->count == 0) {
        return (struct ntk_histogram){ 0 };
    }
    return ntk_snapshot_histogram_of(aggregate->pending, period->entries, period->count,
                                     period->sum_ns);
}

int ntk_aggregate_start_baseline(struct ntk_aggregate *aggregate, struct baseline *base,
                                 const struct ntk_ring_buckets *read)
{
    compare(aggregate, base, read);
    return keep(base, &aggregate->now);
}

int ntk_aggregate_difference_baseline(struct ntk_aggregate *aggregate, struct baseline *out,
                                      const struct baseline *base,
                                      const struct ntk_ring_buckets *read)
{
    compare(aggregate, base, read);
    return set_baseline(out, aggregate->period.entries, aggregate->period.count,
                        aggregate->period.sum_ns);
}

int ntk_aggregate_stored_baseline(struct baseline *base, const struct ntk_histogram *stored)
{
    return set_baseline(base, stored->entries, stored->entry_count, stored->sum_ns);
}

struct ntk_histogram ntk_aggregate_histogram_of(struct ntk_aggregate *aggregate,
                                                const struct baseline *base)
{
    struct ntk_histogram_entry *entries = aggregate->period.entries;

    for (size_t i = 0; i < base->count; i++) {
        entries[i] = (struct ntk_histogram_entry){
            .bucket = bucket_of(base->entries[i]),
            .count = count_of(base->entries[i]),
        };
    }
    return ntk_snapshot_histogram_of(aggregate->pending, entries, base->count, base->sum_ns);
}
