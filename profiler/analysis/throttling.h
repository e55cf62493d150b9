/* SPDX-License-Identifier: MIT */
/*
 * throttling - computes the time for which each core was throttled, by reason and limit.
 *
 * A record means "at most k of n from now on" and is valid until the next record of its core; the
 * last record is valid until the end of the core's last instruction.
 */
#ifndef NTK_PROFILER_ANALYSIS_THROTTLING_H
#define NTK_PROFILER_ANALYSIS_THROTTLING_H

#include "profiler/trace/trace.h"

#define NTK_THROTTLE_TYPES 15

struct ntk_throttle_type {
    uint64_t count;
    int64_t duration_ns;
    double limit_ns; /* sum of duration x k/n */
};

struct ntk_throttling {
    bool is_present;    /* the core has records */
    int64_t end_ns;     /* end of the core's last instruction */
    int64_t limited_ns; /* time with k < n */
    double limit_ns;
    struct ntk_throttle_type types[NTK_THROTTLE_TYPES];
};

void ntk_analysis_throttling(const struct ntk_trace_core *core, struct ntk_throttling *out);
/* Returns a name such as "activity_0"; NULL for numbers without a name. */
const char *ntk_throttle_type_name(unsigned type);

#endif
