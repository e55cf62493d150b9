/* SPDX-License-Identifier: MIT */
/* system_view - describes a folder of an inspection, prepared for outputs. Plain data; all members
 * are borrowed. */
#ifndef NTK_PROFILER_OUTPUT_SYSTEM_VIEW_H
#define NTK_PROFILER_OUTPUT_SYSTEM_VIEW_H

#include "profiler/analysis/system_tables.h"

/* A device capture in the folder, as far as readable. */
struct ntk_system_capture {
    const char *path;
    unsigned version; /* version of the file */
    uint64_t model_id;
    uint32_t nc; /* number in the file name; UINT32_MAX if not recorded */
    bool has_window;
    uint64_t process_id;                     /* from the capture or its name; 0 if none */
    uint64_t exec_id;                        /* first execution, from the file name; 0 if none */
    uint64_t window_start_ns, window_end_ns; /* window on the clock of the core */
    bool has_total;
    uint64_t total_ns;
    bool has_instructions, has_packets; /* false if truncated */
    uint64_t instruction_count, packet_count;
    uint64_t start_ns; /* time 0 on the host's clock; 0 if unknown */
    bool is_session;   /* has all executions of the core; false: the first execution of its model */
};

struct ntk_system_view {
    const struct ntk_system_trace *trace;
    const struct ntk_system_tables *tables;
    const struct ntk_system_capture *captures;
    size_t capture_count;
    bool shows_private; /* include addresses and host names */
};

#endif
