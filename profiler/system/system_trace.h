/* SPDX-License-Identifier: MIT */
/*
 * system_trace - what the host and the cores of one inspected process did, from the folder of an
 * inspection (docs/formats/ntrace.md): starts and stops paired to spans, spans nested by thread.
 *
 * Owner:   ntk_system_trace_open() allocates, _close() frees; texts live as long.
 * Threads: one at a time.
 */
#ifndef NTK_PROFILER_SYSTEM_SYSTEM_TRACE_H
#define NTK_PROFILER_SYSTEM_SYSTEM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/base/vec.h"
#include "shared/formats/ntrace/ntrace.h"

#define NTK_SYSTEM_NO_PARENT SIZE_MAX

struct ntk_system_span {
    const char *type;  /* "nrt_execute" */
    const char *name;  /* of the model, the tensor or the use of memory; "" */
    uint64_t start_ns; /* host, since 1970 UTC; of a span whose start is lost, the stop */
    uint64_t end_ns;   /* = start_ns for instants and for spans whose stop is not there */
    bool is_instant;
    bool is_partial; /* one end is missing: overwritten, or still going on */
    uint64_t tracking_id;
    uint64_t exec_id;                        /* of nrta_execute_schedule, collectives: sequence */
    uint64_t device_start_ns, device_end_ns; /* clock of the core */
    uint64_t bytes;                          /* of a mark: the number that its program gave it */
    uint32_t model_id, thread_id;
    uint32_t nc;          /* relative to the process */
    uint32_t worker;      /* global */
    uint32_t device_core; /* physical, in its device */
    uint32_t stack;
    uint8_t operation; /* of a collective: enum ntk_collective + 1; 0: not known */
    uint32_t queue;    /* number of the caller's queue that it waited in; 0: none */
    size_t parent;     /* innermost span of the same thread around it, which stands before it; or
                      NTK_SYSTEM_NO_PARENT */
};

/* Of the device; all others are the host's. */
bool ntk_system_type_is_hardware(const char *type);
/* A mark of the program itself. */
bool ntk_system_span_is_mark(const struct ntk_system_span *span);
/* An operation of a communicator that is known: the name is that
 * (shared/formats/ntrace/ntrace_comm.h), the exec_id the number of the operation in it. */
bool ntk_system_span_is_collective(const struct ntk_system_span *span);
/* What ranks did in a collective, "all_gather"; NULL: not known. */
const char *ntk_system_span_operation(const struct ntk_system_span *span);
/* What stands on it where it is drawn: its type, of a mark the mark's name. */
const char *ntk_system_span_label(const struct ntk_system_span *span);

struct ntk_system_trace {
    char *folder;
    NtkNtracePb__Info *info;                /* NULL: no trace_info.pb */
    NtkNtracePb__Trace *file;               /* NULL: no ntrace.pb */
    NtkNtracePb__HostSamples *cpu, *memory; /* NULL: not there */
    uint64_t begin_ns, end_ns; /* of the inspection, else of the events; 0 when there is nothing */
    uint64_t lost;             /* events that the rings overwrote */
    uint64_t partial_count;
    size_t span_count;
    struct ntk_system_span *spans; /* by start, then tracking id */
    struct ntk_vec captures;       /* of char *: paths */
    /* What is not as it should be; sentences with the file's name. */
    struct ntk_vec warnings; /* of char * */
};

/* A file of the folder that cannot be read is a warning. -ENOENT: no such folder; -ENOMEM. */
int ntk_system_trace_open(const char *folder, struct ntk_system_trace **out_trace,
                          struct ntk_err *err);
void ntk_system_trace_close(struct ntk_system_trace *trace);

#endif
