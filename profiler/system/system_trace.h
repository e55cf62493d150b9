/* SPDX-License-Identifier: MIT */
/*
 * system_trace - what the host and the cores of one inspected process did, from the folder of an
 * inspection: starts and stops paired to spans, spans nested by thread. One model for our files
 * (docs/formats/ntrace.md) and for the vendor's (docs/formats/vendor-trace.md).
 *
 * Spans of a long trace lie in a mapped temporary file. Whoever goes through all of
 * them gives the memory of those behind back with ntk_system_trace_passed().
 *
 * Owner:   ntk_system_trace_open() allocates, _close() frees; texts live as long.
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
/* Files may contain any number. Later ones (2043) are not times for those that subtract times of
 * different clocks: differences of the others are numbers. */
#define NTK_SYSTEM_TIME_NS_MAX (UINT64_C(1) << 61)

struct ntk_system_span {
    const char *type;  /* "nrt_execute" */
    const char *name;  /* of the model, the tensor or the use of memory; "" */
    uint64_t start_ns; /* host, since 1970 UTC; of a span whose start is lost, the stop */
    uint64_t end_ns;   /* = start_ns for instants; also for a span without a stop, but in the
                        * vendor's files the end of the inspection */
    bool is_instant;
    bool is_partial; /* one end is missing: overwritten, or still in progress */
    uint64_t tracking_id;
    uint64_t exec_id;  /* of nrta_execute_schedule, collectives in our files: sequence */
    uint64_t sequence; /* of an asynchronous execution in the vendor's files; 0: none */
    uint64_t device_start_ns, device_end_ns; /* clock of the core */
    uint64_t bytes;                          /* of a mark: the number that its program gave it */
    uint64_t model_id;
    uint64_t extra[2]; /* further keys of start and stop: ntk_system_extra_next(); 0: none */
    uint32_t thread_id;
    uint32_t memory;      /* index + 1 in memories; 0: none */
    bool has_exec_zero;   /* its exec_id is 0 and counts */
    bool has_clock_zero;  /* its device_start_ns is 0 and counts */
    uint32_t nc;          /* relative to the process */
    uint32_t worker;      /* global */
    uint32_t device_core; /* physical, in its device; NTK_SYSTEM_NO_CORE: unknown */
    uint32_t stack;       /* of an allocation or a free; NTK_SYSTEM_NO_STACK */
    uint8_t operation;    /* of a collective: enum ntk_collective + 1; 0: unknown */
    uint32_t queue;       /* number of the caller's queue that it waited in; 0: none */
    size_t parent;        /* innermost span of the same thread around it, which is before it; or
                           * NTK_SYSTEM_NO_PARENT */
};

static inline bool ntk_system_span_has_exec(const struct ntk_system_span *span)
{
    return span->exec_id != 0 || span->has_exec_zero;
}

/* Whether the file has its time on the clock of the core. */
static inline bool ntk_system_span_has_clock(const struct ntk_system_span *span)
{
    return span->device_start_ns != 0 || span->device_end_ns != 0 || span->has_clock_zero;
}

/* An allocation or a free of device memory in the vendor's files. */
struct ntk_system_memory {
    uint64_t number;  /* of the record of its stop: ring << 48 | place */
    uint64_t time_ns; /* of that record */
    uint64_t bytes;
    uint64_t total_bytes, usage_bytes; /* of the account afterwards */
    uint64_t address;
    const char *usage;            /* memory_use_name.h */
    uint32_t nc, code;            /* code: 0 and 2 are successes, 12 is out of memory */
    uint32_t account;             /* index in accounts; NTK_SYSTEM_NO_ACCOUNT */
    uint32_t hbm, device;         /* NTK_SYSTEM_NO_STACK */
    bool is_free, is_host;        /* is_host: memory of the host, no account */
    bool has_totals, has_stopped; /* its record says them; it has a stop */
};
#define NTK_SYSTEM_NO_ACCOUNT UINT32_MAX
#define NTK_SYSTEM_OUT_OF_MEMORY 12U

static inline bool ntk_system_memory_failed(const struct ntk_system_memory *memory)
{
    return !memory->is_free && memory->code != 0 && !(memory->code == 2 && memory->address != 0);
}

#define NTK_SYSTEM_USAGES_MAX 32U
/* What a physical core holds of device memory. */
struct ntk_system_account {
    uint32_t nc;
    uint32_t hbm, device;
    uint64_t base_bytes; /* before the trace */
    uint64_t total_bytes;
    size_t usage_count;
    struct {
        const char *usage;
        uint64_t base_bytes, bytes;
    } usages[NTK_SYSTEM_USAGES_MAX]; /* that the trace touches; the rest is unknown */
};

/* A moment on the clock of a core and on that of the host. */
struct ntk_system_sync {
    uint32_t nc, core; /* core: physical, in its device; NTK_SYSTEM_NO_CORE: unknown */
    uint32_t life;     /* of the clock: one more for each reset of the core before it */
    uint64_t device_ns, host_ns;
};

/* What a reader should know and no file is to blame for. */
struct ntk_system_note {
    const char *category; /* "Lost events", "Clock" */
    char *text;
};

/* For the device; all others are the host's. */
bool ntk_system_type_is_hardware(const char *type);
/* A program on a core, or what the core does before: by the clock of the core. The host notices the
 * end later, and times of collectives are the host's. */
bool ntk_system_type_is_run(const char *type);
/* Both ends are known: those of a run are as far apart as on the clock of the core. */
void ntk_system_span_join(struct ntk_system_span *span);
/* A mark of the program itself. */
bool ntk_system_span_is_mark(const struct ntk_system_span *span);
/* An operation of a communicator that is known: the name is that
 * (shared/formats/ntrace/ntrace_comm.h), the exec_id the number of the operation in it. */
bool ntk_system_span_is_collective(const struct ntk_system_span *span);
/* What ranks did in a collective, "all_gather"; NULL: unknown. */
const char *ntk_system_span_operation(const struct ntk_system_span *span);
/* Its label where it is drawn: its type, of a mark the mark's name. */
const char *ntk_system_span_label(const struct ntk_system_span *span);

struct ntk_system_trace {
    char *folder;
    NtkNtracePb__Info *info;                /* NULL: no trace_info.pb */
    NtkNtracePb__HostSamples *cpu, *memory; /* NULL: absent */
    uint64_t begin_ns, end_ns; /* of the inspection, else of the events; 0 when there is nothing */
    /* Time 0 of tables: the first event of all traces shown together, or the start of a window;
     * begin_ns when there are no events. */
    uint64_t zero_ns;
    bool is_part;  /* of a window of it (system/span_filter.h) */
    uint64_t lost; /* events that the rings overwrote */
    uint64_t partial_count;
    size_t span_count;
    struct ntk_system_span *spans; /* by start, then tracking id */
    struct ntk_vec captures;       /* of char *: paths */
    struct ntk_vec notes;          /* of struct ntk_system_note */
    /* For the vendor's files: */
    bool is_vendor;
    struct ntk_vendor_trace_info *vendor; /* NULL: ours, or no trace_info.pb */
    uint64_t record_count;                /* that ntrace.pb has */
    struct ntk_map text_indices;          /* texts that spans share, by themselves */
    struct ntk_vec texts;                 /* of char * */
    struct ntk_long_list span_list;       /* what spans are in; empty: they are on the heap */
    struct ntk_long_list extras;          /* of bytes */
    struct ntk_long_list memories; /* of struct ntk_system_memory, in the order of the file */
    struct ntk_vec accounts;       /* of struct ntk_system_account */
    struct ntk_vec sync_points;    /* of struct ntk_system_sync: by core, then time of the host */
    /* What is not as it should be; sentences with the file's name. */
    struct ntk_vec warnings; /* of char * */
};

/* A file of the folder that cannot be read is a warning. -ENOENT: no such folder; -ENOMEM. */
int ntk_system_trace_open(const char *folder, struct ntk_system_trace **out_trace,
                          struct ntk_err *err);
void ntk_system_trace_close(struct ntk_system_trace *trace);
/* The memory of what was checked; the trace stays as it is. */
void ntk_system_trace_give_back(const struct ntk_system_trace *trace);
/* The same, called with the index of each span of a pass, now and then. */
void ntk_system_trace_passed(const struct ntk_system_trace *trace, size_t index);

/* From time 0 on; 0 for what is before. */
static inline uint64_t ntk_system_trace_after_ns(const struct ntk_system_trace *trace, uint64_t ns)
{
    return ns > trace->zero_ns ? ns - trace->zero_ns : 0;
}

/* The last sync point of the physical core at that time or before, else its first; where it has
 * none, of the first core of its logical one that has. NULL: none has. */
const struct ntk_system_sync *ntk_system_sync_find(const struct ntk_system_trace *trace,
                                                   uint32_t nc, uint32_t core, uint64_t host_ns);

/* NULL: it has none. */
const struct ntk_system_memory *ntk_system_span_memory(const struct ntk_system_trace *trace,
                                                       const struct ntk_system_span *span);

/* A further key of a span, as the file has it; neither is terminated. */
struct ntk_system_extra {
    const char *key, *value;
    size_t key_bytes, value_bytes;
    uint64_t next[2]; /* private: where to continue */
    bool is_begun;
};
/* The next one, keys of the start first, from a zeroed struct on; false at the end. */
bool ntk_system_extra_next(const struct ntk_system_trace *trace, const struct ntk_system_span *span,
                           struct ntk_system_extra *extra);

#endif
