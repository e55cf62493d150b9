/* SPDX-License-Identifier: MIT */
/*
 * live_trace - records a running process from outside into the folder of an inspection.
 *
 * The hooks in an observed process keep its last events in rings that permitted users may read.
 * This module follows the rings for a while and writes calls, executions and transfers as a system
 * trace (docs/formats/ntrace.md). The process does not notice, so the inside of an execution is not
 * recorded.
 *
 * _record() does everything. A caller that has other work meanwhile uses _begin(), then _step()
 * every 5 to 20 ms, then _end().
 *
 * Owner:   _begin() allocates, _destroy() frees; the folder's name is the caller's, free() it.
 * Threads: one at a time per trace.
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
    const struct ntk_clock *clock; /* for that; NULL: the system's */
    uint64_t events_per_core;      /* maximum; more are counted as lost */
    const char *folder;            /* the recording creates a folder in it */
    bool from_oldest;              /* include earlier events still in the rings */
    /* Called with the completed share, 0 to 1: false stops the recording. NULL: never stops. */
    bool (*continues)(double share, void *ctx);
    void *ctx;
};

struct ntk_live_trace_result {
    char *folder;
    uint64_t executions; /* completed while recording */
    uint64_t lost;       /* events overwritten, dropped by the process, or beyond the limit */
    uint64_t recorded_ns;
    bool has_ended; /* the process exited before the time was up */
};

/* -ENOENT with a message: the process has ended, or has no hooks; more: appended to it. */
int ntk_live_process_err_missing(uint64_t pid, const char *more, struct ntk_err *err);
/* -ENOENT: no such observed process; -ENODATA: it keeps no events; or errors of reading and
 * writing. */
int ntk_live_trace_record(const struct ntk_live_trace_options *options,
                          struct ntk_live_trace_result *out_result, struct ntk_err *err);

struct ntk_live_trace;
struct ntk_live_host;

/* Same as above, but ignores the options duration and continues. */
int ntk_live_trace_begin(const struct ntk_live_trace_options *options,
                         struct ntk_live_trace **out_trace, struct ntk_err *err);
/* Takes the records in the rings. False: the process has ended, or nothing more can be written. */
bool ntk_live_trace_step(struct ntk_live_trace *trace);
/* Completes the files. host: what host threads did meanwhile (live_host.h); NULL: unknown. */
int ntk_live_trace_end(struct ntk_live_trace *trace, const struct ntk_live_host *host,
                       struct ntk_live_trace_result *out_result, struct ntk_err *err);
void ntk_live_trace_destroy(struct ntk_live_trace *trace);

struct ntk_ring_registry;

/* The segment of a living process, borrowed from the registry; NULL: none. owner: uid; NULL:
 * any. */
struct ntk_ring_segment *ntk_live_trace_segment(struct ntk_ring_registry *registry, uint32_t pid,
                                                const uint32_t *owner);

#endif
