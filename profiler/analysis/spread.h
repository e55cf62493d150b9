/* SPDX-License-Identifier: MIT */
/*
 * spread - describes how much the lengths of executions differ: least, median, most and outliers.
 *
 * An outlier is farther from the median than NTK_SPREAD_DEVIATIONS standard deviations, estimated
 * from the median distance so that outliers do not hide themselves, and than
 * NTK_SPREAD_OUTLIER_RATIO of the median. It takes three executions.
 *
 * Owner:   the caller provides the storage; _fini frees the content, and accepts a zeroed struct.
 *          Sources belong to the measures.
 * Threads: any.
 */
#ifndef NTK_PROFILER_ANALYSIS_SPREAD_H
#define NTK_PROFILER_ANALYSIS_SPREAD_H

#include "profiler/analysis/measures.h"

#define NTK_SPREAD_DEVIATIONS 3.0
#define NTK_SPREAD_OUTLIER_RATIO 0.05

struct ntk_spread_outlier {
    size_t execution;   /* index on its side */
    const char *source; /* of the measures; NULL if unknown */
    double value;
};

struct ntk_spread {
    size_t count; /* executions with a known length */
    double least, median, most;
    size_t outlier_count;
    struct ntk_spread_outlier *outliers; /* in the order of executions */
};

/* Describes the lengths of executions. Returns 0 or -ENOMEM. */
int ntk_spread_find(const struct ntk_measures *executions, size_t count,
                    struct ntk_spread *out_spread);
void ntk_spread_fini(struct ntk_spread *spread);

/* Sorts the values; returns 0 if there are none. */
double ntk_spread_median(double *values, size_t count);

#endif
