/* SPDX-License-Identifier: MIT */
/*
 * live_trace - what a process that runs already does, recorded from outside into the folder of an
 * inspection.
 *
 * The hooks in an observed process keep its last events in rings that anybody allowed may read.
 * This follows them for a while and writes calls, executions and transfers as a system trace
 * (docs/formats/ntrace.md). The process is not asked and does not notice; so there is nothing of
 * what happens inside an execution.
 *
 * Owner:   the folder's name is the caller's, free() it.
 * Threads: one at a time.
 */
#ifndef NTK_PROFILER_SYSTEM_LIVE_TRACE_H
#define NTK_PROFILER_SYSTEM_LIVE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/clock.h"
#include "shared/base/err.h"

struct ntk_live_trace_options {
    uint32_t pid; /* as this process sees it */
    bool has_owner;
    uint32_t owner; /* uid: only a segment of this user, whatever another user's segment says about
                     * its pid */
    uint64_t duration_ns;
    const struct ntk_clock *clock; /* of that; NULL: the system's */
    uint64_t events_per_core;      /* written; more are counted as lost */
    const char *folder;            /* the recording makes its own below */
    bool from_oldest;              /* also what the rings still have from before */
    /* Asked now and then with the share that has ended, 0 to 1: false ends the recording. NULL:
     * always true. */
    bool (*goes_on)(double share, void *ctx);
    void *ctx;
};

struct ntk_live_trace_result {
    char *folder;
    uint64_t executions; /* ended while it was recorded */
    uint64_t lost;       /* events that were overwritten, dropped by the process, or too many */
    uint64_t recorded_ns;
    bool has_ended; /* the process, before the time was up */
};

/* -ENOENT: no such process is observed; -ENODATA: it keeps no events; or what reading and writing
 * has. */
int ntk_live_trace_record(const struct ntk_live_trace_options *options,
                          struct ntk_live_trace_result *out_result, struct ntk_err *err);

#endif
