/* SPDX-License-Identifier: MIT */
/*
 * device_errors - the errors that the device recorded during an execution.
 *
 * The records of hardware are unknown: they count, without a kind and a time.
 *
 * Owner:   caller's storage; nothing to free.
 * Threads: any; no state.
 */
#ifndef NTK_PROFILER_ANALYSIS_DEVICE_ERRORS_H
#define NTK_PROFILER_ANALYSIS_DEVICE_ERRORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/trace/trace.h"

struct ntk_device_errors {
    uint64_t count;    /* in the shown part of the execution */
    bool has_stopped;  /* one of them ends an execution; a NaN does not */
    bool has_first;    /* a known error, the earliest one: */
    size_t first_core; /* index in the trace */
    int64_t first_ps;  /* since time 0 of the trace */
    struct ntk_ntff_record first;
};

void ntk_analysis_device_errors(const struct ntk_trace *trace,
                                struct ntk_device_errors *out_errors);

#endif
