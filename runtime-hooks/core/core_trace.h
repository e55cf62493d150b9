/* SPDX-License-Identifier: MIT */
/*
 * core_trace - the system trace: times of host and core activity, with one ring of events per
 * logical core.
 *
 * Several sinks may be on at once, each with its own rings, filter and reader. While none is on,
 * recording costs one predictable branch; otherwise reading a clock, a lock, and 64 bytes per
 * event. Simultaneous events, such as the end of one phase and the start of the next, share clock
 * and lock. A full ring overwrites its oldest events and counts them. Events leave a ring by being
 * taken.
 *
 * Owner:   rings and names live inside the module, from start to stop of a sink.
 * Threads: any; one sink is started, taken from and stopped by one thread at a time. After a fork
 *          the child has no sink.
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

#define NTK_CORE_TRACE_EVENTS_MAX (UINT64_C(1) << 24) /* of one ring */
#define NTK_CORE_TRACE_NAMES_MAX 65536U               /* later names are "" */

enum ntk_core_trace_sink {
    NTK_CORE_TRACE_API,     /* a client fetches */
    NTK_CORE_TRACE_INSPECT, /* goes to a folder at the end */
    NTK_CORE_TRACE_WHOLE,   /* goes to a file that the caller names at the end */
    NTK_CORE_TRACE_SINKS,
};

/* At most 64: a filter is a mask of 1 << kind. */
enum ntk_core_trace_kind {
    /* of the device */
    NTK_CORE_TRACE_RUNNING,   /* span: a physical core runs a program */
    NTK_CORE_TRACE_CC,        /* span: a collective operation */
    NTK_CORE_TRACE_BARRIER,   /* span: a core waits for others */
    NTK_CORE_TRACE_NUMERICAL, /* NaN in an execution */
    NTK_CORE_TRACE_SWITCH,    /* a different model than last time */
    NTK_CORE_TRACE_SYNC,      /* host and device clock at one moment */
    /* of the host */
    NTK_CORE_TRACE_LOAD,
    NTK_CORE_TRACE_UNLOAD,
    NTK_CORE_TRACE_EXECUTE,
    NTK_CORE_TRACE_SCHEDULE,      /* span: an execution is queued */
    NTK_CORE_TRACE_SUBMIT,        /* span: the call puts it in a queue */
    NTK_CORE_TRACE_EXEC_PRE,      /* span: arguments are checked */
    NTK_CORE_TRACE_EXEC_DISPATCH, /* span: until this execution has the core */
    NTK_CORE_TRACE_EXEC_WAIT,     /* span: until the core is done */
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
    NTK_CORE_TRACE_MARK, /* span or instant: a mark of the program */
    NTK_CORE_TRACE_KINDS,
};

/* The data of an event, by kind; the rest is zero. */
struct ntk_core_trace_data {
    uint64_t time_ns;      /* since 1970-01-01 UTC; 0: now */
    uint64_t execution_id; /* RUNNING, NUMERICAL .. SYNC, EXEC_*; SCHEDULE: the sequence number; CC,
                              BARRIER at their end: the number in the communicator */
    uint64_t device_ns;    /* clock of the core: device time of its executions so far */
    uint64_t bytes;        /* MARK: the program's number */
    uint32_t model_id;
    uint16_t device_core; /* physical, in its device */
    uint16_t stack;       /* of the device, for MEMORY_* */
    uint16_t queue;       /* RUNNING, EXECUTE, EXEC_*: number of the caller's queue; 0: none */
    uint8_t operation;    /* CC, BARRIER: enum ntk_collective + 1; 0: unknown */
    const char *name;     /* of the model or the tensor; MEMORY_*: the category; CC,
                              BARRIER: the communicator. Copied */
};

struct ntk_core_trace_options {
    uint32_t core_count;
    const bool *core_enabled; /* core_count of them; NULL: all */
    uint64_t kinds;           /* mask */
    uint64_t events_per_core; /* at least 1, at most NTK_CORE_TRACE_EVENTS_MAX */
};

/* -EALREADY: the sink is on. */
int ntk_core_trace_start(enum ntk_core_trace_sink sink,
                         const struct ntk_core_trace_options *options, struct ntk_err *err);
/* Drops untaken events. -ENOENT: it is off. */
int ntk_core_trace_stop(enum ntk_core_trace_sink sink);
/* Cores of the sink; 0: it is off. */
uint32_t ntk_core_trace_core_count(enum ntk_core_trace_sink sink);
/* Takes up to this many of the oldest events of a core, in recording order. *out_lost (may be
 * NULL): overwritten since the start. 0 for a core without a ring. */
size_t ntk_core_trace_take(enum ntk_core_trace_sink sink, uint32_t nc,
                           struct ntk_ntrace_event *out_events, size_t count, uint64_t *out_lost);
/* The same without taking: from *inout_position on, 0 for the oldest; advances it past the copied
 * events. Events overwritten meanwhile are skipped. */
size_t ntk_core_trace_copy(enum ntk_core_trace_sink sink, uint32_t nc, uint64_t *inout_position,
                           struct ntk_ntrace_event *out_events, size_t count, uint64_t *out_lost);
/* "" for 0. Valid while a sink with the event is on. */
const char *ntk_core_trace_name(uint32_t name);

/* --- recording -------------------------------------------------------------------------------- */

extern _Atomic uint32_t ntk_core_trace_sinks_on;

static inline bool ntk_core_trace_is_on(void)
{
    return __builtin_expect(
        atomic_load_explicit(&ntk_core_trace_sinks_on, memory_order_relaxed) != 0, 0);
}

/* Zeroed: no sink was on at its start. */
struct ntk_core_trace_span {
    uint64_t tracking_id;
    uint64_t serial; /* sinks started later do not get its end */
    uint32_t nc;
    uint32_t kind;
};

/* One event. START fills its span; STOP takes the kind from it, and records nothing if it was not
 * started; INSTANT has none. */
struct ntk_core_trace_note {
    enum ntk_ntrace_phase phase;
    enum ntk_core_trace_kind kind;
    struct ntk_core_trace_span *span;
};

/* Simultaneous events on one core, in this order and with the same data. Spans that stop were
 * started on this core. */
void ntk_core_trace_moment(uint32_t nc, const struct ntk_core_trace_data *data,
                           const struct ntk_core_trace_note *notes, size_t count);
/* A single event. */
void ntk_core_trace_span_begin(struct ntk_core_trace_span *span, enum ntk_core_trace_kind kind,
                               uint32_t nc, const struct ntk_core_trace_data *data);
void ntk_core_trace_span_end(const struct ntk_core_trace_span *span,
                             const struct ntk_core_trace_data *data);
void ntk_core_trace_point(enum ntk_core_trace_kind kind, uint32_t nc,
                          const struct ntk_core_trace_data *data);
/* A mark that ends now; a duration of 0 makes it an instant. */
void ntk_core_trace_mark(const char *name, uint64_t duration_ns, uint64_t value);

#ifdef __cplusplus
}
#endif
#endif
