/* SPDX-License-Identifier: MIT */
/*
 * load_split - divides the time of each load of a model, and the time from the start of the process
 * to its first work on a device.
 *
 * Owner:   ntk_load_split_fini() frees the result; texts are borrowed from the trace. Threads: any.
 */
#ifndef NTK_PROFILER_ANALYSIS_LOAD_SPLIT_H
#define NTK_PROFILER_ANALYSIS_LOAD_SPLIT_H

#include "profiler/system/system_trace.h"

struct ntk_split_load {
    uint64_t model_id;
    const char *model;
    uint64_t start_ns, duration_ns;
    uint32_t nc;
    bool is_partial;
    uint64_t alloc_count, alloc_bytes, alloc_ns; /* device memory; alloc_ns is the union of all */
    uint64_t copy_count, copy_bytes, copy_ns;    /* copies to the device */
    uint64_t rest_ns; /* other host work, which the trace does not split */
};

struct ntk_load_split {
    size_t count;
    struct ntk_split_load *items; /* sorted by start */
    struct ntk_long_list list;    /* storage of items */
    /* True if the trace records these events; otherwise the counts of loads are unknown, not 0. A
     * recording from outside has neither. */
    bool has_allocs, has_copies;
    bool has_alloc_times; /* allocations have durations: alloc_ns is known */
    /* Figures of start-up. */
    bool has_begin, has_run;  /* false: one of the next two is unknown */
    uint64_t first_event_ns;  /* time since the start of the inspection */
    uint64_t first_device_ns; /* from the first event to the first run on a device */
    uint64_t loads_ns;        /* union of all loads */
    uint64_t device_ns;       /* union of all runs on all cores */
    uint64_t events_ns;       /* from the first event to the end of the last */
};

/* Returns 0 or -errno; long lists are stored in files. */
int ntk_analysis_load_split(const struct ntk_system_trace *trace, struct ntk_load_split *out_split);
void ntk_load_split_fini(struct ntk_load_split *split);

#endif
