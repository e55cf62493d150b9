/* SPDX-License-Identifier: MIT */
/* http_feed - keeps a queue of bodies per reader; a reader's connection is suspended while its
 * queue is empty. */
#include "shared/http/http_feed.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FEED_BLOCK_BYTES (64 * 1024)

/* A client that reads a feed. */
struct ntk_http_feed_reader {
    struct ntk_http_feed *feed;
    struct ntk_http_feed_reader *next;
    struct MHD_Connection *connection;
    bool suspended;
    struct ntk_http_body *queue[NTK_HTTP_FEED_LINES]; /* ring of bodies: first, count */
    size_t first;
    size_t count;
    size_t sent_bytes; /* bytes of queue[first] that were sent */
};

/* Adds a line to the reader's queue. The caller holds the feed's lock. */
static void reader_push(struct ntk_http_feed_reader *reader, struct ntk_http_body *body)
{
    if (reader->count == NTK_HTTP_FEED_LINES) {
        reader->feed->dropped++;
        return;
    }
    reader->queue[(reader->first + reader->count++) % NTK_HTTP_FEED_LINES] =
        ntk_http_body_ref(body);
    if (reader->suspended) {
        reader->suspended = false;
        MHD_resume_connection(reader->connection);
    }
}

static ssize_t reader_read(void *ctx, uint64_t position, char *to, size_t to_bytes)
{
    struct ntk_http_feed_reader *reader = ctx;
    size_t copied = 0;
    bool closed;

    (void)position; /* always the next bytes, because it is a stream */
    pthread_mutex_lock(&reader->feed->lock);
    while (copied < to_bytes && reader->count > 0) {
        struct ntk_http_body *body = reader->queue[reader->first];
        size_t bytes_count;
        const char *bytes = ntk_http_body_bytes_get(body, &bytes_count);
        size_t part = bytes_count - reader->sent_bytes;
        if (part > to_bytes - copied) {
            part = to_bytes - copied;
        }
        memcpy(to + copied, bytes + reader->sent_bytes, part);
        copied += part;
        reader->sent_bytes += part;
        if (reader->sent_bytes == bytes_count) {
            ntk_http_body_unref(body);
            reader->first = (reader->first + 1) % NTK_HTTP_FEED_LINES;
            reader->count--;
            reader->sent_bytes = 0;
        }
    }
    closed = reader->feed->closed;
    if (copied == 0 && !closed) {
        reader->suspended = true;
        MHD_suspend_connection(reader->connection);
    }
    pthread_mutex_unlock(&reader->feed->lock);
    return copied == 0 && closed ? (ssize_t)MHD_CONTENT_READER_END_OF_STREAM : (ssize_t)copied;
}

static void reader_free(void *ctx)
{
    struct ntk_http_feed_reader *reader = ctx;

    pthread_mutex_lock(&reader->feed->lock);
    for (struct ntk_http_feed_reader **at = &reader->feed->readers; *at; at = &(*at)->next) {
        if (*at == reader) {
            *at = reader->next;
            break;
        }
    }
    while (reader->count > 0) {
        ntk_http_body_unref(reader->queue[(reader->first + --reader->count) % NTK_HTTP_FEED_LINES]);
    }
    pthread_mutex_unlock(&reader->feed->lock);
    free(reader);
}

struct MHD_Response *ntk_http_feed_response(struct ntk_http_feed *feed,
                                            struct MHD_Connection *connection)
{
    struct ntk_http_feed_reader *reader = calloc(1, sizeof *reader);

    if (!reader) {
        return NULL;
    }
    reader->feed = feed;
    reader->connection = connection;
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, FEED_BLOCK_BYTES, reader_read, reader, reader_free);
    if (!response) {
        free(reader);
        return NULL;
    }
    pthread_mutex_lock(&feed->lock);
    if (feed->last) {
        reader_push(reader, feed->last);
    }
    reader->next = feed->readers;
    feed->readers = reader;
    pthread_mutex_unlock(&feed->lock);
    return response;
}

struct ntk_http_feed *ntk_http_feed_make(const char *content_type)
{
    struct ntk_http_feed *feed = calloc(1, sizeof *feed);

    if (!feed) {
        return NULL;
    }
    pthread_mutex_init(&feed->lock, NULL);
    feed->content_type = content_type;
    return feed;
}

void ntk_http_feed_publish(struct ntk_http_feed *feed, struct ntk_http_body *body, bool keep_last)
{
    pthread_mutex_lock(&feed->lock);
    for (struct ntk_http_feed_reader *reader = feed->readers; reader; reader = reader->next) {
        reader_push(reader, body);
    }
    if (keep_last) {
        ntk_http_body_unref(feed->last);
        feed->last = ntk_http_body_ref(body);
    }
    pthread_mutex_unlock(&feed->lock);
}

uint64_t ntk_http_feed_dropped_count(struct ntk_http_feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    uint64_t dropped = feed->dropped;
    pthread_mutex_unlock(&feed->lock);
    return dropped;
}

void ntk_http_feed_close(struct ntk_http_feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    feed->closed = true;
    for (struct ntk_http_feed_reader *reader = feed->readers; reader; reader = reader->next) {
        if (reader->suspended) {
            reader->suspended = false;
            MHD_resume_connection(reader->connection);
        }
    }
    pthread_mutex_unlock(&feed->lock);
}

void ntk_http_feed_destroy(struct ntk_http_feed *feed)
{
    assert(!feed->readers);
    ntk_http_body_unref(feed->last);
    pthread_mutex_destroy(&feed->lock);
    free(feed);
}
