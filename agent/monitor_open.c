/* SPDX-License-Identifier: MIT */
/* monitor_open - opens the parts that the options ask for: store, collector, outputs. */
#include "agent/monitor_state.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "shared/base/log.h"
#include "shared/base/memory.h"

int monitor_store_open(struct ntk_monitor *monitor, struct ntk_err *err)
{
    const char *path = monitor->options->db_path;

    if (!path) {
        return 0;
    }
    struct ntk_store_options options = monitor->options->store;
    options.clock = options.clock ? options.clock : monitor->options->clock;
    int ret = ntk_store_open(path, &options, &monitor->store, err);
    if (ret < 0) {
        return ret;
    }
    monitor->store_counts = ntk_store_counts_create(monitor->store);
    return ntk_store_reader_open(path, &monitor->totals, err);
}

int monitor_collector_open(struct ntk_monitor *monitor, struct ntk_err *err)
{
    char proc_root[PATH_MAX];
    struct ntk_collector_options options = {
        .clock = monitor->options->clock,
        .proc_root = monitor->options->host_root ? proc_root : NULL,
        .sysfs_root = monitor->options->sysfs_root,
        .reap = true,
        .command_lines = monitor->options->command_lines,
        .span_rules = ntk_outputs_span_rules(),
        .totals_get = monitor->totals ? ntk_store_reader_totals_get : NULL,
        .ecc_get = monitor->totals ? ntk_store_reader_ecc_get : NULL,
        .health_get = monitor->totals ? ntk_store_reader_health_get : NULL,
        .totals_ctx = monitor->totals,
    };
    const struct ntk_instance_options instance = {
        .sysfs_root = monitor->options->sysfs_root,
        .endpoint = monitor->options->instance_endpoint,
        .is_certain = monitor->options->instance_is_certain,
        .program = "/proc/self/exe",
        .clock = monitor->options->clock,
    };
    int ret = ntk_instance_source_create(&instance, &monitor->instance, err);

    if (ret < 0) {
        return ret;
    }
    options.instance_get = ntk_instance_source_get;
    options.instance_ctx = monitor->instance;
    if (monitor->options->pods) {
        struct ntk_pods_options pods = *monitor->options->pods;
        pods.host_root = monitor->options->host_root;
        pods.clock = pods.clock ? pods.clock : monitor->options->clock;
        ret = ntk_pods_create(&pods, &monitor->pods, err);
        if (ret < 0) {
            return ret;
        }
        options.pods_get = ntk_pods_get;
        options.pods_ctx = monitor->pods;
    }
    if (monitor->options->job_mapping) {
        ret = ntk_jobs_create(monitor->options->job_mapping, monitor->options->clock,
                              &monitor->jobs, err);
        if (ret < 0) {
            return ret;
        }
        options.jobs_get = ntk_jobs_get;
        options.jobs_ctx = monitor->jobs;
    }
    snprintf(proc_root, sizeof proc_root, "%s/proc",
             monitor->options->host_root ? monitor->options->host_root : "");
    return ntk_collector_create(&options, &monitor->collector, err);
}

int monitor_outputs_open(struct ntk_monitor *monitor, struct ntk_err *err)
{
    const struct ntk_monitor_options *options = monitor->options;
    struct ntk_exporter_options exporter = options->exporter;
    /* Data collected for a page also becomes a row in the database. */
    int ret = ntk_refresh_create(monitor->store ? monitor_store_period_ns(options)
                                                : NTK_MONITOR_SHORTEST_NS,
                                 options->clock, &monitor->refresh, err);

    if (ret >= 0) {
        monitor->outputs.clock = options->clock;
        exporter.clock = exporter.clock ? exporter.clock : options->clock;
        exporter.refresh = ntk_refresh_wait;
        exporter.refresh_ctx = monitor->refresh;
        ret = ntk_outputs_open(&monitor->outputs, &exporter, options->http, err);
    }

    if (ret >= 0 && options->http) {
        const struct ntk_routes_options routes = {
            .address = options->http,
            .host_names = options->exporter.host_names,
            .token_path = options->http_token_file,
            .db_path = options->db_path,
            .captures =
                options->captures && options->captures->is_remote ? options->captures : NULL,
            .security = options->exporter.security,
            .outputs = &monitor->outputs,
            .refresh = ntk_refresh_wait,
            .refresh_ctx = monitor->refresh,
        };
        ret = ntk_routes_create(&routes, &monitor->routes, err);
    }
    if (ret < 0) {
        return ret;
    }
    return options->quiet ? 0 : ntk_monitor_stream_create(STDOUT_FILENO, &monitor->stream, err);
}

/* Makes the counters of the page continue from the stored values, like reports and rows. */
void monitor_outputs_resume(struct ntk_monitor *monitor)
{
    struct ntk_snapshot *totals = NULL;
    struct ntk_err err = { 0 };

    if (!monitor->totals || monitor->outputs.count == 0) {
        return;
    }
    int ret = ntk_store_reader_totals_snapshot(monitor->totals,
                                               monitor->options->exporter.pid_label, &totals, &err);
    if (ret == 0) {
        ntk_outputs_resume(&monitor->outputs, totals);
    } else if (ret != -ENODATA) {
        ntk_log_warn("store", "%s; metric counters restart from zero", err.text);
    }
    ntk_snapshot_destroy(totals);
    ntk_memory_trim();
}
