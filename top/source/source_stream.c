/* SPDX-License-Identifier: MIT */
/* source_stream - gets snapshots from neuron-monitor's lines, from any descriptor. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/report/report_stream.h"
#include "top/source/event_log.h"
#include "top/source/source.h"

struct stream_source {
    struct ntk_top_source base;
    struct ntk_report_stream *stream;
    bool has_ended;
    char note[NTK_ERR_TEXT_BYTES];
};

/* Adds events of an older report: its numbers are out of date, but its events must not be
 * missed. */
static void join_events(struct ntk_snapshot *to, const struct ntk_snapshot *older)
{
    size_t room = older->event_count + older->runtime_count;
    struct ntk_event_sample *events = calloc(room + 1, sizeof *events);
    size_t count = 0;

    for (; events && count < older->event_count; count++) {
        events[count] = older->events[count];
    }
    for (size_t i = 0; events && i < older->runtime_count; i++) {
        if (older->runtimes[i].ended) {
            events[count++] = ntk_top_event_log_end_of(&older->runtimes[i], older->realtime_ns);
        }
    }
    ntk_snapshot_join_events(to, events, count, to->events, to->event_count);
    to->events_unlisted += older->events_unlisted;
    free(events);
}

/* Takes the newest complete report so far. */
static void take_newest(struct stream_source *source, struct ntk_snapshot **newest)
{
    struct ntk_snapshot *snapshot;
    struct ntk_err err = { 0 };
    int ret;

    while ((ret = ntk_report_stream_next(source->stream, &snapshot, &err)) != 0) {
        if (ret < 0) {
            (void)snprintf(source->note, sizeof source->note, "%s", err.text);
            continue;
        }
        if (*newest) {
            join_events(snapshot, *newest);
            ntk_snapshot_destroy(*newest);
        }
        if (snapshot->realtime_ns == 0) { /* a report may have no time */
            snapshot->realtime_ns = ntk_clock_realtime_ns();
        }
        *newest = snapshot;
        source->note[0] = '\0';
    }
}

static bool is_readable(int fd)
{
    struct pollfd poll_fd = { fd, POLLIN, 0 };

    return poll(&poll_fd, 1, 0) > 0;
}

static int stream_take(struct ntk_top_source *base, struct ntk_snapshot **out_snapshot,
                       struct ntk_err *err)
{
    struct stream_source *source = (struct stream_source *)base;
    struct ntk_snapshot *newest = NULL;

    while (!source->has_ended && is_readable(base->fd)) {
        ssize_t got = ntk_report_stream_fill(source->stream, base->fd, err);
        if (got == -EAGAIN || got == -EINTR) {
            break;
        }
        if (got < 0) {
            ntk_snapshot_destroy(newest);
            return (int)got;
        }
        if (got == 0) {
            source->has_ended = true;
            ntk_report_stream_end(source->stream);
        }
        take_newest(source, &newest);
    }
    if (newest) {
        *out_snapshot = newest;
        return 1;
    }
    if (!source->has_ended) {
        return 0;
    }
    if (ntk_report_stream_counts_get(source->stream).report_count == 0) {
        return ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET,
                           "the stream ended without a neuron-monitor report%s%s",
                           source->note[0] ? ": " : "", source->note);
    }
    (void)snprintf(source->note, sizeof source->note, "the stream ended");
    return ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET, "the stream ended");
}

static const char *stream_note(const struct ntk_top_source *base)
{
    return ((const struct stream_source *)base)->note;
}

static void stream_close(struct ntk_top_source *base)
{
    struct stream_source *source = (struct stream_source *)base;

    ntk_report_stream_destroy(source->stream);
    close(base->fd);
    free(source);
}

static const struct ntk_top_source_ops stream_ops = { .take = stream_take,
                                                      .close = stream_close,
                                                      .note = stream_note };

int ntk_top_source_stream_open(int fd, struct ntk_top_source **out_source, struct ntk_err *err)
{
    struct stream_source *source = calloc(1, sizeof *source);

    if (source) {
        source->stream = ntk_report_stream_create();
    }
    if (!source || !source->stream) {
        free(source);
        return ntk_err_no_memory(err);
    }
    source->base.ops = &stream_ops;
    source->base.fd = fd;
    *out_source = &source->base;
    return 0;
}
