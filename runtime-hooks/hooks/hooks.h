/* SPDX-License-Identifier: MIT */
/*
 * hooks - reports events of the observed process to monitors: one function per kind of event.
 *
 * Each function updates the counters and tables of the process's segment (shared/abi/segment_abi.h)
 * and records an event in the ring of the calling thread. Before ntk_hooks_attach(), after
 * ntk_hooks_detach(), in a fork's child and with NEURON_HOOKS=0 they do nothing, at the cost of one
 * predictable branch, so callers need no check.
 *
 * After attach no function blocks, allocates or makes a system call, with two exceptions: a
 * thread's first event (it claims a ring), and loading a model or claiming a core (their histograms
 * get memory). No function logs or fails the caller; dropped data is counted in the segment.
 *
 * Core numbers are global physical ones. Ticks are the raw clock (ntk_hooks_now()).
 *
 * Owner:   the one segment of the process lives inside the module. Texts passed in are copied.
 * Threads: any, at any time, except: attach and detach by one thread at a time; for one core the
 *          calls ntk_hooks_exec_begin() .. _end() by the thread that holds the core (unless
 *          attached with NTK_HOOKS_CORES_SHARED); no memory call for a model during its unload.
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
    NTK_HOOKS_CORES_SHARED = 1, /* several threads may execute on one core at once (interpose) */
};

/* An observed process of another program. Its segment uses CLOCK_MONOTONIC, see
 * ntk_hooks_behalf_at(). One writer at a time: -EBUSY while another one has a segment for it. */
struct ntk_hooks_behalf {
    uint32_t pid; /* as the calling process sees it */
    uint32_t uid; /* its user, who gets the file if other users may read the folder */
    uint64_t start_time;
    const char *tag;
    const char *command;
};

/* NULL texts are empty. Attach reads NEURON_PROCESS_TAG, NEURON_HOOKS, NEURON_HOOKS_MEMORY and
 * NEURON_HOOKS_DIR from the environment. */
struct ntk_hooks_config {
    const char *instance_type;
    const char *runtime_version;
    const char *framework_version;
    const char *fal_version;
    uint32_t framework_type;
    uint32_t lnc; /* 1 or 2; 0 counts as 1 */
    uint32_t device_count;
    uint32_t cores_per_device;             /* physical */
    uint32_t process_flags;                /* enum ntk_process_flags */
    uint32_t flags;                        /* enum ntk_hooks_config_flags */
    const struct ntk_hooks_behalf *behalf; /* NULL: the calling process */
};

/*
 * Creates the segment. 0: attached, or off because NEURON_HOOKS=0. -errno: no segment (no
 * permission, no space, ...): all calls do nothing and the program continues. out_note (may be
 * NULL) gets one message for the log, or the empty text; for example about unknown values of
 * NEURON_HOOKS or less space than requested. -EALREADY if attached.
 */
int ntk_hooks_attach(const struct ntk_hooks_config *config, char *out_note, size_t note_bytes);
/* The regular end: marks the process as ended and removes the file unless a reader waits for it. No
 * other thread may be in a call of this module. Without attach it does nothing. */
void ntk_hooks_detach(void);

/* Path of the segment while attached, else NULL. */
const char *ntk_hooks_segment_path(void);
/* Whether counters are on. */
int ntk_hooks_counters_on(void);

/* The raw clock. Works without attach (CLOCK_MONOTONIC in ns, or the cheaper raw clock). */
uint64_t ntk_hooks_now(void);
/* A span of ticks in nanoseconds, using the calibration of attach. */
uint64_t ntk_hooks_ticks_to_ns(uint64_t ticks);

/* The id of a text, the same for equal texts; 0 for NULL, "" and if the table is full. Ids are
 * never freed: use it for tensor, model and file names, not for texts made at run time. */
uint32_t ntk_hooks_name(const char *text);

/* The process acquired a physical core; is_first: it is the first of its logical core, with the
 * execution counts and histograms. */
void ntk_hooks_core_claim(uint16_t core, uint32_t logical_core, int is_first);
void ntk_hooks_core_release(uint16_t core);
/* Whether no execution is on this core and all previous ones are counted. Any thread. */
int ntk_hooks_core_is_idle(uint16_t core);

/* A model in the other calls. Zeroed: no model. */
struct ntk_hooks_model_ref {
    uint32_t id;            /* of the caller: from 10001 on, never reused in the process */
    uint32_t slot_plus_one; /* internal; 0: the table was full, the model counts as model 0 */
};

/* The process as a rank, and its world. */
struct ntk_hooks_rank {
    const char *rendezvous; /* the rendezvous; NULL is "" */
    uint32_t world_rank, world_count;
    const uint32_t *group; /* its world ranks in order, including this one; NULL: all */
    uint32_t group_count;
};

struct ntk_hooks_model {
    uint32_t id;
    const char *name;
    const char *neff_path;
    uint8_t uuid[16];
    uint16_t core;       /* first physical core */
    uint16_t core_count; /* physical cores */
    /* enum ntk_process_flags; the time of an ESTIMATED one is not a latency */
    uint32_t flags;
    const struct ntk_hooks_rank *rank; /* NULL: its executions involve no other process */
};

/* Call it before counting memory of a model. Always sets *out_ref. */
void ntk_hooks_model_begin(const struct ntk_hooks_model *model,
                           struct ntk_hooks_model_ref *out_ref);
/* The load ended with this status (from shared/abi/result.def, like all here); on failure the model
 * is gone. */
void ntk_hooks_model_loaded(struct ntk_hooks_model_ref model, uint64_t start_ticks, uint32_t status,
                            uint64_t device_bytes);
/* A core was cleared for another node of the model: nodes take turns there. */
void ntk_hooks_model_switched(struct ntk_hooks_model_ref model);
/* A caller started or stopped it: a stop waits for running executions. */
void ntk_hooks_model_started(struct ntk_hooks_model_ref model, uint64_t start_ticks,
                             uint32_t status);
void ntk_hooks_model_stopped(struct ntk_hooks_model_ref model, uint64_t start_ticks,
                             uint32_t status);
/* Call it after its memory was freed. */
void ntk_hooks_model_unloaded(struct ntk_hooks_model_ref model, uint64_t start_ticks,
                              uint32_t status);

/* The work of one physical core in one execution. */
struct ntk_hooks_exec_core {
    /* The counts of core_counts.def for executions; without those of instructions and busy time of
     * engines. */
#define LIST_ONE
#define LIST_ENGINE [NTK_ENGINE_COUNT]
#define NTK_CORE_EXEC_COUNT(id, member, list, ...) uint64_t member LIST_##list;
#define NTK_CORE_EXEC_WORD(member, list) uint64_t member LIST_##list;
#include "shared/abi/core_counts.def"
#undef LIST_ONE
#undef LIST_ENGINE
    uint64_t engine_busy_device_ns[NTK_ENGINE_COUNT]; /* for the ENGINE records */
    uint64_t tensor_matmul_ns; /* device time of the tensor engine, for pe_cntrs */
    uint64_t tensor_weights_ns;
};

struct ntk_hooks_exec {
    struct ntk_hooks_model_ref model;
    uint64_t execution_id; /* unique among the executions of the process */
    /* Time of the call: total latency counts from here. 0: its end is unknown, and no latency
     * counts. */
    uint64_t call_start_ticks;
    uint64_t core_start_ticks; /* result of ntk_hooks_exec_begin() */
    uint64_t core_end_ticks;   /* 0: now */
    uint64_t device_ns;        /* duration in device time; 0 unknown */
    uint64_t parts_ticks;      /* on cores in earlier parts of the execution */
    /* It continues on other cores: counts busy time, work and an EXEC record of this part; outcome,
     * latency and the execution itself count with the last part. */
    bool is_part;
    uint32_t status;
    uint32_t run_count;  /* number of runs in one call, all completed on success; 0: 1 */
    uint16_t core;       /* first physical core: carries counts and histograms */
    uint16_t core_count; /* number of consecutive busy physical cores; 0 counts as 1 */
    uint16_t queue;      /* number of the caller's queue, 1 to NTK_EXEC_QUEUES; 0: none */
    const struct ntk_hooks_exec_core *per_core; /* core_count of them, or NULL if unknown */
};

/* The execution starts on these cores, which are busy from now on. Returns the current ticks. */
uint64_t ntk_hooks_exec_begin(struct ntk_hooks_model_ref model, uint16_t core, uint16_t core_count);
/* The execution ended: counts outcome, error, latency histograms, busy time and engines, and writes
 * one EXEC and up to six ENGINE records per core. Pairs with exactly one ntk_hooks_exec_begin(). */
void ntk_hooks_exec_end(const struct ntk_hooks_exec *exec);
/* An execution that never reached a core (bad input, queue full, core busy ...): counts outcome and
 * error, and writes an EXEC record. Any thread. Uses model, execution_id, call_start_ticks, status
 * and core of *exec. */
void ntk_hooks_exec_refused(const struct ntk_hooks_exec *exec);

/* Requests of others to this process; NULL while detached. Valid until ntk_hooks_detach(). */
struct ntk_segment_trigger *ntk_hooks_trigger(void);

/* Whether another runtime returns this status if no core had the execution. */
int ntk_hooks_is_refusal(uint32_t status);
/* A started execution turned out never to reach a core: no busy time, latency, execution of the
 * model, or outcome; _exec_refused() counts an outcome if there is one. Pairs with
 * ntk_hooks_exec_begin(); *exec like for _end. Time already counted for other executions stays. */
void ntk_hooks_exec_cancel(const struct ntk_hooks_exec *exec);

/* Joins the process as a rank of a communicator; 0: none, and everything below does nothing. One
 * thread at a time per communicator. */
typedef uint32_t ntk_hooks_comm;
ntk_hooks_comm ntk_hooks_comm_join(const struct ntk_hooks_rank *rank, uint16_t core);
/* is_broken: because a rank was lost. */
void ntk_hooks_comm_leave(ntk_hooks_comm comm, bool is_broken);
/* The same number for all its ranks, on any host; 0: none. */
uint64_t ntk_hooks_comm_key(ntk_hooks_comm comm);
/* Every rank counts the same operations. bytes: of this rank; returns the current ticks. */
uint64_t ntk_hooks_collective_begin(ntk_hooks_comm comm, enum ntk_collective operation,
                                    uint32_t dtype, uint64_t bytes);
/* wait_ticks: ticks until the last rank arrived; 0 unknown. */
void ntk_hooks_collective_end(ntk_hooks_comm comm, uint64_t wait_ticks, uint32_t status);

struct ntk_hooks_memory {
    uint64_t address; /* device address, or host pointer for host memory */
    uint64_t bytes;
    uint16_t core;    /* physical; host memory: first core of the logical one; NTK_NO_CORE none */
    uint8_t category; /* enum ntk_memory_category, which determines the location */
    uint8_t reserved;
    uint32_t name;                    /* ntk_hooks_name(), or 0 */
    struct ntk_hooks_model_ref model; /* zeroed: belongs to the core, not to a model */
};

/* The row of an allocation: store it with the allocation and pass it to _free. */
typedef uint32_t ntk_hooks_row;
ntk_hooks_row ntk_hooks_memory_alloc(const struct ntk_hooks_memory *memory);
void ntk_hooks_memory_free(const struct ntk_hooks_memory *memory, ntk_hooks_row row);

struct ntk_hooks_transfer {
    uint64_t start_ticks;
    uint64_t bytes;
    uint64_t address; /* of the tensor on the device */
    uint64_t offset;  /* in the tensor */
    uint32_t name;
    uint16_t core;      /* NTK_NO_CORE: only recorded, not counted */
    uint16_t direction; /* enum ntk_transfer */
    struct ntk_hooks_model_ref model;
};
/* Call it at the end of the transfer. */
void ntk_hooks_transfer(const struct ntk_hooks_transfer *transfer);

struct ntk_hooks_error {
    uint64_t execution_id;
    uint64_t value;
    uint32_t status;
    uint32_t error_class; /* enum ntk_error_class; NTK_ERROR_CLASS_NONE only records */
    uint32_t error_code;  /* enum ntk_error_code */
    uint16_t core;        /* NTK_NO_CORE: only recorded */
    struct ntk_hooks_model_ref model;
};
/* An error that is not the outcome of an execution; _exec_end and _exec_refused count those. */
void ntk_hooks_error(const struct ntk_hooks_error *error);

/* A device profile starts; returns the current ticks. name: ntk_hooks_name() of the file, or 0. */
uint64_t ntk_hooks_profile_start(struct ntk_hooks_model_ref model, uint16_t core, uint64_t session,
                                 uint32_t name);
void ntk_hooks_profile_stop(struct ntk_hooks_model_ref model, uint16_t core, uint64_t session,
                            uint32_t name, uint64_t start_ticks, uint64_t bytes_written,
                            uint32_t status);

/* A mark of the program: an instant, or a span if start_ticks is not 0. */
void ntk_hooks_mark(uint32_t name, uint64_t start_ticks, uint16_t core, uint64_t value_0,
                    uint64_t value_1);
/* Same, for a text, truncated to 256 bytes; _begin: start of a span, 0 if not recorded. */
uint64_t ntk_hooks_mark_begin(void);
void ntk_hooks_mark_text(const char *name, uint64_t start_ticks, uint64_t value);

/* A W3C traceparent; ids are big-endian numbers. */
struct ntk_hooks_trace {
    uint64_t trace_high, trace_low;
    uint64_t span;
    uint64_t flags; /* 8 bits */
};
/* 1; 0 if the text is not a valid traceparent: form, lower case, version ff, ids of zeros. Source:
 * W3C Trace Context, 3.2 "Traceparent Header". */
int ntk_hooks_trace_parse(const char *text, struct ntk_hooks_trace *out);
/* The trace that later records of this thread belong to; NULL ends it, and so does an invalid one.
 * 0 if it is invalid, or events are off. */
int ntk_hooks_mark_trace(const char *traceparent);

/* ---- for a program that records for another process (config.behalf), from one thread ---- */

/* Sets the time of the next reports, in nanoseconds of CLOCK_MONOTONIC, and their thread in the
 * process (its name has 16 bytes). 0: now. */
void ntk_hooks_behalf_at(uint64_t monotonic_ns, uint32_t tid, const char *thread_name);
/* A model from ntk_hooks_model_begin() is loaded, at an unknown time and with an unknown
 * duration. */
void ntk_hooks_behalf_model_found(struct ntk_hooks_model_ref model);

/* Executions known only as sums. They are counted, but have no record, and their time is
 * unknown. */
struct ntk_hooks_missed {
    struct ntk_hooks_model_ref model;
    uint64_t count;
    uint64_t sum_ns;
    uint32_t status;
    uint32_t bucket; /* ntk_histogram_bucket() of each of them */
    uint16_t core;
};
void ntk_hooks_behalf_missed(const struct ntk_hooks_missed *missed);
/* Cores were busy for this long, at an unknown time. */
void ntk_hooks_behalf_busy(uint16_t core, uint16_t core_count, uint64_t busy_ns);
/* Counts lost records. */
void ntk_hooks_behalf_lost(uint64_t records);
/* Sets flags of enum ntk_process_flags permanently. */
void ntk_hooks_behalf_flag(uint32_t flags);

#ifdef __cplusplus
}
#endif
#endif
