/* SPDX-License-Identifier: MIT */
/* aggregate_histogram - turns cumulative histograms into the difference of one period. */
#include "shared/collect/aggregate_state.h"
#include "shared/base/bits.h"

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

#define LINE_BYTES (NTK_HISTOGRAM_LINE_BUCKETS * sizeof(uint64_t))

/* ---- lines ---- */

static size_t line_count(const uint64_t lines[NTK_HISTOGRAM_LINE_WORDS])
{
    return ntk_bits_count(lines, NTK_HISTOGRAM_LINE_WORDS);
}

static bool is_same_line(const uint64_t *a, const uint64_t *b)
{
    uint64_t difference = 0;

    for (size_t k = 0; k < NTK_HISTOGRAM_LINE_BUCKETS; k++) {
        difference |= a[k] ^ b[k];
    }
    return difference == 0;
}

/* Appends the increase of a line, or, without a line before, its counts. */
static void add_line(struct histogram_scratch *out, uint32_t line, const uint64_t *now,
                     const uint64_t *before)
{
    for (uint32_t k = 0; k < NTK_HISTOGRAM_LINE_BUCKETS; k++) {
        uint64_t more = before ? ntk_aggregate_difference(now[k], before[k]) : now[k];

        /* Written without a branch, because branch prediction would often fail. */
        out->entries[out->count] =
            (struct ntk_histogram_entry){ .bucket = line * NTK_HISTOGRAM_LINE_BUCKETS + k,
                                          .count = more };
        out->count += more > 0;
    }
}

/* ---- baselines ---- */

/* Replaces the lines of a baseline by those of a mask. They have the same counts, or 0 if they are
 * new. */
static int set_lines(struct baseline *base, const uint64_t lines[NTK_HISTOGRAM_LINE_WORDS])
{
    size_t count = line_count(lines);
    uint64_t *entries = calloc(count > 0 ? count : 1, LINE_BYTES);
    const uint64_t *from = base->entries;
    uint64_t *to = entries;

    if (!entries) {
        return -ENOMEM;
    }
    for (uint32_t line = 0; line < NTK_HISTOGRAM_LINES; line++) {
        bool was_kept = ntk_bits_has(base->lines, line);

        if (was_kept && ntk_bits_has(lines, line)) {
            memcpy(to, from, LINE_BYTES);
        }
        if (was_kept) {
            from += NTK_HISTOGRAM_LINE_BUCKETS;
        }
        if (ntk_bits_has(lines, line)) {
            to += NTK_HISTOGRAM_LINE_BUCKETS;
        }
    }
    free(base->entries);
    base->entries = entries;
    memcpy(base->lines, lines, sizeof base->lines);
    return 0;
}

/* Makes a baseline of used buckets. */
static int set_baseline(struct baseline *base, const struct ntk_histogram_entry *entries,
                        size_t count, uint64_t sum_ns)
{
    uint64_t lines[NTK_HISTOGRAM_LINE_WORDS] = { 0 };
    struct baseline fresh = { .sum_ns = sum_ns };
    uint64_t *at;
    uint32_t line = 0;

    for (size_t i = 0; i < count; i++) {
        if (entries[i].bucket < NTK_HISTOGRAM_BUCKETS) {
            uint32_t its = entries[i].bucket / NTK_HISTOGRAM_LINE_BUCKETS;
            ntk_bits_add(lines, its);
        }
    }
    if (set_lines(&fresh, lines) < 0) {
        return -ENOMEM;
    }
    at = fresh.entries;
    for (size_t i = 0; (line = ntk_ring_line_next(lines, line)) < NTK_HISTOGRAM_LINES;
         line++, at += NTK_HISTOGRAM_LINE_BUCKETS) {
        for (; i < count && entries[i].bucket / NTK_HISTOGRAM_LINE_BUCKETS <= line; i++) {
            if (entries[i].bucket / NTK_HISTOGRAM_LINE_BUCKETS == line) {
                at[entries[i].bucket % NTK_HISTOGRAM_LINE_BUCKETS] = entries[i].count;
            }
        }
    }
    free(base->entries);
    *base = fresh;
    return 0;
}

/*
 * Compares a reading with the baseline and makes it the new baseline. Returns the difference as
 * used buckets in scratch memory. Most lines of a long job did not change in a period. Returns
 * -ENOMEM, and changes nothing, if memory for new lines is missing.
 */
static int advance(struct ntk_aggregate *aggregate, struct baseline *base,
                   const struct ntk_ring_buckets *read)
{
    struct histogram_scratch *period = &aggregate->period;
    uint64_t *before;

    period->count = 0;
    period->sum_ns = ntk_aggregate_difference(read->sum_ns, base->sum_ns);
    if ((!base->entries || memcmp(base->lines, read->lines, sizeof base->lines) != 0) &&
        set_lines(base, read->lines) < 0) {
        return -ENOMEM;
    }
    before = base->entries;
    for (uint32_t line = 0; (line = ntk_ring_line_next(read->lines, line)) < NTK_HISTOGRAM_LINES;
         line++, before += NTK_HISTOGRAM_LINE_BUCKETS) {
        const uint64_t *now = &read->bucket[line * NTK_HISTOGRAM_LINE_BUCKETS];

        if (!is_same_line(now, before)) {
            add_line(period, line, now, before);
            memcpy(before, now, LINE_BYTES);
        }
    }
    return 0;
}

struct ntk_histogram ntk_aggregate_take_histogram(struct ntk_aggregate *aggregate,
                                                  struct baseline *base,
                                                  const struct ntk_ring_buckets *read)
{
    struct histogram_scratch *period = &aggregate->period;

    if (advance(aggregate, base, read) < 0) {
        return (struct ntk_histogram){ 0 };
    }
    if (period->count == 0 && read->sum_ns >= base->sum_ns) {
        /* entries after its count belong to the next period */
        return (struct ntk_histogram){ 0 };
    }
    base->sum_ns = read->sum_ns;
    if (period->count == 0) {
        return (struct ntk_histogram){ 0 };
    }
    return ntk_snapshot_histogram_of(aggregate->pending, period->entries, period->count,
                                     period->sum_ns);
}

int ntk_aggregate_start_baseline(struct ntk_aggregate *aggregate, struct baseline *base,
                                 const struct ntk_ring_buckets *read)
{
    int ret = advance(aggregate, base, read);

    base->sum_ns = ret == 0 ? read->sum_ns : base->sum_ns;
    return ret;
}

int ntk_aggregate_difference_baseline(struct ntk_aggregate *aggregate, struct baseline *out,
                                      const struct baseline *base,
                                      const struct ntk_ring_buckets *read)
{
    struct histogram_scratch *period = &aggregate->period;
    const uint64_t *before = base->entries;

    period->count = 0;
    period->sum_ns = ntk_aggregate_difference(read->sum_ns, base->sum_ns);
    for (uint32_t line = 0; line < NTK_HISTOGRAM_LINES; line++) {
        bool is_kept = ntk_bits_has(base->lines, line);

        if (ntk_bits_has(read->lines, line)) {
            add_line(period, line, &read->bucket[line * NTK_HISTOGRAM_LINE_BUCKETS],
                     is_kept ? before : NULL);
        }
        if (is_kept) {
            before += NTK_HISTOGRAM_LINE_BUCKETS;
        }
    }
    return set_baseline(out, period->entries, period->count, period->sum_ns);
}

int ntk_aggregate_stored_baseline(struct baseline *base, const struct ntk_histogram *stored)
{
    return set_baseline(base, stored->entries, stored->entry_count, stored->sum_ns);
}

struct ntk_histogram ntk_aggregate_histogram_of(struct ntk_aggregate *aggregate,
                                                const struct baseline *base)
{
    struct histogram_scratch *all = &aggregate->period;
    const uint64_t *at = base->entries;

    all->count = 0;
    for (uint32_t line = 0;
         at && (line = ntk_ring_line_next(base->lines, line)) < NTK_HISTOGRAM_LINES;
         line++, at += NTK_HISTOGRAM_LINE_BUCKETS) {
        add_line(all, line, at, NULL);
    }
    return ntk_snapshot_histogram_of(aggregate->pending, all->entries, all->count, base->sum_ns);
}
