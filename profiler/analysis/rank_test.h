/* SPDX-License-Identifier: MIT */
/*
 * rank_test - are two sets of measurements of one size, or is their difference chance?
 *
 * The Mann-Whitney test, two-sided: the probability that a random division of all values into two
 * sets of these sizes has rank sums at least as unequal. Equal values share their ranks. Exact, by
 * counting all divisions, up to NTK_RANK_TEST_EXACT_MAX values; beyond, the normal approximation
 * with corrections for ties and continuity. It asks nothing of the shape of the distribution, which
 * for times is never normal.
 *
 * Pure. Threads: any.
 */
#ifndef NTK_PROFILER_ANALYSIS_RANK_TEST_H
#define NTK_PROFILER_ANALYSIS_RANK_TEST_H

#include <stdbool.h>
#include <stddef.h>

#define NTK_RANK_TEST_EXACT_MAX 64

/* The least p that sets of these sizes can give; 1 when one is empty. */
double ntk_rank_test_least_p(size_t a_count, size_t b_count);
/* p in *out_p: 0 or -ENOMEM; -EINVAL when a set is empty. */
int ntk_rank_test(const double *a, size_t a_count, const double *b, size_t b_count, double *out_p);
/* Benjamini-Hochberg: which of the tests are significant when among those that are called so at
 * most the share `rate` shall be chance. p above 1 stands for no test. */
int ntk_rank_test_select(const double *p, size_t count, double rate, bool *out_is_significant);

#endif
