/* SPDX-License-Identifier: MIT */
/*
 * snapshot - the state of the machine in one period, as plain data.
 *
 * shared/collect makes one snapshot per period; a report can be parsed back into one; store, HTTP,
 * exporters and neuron-top only read snapshots.
 *
 * Absent is not zero: a `has` mask shows which groups of a struct are known. A field without its
 * bit is zero and has no meaning.
 *
 * Counters are struct ntk_count: `period` is what the period added (never negative, adds up over
 * reports), `total` the cumulative value: of a runtime since it began, of the machine and of tags
 * since the collector began.
 *
 * Units:   ns, bytes, counts; utilizations and shares are ratios 0..1. Cores are global physical
 *          cores (device x cores per device + local); ntk_snapshot_logical_core() gives the
 *          vendor's view.
 *
 * Owner:   the snapshot owns all its parts: texts (never NULL, "" = unknown), arrays, histograms.
 *          Fill it through ntk_snapshot_alloc() and _text(), then do not change it.
 *          ntk_snapshot_share() adds a reference; each owner destroys once.
 * Threads: one at a time while it is built; afterwards any thread may read it.
 */
#ifndef NTK_SHARED_METRICS_SNAPSHOT_H
#define NTK_SHARED_METRICS_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/abi/adapter.h"
#include "shared/abi/event_abi.h"
#include "shared/metrics/catalogue.h"
#include "shared/metrics/exit.h"
#include "shared/metrics/health.h"
#include "shared/metrics/percentile.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_SNAPSHOT_DEVICES_MAX 64
#define NTK_SNAPSHOT_STACKS_MAX 4
#define NTK_SNAPSHOT_CONNECTED_DEVICES_MAX 64

struct ntk_count {
    uint64_t period;
    uint64_t total;
};

/* ---- groups of the report ---- */

/* Groups of the report that can be requested, and be due, separately; in report order. */
enum ntk_runtime_group {
    NTK_RUNTIME_GROUP_EXECUTIONS = 0, /* execution_stats */
    NTK_RUNTIME_GROUP_MEMORY = 1,     /* memory_used */
    NTK_RUNTIME_GROUP_CPU = 2,        /* neuron_runtime_vcpu_usage */
    NTK_RUNTIME_GROUP_CORES = 3,      /* neuroncore_counters */
    NTK_RUNTIME_GROUP_COUNT
};
enum ntk_system_group {
    NTK_SYSTEM_GROUP_MEMORY = 0, /* memory_info */
    NTK_SYSTEM_GROUP_ECC = 1,    /* neuron_hw_counters */
    NTK_SYSTEM_GROUP_SELF = 2,   /* self_stats; only if the configuration names it */
    NTK_SYSTEM_GROUP_CPU = 3,    /* vcpu_usage */
    NTK_SYSTEM_GROUP_COUNT
};
extern const char *const ntk_runtime_group_names[NTK_RUNTIME_GROUP_COUNT];
extern const char *const ntk_system_group_names[NTK_SYSTEM_GROUP_COUNT];

/* Group periods: 0 means the snapshot's period_ns (always so in snapshots from the collector). A
 * group with another period was due in this snapshot; an absent group was not due, or not
 * requested. */
#define NTK_GROUP_ABSENT UINT64_MAX

/* ---- the instance ---- */

enum {
    NTK_INSTANCE_TEXTS = 0
#define NTK_INSTANCE_TEXT(...) +1
#include "shared/metrics/machine.def"
    ,
    NTK_HARDWARE_TEXTS = 0
#define NTK_HARDWARE_TEXT(...) +1
#include "shared/metrics/machine.def"
};
/* The rows of machine.def. */
struct ntk_machine_text {
    const char *column; /* NULL: not stored */
    const char *label;  /* NULL: none */
    size_t place;       /* position of an instance fact among the labels */
};
extern const struct ntk_machine_text ntk_instance_texts[NTK_INSTANCE_TEXTS];
extern const struct ntk_machine_text ntk_hardware_texts[NTK_HARDWARE_TEXTS];

/* The EC2 instance; all texts are "" outside of EC2. */
struct ntk_instance {
    union {
        struct {
#define NTK_INSTANCE_TEXT(name, ...) const char *name;
#include "shared/metrics/machine.def"
        };
        const char *texts[NTK_INSTANCE_TEXTS]; /* the same members as a list */
    };
    const char *error;
};

/* ---- hardware ---- */

enum ntk_hardware_has {
    NTK_HARDWARE_HAS_DEVICES = 1u << 0, /* a device tree was found: counts and names are valid */
    NTK_HARDWARE_HAS_MEMORY = 1u << 1,  /* memory per device and stack */
    NTK_HARDWARE_HAS_PEAK = 1u << 2,    /* tensor_peak_flops */
};

struct ntk_hardware {
    uint32_t has;
    bool software;     /* the software machine's tree */
    const char *error; /* why nothing is known, else "" */
    /* Such as "trn1.32xlarge"; the report's words: "trainium2", "v4"; by lnc: "v3", "v3d"; the
     * driver's. */
    union {
        struct {
#define NTK_HARDWARE_TEXT(name, ...) const char *name;
#include "shared/metrics/machine.def"
        };
        const char *texts[NTK_HARDWARE_TEXTS]; /* the same members as a list */
    };
    uint32_t device_count;
    uint32_t cores_per_device; /* physical cores */
    uint32_t lnc;              /* physical cores per logical core in tools: 1 or 2 */
    uint32_t stack_count;      /* HBM stacks per device */
    uint32_t cores_per_stack;
    uint64_t device_memory_bytes; /* capacity of one device */
    double tensor_peak_flops;     /* peak of one physical core */
};

/* ---- devices ---- */

enum ntk_ecc {
#define NTK_DEVICE_ECC(symbol, name) NTK_ECC_##symbol,
#include "shared/metrics/device.def"
    NTK_ECC_COUNT
};
extern const char *const ntk_ecc_names[NTK_ECC_COUNT]; /* such as "mem_ecc_corrected" */

/* A device's counters from an earlier agent. */
struct ntk_ecc_stored {
    uint32_t has; /* bit i refers to element [i] of the other fields */
    /* the driver's counter; 0 if the machine was booted since then */
    uint64_t counter[NTK_ECC_COUNT];
    uint64_t total[NTK_ECC_COUNT];
};

/* What an error event concerns: ECC by the names above, "device_reset", or "" for an execution,
 * which has a status. */
extern const char *const ntk_error_code_names[NTK_ERROR_CODE_COUNT];

enum ntk_device_has {
    NTK_DEVICE_HAS_ECC = 1u << 0, /* bit i of ecc_has refers to ecc[i] */
    NTK_DEVICE_HAS_CONNECTED_DEVICES = 1u << 1,
    NTK_DEVICE_HAS_MEMORY_CAPACITY = 1u << 2,
    NTK_DEVICE_HAS_MEMORY_USED = 1u << 3,
    NTK_DEVICE_HAS_POWER = 1u << 4,
    NTK_DEVICE_HAS_ECC_TOTAL = 1u << 5, /* its totals are known, which a recording lacks */
    NTK_DEVICE_HAS_HEALTH = 1u << 6,
};

/* A current reason for a device's verdict. */
struct ntk_health_sample {
    uint16_t reason;    /* enum ntk_health_reason */
    uint16_t core;      /* first core, global physical number; NTK_NO_CORE: the whole device */
    uint32_t cores;     /* bit i: the reason applies to physical core i of the device */
    uint32_t status;    /* status of an execution, from shared/abi/result.def; 0 none */
    uint64_t since_ns;  /* when the collector first saw it, since 1970 UTC */
    uint64_t last_ns;   /* when it, or an increase, was last seen */
    uint64_t count;     /* number of errors or executions; 0 if unknown */
    const char *detail; /* the device's text for the reason; "" if none */
};

struct ntk_device_sample {
    uint32_t has;
    uint32_t index;
    uint32_t core_count; /* physical cores */
    const char *name;    /* such as "Trainium2" */
    const char *arch;    /* such as "NDv3" */
    const char *serial_number;
    uint32_t connected_device_count;
    uint8_t connected_devices[NTK_SNAPSHOT_CONNECTED_DEVICES_MAX];
    uint32_t stack_count;
    uint32_t ecc_has;
    /* The total is the driver's counter; it continues when the driver is reloaded and, with stored
     * totals, when the agent is restarted. */
    struct ntk_count ecc[NTK_ECC_COUNT];
    uint64_t ecc_counter[NTK_ECC_COUNT]; /* the driver's current value */
    /* In the first period of an agent that continues stored totals: the driver's counts from the
     * time when no agent was running. They are part of totals, not of periods. */
    uint64_t ecc_unwatched[NTK_ECC_COUNT];
    uint64_t power_timestamp_seconds; /* Unix time of the minute that power covers */
#define NTK_DEVICE_BYTES(name, ...) uint64_t name[NTK_SNAPSHOT_STACKS_MAX];
#define NTK_DEVICE_RATIO(name, ...) double name;
#include "shared/metrics/device.def"
    uint32_t verdict;          /* enum ntk_health_verdict */
    uint32_t health_evidence;  /* bits of enum ntk_health_evidence: the basis of the verdict */
    uint64_t verdict_since_ns; /* since 1970 UTC */
    struct ntk_health_sample *health; /* the reasons, worst first, each at most once */
    size_t health_count;
};

/* The rows of device.def that are not events. */
enum {
    NTK_DEVICE_ROWS = 0
#define NTK_DEVICE_BYTES(...) +1
#define NTK_DEVICE_RATIO(...) +1
#include "shared/metrics/device.def"
};
struct ntk_device_row {
    const char *name;
    size_t offset; /* offset in struct ntk_device_sample */
    size_t bytes;
    uint32_t has; /* enum ntk_device_has */
    enum ntk_metric metric;
    const char *statistic; /* for a ratio; NULL: bytes of each stack */
};
extern const struct ntk_device_row ntk_device_rows[NTK_DEVICE_ROWS];
/* The sum over the bytes of all stacks. */
uint64_t ntk_device_sum(const struct ntk_device_sample *device, const uint64_t *stacks);

/* ---- cores ---- */

enum ntk_core_has {
#define NTK_CORE_GROUP(bit, name) NTK_CORE_HAS_##name = 1u << bit,
#include "shared/metrics/core_state.def"
    /* For a software core without a process: it is idle. */
    NTK_CORE_HAS_IDLE = NTK_CORE_HAS_BUSY | NTK_CORE_HAS_ENGINES | NTK_CORE_HAS_FLOPS |
                        NTK_CORE_HAS_EFFECTIVE_FLOPS | NTK_CORE_HAS_BYTES | NTK_CORE_HAS_EXECUTIONS,
};

/* The number of elements of each list in core_counts.def. */
#define NTK_CORE_LIST_ONE
#define NTK_CORE_LIST_ENGINE [NTK_ENGINE_COUNT]
#define NTK_CORE_LIST_OUTCOME [NTK_OUTCOME_COUNT]
#define NTK_CORE_LIST_ERROR_CLASS [NTK_ERROR_CLASS_COUNT]
enum {
    NTK_CORE_COUNTS = 0 /* number of counts of a core, each element of a list included */
#define NTK_CORE_COUNT(id, member, list, ...) +sizeof(char NTK_CORE_LIST_##list)
#include "shared/abi/core_counts.def"
    ,
    NTK_CORE_COUNT_ROWS = 0
#define NTK_CORE_COUNT(...) +1
#include "shared/abi/core_counts.def"
};

/* One physical core: as used by one runtime, or by all (the machine's core). With LNC 2, only the
 * first core of a pair has execution counts, errors, latency, in_flight and transfers. */
struct ntk_core_sample {
    uint32_t has;
    uint32_t core; /* global physical number (logical after ntk_snapshot_logical_core) */
#define NTK_CORE_STATE(name, type, ...) type name;
#include "shared/metrics/core_state.def"
    union {
        struct { /* busy_ns includes running executions up to now */
#define NTK_CORE_COUNT(id, member, list, ...) struct ntk_count member NTK_CORE_LIST_##list;
#include "shared/abi/core_counts.def"
        };
        struct ntk_count counts[NTK_CORE_COUNTS]; /* the same members as a list */
    };
    struct ntk_histogram total_latency;  /* latencies in the period */
    struct ntk_histogram device_latency; /* latencies in the period */
    /* In the first period of an agent that continues stored totals: the part of the periods and
     * histograms above from the time when no agent was running. It counts, but is in no rate or
     * share. Its totals have no meaning; reports lack its histograms. NULL: none. */
    const struct ntk_core_sample *unwatched;
    /* For a runtime: the start (CLOCK_MONOTONIC) of the segment with the totals. It distinguishes
     * the runs of a process that closed the runtime and initialised it again. */
    uint64_t began_ns;
    /* If the period has several runs: each one separately, in order; the totals of the last run are
     * those above. NULL: one run. began_ns, counts and histograms are known. */
    const struct ntk_core_sample *lives;
    size_t life_count;
};

/* The index in counts[] of a count, or of the first element of a list. */
#define NTK_CORE_COUNT_AT(member)                                                            \
    ((offsetof(struct ntk_core_sample, member) - offsetof(struct ntk_core_sample, counts)) / \
     sizeof(struct ntk_count))

/* The rows of core_counts.def, by id. */
struct ntk_core_count_row {
    size_t at; /* index in counts[] */
    size_t count;
    uint32_t has;           /* enum ntk_core_has */
    enum ntk_metric metric; /* its metric, or NTK_METRIC_NONE */
    const char *column;     /* name in the database; for a list, the part after an element's name */
    const char *const *names; /* names of a list's elements; NULL: not a list */
};
extern const struct ntk_core_count_row ntk_core_count_rows[NTK_CORE_COUNT_ROWS];

/* The rows of core_state.def. */
enum {
    NTK_CORE_STATES = 0
#define NTK_CORE_STATE(...) +1
#include "shared/metrics/core_state.def"
};
struct ntk_core_state_row {
    /* offset in struct ntk_core_sample; the member is a uint64_t if there is a metric */
    size_t offset;
    uint32_t has;     /* enum ntk_core_has; 0: always known */
    bool is_smallest; /* several are combined by the smallest value; otherwise by the largest */
    enum ntk_metric metric; /* or NTK_METRIC_NONE */
};
extern const struct ntk_core_state_row ntk_core_state_rows[NTK_CORE_STATES];

/* ---- memory of a runtime ---- */

/* Memory for one combination of location, core, model and category. */
struct ntk_memory_sample {
    uint16_t location; /* enum ntk_memory_location */
    uint16_t core;     /* global physical number; NTK_NO_CORE: none */
    uint16_t category; /* enum ntk_memory_category */
    uint16_t reserved;
    uint32_t model_id; /* 0: the memory belongs to the core or process */
    uint32_t reserved_1;
    uint64_t current_bytes;
    uint64_t peak_bytes;
};

/* ---- models of a runtime ---- */

/* The slowest execution of a model, shown as an example. */
struct ntk_slow_execution {
    uint64_t end_ns; /* end time, since 1970 UTC; 0: unknown */
    uint64_t duration_ns;
    uint64_t id;  /* id within its process, as in ERROR events and traces */
    uint32_t pid; /* pid as in the sample of its runtime */
};

enum ntk_model_has {
    NTK_MODEL_HAS_LATENCY = 1u << 0,
    NTK_MODEL_HAS_DEVICE_LATENCY = 1u << 1,
    NTK_MODEL_HAS_EXECUTIONS = 1u << 2, /* executions and errors are known */
    NTK_MODEL_HAS_IN_FLIGHT = 1u << 3,
    NTK_MODEL_HAS_EFFECTIVE_FLOPS = 1u << 4,
    NTK_MODEL_HAS_TOTALS =
        1u << 5, /* the totals of its counts are known; reports and databases have only periods */
};

enum {
    NTK_MODEL_COUNTS = 0
#define NTK_MODEL_COUNT(...) +1
#include "shared/metrics/model.def"
};

struct ntk_model_sample {
    uint32_t has;
    uint32_t id;
    const char *name;
    const char *neff_path;
    char uuid[33];   /* 32 lower-case hexadecimal digits; "" if unknown */
    bool loaded;     /* false: unloaded in this period, listed again with its last counts */
    bool is_running; /* an execution ran or was running in the period */
    bool estimated;  /* an opaque program: nothing is computed, and its durations are estimates */
    /* Its device memory is a difference measured around its load (row "uncategorized"). */
    bool memory_estimated;
    uint32_t core;       /* first physical core */
    uint32_t core_count; /* physical cores */
    uint64_t in_flight;
    union {
        struct {
#define NTK_MODEL_COUNT(name, known) struct ntk_count name;
#include "shared/metrics/model.def"
        };
        struct ntk_count counts[NTK_MODEL_COUNTS]; /* the same members as a list */
    };
    uint64_t load_timestamp_ns;
    uint64_t load_ns;
    struct ntk_histogram total_latency;
    struct ntk_histogram device_latency;
    struct ntk_slow_execution slowest; /* slowest in the period, for agents that read only events */
};

/* Cumulative latency by model name, for the lifetime of the runtime: unloading one of two models
 * with the same name removes nothing. */
struct ntk_model_series {
    const char *name;
    struct ntk_latency_series total;
    struct ntk_latency_series device;
};

/* ---- communicators of a runtime: the process as a rank ---- */

enum ntk_rank_state {
    NTK_RANK_JOINED = 0,
    NTK_RANK_LEFT = 1,
    NTK_RANK_BROKEN = 2, /* left because another rank was missing */
    NTK_RANK_STATE_COUNT
};
extern const char *const ntk_rank_state_names[NTK_RANK_STATE_COUNT];
extern const char *const ntk_collective_names[NTK_COLLECTIVE_COUNT];

/* The rows of rank.def. */
enum {
    NTK_RANK_COUNTS = 0
#define NTK_RANK_COUNT(...) +1
#include "shared/metrics/rank.def"
};
struct ntk_rank_count_row {
    const char *name;
    bool is_work; /* counted over all cores of the process, so that ranks can be compared */
    bool is_stored;
    enum ntk_metric metric; /* its metric, or NTK_METRIC_NONE */
};
extern const struct ntk_rank_count_row ntk_rank_count_rows[NTK_RANK_COUNTS];

struct ntk_rank_sample {
    uint32_t has;
    uint64_t key; /* the same for all ranks of one user's communicator, on every host */
    enum ntk_rank_state state;
    uint32_t rank, rank_count; /* number of this rank, and of ranks in the communicator */
    uint32_t world_rank, world_count;
    /* The operations are executions of this model; 0: the host calls the operations. */
    uint32_t model_id;
    uint32_t core;          /* first physical core; NTK_NO_CORE: unknown */
    const char *rendezvous; /* place where the ranks meet */
    const char *members;    /* world ranks in order, such as "0,4,8"; "": all */
    uint64_t join_timestamp_ns;
    /* The number of the current operation or, if there is none, the last one; it is the same on
     * every rank. */
    uint64_t sequence;
    enum ntk_collective operation;
    uint64_t in_flight; /* operations in flight; 0: none */
    /* time since the current operation was entered or, if there is none, the last one was left */
    uint64_t state_ns;
    uint64_t bytes; /* bytes that this rank contributes */
    uint32_t dtype;
    uint32_t status;     /* status of the last finished operation */
    uint32_t tid;        /* thread in the operation, as the process sees it; 0: unknown */
    uint64_t longest_ns; /* longest duration of a successful operation */
    /* Finished operations, by kind. */
    struct ntk_count operations[NTK_COLLECTIVE_COUNT];
    union {
        struct {
#define NTK_RANK_COUNT(name, ...) struct ntk_count name;
#include "shared/metrics/rank.def"
        };
        struct ntk_count counts[NTK_RANK_COUNTS]; /* the same members as a list */
    };
};

/* ---- network adapters ---- */

extern const char *const ntk_adapter_words[NTK_ADAPTER_COUNT]; /* such as "efa" */
/* Indexed by enum ntk_adapter_counter. */
struct ntk_adapter_row {
    enum ntk_adapter family;
    const char *name;
    enum ntk_metric metric;
};
extern const struct ntk_adapter_row ntk_adapter_rows[NTK_ADAPTER_COUNTERS];

/* A lost rank: its process ended without leaving or after the communicator broke, or it left a
 * communicator that has lost a rank. It is reported for some time, or until another rank replaces
 * it. */
struct ntk_lost_rank {
    uint32_t pid;
    const char *tag;
    const char *command;
    uint64_t lost_for_ns;
    struct ntk_rank_sample rank; /* its state when it was last seen */
};

/* A current finding of an agent about a communicator's ranks (ranks.h, ranks_pace.h,
 * ranks_change.h). */
enum ntk_trouble_kind {
    NTK_TROUBLE_HANGS,  /* an operation does not finish */
    NTK_TROUBLE_BROKE,  /* no rank waits any more, because a rank was missing */
    NTK_TROUBLE_SLOW,   /* the others repeatedly wait for one rank */
    NTK_TROUBLE_SLOWER, /* all ranks take longer than before (ranks_change.h) */
    NTK_TROUBLE_KIND_COUNT
};
extern const char *const ntk_trouble_kind_names[NTK_TROUBLE_KIND_COUNT]; /* such as "hangs" */

#define NTK_SNAPSHOT_TROUBLES_MAX 256u

struct ntk_rank_trouble {
    enum ntk_trouble_kind kind;
    uint64_t key; /* key of the communicator */
    const char *rendezvous;
    uint32_t rank_count;
    bool has_rank; /* otherwise no single rank is named */
    uint32_t rank;
    uint32_t pid; /* pid of the rank; 0: unknown */
    /* tag of the rank's process; if no rank is named, the tag of all ranks, or "" */
    const char *tag;
    const char *job_id; /* id of the batch job; "" if unknown */
    const char *cause;  /* state of the rank, or what blocks it; one word */
    enum ntk_collective operation;
    uint64_t sequence; /* number of the operation; 0: none */
    uint64_t since_ns;
    uint32_t missing_count; /* ranks that have not arrived; 0 if not applicable */
    uint64_t behind_ns;     /* time that the others wait for it in each operation; 0: unknown */
    uint64_t interval_ns;   /* time from one operation to the next; 0: unknown */
};

/* ---- pods: their cores and devices, from Kubernetes ---- */

/* The pod of a runtime; all texts are "" outside of Kubernetes or if unknown. */
struct ntk_pod {
#define NTK_PROCESS_POD(name, key) const char *name;
#include "shared/metrics/process.def"
};

/* A core (global logical number, as in all outputs) or a device that belongs to a pod. */
struct ntk_k8s_owner {
    uint32_t index;
    const char *pod_name;
    const char *namespace_name;
    const char *const *containers; /* names of the pod's containers that own the core or device */
    size_t container_count;
};

struct ntk_k8s {
    uint64_t period_ns; /* see NTK_GROUP_ABSENT, which is set if no consumer needs it */
    const char *error;
    struct ntk_k8s_owner *cores; /* sorted by index */
    size_t core_count;
    struct ntk_k8s_owner *devices;
    size_t device_count;
};

/* ---- jobs: their cores and devices, from the batch scheduler ---- */

#define NTK_SNAPSHOT_JOBS_MAX 512u
#define NTK_SNAPSHOT_JOB_CORES_MAX 1024u /* also the highest core number plus one */

/* The rows of job.def. */
enum {
    NTK_JOB_TEXTS = 0
#define NTK_JOB_TEXT(...) +1
#include "shared/metrics/job.def"
};
struct ntk_job_text {
    const char *column;
    const char *label;
};
extern const struct ntk_job_text ntk_job_texts[NTK_JOB_TEXTS];

/* A batch job. Cores are global logical numbers, ascending. */
struct ntk_job {
    union {
        struct {
#define NTK_JOB_TEXT(name, ...) const char *name;
#include "shared/metrics/job.def"
        };
        const char *texts[NTK_JOB_TEXTS]; /* the same members as a list */
    };
    uint64_t since_ns;
    uint32_t *cores; /* includes the cores of its devices */
    size_t core_count;
    uint32_t *devices; /* devices with cores that it holds */
    size_t device_count;
};

struct ntk_jobs {
    bool is_asked;     /* otherwise jobs are not watched, and an empty list has no meaning */
    const char *error; /* why some jobs are missing, or "" */
    struct ntk_job *rows;
    size_t count;
};

/* ---- runtimes: one observed process each ---- */

/* Where the hooks are that report a runtime. */
enum ntk_hooks_kind {
    NTK_HOOKS_UNKNOWN = 0,  /* in a report from another tool */
    NTK_HOOKS_BUILT_IN = 1, /* in the runtime itself, for our software cores: everything is known */
    NTK_HOOKS_PRELOADED = 2, /* in the process, around the calls of another runtime */
    NTK_HOOKS_ATTACHED = 3,  /* in a separate program that observes these calls */
    NTK_HOOKS_KIND_COUNT
};
/* Which executions of a runtime are counted and timed. */
enum ntk_executions_counted {
    NTK_EXECUTIONS_ALL = 0,
    NTK_EXECUTIONS_PART = 1, /* only until its hooks gave up: totals are incomplete */
    NTK_EXECUTIONS_NONE = 2, /* none: they are too frequent to be observed */
    NTK_EXECUTIONS_COUNTED_COUNT
};
extern const char *const ntk_executions_counted_names[NTK_EXECUTIONS_COUNTED_COUNT];

/* "" for the unknown kind. */
extern const char *const ntk_hooks_kind_names[NTK_HOOKS_KIND_COUNT];

enum ntk_runtime_has {
    NTK_RUNTIME_HAS_CPU = 1u << 0,
    NTK_RUNTIME_HAS_RSS = 1u << 1,
    NTK_RUNTIME_HAS_MEMORY = 1u << 2,
    NTK_RUNTIME_HAS_EXECUTIONS = 1u << 3,
    NTK_RUNTIME_HAS_CORES = 1u << 4,
    NTK_RUNTIME_HAS_MODELS = 1u << 5,
    NTK_RUNTIME_HAS_PERCENTILES = 1u << 6, /* total_percentile_ns is known, without a histogram */
    NTK_RUNTIME_HAS_DEVICE_PERCENTILES = 1u << 7, /* device_percentile_ns is known */
    NTK_RUNTIME_HAS_TOTALS = 1u << 8, /* the totals of its counts are known, as for models */
    NTK_RUNTIME_HAS_IN_FLIGHT = 1u << 9,
    NTK_RUNTIME_HAS_LISTED_MEMORY =
        1u << 10, /* memory lists its cores, even with zeros; for other cores nothing is known */
};

/*
 * The identity of a runtime within a boot. A segment may lie about its process, but not about its
 * owner. Because the key contains the owner, no user can impersonate another user's process.
 */
struct ntk_process_key {
    uint32_t header_pid;
    uint32_t uid;
    uint64_t start_time;
};

enum {
    NTK_PROCESS_SHARES = 0
#define NTK_PROCESS_SHARE(...) +1
#include "shared/metrics/process.def"
};

struct ntk_runtime_sample {
    uint32_t has;
    uint32_t pid; /* pid in this machine's /proc, used in reports */
    /* pid in the process's PID namespace; part of the key, with start_time and uid */
    uint32_t header_pid;
    uint64_t start_time; /* clock ticks since boot, field 22 of /proc/<pid>/stat */
    uint32_t uid;        /* owner of the segment */
    /* runs on software cores, for which engines, FLOPs and device latency are known */
    bool software;
    enum ntk_hooks_kind hooks;
    bool cores_guessed; /* the process's cores are unknown: the listed ones are guessed */
    enum ntk_executions_counted executions_counted;
    bool ended;            /* this is its last snapshot: last differences, memory 0 */
    bool killed;           /* exited without closing its runtime */
    struct ntk_exit exit;  /* how the process exited */
    bool first;            /* this is its first snapshot from this collector */
    bool by_address;       /* a configuration requested it by its address, which is its tag */
    const char *tag;       /* NEURON_PROCESS_TAG, else the pid as text */
    const char *error;     /* collection error; "" if none */
    const char *cpu_error; /* why CPU and RSS are absent */
#define NTK_PROCESS_TEXT(name) const char *name;
#include "shared/metrics/process.def"
    struct ntk_pod pod;
    uint32_t lnc;

    struct ntk_core_sample *cores; /* the cores that it owns, ascending */
    size_t core_count;

    /* Sums over the runtime's cores. */
    struct ntk_count outcome[NTK_OUTCOME_COUNT];
    struct ntk_count error_class[NTK_ERROR_CLASS_COUNT];
    uint64_t in_flight;
    struct ntk_histogram total_latency;
    struct ntk_histogram device_latency;
    bool has_device_latency;
    /* Indexed like ntk_percentile_list; only in a snapshot from a report without histograms. */
    double total_percentile_ns[NTK_PERCENTILE_COUNT];
    double device_percentile_ns[NTK_PERCENTILE_COUNT];
    uint64_t group_period_ns[NTK_RUNTIME_GROUP_COUNT]; /* see NTK_GROUP_ABSENT */

    struct ntk_memory_sample *memory; /* rows that are not 0, or were in use */
    size_t memory_count;
    struct ntk_memory_sample
        /* by location, core and category, with model_id 0: current is the sum, peak the highest sum
         * so far */
        *memory_by_category;
    size_t memory_by_category_count;

    struct ntk_model_sample *models; /* sorted by id */
    size_t model_count;
    struct ntk_model_series *series; /* sorted by name */
    size_t series_count;
    struct ntk_rank_sample *ranks;
    size_t rank_count;

    union { /* shares of all vCPUs together */
        struct {
#define NTK_PROCESS_SHARE(name, ...) double name;
#include "shared/metrics/process.def"
        };
        double shares[NTK_PROCESS_SHARES];
    };
#define NTK_PROCESS_BYTES(name, ...) uint64_t name;
#include "shared/metrics/process.def"

    struct ntk_count events_read;
    /* Events that were overwritten before they were read, dropped, or had no ring. */
    struct ntk_count events_lost;
};

/* ---- the host ---- */

enum ntk_cpu_field {
    NTK_CPU_USER = 0, /* same order as in the report */
    NTK_CPU_NICE = 1,
    NTK_CPU_SYSTEM = 2,
    NTK_CPU_IDLE = 3,
    NTK_CPU_IO_WAIT = 4,
    NTK_CPU_IRQ = 5,
    NTK_CPU_SOFT_IRQ = 6,
    NTK_CPU_FIELD_COUNT
};
/* such as "user" ... "soft_irq" */
extern const char *const ntk_cpu_field_names[NTK_CPU_FIELD_COUNT];

enum ntk_system_has {
    NTK_SYSTEM_HAS_CPU = 1u << 0,
    NTK_SYSTEM_HAS_MEMORY = 1u << 1,
    NTK_SYSTEM_HAS_CONTEXT_SWITCHES = 1u << 2,
    NTK_SYSTEM_HAS_SELF = 1u << 3,
};

/* The rows of system.def. */
enum {
    NTK_SYSTEM_FIGURES = 0
#define NTK_SYSTEM_GAUGE(...) +1
#define NTK_SYSTEM_COUNTER(...) +1
#include "shared/metrics/system.def"
};
struct ntk_system_row {
    const char *name;
    uint32_t has;                /* enum ntk_system_has */
    enum ntk_system_group group; /* group of the report */
    bool is_counter;
    enum ntk_metric metric;
};
extern const struct ntk_system_row ntk_system_rows[NTK_SYSTEM_FIGURES];

struct ntk_cpu_sample {
    uint32_t cpu;
    double share[NTK_CPU_FIELD_COUNT]; /* shares of the period */
};

struct ntk_system_sample {
    uint32_t has;
    const char *cpu_error;
    const char *memory_error;
    double average[NTK_CPU_FIELD_COUNT];
    struct ntk_cpu_sample *cpus; /* sorted by number */
    size_t cpu_count;
    union {
        struct {
#define NTK_SYSTEM_GAUGE(id, name, ...) uint64_t name;
#define NTK_SYSTEM_COUNTER(id, name, ...) uint64_t name; /* increase in the period */
#include "shared/metrics/system.def"
        };
        uint64_t figures[NTK_SYSTEM_FIGURES]; /* the same members as a list */
    };
    double self_vcpu_user; /* the collecting process's share of all CPUs */
    double self_vcpu_system;
    uint64_t self_memory_bytes; /* resident memory */
};

/* ---- events of the period: memory log, model loads, errors, profile start/stop, marks ---- */

struct ntk_event_sample {
    uint64_t realtime_ns; /* start time */
    uint64_t duration_ns;
    uint16_t kind;        /* enum ntk_event_kind */
    uint16_t flags;       /* as recorded */
    uint16_t core;        /* global physical number, or NTK_NO_CORE */
    uint16_t category;    /* MEM_*: enum ntk_memory_category */
    uint16_t location;    /* MEM_*: enum ntk_memory_location */
    uint16_t error_class; /* ERROR: enum ntk_error_class; others: NTK_ERROR_CLASS_NONE */
    uint32_t error_code;  /* ERROR: enum ntk_error_code */
    uint32_t pid;         /* pid of the runtime, as in its sample */
    uint32_t header_pid;
    uint64_t start_time; /* start time of the runtime's process */
    uint32_t uid;
    uint32_t tid; /* 0 if unknown */
    uint32_t model_id;
    uint32_t status;
    uint64_t execution_id; /* ERROR only */
    uint64_t address;      /* MEM_* only */
    uint64_t bytes;        /* MEM_*; MODEL_LOAD: device memory; PROFILE_STOP: written bytes */
    uint64_t value;        /* ERROR, MARK only */
    const char *name;      /* name of a tensor, model, file or mark */
    const char *tag; /* tag of a runtime that the snapshot may lack; NULL: it is in the snapshot */
};

/* Such as "alloc"; NULL for kinds that no list contains. */
extern const char *const ntk_event_kind_names[NTK_EVENT_KIND_COUNT];

/* Why a process could not write events. The other events in events_lost were overwritten before
 * they were read. */
enum ntk_unwritten {
    NTK_UNWRITTEN_NO_RING, /* no memory for a thread's ring, or all rings in use */
    NTK_UNWRITTEN_SIGNAL,  /* in a signal handler that interrupted the writing of another event */
    NTK_UNWRITTEN_COUNT
};

/* ---- identities ---- */

static inline struct ntk_process_key ntk_runtime_key(const struct ntk_runtime_sample *runtime)
{
    return (struct ntk_process_key){ runtime->header_pid, runtime->uid, runtime->start_time };
}

static inline struct ntk_process_key ntk_event_key(const struct ntk_event_sample *event)
{
    return (struct ntk_process_key){ event->header_pid, event->uid, event->start_time };
}

static inline bool ntk_runtime_has_event(const struct ntk_runtime_sample *runtime,
                                         const struct ntk_event_sample *event)
{
    return runtime->start_time == event->start_time && runtime->header_pid == event->header_pid &&
           runtime->uid == event->uid;
}

/* Returns true if two samples are of the same process, seen by the same collector: they have the
 * same key, and the same pid outside of its container. */
static inline bool ntk_runtime_is_same(const struct ntk_runtime_sample *a,
                                       const struct ntk_runtime_sample *b)
{
    return a->start_time == b->start_time && a->header_pid == b->header_pid && a->uid == b->uid &&
           a->pid == b->pid;
}

/* ---- totals that outlive runtimes ---- */

struct ntk_tag_total {
    const char *tag;
    uint64_t outcome[NTK_OUTCOME_COUNT];
    uint64_t error_class[NTK_ERROR_CLASS_COUNT];
};

struct ntk_snapshot {
    uint64_t sequence;     /* number of the collector's snapshot: 1, 2, ... */
    uint64_t realtime_ns;  /* end of the period, since 1970 UTC */
    uint64_t monotonic_ns; /* end of the period on CLOCK_MONOTONIC */
    uint64_t period_ns; /* duration; in the first snapshot, the time since the collector started */
    uint64_t every_ns;  /* for a report: the longest time until the next one; 0: unknown */
    const char *boot_id;
    const char *host_name;

    uint64_t group_period_ns[NTK_SYSTEM_GROUP_COUNT]; /* see NTK_GROUP_ABSENT */

    struct ntk_instance instance;
    struct ntk_hardware hardware;
    struct ntk_k8s k8s;
    struct ntk_jobs jobs;
    struct ntk_device_sample *devices;
    size_t device_count;
    struct ntk_core_sample *cores; /* every physical core of the machine; cores[i].core == i */
    size_t core_count;
    struct ntk_runtime_sample *runtimes; /* sorted by start time, then pid */
    size_t runtime_count;
    struct ntk_adapter_port *ports; /* sorted by family, adapter name, port */
    size_t port_count;
    struct ntk_lost_rank *lost_ranks;
    size_t lost_rank_count;
    struct ntk_rank_trouble *troubles; /* findings about ranks; none if no agent judges them */
    size_t trouble_count;
    const struct ntk_idle_sample *idle; /* see snapshot_idle.h; most snapshots have none */
    size_t idle_count;
    const struct ntk_span *spans; /* see spans.h; none if no exporter requests them */
    size_t span_count;
    uint64_t spans_lost; /* spans that were chosen but had no room */
    struct ntk_system_sample system;

    struct ntk_event_sample *events; /* sorted by time */
    size_t event_count;
    uint64_t events_unlisted; /* events of the listed kinds that did not fit into the list */
    /* Events are listed: an empty list means that there were none. */
    bool lists_events;
    struct ntk_count events_read; /* records of all kinds */
    struct ntk_count events_lost;
    struct ntk_count events_unwritten[NTK_UNWRITTEN_COUNT]; /* part of events_lost, by reason */

    struct ntk_count outcome[NTK_OUTCOME_COUNT]; /* over all runtimes, including ended ones */
    struct ntk_count error_class[NTK_ERROR_CLASS_COUNT];
    struct ntk_tag_total *tags; /* totals for the runtimes in this snapshot */
    size_t tag_count;

    uint64_t collect_duration_ns; /* time that it took to make the snapshot */
};

/* An empty snapshot in which all texts are ""; NULL if out of memory. */
struct ntk_snapshot *ntk_snapshot_create(void);
/* Adds a reference to the snapshot. */
const struct ntk_snapshot *ntk_snapshot_share(const struct ntk_snapshot *snapshot);
/* The size in memory, for code that keeps many snapshots. */
size_t ntk_snapshot_bytes(const struct ntk_snapshot *snapshot);
/* realtime_ns; the current time if it is 0. */
uint64_t ntk_snapshot_time_ns(const struct ntk_snapshot *snapshot);
/* Drops a reference; the last one frees the snapshot. Accepts NULL. */
void ntk_snapshot_destroy(const struct ntk_snapshot *snapshot);

/* Zeroed memory that lives as long as the snapshot; NULL after a failure, which persists (see _ok).
 * A count of 0 returns NULL without a failure. */
void *ntk_snapshot_alloc(struct ntk_snapshot *snapshot, size_t count, size_t item_bytes);
/* A copy of the text; "" if out of memory or text is NULL. */
const char *ntk_snapshot_text(struct ntk_snapshot *snapshot, const char *text);
const char *ntk_snapshot_format(struct ntk_snapshot *snapshot, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A copy of the dense histogram's used buckets. */
struct ntk_histogram ntk_snapshot_histogram(struct ntk_snapshot *snapshot,
                                            const struct ntk_histogram_dense *dense);
/* A copy of the entries. */
struct ntk_histogram ntk_snapshot_histogram_of(struct ntk_snapshot *snapshot,
                                               const struct ntk_histogram_entry *entries,
                                               size_t count, uint64_t sum_ns);
/* Returns false if an allocation failed: discard the snapshot then. */
bool ntk_snapshot_ok(const struct ntk_snapshot *snapshot);
/* Allocate arrays in which texts are "" instead of NULL, and set the owner's pointer and count.
 * Return NULL on failure. */
struct ntk_runtime_sample *ntk_snapshot_alloc_runtimes(struct ntk_snapshot *snapshot, size_t count);
/* An element like those of _alloc_runtimes, in which nothing is known. For sources that do not know
 * the number yet. */
struct ntk_runtime_sample ntk_snapshot_no_runtime(void);
struct ntk_device_sample *ntk_snapshot_alloc_devices(struct ntk_snapshot *snapshot, size_t count);
struct ntk_event_sample *ntk_snapshot_alloc_events(struct ntk_snapshot *snapshot, size_t count);
struct ntk_model_sample *ntk_snapshot_alloc_models(struct ntk_snapshot *snapshot,
                                                   struct ntk_runtime_sample *runtime,
                                                   size_t count);

struct ntk_rank_sample *ntk_snapshot_alloc_ranks(struct ntk_snapshot *snapshot,
                                                 struct ntk_runtime_sample *runtime, size_t count);
void ntk_snapshot_set_ports(struct ntk_snapshot *snapshot, const struct ntk_adapter_port *ports,
                            size_t count);
struct ntk_lost_rank *ntk_snapshot_alloc_lost_ranks(struct ntk_snapshot *snapshot, size_t count);
/* Copies the findings with their texts. If out of memory, there are none, and the snapshot is not
 * ok. */
void ntk_snapshot_set_troubles(struct ntk_snapshot *snapshot,
                               const struct ntk_rank_trouble *troubles, size_t count);
/* Copies the jobs and their data, within limits. If out of memory, there are none, and the snapshot
 * is not ok. */
void ntk_snapshot_set_jobs(struct ntk_snapshot *snapshot, const struct ntk_jobs *jobs);

/* ---- events beyond the limit ---- */

#define NTK_SNAPSHOT_JOINED_EVENTS_MAX 1024

bool ntk_snapshot_event_is_memory(const struct ntk_event_sample *event);
/* Keeps at most `room` events, in their order, and returns their number. Errors are kept first and
 * the memory log last. Within a kind, users get equal shares, and so do the processes of a user, if
 * they have enough events; the newest events of each process are kept. */
size_t ntk_snapshot_keep_events(struct ntk_event_sample *events, size_t count, size_t room);
/* Sets the events of `to` to both lists, within the limit; omitted events count as unlisted. The
 * lists may be those of `to`; texts are copied. */
void ntk_snapshot_join_events(struct ntk_snapshot *to, const struct ntk_event_sample *older,
                              size_t older_count, const struct ntk_event_sample *newer,
                              size_t newer_count);

/* ---- views ---- */

/* The earlier of two times; 0 means none. */
static inline uint64_t ntk_snapshot_earlier(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/*
 * Computes the logical core `logical` (global number) from physical cores: utilization and the busy
 * times (core and engines) are means over lnc cores, everything else is the sum. The histograms
 * come from the core of the pair that has them; unwatched is NULL. Returns false if cores[] has
 * none of its physical cores.
 */
bool ntk_snapshot_logical_core(const struct ntk_core_sample *cores, size_t core_count, uint32_t lnc,
                               uint32_t logical, struct ntk_core_sample *out);
/* Adds counts, utilization and work in flight; if `into` has no histograms, it borrows those of
 * `from`. The caller handles the unobserved part. */
void ntk_snapshot_add_core(struct ntk_core_sample *into, const struct ntk_core_sample *from);
/* A core without the unobserved part in its period's counts: the base of rates and shares. Its
 * histograms are unchanged. */
struct ntk_core_sample ntk_snapshot_watched_core(const struct ntk_core_sample *core);
/* The outcomes of a runtime without the unobserved part of its cores; unchanged if the cores have
 * another period. */
void ntk_snapshot_watched_outcome(const struct ntk_runtime_sample *runtime,
                                  struct ntk_count out_outcome[NTK_OUTCOME_COUNT]);
/* Same as ntk_snapshot_logical_core(), for the observed part of cores. */
bool ntk_snapshot_watched_logical_core(const struct ntk_core_sample *cores, size_t core_count,
                                       uint32_t lnc, uint32_t logical, struct ntk_core_sample *out);
/* The number of logical cores with at least one physical core in cores[] (ascending). Writes at
 * most capacity of their numbers to out_logical, which may be NULL. */
size_t ntk_snapshot_logical_list(const struct ntk_core_sample *cores, size_t core_count,
                                 uint32_t lnc, uint32_t *out_logical, size_t capacity);
/* Finds a core by number; NULL if there is none. */
const struct ntk_core_sample *ntk_snapshot_find_core(const struct ntk_core_sample *cores,
                                                     size_t core_count, uint32_t core);
/* Finds the sample of the same process. */
const struct ntk_runtime_sample *
ntk_snapshot_find_runtime(const struct ntk_snapshot *snapshot,
                          const struct ntk_runtime_sample *runtime);
/* Finds a device by index; snapshot may be NULL. */
const struct ntk_device_sample *ntk_snapshot_find_device(const struct ntk_snapshot *snapshot,
                                                         uint32_t index);
/* The share of the period for which an engine was busy, 0 to 1. */
double ntk_snapshot_engine_share(const struct ntk_snapshot *snapshot,
                                 const struct ntk_core_sample *core, enum ntk_engine engine);
/* A period's count per second; 0 for a period of 0. */
double ntk_snapshot_rate(const struct ntk_snapshot *snapshot, struct ntk_count count);
/* The sum over the NTK_OUTCOME_COUNT outcomes of the period. */
uint64_t ntk_snapshot_outcome_sum(const struct ntk_count *outcome);

/* The vendor's groups of neuron-monitor and neuron-top: sums over shared/abi/memory.def. */
enum ntk_memory_group {
    NTK_GROUP_HOST_APPLICATION = 0,
    NTK_GROUP_HOST_CONSTANTS = 1,
    NTK_GROUP_HOST_DMA_BUFFERS = 2,
    NTK_GROUP_HOST_TENSORS = 3,
    NTK_GROUP_CONSTANTS = 4,
    NTK_GROUP_MODEL_CODE = 5,
    NTK_GROUP_SCRATCHPAD = 6,
    NTK_GROUP_RUNTIME = 7,
    NTK_GROUP_TENSORS = 8,
    NTK_GROUP_COUNT
};
extern const char *const ntk_memory_group_keys[NTK_GROUP_COUNT]; /* keys in the report */
extern const char *const ntk_memory_category_names[NTK_MEMORY_CATEGORY_COUNT];
extern const char *const ntk_engine_labels[NTK_ENGINE_COUNT]; /* such as "pe" */
extern const char *const ntk_outcome_names[NTK_OUTCOME_COUNT];
extern const char *const ntk_error_class_names[NTK_ERROR_CLASS_COUNT];
enum ntk_memory_group ntk_memory_group_of(enum ntk_memory_category category);

/* Returns true if a runtime's memory in a group is known: calls around another runtime show only
 * tensors, and another tool's report shows only the groups that it lists. An unknown group is not
 * zero. */
bool ntk_snapshot_tells_group(const struct ntk_runtime_sample *runtime,
                              enum ntk_memory_group group);
/* Returns true if an estimate for a model is part of the runtime's device memory; model is an id,
 * or NTK_MEMORY_ANY for all models. */
bool ntk_snapshot_memory_is_estimated(const struct ntk_runtime_sample *runtime, uint32_t model_id);

#define NTK_MEMORY_ANY UINT32_MAX
/*
 * Adds the current bytes of a runtime's matching rows to group[] by vendor group, and to the other
 * outputs by location; each of these may be NULL. core is a global physical number (NTK_NO_CORE:
 * rows without a core), model is an id (0: rows without a model); NTK_MEMORY_ANY matches
 * everything. Memory that hooks around another runtime cannot categorize is in no group.
 */
void ntk_snapshot_memory_add(const struct ntk_runtime_sample *runtime, uint32_t core,
                             uint32_t model_id, uint64_t group[NTK_GROUP_COUNT],
                             uint64_t *host_bytes, uint64_t *device_bytes);
/* Returns true if a runtime's rows are complete, so that a missing row means 0. */
bool ntk_snapshot_tells_memory(const struct ntk_runtime_sample *runtime);
/* A runtime's memory in one location, host or device. A source that reports only a part may have no
 * rows: then the memory is unknown, not 0. */
struct ntk_memory_total {
    uint64_t bytes; /* sum over the reported rows */
    bool known;
    bool estimated; /* a part of it is a difference measured around a load */
};
/* The total of the rows that ntk_snapshot_memory_add() adds. */
void ntk_snapshot_memory_total(const struct ntk_runtime_sample *runtime, uint32_t core,
                               uint32_t model_id, struct ntk_memory_total *out_host,
                               struct ntk_memory_total *out_device);

/* A row of the catalogue of machines. Functions return NULL for an unknown machine. */
struct ntk_machine {
    const char *instance_type;
    uint32_t device_count;
    uint32_t cores_per_device;
    uint32_t stack_count;
    uint32_t cores_per_stack;
    uint64_t stack_bytes;
    uint32_t lnc_default;
    uint32_t lnc_max;
    const char *sysfs_device_arch;
    const char *sysfs_instance_type;
    const char *sysfs_device_name;
    const char *device_type;
    const char *device_version;
    const char *core_version;      /* version with LNC 1 */
    const char *core_version_lnc2; /* version with LNC 2; "" if none */
    const char *memory_type;       /* usual name of its device memory */
    const char *core_arch;         /* such as "NCv3" */
    double tensor_peak_flops;      /* peak of a physical core */
    uint32_t tensor_columns;       /* columns of a physical core's tensor engine */
    uint32_t vcpu_count;
};
const struct ntk_machine *ntk_machine_find(const char *instance_type);
/* Any machine of the family with this device_name in its device tree, such as "Trainium2". */
const struct ntk_machine *ntk_machine_find_device(const char *sysfs_device_name);
/* The usual name of the devices' memory: "DRAM", or "HBM" (the default for an unknown machine). */
const char *ntk_machine_memory_type(const struct ntk_hardware *hardware);
/* The LNC that tools show if the running processes do not specify one: from
 * NEURON_RT_VIRTUAL_CORE_SIZE, NEURON_LOGICAL_NC_CONFIG, or the family's default; 1 for an unknown
 * machine (NULL). */
uint32_t ntk_machine_lnc(const struct ntk_machine *machine);

#ifdef __cplusplus
}
#endif
#endif
