/* SPDX-License-Identifier: MIT */
/*
 * rows_split - defines rows of an export of folders: executions, loads, and memory that ran out;
 * absent members as in table.h.
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_ROWS_SPLIT_H
#define NTK_PROFILER_OUTPUT_TABLES_ROWS_SPLIT_H

#include "profiler/output/tables/rows_system.h"

struct ntk_split_row {
    int64_t exec_id, nc, model_id, sequence, process, time_ns;
    const char *model, *bound, *instance;
    int64_t is_partial;
    int64_t submit_ns, queue_ns, queue_busy_ns, switch_ns, device_ns, notify_ns, post_ns, total_ns,
        host_ns;
};

struct ntk_load_row {
    int64_t nc, model_id, process, time_ns, duration_ns;
    const char *model, *instance;
    int64_t is_partial;
    int64_t alloc_count, alloc_bytes, alloc_ns, copy_count, copy_bytes, copy_ns, rest_ns;
};

struct ntk_oom_row {
    int64_t time_ns, nc, hbm, device, size, code, model_id, process;
    const char *usage, *model, *call, *instance;
    int64_t total_bytes, capacity_bytes;
    int64_t is_fragmented;
    int64_t freed_count, freed_bytes, kept_count, kept_bytes, failed_count;
    const char *by_usage, *largest; /* JSON lists */
};

NTK_SYSTEM_ROWS(executions);    /* struct ntk_split_row */
NTK_SYSTEM_ROWS(loads);         /* struct ntk_load_row */
NTK_SYSTEM_ROWS(out_of_memory); /* struct ntk_oom_row; at most one per process */

#endif
