/* SPDX-License-Identifier: MIT */
/*
 * core_state - shared by the files of this module: the open machine, memory, tensors, models.
 *
 * Lock order: a logical core's execution lock, core->lock (lists of models, scratchpads),
 * weights_lock, a stack's lock, a tensor's lock. While a hook is called, only the execution lock
 * and weights_lock may be held.
 *
 * Owner:   the core owns all of it; each _create has a matching _destroy here.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_STATE_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime-hooks/core/core.h"
#include "runtime-hooks/engine/engine.h"
#include "runtime-hooks/core/core_fault.h"
#include "runtime-hooks/core/core_heap.h"
#include "runtime-hooks/core/core_machine.h"
#include "runtime-hooks/core/core_soft.h"
#include "runtime-hooks/core/core_text.h"
#include "runtime-hooks/core/core_usage.h"
#include "runtime-hooks/hooks/hooks.h"
#include "shared/base/vec.h"

#define NTK_CORE_LNC_MAX 2U
#define NTK_CORE_UCODE_BYTES (UINT64_C(96) << 20)

/* An HBM stack next to a core of this process: a sparse private mapping. Free memory is zero. */
struct core_stack {
    uint32_t device;
    uint32_t index; /* index in the device */
    char *bytes;
    uint64_t size;           /* size of the hardware's stack */
    uint64_t reserved_bytes; /* mapped bytes; less than size if the address space is limited */
    pthread_mutex_t lock;
    struct ntk_core_heap heap; /* protected by lock */
};

/* Accounted memory; a zeroed struct has none. */
struct core_allocation {
    char *address; /* address on the host */
    uint64_t bytes;
    uint64_t offset;          /* offset in the stack */
    struct core_stack *stack; /* NULL for host memory */
    bool counted_only;        /* another owner frees the memory */
    struct ntk_hooks_memory hook;
    ntk_hooks_row row;
};

/* A logical core of the process. */
struct core_nc {
    uint32_t first_physical; /* global number of the first physical core */
    struct ntk_engine_core *engines[NTK_CORE_LNC_MAX];
    struct core_stack *stack;
    pthread_mutex_t execution_lock; /* held while a model runs on this core */
    /* The owner of the engines' state; protected by execution_lock. */
    uint32_t last_model, last_node;
    bool is_started; /* last_model has loaded its pinned constants; protected by execution_lock */
    bool is_dead;    /* a hardware fault was fatal; protected by execution_lock */
    /* Protected by core->lock; replaced only while the execution lock is held, too. */
    struct core_allocation scratchpad[NTK_CORE_LNC_MAX];
    struct core_allocation ucode[NTK_CORE_LNC_MAX];
    _Atomic uint32_t model_count;
    /* Protected by execution_lock: the device time of executions so far, which is this core's clock
     * in a system trace, and the last model that ran while a trace was on. */
    _Atomic uint64_t device_clock_ns; /* may be read without the lock */
    uint32_t traced_model;
    /* Protected by execution_lock: the highest number of an execution that started a step here, and
     * the recorders of this core. */
    uint64_t last_execution;
    uint32_t recorder_count;
    struct ntk_core_recording *recorders[NTK_CORE_RECORDER_SLOTS];
};

struct ntk_core {
    const struct ntk_core_machine_row *row;
    struct ntk_core_soft *soft;
    struct ntk_core_publisher *publisher;
    struct ntk_core_options options;
    uint32_t lnc;
    uint32_t first_core; /* global number of the first logical core */
    uint32_t core_count;
    struct core_nc *ncs;
    struct ntk_vec stacks; /* elements are struct core_stack *, fixed after open */
    pthread_mutex_t lock;
    struct ntk_vec models;   /* elements are struct ntk_core_model *; protected by lock */
    struct ntk_vec captures; /* elements are struct core_capture *; protected by lock */
    _Atomic uint64_t execution_id;
    struct { /* numbers of executions for which a thread waits, and how many have ended */
        _Atomic uint64_t first, count; /* count 0: no thread waits */
        _Atomic uint64_t ended;
    } watched;
    struct core_memlog *memlog;
    struct core_usage *usage;
    struct core_counters *counters;
    char *dump_folder;
    _Atomic bool has_dumped;        /* files about a shortage were written */
    struct ntk_core_faults *faults; /* NULL if none were requested */
    pthread_mutex_t comm_lock;
    struct ntk_core_comm *comms; /* communicators of this process; protected by comm_lock */
    pthread_mutex_t weights_lock;
    struct ntk_vec weights; /* elements are struct core_weight *; protected by weights_lock */
};

/* The next model id. Ids continue after a close, so they are never reused in a process. */
uint32_t core_model_id_next(void);

/* --- core_number.c --- */

/* The number of a new execution, from 1. core_execution_end() must be called for each number,
 * whether it ran or was rejected. */
uint64_t core_execution_begin(struct ntk_core *core);
void core_execution_end(struct ntk_core *core, uint64_t id);

/* --- core_outcome.c --- */

/* The value for an outcome in records and counters: its status in shared/abi/result.def. */
uint32_t core_status(enum ntk_core_outcome outcome);

/* --- core_memory.c --- */

struct core_memory_request {
    uint32_t physical_core; /* NTK_NO_CORE: host memory that belongs to no core */
    enum ntk_memory_category category;
    uint64_t bytes;
    uint64_t align; /* 0: any alignment */
    const char *name;
    struct ntk_hooks_model_ref model;
    const char *model_name; /* NULL if the memory belongs to no model */
};

/* Allocates zeroed memory in a core's stack or in host memory, depending on the category; -ENOMEM
 * with a message. */
int core_memory_take(struct ntk_core *core, const struct core_memory_request *request,
                     struct core_allocation *out_allocation, struct ntk_err *err);
/* Reserves space in a core's stack before its user is known; -ENOMEM, without a report. _adopt
 * accounts for it (bytes and core of the request must be those of the allocation), _disown reverts
 * that, and _unreserve frees it. */
int core_memory_reserve(struct ntk_core *core, uint32_t physical_core, uint64_t bytes,
                        uint64_t align, struct core_allocation *out_allocation);
void core_memory_adopt(struct ntk_core *core, const struct core_memory_request *request,
                       struct core_allocation *allocation);
void core_memory_disown(struct ntk_core *core, struct core_allocation *allocation);
void core_memory_unreserve(struct ntk_core *core, struct core_allocation *allocation);
/* Returns true if the memory is in this core's stack. */
bool core_memory_is_local(struct ntk_core *core, const struct core_allocation *allocation,
                          uint32_t physical_core);
/* Counts host memory that the caller allocated and frees after core_memory_release(); cannot
 * fail. */
void core_memory_count(struct ntk_core *core, const struct core_memory_request *request,
                       void *address, struct core_allocation *out_allocation);
/* Releases memory and zeroes the struct. Accepts zeroed allocations. */
void core_memory_release(struct ntk_core *core, struct core_allocation *allocation);

/* --- core_exec_run.c --- */

/* Sleeps until the elapsed host time equals the device time. clock NULL: the system's. */
void core_pace(const struct ntk_clock *clock, uint64_t start_ns, uint64_t device_ns);

/* --- core_exec_count.c --- */

/* Reports that instructions are sent from the host to a core; 0 bytes are ignored. name is passed
 * to the hooks. */
void core_code_tell(uint32_t physical_core, struct ntk_hooks_model_ref model, uint32_t name,
                    uint64_t bytes);
/* Adds a run to the driver's counts, for the device tree. The caller holds the core. */
void core_driver_count(struct ntk_core *core, uint32_t physical,
                       const struct ntk_engine_result *result, uint64_t host_ns, bool is_first,
                       enum ntk_core_outcome outcome);
/* Fills what the hooks count of a run on one physical core. */
void core_exec_core_fill(struct ntk_hooks_exec_core *to, const struct ntk_engine_result *result,
                         uint64_t host_ns);

/* --- core_hardware.c --- */

/* An execution that is about to run. */
struct core_hardware_subject {
    const char *model_name;
    struct ntk_hooks_model_ref model;
    uint64_t execution_id;
    uint64_t timeout_ns;
};

/* How much slower an execution is: factors for engines and for transfers with device memory, and
 * the delay before it. */
struct core_slowness {
    double core, hbm; /* 1: not slower */
    uint64_t pause_ns;
    bool flips_bit; /* flip a bit of an output at the end, without reporting it */
};
#define CORE_SLOWNESS_NONE  \
    {                       \
        .core = 1, .hbm = 1 \
    }

/* Applies the current faults to an execution of a model on a core; core->faults must be set. The
 * caller holds the execution lock. Returns NTK_CORE_COMPLETED if it runs, slowed by *slowness,
 * which is increased; otherwise it does not run, and err has the reason. */
enum ntk_core_outcome core_hardware_check(struct ntk_core *core, struct core_nc *nc,
                                          const struct core_hardware_subject *subject,
                                          struct core_slowness *slowness, struct ntk_err *err);
/* Makes the calling thread sleep for this time. */
void core_pause(const struct ntk_clock *clock, uint64_t pause_ns);

/* --- core_memlog.c --- */

struct core_memlog;
/* NULL if out of memory: it keeps no log then */
struct core_memlog *core_memlog_create(uint64_t entries);
/* Called before the hooks end: the log stops growing and counts as freed. Accepts NULL. */
void core_memlog_finish(struct core_memlog *memlog);
void core_memlog_destroy(struct core_memlog *memlog);
void core_memlog_add(struct core_memlog *memlog, bool is_free, uint32_t device, uint32_t stack,
                     const struct core_allocation *allocation, const char *name);
/* Called when this core's HBM runs out: writes files once per process, and reports the table to the
 * front every time. */
void core_shortage_tell(struct ntk_core *core, uint32_t physical_core, const char *cause);

/* --- core_comm.c, core_collectives.c --- */

/* Removes files of ranks that were killed before all ranks of their world had joined. */
void core_comms_sweep(const struct ntk_core *core);
struct ntk_core_comm_options;
/* Returns -EINVAL for an invalid world, rank or group; *out_rank is the index in the group. */
int core_comm_options_check(const struct ntk_core_comm_options *options, uint32_t *out_rank,
                            struct ntk_err *err);
/* Returns -EINVAL for an unsupported element type. reduction is enum ntk_core_reduction. */
int core_comm_reduction_check(uint32_t dtype, uint32_t reduction, uint64_t element_count,
                              struct ntk_err *err);
/* Leaves all communicators. */
void core_comms_drop(struct ntk_core *core);

/* --- core_counters.c --- */

struct core_counters *core_counters_create(uint32_t nc_count); /* NULL if out of memory */
void core_counters_destroy(struct core_counters *counters);
/* The caller holds the execution lock of the core. results has one entry per physical core. */
void core_counters_begin(struct core_counters *counters, uint32_t nc, uint64_t start_ticks);
void core_counters_end(struct core_counters *counters, uint32_t nc,
                       const struct ntk_engine_result *results, uint32_t result_count,
                       uint64_t host_ns);
/* Counts memory that a model allocates or frees; model_id 0: no model. */
void core_counters_memory(struct core_counters *counters, uint32_t model_id,
                          enum ntk_memory_category category, uint64_t bytes, bool is_free);

/* --- core_profile.c --- */

/* Drops captures that were never stopped. */
void core_captures_drop(struct ntk_core *core);

/* --- core_recorder.c --- */

/* Stops the recorders of the cores. */
void core_recorders_drop(struct ntk_core *core);

/* --- core_tensor.c --- */

struct core_storage;
/* A reference to a tensor's storage during an execution, with the tensor's offset. */
struct core_tensor_view {
    struct core_storage *storage;
    char *address;
    uint64_t bytes;
    uint64_t device_address;
    uint32_t nc; /* NTK_CORE_ANY for host memory */
};
void core_tensor_view_take(struct ntk_core_tensor *tensor, struct core_tensor_view *out_view);
void core_tensor_view_drop(struct core_tensor_view *view);
/* In the child of a fork: resets waiting, because no thread waits there. */
void core_tensor_forget(void);
/* Called when an execution has written the tensor. */
void core_tensor_written(struct ntk_core_tensor *tensor);

#endif
