/* SPDX-License-Identifier: MIT */
/* monitor_stdout - reports on stdout, with a reader that may be slow or gone, or a full disk. */
#include "agent/monitor_state.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "shared/base/log.h"

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
        monitor_finish(monitor, ntk_err_set(&monitor->err, ret, NTK_ERR_NO_OFFSET,
                                            "cannot write to stdout: %s", strerror(-ret)));
    } else if (is_failing && !monitor->said_stdout) {
        ntk_log_warn(MONITOR_MODULE,
                     "cannot write to stdout: %s; reports on stdout are delayed or dropped, but "
                     "other outputs continue",
                     strerror(-ret));
    } else if (!is_failing && monitor->said_stdout) {
        ntk_log_warn(MONITOR_MODULE, "stdout accepts reports again; %llu were dropped",
                     (unsigned long long)ntk_monitor_stream_dropped_count(monitor->stream));
    }
    monitor->said_stdout = is_failing;
}

void monitor_stdout_check(struct ntk_monitor *monitor, int ret)
{
    if (ret == -EPIPE) {
        monitor_finish(monitor, 0); /* the consumer has exited */
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

void monitor_on_stdout(uint32_t events, void *ctx)
{
    struct ntk_monitor *monitor = ctx;

    if (events & (EPOLLERR | EPOLLHUP) && !(events & EPOLLOUT)) {
        monitor_stdout_check(monitor, -EPIPE);
        return;
    }
    monitor_stdout_check(monitor, ntk_monitor_stream_flush(monitor->stream));
}

void monitor_stdout_write(struct ntk_monitor *monitor, bool is_cut)
{
    int ret = ntk_monitor_stream_put(monitor->stream, ntk_buf_text_get(&monitor->line),
                                     monitor->line.bytes_count, is_cut);

    if (ret == 1 && !monitor->said_dropped) {
        ntk_log_warn(MONITOR_MODULE,
                     "the reader of stdout is too slow: dropping reports until it catches up");
    } else if (ret == 0 && monitor->said_dropped) {
        ntk_log_warn(MONITOR_MODULE, "the reader of stdout caught up; %llu reports were dropped",
                     (unsigned long long)ntk_monitor_stream_dropped_count(monitor->stream));
    }
    monitor->said_dropped = ret == 1;
    monitor_stdout_check(monitor, ret);
}

void monitor_stdout_say_cut(const struct ntk_monitor *monitor)
{
    uint64_t count = ntk_monitor_stream_cut_count(monitor->stream);

    if (count > 1) {
        ntk_log_warn(
            MONITOR_MODULE,
            "%llu of %llu reports were longer than --max-line and were written without neuron_ext",
            (unsigned long long)count, (unsigned long long)monitor->reports);
    }
}

int monitor_stdout_flush(struct ntk_monitor *monitor, struct ntk_err *err)
{
    int ret = ntk_monitor_stream_drain(monitor->stream, monitor->options->clock,
                                       NTK_MONITOR_FLUSH_NS, monitor_is_in_haste, monitor);

    if (ntk_monitor_stream_is_torn(monitor->stream)) {
        return ntk_err_set(
            err, -EIO, NTK_ERR_NO_OFFSET,
            ret < 0 ? "stdout accepted only part of the last report"
                    : "the reader of stdout is too slow: only part of the last report was written");
    }
    if (ret == 0 && !ntk_monitor_stream_is_empty(monitor->stream)) {
        ntk_log_warn(MONITOR_MODULE,
                     "the reader of stdout is too slow: the last reports were lost");
    }
    return 0;
}
