/* SPDX-License-Identifier: MIT */
/*
 * baseline - executions that were kept, limits, and whether others are beyond them.
 *
 * A limit says how much a measure may grow from the median of the kept executions to the median of
 * the new ones. Beyond it is what grew by more and, where there are enough executions to tell
 * (comparison.h), is significant: on hardware one slow execution is not a regression.
 *
 * Owner:   caller's storage, zeroed is empty; _fini frees. Findings borrow the comparison's rows.
 * Pure; -ENOMEM, and the errors below.
 */
#ifndef NTK_PROFILER_ANALYSIS_BASELINE_H
#define NTK_PROFILER_ANALYSIS_BASELINE_H

#include "profiler/analysis/comparison.h"
#include "shared/base/err.h"

struct ntk_baseline {
    uint64_t saved_unix_ns;
    char instance_type[64];    /* "": the captures did not tell */
    char metrics_version[8];   /* by whose rules use of the chip is counted; "": it has none */
    char neff_uuid[33];        /* hex digits as far as they are known, "": not at all */
    struct ntk_vec executions; /* struct ntk_measures */
};
void ntk_baseline_fini(struct ntk_baseline *baseline);

struct ntk_baseline_limit {
    enum ntk_measure_kind kind;
    char *name;    /* NULL: each of its kind */
    bool is_share; /* of what it was; else in ps or what the kind counts */
    double amount;
};

/* "KIND=CHANGE" or "KIND/NAME=CHANGE", such as "total=5%", "engines/Tensor=2us", "queue_bytes=64K";
 * -EINVAL with a message. The name is the caller's to free. */
int ntk_baseline_limit_parse(const char *text, struct ntk_baseline_limit *out_limit,
                             struct ntk_err *err);

struct ntk_baseline_finding {
    const struct ntk_comparison_row *row;
    const struct ntk_baseline_limit *limit; /* of several the last one */
    bool is_beyond;
};

struct ntk_baseline_result {
    size_t count;
    struct ntk_baseline_finding *findings; /* what has a limit, in the order of the comparison */
    size_t beyond_count;
};

/* -ENOENT with a message for a limit of what neither side has: nothing would be checked. */
int ntk_baseline_check(const struct ntk_comparison *comparison,
                       const struct ntk_baseline_limit *limits, size_t limit_count,
                       struct ntk_baseline_result *out_result, struct ntk_err *err);
void ntk_baseline_result_fini(struct ntk_baseline_result *result);

#endif
