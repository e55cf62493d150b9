/* SPDX-License-Identifier: MIT */
/* system_view - a folder of an inspection as outputs show it. Plain data; everything is
 * borrowed. */
#ifndef NTK_PROFILER_OUTPUT_SYSTEM_VIEW_H
#define NTK_PROFILER_OUTPUT_SYSTEM_VIEW_H

#include "profiler/analysis/system_tables.h"

/* A device capture of the folder, as far as it can be read. */
struct ntk_system_capture {
    const char *path;
    unsigned version; /* of the file */
    uint64_t model_id;
    uint32_t nc; /* by the name of the file; UINT32_MAX when it does not record */
    bool has_window;
    uint64_t process_id;                     /* that it names; 0: none */
    uint64_t window_start_ns, window_end_ns; /* on the clock of the core */
    bool has_total;
    uint64_t total_ns;
    uint64_t instruction_count, packet_count;
    uint64_t start_ns; /* where its time 0 is on the clock of the host; 0: unknown */
    bool is_session;   /* all executions of the core, else the first one of its model */
};

struct ntk_system_view {
    const struct ntk_system_trace *trace;
    const struct ntk_system_tables *tables;
    const struct ntk_system_capture *captures;
    size_t capture_count;
    bool shows_private; /* addresses and names of hosts, which are omitted otherwise */
};

#endif
