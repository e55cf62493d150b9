/* SPDX-License-Identifier: MIT */
/*
 * capture_place - maps time 0 of a capture to the clock of the host that traced the process.
 *
 * In our folders it is the sync point of the execution. In the vendor's the start of the capture's
 * window, a time on the core, becomes a host time by the sync points of that core since its
 * last reset: by the last one before it, or between two that are more than a second apart by
 * interpolation, because clocks drift. Times after time 0 use the clock of the core.
 *
 * Pure. Threads: any.
 */
#ifndef NTK_PROFILER_ANALYSIS_CAPTURE_PLACE_H
#define NTK_PROFILER_ANALYSIS_CAPTURE_PLACE_H

#include "profiler/analysis/system_tables.h"

/* ns since 1970. 0: its execution is not in the trace; *out_reason (may be NULL) has the reason. nc
 * UINT32_MAX: the core is unknown. */
uint64_t ntk_capture_place(const struct ntk_system_trace *trace,
                           const struct ntk_system_tables *tables, const struct ntk_ntff *ntff,
                           uint32_t nc, const char **out_reason);
/* A capture that `neuron-profile trigger` requested, by its name. The trace of its process is in
 * another folder. */
struct ntk_capture_triggered {
    uint32_t pid;
    uint64_t execution; /* the first one */
    uint32_t nc;        /* of the process; UINT32_MAX: no trace of the process */
    uint64_t start_ns;  /* of that execution, since 1970; 0: no trace has it */
};
/* False: the name is another. */
bool ntk_capture_triggered(const char *path, const struct ntk_system_trace *const *traces,
                           size_t count, struct ntk_capture_triggered *out_capture);

#endif
