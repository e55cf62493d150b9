/* SPDX-License-Identifier: MIT */
/*
 * comparison - finds measures that became slower or faster between two groups of executions, and
 * tests if this is significant.
 *
 * Each measure is compared by its median. A measure that an execution does not have counts as 0,
 * and an execution that does not record it (ntk_measures_is_unknown()) does not count. With several
 * executions on both sides, p is the result of the Mann-Whitney test (rank_test.h); is_significant
 * limits the false discovery rate to NTK_COMPARISON_FALSE_RATE (Benjamini-Hochberg over all
 * measures that differ, except the length of the execution, which is tested alone). With fewer than
 * NTK_COMPARISON_COUNT_MIN values on a side, a measure changed if the values of one side are all
 * above those of the other: one slow execution is not a change.
 *
 * Owner:   the caller provides the storage; _fini frees the content. Names belong to the measures,
 *          which must outlive the comparison. Errors: -ENOMEM.
 */
#ifndef NTK_PROFILER_ANALYSIS_COMPARISON_H
#define NTK_PROFILER_ANALYSIS_COMPARISON_H

#include "profiler/analysis/measures.h"
#include "profiler/analysis/spread.h"

#define NTK_COMPARISON_FALSE_RATE 0.05
#define NTK_COMPARISON_COUNT_MIN 4
/* The programs are unrelated if both sides share less than this part of their names */
#define NTK_COMPARISON_UNRELATED_RATIO 0.05

struct ntk_comparison_row {
    enum ntk_measure_kind kind;
    const char *name;     /* same name on both sides */
    const char *shown;    /* for users, from the later side if present; NULL for name */
    double before, after; /* medians */
    /* Least and most of each side. */
    double before_least, before_most, after_least, after_most;
    bool has_before, has_after; /* true if any execution of the side has it */
    bool is_unknown; /* no execution of one side records it, so nothing can be compared */
    bool has_p;
    double p;
    bool can_tell;       /* both sides have enough values: only a significant change counts */
    bool is_significant; /* false without can_tell */
};

static inline bool ntk_comparison_is_own(enum ntk_measure_kind kind)
{
    return kind == NTK_MEASURE_LAYER || kind == NTK_MEASURE_REGION;
}

static inline bool ntk_comparison_more_is_better(enum ntk_measure_kind kind)
{
    return ntk_measure_unit(kind) == NTK_MEASURE_UNIT_SHARE;
}

static inline bool ntk_comparison_differs(const struct ntk_comparison_row *row)
{
    return !row->is_unknown && (row->before < row->after || row->before > row->after);
}

static inline const char *ntk_comparison_shown(const struct ntk_comparison_row *row)
{
    return row->shown ? row->shown : row->name;
}

/* The overall verdict. */
enum ntk_comparison_verdict {
    NTK_COMPARISON_SAME,   /* no measure that both sides record differs */
    NTK_COMPARISON_CHANCE, /* there are differences, but none counts as a change */
    /* The execution did not change, but a part did; or its length is unknown */
    NTK_COMPARISON_PARTS,
    NTK_COMPARISON_SLOWER,
    NTK_COMPARISON_FASTER,
    NTK_COMPARISON_VERDICT_COUNT
};

struct ntk_comparison {
    size_t before_count, after_count; /* number of executions */
    bool can_tell;                    /* there are enough executions for the test */
    size_t row_count;
    struct ntk_comparison_row *rows; /* sorted by kind, then greatest change first */
    /* Number of layers and regions, which have names that depend on the program: of each side, and
     * common to both. */
    size_t own_before_count, own_after_count, own_common_count;
    bool is_unrelated; /* both sides have names, but hardly any in common: different programs */
    enum ntk_comparison_verdict verdict;
    size_t changed_count;                          /* number of rows that count as a change */
    struct ntk_spread spread_before, spread_after; /* lengths of the executions */
    size_t unknown_count;                          /* number of rows that cannot be compared */
    /* row of the whole execution; NULL if its length is unknown */
    const struct ntk_comparison_row *total;
    /* Layer on the critical path (without layers: resource) that changed most; for SLOWER and
     * FASTER in the same direction. NULL if none. */
    const struct ntk_comparison_row *most;
};

int ntk_analysis_comparison(const struct ntk_measures *before, size_t before_count,
                            const struct ntk_measures *after, size_t after_count,
                            struct ntk_comparison *out_comparison);
/* Returns a name such as "same", "chance" or "parts". */
const char *ntk_comparison_verdict_name(enum ntk_comparison_verdict verdict);
/* Returns true if the measure counts as a change. */
bool ntk_comparison_has_changed(const struct ntk_comparison_row *row);
/* Computes the share in the time of each side, 0 to 1. False if it is not a time, or if the length
 * of the execution is unknown. */
bool ntk_comparison_share(const struct ntk_comparison *comparison,
                          const struct ntk_comparison_row *row, bool is_after, double *out_share);
void ntk_comparison_fini(struct ntk_comparison *comparison);

#endif
