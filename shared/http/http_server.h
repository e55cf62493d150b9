/* SPDX-License-Identifier: MIT */
/*
 * http_server - answers GET and HEAD from a table of routes, and accepts PUT on some.
 *
 * One internal thread serves all connections, so a handler must be quick: it returns a prepared
 * body, or creates a small one. Bodies are immutable and reference-counted, so a page that is built
 * once per period is never copied. A feed is an endless answer: every published line goes to every
 * client that reads it; a slow client loses whole lines, never parts.
 *
 * A slow handler (a database query) belongs in slow_routes: a second thread runs them, one after
 * the other, and other clients do not wait. A third checks passwords that have not been verified
 * yet. Wrong passwords cost it at most a quarter of a core.
 *
 * The server itself provides: 404 and 405, HEAD, limits on connections, request size and idle
 * time, `Cache-Control: no-store`, `X-Content-Type-Options: nosniff`, `Referrer-Policy:
 * no-referrer` and `Cross-Origin-Resource-Policy: same-origin`.
 *
 * Owner:   ntk_http_server_create() / _destroy(); the routes are borrowed for that time.
 * Threads: handlers run on the server's thread, slow ones on its second; ntk_http_feed_publish()
 *          and the body functions may be called from any.
 */
#ifndef NTK_SHARED_HTTP_HTTP_SERVER_H
#define NTK_SHARED_HTTP_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/http/http_address.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Limits, each with its effect. */
#define NTK_HTTP_CONNECTIONS_MAX 256          /* more: the longest waiting client is disconnected */
#define NTK_HTTP_IDLE_SECONDS 15              /* a silent connection is closed */
#define NTK_HTTP_CONNECTION_BYTES (32 * 1024) /* a request head that nearly fills it gets 431 */
#define NTK_HTTP_URI_BYTES (8 * 1024)         /* a longer path with its parameters gets 414 */
#define NTK_HTTP_PARAMETERS_MAX 64            /* more after the '?' get 414 */
#define NTK_HTTP_FEED_LINES 16                /* waiting per reader of a feed; more are dropped */
#define NTK_HTTP_SLOW_MAX 32                  /* waiting slow answers; more get 503 */
#define NTK_HTTP_PASSWORDS_MAX 16             /* passwords that wait to be computed; more: 429 */
#define NTK_HTTP_PASSWORDS_OF_ONE 2           /* ... and of one peer */
/* after a wrong one, a pause of this many times its duration */
#define NTK_HTTP_PASSWORD_REST 3

struct ntk_http_guard;
struct ntk_http_security;
struct ntk_http_server;
struct ntk_http_request; /* valid inside a handler only */

/* Bytes that several answers share. */
struct ntk_http_body;

/* Takes the bytes of buf, which is empty afterwards; NULL if out of memory (buf is emptied,
 * too). */
struct ntk_http_body *ntk_http_body_create(struct ntk_buf *buf);
/* A new body with the same content as gzip (Content-Encoding: gzip); NULL if out of memory. */
struct ntk_http_body *ntk_http_body_gzip(const struct ntk_http_body *body);
/* Adds a reference; NULL stays NULL. */
struct ntk_http_body *ntk_http_body_ref(struct ntk_http_body *body);
/* Drops a reference; the last one frees. NULL is accepted. */
void ntk_http_body_unref(struct ntk_http_body *body);
const char *ntk_http_body_bytes_get(const struct ntk_http_body *body, size_t *out_bytes_count);

/* Borrowed from the request. NULL if absent; header names in any case. */
const char *ntk_http_request_path_get(const struct ntk_http_request *request);
const char *ntk_http_request_header_get(const struct ntk_http_request *request, const char *name);
const char *ntk_http_request_query_get(const struct ntk_http_request *request, const char *name);
const char *ntk_http_request_cookie_get(const struct ntk_http_request *request, const char *name);
/* Each "name=value" after the "?", in order; value is NULL without a "=". A negative return value
 * of call stops and is returned; else 0. */
int ntk_http_request_query_each(const struct ntk_http_request *request,
                                int (*call)(const char *name, const char *value, void *ctx),
                                void *ctx);
/* The peer of a Unix socket; false: another kind of socket. */
bool ntk_http_request_user_get(const struct ntk_http_request *request, uint32_t *out_uid);
/* Whether Accept-Encoding allows gzip. */
bool ntk_http_request_takes_gzip(const struct ntk_http_request *request);

struct ntk_http_feed;

/* Content that is generated while it is sent, for an answer that is too large to keep. Not in slow
 * routes. */
struct ntk_http_source {
    /* Appends the next part to out. 1: more follow; 0: it was the last one; negative: the answer
     * breaks off, so that the client sees that it is incomplete. On the server's thread. */
    int (*next)(void *ctx, struct ntk_buf *out);
    void (*end)(void *ctx); /* called once, even if the client went away before */
    void *ctx;
    bool is_gzip; /* compress the parts; content_encoding is "gzip" */
};

/* Filled by a handler; zeroed before. Exactly one of body, source, feed and text is the content, in
 * this order of preference. */
struct ntk_http_response {
    int status;                   /* 0 is 200 */
    const char *content_type;     /* static; NULL is "text/plain; charset=utf-8" */
    const char *content_encoding; /* static; NULL for none */
    const char *vary;             /* static; NULL for none */
    const char *security_policy;  /* static Content-Security-Policy; NULL for none */
    const char *location;         /* static; NULL for none, like the next two */
    const char *set_cookie;
    const char *authenticate;   /* WWW-Authenticate */
    struct ntk_http_body *body; /* one reference, which the server takes */
    const char *text;           /* static */
    struct ntk_http_feed *feed; /* endless; created on the same server */
    struct ntk_http_source source;
};

/* The content is the bytes of buf, which is empty afterwards; if out of memory, the answer is
 * 500. */
void ntk_http_response_put(struct ntk_http_response *response, struct ntk_buf *buf);

typedef void (*ntk_http_handler)(const struct ntk_http_request *request,
                                 struct ntk_http_response *response, void *ctx);

struct ntk_http_route {
    const char *path; /* exact, or a prefix when it ends with "*" */
    ntk_http_handler handler;
    void *ctx;
};

/* Accepts PUT. A page of another site cannot do that: browsers first send OPTIONS, which is
 * rejected. Not together with `security`. */
struct ntk_http_upload {
    const char *path; /* exact */
    /* Called before the body; the client must give its length (else 411). Returns the upload, or
     * NULL with the answer filled; then the body is read and discarded. */
    void *(*begin)(const struct ntk_http_request *request, uint64_t bytes_count,
                   struct ntk_http_response *response, void *ctx);
    /* Called for each part, on the server's thread. finish reports failures. */
    void (*take)(void *upload, const void *bytes, size_t bytes_count);
    /* Called after the whole body: answers, like a slow route. */
    void (*finish)(void *upload, struct ntk_http_response *response);
    /* Called at the end, even if the client went away before. On either thread. */
    void (*end)(void *upload);
    void *ctx;
};

struct ntk_http_options {
    struct ntk_http_address address;
    const char *unix_path; /* a Unix socket instead of an address; removed at the end. NULL: none */
    const struct ntk_http_route *routes;      /* first match wins; ended by a NULL path */
    const struct ntk_http_route *slow_routes; /* the same, checked first; NULL: none */
    const struct ntk_http_upload *uploads; /* ended by a NULL path; needs slow_routes; NULL: none */
    struct ntk_http_security *security;    /* TLS, passwords; borrowed; NULL: neither */
    struct ntk_http_guard *guard;          /* names, token; borrowed; NULL: neither */
};

/* Listens when it returns 0. A message has the address and the cause ("port in use"). */
int ntk_http_server_create(const struct ntk_http_options *options,
                           struct ntk_http_server **out_server, struct ntk_err *err);
/* Waits for the server's thread; feeds of readers end. NULL is accepted. */
void ntk_http_server_destroy(struct ntk_http_server *server);
/* The listening port, even if the options had 0. */
uint16_t ntk_http_server_port_get(const struct ntk_http_server *server);

/* Lives as long as the server. */
struct ntk_http_feed *ntk_http_feed_create(struct ntk_http_server *server,
                                           const char *content_type);
/* Sends to every reader without waiting. With keep_last keeps a reference to the last one for new
 * readers. */
void ntk_http_feed_publish(struct ntk_http_feed *feed, struct ntk_http_body *body, bool keep_last);
/* Lines that slow readers lost so far. */
uint64_t ntk_http_feed_dropped_count(struct ntk_http_feed *feed);

#ifdef __cplusplus
}
#endif
#endif
