/* SPDX-License-Identifier: MIT */
/*
 * aggregate - turns readings of cumulative counters into the differences of one period.
 *
 * Pure: it opens no file and reads no clock. Sources pass their readings to it;
 * ntk_aggregate_finish() returns the snapshot. It contains all rules about first sight, restarts,
 * ends and totals.
 *
 * Owner:   ntk_aggregate_create() allocates, _destroy() frees. Readings are borrowed for the call.
 * Threads: one at a time.
 */
#ifndef NTK_SHARED_COLLECT_AGGREGATE_H
#define NTK_SHARED_COLLECT_AGGREGATE_H

#include "shared/collect/collect.h"
#include "shared/collect/health.h"
#include "shared/device/device.h"
#include "shared/ring/ring_registry.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_AGGREGATE_TAGS_MAX 4096
/* processes that may be listed at once; after that, one more per second */
#define NTK_AGGREGATE_ROWS_OF_USER 1024
#define NTK_AGGREGATE_CPUS_MAX 4096
#define NTK_AGGREGATE_CORES_MAX (NTK_DEVICES_MAX * NTK_DEVICE_CORES_MAX)

struct ntk_aggregate_options {
    /* Start of the collector: processes that attached earlier are older than it. */
    uint64_t begin_monotonic_ns;
    uint32_t ticks_per_second; /* unit of the CPU times in /proc */
    uint64_t page_bytes;
    size_t events_max;
    /* used for totals_get; borrowed for life; may be NULL */
    const struct ntk_collector_options *collector;
};

int ntk_aggregate_create(const struct ntk_aggregate_options *options, struct ntk_aggregate **out);
void ntk_aggregate_destroy(struct ntk_aggregate *aggregate);

/* Starts the first period now, not at begin_monotonic_ns, because the baselines have been read. */
void ntk_aggregate_start_period(struct ntk_aggregate *aggregate, uint64_t monotonic_ns);

/* Sets the time of the readings that sources pass in until the next call. */
void ntk_aggregate_set_now(struct ntk_aggregate *aggregate, struct ntk_health_time now);
struct ntk_health_time ntk_aggregate_now(const struct ntk_aggregate *aggregate);

/* Sets facts that are the same in all snapshots. */
/* Sets whether a consumer needs events; snapshots without events have a flag for that. */
void ntk_aggregate_set_lists_events(struct ntk_aggregate *aggregate, bool lists_events);
/* Sets whether to read the histograms of processes and of their models; initially both are read. */
void ntk_aggregate_set_reads_latency(struct ntk_aggregate *aggregate, bool reads_latency,
                                     bool reads_model_latency);
void ntk_aggregate_set_host(struct ntk_aggregate *aggregate, const char *boot_id,
                            const char *host_name);

/* ---- the host ---- */

struct ntk_cpu_reading {
    uint32_t cpu;
    uint64_t ticks[NTK_CPU_FIELD_COUNT];
    uint64_t other_ticks; /* stolen time: part of the total, but of no field */
};

struct ntk_system_reading {
    uint32_t has; /* enum ntk_system_has */
    const char *cpu_error;
    const char *memory_error;
    struct ntk_cpu_reading average; /* cumulative, over all CPUs */
    const struct ntk_cpu_reading *cpus;
    size_t cpu_count;
    union {
        struct {
#define NTK_SYSTEM_GAUGE(id, name, ...) uint64_t name;
#define NTK_SYSTEM_COUNTER(id, name, ...) uint64_t name; /* cumulative */
#include "shared/metrics/system.def"
        };
        uint64_t figures[NTK_SYSTEM_FIGURES]; /* all figures */
    };
    uint64_t self_user_ns; /* CPU time of the collecting process, cumulative */
    uint64_t self_system_ns;
    uint64_t self_memory_bytes;
};

void ntk_aggregate_system(struct ntk_aggregate *aggregate,
                          const struct ntk_system_reading *reading);

/* Passes the ports of the machine's network adapters with their current readings. */
void ntk_aggregate_set_ports(struct ntk_aggregate *aggregate, const struct ntk_adapter_port *ports,
                             size_t count);

/* ---- devices ---- */

/* Called after each refresh. `appeared`: the tree is newer than the collector, so its counters
 * count from 0. */
void ntk_aggregate_devices(struct ntk_aggregate *aggregate, const struct ntk_device_tree *tree,
                           bool appeared, const struct ntk_device_reading *readings, size_t count);
/* The judge of device health. It gets readings of the tree; the aggregate knows the processes.
 * Borrowed. */
struct ntk_health *ntk_aggregate_health(struct ntk_aggregate *aggregate);
/* Returns true if a process is observed, or was observed until now. */
bool ntk_aggregate_has_process(const struct ntk_aggregate *aggregate);
/* Cores of a device, one bit each, on which observed processes work in this period: their segments
 * contain the failures on these cores. */
uint8_t ntk_aggregate_cores_at_work(const struct ntk_aggregate *aggregate, uint32_t device,
                                    uint32_t cores_per_device);
/* Returns true if a process uses the software machine. */
bool ntk_aggregate_has_software_process(const struct ntk_aggregate *aggregate);
/* Returns true if a process owns a core (global physical number) of the tree: only then are its
 * reports about the core's health trusted. Without this function, as in tests with made-up
 * readings, they are always trusted. */
typedef bool ntk_aggregate_has_core(void *ctx, const struct ntk_ring_process *process,
                                    uint32_t core);
void ntk_aggregate_set_has_core(struct ntk_aggregate *aggregate, ntk_aggregate_has_core *has_core,
                                void *ctx);
/* Sets the process of the records that are passed in until the next call; borrowed. key is its
 * segment's key. */
void ntk_aggregate_set_speaker(struct ntk_aggregate *aggregate, const char *key,
                               const struct ntk_ring_process *process);
/* Reports that an execution of the current process on a core (global physical number) ended with
 * this status; its counters follow. */
void ntk_aggregate_failure(struct ntk_aggregate *aggregate, uint32_t core, uint32_t status,
                           bool is_new);
/* Reports an execution of the current process. The slowest one of each model is kept until the
 * model's next sample; models without a sample keep none. */
void ntk_aggregate_execution(struct ntk_aggregate *aggregate, uint32_t model_id,
                             const struct ntk_slow_execution *execution);
/* Returns true if some core in the machine is not covered by any segment, so that the tree's
 * counters are needed. */
bool ntk_aggregate_wants_device_cores(const struct ntk_aggregate *aggregate);

/* ---- runtimes ---- */

struct ntk_runtime_reading {
    const char *key; /* the segment's key, which distinguishes processes */
    const struct ntk_ring_process *process;
    bool ended; /* this is the last reading of this process */
    const struct ntk_ring_core *cores;
    size_t core_count;
    const struct ntk_ring_model *models;
    size_t model_count;
    const struct ntk_ring_comm *comms;
    size_t comm_count;
    const struct ntk_ring_memory *memory;
    size_t memory_count;
    uint64_t events_read; /* cumulative */
    uint64_t events_lost;
    uint64_t events_unwritten[NTK_UNWRITTEN_COUNT]; /* events that were not written, by reason */
    /* Returns 0, or -ENOENT if the core has no histogram. */
    int (*core_histogram)(void *ctx, uint16_t core, struct ntk_ring_histogram *out);
    int (*model_histogram)(void *ctx, const struct ntk_ring_model *model,
                           struct ntk_ring_histogram *out);
    /* Copies the text of a name id into buf; "" if it has none. */
    void (*text)(void *ctx, uint32_t name, char *buf, size_t buf_bytes);
    void *ctx;
};

/* Returns true if this process is known; if not, pass in a reading with _runtime_first(). */
bool ntk_aggregate_knows(const struct ntk_aggregate *aggregate, const char *key);
/* This many records of a known process were overwritten before any consumer needed them, so they do
 * not count as lost. */
void ntk_aggregate_runtime_forgive(struct ntk_aggregate *aggregate, const char *key, uint64_t lost);
/* Passes the reading from which the process's counters count. It is not a sample. */
int ntk_aggregate_runtime_first(struct ntk_aggregate *aggregate,
                                const struct ntk_runtime_reading *reading);
/* Passes the latency baseline of a known process: of its cores, and of its models. */
void ntk_aggregate_runtime_begin_latency(struct ntk_aggregate *aggregate,
                                         const struct ntk_runtime_reading *reading, bool of_cores,
                                         bool of_models);
/* Passes one reading per period and process; none after a reading with `ended`. */
int ntk_aggregate_runtime(struct ntk_aggregate *aggregate,
                          const struct ntk_runtime_reading *reading);

/* Living processes, for sources that know more about them. */
struct ntk_aggregate_process {
    uint32_t pid;
    uint32_t uid; /* owner of the segment */
    uint64_t start_time;
    bool ended;
    bool described; /* set after _describe() was called */
    bool looked_at; /* set by the caller when it knows this process */
    /* The number of processes. An exited process is included again, with its identity only. */
    void *context;
};
/* The number of living processes. Exited ones are listed after them, with their identity only. */
size_t ntk_aggregate_process_count(const struct ntk_aggregate *aggregate);
struct ntk_aggregate_process *ntk_aggregate_process_get(struct ntk_aggregate *aggregate,
                                                        size_t index);
/* Sets a function that is called with each context when its process is removed, and at destroy. */
void ntk_aggregate_on_process_gone(struct ntk_aggregate *aggregate, void (*context_free)(void *));
/* Passes cumulative CPU time in ticks and RSS in pages, or the message that explains their
 * absence. */
void ntk_aggregate_process_usage(struct ntk_aggregate *aggregate, size_t index, uint64_t user_ticks,
                                 uint64_t system_ticks, uint64_t rss_pages);
/* Treats all processes as new: their next reading is not compared with an earlier one. */
void ntk_aggregate_forget_usage(struct ntk_aggregate *aggregate);
void ntk_aggregate_process_no_usage(struct ntk_aggregate *aggregate, size_t index,
                                    const char *error);
/* Passes the exit status of an ended process. */
void ntk_aggregate_process_exited(struct ntk_aggregate *aggregate, size_t index,
                                  struct ntk_exit how);
/* NULL keeps the current value. */
void ntk_aggregate_process_describe(struct ntk_aggregate *aggregate, size_t index,
                                    const char *command, const char *user,
                                    const char *container_id);

/* ---- events ---- */

/* Adds an event record for the process and returns it, or NULL without room (counted). If
 * there are more than events_max records, some are removed later: see ntk_snapshot_keep_events().
 * The caller fills realtime_ns and the rest of the record before the next call, and sets texts with
 * ntk_aggregate_event_text(). */
struct ntk_event_sample *ntk_aggregate_event(struct ntk_aggregate *aggregate,
                                             struct ntk_process_key key, bool is_error);
/* The number of a record, valid until the period ends or the list is shortened. */
uint64_t ntk_aggregate_event_number(const struct ntk_aggregate *aggregate,
                                    const struct ntk_event_sample *event);
/* Reuses the record of this number for another event, as if it were new: the old event counts as
 * unlisted. Returns NULL if the number is no longer valid. */
struct ntk_event_sample *ntk_aggregate_event_again(struct ntk_aggregate *aggregate,
                                                   struct ntk_process_key key, uint64_t number);
const char *ntk_aggregate_event_text(struct ntk_aggregate *aggregate, const char *text);

/* ---- spans ---- */

struct ntk_span;
/* Adds a span for the process, chosen for these reasons (enum ntk_span_why), and returns it, or
 * NULL without room (counted). The caller fills it before the next call, and sets texts with
 * ntk_aggregate_event_text(). */
struct ntk_span *ntk_aggregate_span(struct ntk_aggregate *aggregate, struct ntk_process_key key,
                                    unsigned why);

/* ---- the end of the period ---- */

int ntk_aggregate_finish(struct ntk_aggregate *aggregate, uint64_t monotonic_ns,
                         uint64_t realtime_ns, struct ntk_snapshot **out_snapshot);
/* Describes what the last period reports in less detail, or "". Borrowed until the next period. */
const char *ntk_aggregate_note(const struct ntk_aggregate *aggregate);

#ifdef __cplusplus
}
#endif
#endif
