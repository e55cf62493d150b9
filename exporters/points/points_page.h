/* SPDX-License-Identifier: MIT */
/*
 * points_page - holds all exported values, and updates them from snapshots.
 *
 * Counters add up the periods of snapshots; gauges keep the last value of a group that is not due.
 * The gauges of a runtime are dropped when it ends, unless that is its first snapshot, or when the
 * snapshot lacks it. If requested, the counters of its tag stay for a few more scrapes, because
 * scrapes are rarer than snapshots and would miss the last counts. The counters are remembered and
 * continue if the tag comes back.
 * Runtimes with one tag (and pod) share its series: sums, and the largest utilization and
 * percentile. Once application_max applications, or a user's share (ntk_exporter_has_room()), are
 * on the page, further ones share the series of "other" until there is room, oldest processes
 * first.
 *
 * Owner:   the caller provides the storage, zeroed or passed to ntk_points_page_fini() before use.
 * Threads: one.
 */
#ifndef NTK_EXPORTERS_POINTS_POINTS_PAGE_H
#define NTK_EXPORTERS_POINTS_POINTS_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "exporters/labels/labels.h"
#include "exporters/transport/output_counts.h"
#include "shared/base/bits.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"
#include "shared/metrics/percentile.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Maximum numbers; beyond them the tag that ended first is forgotten (tags), or the series is
 * omitted (models). */
#define NTK_POINTS_TAGS_MAX 4096
#define NTK_POINTS_MODELS_MAX 256
#define NTK_POINTS_FINE_MAX 4096 /* maximum number of whole histograms; further series have none */
#define NTK_POINTS_LABEL_BYTES 256
/* Time for which the last counts of a tag stay without a scrape. */
#define NTK_POINTS_LAST_NS UINT64_C(600000000000)
#define NTK_POINTS_CORES_MAX 1024
#define NTK_POINTS_PORTS_MAX 128 /* maximum number of network adapter ports */
#define NTK_POINTS_JOB_BYTES 128
#define NTK_POINTS_KEY_BYTES (4 * NTK_POINTS_LABEL_BYTES + 40)

/* The owner of a series in addition to its tag; "" means no label. */
struct ntk_points_owner {
    char container_name[NTK_POINTS_LABEL_BYTES]; /* several names are separated by commas */
    char namespace_name[NTK_POINTS_LABEL_BYTES];
    char pid[16];
    char pod_name[NTK_POINTS_LABEL_BYTES];
    char user[NTK_POINTS_LABEL_BYTES]; /* set if another user's tag has the same labels */
};

struct ntk_points_core { /* a logical core of a tag */
    uint32_t core;
    bool has_utilization;
    bool has_memory;
    uint32_t has_state; /* bit i: state[i] is set, for metrics of core_state.def */
    double utilization;
    uint64_t state[NTK_CORE_STATES];
    /* On a page of one period: bit i is set if rate[i] is known, for the rows of core_counts.def,
     * per second. */
    uint32_t has_rate;
    double rate[NTK_CORE_COUNT_ROWS];
    uint64_t group_bytes[NTK_GROUP_COUNT];
    bool has_group[NTK_GROUP_COUNT]; /* true if a runtime reports the group */
};

struct ntk_points_memory { /* memory of a tag, by logical core and category */
    uint32_t core;         /* NTK_NO_CORE if none */
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
    uint64_t began_ns; /* Unix time from which the counters count; 0 if nothing is counted yet */
    struct ntk_latency_series edges;
    struct ntk_histogram_dense *fine;  /* NULL unless the page keeps them */
    struct ntk_slow_execution slowest; /* slowest execution in the last period */
};

struct ntk_points_latency { /* latency of all models with the same name in a tag */
    char model_name[NTK_POINTS_LABEL_BYTES];
    struct ntk_points_latency_series total;
    struct ntk_points_latency_series device;
};

struct ntk_exporter_options;

#define NTK_POINTS_LOSSES \
    (1 + NTK_UNWRITTEN_COUNT) /* kinds of lost events: overwritten; unwritten, by cause */
enum { NTK_POINTS_CPU_SYSTEM, NTK_POINTS_CPU_USER, NTK_POINTS_CPU_USAGES };
#define NTK_POINTS_HARDWARE_KINDS 3 /* kinds: devices, physical cores, logical cores */

struct ntk_points_tag {             /* an application: a tag, in a pod if known */
    char key[NTK_POINTS_KEY_BYTES]; /* key in the map of tags */
    char tag[NTK_POINTS_LABEL_BYTES];
    uint32_t uid;
    struct ntk_points_owner owner;
    bool is_live;              /* true while on the page */
    bool is_leaving;           /* true while only its counters are on the page */
    uint64_t ended_deliveries; /* page->deliveries at its end */
    uint64_t ended_ns;         /* Unix time of its end */
    uint64_t last_sequence;    /* last update that had it */
    /* True if all runtimes that earlier updates had were gone by then */
    bool is_over;
    /* the name belongs to one process, so it does not come back after the end */
    bool is_of_process;
    bool has_ended;         /* all its runtimes in the last update have ended */
    bool is_resumed;        /* known from an earlier agent, and not seen since */
    double created_seconds; /* Unix time of its first snapshot */
    uint64_t began_ns;      /* Unix time from which the counters count: the start of that period */
    /* From here to the lists: values that are cleared on a page of one period. */
    bool has_executions;
    bool is_uncounted; /* its executions are no longer counted: counters would look idle */
    uint64_t outcome[NTK_OUTCOME_COUNT];
    uint64_t error_class[NTK_ERROR_CLASS_COUNT];
    bool has_ranks;
    uint64_t collectives[NTK_COLLECTIVE_COUNT];
    uint64_t rank_counts[NTK_RANK_COUNTS];
    uint64_t in_collective_ns; /* longest of the current operations */
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
    /* States of its runtimes: how they are observed, if their cores are guessed, and which
     * of their executions are counted: all, none, or those until the hooks stopped. */
    bool is_watched[NTK_HOOKS_KIND_COUNT][2][NTK_EXECUTIONS_COUNTED_COUNT];
    struct ntk_vec cores;     /* elements are struct ntk_points_core */
    struct ntk_vec memory;    /* elements are struct ntk_points_memory */
    struct ntk_vec models;    /* elements are struct ntk_points_model */
    struct ntk_vec latencies; /* elements are struct ntk_points_latency */
};

struct ntk_points_machine_core { /* a logical core of the machine */
    struct ntk_points_owner owner;
    uint32_t has;       /* bits of enum ntk_core_has */
    bool is_unreported; /* a runtime has the core, but its busy time is unknown */
    double utilization;
    uint64_t counts[NTK_CORE_COUNTS]; /* same as in struct ntk_core_sample */
};

struct ntk_points_device {
    uint32_t index;
    struct ntk_points_owner owner;
    uint32_t has;     /* bits of enum ntk_device_has */
    uint32_t ecc_has; /* bit i is set if ecc[i] is counted */
    uint64_t ecc[NTK_ECC_COUNT];
    uint32_t ecc_total_has; /* bit i is set if ecc_total[i] is counted */
    uint64_t ecc_total[NTK_ECC_COUNT];
    struct ntk_device_sample figures; /* has, stack_count and ntk_device_rows of the device */
    char name[NTK_POINTS_LABEL_BYTES];
    char serial_number[NTK_POINTS_LABEL_BYTES];
    uint32_t verdict; /* enum ntk_health_verdict, if NTK_DEVICE_HAS_HEALTH is set */
    size_t health_count;
    struct {
        uint16_t reason; /* enum ntk_health_reason */
        uint64_t since_ns;
    } health[NTK_HEALTH_REASON_COUNT];
};

struct ntk_points_trouble { /* a problem of ranks */
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

/* A batch job; an unknown text is "". */
struct ntk_points_job {
    char texts[NTK_JOB_TEXTS][NTK_POINTS_JOB_BYTES];      /* same as in struct ntk_job */
    uint64_t cores[NTK_BITS_WORDS(NTK_POINTS_CORES_MAX)]; /* bits of logical cores */
    uint64_t devices;                                     /* bits of devices */
};

struct ntk_points_process { /* figures of this process */
    bool present;
    double cpu_seconds;
    double start_seconds;
    double resident_bytes;
    double virtual_bytes;
    double open_fds;
    double max_fds;
};

/* Age of the page's data. A stale page has only metrics of this program. */
struct ntk_points_age {
    bool is_known; /* for a page that clients fetch; a pushed page is always new */
    bool is_stale;
    double seconds;
    double period_seconds; /* longest time until the next report */
};

struct ntk_points_page {
    /* Set before the first update: each update starts from zero, for readers that add up the
     * values. Counters have the increase in the period; other values are absent; processes that
     * ended in it are included. Latencies are those of whole applications (the model's name is ""),
     * and pods of one tag are one application. Applications keep their places (User, "other") until
     * fini. */
    bool is_of_period;
    /* set before the first update: keep whole histograms too, 18 KiB each */
    bool keeps_fine_latencies;
    /* set before the first update: number of applications with separate series, the others share
     * the tag "other"; 0: all */
    size_t application_max;
    size_t shown_count;         /* number of applications with separate series */
    struct ntk_map shown_users; /* number of shown applications per uid */
    struct ntk_map others;      /* keys of applications in "other" in the last update */
    size_t other_count;         /* number of applications in "other" */
    /* Set before the first update: the pid distinguishes applications with one tag */
    bool has_pid_label;
    const struct ntk_labels *labels; /* added to every series; NULL if none */
    unsigned names;      /* lists of names, bits by enum ntk_name_list; 0: names of this project */
    bool fills_zeros;    /* free cores also have the series of cores, as zero */
    uint64_t last_looks; /* set before the first update: number of scrapes that show last counts */
    size_t fine_count;   /* number of whole histograms */
    uint64_t now_ns;     /* Unix time of the last update */
    struct ntk_points_age age; /* set by the server of the page */
    uint64_t deliveries;       /* number of scrapes or pushes while not stale */
    uint64_t sequence;         /* number of updates so far */
    double created_seconds;
    uint64_t began_ns; /* Unix time from which the counters count */
    /* by tag, pod, (with has_pid_label) pid and uid; values are struct ntk_points_tag */
    struct ntk_map tags;

    /* Labels of the instance, each from the first snapshot that has it. */
    union {
        struct {
#define NTK_INSTANCE_TEXT(name, ...) char name[NTK_POINTS_LABEL_BYTES];
#include "shared/metrics/machine.def"
        };
        char texts[NTK_INSTANCE_TEXTS][NTK_POINTS_LABEL_BYTES];
    } instance;
    bool has_type; /* true if the type comes from the instance, not from the device tree */

    uint32_t device_count;        /* 0 until a snapshot has the hardware */
    uint32_t cores_per_device;    /* number of logical cores */
    uint64_t device_memory_bytes; /* 0 if unknown */
    bool has_hardware;
    uint64_t hardware[NTK_POINTS_HARDWARE_KINDS];
    bool has_cards; /* MLU cards */
    char driver_version[NTK_POINTS_LABEL_BYTES];
    char host_name[NTK_POINTS_LABEL_BYTES];

    uint64_t outcome[NTK_OUTCOME_COUNT]; /* sum of all runtimes */
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
    /* Ratios; waiting and interrupts belong to the system, nice belongs to the user. */
    double cpu_usage[NTK_POINTS_CPU_USAGES];
    double cpu_fields[NTK_CPU_FIELD_COUNT];
    uint32_t system_has;                 /* bits of enum ntk_system_has */
    uint64_t system[NTK_SYSTEM_FIGURES]; /* counters have the increase in the last period */

    struct ntk_points_process process;
    struct ntk_output_counts outputs[NTK_OUTPUT_COUNTS_MAX]; /* outputs of this process */
    size_t output_count;
};

/* Sets the options of every page on a zeroed page; the texts are borrowed. */
void ntk_points_page_init(struct ntk_points_page *page, const struct ntk_exporter_options *options);
/* Updates the page. Returns 0 or -ENOMEM (some series may then be missing until the next
 * update). */
int ntk_points_page_update(struct ntk_points_page *page, const struct ntk_snapshot *snapshot);
/* Adds totals from before the first update. A tag appears on the page only once a
 * process has it. */
int ntk_points_page_resume(struct ntk_points_page *page, const struct ntk_snapshot *totals);
/* Notes that the page was served. Returns true if a series left the page because of it. A stale
 * page does not count, because it has no applications. */
bool ntk_points_page_delivered(struct ntk_points_page *page);
/* Fills the metrics of this process: page->process from /proc/self, and page->outputs. */
void ntk_points_page_update_process(struct ntk_points_page *page);
/* Copies the values, for a reader that continues while the page changes: applications keep their
 * places, but have no whole histograms. The copy is zeroed or passed to ntk_points_page_fini()
 * before. Returns 0 or -ENOMEM. */
int ntk_points_page_freeze(const struct ntk_points_page *page, struct ntk_points_page *out);
void ntk_points_page_fini(struct ntk_points_page *page);

#ifdef __cplusplus
}
#endif
#endif
