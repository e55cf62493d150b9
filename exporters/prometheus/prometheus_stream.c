/* SPDX-License-Identifier: MIT */
/* prometheus_stream - encodes large pages while they are sent. */
#include "exporters/prometheus/prometheus_stream.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/base/log.h"

#define PART_BYTES ((size_t)64 * 1024)

/* Values that several streams still read. */
struct frozen {
    size_t reader_count;
    struct ntk_points_page page;
};

struct prometheus_stream {
    struct prometheus_streams *streams;
    struct prometheus_stream *next;
    struct ntk_prometheus_parts *parts;
    struct ntk_buf begin;  /* bytes encoded before the stream started */
    struct frozen *frozen; /* NULL: it reads the page */
    enum { READING, COMPLETE, BROKEN } state;
};

static bool reads_page(const struct prometheus_stream *stream)
{
    return stream->state == READING && !stream->frozen;
}

static void count_deliveries(struct prometheus_streams *streams)
{
    for (const struct prometheus_stream *at = streams->first; at; at = at->next) {
        if (reads_page(at)) {
            return;
        }
    }
    for (; streams->deliveries > 0; streams->deliveries--) {
        streams->has_left = ntk_points_page_delivered(streams->page) || streams->has_left;
    }
}

void prometheus_stream_delivered(struct prometheus_streams *streams)
{
    streams->deliveries++;
    count_deliveries(streams);
}

static void release(struct frozen *frozen)
{
    if (frozen && --frozen->reader_count == 0) {
        ntk_points_page_fini(&frozen->page);
        free(frozen);
    }
}

/* Returns NULL if out of memory. */
static struct frozen *freeze(const struct ntk_points_page *page)
{
    struct frozen *frozen = calloc(1, sizeof *frozen);

    if (frozen && ntk_points_page_freeze(page, &frozen->page) < 0) {
        free(frozen);
        return NULL;
    }
    return frozen;
}

void prometheus_stream_freeze(struct prometheus_streams *streams)
{
    struct frozen *frozen = NULL;

    for (struct prometheus_stream *at = streams->first; at; at = at->next) {
        if (!reads_page(at)) {
            continue;
        }
        frozen = frozen ? frozen : freeze(streams->page);
        if (!frozen) {
            ntk_log_warn("prometheus", "out of memory: a response is truncated");
            at->state = BROKEN;
            continue;
        }
        frozen->reader_count++;
        at->frozen = frozen;
        ntk_prometheus_parts_move(at->parts, &frozen->page);
    }
    count_deliveries(streams);
}

static int next_part(struct prometheus_stream *stream, struct ntk_buf *out)
{
    if (stream->begin.bytes_count > 0) {
        ntk_buf_fini(out);
        *out = stream->begin;
        stream->begin = (struct ntk_buf){ 0 };
        return 1;
    }
    if (stream->state == BROKEN) {
        return -ENOMEM;
    }
    bool has_more = ntk_prometheus_parts_next(stream->parts, PART_BYTES, out);
    if (!ntk_buf_ok(out)) {
        stream->state = BROKEN;
        return -ENOMEM;
    }
    if (!has_more) {
        stream->state = COMPLETE;
        /* A stream of older values does not deliver the last counts of an application that has
         * ended since. */
        if (!stream->frozen || stream->frozen->page.sequence == stream->streams->page->sequence) {
            prometheus_stream_delivered(stream->streams);
        }
    }
    return has_more;
}

static int source_next(void *ctx, struct ntk_buf *out)
{
    struct prometheus_stream *stream = ctx;

    pthread_mutex_lock(stream->streams->lock);
    int ret = next_part(stream, out);
    pthread_mutex_unlock(stream->streams->lock);
    return ret;
}

static void source_end(void *ctx)
{
    struct prometheus_stream *stream = ctx;
    struct prometheus_streams *streams = stream->streams;

    pthread_mutex_lock(streams->lock);
    for (struct prometheus_stream **at = &streams->first; *at; at = &(*at)->next) {
        if (*at == stream) {
            *at = stream->next;
            break;
        }
    }
    release(stream->frozen);
    count_deliveries(streams);
    pthread_mutex_unlock(streams->lock);
    ntk_prometheus_parts_destroy(stream->parts);
    ntk_buf_fini(&stream->begin);
    free(stream);
}

bool prometheus_stream_start(struct prometheus_streams *streams, struct ntk_prometheus_parts *parts,
                             struct ntk_buf *begin, struct ntk_http_source *out)
{
    struct prometheus_stream *stream = calloc(1, sizeof *stream);

    if (!stream) {
        ntk_prometheus_parts_destroy(parts);
        ntk_buf_fini(begin);
        return false;
    }
    *stream = (struct prometheus_stream){
        .streams = streams, .next = streams->first, .parts = parts, .begin = *begin
    };
    *begin = (struct ntk_buf){ 0 };
    streams->first = stream;
    *out = (struct ntk_http_source){ .next = source_next, .end = source_end, .ctx = stream };
    return true;
}
