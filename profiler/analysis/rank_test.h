/* SPDX-License-Identifier: MIT */
/*
 * rank_test - whether the difference between two sets of measurements is significant.
 *
 * The Mann-Whitney test, two-sided: the probability that a random division of all values into two
 * sets of these sizes has rank sums at least as unequal. Equal values share their ranks. Exact, by
 * counting all divisions, up to NTK_RANK_TEST_EXACT_MAX values; beyond, the normal approximation
 * with corrections for ties and continuity. It assumes no distribution, because times are never
 * normally distributed.
 *
 * Pure. Threads: any.
 */
#ifndef NTK_PROFILER_ANALYSIS_RANK_TEST_H
#define NTK_PROFILER_ANALYSIS_RANK_TEST_H

#include <stdbool.h>
#include <stddef.h>

#define NTK_RANK_TEST_EXACT_MAX 64

/* The smallest possible p for sets of these sizes; 1 if one is empty. */
double ntk_rank_test_least_p(size_t a_count, size_t b_count);
/* p in *out_p: 0 or -ENOMEM; -EINVAL if a set is empty. */
int ntk_rank_test(const double *a, size_t a_count, const double *b, size_t b_count, double *out_p);
/* Benjamini-Hochberg: the significant tests at a false discovery rate of `rate`. p above 1 means no
 * test. */
int ntk_rank_test_select(const double *p, size_t count, double rate, bool *out_is_significant);

#endif
