/* SPDX-License-Identifier: MIT */
/* monitor - collects periods and passes them to all outputs of the agent. */
#include "agent/monitor_state.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "agent/archive/archive_watch.h"
#include "agent/idle/idle_watch.h"
#include "shared/abi/paths.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/service_notify.h"
#include "shared/hosts/hosts.h"

/* Signals that stop the agent; SIGHUP only reads the configuration again. */
static const int stop_signals[] = { SIGINT, SIGTERM };

uint64_t monitor_now_ns(const struct ntk_monitor *monitor)
{
    return ntk_clock_now_ns(monitor->options->clock);
}

uint64_t monitor_store_period_ns(const struct ntk_monitor_options *options)
{
    return options->store_period_ns ? options->store_period_ns : NTK_MONITOR_STORE_PERIOD_NS;
}

/* Returns the period of pages; 0 if no output has pages. */
static uint64_t page_period_ns(const struct ntk_monitor *monitor)
{
    return !ntk_outputs_have_pages(&monitor->outputs) ? 0
           : monitor->options->page_ns_max            ? monitor->options->page_ns_max
                                                      : NTK_MONITOR_PAGE_NS;
}

void monitor_finish(struct ntk_monitor *monitor, int code)
{
    ntk_loop_stop(monitor->loop, code);
}

bool monitor_is_in_haste(void *ctx)
{
    static const struct timespec at_once = { 0 };
    struct ntk_monitor *monitor = ctx;
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof stop_signals / sizeof *stop_signals; i++) {
        sigaddset(&set, stop_signals[i]);
    }
    if (!monitor->is_in_haste && sigtimedwait(&set, NULL, &at_once) > 0) {
        ntk_log_warn(MONITOR_MODULE, "second stop signal: exiting without waiting");
        monitor->is_in_haste = true;
    }
    return monitor->is_in_haste;
}

/* Stops the loop after the last report, else waits for the next. */
static void resume(struct ntk_monitor *monitor)
{
    if (monitor->options->report_count && monitor->reports >= monitor->options->report_count) {
        monitor_finish(monitor, 0);
        return;
    }
    uint64_t next_ns = ntk_monitor_schedule_next_ns(monitor->schedule);
    uint64_t now_ns = monitor_now_ns(monitor);
    if (ntk_hang_watch_has_ranks(monitor->ranks) && next_ns > now_ns + NTK_HANG_WATCH_NS) {
        next_ns = now_ns + NTK_HANG_WATCH_NS;
    }
    ntk_loop_timer_set(monitor->report_timer, next_ns > now_ns ? next_ns : now_ns + 1, 0);
}

static void on_report(uint32_t times, void *ctx)
{
    struct ntk_monitor *monitor = ctx;

    (void)times;
    (void)monitor_period_take(monitor, NTK_MONITOR_ON_TIME, false);
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
        is_good = monitor_period_take(monitor, NTK_MONITOR_ON_TIME, true);
        ntk_refresh_done(monitor->refresh, is_good); /* called even without new data */
    } else {
        is_good = ntk_collector_drain(monitor->collector) >= 0 &&
                  (!ntk_collector_health_changed(monitor->collector) ||
                   monitor_period_take(monitor, NTK_MONITOR_SOON, true));
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
        ntk_log_warn(MONITOR_MODULE, "%s; keeping the previous configuration", err.text);
        free(config);
        return;
    }
    (void)monitor_period_take(monitor, NTK_MONITOR_NOW, false);
    if (config->k8s_info !=
        (monitor->config ? monitor->config : monitor->options->config)->k8s_info) {
        ntk_log_warn(MONITOR_MODULE,
                     "k8s_info has changed: restart neuron-monitor to apply the change");
    }
    ntk_monitor_schedule_configure(monitor->schedule, config, monitor_now_ns(monitor));
    if (monitor->config) {
        ntk_monitor_config_fini(monitor->config);
        free(monitor->config);
    }
    monitor->config = config;
    /* A warning, because the sender of the signal expects a result at any log level. */
    ntk_log_warn(MONITOR_MODULE, "configuration reloaded");
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

        ntk_log_write(is_expected ? NTK_LOG_INFO : NTK_LOG_WARN, MONITOR_MODULE,
                      "%s; health, hang and slow on this machine read shared memory until the "
                      "agent can answer",
                      err.text);
    } else if (ret >= 0 && monitor->said_local) {
        ntk_log_info(MONITOR_MODULE,
                     "the agent answers health, hang and slow on this machine at %s", path);
    }
    monitor->said_local = ret < 0;
    monitor->local_next_ns = ret < 0 ? monitor_now_ns(monitor) + NTK_MONITOR_LOCAL_NS : UINT64_MAX;
}

static void on_drain(uint32_t times, void *ctx)
{
    struct ntk_monitor *monitor = ctx;

    (void)times;
    int fill = ntk_collector_drain(monitor->collector);
    if (monitor->stream && !ntk_monitor_stream_is_empty(monitor->stream) &&
        !ntk_monitor_stream_waits_for_out(monitor->stream)) {
        monitor_stdout_check(monitor, ntk_monitor_stream_flush(monitor->stream));
    }
    if (monitor_now_ns(monitor) >= monitor->local_next_ns) {
        open_local(monitor);
    }
    if (ntk_collector_health_changed(monitor->collector)) {
        (void)monitor_period_take(monitor, NTK_MONITOR_SOON, true);
        resume(monitor);
    }
    /* The interval doubles while rings fill slowly: most machines have ten wakeups per second. */
    uint64_t next_ns = fill >= NTK_MONITOR_FILL_FAST   ? NTK_MONITOR_DRAIN_MIN_NS
                       : fill >= NTK_MONITOR_FILL_SLOW ? monitor->drain_ns
                                                       : monitor->drain_ns * 2;
    uint64_t most_ns =
        monitor->options->drain_ns_max ? monitor->options->drain_ns_max : NTK_MONITOR_DRAIN_MAX_NS;
    monitor->drain_ns = next_ns < most_ns ? next_ns : most_ns;
    ntk_loop_timer_set(monitor->drain_timer, monitor_now_ns(monitor) + monitor->drain_ns, 0);
}

static void on_signal(uint32_t signal_number, void *ctx)
{
    struct ntk_monitor *monitor = ctx;

    if (signal_number == SIGHUP) {
        ntk_service_reloading(monitor->service);
        if (monitor->options->reload) {
            reload(monitor);
        } else {
            ntk_log_info(MONITOR_MODULE, "no configuration file to reload");
        }
        ntk_service_ready(monitor->service, "collecting");
        return;
    }
    ntk_log_info(MONITOR_MODULE, "signal %u: stopping", signal_number);
    ntk_service_stopping(monitor->service);
    ntk_idle_watch_stop(monitor->idle);
    if (monitor->store) {
        /* Reports must match the store, because the next run continues from the store. */
        (void)monitor_period_take(monitor, NTK_MONITOR_NOW, false);
    }
    monitor_finish(monitor, 0);
}

static void on_service(uint32_t times, void *ctx)
{
    struct ntk_monitor *monitor = ctx;

    (void)times;
    ntk_service_feed(monitor->service);
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
        monitor->stdout_watch =
            ntk_loop_watch_fd(monitor->loop, ntk_monitor_stream_fd_get(monitor->stream), 0,
                              monitor_on_stdout, monitor);
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
    ret = ret < 0 ? ret : monitor_store_open(monitor, err);
    ret = ret < 0 ? ret : monitor_outputs_open(monitor, err);
    ret = ret < 0 ? ret : monitor_collector_open(monitor, err);
    ret = ret < 0 ? ret : open_watches(monitor, err);
    if (ret >= 0) {
        open_local(monitor);
        monitor_outputs_resume(monitor);
        monitor->ranks = ntk_hang_watch_create();
        monitor->schedule = ntk_monitor_schedule_create(
            options->config, monitor->store ? monitor_store_period_ns(options) : 0,
            page_period_ns(monitor), monitor_now_ns(monitor), options->skip_first);
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
    ntk_loop_timer_set(monitor->drain_timer, monitor_now_ns(monitor) + monitor->drain_ns, 0);
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
        flushed = monitor_stdout_flush(monitor, err);
        monitor_stdout_say_cut(monitor);
    }
    ret = ntk_outputs_drain(&monitor->outputs, monitor_is_in_haste, monitor, &drain_err);
    if (flushed < 0 && ret < 0) {
        ntk_log_warn(MONITOR_MODULE, "%s", drain_err.text);
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
