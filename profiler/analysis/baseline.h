/* SPDX-License-Identifier: MIT */
/*
 * baseline - stored executions and limits, and whether other executions exceed them.
 *
 * A limit is the allowed growth of a measure from the median of the stored executions to that of
 * the new ones. A measure exceeds it if it grew by more and, with enough executions for a test
 * (comparison.h), significantly: on hardware one slow execution is not a regression.
 *
 * Owner:   caller's storage, zeroed is empty; _fini frees. Findings borrow the comparison's rows.
 *          Pure; -ENOMEM, and the errors below.
 */
#ifndef NTK_PROFILER_ANALYSIS_BASELINE_H
#define NTK_PROFILER_ANALYSIS_BASELINE_H

#include "profiler/analysis/comparison.h"
#include "shared/base/err.h"

struct ntk_baseline {
    uint64_t saved_unix_ns;
    char instance_type[64];    /* "": not in the captures */
    char metrics_version[8];   /* version of the rules for utilization; "": it has none */
    char neff_uuid[33];        /* known hex digits; "": none */
    struct ntk_vec executions; /* struct ntk_measures */
};
void ntk_baseline_fini(struct ntk_baseline *baseline);

struct ntk_baseline_limit {
    enum ntk_measure_kind kind;
    char *name;    /* NULL: each measure of its kind */
    bool is_share; /* relative to the old value; else in ps or the unit of the kind */
    double amount;
};

/* "KIND=CHANGE" or "KIND/NAME=CHANGE", such as "total=5%", "engines/Tensor=2us", "queue_bytes=64K";
 * -EINVAL with a message. The name is the caller's to free. */
int ntk_baseline_limit_parse(const char *text, struct ntk_baseline_limit *out_limit,
                             struct ntk_err *err);

struct ntk_baseline_finding {
    const struct ntk_comparison_row *row;
    const struct ntk_baseline_limit *limit; /* the last of several */
    bool is_beyond;
};

struct ntk_baseline_result {
    size_t count;
    /* measures with a limit, in the order of the comparison */
    struct ntk_baseline_finding *findings;
    size_t beyond_count;
};

/* -ENOENT with a message for a limit on a measure that neither side has, or that one side does not
 * show: nothing would be checked. */
int ntk_baseline_check(const struct ntk_comparison *comparison,
                       const struct ntk_baseline_limit *limits, size_t limit_count,
                       struct ntk_baseline_result *out_result, struct ntk_err *err);
void ntk_baseline_result_fini(struct ntk_baseline_result *result);

#endif
