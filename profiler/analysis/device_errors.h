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
#include "shared/formats/ntff/ntff_layout.h"

#define NTK_DEVICE_ERROR_BYTES NTK_NTFF_RECORD_BYTES

struct ntk_device_errors {
    uint64_t count;    /* in the shown part of the execution */
    bool has_stopped;  /* one of them ends an execution; a NaN does not */
    bool has_first;    /* a known error, the earliest one: */
    size_t first_core; /* index in the trace */
    int64_t first_ps;  /* since time 0 of the trace */
    struct ntk_ntff_record first;
};

/* One record in the shown part of the execution. */
struct ntk_device_error {
    size_t core;          /* index in the trace */
    const uint8_t *bytes; /* the record as stored, NTK_DEVICE_ERROR_BYTES */
    bool is_known;        /* of this project's core: the members below are set */
    struct ntk_ntff_record record;
    int64_t since_ps; /* since time 0 of the trace */
};
/* Calls for each record, core by core, until a call returns a value other than 0, which it
 * returns. */
typedef int ntk_device_error_call(const struct ntk_device_error *error, void *ctx);
int ntk_device_errors_each(const struct ntk_trace *trace, ntk_device_error_call *call, void *ctx);

void ntk_analysis_device_errors(const struct ntk_trace *trace,
                                struct ntk_device_errors *out_errors);

#endif
