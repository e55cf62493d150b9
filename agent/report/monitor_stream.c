/* SPDX-License-Identifier: MIT */
/* monitor_stream - writes whole lines to stdout and never waits for their reader. */
#include "agent/report/monitor_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporters/transport/output_counts.h"
#include "shared/base/cond.h"

#define PAGE_BYTES 4096

struct line {
    char *bytes;
    size_t bytes_count;
};

struct ntk_monitor_stream {
    int fd;
    bool is_own;    /* opened here, in non-blocking mode */
    bool is_socket; /* send() has a non-blocking flag */
    bool is_file;   /* never waits */
    bool is_pipe;   /* free space is known */
    bool waits_for_out;
    struct line lines[NTK_MONITOR_STREAM_LINES_MAX]; /* a ring with first and count */
    size_t first;
    size_t count;
    size_t queued_bytes;
    size_t written_bytes; /* written bytes of lines[first] */
    /* Read by the thread that creates the page about this process. */
    _Atomic uint64_t sent_count;
    _Atomic uint64_t dropped_count;
    _Atomic uint64_t cut_count;
    _Atomic uint64_t waiting_count; /* same value as count */
    struct ntk_output_source source;
};

static void read_counts(void *ctx, struct ntk_output_counts *counts)
{
    struct ntk_monitor_stream *stream = ctx;

    counts->sent_items += atomic_load(&stream->sent_count);
    counts->lost_items += atomic_load(&stream->dropped_count);
    counts->has_cut = true;
    counts->cut_items += atomic_load(&stream->cut_count);
    counts->memory_items += atomic_load(&stream->waiting_count);
}

int ntk_monitor_stream_create(int fd, struct ntk_monitor_stream **out_stream, struct ntk_err *err)
{
    struct ntk_monitor_stream *stream = calloc(1, sizeof *stream);
    struct stat info;

    if (!stream) {
        return ntk_err_no_memory(err);
    }
    if (fstat(fd, &info) < 0) {
        free(stream);
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot write to stdout: %s",
                           strerror(errno));
    }
    stream->fd = fd;
    stream->is_socket = S_ISSOCK(info.st_mode);
    stream->is_file = S_ISREG(info.st_mode);
    if (S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode)) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        int own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        if (own >= 0) {
            stream->fd = own;
            stream->is_own = true;
            stream->is_pipe = S_ISFIFO(info.st_mode);
        }
    }
    stream->source =
        (struct ntk_output_source){ .name = "stdout", .read = read_counts, .ctx = stream };
    ntk_output_source_add(&stream->source);
    *out_stream = stream;
    return 0;
}

static void pop(struct ntk_monitor_stream *stream)
{
    struct line *line = &stream->lines[stream->first];

    stream->queued_bytes -= line->bytes_count;
    free(line->bytes);
    *line = (struct line){ NULL, 0 };
    stream->first = (stream->first + 1) % NTK_MONITOR_STREAM_LINES_MAX;
    stream->count--;
    atomic_store(&stream->waiting_count, stream->count);
    stream->written_bytes = 0;
}

void ntk_monitor_stream_destroy(struct ntk_monitor_stream *stream)
{
    if (!stream) {
        return;
    }
    ntk_output_source_remove(&stream->source);
    while (stream->count > 0) {
        pop(stream);
    }
    if (stream->is_own) {
        close(stream->fd);
    }
    free(stream);
}

/*
 * Returns true if a pipe accepts that many bytes immediately. Up to PIPE_BUF the kernel guarantees
 * all or nothing. A pipe holds pages, and the first and last page of a write may be nearly empty,
 * so lines beyond PIPE_BUF use at most twice the pages of their bytes. A pipe that is too small for
 * the line is enlarged if the system permits it.
 */
static bool has_room(const struct ntk_monitor_stream *stream, size_t bytes_count)
{
    int capacity = fcntl(stream->fd, F_GETPIPE_SZ);
    int unread = 0;

    if (bytes_count <= PIPE_BUF || capacity < 0 || ioctl(stream->fd, FIONREAD, &unread) < 0) {
        return true;
    }
    if (bytes_count > (size_t)capacity) {
        capacity = bytes_count > NTK_MONITOR_STREAM_BYTES_MAX - PAGE_BYTES
                       ? -1
                       : fcntl(stream->fd, F_SETPIPE_SZ, (int)bytes_count + PAGE_BYTES);
        if (capacity < 0) {
            return true;
        }
    }
    return unread == 0 ||
           2 * (size_t)unread + bytes_count + (size_t)2 * PAGE_BYTES <= (size_t)capacity;
}

/* Writes without waiting; returns the number of bytes, or -1 with errno EAGAIN if none fit. */
static ssize_t write_some(const struct ntk_monitor_stream *stream, const char *bytes,
                          size_t bytes_count)
{
    if (stream->is_socket) {
        return send(stream->fd, bytes, bytes_count, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (stream->is_own || stream->is_file) {
        return write(stream->fd, bytes, bytes_count);
    }
    /* The pipe could not be reopened, but a ready pipe accepts PIPE_BUF bytes immediately. */
    struct pollfd ready = { .fd = stream->fd, .events = POLLOUT };
    if (poll(&ready, 1, 0) <= 0) {
        errno = EAGAIN;
        return -1;
    }
    return write(stream->fd, bytes, bytes_count < PIPE_BUF ? bytes_count : PIPE_BUF);
}

int ntk_monitor_stream_flush(struct ntk_monitor_stream *stream)
{
    stream->waits_for_out = false;
    while (stream->count > 0) {
        const struct line *line = &stream->lines[stream->first];
        if (stream->is_pipe && stream->written_bytes == 0 && !has_room(stream, line->bytes_count)) {
            return 0;
        }
        ssize_t count = write_some(stream, line->bytes + stream->written_bytes,
                                   line->bytes_count - stream->written_bytes);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            stream->waits_for_out = errno == EAGAIN || errno == EWOULDBLOCK;
            return stream->waits_for_out ? 0 : -errno;
        }
        stream->written_bytes += (size_t)count;
        if (stream->written_bytes == line->bytes_count) {
            pop(stream);
            atomic_fetch_add(&stream->sent_count, 1);
        }
    }
    return 0;
}

int ntk_monitor_stream_drain(struct ntk_monitor_stream *stream, const struct ntk_clock *clock,
                             uint64_t for_ns, bool (*must_stop)(void *ctx), void *ctx)
{
    uint64_t now_ns = ntk_clock_now_ns(clock);
    uint64_t until_ns = now_ns + for_ns;
    int ret = ntk_monitor_stream_flush(stream);

    while (ret == 0 && stream->count > 0 && now_ns < until_ns && !must_stop(ctx)) {
        struct pollfd ready = { .fd = stream->fd, .events = stream->waits_for_out ? POLLOUT : 0 };
        uint64_t left_ns = until_ns - now_ns;

        (void)ntk_cond_poll(
            clock, &ready, 1,
            now_ns + (left_ns < NTK_MONITOR_STREAM_STEP_NS ? left_ns : NTK_MONITOR_STREAM_STEP_NS));
        /* A write to a full pipe without a reader does not fail on its own. */
        ret = ready.revents & (POLLERR | POLLHUP) ? -EPIPE : ntk_monitor_stream_flush(stream);
        now_ns = ntk_clock_now_ns(clock);
    }
    return ret;
}

int ntk_monitor_stream_put(struct ntk_monitor_stream *stream, const char *line, size_t line_bytes,
                           bool is_cut)
{
    bool fits =
        stream->count == 0 || (stream->count < NTK_MONITOR_STREAM_LINES_MAX &&
                               stream->queued_bytes + line_bytes <= NTK_MONITOR_STREAM_BYTES_MAX);
    char *copy = fits ? malloc(line_bytes + 1) : NULL;

    atomic_fetch_add(&stream->cut_count, is_cut);
    if (!copy) {
        atomic_fetch_add(&stream->dropped_count, 1);
        int ret = ntk_monitor_stream_flush(stream);
        return ret < 0 ? ret : 1;
    }
    memcpy(copy, line, line_bytes);
    stream->lines[(stream->first + stream->count++) % NTK_MONITOR_STREAM_LINES_MAX] =
        (struct line){ copy, line_bytes };
    stream->queued_bytes += line_bytes;
    atomic_store(&stream->waiting_count, stream->count);
    return ntk_monitor_stream_flush(stream);
}

bool ntk_monitor_stream_is_empty(const struct ntk_monitor_stream *stream)
{
    return stream->count == 0;
}

bool ntk_monitor_stream_waits_for_out(const struct ntk_monitor_stream *stream)
{
    return stream->waits_for_out;
}

bool ntk_monitor_stream_is_torn(const struct ntk_monitor_stream *stream)
{
    return stream->written_bytes > 0;
}

uint64_t ntk_monitor_stream_dropped_count(const struct ntk_monitor_stream *stream)
{
    return atomic_load(&stream->dropped_count);
}

uint64_t ntk_monitor_stream_cut_count(const struct ntk_monitor_stream *stream)
{
    return atomic_load(&stream->cut_count);
}

int ntk_monitor_stream_fd_get(const struct ntk_monitor_stream *stream)
{
    return stream->fd;
}
