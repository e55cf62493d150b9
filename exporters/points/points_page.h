/* SPDX-License-Identifier: MIT */
/*
 * points_page - everything that exporters show, kept up to date from snapshots.
 *
 * Counters add up the periods of snapshots; gauges keep the last value of a group that is not due.
 * What belongs to a runtime leaves the page with the snapshot after its last; the counters of its
 * tag stay, where that is requested, until they were scraped a few more times, for a scrape is
 * rarer than a snapshot and would miss the last of them. They are remembered and continue when the
 * tag comes back. Runtimes of one tag (and pod) share its series: sums, and the largest utilization
 * and percentile. When application_max of them are on the page, or a user's share of it
 * (ntk_exporter_has_room()), further ones share the series of "other" until there is room: the
 * oldest processes come first.
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

/* Beyond these bounds the oldest tag that is not running is forgotten (tags), or the series is
 * omitted (models). */
#define NTK_POINTS_TAGS_MAX 4096
#define NTK_POINTS_MODELS_MAX 256
#define NTK_POINTS_FINE_MAX 4096 /* whole histograms; further series have none */
#define NTK_POINTS_LABEL_BYTES 256
/* Last counts of a tag stay this long without a scrape. */
#define NTK_POINTS_LAST_NS UINT64_C(600000000000)
#define NTK_POINTS_CORES_MAX 1024
#define NTK_POINTS_PORTS_MAX 128 /* of network adapters */
#define NTK_POINTS_JOB_BYTES 128
#define NTK_POINTS_KEY_BYTES (4 * NTK_POINTS_LABEL_BYTES + 40)

/* Who a series belongs to next to its tag; "" is a label that is absent. */
struct ntk_points_owner {
    char container_name[NTK_POINTS_LABEL_BYTES]; /* several with commas between */
    char namespace_name[NTK_POINTS_LABEL_BYTES];
    char pid[16];
    char pod_name[NTK_POINTS_LABEL_BYTES];
    char user[NTK_POINTS_LABEL_BYTES]; /* where another user's tag has these labels already */
};

struct ntk_points_core { /* of a tag, by logical core */
    uint32_t core;
    bool has_utilization;
    bool has_memory;
    uint32_t has_state; /* bit i: state[i], which core_state.def has a metric for */
    double utilization;
    uint64_t state[NTK_CORE_STATES];
    /* On a page of one period: bit i: rate[i], of the rows of core_counts.def, per second. */
    uint32_t has_rate;
    double rate[NTK_CORE_COUNT_ROWS];
    uint64_t group_bytes[NTK_GROUP_COUNT];
    bool has_group[NTK_GROUP_COUNT]; /* some runtime reports it */
};

struct ntk_points_memory { /* of a tag, by logical core and category */
    uint32_t core;         /* NTK_NO_CORE for none */
    uint16_t location;
    uint16_t category;
    uint64_t bytes;
    uint64_t peak_bytes;
};

struct ntk_points_model { /* of a tag: one that is loaded */
    uint32_t core;
    uint32_t id;
    char name[NTK_POINTS_LABEL_BYTES];
};

struct ntk_points_latency_series {
    uint64_t began_ns; /* Unix time since when it counts; 0: nothing was counted yet */
    struct ntk_latency_series edges;
    struct ntk_histogram_dense *fine;  /* NULL unless the page keeps them */
    struct ntk_slow_execution slowest; /* of the last period */
};

struct ntk_points_latency { /* of a tag: all models of a name */
    char model_name[NTK_POINTS_LABEL_BYTES];
    struct ntk_points_latency_series total;
    struct ntk_points_latency_series device;
};

struct ntk_exporter_options;

#define NTK_POINTS_LOSSES \
    (1 + NTK_UNWRITTEN_COUNT) /* of events: overwritten; unwritten, by cause */
enum { NTK_POINTS_CPU_SYSTEM, NTK_POINTS_CPU_USER, NTK_POINTS_CPU_USAGES };
#define NTK_POINTS_HARDWARE_KINDS 3 /* devices, physical cores, logical cores */

struct ntk_points_tag {             /* of a pod, where that is known */
    char key[NTK_POINTS_KEY_BYTES]; /* in the map of tags */
    char tag[NTK_POINTS_LABEL_BYTES];
    uint32_t uid;
    struct ntk_points_owner owner;
    bool is_live;              /* on the page */
    bool is_leaving;           /* its counters are on the page */
    uint64_t ended_deliveries; /* page->deliveries when it ended ... */
    uint64_t ended_ns;         /* ... and when that was, Unix time */
    uint64_t last_sequence;    /* of the update that had it */
    bool is_over;           /* ... and all its runtimes had ended by then, which earlier ones had */
    double created_seconds; /* Unix time of its first snapshot */
    uint64_t began_ns;      /* Unix time since when it counts: the begin of that period */
    /* From here to the lists: values, which a page of one period clears. */
    bool has_executions;
    bool is_uncounted; /* its executions are not counted any more: counters would look idle */
    uint64_t outcome[NTK_OUTCOME_COUNT];
    uint64_t error_class[NTK_ERROR_CLASS_COUNT];
    bool has_ranks;
    uint64_t collectives[NTK_COLLECTIVE_COUNT];
    uint64_t rank_counts[NTK_RANK_COUNTS];
    uint64_t in_collective_ns; /* the longest of those at hand */
    bool has_percentiles;
    double percentile_seconds[NTK_PERCENTILE_COUNT];
    bool has_device_percentiles;
    double device_percentile_seconds[NTK_PERCENTILE_COUNT];
    bool has_resident;
    uint64_t resident_bytes;
    bool has_cpu;
    double cpu_usage[NTK_POINTS_CPU_USAGES];
    /* Sums over its runtimes; unknown when a runtime with a partial report has nothing. */
    struct ntk_memory_total host;
    struct ntk_memory_total device;
    /* Of its runtimes: how they are watched, whether their cores are guessed, which of their
     * executions are counted: all, none, those until the hooks gave them up. */
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
    uint32_t ecc_total_has; /* likewise, of ecc_total[] */
    uint64_t ecc_total[NTK_ECC_COUNT];
    struct ntk_device_sample figures; /* of it: has, stack_count and ntk_device_rows */
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

struct ntk_points_process { /* the exporter itself */
    bool present;
    double cpu_seconds;
    double start_seconds;
    double resident_bytes;
    double virtual_bytes;
    double open_fds;
    double max_fds;
};

/* How old what the page shows is. A stale page has the program's own metrics alone. */
struct ntk_points_age {
    bool is_known; /* of a page that clients fetch; a pushed one is new */
    bool is_stale;
    double seconds;
    double period_seconds; /* the longest time to the next report */
};

struct ntk_points_page {
    /* Set before the first update: each update begins again, for readers that add up themselves.
     * Counters have what its period added; what it does not have is absent; processes that ended
     * in it count. Latencies are those of whole applications (the model's name is ""), and pods of
     * one tag are one application. Applications keep their places (User, "other") until fini. */
    bool is_of_period;
    bool keeps_fine_latencies;  /* set before the first update: whole histograms too, 18 KiB each */
    size_t application_max;     /* set before the first update: this many have their own series, the
                                * rest shares those of the tag "other"; 0: all have */
    size_t shown_count;         /* that have */
    struct ntk_map shown_users; /* how many of them a user has, by uid */
    struct ntk_map others;      /* keys of those that do not, in the last update */
    bool has_pid_label;         /* set before the first update: applications of a tag stand apart */
    const struct ntk_labels *labels; /* of every series; NULL: none */
    unsigned names;                  /* lists of names, bits by enum ntk_name_list; 0: our own */
    bool fills_zeros;                /* free cores get the series of cores too, at zero */
    uint64_t last_looks; /* set before the first update: how often last counts are still shown */
    size_t fine_count;   /* of these */
    uint64_t now_ns;     /* of the last update, Unix time */
    struct ntk_points_age age; /* set by the server of the page */
    uint64_t deliveries;       /* how often it was scraped or pushed, not stale */
    uint64_t sequence;         /* updates so far */
    double created_seconds;
    uint64_t began_ns;   /* Unix time since when it counts */
    struct ntk_map tags; /* by tag, pod, (with has_pid_label) pid and uid: struct ntk_points_tag */

    /* Values of the instance, each of the first snapshot that has it. */
    union {
        struct {
#define NTK_INSTANCE_TEXT(name, ...) char name[NTK_POINTS_LABEL_BYTES];
#include "shared/metrics/machine.def"
        };
        char texts[NTK_INSTANCE_TEXTS][NTK_POINTS_LABEL_BYTES];
    } instance;
    bool has_type; /* the instance's own word, not the device tree's */

    uint32_t device_count;        /* 0 until a snapshot knows the hardware */
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

    struct ntk_points_job jobs[NTK_SNAPSHOT_JOBS_MAX]; /* as the last report tells */
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

/* A zeroed page takes the options of every page; the texts are borrowed. */
void ntk_points_page_init(struct ntk_points_page *page, const struct ntk_exporter_options *options);
/* 0 or -ENOMEM (some series may then be missing until the next update). */
int ntk_points_page_update(struct ntk_points_page *page, const struct ntk_snapshot *snapshot);
/* As above, of everything that was counted before the first update: no tag is on the page until a
 * process has it. */
int ntk_points_page_resume(struct ntk_points_page *page, const struct ntk_snapshot *totals);
/* The page was served; true when something left it by that. A stale page does not count: it has no
 * application. */
bool ntk_points_page_delivered(struct ntk_points_page *page);
/* Fills the metrics of this process: page->process from /proc/self, page->outputs. */
void ntk_points_page_update_process(struct ntk_points_page *page);
void ntk_points_page_fini(struct ntk_points_page *page);

#ifdef __cplusplus
}
#endif
#endif
