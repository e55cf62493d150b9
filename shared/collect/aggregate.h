/* SPDX-License-Identifier: MIT */
/*
 * aggregate - readings of cumulative counters become the differences of one period.
 *
 * Pure: it opens nothing and asks no clock. Sources hand it what they read; ntk_aggregate_finish()
 * gives the snapshot. All rules about first sight, restarts, ends and totals are here.
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
#define NTK_AGGREGATE_ROWS_OF_USER 1024 /* processes at once; then one a second */
#define NTK_AGGREGATE_CPUS_MAX 4096
#define NTK_AGGREGATE_CORES_MAX (NTK_DEVICES_MAX * NTK_DEVICE_CORES_MAX)

struct ntk_aggregate_options {
    uint64_t begin_monotonic_ns; /* processes that attached before are older than the collector */
    uint32_t ticks_per_second;   /* of CPU times in /proc */
    uint64_t page_bytes;
    size_t events_max;
    const struct ntk_collector_options *collector; /* totals_get; borrowed for life; may be NULL */
};

int ntk_aggregate_create(const struct ntk_aggregate_options *options, struct ntk_aggregate **out);
void ntk_aggregate_destroy(struct ntk_aggregate *aggregate);

/* The first period starts here, not at begin_monotonic_ns: its baselines are being taken. */
void ntk_aggregate_start_period(struct ntk_aggregate *aggregate, uint64_t monotonic_ns);

/* The time at which sources read what they hand in until the next call. */
void ntk_aggregate_set_now(struct ntk_aggregate *aggregate, struct ntk_health_time now);
struct ntk_health_time ntk_aggregate_now(const struct ntk_aggregate *aggregate);

/* Facts that hold for all snapshots. */
/* Whether a consumer needs events: a snapshot without any says so. */
void ntk_aggregate_set_lists_events(struct ntk_aggregate *aggregate, bool lists_events);
/* Whether histograms of processes, and of their models, are read: at first both are. */
void ntk_aggregate_set_reads_latency(struct ntk_aggregate *aggregate, bool reads_latency,
                                     bool reads_model_latency);
void ntk_aggregate_set_host(struct ntk_aggregate *aggregate, const char *boot_id,
                            const char *host_name);

/* ---- the host ---- */

struct ntk_cpu_reading {
    uint32_t cpu;
    uint64_t ticks[NTK_CPU_FIELD_COUNT];
    uint64_t other_ticks; /* stolen: part of the whole, in no field */
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
    uint64_t self_user_ns; /* of the process that collects, cumulative */
    uint64_t self_system_ns;
    uint64_t self_memory_bytes;
};

void ntk_aggregate_system(struct ntk_aggregate *aggregate,
                          const struct ntk_system_reading *reading);

/* The ports of the machine's network adapters, as they stand now. */
void ntk_aggregate_set_ports(struct ntk_aggregate *aggregate, const struct ntk_adapter_port *ports,
                             size_t count);

/* ---- devices ---- */

/* After each refresh: `appeared` when the tree is newer than the collector, so that its counters
 * count from 0. */
void ntk_aggregate_devices(struct ntk_aggregate *aggregate, const struct ntk_device_tree *tree,
                           bool appeared, const struct ntk_device_reading *readings, size_t count);
/* Where devices are judged; what the tree says is handed in there, processes are the aggregate's.
 * Borrowed. */
struct ntk_health *ntk_aggregate_health(struct ntk_aggregate *aggregate);
/* Whether a process is observed, or was until now. */
bool ntk_aggregate_has_process(const struct ntk_aggregate *aggregate);
/* Whether a process is on the software machine. */
bool ntk_aggregate_has_software_process(const struct ntk_aggregate *aggregate);
/* Whether a process has a core (global physical) of the tree: only then is it believed about the
 * core's health. Without this, as in tests of hand-made readings, it always is. */
typedef bool ntk_aggregate_has_core(void *ctx, const struct ntk_ring_process *process,
                                    uint32_t core);
void ntk_aggregate_set_has_core(struct ntk_aggregate *aggregate, ntk_aggregate_has_core *has_core,
                                void *ctx);
/* The process whose records are handed in until the next call; borrowed. key: of its segment. */
void ntk_aggregate_set_speaker(struct ntk_aggregate *aggregate, const char *key,
                               const struct ntk_ring_process *process);
/* An execution of the speaker on a core (global physical) ended with this status; its counters
 * follow. */
void ntk_aggregate_failure(struct ntk_aggregate *aggregate, uint32_t core, uint32_t status,
                           bool is_new);
/* An execution of the speaker: the slowest of a model is remembered until the model's next sample.
 * A model that was not sampled yet has none. */
void ntk_aggregate_execution(struct ntk_aggregate *aggregate, uint32_t model_id,
                             const struct ntk_slow_execution *execution);
/* Whether some core of the machine is known through no segment, so that the tree's counters are
 * wanted. */
bool ntk_aggregate_wants_device_cores(const struct ntk_aggregate *aggregate);

/* ---- runtimes ---- */

struct ntk_runtime_reading {
    const char *key; /* of the segment: tells processes apart */
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
    /* 0, or -ENOENT when there is none. */
    int (*core_histogram)(void *ctx, uint16_t core, struct ntk_ring_histogram *out);
    int (*model_histogram)(void *ctx, const struct ntk_ring_model *model,
                           struct ntk_ring_histogram *out);
    /* The text of a name id into buf, "" when there is none. */
    void (*text)(void *ctx, uint32_t name, char *buf, size_t buf_bytes);
    void *ctx;
};

/* Whether this process was seen before; if not, hand in a reading by _runtime_first(). */
bool ntk_aggregate_knows(const struct ntk_aggregate *aggregate, const char *key);
/* So many records of a known process were overwritten before anybody wanted them: they do not count
 * as lost. */
void ntk_aggregate_runtime_forgive(struct ntk_aggregate *aggregate, const char *key, uint64_t lost);
/* Where its counters start counting. Not a sample. */
int ntk_aggregate_runtime_first(struct ntk_aggregate *aggregate,
                                const struct ntk_runtime_reading *reading);
/* From where the latency of a known process counts: that of its cores, and of its models. */
void ntk_aggregate_runtime_begin_latency(struct ntk_aggregate *aggregate,
                                         const struct ntk_runtime_reading *reading, bool of_cores,
                                         bool of_models);
/* One per period and process; after one with `ended` no more. */
int ntk_aggregate_runtime(struct ntk_aggregate *aggregate,
                          const struct ntk_runtime_reading *reading);

/* Processes that are alive, for whoever knows more of them. */
struct ntk_aggregate_process {
    uint32_t pid;
    uint32_t uid; /* owner of its segment */
    uint64_t start_time;
    bool ended;
    bool described; /* set once _describe() was called */
    bool looked_at; /* the caller's: it knows this process already */
    void *context;  /* the caller's, kept with the process; see context_free */
};
/* Those that ended are listed once more, with their identity alone. */
size_t ntk_aggregate_process_count(const struct ntk_aggregate *aggregate);
struct ntk_aggregate_process *ntk_aggregate_process_get(struct ntk_aggregate *aggregate,
                                                        size_t index);
/* Called with each context when its process goes, and at destroy. */
void ntk_aggregate_on_process_gone(struct ntk_aggregate *aggregate, void (*context_free)(void *));
/* CPU time in ticks, cumulative, and RSS in pages; or the message why not. */
void ntk_aggregate_process_usage(struct ntk_aggregate *aggregate, size_t index, uint64_t user_ticks,
                                 uint64_t system_ticks, uint64_t rss_pages);
/* Processes count again as from first sight: their next reading is compared with nothing. */
void ntk_aggregate_forget_usage(struct ntk_aggregate *aggregate);
void ntk_aggregate_process_no_usage(struct ntk_aggregate *aggregate, size_t index,
                                    const char *error);
/* NULL leaves what is known. */
void ntk_aggregate_process_describe(struct ntk_aggregate *aggregate, size_t index,
                                    const char *command, const char *user,
                                    const char *container_id);

/* ---- events ---- */

/* A record of the list with its process, or NULL when there is no room (counted). Of more than
 * events_max some go later: see ntk_snapshot_keep_events(). realtime_ns and what the record says
 * are the caller's to fill before the next call; texts by ntk_aggregate_event_text(). */
struct ntk_event_sample *ntk_aggregate_event(struct ntk_aggregate *aggregate,
                                             struct ntk_process_key key, bool is_error);
/* A number of a record that stays until the period ends or the list is shortened. */
uint64_t ntk_aggregate_event_number(const struct ntk_aggregate *aggregate,
                                    const struct ntk_event_sample *event);
/* The record of this number for another event, as if it were new: what it said counts as unlisted.
 * NULL when the number is not valid any more. */
struct ntk_event_sample *ntk_aggregate_event_again(struct ntk_aggregate *aggregate,
                                                   struct ntk_process_key key, uint64_t number);
const char *ntk_aggregate_event_text(struct ntk_aggregate *aggregate, const char *text);

/* ---- the end of the period ---- */

int ntk_aggregate_finish(struct ntk_aggregate *aggregate, uint64_t monotonic_ns,
                         uint64_t realtime_ns, struct ntk_snapshot **out_snapshot);
/* What the last period reports in less detail, or "". Borrowed until the next. */
const char *ntk_aggregate_note(const struct ntk_aggregate *aggregate);

#ifdef __cplusplus
}
#endif
#endif
