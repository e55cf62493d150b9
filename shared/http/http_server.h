/* SPDX-License-Identifier: MIT */
/*
 * http_server - answers GET and HEAD from a table of routes, and accepts PUT on some.
 *
 * One internal thread serves all connections, so a handler must be quick: it returns a prepared
 * body, or creates a small one. Bodies are immutable and reference-counted, so a page that is built
 * once per period is never copied. A feed is an endless response: every published line is sent to
 * every client that reads the feed; a slow client loses whole lines, never parts.
 *
 * A slow handler (a database query) belongs in slow_routes: a second thread runs these handlers,
 * one after the other, and other clients do not wait. A third thread checks passwords that have not
 * been verified yet. Wrong passwords cost at most a quarter of a core.
 *
 * The server itself provides: 404 and 405, HEAD, limits on connections, request size and idle
 * time, `Cache-Control: no-store`, `X-Content-Type-Options: nosniff`, `Referrer-Policy:
 * no-referrer` and `Cross-Origin-Resource-Policy: same-origin`.
 *
 * Owner:   ntk_http_server_create() / _destroy(); the routes are borrowed for that time.
 * Threads: handlers run on the server's thread, slow ones on its second thread;
 *          ntk_http_feed_publish() and the body functions may be called from any.
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

/* Limits, and what happens when each is exceeded. */
#define NTK_HTTP_CONNECTIONS_MAX 256 /* beyond: the longest waiting client is disconnected */
#define NTK_HTTP_IDLE_SECONDS 15     /* then a silent connection is closed */
/* a request head that nearly fills it gets status 431 */
#define NTK_HTTP_CONNECTION_BYTES (32 * 1024)
#define NTK_HTTP_URI_BYTES (8 * 1024) /* a longer path, including its parameters, gets status 414 */
#define NTK_HTTP_PARAMETERS_MAX 64    /* more parameters after the '?' get status 414 */
#define NTK_HTTP_FEED_LINES 16        /* lines that wait per reader of a feed; more are dropped */
#define NTK_HTTP_SLOW_MAX 32          /* slow responses that wait; more requests get status 503 */
#define NTK_HTTP_PASSWORDS_MAX 16     /* passwords that wait to be computed; more get status 429 */
#define NTK_HTTP_PASSWORDS_OF_ONE 2   /* the same for each peer */
/* After a wrong password, the thread pauses for this many times the duration of the computation. */
#define NTK_HTTP_PASSWORD_REST 3

struct ntk_http_guard;
struct ntk_http_security;
struct ntk_http_server;
struct ntk_http_request; /* valid only inside a handler */

/* Bytes that several responses share. */
struct ntk_http_body;

/* Takes the bytes of buf, which is empty afterwards. Returns NULL if out of memory; buf is then
 * emptied, too. */
struct ntk_http_body *ntk_http_body_create(struct ntk_buf *buf);
/* Makes a new body with the same content as gzip (for Content-Encoding: gzip); NULL if out of
 * memory. */
struct ntk_http_body *ntk_http_body_gzip(const struct ntk_http_body *body);
/* Adds a reference and returns the body; returns NULL for NULL. */
struct ntk_http_body *ntk_http_body_ref(struct ntk_http_body *body);
/* Drops a reference; the last one frees the body. Accepts NULL. */
void ntk_http_body_unref(struct ntk_http_body *body);
const char *ntk_http_body_bytes_get(const struct ntk_http_body *body, size_t *out_bytes_count);

/* Borrowed from the request; NULL if absent. Header names may be in upper or lower case. */
const char *ntk_http_request_path_get(const struct ntk_http_request *request);
const char *ntk_http_request_header_get(const struct ntk_http_request *request, const char *name);
const char *ntk_http_request_query_get(const struct ntk_http_request *request, const char *name);
const char *ntk_http_request_cookie_get(const struct ntk_http_request *request, const char *name);
/* Calls a function for each "name=value" after the "?", in order; value is NULL without a "=".
 * A negative return value stops the loop and is returned; otherwise 0 is returned. */
int ntk_http_request_query_each(const struct ntk_http_request *request,
                                int (*call)(const char *name, const char *value, void *ctx),
                                void *ctx);
/* Gets the user of a Unix socket's peer; false for any other kind of socket. */
bool ntk_http_request_user_get(const struct ntk_http_request *request, uint32_t *out_uid);
/* Returns true if Accept-Encoding allows gzip. */
bool ntk_http_request_takes_gzip(const struct ntk_http_request *request);

struct ntk_http_feed;

/* Content that is generated while it is sent, for a response that is too large to keep in memory.
 * Not allowed in slow routes. */
struct ntk_http_source {
    /* Appends the next part to out. Returns 1 if more parts follow; 0 if it was the last part;
     * negative to cut the response off, so that the client sees that it is incomplete. Runs on the
     * server's thread. */
    int (*next)(void *ctx, struct ntk_buf *out);
    void (*end)(void *ctx); /* called once, even if the client disconnected before */
    void *ctx;
    bool is_gzip; /* compress the parts; content_encoding must be "gzip" */
};

/* A response, zeroed before the handler fills it. The content is one of body, source, feed and
 * text, in this order of preference. */
struct ntk_http_response {
    int status;                   /* 0 means 200 */
    const char *content_type;     /* static; NULL means "text/plain; charset=utf-8" */
    const char *content_encoding; /* static; NULL: none */
    const char *vary;             /* static; NULL: none */
    const char *security_policy;  /* static value of Content-Security-Policy; NULL: none */
    const char *location;         /* like set_cookie and authenticate: static; NULL if none */
    const char *set_cookie;
    const char *authenticate;   /* value of WWW-Authenticate */
    struct ntk_http_body *body; /* a reference, which the server takes */
    const char *text;           /* static text */
    struct ntk_http_feed *feed; /* an endless response; created on the same server */
    struct ntk_http_source source;
};

/* Sets the bytes of buf as content; buf is empty afterwards. If out of memory, the response is
 * status 500. */
void ntk_http_response_put(struct ntk_http_response *response, struct ntk_buf *buf);

typedef void (*ntk_http_handler)(const struct ntk_http_request *request,
                                 struct ntk_http_response *response, void *ctx);

struct ntk_http_route {
    const char *path; /* exact path, or a prefix if it ends with "*" */
    ntk_http_handler handler;
    void *ctx;
};

/* Accepts PUT. A page of another site cannot send PUT: browsers first send OPTIONS, which is
 * rejected. Cannot be combined with `security`. */
struct ntk_http_upload {
    const char *path; /* exact path */
    /* Called before the body; the client must send its length (otherwise 411). Returns the upload,
     * or NULL after filling the response; in that case the body is read and discarded. */
    void *(*begin)(const struct ntk_http_request *request, uint64_t bytes_count,
                   struct ntk_http_response *response, void *ctx);
    /* Called for each part, on the server's thread. finish reports failures. */
    void (*take)(void *upload, const void *bytes, size_t bytes_count);
    /* Called after the whole body. Fills the response, like a slow route. */
    void (*finish)(void *upload, struct ntk_http_response *response);
    /* Called at the end, even if the client disconnected before; on either thread. */
    void (*end)(void *upload);
    void *ctx;
};

struct ntk_http_options {
    struct ntk_http_address address;
    /* path of a Unix socket to use instead of an address; removed at the end. NULL: none */
    const char *unix_path;
    const struct ntk_http_route *routes;      /* first match wins; ended by a NULL path */
    const struct ntk_http_route *slow_routes; /* same form, checked first; NULL: none */
    /* ended by a NULL path; requires slow_routes; NULL: none */
    const struct ntk_http_upload *uploads;
    struct ntk_http_security *security; /* TLS and passwords; borrowed; NULL: neither */
    struct ntk_http_guard *guard;       /* names and token; borrowed; NULL: neither */
};

/* When it returns 0, the server listens. An error message contains the address and the cause ("port
 * in use"). */
int ntk_http_server_create(const struct ntk_http_options *options,
                           struct ntk_http_server **out_server, struct ntk_err *err);
/* Waits for the server's thread; ends all feeds. Accepts NULL. */
void ntk_http_server_destroy(struct ntk_http_server *server);
/* The listening port, even if the options had 0. */
uint16_t ntk_http_server_port_get(const struct ntk_http_server *server);

/* Creates a feed that lives as long as the server. */
struct ntk_http_feed *ntk_http_feed_create(struct ntk_http_server *server,
                                           const char *content_type);
/* Sends a line to every reader without waiting. With keep_last, keeps a reference to the last line
 * for new readers. */
void ntk_http_feed_publish(struct ntk_http_feed *feed, struct ntk_http_body *body, bool keep_last);
/* Number of lines that slow readers have lost so far. */
uint64_t ntk_http_feed_dropped_count(struct ntk_http_feed *feed);

#ifdef __cplusplus
}
#endif
#endif
