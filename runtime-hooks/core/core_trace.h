/* SPDX-License-Identifier: MIT */
/*
 * core_trace - the system trace: events with the times of host and core activity, in one ring per
 * logical core.
 *
 * Several sinks may be on at once, each with its own rings, filter and reader. While no sink is on,
 * recording costs one predictable branch; otherwise it costs reading a clock, a lock, and 64 bytes
 * per event. Simultaneous events, such as the end of one phase and the start of the next, share
 * clock and lock. A full ring overwrites its oldest events and counts them. Events leave a ring by
 * being taken.
 *
 * Owner:   rings and names live inside the module, from start to stop of a sink.
 * Threads: any; a sink is started, read and stopped by one thread at a time. After a fork the child
 *          has no sink.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_TRACE_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/formats/ntrace/ntrace_event.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_CORE_TRACE_EVENTS_MAX (UINT64_C(1) << 24) /* maximum events in one ring */
#define NTK_CORE_TRACE_NAMES_MAX 65536U               /* limit, after which names are "" */

enum ntk_core_trace_sink {
    NTK_CORE_TRACE_API,     /* a client fetches the events */
    NTK_CORE_TRACE_INSPECT, /* the events are written to a folder at the end */
    NTK_CORE_TRACE_WHOLE,   /* the events are written to a file that the caller names at the end */
    NTK_CORE_TRACE_SINKS,
};

/* Kinds of events. At most 64, because a filter is a mask of 1 << kind. */
enum ntk_core_trace_kind {
    /* Device events. */
    NTK_CORE_TRACE_RUNNING,   /* span: a physical core runs a program */
    NTK_CORE_TRACE_CC,        /* span: a collective operation */
    NTK_CORE_TRACE_BARRIER,   /* span: a core waits for other cores */
    NTK_CORE_TRACE_NUMERICAL, /* an execution wrote a NaN */
    NTK_CORE_TRACE_SWITCH,    /* the core switches to another model */
    NTK_CORE_TRACE_SYNC,      /* host and device clock at the same moment */
    /* Host events. */
    NTK_CORE_TRACE_LOAD,
    NTK_CORE_TRACE_UNLOAD,
    NTK_CORE_TRACE_EXECUTE,
    NTK_CORE_TRACE_SCHEDULE,      /* span: an execution is queued */
    NTK_CORE_TRACE_SUBMIT,        /* span: the call adds it to a queue */
    NTK_CORE_TRACE_EXEC_PRE,      /* span: arguments are checked */
    NTK_CORE_TRACE_EXEC_DISPATCH, /* span: the execution waits for its core */
    NTK_CORE_TRACE_EXEC_WAIT,     /* span: the core works */
    NTK_CORE_TRACE_EXEC_POST,     /* span: work after the run */
    NTK_CORE_TRACE_TENSOR_ALLOCATE,
    NTK_CORE_TRACE_TENSOR_FREE,
    NTK_CORE_TRACE_TENSOR_READ,
    NTK_CORE_TRACE_TENSOR_WRITE,
    NTK_CORE_TRACE_TENSOR_COPY,
    NTK_CORE_TRACE_COPY_IN,
    NTK_CORE_TRACE_COPY_OUT,
    NTK_CORE_TRACE_MEMORY_ALLOC,
    NTK_CORE_TRACE_MEMORY_FREE,
    NTK_CORE_TRACE_MARK, /* span or instant: a mark that the program sets */
    NTK_CORE_TRACE_KINDS,
};

/* The data of an event, depending on its kind; other members are zero. */
struct ntk_core_trace_data {
    uint64_t time_ns;      /* since 1970-01-01 UTC; 0: now */
    uint64_t execution_id; /* RUNNING, NUMERICAL .. SYNC, EXEC_*; SCHEDULE: the sequence number; CC,
                              BARRIER at their end: the number in the communicator */
    uint64_t device_ns;    /* clock of the core: device time of its executions so far */
    uint64_t bytes;        /* bytes; for MARK the program's number */
    uint32_t model_id;
    uint16_t device_core; /* physical number in the device */
    uint16_t stack;       /* number in the device, for MEMORY_* */
    uint16_t queue;       /* RUNNING, EXECUTE, EXEC_*: number of the caller's queue; 0: none */
    uint8_t operation;    /* CC, BARRIER: enum ntk_collective + 1; 0: unknown */
    /* name of the model or tensor; MEMORY_*: the category; CC, BARRIER: the communicator; copied */
    const char *name;
};

struct ntk_core_trace_options {
    uint32_t core_count;
    const bool *core_enabled; /* core_count elements; NULL: all */
    uint64_t kinds;           /* mask of 1 << kind */
    uint64_t events_per_core; /* from 1 to NTK_CORE_TRACE_EVENTS_MAX */
};

/* Returns -EALREADY if the sink is on. */
int ntk_core_trace_start(enum ntk_core_trace_sink sink,
                         const struct ntk_core_trace_options *options, struct ntk_err *err);
/* Drops events that were not taken. Returns -ENOENT if the sink is off. */
int ntk_core_trace_stop(enum ntk_core_trace_sink sink);
/* The number of cores of the sink; 0 if it is off. */
uint32_t ntk_core_trace_core_count(enum ntk_core_trace_sink sink);
/* Takes up to this many of a core's oldest events, in recording order. *out_lost (may be NULL) is
 * the number overwritten since the start. Returns 0 for a core without a ring. */
size_t ntk_core_trace_take(enum ntk_core_trace_sink sink, uint32_t nc,
                           struct ntk_ntrace_event *out_events, size_t count, uint64_t *out_lost);
/* Copies events without taking them: from *inout_position on (0: the oldest), which it advances
 * past the copied events. Events overwritten in the meantime are skipped. */
size_t ntk_core_trace_copy(enum ntk_core_trace_sink sink, uint32_t nc, uint64_t *inout_position,
                           struct ntk_ntrace_event *out_events, size_t count, uint64_t *out_lost);
/* The text of a name; "" for 0. Valid while a sink with the event is on. */
const char *ntk_core_trace_name(uint32_t name);

/* --- recording -------------------------------------------------------------------------------- */

extern _Atomic uint32_t ntk_core_trace_sinks_on;

static inline bool ntk_core_trace_is_on(void)
{
    return __builtin_expect(
        atomic_load_explicit(&ntk_core_trace_sinks_on, memory_order_relaxed) != 0, 0);
}

/* A zeroed struct means that no sink was on at its start. */
struct ntk_core_trace_span {
    uint64_t tracking_id;
    uint64_t serial; /* sinks started after this number do not get the span's end */
    uint32_t nc;
    uint32_t kind;
};

/* An event to record. START fills its span; STOP takes the kind from the span, and records nothing
 * if it was not started; INSTANT has no span. */
struct ntk_core_trace_note {
    enum ntk_ntrace_phase phase;
    enum ntk_core_trace_kind kind;
    struct ntk_core_trace_span *span;
};

/* Records simultaneous events on one core, in this order and with the same data. Spans that stop
 * must have started on this core. */
void ntk_core_trace_moment(uint32_t nc, const struct ntk_core_trace_data *data,
                           const struct ntk_core_trace_note *notes, size_t count);
/* Record a single event. */
void ntk_core_trace_span_begin(struct ntk_core_trace_span *span, enum ntk_core_trace_kind kind,
                               uint32_t nc, const struct ntk_core_trace_data *data);
void ntk_core_trace_span_end(const struct ntk_core_trace_span *span,
                             const struct ntk_core_trace_data *data);
void ntk_core_trace_point(enum ntk_core_trace_kind kind, uint32_t nc,
                          const struct ntk_core_trace_data *data);
/* Records a mark that ends now; a duration of 0 makes it an instant. */
void ntk_core_trace_mark(const char *name, uint64_t duration_ns, uint64_t value);

#ifdef __cplusplus
}
#endif
#endif
