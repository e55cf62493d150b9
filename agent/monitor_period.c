/* SPDX-License-Identifier: MIT */
/* monitor_period - one snapshot: from the collector to the outputs. */
#include "agent/monitor_state.h"

#include <string.h>

#include "agent/health/health.h"
#include "agent/idle/idle_watch.h"
#include "shared/base/log.h"
#include "shared/base/memory.h"
#include "shared/base/str.h"

/* Logs once per kind that a line exceeds the limit of some readers. */
static void say_length(struct ntk_monitor *monitor, const struct ntk_report_options *options,
                       size_t line_bytes, bool is_cut)
{
    if (line_bytes > options->line_bytes_max && options->line_bytes_max && !options->pretty) {
        if (!monitor->said_long) {
            ntk_log_warn(MONITOR_MODULE,
                         "a report is longer than --max-line (%zu of %zu bytes) even without "
                         "neuron_ext; writing it anyway (use --omit to shorten reports)",
                         line_bytes, options->line_bytes_max);
        }
        monitor->said_long = true;
    } else if (is_cut && !monitor->said_cut) {
        ntk_log_warn(MONITOR_MODULE,
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
        ntk_log_warn(MONITOR_MODULE, "out of memory: one report is lost");
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
        monitor_stdout_write(monitor, cut);
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
        ntk_log_warn(MONITOR_MODULE, "%s", note);
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
        ntk_monitor_schedule_page_take(monitor->schedule, monitor_now_ns(monitor), is_wanted);

    if (page) {
        ntk_outputs_put(&monitor->outputs, page, true);
        ntk_refresh_done(monitor->refresh, true);
    }
}

bool monitor_period_take(struct ntk_monitor *monitor, enum ntk_monitor_urgency urgency,
                         bool page_is_wanted)
{
    struct ntk_snapshot *snapshot = NULL;
    struct ntk_err err = { 0 };

    int ret = ntk_collector_poll(monitor->collector, &snapshot, &err);
    if (ret < 0) {
        if (!monitor->said_collect) {
            ntk_log_warn(MONITOR_MODULE, "cannot collect: %s; retrying in the next period",
                         err.text);
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
    ret = ntk_monitor_schedule_put(monitor->schedule, snapshot, monitor_now_ns(monitor), urgency);
    ntk_snapshot_destroy(snapshot);
    if (ret < 0) {
        ntk_log_warn(MONITOR_MODULE, "out of memory: one report is lost");
    } else if (ret == 1) {
        publish(monitor, ntk_monitor_schedule_report_get(monitor->schedule));
    }
    publish_page(monitor, page_is_wanted || is_changed);
    return true;
}
