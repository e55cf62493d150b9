/* SPDX-License-Identifier: MIT */
/*
 * out_of_memory - the failed allocation of device memory, and the contents of the memory then: the
 * first failure with the code of out of memory (12), else the last failure.
 *
 * Only the vendor's files record failures. The contents of a memory are the sum of the accounts of
 * its cores at that moment.
 *
 * Owner: plain data; texts are the trace's. Threads: pure.
 */
#ifndef NTK_PROFILER_ANALYSIS_OUT_OF_MEMORY_H
#define NTK_PROFILER_ANALYSIS_OUT_OF_MEMORY_H

#include "profiler/system/system_trace.h"

/* All uses, "unknown", and "other": the sum of further uses. */
#define NTK_OOM_USAGES_MAX (NTK_SYSTEM_USAGES_MAX + 2U)
#define NTK_OOM_LARGEST_MAX 10U

struct ntk_oom_usage {
    const char *usage;
    uint64_t bytes, peak_bytes; /* at the failure; peak until then */
};

struct ntk_oom_allocation {
    const char *usage;
    uint64_t time_ns, address, bytes;
    uint32_t nc;
};

struct ntk_out_of_memory {
    bool is_there; /* false: nothing failed */
    uint64_t time_ns;
    const char *usage;
    uint64_t size; /* requested bytes; 0: not recorded */
    uint32_t nc, code;
    uint32_t hbm, device; /* NTK_SYSTEM_NO_STACK */
    uint64_t model_id;    /* of the load or execution around it; 0: none */
    const char *model, *call;
    uint64_t total_bytes;
    uint64_t capacity_bytes; /* 0: machine not known */
    /* By this trace there is enough room: it is fragmented, or another process has it. */
    bool is_fragmented;
    size_t usage_count;
    struct ntk_oom_usage usages[NTK_OOM_USAGES_MAX]; /* largest first */
    size_t largest_count;
    struct ntk_oom_allocation largest[NTK_OOM_LARGEST_MAX];    /* of those not yet freed */
    uint64_t freed_count, freed_bytes, kept_count, kept_bytes; /* of those of the trace */
    uint64_t failed_count;                                     /* in the whole trace */
};

/* 0 or -errno: long lists go to files. */
int ntk_analysis_out_of_memory(const struct ntk_system_trace *trace,
                               struct ntk_out_of_memory *out_memory);

#endif
