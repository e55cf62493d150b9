/* SPDX-License-Identifier: MIT */
/*
 * baseline - holds stored executions and limits, and checks if other executions exceed them.
 *
 * A limit is the allowed growth of a measure from the median of the stored executions to the median
 * of the new executions. A measure exceeds the limit if it grew by more and, with enough executions
 * for a test (comparison.h), significantly: on hardware one slow execution is not a regression.
 *
 * Owner:   the caller provides the storage, zeroed if empty; _fini frees the content. Findings
 *          borrow the comparison's rows. Errors: -ENOMEM, and the errors below.
 */
#ifndef NTK_PROFILER_ANALYSIS_BASELINE_H
#define NTK_PROFILER_ANALYSIS_BASELINE_H

#include "profiler/analysis/comparison.h"
#include "shared/base/err.h"

struct ntk_baseline {
    uint64_t saved_unix_ns;
    char instance_type[64];    /* "" if not in the captures */
    char metrics_version[8];   /* version of the rules for utilization; "" if there is none */
    char neff_uuid[33];        /* known hex digits; "" if none */
    struct ntk_vec executions; /* elements are struct ntk_measures */
};
void ntk_baseline_fini(struct ntk_baseline *baseline);

struct ntk_baseline_limit {
    enum ntk_measure_kind kind;
    char *name;    /* NULL applies to each measure of its kind */
    bool is_share; /* relative to the old value; false: in ps or the unit of the kind */
    double amount;
};

/* Parses "KIND=CHANGE" or "KIND/NAME=CHANGE", such as "total=5%", "engines/Tensor=2us",
 * "queue_bytes=64K"; -EINVAL with a message. The caller frees the name. */
int ntk_baseline_limit_parse(const char *text, struct ntk_baseline_limit *out_limit,
                             struct ntk_err *err);

struct ntk_baseline_finding {
    const struct ntk_comparison_row *row;
    const struct ntk_baseline_limit *limit; /* the last one if several apply */
    bool is_beyond;
};

struct ntk_baseline_result {
    size_t count;
    /* Measures with a limit, in the order of the comparison */
    struct ntk_baseline_finding *findings;
    size_t beyond_count;
};

/* Returns -ENOENT with a message for a limit on a measure that neither side has, or that one side
 * does not record, because nothing would be checked. */
int ntk_baseline_check(const struct ntk_comparison *comparison,
                       const struct ntk_baseline_limit *limits, size_t limit_count,
                       struct ntk_baseline_result *out_result, struct ntk_err *err);
void ntk_baseline_result_fini(struct ntk_baseline_result *result);

#endif
