/* SPDX-License-Identifier: MIT */
/*
 * monitor - the agent at work: collects, and hands each period to store, stream, exporters, HTTP.
 *
 * SIGHUP reads the configuration again: the time so far is reported by the old one, then the new
 * one applies. A refused file changes nothing and is reported in one message.
 *
 * A report is due at once when the health of a device changed, with any period.
 *
 * Everything runs in the thread of ntk_monitor_run(); store and HTTP have their own threads and are
 * only handed things. The rings are drained between the periods, faster while much happens.
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

struct ntk_pods_options;
struct ntk_captures_options;
struct ntk_archive_options;

#define NTK_MONITOR_DRAIN_MIN_NS (10 * NTK_NS_PER_MS)
#define NTK_MONITOR_DRAIN_MAX_NS (100 * NTK_NS_PER_MS)
/* How often the store gets a snapshot, independent of the reports' periods. */
#define NTK_MONITOR_STORE_PERIOD_NS NTK_NS_PER_SECOND
/* Between two tries to serve the local socket. */
#define NTK_MONITOR_LOCAL_NS (2 * NTK_NS_PER_SECOND)
/* How long a slow reader of stdout may delay the exit. */
#define NTK_MONITOR_FLUSH_NS (1 * NTK_NS_PER_SECOND)

struct ntk_monitor_options {
    const struct ntk_monitor_config *config;
    struct ntk_report_options report;
    const char *sysfs_root;               /* NULL: found */
    const char *db_path;                  /* NULL: no store */
    struct ntk_store_options store;       /* zeroed: the defaults */
    const char *http;                     /* address, NULL: none */
    const char *http_token_file;          /* NULL: no token */
    struct ntk_exporter_options exporter; /* its security and names are those of the page too */
    const char *instance_endpoint; /* of the instance metadata service; NULL: it is not asked */
    bool instance_is_certain;      /* see struct ntk_instance_options */
    const struct ntk_pods_options *pods; /* NULL: no kubelet is asked for pods */
    const char *job_mapping; /* folder that says which job holds what; NULL: none is checked */
    const char *host_root;   /* where the host's root folder is mounted, for its /proc; NULL: "/" */
    bool command_lines;      /* with arguments: report, store and HTTP have them then */
    const struct ntk_captures_options *captures; /* NULL: nothing is kept */
    const struct ntk_archive_options *archive;   /* of db_path; NULL: none */
    bool quiet;                                  /* nothing on stdout */
    bool skip_first;       /* the first report after a period, not as soon as it can be */
    uint64_t report_count; /* reports until it ends; 0: until it is stopped */
    /* Reads the configuration again, for SIGHUP: fills *config or says why not. NULL: there is
     * none. */
    int (*reload)(struct ntk_monitor_config *config, struct ntk_err *err);
};

struct ntk_monitor;

/* Opens everything; a message says what could not be. */
int ntk_monitor_create(const struct ntk_monitor_options *options, struct ntk_monitor **out_monitor,
                       struct ntk_err *err);
/* Until SIGINT, SIGTERM, the reader of stdout is gone, or the reports are written: 0; else
 * -errno. */
int ntk_monitor_run(struct ntk_monitor *monitor, struct ntk_err *err);
/* 0, or -errno when something that should have been stored was not. NULL is fine. */
int ntk_monitor_destroy(struct ntk_monitor *monitor, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
