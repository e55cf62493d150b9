/* SPDX-License-Identifier: MIT */
/*
 * http_client - asks one HTTP server at a time; the one place with libcurl.
 *
 * A client keeps its connections (not those of HTTP/2), so use one per peer that is asked
 * repeatedly. Everything is bounded: time to connect, time in total, bytes of the answer. A
 * redirect is an answer like any other, never followed (credentials stay where they were sent). No
 * proxy is used for link-local addresses and Unix sockets; else the environment's (http_proxy ...)
 * counts.
 *
 * Owner:   create / destroy; an answer is the caller's storage, ntk_http_answer_fini() frees.
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

/* When a question does not specify. */
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
    uint64_t head_ns;             /* until the answer begins; 0: as long as all of it may take */
    size_t answer_bytes_max;      /* 0: NTK_HTTP_ANSWER_BYTES; not for on_bytes */
    const char *unix_socket_path; /* NULL: TCP; the URL's host is then only a name */
    bool http2; /* for gRPC: HTTP/2, by agreement under TLS, else from the first byte on; on its own
                 * connection */
    const char *user_password; /* "user:password" of basic authentication; NULL: none */
    const char *token_file;    /* its first line as a bearer token, read again; NULL: none */
    const char *password_file; /* its first line as user_password, read again; NULL: none */
    const char *ca_file;       /* PEM; NULL: the system's */
    const char *cert_file;     /* PEM: the client's identity, or NULL */
    const char *key_file;      /* PEM, of cert_file; NULL: it is in there too */
    bool is_insecure;          /* whoever answers is believed */
    bool no_proxy;             /* straight to the host, ignoring the proxy of the environment */
    /* Gets the body of a 2xx answer piece by piece instead of answer.body; false ends the question
     * with -ECANCELED. */
    bool (*on_bytes)(const void *bytes, size_t bytes_count, void *ctx);
    void *ctx;
};

struct ntk_http_answer {
    long status;             /* 0: none came */
    uint64_t retry_after_ns; /* Retry-After, seconds or a date, at most an hour; 0: none */
    bool is_sent;            /* the peer may have received the whole request despite the error */
    struct ntk_buf head; /* "Name: value\n" lines of headers and trailers, names in lower case */
    struct ntk_buf body; /* as sent, any Content-Encoding undone */
};

/* NULL if out of memory. */
struct ntk_http_client *ntk_http_client_create(void);
/* NULL is fine. */
void ntk_http_client_destroy(struct ntk_http_client *client);
/* The question that is being asked, or the next one, ends with -ECANCELED soon. */
void ntk_http_client_cancel(struct ntk_http_client *client);

/* Fills the answer (emptied first). 0 when there is any status; else a message with the URL
 * (without its query) and -ECONNREFUSED, -ETIMEDOUT, -EMSGSIZE (answer too long), -ECANCELED,
 * -EINVAL (a URL that is none), -EIO (anything else, a token that cannot be read). */
int ntk_http_client_ask(struct ntk_http_client *client, const struct ntk_http_question *question,
                        struct ntk_http_answer *answer, struct ntk_err *err);

/* The first header or trailer of the name (lower case) copied into text; false when absent. A value
 * that does not fit is cut. */
bool ntk_http_answer_header_get(const struct ntk_http_answer *answer, const char *name, char *text,
                                size_t text_bytes);
void ntk_http_answer_fini(struct ntk_http_answer *answer);

#ifdef __cplusplus
}
#endif
#endif
