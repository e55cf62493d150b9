/* SPDX-License-Identifier: MIT */
/*
 * snapshot - one period of the machine, as plain data.
 *
 * shared/collect makes one per period; the report can be parsed back to one; store, HTTP, exporters
 * and neuron-top only read it.
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

/* Groups that can be requested, and be due, separately; in the order of the report. */
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

/* A group period: 0 means the snapshot's period_ns (always so from the collector). A group with
 * another period was due in this snapshot; an absent one was not due, or was not requested. */
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
    size_t place;       /* place of an instance fact among the labels */
};
extern const struct ntk_machine_text ntk_instance_texts[NTK_INSTANCE_TEXTS];
extern const struct ntk_machine_text ntk_hardware_texts[NTK_HARDWARE_TEXTS];

/* The place of the machine; all "" outside of EC2. */
struct ntk_instance {
    union {
        struct {
#define NTK_INSTANCE_TEXT(name, ...) const char *name;
#include "shared/metrics/machine.def"
        };
        const char *texts[NTK_INSTANCE_TEXTS]; /* all of them */
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
    const char *error; /* the reason if nothing is known, else "" */
    /* "trn1.32xlarge"; the report's words: "trainium2", "v4"; by lnc: "v3", "v3d"; the driver's. */
    union {
        struct {
#define NTK_HARDWARE_TEXT(name, ...) const char *name;
#include "shared/metrics/machine.def"
        };
        const char *texts[NTK_HARDWARE_TEXTS]; /* all of them */
    };
    uint32_t device_count;
    uint32_t cores_per_device; /* physical */
    uint32_t lnc;              /* physical cores per logical core in tools: 1 or 2 */
    uint32_t stack_count;      /* HBM stacks per device */
    uint32_t cores_per_stack;
    uint64_t device_memory_bytes; /* capacity of one device */
    double tensor_peak_flops;     /* of one physical core */
};

/* ---- devices ---- */

enum ntk_ecc {
#define NTK_DEVICE_ECC(symbol, name) NTK_ECC_##symbol,
#include "shared/metrics/device.def"
    NTK_ECC_COUNT
};
extern const char *const ntk_ecc_names[NTK_ECC_COUNT]; /* "mem_ecc_corrected" ... */

/* Earlier counters of a device. */
struct ntk_ecc_stored {
    uint32_t has;                    /* bit i describes [i] of the other fields */
    uint64_t counter[NTK_ECC_COUNT]; /* the driver's; 0 if the machine was booted since then */
    uint64_t total[NTK_ECC_COUNT];
};

/* The object of an error event: ECC by the names above, "device_reset", or "" for an execution,
 * which has a status. */
extern const char *const ntk_error_code_names[NTK_ERROR_CODE_COUNT];

enum ntk_device_has {
    NTK_DEVICE_HAS_ECC = 1u << 0, /* bit i of ecc_has describes ecc[i] */
    NTK_DEVICE_HAS_CONNECTED_DEVICES = 1u << 1,
    NTK_DEVICE_HAS_MEMORY_CAPACITY = 1u << 2,
    NTK_DEVICE_HAS_MEMORY_USED = 1u << 3,
    NTK_DEVICE_HAS_POWER = 1u << 4,
    NTK_DEVICE_HAS_ECC_TOTAL = 1u << 5, /* ... and of its total: not in a recording */
    NTK_DEVICE_HAS_HEALTH = 1u << 6,
};

/* A reason for an unhealthy device, while it lasts. */
struct ntk_health_sample {
    uint16_t reason;    /* enum ntk_health_reason */
    uint16_t core;      /* global physical, the first one; NTK_NO_CORE: the whole device */
    uint32_t cores;     /* bit i: the reason applies to core i of the device, physical */
    uint32_t status;    /* of an execution, as in shared/abi/result.def; 0 none */
    uint64_t since_ns;  /* since 1970 UTC; time at which the collector first saw it */
    uint64_t last_ns;   /* time at which it, or an increase, was last seen */
    uint64_t count;     /* the number of errors or executions; 0 if unknown */
    const char *detail; /* the device's text for it, "" none */
};

struct ntk_device_sample {
    uint32_t has;
    uint32_t index;
    uint32_t core_count; /* physical */
    const char *name;    /* "Trainium2" */
    const char *arch;    /* "NDv3" */
    const char *serial_number;
    uint32_t connected_device_count;
    uint8_t connected_devices[NTK_SNAPSHOT_CONNECTED_DEVICES_MAX];
    uint32_t stack_count;
    uint32_t ecc_has;
    /* total: the driver's counter; it continues when the driver is loaded again and, with stored
     * totals, when the agent is restarted. */
    struct ntk_count ecc[NTK_ECC_COUNT];
    uint64_t ecc_counter[NTK_ECC_COUNT]; /* the driver's current value */
    /* In the first period of an agent that continues stored totals: the driver's counts while no
     * agent was running. They are in totals, not in periods. */
    uint64_t ecc_unwatched[NTK_ECC_COUNT];
    uint64_t power_timestamp_seconds; /* Unix time of the minute that power covers */
#define NTK_DEVICE_BYTES(name, ...) uint64_t name[NTK_SNAPSHOT_STACKS_MAX];
#define NTK_DEVICE_RATIO(name, ...) double name;
#include "shared/metrics/device.def"
    uint32_t verdict;          /* enum ntk_health_verdict */
    uint32_t health_evidence;  /* bits of enum ntk_health_evidence: the basis of the verdict */
    uint64_t verdict_since_ns; /* 1970 UTC */
    struct ntk_health_sample *health; /* reasons, worst first; each once */
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
    size_t offset; /* in struct ntk_device_sample */
    size_t bytes;
    uint32_t has; /* enum ntk_device_has */
    enum ntk_metric metric;
    const char *statistic; /* of a ratio; NULL: bytes of each stack */
};
extern const struct ntk_device_row ntk_device_rows[NTK_DEVICE_ROWS];
/* Sum of the bytes of each stack. */
uint64_t ntk_device_sum(const struct ntk_device_sample *device, const uint64_t *stacks);

/* ---- cores ---- */

enum ntk_core_has {
#define NTK_CORE_GROUP(bit, name) NTK_CORE_HAS_##name = 1u << bit,
#include "shared/metrics/core_state.def"
    /* For a software core without a process: it is known to be idle. */
    NTK_CORE_HAS_IDLE = NTK_CORE_HAS_BUSY | NTK_CORE_HAS_ENGINES | NTK_CORE_HAS_FLOPS |
                        NTK_CORE_HAS_EFFECTIVE_FLOPS | NTK_CORE_HAS_BYTES | NTK_CORE_HAS_EXECUTIONS,
};

/* The lists of core_counts.def. */
#define NTK_CORE_LIST_ONE
#define NTK_CORE_LIST_ENGINE [NTK_ENGINE_COUNT]
#define NTK_CORE_LIST_OUTCOME [NTK_OUTCOME_COUNT]
#define NTK_CORE_LIST_ERROR_CLASS [NTK_ERROR_CLASS_COUNT]
enum {
    NTK_CORE_COUNTS = 0 /* counts of a core, those of lists separately */
#define NTK_CORE_COUNT(id, member, list, ...) +sizeof(char NTK_CORE_LIST_##list)
#include "shared/abi/core_counts.def"
    ,
    NTK_CORE_COUNT_ROWS = 0
#define NTK_CORE_COUNT(...) +1
#include "shared/abi/core_counts.def"
};

/* One physical core: of one runtime, or of the machine (sum over all runtimes). With LNC 2 only the
 * first core of the pair has execution counts, errors, latency, in_flight and transfers. */
struct ntk_core_sample {
    uint32_t has;
    uint32_t core; /* global physical (logical after ntk_snapshot_logical_core) */
#define NTK_CORE_STATE(name, type, ...) type name;
#include "shared/metrics/core_state.def"
    union {
        struct { /* busy_ns: includes running executions up to now */
#define NTK_CORE_COUNT(id, member, list, ...) struct ntk_count member NTK_CORE_LIST_##list;
#include "shared/abi/core_counts.def"
        };
        struct ntk_count counts[NTK_CORE_COUNTS]; /* all of them */
    };
    struct ntk_histogram total_latency;  /* of the period */
    struct ntk_histogram device_latency; /* of the period */
    /* In the first period of an agent that continues stored totals: the part of the periods and
     * histograms above from before, when no agent watched. It counts, but is in no rate or share.
     * Its totals have no meaning; a report has no histograms of it. NULL: nothing. */
    const struct ntk_core_sample *unwatched;
    /* For a runtime: the start of the segment of the totals (CLOCK_MONOTONIC). It distinguishes the
     * runs of a process that closed the runtime and began again. */
    uint64_t began_ns;
    /* If the period has more than one of them: each separately, in order; the totals of the last
     * one are those above. NULL: one. began_ns, counts and histograms are known. */
    const struct ntk_core_sample *lives;
    size_t life_count;
};

/* The index in counts[] of a count, or of the first of a list. */
#define NTK_CORE_COUNT_AT(member)                                                            \
    ((offsetof(struct ntk_core_sample, member) - offsetof(struct ntk_core_sample, counts)) / \
     sizeof(struct ntk_count))

/* The rows of core_counts.def, by id. */
struct ntk_core_count_row {
    size_t at; /* in counts[] */
    size_t count;
    uint32_t has;             /* enum ntk_core_has */
    enum ntk_metric metric;   /* its counter, or NTK_METRIC_NONE */
    const char *column;       /* of the database; for a list the part after a name */
    const char *const *names; /* of the values of a list; NULL: not a list */
};
extern const struct ntk_core_count_row ntk_core_count_rows[NTK_CORE_COUNT_ROWS];

/* The rows of core_state.def. */
enum {
    NTK_CORE_STATES = 0
#define NTK_CORE_STATE(...) +1
#include "shared/metrics/core_state.def"
};
struct ntk_core_state_row {
    size_t offset;          /* in struct ntk_core_sample; a uint64_t if there is a metric */
    uint32_t has;           /* enum ntk_core_has; 0: absent is 0 */
    bool is_smallest;       /* combines several as the smallest; else the largest */
    enum ntk_metric metric; /* NTK_METRIC_NONE */
};
extern const struct ntk_core_state_row ntk_core_state_rows[NTK_CORE_STATES];

/* ---- memory of a runtime ---- */

/* One row: location x core x model x category. */
struct ntk_memory_sample {
    uint16_t location; /* enum ntk_memory_location */
    uint16_t core;     /* global physical, NTK_NO_CORE for none */
    uint16_t category; /* enum ntk_memory_category */
    uint16_t reserved;
    uint32_t model_id; /* 0: belongs to the core or process */
    uint32_t reserved_1;
    uint64_t current_bytes;
    uint64_t peak_bytes;
};

/* ---- models of a runtime ---- */

/* The longest one, shown as an example. */
struct ntk_slow_execution {
    uint64_t end_ns; /* since 1970 UTC; 0: unknown */
    uint64_t duration_ns;
    uint64_t id;  /* in its process, as in ERROR events and traces */
    uint32_t pid; /* as in the sample of its runtime */
};

enum ntk_model_has {
    NTK_MODEL_HAS_LATENCY = 1u << 0,
    NTK_MODEL_HAS_DEVICE_LATENCY = 1u << 1,
    NTK_MODEL_HAS_EXECUTIONS = 1u << 2, /* executions and errors */
    NTK_MODEL_HAS_IN_FLIGHT = 1u << 3,
    NTK_MODEL_HAS_EFFECTIVE_FLOPS = 1u << 4,
    NTK_MODEL_HAS_TOTALS =
        1u << 5, /* the totals of its counts: reports and databases have periods */
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
    char uuid[33];   /* 32 lower-case hexadecimal digits, "" unknown */
    bool loaded;     /* false: unloaded in this period, listed again with its last counts */
    bool is_running; /* an execution ran or was running in the period */
    bool estimated;  /* nothing is computed, its durations are estimates (opaque program) */
    /* its device memory is a difference around its load (row "uncategorized") */
    bool memory_estimated;
    uint32_t core;       /* first physical core */
    uint32_t core_count; /* physical cores */
    uint64_t in_flight;
    union {
        struct {
#define NTK_MODEL_COUNT(name, known) struct ntk_count name;
#include "shared/metrics/model.def"
        };
        struct ntk_count counts[NTK_MODEL_COUNTS]; /* all of them */
    };
    uint64_t load_timestamp_ns;
    uint64_t load_ns;
    struct ntk_histogram total_latency;
    struct ntk_histogram device_latency;
    struct ntk_slow_execution slowest; /* in the period; for an agent that only reads events */
};

/* Cumulative latency by model name, while the runtime lives: unloading one of two models with the
 * same name removes nothing. */
struct ntk_model_series {
    const char *name;
    struct ntk_latency_series total;
    struct ntk_latency_series device;
};

/* ---- communicators of a runtime: the process as a rank ---- */

enum ntk_rank_state {
    NTK_RANK_JOINED = 0,
    NTK_RANK_LEFT = 1,
    NTK_RANK_BROKEN = 2, /* left because another rank was missed */
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
    bool is_work; /* over all cores of the process, so that ranks can be compared */
    bool is_stored;
    enum ntk_metric metric; /* its counter, or NTK_METRIC_NONE */
};
extern const struct ntk_rank_count_row ntk_rank_count_rows[NTK_RANK_COUNTS];

struct ntk_rank_sample {
    uint32_t has;
    uint64_t key; /* the same for all ranks of one user's communicator, on every host */
    enum ntk_rank_state state;
    uint32_t rank, rank_count; /* in the communicator */
    uint32_t world_rank, world_count;
    /* the executions of this model are the operations; 0: the host calls them */
    uint32_t model_id;
    uint32_t core;          /* first physical, NTK_NO_CORE unknown */
    const char *rendezvous; /* place where the ranks meet */
    const char *members;    /* "0,4,8": world ranks in order; "": all */
    uint64_t join_timestamp_ns;
    /* The current operation or, if there is none, the last one; the same number on every rank. */
    uint64_t sequence;
    enum ntk_collective operation;
    uint64_t in_flight; /* 0: none */
    uint64_t state_ns;  /* the time since it was entered or, without a current one, left */
    uint64_t bytes;     /* of this rank */
    uint32_t dtype;
    uint32_t status;     /* of the last one that ended */
    uint32_t tid;        /* the thread in it, as the process sees it; 0 unknown */
    uint64_t longest_ns; /* of the operations that succeeded */
    /* Of operations that ended. */
    struct ntk_count operations[NTK_COLLECTIVE_COUNT];
    union {
        struct {
#define NTK_RANK_COUNT(name, ...) struct ntk_count name;
#include "shared/metrics/rank.def"
        };
        struct ntk_count counts[NTK_RANK_COUNTS]; /* all of them */
    };
};

/* ---- network adapters ---- */

extern const char *const ntk_adapter_words[NTK_ADAPTER_COUNT]; /* "efa" ... */
/* By enum ntk_adapter_counter. */
struct ntk_adapter_row {
    enum ntk_adapter family;
    const char *name;
    enum ntk_metric metric;
};
extern const struct ntk_adapter_row ntk_adapter_rows[NTK_ADAPTER_COUNTERS];

/* A lost rank: its process ended without leaving or after the communicator broke, or it left one
 * that has lost a rank. It is reported for a while, or until it is replaced. */
struct ntk_lost_rank {
    uint32_t pid;
    const char *tag;
    const char *command;
    uint64_t lost_for_ns;
    struct ntk_rank_sample rank; /* when it was last seen */
};

/* An agent's report about the ranks of a communicator (ranks.h, ranks_pace.h, ranks_change.h),
 * while it holds. */
enum ntk_trouble_kind {
    NTK_TROUBLE_HANGS,  /* an operation does not continue */
    NTK_TROUBLE_BROKE,  /* no rank waits any more, because one was missed */
    NTK_TROUBLE_SLOW,   /* the others wait for one rank repeatedly */
    NTK_TROUBLE_SLOWER, /* all take longer than before (ranks_change.h) */
    NTK_TROUBLE_KIND_COUNT
};
extern const char *const ntk_trouble_kind_names[NTK_TROUBLE_KIND_COUNT]; /* "hangs" ... */

#define NTK_SNAPSHOT_TROUBLES_MAX 256u

struct ntk_rank_trouble {
    enum ntk_trouble_kind kind;
    uint64_t key; /* of the communicator */
    const char *rendezvous;
    uint32_t rank_count;
    bool has_rank; /* else no single rank is named */
    uint32_t rank;
    uint32_t pid;       /* of the rank; 0: unknown */
    const char *tag;    /* of its process; without a process that of all ranks, or "" */
    const char *job_id; /* of the batch job; "" unknown */
    const char *cause;  /* state of the rank, or its blocker; one word */
    enum ntk_collective operation;
    uint64_t sequence; /* of the operation; 0: none */
    uint64_t since_ns;
    uint32_t missing_count; /* ranks that have not come; 0 if not applicable */
    uint64_t behind_ns;     /* the others wait this long for it in each operation; 0: unknown */
    uint64_t interval_ns;   /* from one operation to the next; 0: unknown */
};

/* ---- pods: their cores and devices, from Kubernetes ---- */

/* The pod of a runtime; all "" outside of Kubernetes or if unknown. */
struct ntk_pod {
#define NTK_PROCESS_POD(name, key) const char *name;
#include "shared/metrics/process.def"
};

/* A core (global logical number, as in all outputs) or a device that belongs to a pod. */
struct ntk_k8s_owner {
    uint32_t index;
    const char *pod_name;
    const char *namespace_name;
    const char *const *containers; /* of the pod: those that it belongs to */
    size_t container_count;
};

struct ntk_k8s {
    uint64_t period_ns; /* see NTK_GROUP_ABSENT, set if no consumer needs it */
    const char *error;
    struct ntk_k8s_owner *cores; /* ascending index */
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

/* Cores are global logical numbers, ascending. */
struct ntk_job {
    union {
        struct {
#define NTK_JOB_TEXT(name, ...) const char *name;
#include "shared/metrics/job.def"
        };
        const char *texts[NTK_JOB_TEXTS]; /* all of them */
    };
    uint64_t since_ns;
    uint32_t *cores; /* including those of its devices */
    size_t core_count;
    uint32_t *devices; /* if it holds a core or all of one */
    size_t device_count;
};

struct ntk_jobs {
    bool is_asked;     /* else jobs are not watched, and an empty list has no meaning */
    const char *error; /* the reason if one or more are missing, or "" */
    struct ntk_job *rows;
    size_t count;
};

/* ---- runtimes: one observed process each ---- */

/* The place of the hooks that report a runtime. */
enum ntk_hooks_kind {
    NTK_HOOKS_UNKNOWN = 0,   /* a report of another tool */
    NTK_HOOKS_BUILT_IN = 1,  /* in the runtime itself, for our cores: everything is known */
    NTK_HOOKS_PRELOADED = 2, /* in the process, around the calls of another runtime */
    NTK_HOOKS_ATTACHED = 3,  /* in a program next to the process that observes these calls */
    NTK_HOOKS_KIND_COUNT
};
/* The executions of a runtime that are counted and timed. */
enum ntk_executions_counted {
    NTK_EXECUTIONS_ALL = 0,
    NTK_EXECUTIONS_PART = 1, /* until its hooks gave up: totals are incomplete */
    NTK_EXECUTIONS_NONE = 2, /* too frequent to be observed */
    NTK_EXECUTIONS_COUNTED_COUNT
};
extern const char *const ntk_executions_counted_names[NTK_EXECUTIONS_COUNTED_COUNT];

/* "" for an unknown one. */
extern const char *const ntk_hooks_kind_names[NTK_HOOKS_KIND_COUNT];

enum ntk_runtime_has {
    NTK_RUNTIME_HAS_CPU = 1u << 0,
    NTK_RUNTIME_HAS_RSS = 1u << 1,
    NTK_RUNTIME_HAS_MEMORY = 1u << 2,
    NTK_RUNTIME_HAS_EXECUTIONS = 1u << 3,
    NTK_RUNTIME_HAS_CORES = 1u << 4,
    NTK_RUNTIME_HAS_MODELS = 1u << 5,
    NTK_RUNTIME_HAS_PERCENTILES = 1u << 6,        /* total_percentile_ns, without a histogram */
    NTK_RUNTIME_HAS_DEVICE_PERCENTILES = 1u << 7, /* device_percentile_ns */
    NTK_RUNTIME_HAS_TOTALS = 1u << 8,             /* the totals of its counts, as for models */
    NTK_RUNTIME_HAS_IN_FLIGHT = 1u << 9,
    NTK_RUNTIME_HAS_LISTED_MEMORY =
        1u << 10, /* memory lists its cores, even at zero: about others nothing is known */
};

/*
 * The identity of a runtime, within a boot. A segment may lie about its process, but not about its
 * owner: with the owner in the key no user can pretend to be a process of another.
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
    uint32_t pid;        /* in this machine's /proc: the pid in reports */
    uint32_t header_pid; /* in the process's PID namespace; key together with start_time and uid */
    uint64_t start_time; /* clock ticks since boot, field 22 of /proc/<pid>/stat */
    uint32_t uid;        /* owner of the segment */
    bool software;       /* runs on software cores: engines, FLOPs, device latency are known */
    enum ntk_hooks_kind hooks;
    bool cores_guessed; /* the cores of the process are unknown: those listed are a guess */
    enum ntk_executions_counted executions_counted;
    bool ended;            /* its last snapshot: last differences, memory 0 */
    bool killed;           /* ended without closing its runtime */
    struct ntk_exit exit;  /* ... and how the process exited */
    bool first;            /* its first snapshot of this collector */
    bool by_address;       /* a configuration requested it by its address, which is its tag */
    const char *tag;       /* NEURON_PROCESS_TAG, else pid as text */
    const char *error;     /* collection error, "" if none */
    const char *cpu_error; /* the reason why CPU and RSS are absent */
#define NTK_PROCESS_TEXT(name) const char *name;
#include "shared/metrics/process.def"
    struct ntk_pod pod;
    uint32_t lnc;

    struct ntk_core_sample *cores; /* those that it owns, ascending */
    size_t core_count;

    /* Sums over its cores. */
    struct ntk_count outcome[NTK_OUTCOME_COUNT];
    struct ntk_count error_class[NTK_ERROR_CLASS_COUNT];
    uint64_t in_flight;
    struct ntk_histogram total_latency;
    struct ntk_histogram device_latency;
    bool has_device_latency;
    /* By ntk_percentile_list; only in a snapshot from a report without histograms. */
    double total_percentile_ns[NTK_PERCENTILE_COUNT];
    double device_percentile_ns[NTK_PERCENTILE_COUNT];
    uint64_t group_period_ns[NTK_RUNTIME_GROUP_COUNT]; /* see NTK_GROUP_ABSENT */

    struct ntk_memory_sample *memory; /* rows that are not 0, or were in use */
    size_t memory_count;
    struct ntk_memory_sample
        *memory_by_category; /* location x core x category, model_id 0: current is the sum, peak
                              * the highest sum so far */
    size_t memory_by_category_count;

    struct ntk_model_sample *models; /* ascending id */
    size_t model_count;
    struct ntk_model_series *series; /* by name */
    size_t series_count;
    struct ntk_rank_sample *ranks;
    size_t rank_count;

    union { /* ratios of all vCPUs together */
        struct {
#define NTK_PROCESS_SHARE(name, ...) double name;
#include "shared/metrics/process.def"
        };
        double shares[NTK_PROCESS_SHARES];
    };
#define NTK_PROCESS_BYTES(name, ...) uint64_t name;
#include "shared/metrics/process.def"

    struct ntk_count events_read;
    /* overwritten before they were read, dropped, or without a ring */
    struct ntk_count events_lost;
};

/* ---- the host ---- */

enum ntk_cpu_field {
    NTK_CPU_USER = 0, /* in the order of the report */
    NTK_CPU_NICE = 1,
    NTK_CPU_SYSTEM = 2,
    NTK_CPU_IDLE = 3,
    NTK_CPU_IO_WAIT = 4,
    NTK_CPU_IRQ = 5,
    NTK_CPU_SOFT_IRQ = 6,
    NTK_CPU_FIELD_COUNT
};
extern const char *const ntk_cpu_field_names[NTK_CPU_FIELD_COUNT]; /* "user" ... "soft_irq" */

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
    enum ntk_system_group group; /* of the report */
    bool is_counter;
    enum ntk_metric metric;
};
extern const struct ntk_system_row ntk_system_rows[NTK_SYSTEM_FIGURES];

struct ntk_cpu_sample {
    uint32_t cpu;
    double share[NTK_CPU_FIELD_COUNT]; /* ratios of the period */
};

struct ntk_system_sample {
    uint32_t has;
    const char *cpu_error;
    const char *memory_error;
    double average[NTK_CPU_FIELD_COUNT];
    struct ntk_cpu_sample *cpus; /* ascending */
    size_t cpu_count;
    union {
        struct {
#define NTK_SYSTEM_GAUGE(id, name, ...) uint64_t name;
#define NTK_SYSTEM_COUNTER(id, name, ...) uint64_t name; /* of the period */
#include "shared/metrics/system.def"
        };
        uint64_t figures[NTK_SYSTEM_FIGURES]; /* all of them */
    };
    double self_vcpu_user; /* of the collecting process; ratios of all CPUs */
    double self_vcpu_system;
    uint64_t self_memory_bytes; /* resident */
};

/* ---- events of the period: memory log, model loads, errors, profile start/stop, marks ---- */

struct ntk_event_sample {
    uint64_t realtime_ns; /* of the start */
    uint64_t duration_ns;
    uint16_t kind;        /* enum ntk_event_kind */
    uint16_t flags;       /* as recorded */
    uint16_t core;        /* global physical, NTK_NO_CORE */
    uint16_t category;    /* MEM_*: enum ntk_memory_category */
    uint16_t location;    /* MEM_*: enum ntk_memory_location */
    uint16_t error_class; /* ERROR: enum ntk_error_class; else NTK_ERROR_CLASS_NONE */
    uint32_t error_code;  /* ERROR: enum ntk_error_code */
    uint32_t pid;         /* of the runtime, as in its sample */
    uint32_t header_pid;
    uint64_t start_time; /* of the runtime */
    uint32_t uid;
    uint32_t tid; /* 0 unknown */
    uint32_t model_id;
    uint32_t status;
    uint64_t execution_id; /* ERROR */
    uint64_t address;      /* MEM_* */
    uint64_t bytes;        /* MEM_*, MODEL_LOAD (device bytes), PROFILE_STOP */
    uint64_t value;        /* ERROR, MARK */
    const char *name;      /* tensor, model, file or mark */
    const char *tag;       /* of a runtime that may be missing in the snapshot; NULL: it is there */
};

/* "alloc" ...; NULL: in no list. */
extern const char *const ntk_event_kind_names[NTK_EVENT_KIND_COUNT];

/* Events that a process could not write; the others in events_lost were overwritten before they
 * were read. */
enum ntk_unwritten {
    NTK_UNWRITTEN_NO_RING, /* no memory for the ring of a thread, or all rings in use */
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

/* One process of one collector: the same key, and the same pid outside its container. */
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
    uint64_t sequence;     /* 1, 2, ... of this collector */
    uint64_t realtime_ns;  /* end of the period, since 1970 UTC */
    uint64_t monotonic_ns; /* the same moment */
    uint64_t period_ns;    /* covered time; of the first snapshot: since the collector began */
    uint64_t every_ns;     /* of a report: the longest time to the next one; 0 unknown */
    const char *boot_id;
    const char *host_name;

    uint64_t group_period_ns[NTK_SYSTEM_GROUP_COUNT]; /* see NTK_GROUP_ABSENT */

    struct ntk_instance instance;
    struct ntk_hardware hardware;
    struct ntk_k8s k8s;
    struct ntk_jobs jobs;
    struct ntk_device_sample *devices;
    size_t device_count;
    struct ntk_core_sample *cores; /* every physical core in the machine; cores[i].core == i */
    size_t core_count;
    struct ntk_runtime_sample *runtimes; /* by start time, then pid */
    size_t runtime_count;
    struct ntk_adapter_port *ports; /* by family, name of the adapter, port */
    size_t port_count;
    struct ntk_lost_rank *lost_ranks;
    size_t lost_rank_count;
    struct ntk_rank_trouble *troubles; /* about ranks; none if no agent judges */
    size_t trouble_count;
    const struct ntk_idle_sample *idle; /* snapshot_idle.h; few snapshots have any */
    size_t idle_count;
    const struct ntk_span *spans; /* spans.h; none if no exporter asks for them */
    size_t span_count;
    uint64_t spans_lost; /* chosen ones that had no room */
    struct ntk_system_sample system;

    struct ntk_event_sample *events; /* by time */
    size_t event_count;
    uint64_t events_unlisted; /* events of these kinds that did not fit into the list */
    /* they are searched for: an empty list means that there were none */
    bool lists_events;
    struct ntk_count events_read; /* records of all kinds */
    struct ntk_count events_lost;
    struct ntk_count events_unwritten[NTK_UNWRITTEN_COUNT]; /* of events_lost */

    struct ntk_count outcome[NTK_OUTCOME_COUNT]; /* all runtimes, ended ones included */
    struct ntk_count error_class[NTK_ERROR_CLASS_COUNT];
    struct ntk_tag_total *tags; /* of the runtimes in this snapshot */
    size_t tag_count;

    uint64_t collect_duration_ns; /* the time for making it */
};

/* An empty snapshot, all texts "". NULL if out of memory. */
struct ntk_snapshot *ntk_snapshot_create(void);
/* Adds a reference to the snapshot. */
const struct ntk_snapshot *ntk_snapshot_share(const struct ntk_snapshot *snapshot);
/* Its size in memory, for code that keeps many. */
size_t ntk_snapshot_bytes(const struct ntk_snapshot *snapshot);
/* Drops one reference; the last one frees. NULL is accepted. */
void ntk_snapshot_destroy(const struct ntk_snapshot *snapshot);

/* Zeroed memory that lives as long as the snapshot; NULL after a failure, which persists (see _ok).
 * count 0 gives NULL without a failure. */
void *ntk_snapshot_alloc(struct ntk_snapshot *snapshot, size_t count, size_t item_bytes);
/* A copy; "" if out of memory or text is NULL. */
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
/* False after an allocation failed: discard the snapshot. */
bool ntk_snapshot_ok(const struct ntk_snapshot *snapshot);
/* Arrays with "" instead of NULL for texts; they set pointer and count of the owner. NULL on
 * failure. */
struct ntk_runtime_sample *ntk_snapshot_alloc_runtimes(struct ntk_snapshot *snapshot, size_t count);
/* An element as from _alloc_runtimes: nothing is known. For sources that do not know the number
 * yet. */
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
/* Copies the texts. If out of memory there are none, and the snapshot is not ok. */
void ntk_snapshot_set_troubles(struct ntk_snapshot *snapshot,
                               const struct ntk_rank_trouble *troubles, size_t count);
/* Copies the rows and their data, each bounded. If out of memory there are none, and the snapshot
 * is not ok. */
void ntk_snapshot_set_jobs(struct ntk_snapshot *snapshot, const struct ntk_jobs *jobs);

/* ---- events beyond the limit ---- */

#define NTK_SNAPSHOT_JOINED_EVENTS_MAX 1024

bool ntk_snapshot_event_is_memory(const struct ntk_event_sample *event);
/* Keeps at most `room` events, in their order, and returns their number. Errors are kept first and
 * the log of memory last; within a kind, users have equal shares, and so have the processes of a
 * user, as far as they have enough events; of each process the newest are kept. */
size_t ntk_snapshot_keep_events(struct ntk_event_sample *events, size_t count, size_t room);
/* Sets the events of `to`: both lists, bounded; omitted ones count as unlisted. The lists may be
 * those of `to`; texts are copied. */
void ntk_snapshot_join_events(struct ntk_snapshot *to, const struct ntk_event_sample *older,
                              size_t older_count, const struct ntk_event_sample *newer,
                              size_t newer_count);

/* ---- views ---- */

/* The earlier of two times, 0 for none. */
static inline uint64_t ntk_snapshot_earlier(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/*
 * The logical core `logical` (global) computed from physical ones: utilization and the busy times
 * (core and engines) are means over lnc cores, everything else is the sum. The histograms are those
 * of the core of the pair that has them; unwatched is NULL. False if cores[] has none of its
 * physical cores.
 */
bool ntk_snapshot_logical_core(const struct ntk_core_sample *cores, size_t core_count, uint32_t lnc,
                               uint32_t logical, struct ntk_core_sample *out);
/* Counts, utilization and work in flight are added; if `into` has no histograms, it borrows those
 * of `from`. The caller handles the unwatched part. */
void ntk_snapshot_add_core(struct ntk_core_sample *into, const struct ntk_core_sample *from);
/* A core without the unwatched part in the counts of its period: the base of rates and shares. Its
 * histograms stay. */
struct ntk_core_sample ntk_snapshot_watched_core(const struct ntk_core_sample *core);
/* The outcomes of a runtime without the unwatched part of its cores; unchanged if the cores have
 * another period. */
void ntk_snapshot_watched_outcome(const struct ntk_runtime_sample *runtime,
                                  struct ntk_count out_outcome[NTK_OUTCOME_COUNT]);
/* Same as ntk_snapshot_logical_core(), for the watched part of cores. */
bool ntk_snapshot_watched_logical_core(const struct ntk_core_sample *cores, size_t core_count,
                                       uint32_t lnc, uint32_t logical, struct ntk_core_sample *out);
/* The number of logical cores that have at least one physical core in cores[] (ascending); their
 * numbers go to out_logical (may be NULL), at most capacity. */
size_t ntk_snapshot_logical_list(const struct ntk_core_sample *cores, size_t core_count,
                                 uint32_t lnc, uint32_t *out_logical, size_t capacity);
/* NULL when there is none. */
const struct ntk_core_sample *ntk_snapshot_find_core(const struct ntk_core_sample *cores,
                                                     size_t core_count, uint32_t core);
/* The sample of the same process. */
const struct ntk_runtime_sample *
ntk_snapshot_find_runtime(const struct ntk_snapshot *snapshot,
                          const struct ntk_runtime_sample *runtime);
/* The device of this index; snapshot may be NULL. */
const struct ntk_device_sample *ntk_snapshot_find_device(const struct ntk_snapshot *snapshot,
                                                         uint32_t index);
/* Share of the period that an engine was busy, 0..1. */
double ntk_snapshot_engine_share(const struct ntk_snapshot *snapshot,
                                 const struct ntk_core_sample *core, enum ntk_engine engine);
/* A period's count per second; 0 for a period of 0. */
double ntk_snapshot_rate(const struct ntk_snapshot *snapshot, struct ntk_count count);
/* Sum over the NTK_OUTCOME_COUNT outcomes of the period. */
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
extern const char *const ntk_memory_group_keys[NTK_GROUP_COUNT]; /* keys of the report */
extern const char *const ntk_memory_category_names[NTK_MEMORY_CATEGORY_COUNT];
extern const char *const ntk_engine_labels[NTK_ENGINE_COUNT]; /* "pe" ... */
extern const char *const ntk_outcome_names[NTK_OUTCOME_COUNT];
extern const char *const ntk_error_class_names[NTK_ERROR_CLASS_COUNT];
enum ntk_memory_group ntk_memory_group_of(enum ntk_memory_category category);

/* Whether a runtime's memory in a group is known: calls around another runtime only show tensors,
 * and another tool's report only the groups that it lists. An unknown group is not zero. */
bool ntk_snapshot_tells_group(const struct ntk_runtime_sample *runtime,
                              enum ntk_memory_group group);
/* Whether some model's part of its device memory is an estimate; for one model by its id, else
 * NTK_MEMORY_ANY. */
bool ntk_snapshot_memory_is_estimated(const struct ntk_runtime_sample *runtime, uint32_t model_id);

#define NTK_MEMORY_ANY UINT32_MAX
/*
 * Memory that hooks around another runtime cannot categorize is in no group. Adds current bytes of
 * the matching rows of a runtime: core is global physical (NTK_NO_CORE: rows without a core), model
 * an id (0: rows without a model), NTK_MEMORY_ANY everything; to group[] by vendor group, to the
 * others by location. Any of them may be NULL.
 */
void ntk_snapshot_memory_add(const struct ntk_runtime_sample *runtime, uint32_t core,
                             uint32_t model_id, uint64_t group[NTK_GROUP_COUNT],
                             uint64_t *host_bytes, uint64_t *device_bytes);
/* Whether the rows of a runtime are complete, so that missing ones are 0. */
bool ntk_snapshot_tells_memory(const struct ntk_runtime_sample *runtime);
/* A runtime's memory on one side. A source that reports only a part may have no rows: then the side
 * is unknown, not 0. */
struct ntk_memory_total {
    uint64_t bytes; /* the sum of the reported rows */
    bool known;
    bool estimated; /* some of it is the difference around a load */
};
/* For the rows that ntk_snapshot_memory_add() adds. */
void ntk_snapshot_memory_total(const struct ntk_runtime_sample *runtime, uint32_t core,
                               uint32_t model_id, struct ntk_memory_total *out_host,
                               struct ntk_memory_total *out_device);

/* The row of the catalogue of machines: NULL for an unknown one. */
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
    const char *core_version;      /* at LNC 1 */
    const char *core_version_lnc2; /* "" none */
    const char *memory_type;       /* the usual name of its device memory */
    const char *core_arch;         /* "NCv3" */
    double tensor_peak_flops;      /* of a physical core */
    uint32_t tensor_columns;       /* of its tensor engine */
    uint32_t vcpu_count;
};
const struct ntk_machine *ntk_machine_find(const char *instance_type);
/* Any machine of the family with this device_name in its device tree ("Trainium2"). */
const struct ntk_machine *ntk_machine_find_device(const char *sysfs_device_name);
/* The usual name of the memory of its devices: "DRAM", or "HBM" (also for an unknown machine). */
const char *ntk_machine_memory_type(const struct ntk_hardware *hardware);
/* The LNC that tools show if the running processes do not specify one: NEURON_RT_VIRTUAL_CORE_SIZE,
 * NEURON_LOGICAL_NC_CONFIG, the family's default; 1 for an unknown machine (NULL). */
uint32_t ntk_machine_lnc(const struct ntk_machine *machine);

#ifdef __cplusplus
}
#endif
#endif
