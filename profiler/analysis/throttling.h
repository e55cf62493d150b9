/* SPDX-License-Identifier: MIT */
/*
 * throttling - the time that each core was throttled, why, and by how much.
 *
 * A record means "at most k of n from now on" and is valid until the next one of its core; the last
 * one until the core's last instruction ends.
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
    int64_t end_ns;     /* of the core's last instruction */
    int64_t limited_ns; /* with k < n */
    double limit_ns;
    struct ntk_throttle_type types[NTK_THROTTLE_TYPES];
};

void ntk_analysis_throttling(const struct ntk_trace_core *core, struct ntk_throttling *out);
/* "activity_0"; NULL for unnamed numbers. */
const char *ntk_throttle_type_name(unsigned type);

#endif
