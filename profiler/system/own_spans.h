/* SPDX-License-Identifier: MIT */
/*
 * own_spans - the spans of ntrace.pb as our runtime writes it (docs/formats/ntrace.md).
 *
 * The file is read once, in pieces. A start waits for the stop with its tracking id, a stop for its
 * start; all spans are sorted by their start afterwards. Memory is bounded: what is long is in
 * temporary files.
 *
 * Owner:   what is read belongs to the trace. Threads: one.
 */
#ifndef NTK_PROFILER_SYSTEM_OWN_SPANS_H
#define NTK_PROFILER_SYSTEM_OWN_SPANS_H

#include "profiler/system/system_trace.h"

/* Sorted, not yet nested. 0; 1: truncated; -errno, and the trace has no spans. */
int ntk_own_spans(const char *path, struct ntk_system_trace *trace, struct ntk_err *err);

#endif
