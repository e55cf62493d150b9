/* SPDX-License-Identifier: MIT */
/*
 * aggregate_state - what the files of the aggregate share; no other process includes it.
 *
 * aggregate.c begins and ends periods, aggregate_host.c is the host, aggregate_device.c devices and
 * the machine's cores, aggregate_runtime.c processes, aggregate_first.c their first sight,
 * aggregate_{cores,models,memory}.c what they have, aggregate_histogram.c their latency,
 * aggregate_belief.c the source that is believed about a core, aggregate_users.c what one user may
 * fill.
 *
 * Owner, threads: as struct ntk_aggregate.
 */
#ifndef NTK_SHARED_COLLECT_AGGREGATE_STATE_H
#define NTK_SHARED_COLLECT_AGGREGATE_STATE_H

#include "shared/base/map.h"
#include "shared/base/vec.h"
#include "shared/collect/aggregate.h"
#include "shared/collect/machine.h"

/* Where busy time is among the counts of a core, which baselines and totals share. */
#define AT_BUSY NTK_CORE_COUNT_AT(busy_ns)

/* A histogram at the last reading, few of whose buckets are used. */
struct baseline {
    struct ntk_histogram_entry *entries;
    size_t count;
    size_t capacity;
    uint64_t sum_ns;
};

struct histogram_scratch {
    size_t count;
    uint64_t sum_ns;
    struct ntk_histogram_entry entries[NTK_HISTOGRAM_BUCKETS];
};

/* What a core did between the stored totals and first sight: in the differences of its first
 * period. */
struct unwatched {
    uint64_t counts[NTK_CORE_COUNTS];
    struct baseline total;
    struct baseline device;
};

struct core_state {
    bool known;
    bool is_held;       /* the process was seen to have it */
    bool moved;         /* the histograms changed last time: read them once more */
    uint64_t read_ns;   /* when the counters were last read; 0 not yet */
    uint64_t window_ns; /* between the readings of this period, 0 when it has no two */
    uint64_t base[NTK_CORE_COUNTS];
    uint64_t believed_total
        [NTK_CORE_COUNTS]; /* around another runtime: of what its segment does not count */
    struct baseline total;
    struct baseline device;
    struct unwatched *unwatched; /* until the first sample; NULL: nothing */
};

struct model_state {
    uint32_t id;
    bool seen;   /* in this round */
    bool listed; /* as loaded, in the last snapshot */
    bool moved;
    uint64_t executions;
    uint64_t errors;
    uint64_t effective_flops;
    uint64_t node_switches;
    uint64_t starts, stops;
    struct ntk_slow_execution slowest; /* since the last sample */
    struct baseline total;
    struct baseline device;
};

/* What was already reported about a communicator. */
struct rank_state {
    uint64_t key;       /* as the segment has it */
    uint64_t owned_key; /* as snapshots have it: of this communicator of this owner */
    uint64_t join_timestamp_ns;
    uint32_t rank;
    bool seen; /* in this round */
    uint64_t operations[NTK_COLLECTIVE_COUNT];
    uint64_t errors;
    uint64_t bytes;
    uint64_t time_ns;
    uint64_t wait_ns;
};

/* A rank whose process ended, see ntk_lost_rank; texts are owned. */
struct lost_rank_state {
    struct ntk_lost_rank lost;
    uint64_t since_ns;    /* monotonic; 0: in this period */
    uint64_t realtime_ns; /* by when it was lost; 0: in this period */
    uint64_t newer_ns;    /* when a later life of its communicator began, realtime; 0: none known */
};

struct name_state {
    char *name;
    struct ntk_latency_series total;
    struct ntk_latency_series device;
};

struct runtime_state {
    char *key;
    struct ntk_aggregate_process process; /* first facts for sources */
    bool sampled;                         /* in this period */
    bool ended;
    bool emitted; /* was in a snapshot */
    bool has_row; /* of its own, see ntk_aggregate_take_row() */
    bool waits;   /* ... for one, in this period */
    char *command;
    char *user;
    char *container_id;
    struct core_state *cores[NTK_SEGMENT_CORES];
    struct ntk_vec models; /* struct model_state */
    struct ntk_vec names;  /* struct name_state */
    struct ntk_vec ranks;  /* struct rank_state */
    /* highest sum seen, by core (the last for none) and category */
    uint64_t (*peaks)[NTK_MEMORY_CATEGORY_COUNT];
    bool has_memory[NTK_SEGMENT_CORES + 1]; /* some row belongs to the core */
    uint64_t events_read_base;
    uint64_t events_lost_base;
    uint64_t events_unwritten[NTK_UNWRITTEN_COUNT]; /* at the last reading */
    uint64_t events_read;
    uint64_t events_lost;
    bool has_usage_base;
    uint64_t user_base;
    uint64_t system_base;
    struct ntk_runtime_sample sample; /* of this period; texts and arrays in the pending snapshot */
};

struct user_state {
    uint32_t uid;
    double rows; /* number of further processes that are listed one by one */
    bool is_over;
    size_t shared_row; /* in the snapshot that is built: its index + 1 */
    size_t events;     /* taken in this period */
};

struct tag_state {
    char *tag;                  /* with the uid before it */
    struct ntk_tag_total total; /* its tag is unused */
    uint64_t used;              /* sequence of the last snapshot that had it */
    uint64_t listed;            /* ... and of the one that lists it, */
    size_t place;               /* there */
};

struct device_state {
    bool known[NTK_ECC_COUNT];
    uint64_t base[NTK_ECC_COUNT];
    uint64_t total[NTK_ECC_COUNT];
    uint64_t unwatched[NTK_ECC_COUNT]; /* of the period to come */
};

/* What a core of the machine did, as segments and tree tell: aggregate_belief.c describes which is
 * believed. */
struct machine_core {
    bool is_listed;        /* some process was on it, ever */
    uint32_t has_software; /* enum ntk_core_has that segments of cores of ours gave, ever */
    uint32_t
        has_observed;  /* ... that those of processes around another runtime gave in this period, */
    uint32_t observed; /* ... their number */
    uint32_t has_tree; /* ... that the tree gave in this period, */
    uint32_t has_base; /* ... and at its begin */
    uint64_t tree_base[NTK_CORE_COUNTS];
    uint64_t tree_period[NTK_CORE_COUNTS];
    uint64_t period[NTK_CORE_COUNTS]; /* of segments; in the end what is believed */
    uint64_t total[NTK_CORE_COUNTS];
    bool has_unwatched;
    uint64_t unwatched[NTK_CORE_COUNTS]; /* of period[]: before its processes were seen */
    bool tree_is_cleared; /* some value of the tree was seen smaller in this period, ... */
    uint64_t tree_cleared[NTK_CORE_COUNTS]; /* ... and in period[] is what it began again with */
    uint64_t in_flight;
    uint64_t running_ns;
    uint64_t failing_since_ns;
    bool busy;             /* in this period, as segments tell ... */
    bool window_known;     /* ... all read at both its ends, */
    uint64_t window_ns;    /* ... their distance */
    uint64_t memory_bytes; /* of the tree */
    bool has_memory;
};

struct ntk_aggregate {
    struct ntk_aggregate_options options;
    char *boot_id;
    char *host_name;
    uint64_t sequence;
    uint64_t last_monotonic_ns;
    struct ntk_snapshot *pending;

    struct ntk_vec runtimes; /* struct runtime_state * */
    struct ntk_map by_key;
    void (*context_free)(void *);

    struct ntk_map users;      /* struct user_state, by uid; absent when the user has all its
                                * rows */
    struct ntk_map rowless;    /* processes that got no row in this period */
    char note[192];            /* of the last period */
    struct ntk_vec events;     /* struct ntk_event_sample */
    struct ntk_vec lost_ranks; /* struct lost_rank_state, the oldest first */
    struct ntk_map
        events_taken; /* in this period: how many, by process and whether they are errors */
    bool lists_events;
    bool no_latency;
    bool no_model_latency;
    uint32_t events_generation; /* another one when places in the list change */
    uint64_t events_unlisted;
    uint64_t events_read_total;
    uint64_t events_lost_total;
    uint64_t events_unwritten_total[NTK_UNWRITTEN_COUNT];

    struct ntk_map tags; /* struct tag_state * */
    uint64_t outcome_total[NTK_OUTCOME_COUNT];
    uint64_t error_total[NTK_ERROR_CLASS_COUNT];

    struct ntk_health *health;
    ntk_aggregate_has_core *has_core;
    void *has_core_ctx;
    const struct ntk_ring_process *speaker; /* NULL: believed, as without has_core */
    struct runtime_state *speaker_runtime;  /* NULL: seen for the first time */
    struct ntk_health_time moment;          /* at which sources read */
    struct ntk_device_tree tree;            /* devices points to tree_devices */
    struct ntk_device_info tree_devices[NTK_DEVICES_MAX];
    struct ntk_device_reading readings[NTK_DEVICES_MAX];
    size_t reading_count;
    struct device_state devices[NTK_DEVICES_MAX];
    struct machine_core cores[NTK_AGGREGATE_CORES_MAX];

    bool has_system;
    bool has_system_base;
    struct ntk_system_reading
        system;                 /* cpus points to system_cpus.items, errors to the pending texts */
    struct ntk_vec system_cpus; /* struct ntk_cpu_reading */
    struct ntk_cpu_reading system_average_base;
    struct ntk_vec system_base;                       /* struct ntk_cpu_reading */
    uint64_t system_figures_base[NTK_SYSTEM_FIGURES]; /* of counters */
    uint64_t self_user_base_ns;
    uint64_t self_system_base_ns;

    /* scratch */
    struct ntk_ring_histogram histogram;
    struct histogram_scratch now;
    struct histogram_scratch period;
    struct ntk_histogram_dense merged;
    struct ntk_health_work work[NTK_AGGREGATE_CORES_MAX];
    uint64_t sums[NTK_SEGMENT_CORES + 1][NTK_MEMORY_CATEGORY_COUNT]; /* 0 between processes */
};

/* A copy of from in *to, whose old text is freed; -ENOMEM leaves it. */
int ntk_aggregate_replace_text(char **to, const char *from);

/* For a counter that can restart (a segment, a driver's file that was cleared): a smaller value
 * means that it did, and counts from then on. docs/decisions/collecting.md. */
static inline uint64_t ntk_aggregate_difference(uint64_t now, uint64_t before)
{
    return now >= before ? now - before : now;
}

/* For a counter that never restarts (the kernel's, of a process or the machine): a smaller value is
 * a small correction, and nothing happened. */
static inline uint64_t ntk_aggregate_advance(uint64_t now, uint64_t before)
{
    return now >= before ? now - before : 0;
}

/* Busy share of a period, never above 1. */
static inline double ntk_aggregate_share(uint64_t ns, uint64_t period_ns)
{
    double share = period_ns == 0 ? 0 : (double)ns / (double)period_ns;

    return share > 1 ? 1 : share;
}

/* Period and total of each counter; core, has, utilization, in_flight and histograms are the
 * caller's. */
void ntk_aggregate_fill_core(struct ntk_core_sample *sample, const uint64_t period[NTK_CORE_COUNTS],
                             const uint64_t total[NTK_CORE_COUNTS]);
void ntk_aggregate_free_runtime(struct ntk_aggregate *aggregate, struct runtime_state *runtime);

/* ---- aggregate_histogram ---- */

/* Reads the histograms of a core or model; false: there are none, or no consumer needs them. */
bool ntk_aggregate_read_core_histogram(struct ntk_aggregate *aggregate,
                                       const struct ntk_runtime_reading *reading,
                                       const struct ntk_ring_core *core);
bool ntk_aggregate_read_model_histogram(struct ntk_aggregate *aggregate,
                                        const struct ntk_runtime_reading *reading,
                                        const struct ntk_ring_model *model);
/* What was read less the baseline, which becomes the reading. */
struct ntk_histogram ntk_aggregate_take_histogram(struct ntk_aggregate *aggregate,
                                                  struct baseline *base,
                                                  const struct ntk_ring_buckets *read);
/* 0 or -ENOMEM, then the baseline is as it was. */
int ntk_aggregate_start_baseline(struct ntk_aggregate *aggregate, struct baseline *base,
                                 const struct ntk_ring_buckets *read);
int ntk_aggregate_stored_baseline(struct baseline *base, const struct ntk_histogram *stored);
/* What was read less `base`, which stays, as another one. */
int ntk_aggregate_difference_baseline(struct ntk_aggregate *aggregate, struct baseline *out,
                                      const struct baseline *base,
                                      const struct ntk_ring_buckets *read);
/* A baseline as a histogram of the pending snapshot. */
struct ntk_histogram ntk_aggregate_histogram_of(struct ntk_aggregate *aggregate,
                                                const struct baseline *base);

/* ---- aggregate_cores ---- */

void ntk_aggregate_core_counters(const struct ntk_ring_core *core, uint64_t out[NTK_CORE_COUNTS]);
/* Made when it is first asked for; NULL for a core that cannot be, or if out of memory. */
struct core_state *ntk_aggregate_core_state(struct runtime_state *runtime, uint32_t core);
/* Remembers which of its cores a living process has. */
void ntk_aggregate_see_held(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                            const struct ntk_runtime_reading *reading);
int ntk_aggregate_take_cores(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                             const struct ntk_runtime_reading *reading,
                             struct ntk_runtime_sample *out);

/* ---- aggregate_belief ---- */

/* What that process's segment reports about a core and its latency: enum ntk_core_has. */
uint32_t ntk_aggregate_believed_of_segment(const struct ntk_ring_process *process);
/* What the tree counted since the last reading. */
void ntk_aggregate_take_tree_core(struct machine_core *core,
                                  const struct ntk_device_core_reading *reading, bool appeared);
/* At the end of a period, in this order: what the tree cannot have counted is omitted from it; what
 * it knows better goes into the cores of a process around another runtime; and into the machine's,
 * whose enum ntk_core_has is the answer. */
void ntk_aggregate_settle_tree(struct ntk_aggregate *aggregate,
                               const struct ntk_snapshot *snapshot);
void ntk_aggregate_tell_runtime(struct ntk_aggregate *aggregate, struct runtime_state *runtime);
uint32_t ntk_aggregate_tell_machine(struct machine_core *core, bool software_machine,
                                    bool *out_busy_of_calls);

/* ---- aggregate_models ---- */

/* Made when it is first asked for; NULL if out of memory. */
struct model_state *ntk_aggregate_model_state(struct runtime_state *runtime, uint32_t id);
int ntk_aggregate_take_models(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                              const struct ntk_runtime_reading *reading,
                              struct ntk_runtime_sample *out);

/* ---- aggregate_ranks ---- */

int ntk_aggregate_take_ranks(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                             const struct ntk_runtime_reading *reading,
                             struct ntk_runtime_sample *out);
void ntk_aggregate_free_lost_ranks(struct ntk_aggregate *aggregate);
/* Behind the runtimes, at the end of a period. */
void ntk_aggregate_build_lost_ranks(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot);
/* They count from now on. */
int ntk_aggregate_start_ranks(struct runtime_state *runtime,
                              const struct ntk_runtime_reading *reading);

/* ---- aggregate_memory ---- */

int ntk_aggregate_take_memory(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                              const struct ntk_runtime_reading *reading,
                              struct ntk_runtime_sample *out);

/* ---- aggregate_runtime ---- */

void ntk_aggregate_free_unwatched(struct unwatched *unwatched);
void ntk_aggregate_free_model(struct model_state *model);

/* ---- aggregate_users ---- */

void ntk_aggregate_free_users(struct ntk_aggregate *aggregate);
/* Whether this process is listed by itself. Each user has NTK_AGGREGATE_ROWS_OF_USER rows and gets
 * another each second; who runs out of them waits, with all its counts. */
bool ntk_aggregate_take_row(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                            const struct ntk_ring_process *process);
/* What a process did that ended without a row, in the one that its user has for all of those;
 * count: rows so far. Returns their number then. */
size_t ntk_aggregate_share_row(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot,
                               size_t count, const struct ntk_runtime_sample *sample);
void ntk_aggregate_drop_rowless_events(struct ntk_aggregate *aggregate);
/* events_max of them at most. */
void ntk_aggregate_keep_events(struct ntk_aggregate *aggregate);
void ntk_aggregate_finish_users(struct ntk_aggregate *aggregate, uint64_t period_ns);

/* The parts of ntk_aggregate_finish(), in this order. */
void ntk_aggregate_build_hardware(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot);
void ntk_aggregate_build_runtimes(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot);
void ntk_aggregate_build_devices(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot);
void ntk_aggregate_build_cores(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot);
void ntk_aggregate_build_system(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot);

#endif
