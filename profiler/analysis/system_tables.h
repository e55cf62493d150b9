/* SPDX-License-Identifier: MIT */
/*
 * system_tables - computes the time of each thread in a system trace by activity, and the time of
 * each execution, from the call to the device and back.
 *
 * Owner:   the caller provides the storage; _fini frees the content. Texts are borrowed from the
 *          trace. Threads: any.
 */
#ifndef NTK_PROFILER_ANALYSIS_SYSTEM_TABLES_H
#define NTK_PROFILER_ANALYSIS_SYSTEM_TABLES_H

#include "profiler/system/system_trace.h"
#include "shared/formats/ntff/ntff.h"

/* Row for all spans and instants of one type in one thread. */
struct ntk_system_thread_row {
    uint32_t thread_id;
    const char *type;
    bool is_hardware;
    uint64_t count;
    uint64_t partial_count; /* number of these without a duration */
    uint64_t total_ns;      /* time of the others; 0 for instants */
    uint64_t median_ns;     /* at rank floor((n - 1) / 2) */
    uint64_t max_ns;
};

/* An execution on its first core. Host times are 0 if the trace does not record them. */
struct ntk_system_execution {
    uint64_t exec_id;
    const char *model; /* "" if unknown */
    uint64_t model_id;
    uint32_t nc, thread_id;
    uint32_t device_core_count; /* number of spans on the device */
    bool is_partial;            /* start or end of the call is missing */
    uint64_t start_ns, host_ns; /* the whole call */
    uint64_t check_ns;          /* time before it requested the core */
    uint64_t queue_ns;          /* time until it got the core */
    uint64_t wait_ns;           /* time until the core finished */
    uint64_t after_ns;
    uint64_t device_ns; /* on the clock of the core: its longest physical core, with all steps */
    /* The longest run as the trace has it: as long as device_ns, but if the clock of the core did
     * not advance, as in a failed execution, as long as the host saw it. */
    uint64_t run_ns;
    uint64_t device_start_ns; /* on the clock of the core */
    uint64_t sync_host_ns;    /* host time at device_start_ns */
    /* core of the run that starts at that time; NTK_SYSTEM_NO_CORE if unknown */
    uint32_t device_core;
    uint32_t clock_life; /* epoch of that clock: number of earlier resets of the core */
    bool has_clock;      /* device_start_ns is known */
};

struct ntk_system_tables {
    size_t thread_row_count;
    struct ntk_system_thread_row *thread_rows; /* sorted by thread, then by descending total time */
    size_t thread_rows_omitted;                /* rows beyond the limit */
    size_t execution_count;
    struct ntk_system_execution *executions; /* by number */
    struct ntk_long_list execution_list;     /* storage of executions */
    uint64_t process_id;                     /* 0 if unknown */
    bool is_vendor;
};

/* Returns 0 or -errno; long lists are stored in files. */
int ntk_analysis_system_tables(const struct ntk_system_trace *trace,
                               struct ntk_system_tables *out_tables);
void ntk_system_tables_fini(struct ntk_system_tables *tables);
/* Facts that a capture records about its execution. */
struct ntk_system_captured {
    uint64_t model_id;
    uint64_t process_id; /* 0 if unknown */
    uint32_t nc;         /* UINT32_MAX if unknown */
    bool has_window;
    uint64_t start_ns, end_ns; /* window on the clock of the core */
};
/* Finds the execution of a capture: it starts in the capture's window, on the clock of its core. In
 * folders of this project it also matches process and model; if the recording or the capture lacks
 * times of the core's clock, it is the first execution of the model. In the vendor's folders
 * captures may belong to another process. Returns NULL if it is absent; *out_reason (may be NULL)
 * is the reason. */
const struct ntk_system_execution *
ntk_system_tables_captured(const struct ntk_system_tables *tables,
                           const struct ntk_system_captured *captured, const char **out_reason);
/* Same, for a capture of this core. */
const struct ntk_system_execution *
ntk_system_tables_captured_in(const struct ntk_system_tables *tables, const struct ntk_ntff *ntff,
                              uint32_t nc, const char **out_reason);

#endif
