/* SPDX-License-Identifier: MIT */
/*
 * comparison - what became slower or faster from some executions to others, and is it more than
 * chance?
 *
 * Each measure by its median on both sides; what an execution has not counts as 0 there. With
 * several executions on both sides p is that of the Mann-Whitney test (rank_test.h); is_significant
 * holds for those that stay when at most NTK_COMPARISON_FALSE_RATE of them shall be chance
 * (Benjamini-Hochberg over all measures that differ).
 *
 * Owner:   caller's storage; _fini frees. Names are those of the measures, which must outlive it.
 * Pure; -ENOMEM.
 */
#ifndef NTK_PROFILER_ANALYSIS_COMPARISON_H
#define NTK_PROFILER_ANALYSIS_COMPARISON_H

#include "profiler/analysis/measures.h"

#define NTK_COMPARISON_FALSE_RATE 0.05
#define NTK_COMPARISON_UNRELATED_RATIO 0.05 /* of what either side has, both have less */

struct ntk_comparison_row {
    enum ntk_measure_kind kind;
    const char *name;           /* the same on both sides */
    const char *shown;          /* to people, of the later side where it has one; NULL: the name */
    double before, after;       /* medians */
    bool has_before, has_after; /* any execution of the side has it */
    bool has_p;
    double p;
    bool is_significant;
};

static inline bool ntk_comparison_is_own(enum ntk_measure_kind kind)
{
    return kind == NTK_MEASURE_LAYER || kind == NTK_MEASURE_REGION;
}

static inline bool ntk_comparison_more_is_better(enum ntk_measure_kind kind)
{
    return ntk_measure_unit(kind) == NTK_MEASURE_UNIT_SHARE;
}

static inline const char *ntk_comparison_shown(const struct ntk_comparison_row *row)
{
    return row->shown ? row->shown : row->name;
}

/* All rows in one word. Where executions are too few for a test, any difference counts as
 * changed. */
enum ntk_comparison_verdict {
    NTK_COMPARISON_SAME,   /* nothing differs */
    NTK_COMPARISON_CHANCE, /* something differs, and nothing of it is significant */
    /* the execution did not change, or its length is unknown, but something else did */
    NTK_COMPARISON_PARTS,
    NTK_COMPARISON_SLOWER,
    NTK_COMPARISON_FASTER,
    NTK_COMPARISON_VERDICT_COUNT
};

struct ntk_comparison {
    size_t before_count, after_count; /* executions */
    bool can_tell;                    /* there are enough of them for p below the rate */
    size_t row_count;
    struct ntk_comparison_row *rows; /* by kind, then the greatest change first */
    /* Layers and regions, which are a program's own: of each side, and of both. */
    size_t own_before_count, own_after_count, own_common_count;
    bool is_unrelated; /* both sides have some, and nearly none in common: other programs */
    enum ntk_comparison_verdict verdict;
    size_t changed_count;                   /* rows that are significant, or differ */
    const struct ntk_comparison_row *total; /* the execution; NULL: its length is unknown */
    /* The layer of the critical path (without layers: the resource) that changed most, of SLOWER
     * and FASTER in the same direction; NULL: none */
    const struct ntk_comparison_row *most;
};

int ntk_analysis_comparison(const struct ntk_measures *before, size_t before_count,
                            const struct ntk_measures *after, size_t after_count,
                            struct ntk_comparison *out_comparison);
/* "same", "chance", "parts" ... */
const char *ntk_comparison_verdict_name(enum ntk_comparison_verdict verdict);
/* Of the time of its own side, 0 to 1: before of that before, after of that after. False: no time of
 * a run, or the length of its execution is unknown. */
bool ntk_comparison_share(const struct ntk_comparison *comparison,
                          const struct ntk_comparison_row *row, bool is_after, double *out_share);
void ntk_comparison_fini(struct ntk_comparison *comparison);

#endif
