/* SPDX-License-Identifier: MIT */
/*
 * prometheus_stream - encodes large pages while they are sent. Private to this folder.
 *
 * A stream has the values at the time of its start. It reads them from the page, and from a copy
 * once newer values arrive.
 *
 * Owner:   the caller provides the storage, zeroed before the members are set; the HTTP server ends
 *          each stream.
 * Threads: the caller of a function holds the lock; sources lock it themselves.
 */
#ifndef NTK_EXPORTERS_PROMETHEUS_PROMETHEUS_STREAM_H
#define NTK_EXPORTERS_PROMETHEUS_PROMETHEUS_STREAM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "exporters/prometheus/prometheus_encode.h"
#include "shared/http/http_server.h"

#ifdef __cplusplus
extern "C" {
#endif

struct prometheus_stream;

struct prometheus_streams {
    pthread_mutex_t *lock;
    struct ntk_points_page *page;
    struct prometheus_stream *first;
    /* deliveries that the page does not count yet, because a stream reads it */
    uint64_t deliveries;
    bool has_left; /* a series left the page; the caller resets it */
};

/* Makes out send the bytes of `begin` and then the other parts; takes both. False if out of
 * memory. */
bool prometheus_stream_start(struct prometheus_streams *streams, struct ntk_prometheus_parts *parts,
                             struct ntk_buf *begin, struct ntk_http_source *out);
/* Notes that a whole page was sent: immediately, or after the streams that read the page. */
void prometheus_stream_delivered(struct prometheus_streams *streams);
/* Called before the values change. Ends streams early if out of memory. */
void prometheus_stream_freeze(struct prometheus_streams *streams);

#ifdef __cplusplus
}
#endif
#endif
