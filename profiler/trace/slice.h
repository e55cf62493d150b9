/* SPDX-License-Identifier: MIT */
/*
 * slice - copies a part of a trace, such as one of its executions, as a complete trace.
 *
 * A row belongs to the slice in which it starts; its end is clipped. Time 0 of the copy is the
 * start of the slice, and the total is its length. In contrast to a window (struct ntk_trace_part),
 * nothing is read from the capture again, so that all slices of a trace cost as much as one pass.
 *
 * Errors:  -errno of a long list.
 * Owner:   ntk_trace_destroy() frees the copy; it borrows what the trace borrows.
 * Threads: any.
 */
#ifndef NTK_PROFILER_TRACE_SLICE_H
#define NTK_PROFILER_TRACE_SLICE_H

#include "profiler/trace/trace.h"

/* to_ps 0: up to the end of the trace, which must have no window. */
int ntk_trace_slice_create(const struct ntk_trace *trace, int64_t from_ps, int64_t to_ps,
                           struct ntk_trace **out_slice);

#endif
