/* SPDX-License-Identifier: MIT */
/*
 * own_spans - reads the spans of ntrace.pb in the format of this project's runtime
 * (docs/formats/ntrace.md).
 *
 * The file is read once, in pieces. Starts and stops wait for each other by tracking id; then all
 * spans are sorted by start. Memory is bounded: long lists are stored in temporary files.
 *
 * Owner: the trace owns all data. Threads: one.
 */
#ifndef NTK_PROFILER_SYSTEM_OWN_SPANS_H
#define NTK_PROFILER_SYSTEM_OWN_SPANS_H

#include "profiler/system/system_trace.h"

/* Reads sorted spans that are not nested yet. Returns 0; 1 if truncated; -errno: the trace has no
 * spans. */
int ntk_own_spans(const char *path, struct ntk_system_trace *trace, struct ntk_err *err);

#endif
