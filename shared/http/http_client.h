/* SPDX-License-Identifier: MIT */
/*
 * http_client - sends requests to one HTTP server at a time.
 *
 * A client keeps its connections (except those of HTTP/2), so use one per peer for repeated
 * requests. Limits apply to the time to connect, the total time and the size of the response. A
 * redirect is an ordinary response and never followed, which protects credentials. No proxy is used
 * for link-local addresses and Unix sockets; otherwise the environment's proxy (http_proxy ...) is
 * used.
 *
 * Owner:   create / destroy; the caller owns the response, ntk_http_answer_fini() frees.
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

/* Default limits. */
#define NTK_HTTP_CONNECT_NS UINT64_C(5000000000)
#define NTK_HTTP_TIMEOUT_NS UINT64_C(30000000000)
#define NTK_HTTP_ANSWER_BYTES ((size_t)16 * 1024 * 1024)

struct ntk_http_client;

struct ntk_http_question {
    const char *method;         /* NULL: GET, or POST if there is a body */
    const char *url;            /* http:// or https:// URL */
    const char *const *headers; /* "Name: value" lines, ended by NULL; may be NULL */
    const void *body;           /* NULL: none */
    size_t body_bytes;
    uint64_t connect_ns; /* time to connect; 0: NTK_HTTP_CONNECT_NS */
    uint64_t timeout_ns; /* total time; 0: NTK_HTTP_TIMEOUT_NS; UINT64_MAX: no limit (for a feed) */
    uint64_t head_ns;    /* time until the response begins; 0: the total time */
    size_t answer_bytes_max;      /* 0: NTK_HTTP_ANSWER_BYTES; ignored with on_bytes */
    const char *unix_socket_path; /* NULL: TCP; otherwise the URL's host is only a name */
    /* HTTP/2 for gRPC, negotiated under TLS, otherwise from the first byte; uses a new
     * connection */
    bool http2;
    const char *user_password; /* "user:password" of basic authentication; NULL: none */
    /* File with a bearer token in its first line, read for each request; NULL: none. */
    const char *token_file;
    /* File with user_password in its first line, read for each request; NULL: none. */
    const char *password_file;
    const char *ca_file;   /* PEM file; NULL: the system's authorities */
    const char *cert_file; /* PEM file with the client's identity; NULL: none */
    const char *key_file;  /* PEM file with the key of cert_file; NULL: the same file */
    bool is_insecure;      /* do not check the server's identity */
    bool no_proxy;         /* connect directly, ignoring the environment's proxy */
    /* Receives a 2xx body in pieces instead of answer.body; returning false stops the
     * request with -ECANCELED. */
    bool (*on_bytes)(const void *bytes, size_t bytes_count, void *ctx);
    void *ctx;
};

struct ntk_http_answer {
    long status;             /* HTTP status; 0: no response */
    uint64_t retry_after_ns; /* from Retry-After, seconds or a date, at most an hour; 0: none */
    bool is_sent;        /* the peer may have received the whole request in spite of the error */
    struct ntk_buf head; /* headers and trailers as "Name: value\n" lines, names in lower case */
    struct ntk_buf body; /* decoded according to Content-Encoding */
};

/* Returns NULL if out of memory. If libcurl cannot be loaded, each request says so (-ELIBACC). */
struct ntk_http_client *ntk_http_client_create(void);
void ntk_http_client_destroy(struct ntk_http_client *client);
/* Makes the current request, or the next one, end soon with -ECANCELED. */
void ntk_http_client_cancel(struct ntk_http_client *client);

/* Sends the request and fills the response, which is emptied first. Returns 0 for any status;
 * otherwise a message with the URL (without its query) and -ECONNREFUSED, -ETIMEDOUT, -EMSGSIZE
 * (response too long), -ECANCELED, -EINVAL (invalid URL) or -EIO (any other error, such as an
 * unreadable token). */
int ntk_http_client_ask(struct ntk_http_client *client, const struct ntk_http_question *question,
                        struct ntk_http_answer *answer, struct ntk_err *err);

/* Copies the first header or trailer with this name (lower case); false if absent. A value that
 * does not fit is truncated. */
bool ntk_http_answer_header_get(const struct ntk_http_answer *answer, const char *name, char *text,
                                size_t text_bytes);
void ntk_http_answer_fini(struct ntk_http_answer *answer);

#ifdef __cplusplus
}
#endif
#endif
