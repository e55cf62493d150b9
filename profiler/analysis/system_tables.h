/* SPDX-License-Identifier: MIT */
/*
 * system_tables - what each thread of a system trace spent its time on, and where each execution
 * spent its own, from the call to the device and back.
 *
 * Owner:   caller's storage; _fini frees. Texts are the trace's. Threads: any.
 */
#ifndef NTK_PROFILER_ANALYSIS_SYSTEM_TABLES_H
#define NTK_PROFILER_ANALYSIS_SYSTEM_TABLES_H

#include "profiler/system/system_trace.h"
#include "shared/formats/ntff/ntff.h"

/* All spans and instants of one type in one thread. */
struct ntk_system_thread_row {
    uint32_t thread_id;
    const char *type;
    bool is_hardware;
    uint64_t count;
    uint64_t partial_count; /* of them, without a duration */
    uint64_t total_ns;      /* of the others; instants have 0 */
    uint64_t median_ns;     /* rank floor((n - 1) / 2) */
    uint64_t max_ns;
};

/* One execution on the first core that it used. Host times; 0 where the trace does not record. */
struct ntk_system_execution {
    uint64_t exec_id;
    const char *model; /* "" */
    uint64_t model_id;
    uint32_t nc, thread_id;
    uint32_t device_core_count; /* spans on the device */
    bool is_partial;            /* the call's begin or end is missing */
    uint64_t start_ns, host_ns; /* the whole call */
    uint64_t check_ns;          /* before it asked for the core */
    uint64_t queue_ns;          /* until the core was its own */
    uint64_t wait_ns;           /* until the core was done */
    uint64_t after_ns;
    uint64_t device_ns; /* on the clock of the core: its longest physical core, all steps added */
    uint64_t device_start_ns; /* on the clock of the core */
    uint64_t sync_host_ns;    /* host time of that moment */
    uint32_t device_core;     /* of the run that begins then; NTK_SYSTEM_NO_CORE */
    uint32_t clock_life;      /* of that clock: how often the core was reset before */
    bool has_clock;           /* device_start_ns is known */
};

struct ntk_system_tables {
    size_t thread_row_count;
    struct ntk_system_thread_row *thread_rows; /* by thread, then total time downwards */
    size_t thread_rows_omitted;                /* there are too many of them */
    size_t execution_count;
    struct ntk_system_execution *executions; /* by number */
    struct ntk_long_list execution_list;     /* which they are in */
    uint64_t process_id;                     /* 0: unknown */
    bool is_vendor;
};

/* 0 or -errno: long lists go to files. */
int ntk_analysis_system_tables(const struct ntk_system_trace *trace,
                               struct ntk_system_tables *out_tables);
void ntk_system_tables_fini(struct ntk_system_tables *tables);
/* What a capture records of the execution that it shows. */
struct ntk_system_captured {
    uint64_t model_id;
    uint64_t process_id; /* 0: unknown */
    uint32_t nc;         /* UINT32_MAX: unknown */
    bool has_window;
    uint64_t start_ns, end_ns; /* of the window, on the clock of the core */
};
/* That execution: the one that begins in its window, by the clock of its core. In our folders it is
 * also of its process and of its model; where the recording or the capture has no times of the
 * core's clock, it is the first execution of the model. In the vendor's folders captures may be of
 * another process. NULL: absent, and *out_reason (may be NULL) gives the reason. */
const struct ntk_system_execution *
ntk_system_tables_captured(const struct ntk_system_tables *tables,
                           const struct ntk_system_captured *captured, const char **out_reason);
/* The same for a capture of that core. */
const struct ntk_system_execution *
ntk_system_tables_captured_in(const struct ntk_system_tables *tables, const struct ntk_ntff *ntff,
                              uint32_t nc, const char **out_reason);

#endif
