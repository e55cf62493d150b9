/* SPDX-License-Identifier: MIT */
/* monitor_stream - writes whole lines to stdout and never waits for who reads them. */
#include "agent/report/monitor_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporters/transport/output_counts.h"

struct line {
    char *bytes;
    size_t bytes_count;
};

struct ntk_monitor_stream {
    int fd;
    bool is_own;                                     /* opened by us, without waiting */
    bool is_socket;                                  /* send() can be told not to wait */
    bool is_file;                                    /* never waits */
    struct line lines[NTK_MONITOR_STREAM_LINES_MAX]; /* a ring: first, count */
    size_t first;
    size_t count;
    size_t queued_bytes;
    size_t written_bytes; /* of lines[first] */
    /* Read by whoever asks for the page of the process. */
    _Atomic uint64_t sent_count;
    _Atomic uint64_t dropped_count;
    _Atomic uint64_t cut_count;
    _Atomic uint64_t waiting_count; /* as count */
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

/* Without waiting: the bytes written, or -1 with errno EAGAIN when none can be. */
static ssize_t write_some(const struct ntk_monitor_stream *stream, const char *bytes,
                          size_t bytes_count)
{
    if (stream->is_socket) {
        return send(stream->fd, bytes, bytes_count, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (stream->is_own || stream->is_file) {
        return write(stream->fd, bytes, bytes_count);
    }
    /* It could not be opened again: a pipe that is ready takes PIPE_BUF bytes at once. */
    struct pollfd ready = { .fd = stream->fd, .events = POLLOUT };
    if (poll(&ready, 1, 0) <= 0) {
        errno = EAGAIN;
        return -1;
    }
    return write(stream->fd, bytes, bytes_count < PIPE_BUF ? bytes_count : PIPE_BUF);
}

int ntk_monitor_stream_flush(struct ntk_monitor_stream *stream)
{
    while (stream->count > 0) {
        const struct line *line = &stream->lines[stream->first];
        ssize_t count = write_some(stream, line->bytes + stream->written_bytes,
                                   line->bytes_count - stream->written_bytes);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
        }
        stream->written_bytes += (size_t)count;
        if (stream->written_bytes == line->bytes_count) {
            pop(stream);
            atomic_fetch_add(&stream->sent_count, 1);
        }
    }
    return 0;
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
