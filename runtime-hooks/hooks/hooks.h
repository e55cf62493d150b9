/* SPDX-License-Identifier: MIT */
/*
 * hooks - reports events of the observed process to monitors: one function per kind of event.
 *
 * Each function updates the counters and tables of the process's segment (shared/abi/segment_abi.h)
 * and records an event in the ring of the calling thread. Before ntk_hooks_attach(), after
 * ntk_hooks_detach(), in the child of a fork and with NEURON_HOOKS=0 they do nothing, at the cost
 * of one predictable branch, so callers need no check.
 *
 * After attach no function blocks, allocates or makes a system call, with two exceptions: a
 * thread's first event (it claims a ring), and loading a model or claiming a core (their histograms
 * get memory). No function logs or makes the caller fail; dropped data is counted in the segment.
 *
 * Core numbers are global physical numbers. Ticks are those of the raw clock (ntk_hooks_now()).
 *
 * Owner:   the module owns the single segment of the process. Texts passed in are copied.
 * Threads: any, at any time, except: attach and detach by one thread at a time; for one core,
 *          ntk_hooks_exec_begin() to _end() must be called by the thread that holds the core
 *          (unless attached with NTK_HOOKS_CORES_SHARED); no memory call for a model during its
 *          unload.
 * Signals: a handler that interrupts a record may call anything here except attach, detach and
 *          model calls; its own record is dropped and counted.
 * Fork:    the child is detached until it attaches again; it never writes to its parent's segment.
 */
#ifndef NTK_RUNTIME_HOOKS_HOOKS_HOOKS_H
#define NTK_RUNTIME_HOOKS_HOOKS_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/abi/event_abi.h"
#include "shared/abi/segment_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ntk_hooks_config_flags {
    /* several threads may execute on one core at the same time (interpose) */
    NTK_HOOKS_CORES_SHARED = 1,
};

/* A process that this program observes from outside. Its segment uses CLOCK_MONOTONIC, see
 * ntk_hooks_behalf_at(). Only one writer at a time: -EBUSY while another program has a segment for
 * it. */
struct ntk_hooks_behalf {
    uint32_t pid; /* pid as the calling process sees it */
    uint32_t uid; /* its user, who gets the file if other users may read the folder */
    uint64_t start_time;
    const char *tag;
    const char *command;
};

/* A NULL text counts as empty. Attach reads NEURON_PROCESS_TAG, NEURON_HOOKS, NEURON_HOOKS_MEMORY
 * and NEURON_HOOKS_DIR from the environment. */
struct ntk_hooks_config {
    const char *instance_type;
    const char *runtime_version;
    const char *framework_version;
    const char *fal_version;
    uint32_t framework_type;
    uint32_t lnc; /* 1 or 2; 0 means 1 */
    uint32_t device_count;
    uint32_t cores_per_device;             /* physical cores per device */
    uint32_t process_flags;                /* enum ntk_process_flags */
    uint32_t flags;                        /* enum ntk_hooks_config_flags */
    const struct ntk_hooks_behalf *behalf; /* NULL: the segment is for the calling process */
};

/*
 * Creates the segment. Returns 0 if attached, or if hooks are off because of NEURON_HOOKS=0;
 * -EALREADY if already attached; -errno if it cannot create a segment (no permission, no space,
 * ...): all calls then do nothing and the program continues. out_note (may be NULL) gets one
 * message for the log, or the empty text, for example about unknown values of NEURON_HOOKS or less
 * space than requested.
 */
int ntk_hooks_attach(const struct ntk_hooks_config *config, char *out_note, size_t note_bytes);
/* Ends the segment regularly: marks the process as ended, and removes the file unless a reader
 * waits for it. No other thread may be in a call of this module. Does nothing if not attached. */
void ntk_hooks_detach(void);

/* The path of the segment while attached, else NULL. */
const char *ntk_hooks_segment_path(void);
/* Returns true if counters are on. */
int ntk_hooks_counters_on(void);

/* The raw clock. It also works when not attached (CLOCK_MONOTONIC in ns, or the cheaper raw
 * clock). */
uint64_t ntk_hooks_now(void);
/* Converts a span of ticks to nanoseconds, using the calibration made at attach. */
uint64_t ntk_hooks_ticks_to_ns(uint64_t ticks);

/* The id of a text, the same for equal texts; 0 for NULL, for "" and if the table is full. Ids are
 * never freed: use them for names of tensors, models and files, not for texts made at run time. */
uint32_t ntk_hooks_name(const char *text);

/* Reports that the process acquired a physical core. is_first: it is the first of its logical core,
 * to which execution counts and histograms belong. */
void ntk_hooks_core_claim(uint16_t core, uint32_t logical_core, int is_first);
void ntk_hooks_core_release(uint16_t core);
/* Returns true if no execution is on this core and all previous ones are counted. From any
 * thread. */
int ntk_hooks_core_is_idle(uint16_t core);

/* Identifies a model in the other calls. Zeroed: no model. */
struct ntk_hooks_model_ref {
    uint32_t id;            /* the caller's id: from 10001 on, never reused in the process */
    uint32_t slot_plus_one; /* internal; 0: the table was full, so the model counts as model 0 */
};

/* The process as a rank in its world. */
struct ntk_hooks_rank {
    const char *rendezvous; /* where the ranks meet; NULL means "" */
    uint32_t world_rank, world_count;
    const uint32_t *group; /* world ranks of the group in order, including this one; NULL: all */
    uint32_t group_count;
};

struct ntk_hooks_model {
    uint32_t id;
    const char *name;
    const char *neff_path;
    uint8_t uuid[16];
    uint16_t core;       /* first physical core */
    uint16_t core_count; /* physical cores */
    /* enum ntk_process_flags; with ESTIMATED, durations are not latencies. */
    uint32_t flags;
    const struct ntk_hooks_rank *rank; /* NULL if executions involve no other process */
};

/* To be called before counting memory of a model. Always sets *out_ref. */
void ntk_hooks_model_begin(const struct ntk_hooks_model *model,
                           struct ntk_hooks_model_ref *out_ref);
/* Ends the load with this status (from shared/abi/result.def, like all statuses here); on failure,
 * the model no longer exists. */
void ntk_hooks_model_loaded(struct ntk_hooks_model_ref model, uint64_t start_ticks, uint32_t status,
                            uint64_t device_bytes);
/* Reports that a core was cleared for another node of the model: its nodes take turns there. */
void ntk_hooks_model_switched(struct ntk_hooks_model_ref model);
/* Report that a caller started or stopped the model; a stop waits for running executions. */
void ntk_hooks_model_started(struct ntk_hooks_model_ref model, uint64_t start_ticks,
                             uint32_t status);
void ntk_hooks_model_stopped(struct ntk_hooks_model_ref model, uint64_t start_ticks,
                             uint32_t status);
/* To be called after the model's memory was freed. */
void ntk_hooks_model_unloaded(struct ntk_hooks_model_ref model, uint64_t start_ticks,
                              uint32_t status);

/* The work of a physical core in one execution. */
struct ntk_hooks_exec_core {
    /* The counts of core_counts.def that belong to executions; number of instructions and busy time
     * of engines are not included. */
#define LIST_ONE
#define LIST_ENGINE [NTK_ENGINE_COUNT]
#define NTK_CORE_EXEC_COUNT(id, member, list, ...) uint64_t member LIST_##list;
#define NTK_CORE_EXEC_WORD(member, list) uint64_t member LIST_##list;
#include "shared/abi/core_counts.def"
#undef LIST_ONE
#undef LIST_ENGINE
    uint64_t engine_busy_device_ns[NTK_ENGINE_COUNT]; /* device time, for the ENGINE records */
    uint64_t tensor_matmul_ns; /* device time of the tensor engine, for pe_cntrs */
    uint64_t tensor_weights_ns;
};

struct ntk_hooks_exec {
    struct ntk_hooks_model_ref model;
    uint64_t execution_id; /* unique among the process's executions */
    /* Time of the call, from which total latency counts. 0: the end is unknown, and no latency
     * counts. */
    uint64_t call_start_ticks;
    uint64_t core_start_ticks; /* result of ntk_hooks_exec_begin() */
    uint64_t core_end_ticks;   /* 0 means now */
    uint64_t device_ns;        /* duration in device time; 0: unknown */
    uint64_t parts_ticks;      /* time on cores in earlier parts of the execution */
    /* The execution continues on other cores: busy time, work and an EXEC record are counted for
     * this part; outcome, latency and the execution itself count with the last part. */
    bool is_part;
    uint32_t status;
    uint32_t run_count;  /* number of runs in the call, all completed if it succeeded; 0 means 1 */
    uint16_t core;       /* first physical core, to which counts and histograms belong */
    uint16_t core_count; /* number of consecutive busy physical cores; 0 means 1 */
    uint16_t queue;      /* number of the caller's queue, 1 to NTK_EXEC_QUEUES; 0: none */
    const struct ntk_hooks_exec_core *per_core; /* core_count elements, or NULL if unknown */
};

/* Starts an execution on these cores, which are busy from now on. Returns the current ticks. */
uint64_t ntk_hooks_exec_begin(struct ntk_hooks_model_ref model, uint16_t core, uint16_t core_count);
/* Ends an execution: counts outcome, error, latency histograms, busy time and engines, and writes
 * one EXEC and up to six ENGINE records per core. Must be called exactly once for each
 * ntk_hooks_exec_begin(). */
void ntk_hooks_exec_end(const struct ntk_hooks_exec *exec);
/* Counts an execution that never reached a core (invalid input, queue full, core busy ...): outcome
 * and error, with an EXEC record. From any thread. Uses model, execution_id, call_start_ticks,
 * status and core of *exec. */
void ntk_hooks_exec_refused(const struct ntk_hooks_exec *exec);

/* Requests from other processes to this one; NULL while detached. Valid until
 * ntk_hooks_detach(). */
struct ntk_segment_trigger *ntk_hooks_trigger(void);

/* Returns true if another runtime returns this status if the execution reached no core. */
int ntk_hooks_is_refusal(uint32_t status);
/* Cancels a started execution that turned out never to reach a core: it counts no busy time, no
 * latency, no execution of the model and no outcome (_exec_refused() counts an outcome if there is
 * one). Takes the place of ntk_hooks_exec_end(), with the same *exec. Time already counted for
 * other executions stays. */
void ntk_hooks_exec_cancel(const struct ntk_hooks_exec *exec);

/* Joins the process to a communicator as a rank. Returns 0 on failure: then the calls below do
 * nothing. One thread at a time per communicator. */
typedef uint32_t ntk_hooks_comm;
ntk_hooks_comm ntk_hooks_comm_join(const struct ntk_hooks_rank *rank, uint16_t core);
/* Leaves a communicator. is_broken: because a rank was lost. */
void ntk_hooks_comm_leave(ntk_hooks_comm comm, bool is_broken);
/* A number that is the same for all ranks, on any host; 0: none. */
uint64_t ntk_hooks_comm_key(ntk_hooks_comm comm);
/* Begins an operation. Every rank counts the same operations. bytes are those of this rank. Returns
 * the current ticks. */
uint64_t ntk_hooks_collective_begin(ntk_hooks_comm comm, enum ntk_collective operation,
                                    uint32_t dtype, uint64_t bytes);
/* Ends an operation. wait_ticks is the time until the last rank arrived; 0: unknown. */
void ntk_hooks_collective_end(ntk_hooks_comm comm, uint64_t wait_ticks, uint32_t status);

struct ntk_hooks_memory {
    uint64_t address; /* device address, or host pointer for host memory */
    uint64_t bytes;
    /* physical number; for host memory the first core of the logical core; NTK_NO_CORE: none */
    uint16_t core;
    uint8_t category; /* enum ntk_memory_category, which determines the location */
    uint8_t reserved;
    uint32_t name;                    /* id from ntk_hooks_name(), or 0 */
    struct ntk_hooks_model_ref model; /* zeroed: belongs to the core, not to a model */
};

/* The row in which an allocation is counted: store it with the allocation and pass it to _free. */
typedef uint32_t ntk_hooks_row;
ntk_hooks_row ntk_hooks_memory_alloc(const struct ntk_hooks_memory *memory);
void ntk_hooks_memory_free(const struct ntk_hooks_memory *memory, ntk_hooks_row row);

struct ntk_hooks_transfer {
    uint64_t start_ticks;
    uint64_t bytes;
    uint64_t address; /* device address of the tensor */
    uint64_t offset;  /* offset in the tensor */
    uint32_t name;
    uint16_t core;      /* NTK_NO_CORE: the transfer is only recorded, not counted */
    uint16_t direction; /* enum ntk_transfer */
    struct ntk_hooks_model_ref model;
};
/* To be called at the end of the transfer. */
void ntk_hooks_transfer(const struct ntk_hooks_transfer *transfer);

struct ntk_hooks_error {
    uint64_t execution_id;
    uint64_t value;
    uint32_t status;
    /* enum ntk_error_class; NTK_ERROR_CLASS_NONE: only recorded, not counted */
    uint32_t error_class;
    uint32_t error_code; /* enum ntk_error_code */
    uint16_t core;       /* NTK_NO_CORE: only recorded, not counted */
    struct ntk_hooks_model_ref model;
};
/* Reports an error that is not the outcome of an execution; _exec_end and _exec_refused count
 * those. */
void ntk_hooks_error(const struct ntk_hooks_error *error);

/* Reports the start of a device profile; returns the current ticks. name is ntk_hooks_name() of the
 * file, or 0. */
uint64_t ntk_hooks_profile_start(struct ntk_hooks_model_ref model, uint16_t core, uint64_t session,
                                 uint32_t name);
void ntk_hooks_profile_stop(struct ntk_hooks_model_ref model, uint16_t core, uint64_t session,
                            uint32_t name, uint64_t start_ticks, uint64_t bytes_written,
                            uint32_t status);

/* Records a mark of the program: an instant, or a span if start_ticks is not 0. */
void ntk_hooks_mark(uint32_t name, uint64_t start_ticks, uint16_t core, uint64_t value_0,
                    uint64_t value_1);
/* Same, for a text, truncated to 256 bytes. _begin returns the start of a span, or 0 if it is not
 * recorded. */
uint64_t ntk_hooks_mark_begin(void);
void ntk_hooks_mark_text(const char *name, uint64_t start_ticks, uint64_t value);

/* A W3C traceparent; ids are big-endian numbers. */
struct ntk_hooks_trace {
    uint64_t trace_high, trace_low;
    uint64_t span;
    uint64_t flags; /* 8 bits */
};
/* Parses a traceparent. Returns 1, or 0 if it is invalid: wrong form, upper case, version ff, or
 * ids of zeros. Source: W3C Trace Context, 3.2 "Traceparent Header". */
int ntk_hooks_trace_parse(const char *text, struct ntk_hooks_trace *out);
/* Sets the trace that later records of this thread belong to; NULL or an invalid text ends it.
 * Returns 0 if it is invalid, or events are off. */
int ntk_hooks_mark_trace(const char *traceparent);

/* ---- for a program that records for another process (config.behalf), from one thread ---- */

/* Sets the time of the next reports, in nanoseconds of CLOCK_MONOTONIC (0: now), and their thread
 * in the process, with a name of 16 bytes. */
void ntk_hooks_behalf_at(uint64_t monotonic_ns, uint32_t tid, const char *thread_name);
/* Reports that a model from ntk_hooks_model_begin() is loaded, at an unknown time and with an
 * unknown duration. */
void ntk_hooks_behalf_model_found(struct ntk_hooks_model_ref model);

/* Executions known only as sums. They are counted, but have no records, and their time is
 * unknown. */
struct ntk_hooks_missed {
    struct ntk_hooks_model_ref model;
    uint64_t count;
    uint64_t sum_ns;
    uint32_t status;
    uint32_t bucket; /* ntk_histogram_bucket() of each execution */
    uint16_t core;
};
void ntk_hooks_behalf_missed(const struct ntk_hooks_missed *missed);
/* Reports that cores were busy for this long, at an unknown time. */
void ntk_hooks_behalf_busy(uint16_t core, uint16_t core_count, uint64_t busy_ns);
/* Counts lost records. */
void ntk_hooks_behalf_lost(uint64_t records);
/* Sets flags of enum ntk_process_flags, which stay set. */
void ntk_hooks_behalf_flag(uint32_t flags);

#ifdef __cplusplus
}
#endif
#endif
