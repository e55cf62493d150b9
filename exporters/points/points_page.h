/* SPDX-License-Identifier: MIT */
/*
 * points_page - all exported values, updated from snapshots.
 *
 * Counters add up the periods of snapshots; gauges keep the last value of a group that is not due.
 * Values of a runtime leave the page with the snapshot after its last one. On request, the counters
 * of its tag stay for a few more scrapes, because scrapes are rarer than snapshots and would miss
 * the last counts. The counters are remembered and continue if the tag comes back. Runtimes of one
 * tag (and pod) share its series: sums, and the largest utilization and percentile. Once
 * application_max of them, or a user's share (ntk_exporter_has_room()), are on the page, further
 * ones share the series of "other" until there is room, oldest processes first.
 *
 * Owner:   caller's storage, zeroed or ntk_points_page_fini()ed before first use.
 * Threads: one.
 */
#ifndef NTK_EXPORTERS_POINTS_POINTS_PAGE_H
#define NTK_EXPORTERS_POINTS_POINTS_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "exporters/labels/labels.h"
#include "exporters/transport/output_counts.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"
#include "shared/metrics/percentile.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Beyond these limits the tag that ended first is forgotten (tags), or the series is omitted
 * (models). */
#define NTK_POINTS_TAGS_MAX 4096
#define NTK_POINTS_MODELS_MAX 256
#define NTK_POINTS_FINE_MAX 4096 /* whole histograms; further series have none */
#define NTK_POINTS_LABEL_BYTES 256
/* The last counts of a tag stay this long without a scrape. */
#define NTK_POINTS_LAST_NS UINT64_C(600000000000)
#define NTK_POINTS_CORES_MAX 1024
#define NTK_POINTS_PORTS_MAX 128 /* of network adapters */
#define NTK_POINTS_JOB_BYTES 128
#define NTK_POINTS_KEY_BYTES (4 * NTK_POINTS_LABEL_BYTES + 40)

/* The owner of a series in addition to its tag; "": no label. */
struct ntk_points_owner {
    char container_name[NTK_POINTS_LABEL_BYTES]; /* several are separated by commas */
    char namespace_name[NTK_POINTS_LABEL_BYTES];
    char pid[16];
    char pod_name[NTK_POINTS_LABEL_BYTES];
    char user[NTK_POINTS_LABEL_BYTES]; /* set if another user's tag has the same labels */
};

struct ntk_points_core { /* of a tag, per logical core */
    uint32_t core;
    bool has_utilization;
    bool has_memory;
    uint32_t has_state; /* bit i: state[i] is set, for metrics of core_state.def */
    double utilization;
    uint64_t state[NTK_CORE_STATES];
    /* On a page of one period: bit i: rate[i], of the rows of core_counts.def, per second. */
    uint32_t has_rate;
    double rate[NTK_CORE_COUNT_ROWS];
    uint64_t group_bytes[NTK_GROUP_COUNT];
    bool has_group[NTK_GROUP_COUNT]; /* some runtime reports it */
};

struct ntk_points_memory { /* of a tag, per logical core and category */
    uint32_t core;         /* NTK_NO_CORE for none */
    uint16_t location;
    uint16_t category;
    uint64_t bytes;
    uint64_t peak_bytes;
};

struct ntk_points_model { /* a loaded model of a tag */
    uint32_t core;
    uint32_t id;
    char name[NTK_POINTS_LABEL_BYTES];
};

struct ntk_points_latency_series {
    uint64_t began_ns; /* Unix time from which it counts; 0: nothing counted yet */
    struct ntk_latency_series edges;
    struct ntk_histogram_dense *fine;  /* NULL unless the page keeps them */
    struct ntk_slow_execution slowest; /* of the last period */
};

struct ntk_points_latency { /* all models with the same name in a tag */
    char model_name[NTK_POINTS_LABEL_BYTES];
    struct ntk_points_latency_series total;
    struct ntk_points_latency_series device;
};

struct ntk_exporter_options;

#define NTK_POINTS_LOSSES \
    (1 + NTK_UNWRITTEN_COUNT) /* of events: overwritten; unwritten, by cause */
enum { NTK_POINTS_CPU_SYSTEM, NTK_POINTS_CPU_USER, NTK_POINTS_CPU_USAGES };
#define NTK_POINTS_HARDWARE_KINDS 3 /* devices, physical cores, logical cores */

struct ntk_points_tag {             /* of a pod, if known */
    char key[NTK_POINTS_KEY_BYTES]; /* key in the map of tags */
    char tag[NTK_POINTS_LABEL_BYTES];
    uint32_t uid;
    struct ntk_points_owner owner;
    bool is_live;              /* on the page */
    bool is_leaving;           /* its counters are on the page */
    uint64_t ended_deliveries; /* page->deliveries at its end ... */
    uint64_t ended_ns;         /* ... and the Unix time of its end */
    uint64_t last_sequence;    /* of the last update that had it */
    /* ... and all its runtimes, which earlier updates had, were gone by then */
    bool is_over;
    bool is_of_process;     /* one process has this name: it does not come back after its end */
    bool has_ended;         /* all its runtimes of the last update that had it */
    bool is_resumed;        /* known from an earlier agent, and not seen since */
    double created_seconds; /* Unix time of its first snapshot */
    uint64_t began_ns;      /* Unix time from which it counts: the start of that period */
    /* From here to the lists: values that a page of one period clears. */
    bool has_executions;
    bool is_uncounted; /* its executions are no longer counted: counters would look idle */
    uint64_t outcome[NTK_OUTCOME_COUNT];
    uint64_t error_class[NTK_ERROR_CLASS_COUNT];
    bool has_ranks;
    uint64_t collectives[NTK_COLLECTIVE_COUNT];
    uint64_t rank_counts[NTK_RANK_COUNTS];
    uint64_t in_collective_ns; /* the longest of the current ones */
    bool has_percentiles;
    double percentile_seconds[NTK_PERCENTILE_COUNT];
    bool has_device_percentiles;
    double device_percentile_seconds[NTK_PERCENTILE_COUNT];
    bool has_resident;
    uint64_t resident_bytes;
    bool has_cpu;
    double cpu_usage[NTK_POINTS_CPU_USAGES];
    /* Sums over its runtimes; unknown if a runtime with a partial report lacks the value. */
    struct ntk_memory_total host;
    struct ntk_memory_total device;
    /* State of its runtimes: how they are observed, whether their cores are guessed, and which
     * of their executions are counted: all, none, or those until the hooks stopped. */
    bool is_watched[NTK_HOOKS_KIND_COUNT][2][NTK_EXECUTIONS_COUNTED_COUNT];
    struct ntk_vec cores;     /* struct ntk_points_core */
    struct ntk_vec memory;    /* struct ntk_points_memory */
    struct ntk_vec models;    /* struct ntk_points_model */
    struct ntk_vec latencies; /* struct ntk_points_latency */
};

struct ntk_points_machine_core { /* logical */
    struct ntk_points_owner owner;
    uint32_t has;       /* enum ntk_core_has */
    bool is_unreported; /* a runtime has it, and its busy time is unknown */
    double utilization;
    uint64_t counts[NTK_CORE_COUNTS]; /* as in struct ntk_core_sample */
};

struct ntk_points_device {
    uint32_t index;
    struct ntk_points_owner owner;
    uint32_t has;     /* enum ntk_device_has */
    uint32_t ecc_has; /* bit i: ecc[i] is counted */
    uint64_t ecc[NTK_ECC_COUNT];
    uint32_t ecc_total_has; /* the same for ecc_total[] */
    uint64_t ecc_total[NTK_ECC_COUNT];
    struct ntk_device_sample figures; /* has, stack_count and ntk_device_rows of the device */
    char name[NTK_POINTS_LABEL_BYTES];
    char serial_number[NTK_POINTS_LABEL_BYTES];
    uint32_t verdict; /* enum ntk_health_verdict, with NTK_DEVICE_HAS_HEALTH */
    size_t health_count;
    struct {
        uint16_t reason; /* enum ntk_health_reason */
        uint64_t since_ns;
    } health[NTK_HEALTH_REASON_COUNT];
};

struct ntk_points_trouble { /* of ranks */
    uint32_t kind;          /* enum ntk_trouble_kind */
    uint64_t key;
    bool has_rank;
    uint32_t rank;
    bool is_elsewhere; /* no process of this machine reports the rank */
    uint64_t since_ns; /* Unix time */
    char cause[32];
    char job_id[NTK_POINTS_JOB_BYTES];
    char rendezvous[NTK_POINTS_LABEL_BYTES];
    char tag[NTK_POINTS_LABEL_BYTES];
};

/* A batch job; unknown texts are "". */
struct ntk_points_job {
    char texts[NTK_JOB_TEXTS][NTK_POINTS_JOB_BYTES]; /* as in struct ntk_job */
    uint64_t cores[NTK_POINTS_CORES_MAX / 64];       /* bits, logical */
    uint64_t devices;                                /* bits */
};

struct ntk_points_process { /* this process */
    bool present;
    double cpu_seconds;
    double start_seconds;
    double resident_bytes;
    double virtual_bytes;
    double open_fds;
    double max_fds;
};

/* The age of the page's data. A stale page has only the program's own metrics. */
struct ntk_points_age {
    bool is_known; /* for a page that clients fetch; a pushed page is fresh */
    bool is_stale;
    double seconds;
    double period_seconds; /* the longest time until the next report */
};

struct ntk_points_page {
    /* Set before the first update: each update starts from zero, for readers that add up
     * themselves. Counters have the increase of its period; other values are absent; processes that
     * ended in it are included. Latencies are those of whole applications (the model's name is ""),
     * and pods of one tag are one application. Applications keep their places (User, "other") until
     * fini. */
    bool is_of_period;
    /* set before the first update: keep whole histograms too, 18 KiB each */
    bool keeps_fine_latencies;
    size_t application_max;     /* set before the first update: number of applications with their
                                 * own series, the others share the tag "other"; 0: all */
    size_t shown_count;         /* that have */
    struct ntk_map shown_users; /* number of shown applications per uid */
    struct ntk_map others;      /* keys of those in "other" in the last update */
    size_t other_count;         /* their number */
    /* set before the first update: the pid distinguishes applications of a tag */
    bool has_pid_label;
    const struct ntk_labels *labels; /* for every series; NULL: none */
    unsigned names;                  /* lists of names, bits by enum ntk_name_list; 0: our own */
    bool fills_zeros;                /* free cores also get the series of cores, as zero */
    uint64_t last_looks;       /* set before the first update: how often to show last counts */
    size_t fine_count;         /* of these */
    uint64_t now_ns;           /* of the last update, Unix time */
    struct ntk_points_age age; /* set by the server of the page */
    uint64_t deliveries;       /* number of scrapes or pushes while not stale */
    uint64_t sequence;         /* updates so far */
    double created_seconds;
    uint64_t began_ns;   /* Unix time from which it counts */
    struct ntk_map tags; /* by tag, pod, (with has_pid_label) pid and uid: struct ntk_points_tag */

    /* Values of the instance, each from the first snapshot that has it. */
    union {
        struct {
#define NTK_INSTANCE_TEXT(name, ...) char name[NTK_POINTS_LABEL_BYTES];
#include "shared/metrics/machine.def"
        };
        char texts[NTK_INSTANCE_TEXTS][NTK_POINTS_LABEL_BYTES];
    } instance;
    bool has_type; /* from the instance itself, not the device tree */

    uint32_t device_count;        /* 0 until a snapshot has the hardware */
    uint32_t cores_per_device;    /* logical */
    uint64_t device_memory_bytes; /* 0: unknown */
    bool has_hardware;
    uint64_t hardware[NTK_POINTS_HARDWARE_KINDS];
    bool has_cards; /* MLU cards */
    char driver_version[NTK_POINTS_LABEL_BYTES];
    char host_name[NTK_POINTS_LABEL_BYTES];

    uint64_t outcome[NTK_OUTCOME_COUNT]; /* all runtimes */
    uint64_t error_class[NTK_ERROR_CLASS_COUNT];
    bool is_partial; /* some executions were not counted */
    uint64_t events_read;
    uint64_t events_lost[NTK_POINTS_LOSSES];
    double collect_seconds;

    struct ntk_points_machine_core cores[NTK_POINTS_CORES_MAX];
    size_t core_count;
    struct ntk_points_device devices[NTK_SNAPSHOT_DEVICES_MAX];
    size_t device_sample_count;
    struct ntk_points_trouble troubles[NTK_SNAPSHOT_TROUBLES_MAX];
    size_t trouble_count;

    struct ntk_points_job jobs[NTK_SNAPSHOT_JOBS_MAX]; /* from the last report */
    size_t job_count;

    struct ntk_adapter_port ports[NTK_POINTS_PORTS_MAX];
    size_t port_count;

    bool has_cpu;
    size_t cpu_count;
    /* Ratios; waiting and interrupts are the system's, nice is the user's. */
    double cpu_usage[NTK_POINTS_CPU_USAGES];
    double cpu_fields[NTK_CPU_FIELD_COUNT];
    uint32_t system_has;                 /* enum ntk_system_has */
    uint64_t system[NTK_SYSTEM_FIGURES]; /* counters: of the last period */

    struct ntk_points_process process;
    struct ntk_output_counts outputs[NTK_OUTPUT_COUNTS_MAX]; /* of this process */
    size_t output_count;
};

/* Sets the options of every page on a zeroed page; the texts are borrowed. */
void ntk_points_page_init(struct ntk_points_page *page, const struct ntk_exporter_options *options);
/* 0 or -ENOMEM (some series may then be missing until the next update). */
int ntk_points_page_update(struct ntk_points_page *page, const struct ntk_snapshot *snapshot);
/* Same, for totals from before the first update. A tag appears on the page only once a
 * process has it. */
int ntk_points_page_resume(struct ntk_points_page *page, const struct ntk_snapshot *totals);
/* Notes that the page was served; true if a series left the page because of it. A stale page does
 * not count: it has no applications. */
bool ntk_points_page_delivered(struct ntk_points_page *page);
/* Fills the metrics of this process: page->process from /proc/self, page->outputs. */
void ntk_points_page_update_process(struct ntk_points_page *page);
/* A copy of the values, for a reader that continues while the page changes: applications keep their
 * places, but have no whole histograms. Zeroed or ntk_points_page_fini()ed before; 0 or -ENOMEM. */
int ntk_points_page_freeze(const struct ntk_points_page *page, struct ntk_points_page *out);
void ntk_points_page_fini(struct ntk_points_page *page);

#ifdef __cplusplus
}
#endif
#endif
