/* SPDX-License-Identifier: MIT */
/*
 * monitor - the agent at work: collects, and passes each period to the store, stream, exporters and
 * HTTP.
 *
 * SIGHUP reads the configuration again: the elapsed time is reported with the old one, then the new
 * one applies. An invalid file changes nothing and is reported in one message.
 *
 * A changed health of a device makes a report due at once, with any period.
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
/* Percent of the fullest ring between two drains: drains are frequent from the first on, and become
 * rare below the second. */
#define NTK_MONITOR_FILL_FAST 25
#define NTK_MONITOR_FILL_SLOW 10
/* How often the store gets a snapshot, independent of the reports' periods. */
#define NTK_MONITOR_STORE_PERIOD_NS NTK_NS_PER_SECOND
/* Between two attempts to serve the local socket. */
#define NTK_MONITOR_LOCAL_NS (2 * NTK_NS_PER_SECOND)
/* How long a slow reader of stdout may delay the exit. */
#define NTK_MONITOR_FLUSH_NS (1 * NTK_NS_PER_SECOND)

struct ntk_monitor_options {
    /* For all periods and waits; borrowed; NULL: the system's. Options of the parts below have
     * their own. */
    const struct ntk_clock *clock;
    uint64_t store_period_ns; /* 0: NTK_MONITOR_STORE_PERIOD_NS */
    uint64_t page_ns_max;     /* 0: NTK_MONITOR_PAGE_NS */
    uint64_t drain_ns_max;    /* 0: NTK_MONITOR_DRAIN_MAX_NS */
    const struct ntk_monitor_config *config;
    struct ntk_report_options report;
    const char *sysfs_root;               /* NULL: found */
    const char *db_path;                  /* NULL: no store */
    struct ntk_store_options store;       /* zeroed: the defaults */
    const char *http;                     /* address, NULL: none */
    const char *http_token_file;          /* NULL: no token */
    struct ntk_exporter_options exporter; /* the page uses its security and names, too */
    const char *instance_endpoint;        /* of the instance metadata service; NULL: not queried */
    bool instance_is_certain;             /* see struct ntk_instance_options */
    const struct ntk_pods_options *pods;  /* NULL: no kubelet is queried for pods */
    const char *job_mapping; /* folder that maps jobs to cores and devices; NULL: none */
    const char *host_root;   /* where the host's root folder is mounted, for its /proc; NULL: "/" */
    bool command_lines;      /* report, store and HTTP include arguments */
    const struct ntk_captures_options *captures; /* NULL: record nothing */
    const struct ntk_archive_options *archive;   /* of db_path; NULL: none */
    bool idle;                                   /* why cores are idle goes to db_path */
    bool quiet;                                  /* nothing on stdout */
    bool skip_first;                             /* delay the first report by a period */
    uint64_t report_count;                       /* number of reports; 0: until stopped */
    /* Reads the configuration again for SIGHUP: fills *config, or returns an error with its reason.
     * NULL: no configuration. */
    int (*reload)(struct ntk_monitor_config *config, struct ntk_err *err);
};

struct ntk_monitor;

/* Opens everything; err names what failed. */
int ntk_monitor_create(const struct ntk_monitor_options *options, struct ntk_monitor **out_monitor,
                       struct ntk_err *err);
/* Runs until SIGINT, SIGTERM, the reader of stdout is gone, or all reports are written: 0; else
 * -errno. */
int ntk_monitor_run(struct ntk_monitor *monitor, struct ntk_err *err);
/* 0, or -errno if the store lost data. NULL is fine. */
int ntk_monitor_destroy(struct ntk_monitor *monitor, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
