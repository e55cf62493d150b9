/* SPDX-License-Identifier: MIT */
/*
 * core - the interface of the software NeuronCores for fronts: cores, tensors, models, executions,
 * captures.
 *
 * One process holds one machine at a time, between ntk_core_open() and ntk_core_close(), and so one
 * front: a second front is rejected, even with a core in another library. Fronts check arguments,
 * manage their callers' handles, map names and read the environment; this module uses no vendor
 * names and reads no variables. It reports every event of interest to the hooks, so fronts are
 * monitored without their own code.
 *
 * Core numbers: a "core" is a logical core numbered within the process; 0 is the first one that
 * ntk_core_open() took. Physical numbers are global: device * cores per device + local.
 *
 * Errors:  0 or -errno and a message. -EINVAL invalid argument or file, -EBADMSG invalid file,
 *          -ENOTSUP unsupported kind of file, -ENOMEM out of memory (of the stack or the host),
 *          -ECHRNG not enough cores, -EBUSY cores are in use by another process, -ENOENT unknown
 *          name, -EIO host failure.
 *
 * Owner:   *_create/_load/_open return a reference, the matching call drops it. A tensor's storage
 *          lives until its last slice and its last execution have ended.
 * Threads: every call from any thread; ntk_core_close() while nothing is running.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_CORE_ANY UINT32_MAX
#define NTK_CORE_NAME_BYTES 256
#define NTK_CORE_INSTANCE_ID "i-local" /* the same for every software machine */
#define NTK_CORE_DIMENSIONS_MAX 16

struct ntk_core;
struct ntk_core_model;
struct ntk_core_tensor;

/* --- machine ---------------------------------------------------------------------------------- */

/* A machine type; static storage. */
struct ntk_core_machine {
    const char *instance;  /* such as "trn1.2xlarge" */
    const char *core_arch; /* such as "NCv2" */
    unsigned family;       /* public number of the family, see machine.def */
    unsigned generation;   /* generation of the cores, 1 to 4 */
    uint32_t device_count;
    uint32_t cores_per_device; /* physical cores per device */
    uint32_t stacks_per_device;
    uint64_t stack_bytes;
    uint32_t default_lnc;
    uint32_t largest_lnc; /* largest number of physical cores per logical core */
};

/* A user's setting and its name, with which error messages begin. */
struct ntk_core_setting {
    const char *name;  /* NULL if it has no name */
    const char *value; /* NULL if not set */
};

/* Selects the machine to use. */
struct ntk_core_machine_options {
    /* An instance type; if unset, that of the hooks folder's machine, else the default. */
    struct ntk_core_setting instance;
    bool new_tree; /* build a new machine, with the newer layout of the device tree */
};

/* Finds the machine that ntk_core_open() would use now. Returns -EINVAL for an unknown name.
 * Changes nothing. */
int ntk_core_machine_find(const struct ntk_core_machine_options *options,
                          struct ntk_core_machine *out_machine, struct ntk_err *err);

/* The PCI address of a device in a machine of this type, as its tree has it: "0000:10:1c.0". */
#define NTK_CORE_BDF_BYTES 16
void ntk_core_machine_bdf(uint32_t device, char out_bdf[NTK_CORE_BDF_BYTES]);
/* The pid of another process that holds a core of the device; 0 if there is none or it is unknown.
 * To be called before ntk_core_open(). */
int ntk_core_machine_holder(const struct ntk_core_machine *machine, uint32_t device);
/* Returns true if two devices are linked directly. */
bool ntk_core_machine_has_link(const struct ntk_core_machine *machine, uint32_t a, uint32_t b);

/* Creates the machine's state and tree without taking a core, for "neuron-bench machine". */
int ntk_core_machine_build(const struct ntk_core_machine_options *options, struct ntk_err *err);
/* Removes the machine's state and tree; -EBUSY while a process holds a core. */
int ntk_core_machine_remove(struct ntk_err *err);

/* --- process ---------------------------------------------------------------------------------- */

struct ntk_clock;

/* Used only during ntk_core_open(), except for names, which must live forever. */
struct ntk_core_options {
    struct ntk_core_machine_options machine;
    struct ntk_core_setting faults; /* see docs/faults.md */
    bool is_paced;                 /* make an execution take as long on the host as on the device */
    const struct ntk_clock *clock; /* clock for pacing and pauses; borrowed; NULL: the system's */
    uint32_t rounding_seed;        /* seed for models with stochastic rounding */
    const char *const *texts; /* indexed by enum ntk_core_text (core_text.h); NULL: plain texts */
    const char *lnc_name;     /* name of the setting that selected lnc, for messages; NULL: none */

    /* Physical cores per logical core; 0: the machine's default. */
    uint32_t lnc;
    /* exact: take the global logical cores first .. first + count - 1. Otherwise, take any count
     * free cores (count 0: all free ones, at least one). */
    bool exact;
    uint32_t first_core;
    uint32_t core_count;

    bool report_numerical_errors;   /* a NaN makes an execution end with NTK_CORE_NUMERICAL_ERROR */
    bool contiguous_scratchpad;     /* pages of 64 MiB, one range per core */
    uint64_t scratchpad_page_bytes; /* used when not contiguous */
    uint64_t memlog_entries;
    /* Files about a shortage of device memory (docs/formats/memory-log.md): their folder (NULL:
     * /tmp), and the prefix of the file for the whole device (NULL: "core"). */
    const char *dump_folder;
    const char *dump_name;
    bool shortage_off; /* a shortage writes no file and causes no report */

    /* Framework type that monitors show. */
    uint32_t framework;
    const char *framework_version;
    const char *fal_version;
    const char *runtime_version;

    /* Called with a message about degraded operation (no hooks, no tree); NULL: not reported. */
    void (*warn)(const char *sentence);
    /* Called when device memory runs out, before the failing call returns -ENOMEM, with the cause,
     * the cores that share the memory, and the share of each process (whole lines). NULL: not
     * reported. */
    void (*shortage)(const char *cause, const char *cores, const char *table);
};

/* Takes cores and starts the hooks. Returns -EBUSY with "Requested:... Available:..." in the
 * message if cores are not free, -EINVAL for unknown cores, -EALREADY while this process has a core
 * open. */
int ntk_core_open(const struct ntk_core_options *options, struct ntk_core **out_core,
                  struct ntk_err *err);
/* Also ends debug streams and traces. All models and tensors must be destroyed: device memory is
 * freed here, and a remaining reference points to a struct that is never freed. */
void ntk_core_close(struct ntk_core *core);
/* In the child of a fork: drops the parent's machine without changing shared state. */
void ntk_core_forget_after_fork(struct ntk_core *core);

const struct ntk_core_machine *ntk_core_machine_get(const struct ntk_core *core);
uint32_t ntk_core_count(const struct ntk_core *core);
uint32_t ntk_core_lnc(const struct ntk_core *core);
/* The device time of the core's executions so far. */
uint64_t ntk_core_device_clock_ns(const struct ntk_core *core, uint32_t nc);
/* The driver version that the machine reports; static storage. */
const char *ntk_core_driver_version(const struct ntk_core *core);
/* The global logical number of the process's core. */
uint32_t ntk_core_global(const struct ntk_core *core, uint32_t nc);

struct ntk_core_memory {
    uint64_t used_bytes;  /* bytes of the stack that all processes use */
    uint64_t limit_bytes; /* capacity of the stack */
};
int ntk_core_memory_get(const struct ntk_core *core, uint32_t nc,
                        struct ntk_core_memory *out_memory);
/* Returns true if these bytes are in this process's device memory. */
bool ntk_core_memory_holds(const struct ntk_core *core, const void *address, uint64_t bytes);
/* Gets the host address and size of a stack. Returns -ENOENT if the device has no such stack,
 * -EINVAL if no core of this process is next to it. */
int ntk_core_stack_map(const struct ntk_core *core, uint32_t device, uint32_t stack,
                       void **out_address, uint64_t *out_bytes);

/* After a failed allocation: reports to options.shortage how full each stack next to a core of this
 * process is. */
void ntk_core_memory_report(struct ntk_core *core);
/* Writes the allocations of each stack next to a core of this process to a file in
 * options.dump_folder (docs/formats/memory-log.md), and reports its path. Returns -ENOENT
 * without a memory log. */
int ntk_core_memory_dump(struct ntk_core *core, void (*tell)(const char *path),
                         struct ntk_err *err);

/* --- tensors ---------------------------------------------------------------------------------- */

enum ntk_core_placement {
    NTK_CORE_DEVICE,
    NTK_CORE_HOST,    /* counted as the process's host memory */
    NTK_CORE_VIRTUAL, /* ordinary memory, not counted */
};

/* Creates a tensor filled with zeros. nc may be NTK_CORE_ANY unless placement is device. name is
 * used in log messages and the memory log. */
int ntk_core_tensor_create(struct ntk_core *core, enum ntk_core_placement placement, uint32_t nc,
                           uint64_t bytes, const char *name, struct ntk_core_tensor **out_tensor,
                           struct ntk_err *err);
/* Creates a tensor without storage, with size 0. */
int ntk_core_tensor_create_empty(struct ntk_core *core, const char *name,
                                 struct ntk_core_tensor **out_tensor, struct ntk_err *err);
/* Creates a view, which keeps the source's storage alive. Returns -EINVAL if it exceeds the
 * source. */
int ntk_core_tensor_create_slice(struct ntk_core_tensor *source, uint64_t offset, uint64_t bytes,
                                 const char *name, struct ntk_core_tensor **out_tensor,
                                 struct ntk_err *err);
void ntk_core_tensor_destroy(struct ntk_core_tensor *tensor);
/* Makes the caller's memory the tensor's storage; the old storage is released. */
int ntk_core_tensor_attach(struct ntk_core_tensor *tensor, void *bytes, uint64_t size,
                           struct ntk_err *err);
int ntk_core_tensor_read(struct ntk_core_tensor *tensor, void *to, uint64_t offset, uint64_t bytes,
                         struct ntk_err *err);
int ntk_core_tensor_write(struct ntk_core_tensor *tensor, const void *from, uint64_t offset,
                          uint64_t bytes, struct ntk_err *err);
int ntk_core_tensor_fill(struct ntk_core_tensor *tensor, uint64_t offset, uint8_t value,
                         uint64_t bytes, struct ntk_err *err);
/* Copies between tensors. Two device tensors must be on the same core; otherwise returns
 * -EINVAL. */
int ntk_core_tensor_copy(struct ntk_core_tensor *from, uint64_t from_offset,
                         struct ntk_core_tensor *to, uint64_t to_offset, uint64_t bytes,
                         struct ntk_err *err);

/* Same, for tensors on any two cores of the process. */
int ntk_core_tensor_copy_far(struct ntk_core_tensor *from, uint64_t from_offset,
                             struct ntk_core_tensor *to, uint64_t to_offset, uint64_t bytes,
                             struct ntk_err *err);

struct ntk_core_tensor_info {
    uint64_t bytes;
    void *address; /* host address of the first byte; NULL while empty */
    enum ntk_core_placement placement;
    uint32_t nc;             /* NTK_CORE_ANY for host memory that belongs to no core */
    uint64_t device_address; /* device tensors only */
    /* device tensors only: size of the whole storage, from device_address on */
    uint64_t allocation_bytes;
    uint32_t stack;            /* device tensors only: number of the stack in its device */
    uint64_t completed_writes; /* executions that wrote the tensor since the last reset */
};
void ntk_core_tensor_info_get(struct ntk_core_tensor *tensor,
                              struct ntk_core_tensor_info *out_info);
/* Waits until completed_writes >= count. timeout_us < 0: no limit. Returns -ETIMEDOUT after the
 * timeout. */
int ntk_core_tensor_wait(struct ntk_core_tensor *tensor, uint64_t count, int64_t timeout_us);
void ntk_core_tensor_reset_writes(struct ntk_core_tensor *tensor);

/* --- models ----------------------------------------------------------------------------------- */

struct ntk_core_load_options {
    /* NTK_CORE_ANY: the core with the fewest loaded models; of equal ones the lowest */
    uint32_t nc;
    /* 0 and 1: as many cores as the model needs. k times that number: k copies on consecutive cores
     * that take turns; then its tensors may be on any of these cores. */
    uint32_t core_count;
    /* Use exactly this many cores from nc on; 0: all of the process. If the nodes of the file
     * together need more, they may take turns, provided that there are enough for the largest
     * node. */
    uint32_t core_limit;
    bool nodes_may_take_turns;
    /* Allocate intermediate memory for this many concurrent executions now; further executions
     * allocate it when they start. 0: for one, if it is device memory. */
    uint32_t depth;
    bool tensors_on_stack; /* its tensors may be on any core next to the same memory */
    bool validate_hash;
    bool share_weights;        /* models of one file on a device share their constants */
    bool allow_legacy;         /* accept files for another generation */
    bool allow_cpu_nodes;      /* open the shared objects in the file */
    const char *cpu_nodes_why; /* why they are not allowed, for the message; NULL: not given */
    /* For engine code of a vendor: return zeros after an estimated time, instead of failing with
     * -ENOTSUP. */
    bool run_opaque;
    const char *opaque_way_out;    /* how to allow it, for the message; NULL: not given */
    uint64_t features_mask;        /* feature bits of the file that are accepted */
    uint64_t execution_timeout_ns; /* limit on the device time of one execution; 0: none */
    /* stochastic rounding in the compute engines, for narrower floats; not on generation 1 */
    bool rounds_by_chance;
    bool hangs_last; /* a hang also takes its time on the host; otherwise it ends at once */
    /* For monitors: the number of ranks that execute the model together; 0: a single process. */
    const char *rendezvous; /* where the ranks meet; NULL: "" */
    uint32_t rank, rank_count;
};

/* Loads a model; copies what it needs from the file. */
int ntk_core_model_load(struct ntk_core *core, const void *file, size_t file_bytes,
                        const struct ntk_core_load_options *options,
                        struct ntk_core_model **out_model, struct ntk_err *err);
/* Reads the name in a file's header, even if the file cannot be loaded: "" if there is none. */
#define NTK_CORE_FILE_NAME_BYTES 257
void ntk_core_file_name(const void *file, size_t file_bytes,
                        char out_name[NTK_CORE_FILE_NAME_BYTES]);
/* The caller ensures that no execution of the model is running. */
void ntk_core_model_unload(struct ntk_core_model *model);

struct ntk_core_io {
    char name[NTK_CORE_NAME_BYTES];
    bool is_output;
    uint32_t dtype; /* number from shared/formats/neff/dtype.def */
    uint64_t bytes;
    uint32_t dimension_count;
    uint32_t shape[NTK_CORE_DIMENSIONS_MAX];
};
/* The inputs, then the outputs, in file order. Borrowed from the model. */
const struct ntk_core_io *ntk_core_model_io_get(const struct ntk_core_model *model,
                                                size_t *out_count);
uint32_t ntk_core_model_id(const struct ntk_core_model *model);
const uint8_t *ntk_core_model_uuid(const struct ntk_core_model *model); /* 16 bytes from the file */
const char *ntk_core_model_name(const struct ntk_core_model *model);
uint32_t ntk_core_model_nc(const struct ntk_core_model *model); /* first core */
uint32_t ntk_core_model_nc_count(
    const struct ntk_core_model *model); /* number of logical cores, including all copies */
/* Returns true if the model's nodes share their cores: then each node starts with cleared engine
 * memories, and concurrent executions bring no gain. */
bool ntk_core_model_takes_turns(const struct ntk_core_model *model);
/* The useful number of concurrent executions, at least 1. */
uint32_t ntk_core_model_instance_count(const struct ntk_core_model *model);

/* --- executions ------------------------------------------------------------------------------- */

/* The result of an execution or another call: NTK_CORE_COMPLETED, NTK_CORE_TIMED_OUT and the others
 * of shared/abi/result.def. Fronts map them to their own codes. Except for COMPLETED and
 * NUMERICAL_ERROR, outputs are undefined. */
enum ntk_core_outcome {
#define NTK_RESULT(symbol, status, outcome, error_class, counter) NTK_CORE_##symbol,
#include "shared/abi/result.def"
#undef NTK_RESULT
    NTK_CORE_OUTCOMES
};

/* The outcome of a call that returned this error (0 or -errno). */
enum ntk_core_outcome ntk_core_outcome_of(int error);

/* For a front with callers that start and stop models between load and unload: reports this to
 * monitors. A stop lasts from _stop_begin, if called, until nothing of the model runs; the outcome
 * is the front's reason, or NTK_CORE_COMPLETED. One thread at a time per model. */
void ntk_core_model_started(struct ntk_core_model *model);
void ntk_core_model_stop_begin(struct ntk_core_model *model);
void ntk_core_model_stopped(struct ntk_core_model *model, enum ntk_core_outcome outcome);

/* Runs the model once in the calling thread. tensors has one entry per entry of
 * ntk_core_model_io_get(), in that order, each at least as large. Returns 0 and the outcome, or
 * -EINVAL (a tensor is missing, too small, or on another core; counted as incorrect input). */
int ntk_core_execute(struct ntk_core_model *model, struct ntk_core_tensor *const *tensors,
                     size_t tensor_count, enum ntk_core_outcome *out_outcome, struct ntk_err *err);
/* The time that an execution spent on cores, in host and device time. */
struct ntk_core_execution_times {
    uint64_t core_ns;
    uint64_t device_ns;
    uint64_t device_cycles; /* cycles of the base clock */
};
/* Same, with times; *out_times is zeroed if no core ran it. */
int ntk_core_execute_timed(struct ntk_core_model *model, struct ntk_core_tensor *const *tensors,
                           size_t tensor_count, enum ntk_core_outcome *out_outcome,
                           struct ntk_core_execution_times *out_times, struct ntk_err *err);
/* Facts about an execution that waited in a front's queue. */
struct ntk_core_queued {
    uint64_t asked_ticks; /* ntk_core_ticks() at the request, from which latency counts */
    uint64_t code_bytes;  /* bytes of instructions that are sent to the device with it */
    uint16_t queue;       /* number of the queue, 1 to NTK_EXEC_QUEUES; 0: none */
};
int ntk_core_execute_queued(struct ntk_core_model *model, struct ntk_core_tensor *const *tensors,
                            size_t tensor_count, const struct ntk_core_queued *queued,
                            enum ntk_core_outcome *out_outcome, struct ntk_err *err);
/* The clock of event records, in ticks. */
uint64_t ntk_core_ticks(void);
/* Requests to this process (shared/abi/segment_abi.h); NULL without hooks. Valid until
 * ntk_core_close(). */
struct ntk_segment_trigger *ntk_core_trigger_get(void);
/* The number of the last started execution, from 1. Ranks of a job that run in step have the same
 * number at the same step. */
uint64_t ntk_core_execution_last(const struct ntk_core *core);
/* Counts completed executions with these numbers from now on. Only one range at a time; count 0
 * stops. Earlier completions are not counted. */
void ntk_core_executions_watch(struct ntk_core *core, uint64_t first, uint64_t count);
uint64_t ntk_core_executions_ended(const struct ntk_core *core);
/* For a front that fails an execution with -errno before it reaches the core, for example because
 * of invalid input or a full queue: counts it. */
void ntk_core_execute_refused(struct ntk_core_model *model, int error);

/* --- captures --------------------------------------------------------------------------------- */

/* Empties the file and records every execution of the model from now on; -EBUSY if the model or the
 * file is already being captured. */
int ntk_core_profile_start(struct ntk_core_model *model, const char *path, struct ntk_err *err);
/* Writes the capture. Returns 1 if records are missing because the disk was full (err has their
 * number), -ENOENT if no capture uses that file. */
int ntk_core_profile_stop(struct ntk_core *core, const char *path, struct ntk_err *err);

/* --- captures of a core instead of a model ---------------------------------------------------- */

/* Slots of a core's recorders: at most one each, all independent. */
enum ntk_core_recorder_slot {
    NTK_CORE_RECORDER_SESSION,
    NTK_CORE_RECORDER_CONTINUOUS,
    NTK_CORE_RECORDER_INSPECT,
    NTK_CORE_RECORDER_TRIGGER,
    NTK_CORE_RECORDER_SLOTS,
};

enum ntk_core_recorder_keeps {
    NTK_CORE_KEEPS_ALL,    /* keeps every execution, one after the other on the core's clock */
    NTK_CORE_KEEPS_LATEST, /* keeps the execution that started last */
    /* Keeps the first execution since the start or the last save that did not complete. */
    NTK_CORE_KEEPS_FAILED,
};

/* Limits in bytes on the records per physical core and program; further records are dropped and
 * counted; 0: no limit. */
struct ntk_core_recorder_bounds {
    uint64_t instruction_bytes_max, event_bytes_max, dma_bytes_max, throttle_bytes_max;
};

struct ntk_core_recorder_options {
    enum ntk_core_recorder_keeps keeps;
    /* For KEEPS_ALL: only executions with these numbers; count 0: all. Time starts at the first
     * one. */
    uint64_t first_execution, execution_count;
    /* existing folder for unnamed files, used if a recording does not fit into memory */
    const char *folder;
    struct ntk_core_recorder_bounds bounds;
};

struct ntk_core_recording;

/* Returns -EALREADY if the slot is in use; -EAGAIN if an execution from first_execution on has
 * already started on this core; -EINVAL for an unknown core. */
int ntk_core_recorder_start(struct ntk_core *core, uint32_t nc, enum ntk_core_recorder_slot slot,
                            const struct ntk_core_recorder_options *options, struct ntk_err *err);
/* Stops a recorder. The caller owns *out_recording; out_recording NULL drops the recording. Waits
 * for a running execution. Returns -ENOENT if it is not recording. */
int ntk_core_recorder_stop(struct ntk_core *core, uint32_t nc, enum ntk_core_recorder_slot slot,
                           struct ntk_core_recording **out_recording, struct ntk_err *err);
/* Writes the current content and continues. uuid is that of the program that ran last, or NULL for
 * any. Returns 1 if records are missing (err has their number, and err->code is -ENOBUFS if only
 * the limits were reached); -ENODATA if nothing has run (KEEPS_FAILED: failed) yet; -ENOENT if it
 * is not recording. */
int ntk_core_recorder_save(struct ntk_core *core, uint32_t nc, enum ntk_core_recorder_slot slot,
                           const uint8_t *uuid, const char *path, struct ntk_err *err);
/* Same, for a stopped recording; any number of times, also after ntk_core_close(). */
int ntk_core_recording_save(struct ntk_core_recording *recording, const char *path,
                            struct ntk_err *err);
/* Gets the numbers of the first and last recorded execution; 0 if there are none. */
void ntk_core_recording_range(const struct ntk_core_recording *recording, uint64_t *out_lowest,
                              uint64_t *out_highest);
void ntk_core_recording_destroy(struct ntk_core_recording *recording);

#ifdef __cplusplus
}
#endif
#endif
