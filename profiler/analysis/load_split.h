/* SPDX-License-Identifier: MIT */
/*
 * load_split - where the time of each load of a model went, and that from the begin of the process
 * to its first work on a device.
 *
 * Owner:   ntk_load_split_fini() frees; texts are the trace's. Threads: pure.
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
    uint64_t alloc_count, alloc_bytes, alloc_ns; /* device memory; ns: the union of all */
    uint64_t copy_count, copy_bytes, copy_ns;    /* to the device */
    uint64_t rest_ns; /* neither: host work that the trace does not split */
};

struct ntk_load_split {
    size_t count;
    struct ntk_split_load *items; /* by start */
    struct ntk_long_list list;    /* which they are in */
    /* Whether the trace records these events at all: else the counts of loads are unknown, not 0. A
     * recording from outside has neither. */
    bool has_allocs, has_copies;
    bool has_alloc_times; /* an allocation is a span, not an instant: alloc_ns is known */
    /* Start-up. */
    bool has_begin, has_run;  /* else one of the next two is unknown */
    uint64_t first_event_ns;  /* since the start of the inspection */
    uint64_t first_device_ns; /* from the first event to the first run on a device */
    uint64_t loads_ns;        /* union of all loads */
    uint64_t device_ns;       /* union of all runs, of all cores */
    uint64_t events_ns;       /* from the first event to the end of the last */
};

/* 0 or -errno: long lists go to files. */
int ntk_analysis_load_split(const struct ntk_system_trace *trace, struct ntk_load_split *out_split);
void ntk_load_split_fini(struct ntk_load_split *split);

#endif
