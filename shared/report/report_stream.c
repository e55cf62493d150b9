/* SPDX-License-Identifier: MIT */
/*
 * report_stream - splits bytes into texts of one report each, and reads these as snapshots.
 *
 * A text ends with its closing brace, so a report may take one line, several, or a part of one. A
 * report that was truncated because its writer was killed must not spoil the next one: a brace in
 * an impossible place begins a new report, and so does a line that begins with {".
 */
#include "shared/report/report_stream.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/buf.h"
#include "shared/report/report_json.h"

/* Bytes per read; the default capacity of a pipe. */
#define FILL_BYTES (64 * 1024)

/* Maximum nesting of objects and arrays; a report has less. */
#define DEPTH_MAX 64

enum where {
    BETWEEN, /* between two reports */
    IN_REPORT,
    IN_STRING, /* in a string of a report */
    IN_ESCAPE, /* after a backslash in a string */
    IN_OTHER,  /* in a line that is not a report, up to its end */
    SKIPPING,  /* in the rest of a bad report, up to a line that begins with a brace */
};

struct ntk_report_stream {
    struct ntk_buf buf; /* [text_start, bytes_count) is unprocessed */
    size_t text_start;
    size_t scanned;
    enum where where;
    unsigned int depth;
    uint64_t arrays;     /* one bit per depth: set for an array, clear for an object */
    char before;         /* last byte before `scanned` outside of strings that is not a blank */
    bool is_line_start;  /* `scanned` is the first byte of a line */
    bool has_ended;      /* no more bytes will be added */
    uint64_t first_line; /* number of the line in which the text begins */
    struct ntk_report_stream_counts counts;
};

/* One text, which may be a report. */
struct text {
    const char *bytes;
    size_t count;
    uint64_t first_line;
};

struct ntk_report_stream *ntk_report_stream_create(void)
{
    struct ntk_report_stream *stream = calloc(1, sizeof *stream);

    if (stream) {
        stream->is_line_start = true;
    }
    return stream;
}

void ntk_report_stream_destroy(struct ntk_report_stream *stream)
{
    if (stream) {
        ntk_buf_fini(&stream->buf);
        free(stream);
    }
}

/* Removes processed texts from the front of the buffer before bytes are added. */
static void compact(struct ntk_report_stream *stream)
{
    if (stream->text_start == 0) {
        return;
    }
    size_t rest = stream->buf.bytes_count - stream->text_start;
    if (rest) {
        memmove(stream->buf.bytes, stream->buf.bytes + stream->text_start, rest);
    }
    stream->buf.bytes_count = rest;
    stream->scanned -= stream->text_start;
    stream->text_start = 0;
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
        return code == EAGAIN || code == EINTR ? -code
                                               : ntk_err_set(err, -code, NTK_ERR_NO_OFFSET,
                                                             "report stream: %s", strerror(code));
    }
    if (got > 0 && ntk_report_stream_add(stream, bytes, (size_t)got) < 0) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET,
                           "report stream: out of memory after line %llu",
                           (unsigned long long)stream->counts.line_count);
    }
    return got;
}

void ntk_report_stream_end(struct ntk_report_stream *stream)
{
    if (stream->scanned < stream->buf.bytes_count || !stream->is_line_start) {
        (void)ntk_report_stream_add(stream, "\n", 1);
    }
    stream->has_ended = true;
}

/* ---- texts ---- */

static void step(struct ntk_report_stream *stream, char c)
{
    stream->counts.line_count += c == '\n';
    stream->is_line_start = c == '\n';
    stream->scanned++;
}

static void begin_text(struct ntk_report_stream *stream, enum where where)
{
    stream->where = where;
    stream->text_start = stream->scanned;
    stream->first_line = stream->counts.line_count + 1;
    stream->depth = 0;
    stream->arrays = 0;
    stream->before = '\0';
}

/* Ends the text before `scanned`; the next byte belongs to no text yet. */
static void end_text(struct ntk_report_stream *stream, struct text *out)
{
    *out = (struct text){ stream->buf.bytes + stream->text_start,
                          stream->scanned - stream->text_start, stream->first_line };
    stream->text_start = stream->scanned;
    stream->where = BETWEEN;
}

/* Ends a truncated report: before its next line that begins with a brace, if there is one, where
 * the scan continues. */
static void end_broken_text(struct ntk_report_stream *stream, struct text *out)
{
    const char *text = stream->buf.bytes + stream->text_start;
    size_t count = stream->scanned - stream->text_start;
    const char *next = memmem(text + 1, count > 0 ? count - 1 : 0, "\n{", 2);

    if (next) {
        size_t kept = (size_t)(next + 1 - text);

        for (size_t i = kept; i < count; i++) {
            stream->counts.line_count -= text[i] == '\n';
        }
        stream->scanned = stream->text_start + kept;
        stream->is_line_start = true;
    }
    end_text(stream, out);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Returns true if the character separates reports: the reports of an array, or the records of JSON
 * text sequences. */
static bool is_separator(char c)
{
    return is_blank(c) || c == '[' || c == ',' || c == ']' || c == '\x1e';
}

/* Processes a byte of a report outside of strings. Returns true if the report ends with it;
 * *out_is_broken is set if it ended before. */
static bool take_byte(struct ntk_report_stream *stream, char c, bool *out_is_broken)
{
    bool in_array = stream->depth > 0 && stream->arrays >> (stream->depth - 1) & 1;

    if (c == '{' || c == '[') {
        bool is_value =
            stream->depth == 0 ||
            (in_array ? stream->before == '[' || stream->before == ',' : stream->before == ':');

        if (!is_value || stream->depth >= DEPTH_MAX) {
            *out_is_broken = true;
            return true;
        }
        stream->arrays &= ~(UINT64_C(1) << stream->depth);
        stream->arrays |= (uint64_t)(c == '[') << stream->depth++;
    } else if (c == '}' || c == ']') {
        stream->depth--;
    } else if (c == '"') {
        stream->where = IN_STRING;
    }
    stream->before = is_blank(c) ? stream->before : c;
    step(stream, c);
    return stream->depth == 0;
}

/* Gets the next whole text; returns false if there is none yet. */
static bool take_text(struct ntk_report_stream *stream, struct text *out)
{
    while (stream->scanned < stream->buf.bytes_count) {
        const char *at = stream->buf.bytes + stream->scanned;
        bool is_last = stream->scanned + 1 == stream->buf.bytes_count;
        bool is_broken = false;

        switch (stream->where) {
        case SKIPPING:
            if (*at == '{' && stream->is_line_start) {
                begin_text(stream, IN_REPORT);
            } else {
                step(stream, *at);
                stream->text_start = stream->scanned;
            }
            break;
        case BETWEEN:
            if (is_separator(*at)) {
                step(stream, *at);
                stream->text_start = stream->scanned;
            } else {
                begin_text(stream, *at == '{' ? IN_REPORT : IN_OTHER);
            }
            break;
        case IN_OTHER:
            if (*at == '\n') {
                end_text(stream, out);
                return true;
            }
            step(stream, *at);
            break;
        case IN_STRING:
            if (*at == '\n') {
                end_broken_text(stream, out);
                stream->where =
                    stream->where == BETWEEN && !stream->is_line_start ? SKIPPING : BETWEEN;
                return true;
            }
            stream->where = *at == '"' ? IN_REPORT : *at == '\\' ? IN_ESCAPE : IN_STRING;
            step(stream, *at);
            break;
        case IN_ESCAPE:
            stream->where = IN_STRING;
            if (*at != '\n') {
                step(stream, *at);
            }
            break;
        case IN_REPORT:
            if (*at == '{' && stream->is_line_start && stream->depth > 0) {
                if (is_last && !stream->has_ended) {
                    return false; /* the next byte decides */
                }
                is_broken = !is_last && at[1] == '"';
            }
            if (is_broken || take_byte(stream, *at, &is_broken)) {
                if (is_broken) {
                    end_broken_text(stream, out);
                } else {
                    end_text(stream, out);
                }
                return true;
            }
            break;
        }
    }
    if (stream->has_ended && (stream->where == IN_REPORT || stream->where == IN_STRING)) {
        end_broken_text(stream, out);
        return true;
    }
    return false;
}

/* Drops the bytes of a text that is too long. */
static bool drop_endless_text(struct ntk_report_stream *stream)
{
    if (stream->buf.bytes_count - stream->text_start <= NTK_REPORT_READ_BYTES_MAX) {
        return false;
    }
    stream->buf.bytes_count = stream->scanned = stream->text_start;
    stream->where = SKIPPING;
    return true;
}

/* Sets a message such as "line 2 is skipped: unexpected token". */
static int say_skipped(const struct text *text, int ret, const char *cause, struct ntk_err *err)
{
    uint64_t last_line = text->first_line;
    size_t count = text->count;

    while (count > 0 && is_blank(text->bytes[count - 1])) {
        count--;
    }
    for (size_t i = 0; i < count; i++) {
        last_line += text->bytes[i] == '\n';
    }
    return last_line > text->first_line
               ? ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "skipped lines %llu to %llu: %s",
                             (unsigned long long)text->first_line, (unsigned long long)last_line,
                             cause)
               : ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "skipped line %llu: %s",
                             (unsigned long long)text->first_line, cause);
}

int ntk_report_stream_next(struct ntk_report_stream *stream, struct ntk_snapshot **out_snapshot,
                           struct ntk_err *err)
{
    char words[NTK_ERR_TEXT_BYTES];
    struct ntk_err cause = { 0 };
    struct text text;

    if (take_text(stream, &text)) {
        int ret = ntk_report_read(text.bytes, text.count, out_snapshot, &cause);

        if (ret >= 0) {
            stream->counts.report_count++;
            return 1;
        }
        stream->counts.bad_count++;
        return say_skipped(&text, ret, ntk_err_format(&cause, words, sizeof words), err);
    }
    if (drop_endless_text(stream)) {
        stream->counts.bad_count++;
        text = (struct text){ .first_line = stream->first_line };
        (void)snprintf(words, sizeof words, "longer than %d bytes", NTK_REPORT_READ_BYTES_MAX);
        return say_skipped(&text, -EBADMSG, words, err);
    }
    return 0;
}

struct ntk_report_stream_counts ntk_report_stream_counts_get(const struct ntk_report_stream *stream)
{
    return stream->counts;
}
