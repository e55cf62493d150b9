/* SPDX-License-Identifier: MIT */
/*
 * vendor_session - reads the vendor's files of an inspection as a system trace.
 *
 * Records are read once, in the order of the file. A start becomes a span that waits for the stop
 * with its tracking id; then all spans are sorted by start. Memory is bounded: long lists are
 * stored in temporary files.
 *
 * Owner: the trace owns everything read. Threads: one.
 */
#ifndef NTK_PROFILER_SYSTEM_VENDOR_SESSION_H
#define NTK_PROFILER_SYSTEM_VENDOR_SESSION_H

#include "profiler/system/system_trace.h"

/* Reads trace_info.pb: the vendor's tables, and the equivalent of this project's. Returns 0; 1 if
 * truncated; -errno. */
int ntk_vendor_session_info(const char *path, struct ntk_system_trace *trace, struct ntk_err *err);
/* Reads ntrace.pb: the spans, sorted, not yet nested. Returns 0; 1 if truncated; -errno. */
int ntk_vendor_session_spans(const char *path, struct ntk_system_trace *trace, struct ntk_err *err);
/* Read cpu_util.pb and host_mem.pb. Return 0; 1 if truncated; -errno. */
int ntk_vendor_session_cpu(const char *path, struct ntk_system_trace *trace, struct ntk_err *err);
int ntk_vendor_session_memory(const char *path, struct ntk_system_trace *trace,
                              struct ntk_err *err);

/* Returns a shared copy of the text, valid as long as the trace; "" if out of memory or beyond the
 * limit. */
const char *ntk_vendor_session_text(struct ntk_system_trace *trace, const char *text, size_t bytes);
/* Adds a message for users of the trace. */
void ntk_vendor_session_note(struct ntk_system_trace *trace, const char *category,
                             const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Sets the physical core of sync points, and reports their deviation from a line. Returns 0 or
 * -errno. */
int ntk_vendor_session_clocks(struct ntk_system_trace *trace);
/* Assigns allocations and frees to the accounts of physical cores. Returns 0 or -ENOMEM. */
int ntk_vendor_session_accounts(struct ntk_system_trace *trace);

#endif
