/* SPDX-License-Identifier: MIT */
/* report_stream - cuts bytes into lines and lines into snapshots. */
#include "shared/report/report_stream.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/buf.h"
#include "shared/report/report_json.h"

/* Read at once; a pipe holds that much by default. */
#define FILL_BYTES (64 * 1024)

struct ntk_report_stream {
    struct ntk_buf buf; /* [line_start, bytes_count) is not used up yet */
    size_t line_start;  /* first byte of the line that is next */
    size_t scanned;     /* no '\n' in [line_start, scanned) */
    bool is_skipping;   /* within a line that is too long, already told */
    struct ntk_report_stream_counts counts;
};

struct ntk_report_stream *ntk_report_stream_create(void)
{
    return calloc(1, sizeof(struct ntk_report_stream));
}

void ntk_report_stream_destroy(struct ntk_report_stream *stream)
{
    if (stream) {
        ntk_buf_fini(&stream->buf);
        free(stream);
    }
}

/* Used lines leave the front of the buffer before bytes come to its end. */
static void compact(struct ntk_report_stream *stream)
{
    if (stream->line_start == 0) {
        return;
    }
    size_t rest = stream->buf.bytes_count - stream->line_start;
    if (rest) {
        memmove(stream->buf.bytes, stream->buf.bytes + stream->line_start, rest);
    }
    stream->buf.bytes_count = rest;
    stream->scanned -= stream->line_start;
    stream->line_start = 0;
}

int ntk_report_stream_add(struct ntk_report_stream *stream, const void *bytes, size_t bytes_count)
{
    compact(stream);
    void *room = ntk_buf_extend(&stream->buf, bytes_count);
    if (!room) {
        ntk_buf_reset(&stream->buf);
        stream->scanned = 0;
        return -ENOMEM;
    }
    memcpy(room, bytes, bytes_count);
    return 0;
}

ssize_t ntk_report_stream_fill(struct ntk_report_stream *stream, int fd, struct ntk_err *err)
{
    char bytes[FILL_BYTES];
    ssize_t got = read(fd, bytes, sizeof bytes);

    if (got < 0) {
        int code = errno;
        return code == EAGAIN || code == EINTR
                   ? -code
                   : ntk_err_set(err, -code, NTK_ERR_NO_OFFSET, "the stream of reports: %s",
                                 strerror(code));
    }
    if (got > 0 && ntk_report_stream_add(stream, bytes, (size_t)got) < 0) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET,
                           "the stream of reports: out of memory after line %llu",
                           (unsigned long long)stream->counts.line_count);
    }
    return got;
}

void ntk_report_stream_end(struct ntk_report_stream *stream)
{
    if (stream->buf.bytes_count > stream->line_start || stream->is_skipping) {
        (void)ntk_report_stream_add(stream, "\n", 1);
    }
}

/* The next whole line without its '\n': true, or false when there is none yet. */
static bool take_line(struct ntk_report_stream *stream, const char **out_line, size_t *out_bytes)
{
    if (stream->scanned >= stream->buf.bytes_count) {
        return false;
    }
    char *from = stream->buf.bytes + stream->scanned;
    char *end = memchr(from, '\n', stream->buf.bytes_count - stream->scanned);
    if (!end) {
        stream->scanned = stream->buf.bytes_count;
        return false;
    }
    *out_line = stream->buf.bytes + stream->line_start;
    *out_bytes = (size_t)(end - *out_line);
    stream->line_start = (size_t)(end - stream->buf.bytes) + 1;
    stream->scanned = stream->line_start;
    stream->counts.line_count++;
    return true;
}

/* A line without an end in sight: its bytes are not kept. */
static bool drop_endless_line(struct ntk_report_stream *stream)
{
    size_t waiting = stream->buf.bytes_count - stream->line_start;

    if (waiting <= NTK_REPORT_READ_BYTES_MAX && !(stream->is_skipping && waiting)) {
        return false;
    }
    stream->buf.bytes_count = stream->line_start;
    stream->scanned = stream->line_start;
    if (stream->is_skipping) {
        return false;
    }
    stream->is_skipping = true;
    return true;
}

static bool is_blank(const char *line, size_t line_bytes)
{
    return line_bytes == 0 || (line_bytes == 1 && line[0] == '\r');
}

int ntk_report_stream_next(struct ntk_report_stream *stream, struct ntk_snapshot **out_snapshot,
                           struct ntk_err *err)
{
    const char *line;
    size_t line_bytes;

    while (take_line(stream, &line, &line_bytes)) {
        if (stream->is_skipping) { /* its rest */
            stream->is_skipping = false;
            continue;
        }
        if (is_blank(line, line_bytes)) {
            continue;
        }
        struct ntk_err cause = { 0 };
        int ret = ntk_report_read(line, line_bytes, out_snapshot, &cause);
        if (ret >= 0) {
            stream->counts.report_count++;
            return 1;
        }
        stream->counts.bad_count++;
        char text[NTK_ERR_TEXT_BYTES];
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "line %llu is skipped: %s",
                           (unsigned long long)stream->counts.line_count,
                           ntk_err_format(&cause, text, sizeof text));
    }
    if (drop_endless_line(stream)) {
        stream->counts.bad_count++;
        return ntk_err_set(
            err, -EBADMSG, NTK_ERR_NO_OFFSET, "line %llu is skipped: longer than %d bytes",
            (unsigned long long)stream->counts.line_count + 1, NTK_REPORT_READ_BYTES_MAX);
    }
    return 0;
}

struct ntk_report_stream_counts ntk_report_stream_counts_get(const struct ntk_report_stream *stream)
{
    return stream->counts;
}
