/* SPDX-License-Identifier: MIT */
/*
 * live_trace - records a running process from outside into the folder of an inspection.
 *
 * The hooks in an observed process keep its last events in rings that permitted users may read.
 * This module follows the rings for a while and writes calls, executions and transfers as a system
 * trace (docs/formats/ntrace.md). The process takes no part, so the inside of an execution is not
 * recorded.
 *
 * _record() makes a complete recording. A caller that has other work meanwhile calls _begin(), then
 * _step() every 5 to 20 ms, then _end().
 *
 * Owner:   _begin() allocates, _destroy() frees; the caller frees the folder's name with free().
 * Threads: one at a time per trace.
 */
#ifndef NTK_PROFILER_SYSTEM_LIVE_TRACE_H
#define NTK_PROFILER_SYSTEM_LIVE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/clock.h"
#include "shared/base/err.h"

struct ntk_live_trace_options {
    uint32_t pid; /* pid as seen by this process */
    bool has_owner;
    /* uid: only a segment of this user is used, even if another user's segment claims the pid */
    uint32_t owner;
    uint64_t duration_ns;
    const struct ntk_clock *clock; /* for the duration; NULL for the system clock */
    uint64_t events_per_core;      /* maximum; more events are counted as lost */
    const char *folder;            /* folder in which the recording creates a folder */
    bool from_oldest;              /* includes earlier events still in the rings */
    /* Called with the completed share, 0 to 1; false stops the recording. NULL: never stops. */
    bool (*continues)(double share, void *ctx);
    void *ctx;
};

struct ntk_live_trace_result {
    char *folder;
    uint64_t executions; /* number completed while recording */
    uint64_t lost; /* number of events overwritten, dropped by the process, or beyond the limit */
    uint64_t recorded_ns;
    bool has_ended; /* the process exited before the duration ended */
};

/* Fills err if the process has ended, or has no hooks; returns -ENOENT. `more` is appended to the
 * message. */
int ntk_live_process_err_missing(uint64_t pid, const char *more, struct ntk_err *err);
/* Returns -ENOENT if the process is not observed; -ENODATA if it records no events; or errors
 * of reading and writing. */
int ntk_live_trace_record(const struct ntk_live_trace_options *options,
                          struct ntk_live_trace_result *out_result, struct ntk_err *err);

struct ntk_live_trace;
struct ntk_live_host;

/* Same, without the options duration and continues. */
int ntk_live_trace_begin(const struct ntk_live_trace_options *options,
                         struct ntk_live_trace **out_trace, struct ntk_err *err);
/* Takes the records in the rings. Returns false if the process has ended, or if nothing more can be
 * written. */
bool ntk_live_trace_step(struct ntk_live_trace *trace);
/* Completes the files. host: activity of host threads (live_host.h); NULL if unknown. */
int ntk_live_trace_end(struct ntk_live_trace *trace, const struct ntk_live_host *host,
                       struct ntk_live_trace_result *out_result, struct ntk_err *err);
void ntk_live_trace_destroy(struct ntk_live_trace *trace);

struct ntk_ring_registry;

/* Returns the segment of a living process, borrowed from the registry; NULL if none. owner: uid;
 * NULL for any. */
struct ntk_ring_segment *ntk_live_trace_segment(struct ntk_ring_registry *registry, uint32_t pid,
                                                const uint32_t *owner);

#endif
