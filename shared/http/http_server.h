/* SPDX-License-Identifier: MIT */
/*
 * http_server - answers GET and HEAD from a table of routes, and takes what is PUT to some; the one
 * place with libmicrohttpd.
 *
 * One thread of its own serves all connections, so a handler must be quick: it hands out a body
 * that was made beforehand, or makes a small one. Bodies are immutable and counted, so a page that
 * is built once per period is never copied. A feed is an endless answer: every line published goes
 * to every client that reads it; a client that is too slow loses whole lines, never half ones.
 *
 * A handler that takes long (a query of a database) is one of slow_routes: a second thread runs
 * them, one after the other, and no other process waits. A third checks passwords that have not
 * been verified yet. Wrong passwords cost it at most a quarter of a core.
 *
 * What the server does by itself: 404 and 405, HEAD, limits on connections, request size and idle
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

/* Bounds, each with what happens there. */
#define NTK_HTTP_CONNECTIONS_MAX 256 /* more: the longest waiting client is disconnected */
#define NTK_HTTP_IDLE_SECONDS 15     /* a silent connection is closed */
#define NTK_HTTP_CONNECTION_BYTES \
    (32 * 1024)                       /* a request head that nearly fills it is answered 431 */
#define NTK_HTTP_URI_BYTES (8 * 1024) /* a longer path with its parameters is answered 414 */
#define NTK_HTTP_PARAMETERS_MAX 64    /* more behind the '?' are answered 414 */
#define NTK_HTTP_FEED_LINES 16        /* waiting per reader of a feed; more are dropped */
#define NTK_HTTP_SLOW_MAX 32          /* slow answers that wait; more are answered 503 */
#define NTK_HTTP_PASSWORDS_MAX 16     /* passwords that wait to be computed; more: 429 */
#define NTK_HTTP_PASSWORDS_OF_ONE 2   /* ... and of one peer */
#define NTK_HTTP_PASSWORD_REST 3      /* after a wrong one, times as long as it took */

struct ntk_http_guard;
struct ntk_http_security;
struct ntk_http_server;
struct ntk_http_request; /* valid inside a handler only */

/* Bytes that several answers share. */
struct ntk_http_body;

/* Takes the bytes of buf, which is empty afterwards; NULL if out of memory (buf is emptied too). */
struct ntk_http_body *ntk_http_body_create(struct ntk_buf *buf);
/* A new body with the same content as gzip (Content-Encoding: gzip); NULL if out of memory. */
struct ntk_http_body *ntk_http_body_gzip(const struct ntk_http_body *body);
/* One more owner; NULL stays NULL. */
struct ntk_http_body *ntk_http_body_ref(struct ntk_http_body *body);
/* One owner less; the last one frees. NULL is fine. */
void ntk_http_body_unref(struct ntk_http_body *body);
const char *ntk_http_body_bytes_get(const struct ntk_http_body *body, size_t *out_bytes_count);

/* Borrowed from the request. NULL when absent; header names in any case. */
const char *ntk_http_request_path_get(const struct ntk_http_request *request);
const char *ntk_http_request_header_get(const struct ntk_http_request *request, const char *name);
const char *ntk_http_request_query_get(const struct ntk_http_request *request, const char *name);
const char *ntk_http_request_cookie_get(const struct ntk_http_request *request, const char *name);
/* Each "name=value" behind the "?", in order; value is NULL without a "=". A negative return of
 * call stops and is returned; else 0. */
int ntk_http_request_query_each(const struct ntk_http_request *request,
                                int (*call)(const char *name, const char *value, void *ctx),
                                void *ctx);
/* The peer of a Unix socket; false: it is another kind of socket. */
bool ntk_http_request_user_get(const struct ntk_http_request *request, uint32_t *out_uid);
/* Whether Accept-Encoding allows gzip. */
bool ntk_http_request_takes_gzip(const struct ntk_http_request *request);

struct ntk_http_feed;

/* What a handler fills; zeroed before. Exactly one of body, text, feed gives the content, in this
 * order of preference. */
struct ntk_http_response {
    int status;                   /* 0 is 200 */
    const char *content_type;     /* static; NULL is "text/plain; charset=utf-8" */
    const char *content_encoding; /* static; NULL for none */
    const char *vary;             /* static; NULL for none */
    const char *security_policy;  /* static Content-Security-Policy; NULL for none */
    const char *location;         /* static; NULL for none, as the next two */
    const char *set_cookie;
    const char *authenticate;   /* WWW-Authenticate */
    struct ntk_http_body *body; /* one reference, the server's now */
    const char *text;           /* static */
    struct ntk_http_feed *feed; /* endless; created on the same server */
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

/* What is PUT there. A page of another site cannot do that: browsers ask first (OPTIONS), and that
 * is refused. Not together with `security`. */
struct ntk_http_upload {
    const char *path; /* exact */
    /* Before the body, whose length the client says (else it is answered 411). The upload, or NULL
     * with the answer filled; the body is read and thrown away then. */
    void *(*begin)(const struct ntk_http_request *request, uint64_t bytes_count,
                   struct ntk_http_response *response, void *ctx);
    /* As they come, on the server's thread. finish reports failures. */
    void (*take)(void *upload, const void *bytes, size_t bytes_count);
    /* All is there: answers, as a slow route does. */
    void (*finish)(void *upload, struct ntk_http_response *response);
    /* It has ended, also where the client went away before. On any of the two threads. */
    void (*end)(void *upload);
    void *ctx;
};

struct ntk_http_options {
    struct ntk_http_address address;
    const char *unix_path; /* a Unix socket instead of an address; removed at the end. NULL: none */
    const struct ntk_http_route *routes;      /* first match wins; ended by a NULL path */
    const struct ntk_http_route *slow_routes; /* likewise, examined first; NULL: none */
    const struct ntk_http_upload *uploads; /* ended by a NULL path; needs slow_routes; NULL: none */
    struct ntk_http_security *security;    /* TLS, passwords; borrowed; NULL: neither */
    struct ntk_http_guard *guard;          /* names, token; borrowed; NULL: neither */
};

/* Listens when it returns 0. A message names address and cause ("port in use"). */
int ntk_http_server_create(const struct ntk_http_options *options,
                           struct ntk_http_server **out_server, struct ntk_err *err);
/* Waits for the server's thread; readers of feeds are truncated. NULL is fine. */
void ntk_http_server_destroy(struct ntk_http_server *server);
/* The port that it listens on, also when the options said 0. */
uint16_t ntk_http_server_port_get(const struct ntk_http_server *server);

/* Lives as long as the server. */
struct ntk_http_feed *ntk_http_feed_create(struct ntk_http_server *server,
                                           const char *content_type);
/* To every reader. Never waits. Keeps a reference to the last one for new readers when
 * keep_last. */
void ntk_http_feed_publish(struct ntk_http_feed *feed, struct ntk_http_body *body, bool keep_last);
/* Lines that slow readers lost so far. */
uint64_t ntk_http_feed_dropped_count(struct ntk_http_feed *feed);

#ifdef __cplusplus
}
#endif
#endif
