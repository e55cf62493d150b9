/* SPDX-License-Identifier: MIT */
/*
 * capture_place - maps time 0 of a capture to the clock of the host that traced the process.
 *
 * In folders of this project it is the sync point of the execution. In folders of the vendor, the
 * start of the capture's window, a time on the core, is converted to a host time with the sync
 * points of that core since its last reset: with the last point before it, or by interpolation
 * between two points that are more than a second apart, because clocks drift. Times after time 0
 * use the clock of the core.
 *
 * Threads: any.
 */
#ifndef NTK_PROFILER_ANALYSIS_CAPTURE_PLACE_H
#define NTK_PROFILER_ANALYSIS_CAPTURE_PLACE_H

#include "profiler/analysis/system_tables.h"

/* Returns ns since 1970, or 0 if its execution is not in the trace; *out_reason (may be NULL) is
 * the reason. nc is UINT32_MAX if the core is unknown. */
uint64_t ntk_capture_place(const struct ntk_system_trace *trace,
                           const struct ntk_system_tables *tables, const struct ntk_ntff *ntff,
                           uint32_t nc, const char **out_reason);
/* A capture requested by `neuron-profile trigger`, identified by its name. The trace of its process
 * is in another folder. */
struct ntk_capture_triggered {
    uint32_t pid;
    uint64_t execution; /* first execution in the capture */
    uint32_t nc;        /* core of the process; UINT32_MAX without a trace of the process */
    uint64_t start_ns;  /* start of that execution, since 1970; 0 if it is in no trace */
};
/* Returns false if the name has another form. */
bool ntk_capture_triggered(const char *path, const struct ntk_system_trace *const *traces,
                           size_t count, struct ntk_capture_triggered *out_capture);

#endif
