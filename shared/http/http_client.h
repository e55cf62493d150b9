/* SPDX-License-Identifier: MIT */
/*
 * http_client - sends requests to one HTTP server at a time.
 *
 * A client keeps its connections (except those of HTTP/2), so use one per peer for repeated
 * requests. Everything is bounded: time to connect, total time, bytes of the answer. A redirect is
 * an ordinary answer and never followed, which protects credentials. No proxy is used for
 * link-local addresses and Unix sockets; else the environment's (http_proxy ...) counts.
 *
 * Owner:   create / destroy; the caller owns the answer, ntk_http_answer_fini() frees.
 * Threads: one at a time per client; ntk_http_client_cancel() from any.
 */
#ifndef NTK_SHARED_HTTP_HTTP_CLIENT_H
#define NTK_SHARED_HTTP_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Defaults. */
#define NTK_HTTP_CONNECT_NS UINT64_C(5000000000)
#define NTK_HTTP_TIMEOUT_NS UINT64_C(30000000000)
#define NTK_HTTP_ANSWER_BYTES ((size_t)16 * 1024 * 1024)

struct ntk_http_client;

struct ntk_http_question {
    const char *method;         /* NULL: GET, or POST with a body */
    const char *url;            /* http:// or https:// */
    const char *const *headers; /* "Name: value", ended by NULL; may be NULL */
    const void *body;           /* NULL for none */
    size_t body_bytes;
    uint64_t connect_ns;          /* 0: NTK_HTTP_CONNECT_NS */
    uint64_t timeout_ns;          /* in total; 0: NTK_HTTP_TIMEOUT_NS; UINT64_MAX: none (a feed) */
    uint64_t head_ns;             /* until the answer begins; 0: the total time */
    size_t answer_bytes_max;      /* 0: NTK_HTTP_ANSWER_BYTES; not for on_bytes */
    const char *unix_socket_path; /* NULL: TCP; the URL's host is then only a name */
    bool http2; /* for gRPC: HTTP/2, negotiated under TLS, else from the first byte on; on a
                 * separate connection */
    const char *user_password; /* "user:password" of basic authentication; NULL: none */
    /* its first line is a bearer token, read for each request; NULL: none */
    const char *token_file;
    /* its first line is user_password, read for each request; NULL: none */
    const char *password_file;
    const char *ca_file;   /* PEM; NULL: the system's */
    const char *cert_file; /* PEM: the client's identity, or NULL */
    const char *key_file;  /* PEM, of cert_file; NULL: in the same file */
    bool is_insecure;      /* the server's identity is not checked */
    bool no_proxy;         /* direct to the host, ignoring the proxy of the environment */
    /* Gets the body of a 2xx answer in pieces instead of answer.body; false ends the request with
     * -ECANCELED. */
    bool (*on_bytes)(const void *bytes, size_t bytes_count, void *ctx);
    void *ctx;
};

struct ntk_http_answer {
    long status;             /* 0: none came */
    uint64_t retry_after_ns; /* Retry-After, seconds or a date, at most an hour; 0: none */
    bool is_sent;            /* the peer may have received the whole request despite the error */
    struct ntk_buf head; /* "Name: value\n" lines of headers and trailers, names in lower case */
    struct ntk_buf body; /* after undoing any Content-Encoding */
};

/* NULL if out of memory. */
struct ntk_http_client *ntk_http_client_create(void);
/* NULL is fine. */
void ntk_http_client_destroy(struct ntk_http_client *client);
/* The current request, or the next one, ends with -ECANCELED soon. */
void ntk_http_client_cancel(struct ntk_http_client *client);

/* Fills the answer (emptied first). 0 for any status; else a message with the URL (without its
 * query) and -ECONNREFUSED, -ETIMEDOUT, -EMSGSIZE (answer too long), -ECANCELED, -EINVAL (an
 * invalid URL), -EIO (any other error, such as an unreadable token). */
int ntk_http_client_ask(struct ntk_http_client *client, const struct ntk_http_question *question,
                        struct ntk_http_answer *answer, struct ntk_err *err);

/* Copies the first header or trailer of the name (lower case); false if absent. A value that does
 * not fit is cut. */
bool ntk_http_answer_header_get(const struct ntk_http_answer *answer, const char *name, char *text,
                                size_t text_bytes);
void ntk_http_answer_fini(struct ntk_http_answer *answer);

#ifdef __cplusplus
}
#endif
#endif
