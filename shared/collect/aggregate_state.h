/* SPDX-License-Identifier: MIT */
/*
 * aggregate_state - shared by the files of the aggregate; no other file includes it.
 *
 * aggregate.c begins and ends periods. aggregate_host.c handles the host; aggregate_device.c
 * devices and the machine's cores; aggregate_runtime.c processes; aggregate_first.c their first
 * sight; aggregate_{cores,models,memory}.c their cores, models and memory; aggregate_histogram.c
 * their latency; aggregate_belief.c which source is trusted about a core; aggregate_users.c the
 * limits per user.
 *
 * Owner, threads: as struct ntk_aggregate.
 */
#ifndef NTK_SHARED_COLLECT_AGGREGATE_STATE_H
#define NTK_SHARED_COLLECT_AGGREGATE_STATE_H

#include "shared/base/map.h"
#include "shared/base/vec.h"
#include "shared/collect/aggregate.h"
#include "shared/collect/machine.h"

/* Index of the busy time in a core's counts, the same in baselines and totals. */
#define AT_BUSY NTK_CORE_COUNT_AT(busy_ns)

/* A histogram at the last reading. A machine has hundreds of them, so only lines with counts are
 * kept. */
struct baseline {
    uint64_t lines[NTK_HISTOGRAM_LINE_WORDS]; /* one bit per line that is kept */
    uint64_t *entries;                        /* the buckets of these lines */
    uint64_t sum_ns;
};

struct histogram_scratch {
    size_t count;
    uint64_t sum_ns;
    struct ntk_histogram_entry entries[NTK_HISTOGRAM_BUCKETS];
};

/* A core's work between the stored totals and first sight, which its first period includes. */
struct unwatched {
    uint64_t counts[NTK_CORE_COUNTS];
    struct baseline total;
    struct baseline device;
};

struct core_state {
    bool known;
    bool is_held;       /* the process was seen to own the core */
    bool moved;         /* the histograms changed last time, so read them again */
    uint64_t read_ns;   /* time of the last reading; 0: none yet */
    uint64_t window_ns; /* time between the two readings of this period; 0 without two readings */
    uint64_t base[NTK_CORE_COUNTS];
    uint64_t
        /* for processes around another runtime: counts that their segment lacks */
        trusted_total[NTK_CORE_COUNTS];
    struct baseline total;
    struct baseline device;
    struct unwatched *unwatched; /* kept until the first sample; NULL: none */
};

struct model_state {
    uint32_t id;
    bool seen;   /* found in the current round */
    bool listed; /* listed as loaded in the last snapshot */
    bool moved;
    uint64_t executions;
    uint64_t errors;
    uint64_t effective_flops;
    uint64_t node_switches;
    uint64_t starts, stops;
    struct ntk_slow_execution slowest; /* slowest execution since the last sample */
    struct baseline total;
    struct baseline device;
};

/* The last reported state of a communicator. */
struct rank_state {
    uint64_t key;       /* the key in the segment */
    uint64_t owned_key; /* the key in snapshots, which also depends on the owner */
    uint64_t join_timestamp_ns;
    uint32_t rank;
    bool seen; /* found in the current round */
    uint64_t operations[NTK_COLLECTIVE_COUNT];
    uint64_t errors;
    uint64_t bytes;
    uint64_t time_ns;
    uint64_t wait_ns;
};

/* A rank of an ended process, see ntk_lost_rank; owns the texts. */
struct lost_rank_state {
    struct ntk_lost_rank lost;
    uint64_t since_ns;    /* monotonic; 0: lost in this period */
    uint64_t realtime_ns; /* the rank was lost before this time; 0: lost in this period */
    uint64_t newer_ns;    /* realtime at which its communicator began again; 0: unknown */
};

struct name_state {
    char *name;
    struct ntk_latency_series total;
    struct ntk_latency_series device;
};

struct runtime_state {
    char *key;
    struct ntk_aggregate_process process; /* first facts for sources */
    bool sampled;                         /* has a sample in this period */
    bool ended;
    bool emitted; /* was in a snapshot before */
    bool has_row; /* has a separate row, see ntk_aggregate_take_row() */
    bool waits;   /* waits for a row in this period */
    char *command;
    char *user;
    char *container_id;
    struct core_state *cores[NTK_SEGMENT_CORES];
    struct ntk_vec models; /* struct model_state */
    struct ntk_vec names;  /* struct name_state */
    struct ntk_vec ranks;  /* struct rank_state */
    /* Highest sum seen, by core (the last index: no core) and category. */
    uint64_t (*peaks)[NTK_MEMORY_CATEGORY_COUNT];
    bool has_memory[NTK_SEGMENT_CORES + 1]; /* whether some row belongs to the core */
    uint64_t events_read_base;
    uint64_t events_lost_base;
    uint64_t events_unwritten[NTK_UNWRITTEN_COUNT]; /* counts at the last reading */
    uint64_t events_read;
    uint64_t events_lost;
    bool has_usage_base;
    uint64_t user_base;
    uint64_t system_base;
    /* The sample of this period; its texts and arrays are in the pending snapshot. */
    struct ntk_runtime_sample sample;
};

struct user_state {
    uint32_t uid;
    double rows; /* number of further processes that may be listed one by one */
    bool is_over;
    size_t shared_row; /* index + 1 in the pending snapshot */
    size_t events;     /* events taken in this period */
};

struct tag_state {
    char *tag;                  /* the uid, then the tag */
    struct ntk_tag_total total; /* total; its tag is unused */
    uint64_t used;              /* sequence of the last snapshot with this tag */
    uint64_t listed;            /* sequence of the last snapshot that lists it */
    size_t place;               /* position in that snapshot */
    bool has_ended;             /* whether all its runtimes in that snapshot have ended */
};

struct device_state {
    bool known[NTK_ECC_COUNT];
    uint64_t base[NTK_ECC_COUNT];
    uint64_t total[NTK_ECC_COUNT];
    uint64_t unwatched[NTK_ECC_COUNT]; /* counts for the next period */
};

/* The work of one of the machine's cores, from segments and tree. aggregate_belief.c describes
 * which source is trusted. */
struct machine_core {
    bool is_listed;        /* whether a process has used it */
    uint32_t has_software; /* enum ntk_core_has so far, from segments of our software cores */
    /* enum ntk_core_has in this period, from segments of processes around another runtime */
    uint32_t has_observed;
    uint32_t observed; /* number of these processes */
    uint32_t has_tree; /* enum ntk_core_has from the tree in this period */
    uint32_t has_base; /* enum ntk_core_has from the tree at the start of this period */
    uint64_t tree_base[NTK_CORE_COUNTS];
    uint64_t tree_period[NTK_CORE_COUNTS];
    /* counts from segments; at the end of the period, the trusted values */
    uint64_t period[NTK_CORE_COUNTS];
    uint64_t total[NTK_CORE_COUNTS];
    bool has_unwatched;
    uint64_t unwatched[NTK_CORE_COUNTS]; /* part of period[] from before its processes were seen */
    /* some value of the tree decreased in this period, so tree_cleared is set */
    bool tree_is_cleared;
    uint64_t tree_cleared[NTK_CORE_COUNTS]; /* new value that period[] includes */
    uint64_t in_flight;
    uint64_t running_ns;
    uint64_t failing_since_ns;
    bool busy;             /* busy in this period according to segments */
    bool window_known;     /* all processes were read at both ends of the period */
    uint64_t window_ns;    /* the time between these readings */
    uint64_t memory_bytes; /* memory according to the tree */
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

    struct ntk_map users;   /* struct user_state by uid; a user who has all rows left is absent */
    struct ntk_map rowless; /* processes that got no row in this period */
    char note[192];         /* note of the last period */
    struct ntk_vec events;  /* struct ntk_event_sample */
    struct ntk_vec spans;   /* struct ntk_span */
    struct ntk_map spans_taken; /* number of spans in this period, by user */
    uint64_t spans_lost;
    struct ntk_vec lost_ranks; /* struct lost_rank_state, oldest first */
    /* number of events in this period, by process and whether they are errors */
    struct ntk_map events_taken;
    bool lists_events;
    bool no_latency;
    bool no_model_latency;
    uint32_t events_generation; /* changes when positions in the list change */
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
    /* NULL: all processes are trusted, as without has_core */
    const struct ntk_ring_process *speaker;
    struct runtime_state *speaker_runtime; /* NULL: seen for the first time */
    struct ntk_health_time moment;         /* time at which sources read */
    struct ntk_device_tree tree;           /* devices points to tree_devices */
    struct ntk_device_info tree_devices[NTK_DEVICES_MAX];
    struct ntk_device_reading readings[NTK_DEVICES_MAX];
    size_t reading_count;
    struct device_state devices[NTK_DEVICES_MAX];
    struct machine_core cores[NTK_AGGREGATE_CORES_MAX];
    size_t cores_used; /* cores from here on have never had a reading */

    bool has_system;
    bool has_system_base;
    struct ntk_system_reading
        system; /* its cpus point to system_cpus.items, its errors to the pending texts */
    struct ntk_vec system_cpus; /* struct ntk_cpu_reading */
    struct ntk_cpu_reading system_average_base;
    struct ntk_vec system_base;                       /* struct ntk_cpu_reading */
    uint64_t system_figures_base[NTK_SYSTEM_FIGURES]; /* baselines of the counters */
    uint64_t self_user_base_ns;
    uint64_t self_system_base_ns;

    /* Scratch memory. */
    struct ntk_ring_histogram histogram;
    struct histogram_scratch period;
    struct ntk_histogram_dense merged;
    struct ntk_health_work work[NTK_AGGREGATE_CORES_MAX];
    uint64_t sums[NTK_SEGMENT_CORES + 1][NTK_MEMORY_CATEGORY_COUNT]; /* all 0 between processes */
};

/* Replaces the text *to by a copy of from and frees the old one; -ENOMEM keeps it. */
int ntk_aggregate_replace_text(char **to, const char *from);

/* The increase of a counter that can restart (in a segment, or in a driver's file that was
 * cleared): a smaller value means that it restarted from 0. docs/decisions/collecting.md. */
static inline uint64_t ntk_aggregate_difference(uint64_t now, uint64_t before)
{
    return now >= before ? now - before : now;
}

/* The increase of a counter that never restarts (a kernel counter of a process or the machine): a
 * smaller value is a small correction, so the increase is 0. */
static inline uint64_t ntk_aggregate_advance(uint64_t now, uint64_t before)
{
    return now >= before ? now - before : 0;
}

/* The state of one of the machine's cores, for a reading. */
static inline struct machine_core *ntk_aggregate_machine_core(struct ntk_aggregate *aggregate,
                                                              uint32_t core)
{
    aggregate->cores_used = core < aggregate->cores_used ? aggregate->cores_used : core + 1;
    return &aggregate->cores[core];
}

/* Busy share of a period, never above 1. */
static inline double ntk_aggregate_share(uint64_t ns, uint64_t period_ns)
{
    double share = period_ns == 0 ? 0 : (double)ns / (double)period_ns;

    return share > 1 ? 1 : share;
}

/* Fills period and total of each counter; the caller sets core, has, utilization, in_flight and
 * histograms. */
void ntk_aggregate_fill_core(struct ntk_core_sample *sample, const uint64_t period[NTK_CORE_COUNTS],
                             const uint64_t total[NTK_CORE_COUNTS]);
void ntk_aggregate_free_runtime(struct ntk_aggregate *aggregate, struct runtime_state *runtime);

/* ---- aggregate_histogram ---- */

/* Reads the histograms of a core or model; false if there are none, or no consumer needs them. */
bool ntk_aggregate_read_core_histogram(struct ntk_aggregate *aggregate,
                                       const struct ntk_runtime_reading *reading,
                                       const struct ntk_ring_core *core);
bool ntk_aggregate_read_model_histogram(struct ntk_aggregate *aggregate,
                                        const struct ntk_runtime_reading *reading,
                                        const struct ntk_ring_model *model);
/* Returns the difference between the reading and the baseline, and makes the reading the new
 * baseline. */
struct ntk_histogram ntk_aggregate_take_histogram(struct ntk_aggregate *aggregate,
                                                  struct baseline *base,
                                                  const struct ntk_ring_buckets *read);
/* Returns 0, or -ENOMEM, which leaves the baseline unchanged. */
int ntk_aggregate_start_baseline(struct ntk_aggregate *aggregate, struct baseline *base,
                                 const struct ntk_ring_buckets *read);
int ntk_aggregate_stored_baseline(struct baseline *base, const struct ntk_histogram *stored);
/* Makes a new baseline of the difference between the reading and `base`, which stays. */
int ntk_aggregate_difference_baseline(struct ntk_aggregate *aggregate, struct baseline *out,
                                      const struct baseline *base,
                                      const struct ntk_ring_buckets *read);
/* Converts a baseline to a histogram in the pending snapshot. */
struct ntk_histogram ntk_aggregate_histogram_of(struct ntk_aggregate *aggregate,
                                                const struct baseline *base);

/* ---- aggregate_cores ---- */

void ntk_aggregate_core_counters(const struct ntk_ring_core *core, uint64_t out[NTK_CORE_COUNTS]);
/* The state of a core, created at the first request; NULL if the core is impossible or memory is
 * exhausted. */
struct core_state *ntk_aggregate_core_state(struct runtime_state *runtime, uint32_t core);
/* Records which cores a living process owns. */
void ntk_aggregate_see_held(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                            const struct ntk_runtime_reading *reading);
int ntk_aggregate_take_cores(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                             const struct ntk_runtime_reading *reading,
                             struct ntk_runtime_sample *out);

/* ---- aggregate_belief ---- */

/* Which facts about a core and its latency the process's segment reports: enum ntk_core_has. */
uint32_t ntk_aggregate_believed_of_segment(const struct ntk_ring_process *process);
/* Adds the tree's counts since the last reading. */
void ntk_aggregate_take_tree_core(struct machine_core *core,
                                  const struct ntk_device_core_reading *reading, bool appeared);
/* At the end of a period, in this order: removes impossible counts of the tree, then copies the
 * tree's better values into the cores of a process around another runtime and into the machine's
 * cores. Returns enum ntk_core_has for the machine's cores. */
void ntk_aggregate_settle_tree(struct ntk_aggregate *aggregate,
                               const struct ntk_snapshot *snapshot);
void ntk_aggregate_tell_runtime(struct ntk_aggregate *aggregate, struct runtime_state *runtime);
uint32_t ntk_aggregate_tell_machine(struct machine_core *core, bool software_machine,
                                    bool *out_busy_of_calls);

/* ---- aggregate_models ---- */

/* The state of a model, created at the first request; NULL if out of memory. */
struct model_state *ntk_aggregate_model_state(struct runtime_state *runtime, uint32_t id);
int ntk_aggregate_take_models(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                              const struct ntk_runtime_reading *reading,
                              struct ntk_runtime_sample *out);

/* ---- aggregate_ranks ---- */

int ntk_aggregate_take_ranks(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                             const struct ntk_runtime_reading *reading,
                             struct ntk_runtime_sample *out);
void ntk_aggregate_free_lost_ranks(struct ntk_aggregate *aggregate);
/* Called after the runtimes, at the end of a period. */
void ntk_aggregate_build_lost_ranks(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot);
/* Makes the ranks count from now on. */
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
/* Returns true if this process gets a separate row. Each user has NTK_AGGREGATE_ROWS_OF_USER rows
 * and gets one more per second; further processes wait and keep all their counts. */
bool ntk_aggregate_take_row(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                            const struct ntk_ring_process *process);
/* Adds the work of a process that ended without a row to the row that its user's row-less processes
 * share. count is the number of rows so far. Returns the new number. */
size_t ntk_aggregate_share_row(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot,
                               size_t count, const struct ntk_runtime_sample *sample);
void ntk_aggregate_drop_rowless_events(struct ntk_aggregate *aggregate);
void ntk_aggregate_build_spans(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot);
/* Keeps at most events_max events. */
void ntk_aggregate_keep_events(struct ntk_aggregate *aggregate);
void ntk_aggregate_finish_users(struct ntk_aggregate *aggregate, uint64_t period_ns);

/* The steps of ntk_aggregate_finish(), in this order. */
void ntk_aggregate_build_hardware(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot);
void ntk_aggregate_build_runtimes(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot);
void ntk_aggregate_build_devices(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot);
void ntk_aggregate_build_cores(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot);
void ntk_aggregate_build_system(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot);

#endif
