/* SPDX-License-Identifier: MIT */
/* monitor - collects periods and passes them to all outputs of the agent. */
#include "agent/monitor.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agent/archive/archive_watch.h"
#include "agent/collect/instance.h"
#include "agent/collect/jobs.h"
#include "agent/collect/pods.h"
#include "agent/hang/captures.h"
#include "agent/hang/hang_watch.h"
#include "agent/health/health.h"
#include "agent/health/health_say.h"
#include "agent/http/local.h"
#include "agent/http/routes.h"
#include "agent/idle/idle_watch.h"
#include "agent/loop.h"
#include "agent/outputs/outputs.h"
#include "agent/refresh.h"
#include "agent/report/monitor_schedule.h"
#include "agent/report/monitor_stream.h"
#include "agent/store_counts.h"
#include "shared/abi/paths.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/memory.h"
#include "shared/base/service_notify.h"
#include "shared/base/str.h"
#include "shared/collect/collect.h"
#include "shared/hosts/hosts.h"
#include "shared/store/store.h"
#include "shared/store/store_reader.h"

#define MODULE "agent"

/* Signals that stop the agent; SIGHUP only reads the configuration again. */
static const int stop_signals[] = { SIGINT, SIGTERM };

struct ntk_monitor {
    const struct ntk_monitor_options *options;
    struct ntk_loop *loop;
    struct ntk_loop_watch *report_timer;
    struct ntk_loop_watch *drain_timer;
    struct ntk_loop_watch *stdout_watch; /* NULL for a regular file */
    struct ntk_service *service;         /* NULL without a service manager */
    uint64_t drain_ns;                   /* current interval of drains */
    struct ntk_store_reader *totals;     /* totals stored by earlier runs; NULL without --db */
    struct ntk_store *store;
    struct ntk_store_counts *store_counts; /* NULL without --db */
    struct ntk_instance_source *instance;
    struct ntk_pods *pods;        /* NULL: no requests to the kubelet */
    struct ntk_jobs_folder *jobs; /* NULL: no folder is read */
    struct ntk_collector *collector;
    struct ntk_monitor_schedule *schedule;
    struct ntk_hang_watch *ranks;
    struct ntk_captures *captures;     /* NULL: captures are off */
    struct ntk_archive_watch *archive; /* NULL: no archive */
    struct ntk_idle_watch *idle;       /* NULL: no observation of idle cores */
    /* read again at SIGHUP; NULL: the configuration comes from options */
    struct ntk_monitor_config *config;
    struct ntk_monitor_stream *stream;
    struct ntk_outputs outputs;
    struct ntk_refresh *refresh; /* requests from pages */
    struct ntk_routes *routes;
    struct ntk_local *local; /* NULL: local programs get no answers (yet) */
    uint64_t local_next_ns;  /* time of the next attempt to open the socket; UINT64_MAX for never */
    struct ntk_buf line;
    struct ntk_buf full_line; /* for the page, if line has omissions */
    uint64_t reports;
    uint64_t sequence; /* sequence of the last snapshot passed to the store */
    bool said_dropped; /* logged once per slow phase of a reader */
    bool said_stdout;  /* logged once per series of failed writes */
    bool said_cut;
    bool said_long;
    bool said_store;
    uint64_t said_set_aside;
    struct ntk_health_said said_health;
    bool said_collect;
    bool said_local;
    bool is_in_haste;                   /* true after a second stop signal */
    char said_note[NTK_ERR_TEXT_BYTES]; /* last problem of the collector */
    struct ntk_err err;                 /* error that stops the loop */
};

static uint64_t now_get(const struct ntk_monitor *monitor)
{
    return ntk_clock_now_ns(monitor->options->clock);
}

static uint64_t store_period_get(const struct ntk_monitor_options *options)
{
    return options->store_period_ns ? options->store_period_ns : NTK_MONITOR_STORE_PERIOD_NS;
}

/* Returns the period of pages; 0 if no output has pages. */
static uint64_t page_period_get(const struct ntk_monitor *monitor)
{
    return !ntk_outputs_have_pages(&monitor->outputs) ? 0
           : monitor->options->page_ns_max            ? monitor->options->page_ns_max
                                                      : NTK_MONITOR_PAGE_NS;
}

static void finish(struct ntk_monitor *monitor, int code)
{
    ntk_loop_stop(monitor->loop, code);
}

/* -- stdout ------------------------------------------------------------------------------------ */

/* Returns true if an output other than stdout needs this period. */
static bool has_other_outputs(const struct ntk_monitor *monitor)
{
    return monitor->store || monitor->routes || monitor->outputs.count > 0;
}

/* Handles a failed write: a full disk stops an agent without other outputs. */
static void say_stdout(struct ntk_monitor *monitor, int ret)
{
    bool is_failing = ret < 0;

    if (is_failing && !has_other_outputs(monitor)) {
        finish(monitor, ntk_err_set(&monitor->err, ret, NTK_ERR_NO_OFFSET,
                                    "cannot write to stdout: %s", strerror(-ret)));
    } else if (is_failing && !monitor->said_stdout) {
        ntk_log_warn(MODULE,
                     "cannot write to stdout: %s; reports on stdout are delayed or dropped, but "
                     "other outputs continue",
                     strerror(-ret));
    } else if (!is_failing && monitor->said_stdout) {
        ntk_log_warn(MODULE, "stdout accepts reports again; %llu were dropped",
                     (unsigned long long)ntk_monitor_stream_dropped_count(monitor->stream));
    }
    monitor->said_stdout = is_failing;
}

/* Checks the result of a write: stops the loop if the reader is gone, or if stdout is broken and
 * the only output. */
static void check_stdout(struct ntk_monitor *monitor, int ret)
{
    if (ret == -EPIPE) {
        finish(monitor, 0); /* the consumer has exited */
    } else {
        say_stdout(monitor, ret);
    }
    if (monitor->stdout_watch) {
        /* Errors are always reported; writability is only reported while needed. */
        ntk_loop_watch_set_events(
            monitor->stdout_watch,
            ntk_monitor_stream_waits_for_out(monitor->stream) ? (uint32_t)EPOLLOUT : 0);
    }
}

static void on_stdout(uint32_t events, void *ctx)
{
    struct ntk_monitor *monitor = ctx;

    if (events & (EPOLLERR | EPOLLHUP) && !(events & EPOLLOUT)) {
        check_stdout(monitor, -EPIPE);
        return;
    }
    check_stdout(monitor, ntk_monitor_stream_flush(monitor->stream));
}

static void write_stdout(struct ntk_monitor *monitor, bool is_cut)
{
    int ret = ntk_monitor_stream_put(monitor->stream, ntk_buf_text_get(&monitor->line),
                                     monitor->line.bytes_count, is_cut);

    if (ret == 1 && !monitor->said_dropped) {
        ntk_log_warn(MODULE,
                     "the reader of stdout is too slow: dropping reports until it catches up");
    } else if (ret == 0 && monitor->said_dropped) {
        ntk_log_warn(MODULE, "the reader of stdout caught up; %llu reports were dropped",
                     (unsigned long long)ntk_monitor_stream_dropped_count(monitor->stream));
    }
    monitor->said_dropped = ret == 1;
    check_stdout(monitor, ret);
}

/* Returns true if a second signal arrived while waiting for the exit. Signals are blocked, so it is
 * pending. */
static bool is_in_haste(void *ctx)
{
    static const struct timespec at_once = { 0 };
    struct ntk_monitor *monitor = ctx;
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof stop_signals / sizeof *stop_signals; i++) {
        sigaddset(&set, stop_signals[i]);
    }
    if (!monitor->is_in_haste && sigtimedwait(&set, NULL, &at_once) > 0) {
        ntk_log_warn(MODULE, "second stop signal: exiting without waiting");
        monitor->is_in_haste = true;
    }
    return monitor->is_in_haste;
}

static void say_cut_count(const struct ntk_monitor *monitor)
{
    uint64_t count = ntk_monitor_stream_cut_count(monitor->stream);

    if (count > 1) {
        ntk_log_warn(
            MODULE,
            "%llu of %llu reports were longer than --max-line and were written without neuron_ext",
            (unsigned long long)count, (unsigned long long)monitor->reports);
    }
}

/* Waits a limited time for the reader to take the queue; fails if the reader took part of a
 * line. */
static int flush_stdout(struct ntk_monitor *monitor, struct ntk_err *err)
{
    int ret = ntk_monitor_stream_drain(monitor->stream, monitor->options->clock,
                                       NTK_MONITOR_FLUSH_NS, is_in_haste, monitor);

    if (ntk_monitor_stream_is_torn(monitor->stream)) {
        return ntk_err_set(
            err, -EIO, NTK_ERR_NO_OFFSET,
            ret < 0 ? "stdout accepted only part of the last report"
                    : "the reader of stdout is too slow: only part of the last report was written");
    }
    if (ret == 0 && !ntk_monitor_stream_is_empty(monitor->stream)) {
        ntk_log_warn(MODULE, "the reader of stdout is too slow: the last reports were lost");
    }
    return 0;
}

/* -- a period ---------------------------------------------------------------------------------- */

/* Logs once per kind that a line exceeds the limit of some readers. */
static void say_length(struct ntk_monitor *monitor, const struct ntk_report_options *options,
                       size_t line_bytes, bool is_cut)
{
    if (line_bytes > options->line_bytes_max && options->line_bytes_max && !options->pretty) {
        if (!monitor->said_long) {
            ntk_log_warn(MODULE,
                         "a report is longer than --max-line (%zu of %zu bytes) even without "
                         "neuron_ext; writing it anyway (use --omit to shorten reports)",
                         line_bytes, options->line_bytes_max);
        }
        monitor->said_long = true;
    } else if (is_cut && !monitor->said_cut) {
        ntk_log_warn(MODULE,
                     "a report is longer than --max-line (%zu bytes): reports over the limit are "
                     "written without neuron_ext",
                     options->line_bytes_max);
        monitor->said_cut = true;
    }
}

static bool write_report(struct ntk_monitor *monitor, const struct ntk_snapshot *report,
                         const struct ntk_report_options *options, struct ntk_buf *line,
                         bool *out_cut)
{
    ntk_buf_reset(line);
    if (ntk_report_write(report, options, line, out_cut) < 0) {
        ntk_log_warn(MODULE, "out of memory: one report is lost");
        return false;
    }
    if (out_cut && monitor->stream) {
        say_length(monitor, options, line->bytes_count, *out_cut);
    }
    return true;
}

/* Publishes lines to the HTTP stream for programs; the page gets the full line. */
static void publish_http(struct ntk_monitor *monitor, const struct ntk_snapshot *report,
                         bool *out_cut)
{
    struct ntk_report_options plain = monitor->options->report;
    struct ntk_report_options full = { 0 };

    plain.pretty = false;
    if (!write_report(monitor, report, &plain, &monitor->line, out_cut)) {
        return;
    }
    bool same = !*out_cut && !plain.omit && !plain.vendor_only;
    if (same || write_report(monitor, report, &full, &monitor->full_line, NULL)) {
        ntk_routes_put(monitor->routes, &monitor->line, same ? NULL : &monitor->full_line);
    }
}

static void publish(struct ntk_monitor *monitor, const struct ntk_snapshot *report)
{
    const struct ntk_report_options *options = &monitor->options->report;
    bool cut = false;

    monitor->reports++;
    ntk_outputs_put(&monitor->outputs, report, false);
    ntk_buf_reset(&monitor->line);
    if (monitor->routes) {
        publish_http(monitor, report, &cut);
    }
    if (!monitor->stream) {
        return;
    }
    bool written = monitor->routes && !options->pretty && monitor->line.bytes_count > 0;
    if (written || write_report(monitor, report, options, &monitor->line, &cut)) {
        write_stdout(monitor, cut);
    }
}

static void watch_store(struct ntk_monitor *monitor)
{
    struct ntk_store_status status;

    ntk_store_status_get(monitor->store, &status);
    if (status.set_aside_count > monitor->said_set_aside) {
        ntk_log_warn("store", "%s", status.set_aside);
        monitor->said_set_aside = status.set_aside_count;
    }
    if (status.failing && !monitor->said_store) {
        ntk_log_warn("store",
                     "%s; monitoring continues; periods are kept in memory, and all but the last "
                     "%d are merged into one",
                     status.text, NTK_STORE_QUEUE_MAX - 1);
    } else if (!status.failing && monitor->said_store) {
        ntk_log_warn("store", "writing again; %llu periods were merged, %llu were lost",
                     (unsigned long long)status.snapshots_joined,
                     (unsigned long long)status.snapshots_lost);
        ntk_memory_trim(); /* frees memory of the periods that waited */
    }
    monitor->said_store = status.failing;
    ntk_collector_keep(monitor->collector, status.sequence_stored);
}

/* Logs an application that cannot be shown once, not in every period. */
static void watch_note(struct ntk_monitor *monitor)
{
    const char *note = ntk_collector_note(monitor->collector);

    if (note[0] && strncmp(note, monitor->said_note, sizeof monitor->said_note - 1) != 0) {
        ntk_log_warn(MODULE, "%s", note);
    }
    ntk_str_copy(monitor->said_note, sizeof monitor->said_note, note);
}

/* Returns true if the reported state of ranks changed. */
static bool watch_ranks(struct ntk_monitor *monitor, struct ntk_snapshot *snapshot)
{
    bool is_changed = ntk_hang_watch_put(monitor->ranks, snapshot);

    ntk_captures_look(monitor->captures, snapshot);
    if ((monitor->routes || monitor->local) && ntk_hang_ranks_write(snapshot, &monitor->line)) {
        if (monitor->routes) {
            ntk_routes_ranks_put(monitor->routes, &monitor->line);
        }
        if (monitor->local) {
            ntk_local_put(monitor->local, NTK_LOCAL_RANKS, &monitor->line);
        }
    }
    if (monitor->local && ntk_health_line_write(snapshot, &monitor->line)) {
        ntk_local_put(monitor->local, NTK_LOCAL_DEVICES, &monitor->line);
    }
    return is_changed;
}

static void publish_page(struct ntk_monitor *monitor, bool is_wanted)
{
    const struct ntk_snapshot *page =
        ntk_monitor_schedule_page_take(monitor->schedule, now_get(monitor), is_wanted);

    if (page) {
        ntk_outputs_put(&monitor->outputs, page, true);
        ntk_refresh_done(monitor->refresh, true);
    }
}

/* Passes one snapshot to all outputs. Unreported data is urgent if the health of a device changed
 * or a rank was lost. Returns false if the snapshot could not be collected. */
static bool take_period(struct ntk_monitor *monitor, enum ntk_monitor_urgency urgency,
                        bool page_is_wanted)
{
    struct ntk_snapshot *snapshot = NULL;
    struct ntk_err err = { 0 };

    int ret = ntk_collector_poll(monitor->collector, &snapshot, &err);
    if (ret < 0) {
        if (!monitor->said_collect) {
            ntk_log_warn(MODULE, "cannot collect: %s; retrying in the next period", err.text);
        }
        monitor->said_collect = true;
        return false;
    }
    monitor->said_collect = false;
    watch_note(monitor);
    bool is_changed = ntk_collector_health_changed(monitor->collector);
    ntk_health_say(&monitor->said_health, snapshot);
    is_changed = watch_ranks(monitor, snapshot) || is_changed;
    urgency = is_changed && urgency == NTK_MONITOR_ON_TIME ? NTK_MONITOR_SOON : urgency;
    if (monitor->store) {
        if (monitor->idle) {
            ntk_idle_watch_take(monitor->idle, snapshot);
        }
        ntk_store_put(monitor->store, snapshot);
        monitor->sequence = snapshot->sequence;
        watch_store(monitor);
    }
    ret = ntk_monitor_schedule_put(monitor->schedule, snapshot, now_get(monitor), urgency);
    ntk_snapshot_destroy(snapshot);
    if (ret < 0) {
        ntk_log_warn(MODULE, "out of memory: one report is lost");
    } else if (ret == 1) {
        publish(monitor, ntk_monitor_schedule_report_get(monitor->schedule));
    }
    publish_page(monitor, page_is_wanted || is_changed);
    return true;
}

/* Stops the loop after the last report, else waits for the next. */
static void resume(struct ntk_monitor *monitor)
{
    if (monitor->options->report_count && monitor->reports >= monitor->options->report_count) {
        finish(monitor, 0);
        return;
    }
    uint64_t next_ns = ntk_monitor_schedule_next_ns(monitor->schedule);
    uint64_t now_ns = now_get(monitor);
    if (ntk_hang_watch_has_ranks(monitor->ranks) && next_ns > now_ns + NTK_HANG_WATCH_NS) {
        next_ns = now_ns + NTK_HANG_WATCH_NS;
    }
    ntk_loop_timer_set(monitor->report_timer, next_ns > now_ns ? next_ns : now_ns + 1, 0);
}

static void on_report(uint32_t times, void *ctx)
{
    struct ntk_monitor *monitor = ctx;

    (void)times;
    (void)take_period(monitor, NTK_MONITOR_ON_TIME, false);
    resume(monitor);
}

/* Collects a period on request. A query needs only the inputs of verdicts, so frequent queries add
 * no rows to the store. */
static void on_refresh(uint32_t events, void *ctx)
{
    struct ntk_monitor *monitor = ctx;
    struct ntk_refresh_wanted wanted = ntk_refresh_begin(monitor->refresh);
    bool is_good;

    (void)events;
    if (wanted.look) {
        ntk_collector_hurry(monitor->collector);
    }
    if (wanted.figures) {
        is_good = take_period(monitor, NTK_MONITOR_ON_TIME, true);
        ntk_refresh_done(monitor->refresh, is_good); /* called even without new data */
    } else {
        is_good = ntk_collector_drain(monitor->collector) >= 0 &&
                  (!ntk_collector_health_changed(monitor->collector) ||
                   take_period(monitor, NTK_MONITOR_SOON, true));
    }
    ntk_refresh_looked(monitor->refresh, is_good);
    resume(monitor);
}

/* Reloads the configuration. A service manager waits for the end of the reload, even if the old
 * configuration stays. */
static void reload(struct ntk_monitor *monitor)
{
    struct ntk_monitor_config *config = calloc(1, sizeof *config);
    struct ntk_err err = { 0 };
    int ret = config ? monitor->options->reload(config, &err) : ntk_err_no_memory(&err);

    if (ret < 0 || !config) {
        ntk_log_warn(MODULE, "%s; keeping the previous configuration", err.text);
        free(config);
        return;
    }
    (void)take_period(monitor, NTK_MONITOR_NOW, false);
    if (config->k8s_info !=
        (monitor->config ? monitor->config : monitor->options->config)->k8s_info) {
        ntk_log_warn(MODULE, "k8s_info has changed: restart neuron-monitor to apply the change");
    }
    ntk_monitor_schedule_configure(monitor->schedule, config, now_get(monitor));
    if (monitor->config) {
        ntk_monitor_config_fini(monitor->config);
        free(monitor->config);
    }
    monitor->config = config;
    /* A warning, because the sender of the signal expects a result at any log level. */
    ntk_log_warn(MODULE, "configuration reloaded");
    resume(monitor);
}

/* Opens the local socket, unless the agent stops soon or reads a tree of another machine. If there
 * are several agents, one uses the socket; another takes over when it exits. */
static void open_local(struct ntk_monitor *monitor)
{
    const struct ntk_monitor_options *options = monitor->options;
    char path[NTK_PATH_BYTES];
    struct ntk_err err = { 0 };

    if (options->report_count || (options->sysfs_root && !ntk_paths_hooks_dir_variable()) ||
        !ntk_hosts_agent_path(path, sizeof path)) {
        monitor->local_next_ns = UINT64_MAX;
        return;
    }
    const struct ntk_local_options local = { .path = path,
                                             .refresh = ntk_refresh_wait_look,
                                             .refresh_ctx = monitor->refresh };
    int ret = ntk_local_create(&local, &monitor->local, &err);
    if (ret < 0 && !monitor->said_local) {
        bool is_expected = ret == -EADDRINUSE || ret == -EACCES || ret == -ENOENT;

        ntk_log_write(is_expected ? NTK_LOG_INFO : NTK_LOG_WARN, MODULE,
                      "%s; health, hang and slow on this machine read shared memory until the "
                      "agent can answer",
                      err.text);
    } else if (ret >= 0 && monitor->said_local) {
        ntk_log_info(MODULE, "the agent answers health, hang and slow on this machine at %s", path);
    }
    monitor->said_local = ret < 0;
    monitor->local_next_ns = ret < 0 ? now_get(monitor) + NTK_MONITOR_LOCAL_NS : UINT64_MAX;
}

static void on_drain(uint32_t times, void *ctx)
{
    struct ntk_monitor *monitor = ctx;

    (void)times;
    int fill = ntk_collector_drain(monitor->collector);
    if (monitor->stream && !ntk_monitor_stream_is_empty(monitor->stream) &&
        !ntk_monitor_stream_waits_for_out(monitor->stream)) {
        check_stdout(monitor, ntk_monitor_stream_flush(monitor->stream));
    }
    if (now_get(monitor) >= monitor->local_next_ns) {
        open_local(monitor);
    }
    if (ntk_collector_health_changed(monitor->collector)) {
        (void)take_period(monitor, NTK_MONITOR_SOON, true);
        resume(monitor);
    }
    /* The interval doubles while rings fill slowly: most machines have ten wakeups per second. */
    uint64_t next_ns = fill >= NTK_MONITOR_FILL_FAST   ? NTK_MONITOR_DRAIN_MIN_NS
                       : fill >= NTK_MONITOR_FILL_SLOW ? monitor->drain_ns
                                                       : monitor->drain_ns * 2;
    uint64_t most_ns =
        monitor->options->drain_ns_max ? monitor->options->drain_ns_max : NTK_MONITOR_DRAIN_MAX_NS;
    monitor->drain_ns = next_ns < most_ns ? next_ns : most_ns;
    ntk_loop_timer_set(monitor->drain_timer, now_get(monitor) + monitor->drain_ns, 0);
}

static void on_signal(uint32_t signal_number, void *ctx)
{
    struct ntk_monitor *monitor = ctx;

    if (signal_number == SIGHUP) {
        ntk_service_reloading(monitor->service);
        if (monitor->options->reload) {
            reload(monitor);
        } else {
            ntk_log_info(MODULE, "no configuration file to reload");
        }
        ntk_service_ready(monitor->service, "collecting");
        return;
    }
    ntk_log_info(MODULE, "signal %u: stopping", signal_number);
    ntk_service_stopping(monitor->service);
    ntk_idle_watch_stop(monitor->idle);
    if (monitor->store) {
        /* Reports must match the store, because the next run continues from the store. */
        (void)take_period(monitor, NTK_MONITOR_NOW, false);
    }
    finish(monitor, 0);
}

static void on_service(uint32_t times, void *ctx)
{
    struct ntk_monitor *monitor = ctx;

    (void)times;
    ntk_service_feed(monitor->service);
}

/* -- the parts --------------------------------------------------------------------------------- */

static int open_store(struct ntk_monitor *monitor, struct ntk_err *err)
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

static int open_collector(struct ntk_monitor *monitor, struct ntk_err *err)
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

static int open_outputs(struct ntk_monitor *monitor, struct ntk_err *err)
{
    const struct ntk_monitor_options *options = monitor->options;
    struct ntk_exporter_options exporter = options->exporter;
    /* Data collected for a page also becomes a row in the database. */
    int ret =
        ntk_refresh_create(monitor->store ? store_period_get(options) : NTK_MONITOR_SHORTEST_NS,
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
static void resume_outputs(struct ntk_monitor *monitor)
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

static int open_watches(struct ntk_monitor *monitor, struct ntk_err *err)
{
    monitor->report_timer = ntk_loop_watch_timer(monitor->loop, on_report, monitor);
    monitor->drain_timer = ntk_loop_watch_timer(monitor->loop, on_drain, monitor);
    if (!monitor->report_timer || !monitor->drain_timer) {
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot create a timer: %s",
                           strerror(errno));
    }
    if (ntk_service_feed_period_ns(monitor->service)) {
        struct ntk_loop_watch *timer = ntk_loop_watch_timer(monitor->loop, on_service, monitor);
        if (!timer) {
            return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot create a timer: %s",
                               strerror(errno));
        }
        ntk_loop_timer_set(timer, 1, ntk_service_feed_period_ns(monitor->service));
    }
    if (!ntk_loop_watch_fd(monitor->loop, ntk_refresh_fd_get(monitor->refresh), EPOLLIN, on_refresh,
                           monitor)) {
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "epoll: %s", strerror(errno));
    }
    if (monitor->stream) {
        monitor->stdout_watch = ntk_loop_watch_fd(
            monitor->loop, ntk_monitor_stream_fd_get(monitor->stream), 0, on_stdout, monitor);
    }
    return 0;
}

int ntk_monitor_create(const struct ntk_monitor_options *options, struct ntk_monitor **out_monitor,
                       struct ntk_err *err)
{
    static const int signals[] = { SIGHUP, SIGINT, SIGTERM, 0 };
    struct ntk_monitor *monitor = calloc(1, sizeof *monitor);

    if (!monitor) {
        return ntk_err_no_memory(err);
    }
    monitor->options = options;
    monitor->drain_ns = NTK_MONITOR_DRAIN_MIN_NS;
    int ret = ntk_loop_create(options->clock, &monitor->loop, err);
    if (ret >= 0 && !ntk_loop_watch_signals(monitor->loop, signals, on_signal, monitor)) {
        ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot wait for signals: %s",
                          strerror(errno));
    }
    ret = ret < 0 ? ret : ntk_service_create(&monitor->service, err);
    ret = ret < 0 ? ret : open_store(monitor, err);
    ret = ret < 0 ? ret : open_outputs(monitor, err);
    ret = ret < 0 ? ret : open_collector(monitor, err);
    ret = ret < 0 ? ret : open_watches(monitor, err);
    if (ret >= 0) {
        open_local(monitor);
        resume_outputs(monitor);
        monitor->ranks = ntk_hang_watch_create();
        monitor->schedule = ntk_monitor_schedule_create(
            options->config, monitor->store ? store_period_get(options) : 0,
            page_period_get(monitor), now_get(monitor), options->skip_first);
        ret = monitor->schedule && monitor->ranks ? 0 : ntk_err_no_memory(err);
    }
    if (ret >= 0 && options->captures) {
        ret = ntk_captures_create(options->captures, &monitor->captures, err);
        ntk_hang_watch_set_captures(monitor->ranks, monitor->captures);
    }
    if (ret >= 0 && options->archive) {
        ret = ntk_archive_watch_create(options->db_path, options->archive, &monitor->archive, err);
    }
    if (ret >= 0 && options->idle) {
        ret = ntk_idle_watch_create(&monitor->idle, err);
    }
    if (ret < 0) {
        ntk_monitor_destroy(monitor, NULL);
        return ret;
    }
    *out_monitor = monitor;
    return 0;
}

int ntk_monitor_run(struct ntk_monitor *monitor, struct ntk_err *err)
{
    ntk_loop_timer_set(monitor->report_timer, ntk_monitor_schedule_next_ns(monitor->schedule), 0);
    ntk_loop_timer_set(monitor->drain_timer, now_get(monitor) + monitor->drain_ns, 0);
    ntk_service_ready(monitor->service, "collecting");
    int ret = ntk_loop_run(monitor->loop, &monitor->err);
    ntk_refresh_close(monitor->refresh);
    if (ret < 0) {
        *err = monitor->err;
        return ret;
    }
    struct ntk_err drain_err = { 0 };
    int flushed = 0;
    if (monitor->stream) {
        flushed = flush_stdout(monitor, err);
        say_cut_count(monitor);
    }
    ret = ntk_outputs_drain(&monitor->outputs, is_in_haste, monitor, &drain_err);
    if (flushed < 0 && ret < 0) {
        ntk_log_warn(MODULE, "%s", drain_err.text);
    } else if (ret < 0) {
        *err = drain_err;
    }
    return flushed < 0 ? flushed : ret;
}

int ntk_monitor_destroy(struct ntk_monitor *monitor, struct ntk_err *err)
{
    if (!monitor) {
        return 0;
    }
    ntk_routes_destroy(monitor->routes);
    ntk_local_destroy(monitor->local);
    ntk_outputs_fini(&monitor->outputs);
    ntk_refresh_destroy(monitor->refresh);
    ntk_monitor_schedule_destroy(monitor->schedule);
    ntk_hang_watch_destroy(monitor->ranks);
    ntk_captures_destroy(monitor->captures);
    ntk_archive_watch_destroy(monitor->archive);
    ntk_idle_watch_destroy(monitor->idle);
    if (monitor->config) {
        ntk_monitor_config_fini(monitor->config);
        free(monitor->config);
    }
    ntk_store_reader_close(monitor->totals);
    ntk_store_counts_destroy(monitor->store_counts);
    int ret = ntk_store_close(monitor->store, err);
    if (monitor->collector && ret == 0) {
        ntk_collector_keep(monitor->collector, monitor->sequence); /* everything is on disk */
    }
    ntk_collector_destroy(monitor->collector);
    ntk_instance_source_destroy(monitor->instance);
    ntk_pods_destroy(monitor->pods);
    ntk_jobs_destroy(monitor->jobs);
    ntk_monitor_stream_destroy(monitor->stream);
    ntk_loop_destroy(monitor->loop);
    ntk_service_destroy(monitor->service);
    ntk_buf_fini(&monitor->line);
    ntk_buf_fini(&monitor->full_line);
    free(monitor);
    return ret;
}
