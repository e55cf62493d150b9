/* SPDX-License-Identifier: MIT */
/*
 * monitor - runs the agent: collects data, and passes each period to the store, stream, exporters
 * and HTTP.
 *
 * SIGHUP reads the configuration again: the elapsed time is reported with the old configuration,
 * then the new one applies. An invalid file changes nothing and is reported in one message.
 *
 * If the health of a device changes, a report is due immediately, with any period.
 *
 * Everything runs in the thread of ntk_monitor_run(); store and HTTP have their own threads and
 * only receive data. The rings are drained between the periods, more often under load.
 *
 * Owner:   ntk_monitor_create() / _destroy(); the options are borrowed for that time.
 * Threads: one.
 */
#ifndef NTK_AGENT_MONITOR_H
#define NTK_AGENT_MONITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/report/monitor_config.h"
#include "exporters/exporter.h"
#include "shared/base/err.h"
#include "shared/report/report_json.h"
#include "shared/store/store.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_clock;
struct ntk_pods_options;
struct ntk_captures_options;
struct ntk_archive_options;

#define NTK_MONITOR_DRAIN_MIN_NS (10 * NTK_NS_PER_MS)
#define NTK_MONITOR_DRAIN_MAX_NS (100 * NTK_NS_PER_MS)
/* Fill level of the fullest ring between two drains, in percent: drains are frequent from the first
 * value on, and become rare below the second. */
#define NTK_MONITOR_FILL_FAST 25
#define NTK_MONITOR_FILL_SLOW 10
/* Interval of snapshots for the store, independent of the periods of reports. */
#define NTK_MONITOR_STORE_PERIOD_NS NTK_NS_PER_SECOND
/* Interval of attempts to open the local socket. */
#define NTK_MONITOR_LOCAL_NS (2 * NTK_NS_PER_SECOND)
/* Maximum delay of the exit by a slow reader of stdout. */
#define NTK_MONITOR_FLUSH_NS (1 * NTK_NS_PER_SECOND)

struct ntk_monitor_options {
    /* For all periods and waits; borrowed; NULL for the system clock. Options of the parts below
     * have a separate clock. */
    const struct ntk_clock *clock;
    uint64_t store_period_ns; /* 0 for NTK_MONITOR_STORE_PERIOD_NS */
    uint64_t page_ns_max;     /* 0 for NTK_MONITOR_PAGE_NS */
    uint64_t drain_ns_max;    /* 0 for NTK_MONITOR_DRAIN_MAX_NS */
    const struct ntk_monitor_config *config;
    struct ntk_report_options report;
    const char *sysfs_root;               /* NULL: the agent finds it */
    const char *db_path;                  /* NULL: no store */
    struct ntk_store_options store;       /* zeroed for the defaults */
    const char *http;                     /* address; NULL if none */
    const char *http_token_file;          /* NULL without a token */
    struct ntk_exporter_options exporter; /* the page also uses its security and names */
    /* endpoint of the instance metadata service; NULL: no requests */
    const char *instance_endpoint;
    bool instance_is_certain;            /* see struct ntk_instance_options */
    const struct ntk_pods_options *pods; /* NULL: no requests to the kubelet */
    const char *job_mapping; /* folder that maps jobs to cores and devices; NULL if none */
    const char *host_root; /* mount point of the host's root folder, for its /proc; NULL for "/" */
    bool command_lines;    /* report, store and HTTP include arguments */
    const struct ntk_captures_options *captures; /* NULL: record nothing */
    const struct ntk_archive_options *archive;   /* archive of db_path; NULL if none */
    bool idle;                                   /* causes of idle cores are stored in db_path */
    bool quiet;                                  /* nothing on stdout */
    bool skip_first;                             /* delay the first report by a period */
    uint64_t report_count;                       /* number of reports; 0: no limit */
    /* Reads the configuration again for SIGHUP: fills *config, or returns an error with its reason.
     * NULL without a configuration. */
    int (*reload)(struct ntk_monitor_config *config, struct ntk_err *err);
};

struct ntk_monitor;

/* Opens all parts; err has the part that failed. */
int ntk_monitor_create(const struct ntk_monitor_options *options, struct ntk_monitor **out_monitor,
                       struct ntk_err *err);
/* Runs until SIGINT, SIGTERM, the reader of stdout is gone, or all reports are written. Returns 0
 * or -errno. */
int ntk_monitor_run(struct ntk_monitor *monitor, struct ntk_err *err);
/* Returns 0, or -errno if the store lost data. Accepts NULL. */
int ntk_monitor_destroy(struct ntk_monitor *monitor, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
