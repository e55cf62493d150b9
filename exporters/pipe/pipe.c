/* SPDX-License-Identifier: MIT */
/* pipe - waits for lines and signals, passes reports on, and lets the sink finish. */
#include "exporters/pipe/pipe.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/log.h"
#include "shared/base/memory.h"
#include "shared/base/vec.h"
#include "shared/metrics/snapshot.h"
#include "shared/report/report_stream.h"

/* The state of one run. */
struct run {
    const struct ntk_pipe_sink *sink;
    struct ntk_report_stream *stream;
    char last_text[NTK_ERR_TEXT_BYTES]; /* text of the sink's last failure; "" after a success */
    bool is_waiting;        /* true while waiting for the response of the metadata service */
    uint64_t until_ns;      /* end of the wait; 0 before the first report */
    struct ntk_vec waiting; /* elements are struct ntk_snapshot * */
};

int ntk_pipe_begin(struct ntk_pipe *pipe, struct ntk_err *err)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    ntk_memory_forbid_cores();
    pipe->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    return pipe->signal_fd < 0
               ? ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "signalfd: %s", strerror(errno))
               : 0;
}

void ntk_pipe_end(struct ntk_pipe *pipe)
{
    if (pipe->signal_fd >= 0) {
        close(pipe->signal_fd);
    }
    pipe->signal_fd = -1;
}

static bool take_signal(struct ntk_pipe *pipe)
{
    struct signalfd_siginfo info;

    return read(pipe->signal_fd, &info, sizeof info) == (ssize_t)sizeof info;
}

static void put(struct run *run, const struct ntk_snapshot *snapshot)
{
    struct ntk_err err = { 0 };

    if (run->sink->put(run->sink->ctx, snapshot, &err) >= 0) {
        run->last_text[0] = '\0';
        return;
    }
    if (strcmp(err.text, run->last_text) != 0) {
        ntk_log_warn(NULL, "%s", err.text);
        memcpy(run->last_text, err.text, sizeof run->last_text);
    }
}

/* Ends the wait: waiting reports get the instance from the report that has it. source is NULL if
 * none has. */
static void put_waiting(struct run *run, const struct ntk_snapshot *source)
{
    run->is_waiting = false;
    ntk_vec_each(struct ntk_snapshot *, snapshot, &run->waiting) {
        if (source) {
            (*snapshot)->instance = source->instance; /* borrowed during the put */
        }
        put(run, *snapshot);
        ntk_snapshot_destroy(*snapshot);
    }
    ntk_vec_fini(&run->waiting);
}

/* Takes ownership of the snapshot. */
static void take(struct run *run, struct ntk_snapshot *snapshot)
{
    if (run->is_waiting) {
        uint64_t now_ns = ntk_clock_now_ns(run->sink->clock);
        run->until_ns = run->until_ns ? run->until_ns : now_ns + run->sink->instance_wait_ns;
        bool has_instance = snapshot->instance.id[0] || snapshot->instance.error[0];
        if (!has_instance && now_ns < run->until_ns &&
            run->waiting.count < NTK_PIPE_INSTANCE_REPORTS &&
            ntk_vec_push(&run->waiting, &snapshot) == 0) {
            if (!snapshot->realtime_ns) {
                snapshot->realtime_ns = ntk_clock_wall_ns(run->sink->clock);
            }
            return;
        }
        put_waiting(run, snapshot);
    }
    put(run, snapshot);
    ntk_snapshot_destroy(snapshot);
}

static void put_all(struct run *run)
{
    struct ntk_snapshot *snapshot;
    struct ntk_err err = { 0 };
    char text[NTK_ERR_TEXT_BYTES + 32];
    int ret;

    while ((ret = ntk_report_stream_next(run->stream, &snapshot, &err)) != 0) {
        if (ret < 0) {
            ntk_log_warn(NULL, "stdin: %s", ntk_err_format(&err, text, sizeof text));
            continue;
        }
        take(run, snapshot);
    }
}

/* Runs until the input ends (true) or a signal arrives (false). Negative: the input cannot be
 * read. */
static int read_all(struct ntk_pipe *pipe, struct run *run, int fd, struct ntk_err *err)
{
    for (;;) {
        struct pollfd fds[] = { { fd, POLLIN, 0 }, { pipe->signal_fd, POLLIN, 0 } };

        int ready = ntk_cond_poll(run->sink->clock, fds, 2,
                                  run->waiting.count ? run->until_ns : NTK_COND_FOREVER);
        if (ready < 0 && errno != EINTR) {
            return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "poll: %s", strerror(errno));
        }
        if (ready == 0) {
            put_waiting(run, NULL);
        }
        if (take_signal(pipe)) {
            return false;
        }
        if (!(fds[0].revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL))) {
            continue;
        }
        ssize_t got = ntk_report_stream_fill(run->stream, fd, err);
        if (got == -EAGAIN || got == -EINTR) {
            continue;
        }
        if (got < 0) {
            return (int)got;
        }
        if (got == 0) {
            ntk_report_stream_end(run->stream);
        }
        put_all(run);
        if (got == 0) {
            return true;
        }
    }
}

/* Lets the sink send the rest; after a signal it no longer waits for a peer. */
static int drain(struct ntk_pipe *pipe, const struct ntk_pipe_sink *sink, struct ntk_err *err)
{
    bool in_haste = false;
    int ret;

    if (!sink->drain) {
        return 0;
    }
    while ((ret = sink->drain(sink->ctx, in_haste, err)) == 0 && !in_haste) {
        struct pollfd fd = { pipe->signal_fd, POLLIN, 0 };

        uint64_t until_ns = ntk_clock_now_ns(sink->clock) + NTK_PIPE_DRAIN_STEP_NS;
        in_haste = ntk_cond_poll(sink->clock, &fd, 1, until_ns) > 0 && take_signal(pipe);
    }
    return ret < 0 ? ret : 0;
}

int ntk_pipe_run(struct ntk_pipe *pipe, int fd, const struct ntk_pipe_sink *sink,
                 struct ntk_err *err)
{
    struct run run = { .sink = sink,
                       .stream = ntk_report_stream_create(),
                       .is_waiting = sink->instance_wait_ns > 0,
                       .waiting = NTK_VEC_INIT(struct ntk_snapshot *) };

    if (!run.stream) {
        return ntk_err_no_memory(err);
    }
    int ended = read_all(pipe, &run, fd, err);
    put_waiting(&run, NULL);
    struct ntk_report_stream_counts counts = ntk_report_stream_counts_get(run.stream);
    ntk_report_stream_destroy(run.stream);
    if (ended < 0) {
        return ended;
    }
    int ret = drain(pipe, sink, err);
    if (ret >= 0 && ended && counts.report_count == 0) {
        return ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET,
                           "stdin ended without a neuron-monitor report");
    }
    return ret;
}
