/* SPDX-License-Identifier: MIT */
/*
 * own_spans - the spans of ntrace.pb as our runtime writes it (docs/formats/ntrace.md).
 *
 * The file is read once, in pieces. Starts and stops wait for each other by tracking id; then all
 * spans are sorted by start. Memory is bounded: long lists are in temporary files.
 *
 * Owner: the trace owns everything read. Threads: one.
 */
#ifndef NTK_PROFILER_SYSTEM_OWN_SPANS_H
#define NTK_PROFILER_SYSTEM_OWN_SPANS_H

#include "profiler/system/system_trace.h"

/* Sorted, not yet nested. 0; 1: truncated; -errno: the trace has no spans. */
int ntk_own_spans(const char *path, struct ntk_system_trace *trace, struct ntk_err *err);

#endif
