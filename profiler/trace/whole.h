/* SPDX-License-Identifier: MIT */
/*
 * whole - reads the instructions of the whole capture for a trace with a window.
 *
 * Owner:   ntk_trace_destroy() frees the result; it borrows what the trace borrows.
 * Threads: any.
 */
#ifndef NTK_PROFILER_TRACE_WHOLE_H
#define NTK_PROFILER_TRACE_WHOLE_H

#include "profiler/trace/trace.h"

/* Creates a trace with the same cores, all their instructions, and neither packets nor changes.
 * Returns 0 or -errno. */
int ntk_trace_whole_create(const struct ntk_trace *trace, struct ntk_trace **out_whole);

#endif
