/* SPDX-License-Identifier: MIT */
/*
 * memory_use - computes the device memory of a process over time, its peak, and its uses.
 *
 * The allocations and frees of a system trace are used. A free reduces the use of its allocation; a
 * free without an allocation in the trace changes nothing (unmatched_*). Accounts of the vendor's
 * files start with earlier contents; parts without a known use are "unknown".
 *
 * Returns 0 or -errno; a long list is stored in a file.
 *
 * Owner:   the caller provides the storage of the result; ntk_memory_use_fini() frees its content.
 */
#ifndef NTK_PROFILER_ANALYSIS_MEMORY_USE_H
#define NTK_PROFILER_ANALYSIS_MEMORY_USE_H

#include "profiler/system/system_trace.h"

struct ntk_memory_point {
    uint64_t time_ns; /* ns since 1970 */
    uint64_t bytes;   /* bytes from this time on */
};

struct ntk_memory_part {
    const char *name;    /* name of the use in the trace */
    uint64_t peak_bytes; /* bytes at the total peak */
    uint64_t most_bytes; /* bytes at the peak of this use */
};

struct ntk_memory_use {
    uint64_t allocation_count, free_count;
    uint64_t unmatched_count, unmatched_bytes;
    uint64_t peak_bytes, peak_ns;
    uint64_t end_bytes; /* bytes not freed at the end of the trace */
    size_t point_count;
    struct ntk_memory_point *points; /* one per change, in order */
    struct ntk_long_list point_list; /* storage of points */
    size_t part_count;
    struct ntk_memory_part *parts; /* sorted by descending size at the peak */
};

int ntk_analysis_memory_use(const struct ntk_system_trace *trace, struct ntk_memory_use *out_use);
void ntk_memory_use_fini(struct ntk_memory_use *use);

#endif
