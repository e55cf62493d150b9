/* SPDX-License-Identifier: MIT */
/*
 * ntrace_event - an event of a system trace, in the form that recorders store and file writers
 * take.
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

/* An event. docs/formats/system-trace.md describes its fields for each type. */
struct ntk_ntrace_event {
    uint64_t tracking_id; /* unique in the process; both ends of a span have the same */
    uint64_t time_ns;
    uint64_t execution_id;
    uint64_t device_ns;
    uint64_t bytes;
    uint32_t model_id;
    uint32_t name; /* 1 + index in the file's names; 0: none */
    uint32_t thread_id;
    uint16_t device_core;
    uint16_t stack;
    uint8_t kind;      /* index in the file's types */
    uint8_t phase;     /* enum ntk_ntrace_phase */
    uint16_t queue;    /* number of the caller's queue; 0: none */
    uint8_t operation; /* for a collective: 1 + its row in shared/abi/collective.def; 0: unknown */
    uint8_t reserved[3];
};

#endif
