/* SPDX-License-Identifier: MIT */
/*
 * out_of_memory - finds the failed allocation of device memory, and the contents of the memory at
 * that time: the first failure with the code of out of memory (12), else the last failure.
 *
 * Only the vendor's files record failures. The contents of a memory are the sum of the accounts of
 * its cores at that time.
 *
 * Owner: plain data; texts are borrowed from the trace. Threads: any.
 */
#ifndef NTK_PROFILER_ANALYSIS_OUT_OF_MEMORY_H
#define NTK_PROFILER_ANALYSIS_OUT_OF_MEMORY_H

#include "profiler/system/system_trace.h"

/* Maximum number of uses: all uses, "unknown", and "other" for further uses. */
#define NTK_OOM_USAGES_MAX (NTK_SYSTEM_USAGES_MAX + 2U)
#define NTK_OOM_LARGEST_MAX 10U

struct ntk_oom_usage {
    const char *usage;
    uint64_t bytes, peak_bytes; /* bytes at the failure; peak until then */
};

struct ntk_oom_allocation {
    const char *usage;
    uint64_t time_ns, address, bytes;
    uint32_t nc;
};

struct ntk_out_of_memory {
    bool is_there; /* false if nothing failed */
    uint64_t time_ns;
    const char *usage;
    uint64_t size; /* requested bytes; 0 if not recorded */
    uint32_t nc, code;
    uint32_t hbm, device; /* NTK_SYSTEM_NO_STACK if unknown */
    uint64_t model_id;    /* model of the load or execution around it; 0 if none */
    const char *model, *call;
    uint64_t total_bytes;
    uint64_t capacity_bytes; /* 0 if the machine is unknown */
    /* According to this trace there is enough space: it is fragmented, or another process uses
     * it. */
    bool is_fragmented;
    size_t usage_count;
    struct ntk_oom_usage usages[NTK_OOM_USAGES_MAX]; /* uses, largest first */
    size_t largest_count;
    /* largest allocations that are not yet freed */
    struct ntk_oom_allocation largest[NTK_OOM_LARGEST_MAX];
    uint64_t freed_count, freed_bytes, kept_count, kept_bytes; /* allocations in the trace */
    uint64_t failed_count;                                     /* failures in the whole trace */
};

/* Returns 0 or -errno; long lists are stored in files. */
int ntk_analysis_out_of_memory(const struct ntk_system_trace *trace,
                               struct ntk_out_of_memory *out_memory);

#endif
