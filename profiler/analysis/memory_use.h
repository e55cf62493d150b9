/* SPDX-License-Identifier: MIT */
/*
 * memory_use - how much device memory did a process have over time, when was it most, and for what?
 *
 * From the allocations and frees of a system trace. A free takes from the use of its allocation's
 * name; one whose allocation was before the trace began takes nothing (unmatched_*). Accounts of
 * the vendor's files begin with what was there before; what of that has no known use is "unknown".
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
    uint64_t peak_bytes; /* at the moment of the peak */
    uint64_t most_bytes; /* at its own */
};

struct ntk_memory_use {
    uint64_t allocation_count, free_count;
    uint64_t unmatched_count, unmatched_bytes;
    uint64_t peak_bytes, peak_ns;
    uint64_t end_bytes; /* not freed when the trace ended */
    size_t point_count;
    struct ntk_memory_point *points; /* one per change, in order */
    struct ntk_long_list point_list; /* which they are in */
    size_t part_count;
    struct ntk_memory_part *parts; /* the largest at the peak first */
};

int ntk_analysis_memory_use(const struct ntk_system_trace *trace, struct ntk_memory_use *out_use);
void ntk_memory_use_fini(struct ntk_memory_use *use);

#endif
