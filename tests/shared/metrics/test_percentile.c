/* SPDX-License-Identifier: MIT */
/* Histograms, compared with a sorted list of the same values. */
#include <stdlib.h>
#include <string.h>

#include "shared/metrics/percentile.h"
#include "tests/support/unit.h"

/* A fixed generator: the same values in every run. */
static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Values spread over all octaves from 1 ns to 1,000 s. */
static uint64_t next_value(uint64_t *seed, unsigned int octaves)
{
    unsigned int bits = 1 + (unsigned int)(next_random(seed) % octaves);

    return next_random(seed) & ((UINT64_C(1) << bits) - 1);
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Method: up to 5,000 values of several spreads; every percentile of 0, 0.5, ... 100 is compared
 * with the value at index floor(p / 100 * (n - 1)) of the sorted list. */
static void percentiles_are_within_0_8_percent_of_the_sorted_list(void **state)
{
    static const size_t counts[] = { 1, 2, 3, 14, 100, 5000 };
    struct ntk_histogram_dense *dense = calloc(1, sizeof *dense);
    struct ntk_histogram_entry *entries = calloc(NTK_HISTOGRAM_BUCKETS, sizeof *entries);
    uint64_t *values = calloc(5000, sizeof *values);
    uint64_t seed = 88172645463325252u;
    size_t checked = 0;

    assert_non_null(dense);
    assert_non_null(entries);
    assert_non_null(values);
    for (unsigned int octaves = 1; octaves <= 39; octaves += 2) {
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            size_t n = counts[c];
            struct ntk_histogram sparse = { 0 };

            ntk_histogram_dense_reset(dense);
            for (size_t i = 0; i < n; i++) {
                values[i] = next_value(&seed, octaves);
                ntk_histogram_dense_record(dense, values[i]);
            }
            qsort(values, n, sizeof *values, compare_u64);
            sparse.entry_count = ntk_histogram_dense_entries(dense, entries, NTK_HISTOGRAM_BUCKETS);
            sparse.entries = entries;
            for (int half = 0; half <= 200; half++) {
                double p = half / 2.0;
                double exact = (double)values[(size_t)(p / 100 * (double)(n - 1))];
                double got[2];

                assert_true(ntk_histogram_percentile(&sparse, p, &got[0]));
                assert_true(ntk_histogram_dense_percentiles(dense, &p, 1, &got[1]));
                assert_true(got[0] == got[1]);
                assert_true(got[0] >= exact * (1 - 0.008) - 1e-9);
                assert_true(got[0] <= exact * (1 + 0.008) + 1e-9);
                checked++;
            }
        }
    }
    assert_true(checked > 20000);
    free(values);
    free(entries);
    free(dense);
}

static void an_empty_histogram_has_no_percentiles(void **state)
{
    struct ntk_histogram_dense *dense = calloc(1, sizeof *dense);
    struct ntk_histogram none = { 0 };
    double out = 42;

    assert_non_null(dense);
    assert_false(ntk_histogram_percentile(&none, 50, &out));
    assert_false(
        ntk_histogram_dense_percentiles(dense, ntk_percentile_list, NTK_PERCENTILE_COUNT, &out));
    assert_true(out == 42);
    free(dense);
}

/* Method: count exceeds the sum of the entries, as a line of JSON may claim. */
static void percentiles_use_the_entries_instead_of_the_stated_count(void **state)
{
    static const struct ntk_histogram_entry entries[] = { { .bucket = 10, .count = 1 } };
    struct ntk_histogram lying = { .count = 1000, .entries = entries, .entry_count = 1 };
    double out = 0;

    assert_true(ntk_histogram_percentile(&lying, 100, &out));
    assert_true(out == 10);
}

/* Method: two halves of the values in two histograms, merged, compared with one histogram of
 * all. */
static void merged_histograms_equal_one_with_all_values(void **state)
{
    struct ntk_histogram_dense *parts = calloc(3, sizeof *parts);
    struct ntk_histogram_entry *entries = calloc(NTK_HISTOGRAM_BUCKETS, sizeof *entries);
    struct ntk_histogram sparse = { 0 };
    uint64_t seed = 42;

    assert_non_null(parts);
    assert_non_null(entries);
    for (size_t i = 0; i < 2000; i++) {
        uint64_t value = next_value(&seed, 36);

        ntk_histogram_dense_record(&parts[i % 2], value);
        ntk_histogram_dense_record(&parts[2], value);
    }
    sparse.entry_count = ntk_histogram_dense_entries(&parts[1], entries, NTK_HISTOGRAM_BUCKETS);
    sparse.entries = entries;
    sparse.sum_ns = parts[1].sum_ns;
    ntk_histogram_dense_merge(&parts[0], &sparse);
    assert_memory_equal(&parts[0], &parts[2], sizeof parts[0]);
    free(entries);
    free(parts);
}

static void a_histogram_difference_handles_restarted_counters(void **state)
{
    struct ntk_histogram_dense *d = calloc(3, sizeof *d);
    struct ntk_histogram_dense *before = &d[0];
    struct ntk_histogram_dense *now = &d[1];
    struct ntk_histogram_dense *out = &d[2];

    assert_non_null(d);
    ntk_histogram_dense_record(before, 1000);
    ntk_histogram_dense_record(before, 5);
    ntk_histogram_dense_record(before, 5);
    *now = *before;
    ntk_histogram_dense_record(now, 1000);
    now->bucket[5] = 1; /* was 2 */

    ntk_histogram_dense_difference(now, before, out);

    assert_int_equal(out->bucket[ntk_histogram_bucket(1000)], 1);
    assert_int_equal(out->bucket[5], 1);
    assert_int_equal(out->count, 2);
    free(d);
}

/* Method: the cumulative edges, compared with a count of the values themselves. */
static void cumulative_counts_are_exact_at_powers_of_two(void **state)
{
    struct ntk_histogram_dense *dense = calloc(1, sizeof *dense);
    struct ntk_histogram_entry *entries = calloc(NTK_HISTOGRAM_BUCKETS, sizeof *entries);
    struct ntk_latency_series series = { 0 };
    struct ntk_histogram sparse = { 0 };
    uint64_t expected[NTK_LATENCY_EDGE_COUNT] = { 0 };
    uint64_t seed = 7;

    assert_non_null(dense);
    assert_non_null(entries);
    for (size_t i = 0; i < 3000; i++) {
        /* including edges themselves, and their neighbours */
        uint64_t value = i % 3 == 0 ? (UINT64_C(1) << (8 + i % 34)) - i % 2 : next_value(&seed, 42);

        ntk_histogram_dense_record(dense, value);
        for (unsigned int k = 0; k < NTK_LATENCY_EDGE_COUNT; k++) {
            expected[k] += value < UINT64_C(1) << (NTK_LATENCY_EDGE_FIRST + k);
        }
    }
    sparse.entry_count = ntk_histogram_dense_entries(dense, entries, NTK_HISTOGRAM_BUCKETS);
    sparse.entries = entries;
    sparse.sum_ns = dense->sum_ns;
    ntk_latency_series_add(&series, &sparse);
    assert_int_equal(series.count, 3000);
    assert_int_equal(series.sum_ns, dense->sum_ns);
    for (unsigned int k = 0; k + 1 < NTK_LATENCY_EDGE_COUNT; k++) {
        assert_int_equal(series.below[k], expected[k]);
        assert_int_equal(
            ntk_histogram_dense_below(dense, UINT64_C(1) << (NTK_LATENCY_EDGE_FIRST + k)),
            expected[k]);
    }
    free(entries);
    free(dense);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_within_0_8_percent_of_the_sorted_list),
        cmocka_unit_test(an_empty_histogram_has_no_percentiles),
        cmocka_unit_test(percentiles_use_the_entries_instead_of_the_stated_count),
        cmocka_unit_test(merged_histograms_equal_one_with_all_values),
        cmocka_unit_test(a_histogram_difference_handles_restarted_counters),
        cmocka_unit_test(cumulative_counts_are_exact_at_powers_of_two),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
