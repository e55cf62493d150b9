/* SPDX-License-Identifier: MIT */
/* rank_test - computes mid-ranks, doubled so that they are whole numbers, and counts divisions by
 * size and sum. */
#include "profiler/analysis/rank_test.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "shared/base/order.h"

struct value {
    double value;
    bool is_a;
};

NTK_ORDER(compare_values, struct value, NTK_UP(value));

/* Computes twice the mid-rank of each value (1 is the smallest); *out_ties is the sum of t^3 - t
 * over groups of t equal values. */
static void rank(const struct value *values, size_t count, unsigned *doubled, double *out_ties)
{
    *out_ties = 0;
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;

        while (end < count && values[end].value <= values[i].value) {
            end++;
        }
        double equal = (double)(end - i);
        *out_ties += equal * equal * equal - equal;
        for (size_t k = i; k < end; k++) {
            doubled[k] = (unsigned)(i + 1 + end);
        }
        i = end;
    }
}

/* Counts divisions in ways[size][sum]: the number of sets of this size with this doubled rank
 * sum. */
static int exact(const unsigned *doubled, size_t count, size_t a_count, unsigned a_sum,
                 double *out_p)
{
    size_t sums = count * (count + 1) + 1;
    double *ways = calloc((a_count + 1) * sums, sizeof *ways);
    double all = 0;
    double as_unequal = 0;

    if (!ways) {
        return -ENOMEM;
    }
    ways[0] = 1;
    for (size_t i = 0; i < count; i++) {
        for (size_t size = i + 1 < a_count ? i + 1 : a_count; size > 0; size--) {
            for (size_t sum = sums - 1; sum + 1 > doubled[i]; sum--) {
                ways[size * sums + sum] += ways[(size - 1) * sums + sum - doubled[i]];
            }
        }
    }
    /* Doubled again, the mean is also a whole number. */
    long mean = (long)(2 * a_count * (count + 1));
    long distance = labs(2 * (long)a_sum - mean);
    for (size_t sum = 0; sum < sums; sum++) {
        double these = ways[a_count * sums + sum];
        all += these;
        as_unequal += labs(2 * (long)sum - mean) >= distance ? these : 0;
    }
    free(ways);
    *out_p = as_unequal / all;
    return 0;
}

static double approximate(size_t count, size_t a_count, unsigned a_sum, double ties)
{
    double n = (double)count;
    double a = (double)a_count;
    double b = n - a;
    double distance = fabs(a_sum / 2.0 - a * (n + 1) / 2) - 0.5;
    double variance = a * b / 12 * (n + 1 - ties / (n * (n - 1)));

    return variance <= 0 || distance <= 0 ? 1 : erfc(distance / sqrt(2 * variance));
}

int ntk_rank_test(const double *a, size_t a_count, const double *b, size_t b_count, double *out_p)
{
    size_t count = a_count + b_count;
    unsigned a_sum = 0;
    double ties;
    int ret = 0;

    if (!a_count || !b_count) {
        return -EINVAL;
    }
    struct value *values = calloc(count, sizeof *values);
    unsigned *doubled = calloc(count, sizeof *doubled);
    if (!values || !doubled) {
        free(values);
        free(doubled);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        values[i] = (struct value){ i < a_count ? a[i] : b[i - a_count], i < a_count };
    }
    qsort(values, count, sizeof *values, compare_values);
    rank(values, count, doubled, &ties);
    for (size_t i = 0; i < count; i++) {
        a_sum += values[i].is_a ? doubled[i] : 0;
    }
    if (count <= NTK_RANK_TEST_EXACT_MAX) {
        ret = exact(doubled, count, a_count, a_sum, out_p);
    } else {
        *out_p = approximate(count, a_count, a_sum, ties);
    }
    free(values);
    free(doubled);
    return ret;
}

struct indexed {
    double p;
    size_t at;
};

NTK_ORDER(compare_p, struct indexed, NTK_UP(p));

int ntk_rank_test_select(const double *p, size_t count, double rate, bool *out_is_significant)
{
    struct indexed *sorted = calloc(count + 1, sizeof *sorted);
    size_t tests = 0;
    size_t selected = 0;

    if (!sorted) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        out_is_significant[i] = false;
        if (p[i] <= 1) {
            sorted[tests++] = (struct indexed){ p[i], i };
        }
    }
    qsort(sorted, tests, sizeof *sorted, compare_p);
    for (size_t i = 0; i < tests; i++) {
        if (sorted[i].p <= rate * (double)(i + 1) / (double)tests) {
            selected = i + 1;
        }
    }
    for (size_t i = 0; i < selected; i++) {
        out_is_significant[sorted[i].at] = true;
    }
    free(sorted);
    return 0;
}
