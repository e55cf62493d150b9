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

struct ntk_capture_located {
    uint64_t start_ns; /* time 0 since 1970; 0 if unknown */
    uint32_t nc;       /* core of the process; UINT32_MAX if unknown */
    /* For a capture requested by `neuron-profile trigger`, from its name; otherwise 0. */
    uint32_t pid;
    uint64_t execution; /* first execution in the capture */
};
/* Locates a capture in the folder of a trace, or, if `trigger` requested it, in one of all traces
 * (elements are struct ntk_system_trace *): the trace of its process is in another folder. */
struct ntk_capture_located ntk_capture_locate(const char *path,
                                              const struct ntk_system_trace *trace,
                                              const struct ntk_system_tables *tables,
                                              const struct ntk_vec *traces);

#endif
