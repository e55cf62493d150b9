/* SPDX-License-Identifier: MIT */
/*
 * execution_split - divides the time of each execution into submission, queue, device and host, and
 * finds the part that limits it.
 *
 * Owner:   ntk_execution_split_fini() frees the result; texts are borrowed from the trace. Threads:
 *          any.
 */
#ifndef NTK_PROFILER_ANALYSIS_EXECUTION_SPLIT_H
#define NTK_PROFILER_ANALYSIS_EXECUTION_SPLIT_H

#include "profiler/system/system_trace.h"

#define NTK_SPLIT_ABSENT INT64_MIN /* a required time is not in the trace */

struct ntk_split_execution {
    uint64_t exec_id, model_id;
    uint64_t sequence; /* sequence of an asynchronous execution; 0 if none */
    uint64_t start_ns; /* ns since 1970 */
    const char *model; /* "" if unknown */
    uint32_t nc;
    bool is_partial;
    int64_t submit_ns;     /* duration of kbl_exec_pre */
    int64_t queue_ns;      /* from its end to the core's first model switch or run */
    int64_t queue_busy_ns; /* part of queue_ns in which the core ran other executions */
    int64_t switch_ns;     /* longest of its physical cores, like device_ns */
    int64_t device_ns;
    int64_t notify_ns; /* from the end of the last run on its core to the end of kbl_exec_wait */
    int64_t post_ns;   /* duration of kbl_exec_post */
    int64_t total_ns;  /* from kbl_exec_pre to the end of kbl_exec_post */
    int64_t host_ns;   /* total without device, switch and queue_busy */
    const char *bound; /* largest part: "device", "queue" or "host"; NULL if unknown */
};

struct ntk_execution_split {
    size_t count;
    struct ntk_split_execution *items; /* sorted by core, then number */
    struct ntk_long_list list;         /* storage of items */
};

/* Returns 0 or -errno; long lists are stored in files. */
int ntk_analysis_execution_split(const struct ntk_system_trace *trace,
                                 struct ntk_execution_split *out_split);
void ntk_execution_split_fini(struct ntk_execution_split *split);

#endif
