/* SPDX-License-Identifier: MIT */
/*
 * rank_test - tests if the difference between two sets of measurements is significant.
 *
 * It is the two-sided Mann-Whitney test: the probability that a random division of all values into
 * two sets of these sizes has rank sums that are at least as unequal. Equal values share their
 * ranks. The result is exact, by counting all divisions, up to NTK_RANK_TEST_EXACT_MAX values;
 * beyond that, the normal approximation is used, with corrections for ties and continuity. It
 * assumes no distribution, because times are never normally distributed.
 *
 * Threads: any.
 */
#ifndef NTK_PROFILER_ANALYSIS_RANK_TEST_H
#define NTK_PROFILER_ANALYSIS_RANK_TEST_H

#include <stdbool.h>
#include <stddef.h>

#define NTK_RANK_TEST_EXACT_MAX 64

/* Stores p in *out_p. Returns 0 or -ENOMEM; -EINVAL if a set is empty. */
int ntk_rank_test(const double *a, size_t a_count, const double *b, size_t b_count, double *out_p);
/* Selects the significant tests with the Benjamini-Hochberg procedure at a false discovery rate of
 * `rate`. p above 1 means no test. */
int ntk_rank_test_select(const double *p, size_t count, double rate, bool *out_is_significant);

#endif
