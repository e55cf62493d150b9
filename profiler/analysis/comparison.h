/* SPDX-License-Identifier: MIT */
/*
 * comparison - what became slower or faster from some executions to others, and is it more than chance?
 *
 * Each measure by its median on both sides; what an execution has not counts as 0 there. With several executions on
 * both sides p is that of the Mann-Whitney test (rank_test.h); is_significant holds for those that stay
 * when at most NTK_COMPARISON_FALSE_RATE of them shall be chance (Benjamini-Hochberg over all measures that differ).
 *
 * Owner:   caller's storage; _fini frees. Names are those of the measures, which must outlive it.
 * Pure; -ENOMEM.
 */
#ifndef NTK_PROFILER_ANALYSIS_COMPARISON_H
#define NTK_PROFILER_ANALYSIS_COMPARISON_H

#include "profiler/analysis/measures.h"

#define NTK_COMPARISON_FALSE_RATE 0.05

struct ntk_comparison_row {
    enum ntk_measure_kind kind;
    const char *name;
    double before, after;       /* medians */
    bool has_before, has_after; /* any execution of the side has it */
    bool has_p;
    double p;
    bool is_significant;
};

struct ntk_comparison {
    size_t before_count, after_count; /* executions */
    bool can_tell;                    /* there are enough of them for p below the rate */
    size_t row_count;
    struct ntk_comparison_row *rows; /* by kind, then the greatest change first */
};

int ntk_analysis_comparison(const struct ntk_measures *before, size_t before_count,
                            const struct ntk_measures *after, size_t after_count,
                            struct ntk_comparison *out_comparison);
void ntk_comparison_fini(struct ntk_comparison *comparison);

#endif
