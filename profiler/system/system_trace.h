/* SPDX-License-Identifier: MIT */
/*
 * system_trace - reads host and core activity of one inspected process from the folder of an
 * inspection: starts and stops are paired to spans, spans are nested by thread. Files of this
 * project (docs/formats/ntrace.md) and of the vendor (docs/formats/vendor-trace.md) have the same
 * model.
 *
 * Spans of a long trace are in a mapped temporary file. A pass over all of them returns memory with
 * ntk_system_trace_passed().
 *
 * Owner:   ntk_system_trace_open() allocates, _close() frees the trace and its texts.
 * Threads: one at a time.
 */
#ifndef NTK_PROFILER_SYSTEM_SYSTEM_TRACE_H
#define NTK_PROFILER_SYSTEM_SYSTEM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/trace/long_list.h"
#include "shared/base/err.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"
#include "shared/formats/ntrace/ntrace.h"
#include "shared/formats/ntrace/vendor_trace.h"

#define NTK_SYSTEM_NO_PARENT SIZE_MAX
#define NTK_SYSTEM_NO_CORE UINT32_MAX
#define NTK_SYSTEM_NO_STACK UINT32_MAX /* the memory, or its device, is unknown */
/* Files may contain any number. Later times (after 2043) are rejected, so that differences between
 * clocks do not overflow. */
#define NTK_SYSTEM_TIME_NS_MAX (UINT64_C(1) << 61)

struct ntk_system_span {
    const char *type;  /* such as "nrt_execute" */
    const char *name;  /* name of the model, the tensor or the memory use; "" if none */
    uint64_t start_ns; /* host time since 1970 UTC; the stop if the start is lost */
    uint64_t end_ns;   /* = start_ns for instants; without a stop also start_ns, but in the
                        * vendor's files the end of the inspection */
    bool is_instant;
    bool is_partial; /* one end is missing: overwritten, or still in progress */
    uint64_t tracking_id;
    /* for nrta_execute_schedule and collectives in files of this project: sequence */
    uint64_t exec_id;
    uint64_t sequence; /* sequence of an asynchronous execution in the vendor's files; 0 if none */
    uint64_t device_start_ns, device_end_ns; /* on the clock of the core */
    uint64_t bytes;                          /* for a mark: number set by the program */
    uint64_t model_id;
    uint64_t extra[2]; /* further keys of start and stop, see ntk_system_extra_next(); 0 if none */
    uint32_t thread_id;
    uint32_t memory;      /* index + 1 in memories; 0 if none */
    bool has_exec_zero;   /* exec_id 0 is valid */
    bool has_clock_zero;  /* device_start_ns 0 is valid */
    uint32_t nc;          /* relative to the process */
    uint32_t worker;      /* global */
    uint32_t device_core; /* physical core in its device; NTK_SYSTEM_NO_CORE if unknown */
    uint32_t stack;       /* stack of an allocation or a free; NTK_SYSTEM_NO_STACK if unknown */
    uint8_t operation;    /* for a collective: enum ntk_collective + 1; 0 if unknown */
    uint32_t queue;       /* number of the queue in which the caller's request waited; 0 if none */
    size_t parent;        /* innermost enclosing span of the same thread, which precedes it; or
                           * NTK_SYSTEM_NO_PARENT */
};

static inline bool ntk_system_span_has_exec(const struct ntk_system_span *span)
{
    return span->exec_id != 0 || span->has_exec_zero;
}

/* Returns true if its time on the core's clock is recorded. */
static inline bool ntk_system_span_has_clock(const struct ntk_system_span *span)
{
    return span->device_start_ns != 0 || span->device_end_ns != 0 || span->has_clock_zero;
}

/* An allocation or a free of device memory in the vendor's files. */
struct ntk_system_memory {
    uint64_t number;  /* record of its stop: ring << 48 | position */
    uint64_t time_ns; /* time of that record */
    uint64_t bytes;
    uint64_t total_bytes, usage_bytes; /* sizes of the account afterwards */
    uint64_t address;
    const char *usage;            /* name from memory_use_name.h */
    uint32_t nc, code;            /* code: 0 and 2 mean success, 12 out of memory */
    uint32_t account;             /* index in accounts, or NTK_SYSTEM_NO_ACCOUNT */
    uint32_t hbm, device;         /* NTK_SYSTEM_NO_STACK if unknown */
    bool is_free, is_host;        /* is_host: host memory, which has no account */
    bool has_totals, has_stopped; /* totals are recorded; it has a stop */
};
#define NTK_SYSTEM_NO_ACCOUNT UINT32_MAX
#define NTK_SYSTEM_OUT_OF_MEMORY 12U

static inline bool ntk_system_memory_failed(const struct ntk_system_memory *memory)
{
    return !memory->is_free && memory->code != 0 && !(memory->code == 2 && memory->address != 0);
}

#define NTK_SYSTEM_USAGES_MAX 32U
/* Device memory allocated by a physical core. */
struct ntk_system_account {
    uint32_t nc;
    uint32_t hbm, device;
    uint64_t base_bytes; /* bytes before the trace */
    uint64_t total_bytes;
    size_t usage_count;
    struct {
        const char *usage;
        uint64_t base_bytes, bytes;
    } usages[NTK_SYSTEM_USAGES_MAX]; /* uses in the trace; the rest is unknown */
};

/* A moment on the clocks of a core and the host. */
struct ntk_system_sync {
    uint32_t nc, core; /* core: physical core in its device; NTK_SYSTEM_NO_CORE if unknown */
    uint32_t life;     /* clock epoch: number of earlier resets of the core */
    uint64_t device_ns, host_ns;
};

/* Information for users; no file is damaged. */
struct ntk_system_note {
    const char *category; /* such as "Lost events" or "Clock" */
    char *text;
};

/* Returns true if the event is from the device; all others are from the host. */
bool ntk_system_type_is_hardware(const char *type);
/* Returns true for activity of a thread while a core was idle (live_host.h), not a call of the
 * runtime. */
bool ntk_system_type_is_thread_state(const char *type);
/* Returns true for a program on a core, or the core's preparation: measured by the core's clock.
 * The host notices the end later, and collectives have host times. */
bool ntk_system_type_is_run(const char *type);
/* Joins both known ends; the length of a run is measured by the core's clock. */
void ntk_system_span_join(struct ntk_system_span *span);
/* Returns true for a mark of the program. */
bool ntk_system_span_is_mark(const struct ntk_system_span *span);
/* Returns true for an operation of a known communicator: the name is the name of the communicator
 * (shared/formats/ntrace/ntrace_comm.h), exec_id the number of the operation in it. */
bool ntk_system_span_is_collective(const struct ntk_system_span *span);
/* Returns the operation of a collective, such as "all_gather"; NULL if unknown. */
const char *ntk_system_span_operation(const struct ntk_system_span *span);
/* Returns the label in drawings: the type, or the name of a mark. */
const char *ntk_system_span_label(const struct ntk_system_span *span);

struct ntk_system_trace {
    char *folder;
    NtkNtracePb__Info *info;                /* NULL without trace_info.pb */
    NtkNtracePb__HostSamples *cpu, *memory; /* NULL if absent */
    uint64_t begin_ns, end_ns; /* range of the inspection, else of the events; 0 if empty */
    /* Time 0 of tables: the first event of all displayed traces, or the start of a window; begin_ns
     * without events. */
    uint64_t zero_ns;
    bool is_part;  /* only a window of the trace (system/span_filter.h) */
    uint64_t lost; /* number of events overwritten in the rings */
    uint64_t partial_count;
    size_t span_count;
    struct ntk_system_span *spans; /* sorted by start, then tracking id */
    struct ntk_vec captures;       /* elements are char *: paths */
    struct ntk_vec notes;          /* elements are struct ntk_system_note */
    /* Members for the vendor's files. */
    bool is_vendor;
    /* NULL for files of this project, or without trace_info.pb */
    struct ntk_vendor_trace_info *vendor;
    uint64_t record_count;          /* number of records in ntrace.pb */
    struct ntk_map text_indices;    /* indices of texts shared by spans */
    struct ntk_vec texts;           /* elements are char * */
    struct ntk_long_list span_list; /* storage of spans; empty if they are on the heap */
    struct ntk_long_list extras;    /* elements are bytes */
    /* elements are struct ntk_system_memory, in the order of the file */
    struct ntk_long_list memories;
    struct ntk_vec accounts;    /* elements are struct ntk_system_account */
    struct ntk_vec sync_points; /* elements are struct ntk_system_sync: by core, then host time */
    /* Problems, as sentences with the file's name. */
    struct ntk_vec warnings; /* elements are char *: problems, as sentences with the file's name */
};

/* Opens the trace; an unreadable file in the folder is a warning. -ENOENT: no such folder;
 * -ENOMEM. */
int ntk_system_trace_open(const char *folder, struct ntk_system_trace **out_trace,
                          struct ntk_err *err);
void ntk_system_trace_close(struct ntk_system_trace *trace);
/* Returns true if the folder only has captures, and no file of a trace. */
bool ntk_system_trace_is_absent(const struct ntk_system_trace *trace);
/* Returns memory of checked spans to the system; the trace is unchanged. */
void ntk_system_trace_give_back(const struct ntk_system_trace *trace);
/* Same, called with the index of each span in a pass. */
void ntk_system_trace_passed(const struct ntk_system_trace *trace, size_t index);

/* Returns the time since time 0; 0 for earlier times. */
static inline uint64_t ntk_system_trace_after_ns(const struct ntk_system_trace *trace, uint64_t ns)
{
    return ns > trace->zero_ns ? ns - trace->zero_ns : 0;
}

/* Returns the last sync point of the physical core up to that time, else its first; without any,
 * uses the first core of its logical core that has one. NULL if none. */
const struct ntk_system_sync *ntk_system_sync_find(const struct ntk_system_trace *trace,
                                                   uint32_t nc, uint32_t core, uint64_t host_ns);

/* Returns NULL if there is none. */
const struct ntk_system_memory *ntk_system_span_memory(const struct ntk_system_trace *trace,
                                                       const struct ntk_system_span *span);

/* An additional key of a span, as in the file; not NUL-terminated. */
struct ntk_system_extra {
    const char *key, *value;
    size_t key_bytes, value_bytes;
    uint64_t next[2]; /* private: current position */
    bool is_begun;
};
/* Gets the next key, keys of the start first, beginning with a zeroed struct; false at the end. */
bool ntk_system_extra_next(const struct ntk_system_trace *trace, const struct ntk_system_span *span,
                           struct ntk_system_extra *extra);

#endif
