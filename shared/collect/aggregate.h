/* SPDX-License-Identifier: MIT */
/*
 * aggregate - turns readings of cumulative counters into the differences of one period.
 *
 * Pure: it opens no file and reads no clock. Sources pass their readings to it;
 * ntk_aggregate_finish() returns the snapshot. All rules about first sight, restarts, ends and
 * totals are here.
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
#define NTK_AGGREGATE_ROWS_OF_USER 1024 /* processes at once, then one more per second */
#define NTK_AGGREGATE_CPUS_MAX 4096
#define NTK_AGGREGATE_CORES_MAX (NTK_DEVICES_MAX * NTK_DEVICE_CORES_MAX)

struct ntk_aggregate_options {
    /* processes that attached before this time are older than the collector */
    uint64_t begin_monotonic_ns;
    uint32_t ticks_per_second; /* unit of CPU times in /proc */
    uint64_t page_bytes;
    size_t events_max;
    /* for totals_get; borrowed for life; may be NULL */
    const struct ntk_collector_options *collector;
};

int ntk_aggregate_create(const struct ntk_aggregate_options *options, struct ntk_aggregate **out);
void ntk_aggregate_destroy(struct ntk_aggregate *aggregate);

/* The first period starts here, not at begin_monotonic_ns: now the baselines are read. */
void ntk_aggregate_start_period(struct ntk_aggregate *aggregate, uint64_t monotonic_ns);

/* The time of the readings that sources pass in until the next call. */
void ntk_aggregate_set_now(struct ntk_aggregate *aggregate, struct ntk_health_time now);
struct ntk_health_time ntk_aggregate_now(const struct ntk_aggregate *aggregate);

/* Facts that are the same in all snapshots. */
/* Whether a consumer needs events; snapshots without events have a flag for that. */
void ntk_aggregate_set_lists_events(struct ntk_aggregate *aggregate, bool lists_events);
/* Whether to read histograms of processes and of their models; at first both are read. */
void ntk_aggregate_set_reads_latency(struct ntk_aggregate *aggregate, bool reads_latency,
                                     bool reads_model_latency);
void ntk_aggregate_set_host(struct ntk_aggregate *aggregate, const char *boot_id,
                            const char *host_name);

/* ---- the host ---- */

struct ntk_cpu_reading {
    uint32_t cpu;
    uint64_t ticks[NTK_CPU_FIELD_COUNT];
    uint64_t other_ticks; /* stolen time: part of the total, in no field */
};

struct ntk_system_reading {
    uint32_t has; /* enum ntk_system_has */
    const char *cpu_error;
    const char *memory_error;
    struct ntk_cpu_reading average; /* cumulative, all CPUs */
    const struct ntk_cpu_reading *cpus;
    size_t cpu_count;
    union {
        struct {
#define NTK_SYSTEM_GAUGE(id, name, ...) uint64_t name;
#define NTK_SYSTEM_COUNTER(id, name, ...) uint64_t name; /* cumulative */
#include "shared/metrics/system.def"
        };
        uint64_t figures[NTK_SYSTEM_FIGURES]; /* all of them */
    };
    uint64_t self_user_ns; /* of the collecting process, cumulative */
    uint64_t self_system_ns;
    uint64_t self_memory_bytes;
};

void ntk_aggregate_system(struct ntk_aggregate *aggregate,
                          const struct ntk_system_reading *reading);

/* The ports of the machine's network adapters, with their current readings. */
void ntk_aggregate_set_ports(struct ntk_aggregate *aggregate, const struct ntk_adapter_port *ports,
                             size_t count);

/* ---- devices ---- */

/* After each refresh. `appeared`: the tree is newer than the collector, so its counters count from
 * 0. */
void ntk_aggregate_devices(struct ntk_aggregate *aggregate, const struct ntk_device_tree *tree,
                           bool appeared, const struct ntk_device_reading *readings, size_t count);
/* The judge of devices: it gets readings of the tree, and the aggregate knows the processes.
 * Borrowed. */
struct ntk_health *ntk_aggregate_health(struct ntk_aggregate *aggregate);
/* Whether a process is observed, or was until now. */
bool ntk_aggregate_has_process(const struct ntk_aggregate *aggregate);
/* The cores of a device, a bit each, on which observed processes work in this period: their
 * segments contain the failures there. */
uint8_t ntk_aggregate_cores_at_work(const struct ntk_aggregate *aggregate, uint32_t device,
                                    uint32_t cores_per_device);
/* Whether a process uses the software machine. */
bool ntk_aggregate_has_software_process(const struct ntk_aggregate *aggregate);
/* Whether a process owns a core (global physical) of the tree: only then its reports about the
 * core's health are trusted. Without this function, as in tests with hand-made readings, they
 * always are. */
typedef bool ntk_aggregate_has_core(void *ctx, const struct ntk_ring_process *process,
                                    uint32_t core);
void ntk_aggregate_set_has_core(struct ntk_aggregate *aggregate, ntk_aggregate_has_core *has_core,
                                void *ctx);
/* The process of the records that are passed in until the next call; borrowed. key: of its
 * segment. */
void ntk_aggregate_set_speaker(struct ntk_aggregate *aggregate, const char *key,
                               const struct ntk_ring_process *process);
/* An execution of the current process on a core (global physical) ended with this status; its
 * counters follow. */
void ntk_aggregate_failure(struct ntk_aggregate *aggregate, uint32_t core, uint32_t status,
                           bool is_new);
/* An execution of the current process: the slowest of a model is kept until the model's next
 * sample. A model without a sample has none. */
void ntk_aggregate_execution(struct ntk_aggregate *aggregate, uint32_t model_id,
                             const struct ntk_slow_execution *execution);
/* Whether no segment covers some core in the machine, so that the tree's counters are needed. */
bool ntk_aggregate_wants_device_cores(const struct ntk_aggregate *aggregate);

/* ---- runtimes ---- */

struct ntk_runtime_reading {
    const char *key; /* of the segment; distinguishes processes */
    const struct ntk_ring_process *process;
    bool ended; /* the last reading of this process */
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
    uint64_t events_unwritten[NTK_UNWRITTEN_COUNT]; /* of them */
    /* 0, or -ENOENT if there is none. */
    int (*core_histogram)(void *ctx, uint16_t core, struct ntk_ring_histogram *out);
    int (*model_histogram)(void *ctx, const struct ntk_ring_model *model,
                           struct ntk_ring_histogram *out);
    /* Copies the text of a name id into buf, "" if there is none. */
    void (*text)(void *ctx, uint32_t name, char *buf, size_t buf_bytes);
    void *ctx;
};

/* Whether this process is known; if not, pass in a reading with _runtime_first(). */
bool ntk_aggregate_knows(const struct ntk_aggregate *aggregate, const char *key);
/* This many records of a known process were overwritten before any consumer needed them: they do
 * not count as lost. */
void ntk_aggregate_runtime_forgive(struct ntk_aggregate *aggregate, const char *key, uint64_t lost);
/* The reading from which its counters count. Not a sample. */
int ntk_aggregate_runtime_first(struct ntk_aggregate *aggregate,
                                const struct ntk_runtime_reading *reading);
/* The baseline for the latency of a known process: that of its cores, and of its models. */
void ntk_aggregate_runtime_begin_latency(struct ntk_aggregate *aggregate,
                                         const struct ntk_runtime_reading *reading, bool of_cores,
                                         bool of_models);
/* One per period and process; none after one with `ended`. */
int ntk_aggregate_runtime(struct ntk_aggregate *aggregate,
                          const struct ntk_runtime_reading *reading);

/* Processes that are alive, for sources that know more about them. */
struct ntk_aggregate_process {
    uint32_t pid;
    uint32_t uid; /* owner of the segment */
    uint64_t start_time;
    bool ended;
    bool described; /* set after _describe() was called */
    bool looked_at; /* for the caller: it knows this process already */
    void *context;  /* for the caller, kept with the process; see context_free */
};
/* Exited processes are listed again, only with their identity. */
size_t ntk_aggregate_process_count(const struct ntk_aggregate *aggregate);
struct ntk_aggregate_process *ntk_aggregate_process_get(struct ntk_aggregate *aggregate,
                                                        size_t index);
/* Called with each context when its process goes, and at destroy. */
void ntk_aggregate_on_process_gone(struct ntk_aggregate *aggregate, void (*context_free)(void *));
/* CPU time in ticks, cumulative, and RSS in pages; or the message that explains their absence. */
void ntk_aggregate_process_usage(struct ntk_aggregate *aggregate, size_t index, uint64_t user_ticks,
                                 uint64_t system_ticks, uint64_t rss_pages);
/* Treats the processes as new: their next reading is compared with nothing. */
void ntk_aggregate_forget_usage(struct ntk_aggregate *aggregate);
void ntk_aggregate_process_no_usage(struct ntk_aggregate *aggregate, size_t index,
                                    const char *error);
/* How a process exited that has ended. */
void ntk_aggregate_process_exited(struct ntk_aggregate *aggregate, size_t index,
                                  struct ntk_exit how);
/* NULL keeps the known value. */
void ntk_aggregate_process_describe(struct ntk_aggregate *aggregate, size_t index,
                                    const char *command, const char *user,
                                    const char *container_id);

/* ---- events ---- */

/* A record of the list with its process, or NULL if there is no room (counted). If there are
 * more than events_max, some are removed later: see ntk_snapshot_keep_events(). The caller fills
 * realtime_ns and the rest of the record before the next call; texts by
 * ntk_aggregate_event_text(). */
struct ntk_event_sample *ntk_aggregate_event(struct ntk_aggregate *aggregate,
                                             struct ntk_process_key key, bool is_error);
/* A number of a record that stays valid until the period ends or the list is shortened. */
uint64_t ntk_aggregate_event_number(const struct ntk_aggregate *aggregate,
                                    const struct ntk_event_sample *event);
/* Reuses the record of this number for another event, as if it were new: the old event counts as
 * unlisted. NULL when the number is not valid any more. */
struct ntk_event_sample *ntk_aggregate_event_again(struct ntk_aggregate *aggregate,
                                                   struct ntk_process_key key, uint64_t number);
const char *ntk_aggregate_event_text(struct ntk_aggregate *aggregate, const char *text);

/* ---- spans ---- */

struct ntk_span;
/* A span with its process, chosen for these reasons (enum ntk_span_why), or NULL if there is no
 * room (counted). The caller fills it before the next call; texts by ntk_aggregate_event_text(). */
struct ntk_span *ntk_aggregate_span(struct ntk_aggregate *aggregate, struct ntk_process_key key,
                                    unsigned why);

/* ---- the end of the period ---- */

int ntk_aggregate_finish(struct ntk_aggregate *aggregate, uint64_t monotonic_ns,
                         uint64_t realtime_ns, struct ntk_snapshot **out_snapshot);
/* The parts that the last period reports in less detail, or "". Borrowed until the next period. */
const char *ntk_aggregate_note(const struct ntk_aggregate *aggregate);

#ifdef __cplusplus
}
#endif
#endif
