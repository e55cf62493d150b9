/* SPDX-License-Identifier: MIT */
/*
 * live_host - writes activity of host threads while cores were idle as events of a recording: rows
 * of the same timeline as calls and executions.
 *
 * A thread has a span `thread_<cause>` for each time off the CPU, and `thread_running` while it ran
 * during a gap; the name is the function. A core has a span `nc_idle` for each gap; the name is its
 * main cause. docs/idle.md defines causes and gaps.
 *
 * Owner:   no data is kept. Threads: one.
 */
#ifndef NTK_PROFILER_SYSTEM_LIVE_HOST_H
#define NTK_PROFILER_SYSTEM_LIVE_HOST_H

#include "profiler/system/live_records.h"
#include "shared/hostwork/hostwork.h"

/* An observation of one process, after ntk_host_attribute(). */
struct ntk_live_host {
    const struct ntk_host_records *records;
    const struct ntk_host_result *result;
};

/* Writes threads that are responsible for a part of a gap, or hold a lock for which one of these
 * waits. Failures are stored in the records. */
void ntk_live_host_write(struct ntk_live_records *to, const struct ntk_live_host *host);

#endif
