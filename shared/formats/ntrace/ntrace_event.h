/* SPDX-License-Identifier: MIT */
/*
 * ntrace_event - one event of a system trace, as recorders keep it and the writer of files takes
 * it.
 *
 * Threads: any; plain data.
 */
#ifndef NTK_SHARED_FORMATS_NTRACE_NTRACE_EVENT_H
#define NTK_SHARED_FORMATS_NTRACE_NTRACE_EVENT_H

#include <stdint.h>

enum ntk_ntrace_phase {
    NTK_NTRACE_START,
    NTK_NTRACE_STOP,
    NTK_NTRACE_INSTANT,
};

/* docs/formats/system-trace.md describes each by its type. */
struct ntk_ntrace_event {
    uint64_t tracking_id; /* of the process, never reused; both ends of a span have the same */
    uint64_t time_ns;
    uint64_t execution_id;
    uint64_t device_ns;
    uint64_t bytes;
    uint32_t model_id;
    uint32_t name; /* index into the file's names + 1; 0 none */
    uint32_t thread_id;
    uint16_t device_core;
    uint16_t stack;
    uint8_t kind;      /* index into the file's types */
    uint8_t phase;     /* enum ntk_ntrace_phase */
    uint16_t queue;    /* number of the caller's queue; 0 none */
    uint8_t operation; /* of a collective: its row of shared/abi/collective.def + 1; 0 not known */
    uint8_t reserved[3];
};

#endif
