/* SPDX-License-Identifier: MIT */
/*
 * memory_use - the device memory of a process over time, its peak, and its uses.
 *
 * Uses the allocations and frees of a system trace. A free reduces the use named by its allocation;
 * one with an allocation before the trace changes nothing (unmatched_*). Accounts of the vendor's
 * files start with earlier contents; parts without a known use are "unknown".
 *
 * Pure: trace to result; -errno: a long list goes to a file.
 *
 * Owner:   the result is the caller's storage; ntk_memory_use_fini() frees what it points to.
 */
#ifndef NTK_PROFILER_ANALYSIS_MEMORY_USE_H
#define NTK_PROFILER_ANALYSIS_MEMORY_USE_H

#include "profiler/system/system_trace.h"

struct ntk_memory_point {
    uint64_t time_ns; /* since 1970 */
    uint64_t bytes;   /* from then on */
};

struct ntk_memory_part {
    const char *name;    /* of the use, as in the trace */
    uint64_t peak_bytes; /* at the peak */
    uint64_t most_bytes; /* at its own */
};

struct ntk_memory_use {
    uint64_t allocation_count, free_count;
    uint64_t unmatched_count, unmatched_bytes;
    uint64_t peak_bytes, peak_ns;
    uint64_t end_bytes; /* not freed at the end of the trace */
    size_t point_count;
    struct ntk_memory_point *points; /* one per change, in order */
    struct ntk_long_list point_list; /* which they are in */
    size_t part_count;
    struct ntk_memory_part *parts; /* by descending size at the peak */
};

int ntk_analysis_memory_use(const struct ntk_system_trace *trace, struct ntk_memory_use *out_use);
void ntk_memory_use_fini(struct ntk_memory_use *use);

#endif
