/* SPDX-License-Identifier: MIT */
/*
 * http_feed - implements the feeds of http_server.h, which are endless responses of lines.
 *
 * Owner:   the server creates and frees feeds, microhttpd the readers.
 * Threads: publish from any; a feed's lock protects its readers.
 */
#ifndef NTK_SHARED_HTTP_HTTP_FEED_H
#define NTK_SHARED_HTTP_HTTP_FEED_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared/http/http_server.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_http_feed_reader;

struct ntk_http_feed {
    pthread_mutex_t lock; /* protects readers, closed, last and dropped */
    const char *content_type;
    struct ntk_http_feed_reader *readers;
    struct ntk_http_body *last;
    uint64_t dropped;
    bool closed;
    struct ntk_http_feed *next;
};

/* Returns NULL if out of memory. */
struct ntk_http_feed *ntk_http_feed_make(const char *content_type);
/* Makes a response that is a new reader of the feed; NULL if out of memory. */
struct MHD_Response *ntk_http_feed_response(struct ntk_http_feed *feed,
                                            struct MHD_Connection *connection);
/* Ends every reader, so that no connection stays suspended when the daemon stops. */
void ntk_http_feed_close(struct ntk_http_feed *feed);
/* Must be called after the last reader has gone. */
void ntk_http_feed_destroy(struct ntk_http_feed *feed);

#ifdef __cplusplus
}
#endif
#endif
