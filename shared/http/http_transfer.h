/* SPDX-License-Identifier: MIT */
/*
 * http_transfer - one request on one libcurl handle; http_client runs one at a time, http_many
 * several.
 *
 * Owner:   init / fini; begin / end enclose a request, which must live as long as its response.
 * Threads: one at a time.
 */
#ifndef NTK_SHARED_HTTP_HTTP_TRANSFER_H
#define NTK_SHARED_HTTP_HTTP_TRANSFER_H

#include "shared/http/http_client.h"
#include "shared/http/http_curl.h"

struct http_transfer {
    CURL *easy;
    const struct ntk_http_question *question;
    struct ntk_http_answer *answer;
    struct curl_slist *headers;
    size_t body_bytes_max;
    size_t sent_bytes; /* bytes of the request's body passed to the connection */
    uint64_t begin_ns; /* monotonic start time */
    bool has_head;
    bool is_too_late; /* the response began too late */
    bool is_too_long;
    bool is_stopped; /* stopped by on_bytes */
    char error[CURL_ERROR_SIZE];
};

/* After http_curl_load() succeeded. Returns 0 or -ENOMEM. */
int http_transfer_init(struct http_transfer *transfer);
void http_transfer_fini(struct http_transfer *transfer);
/* Empties the response and sets up the handle. Returns a negative value as in
 * ntk_http_client_ask(): then _end() must not be called. */
int http_transfer_begin(struct http_transfer *transfer, const struct ntk_http_question *question,
                        struct ntk_http_answer *answer, struct ntk_err *err);
/* Ends the request. The handle must have been removed from its multi handle. code
 * CURLE_ABORTED_BY_CALLBACK: cancelled. Returns the same values as ntk_http_client_ask(). */
int http_transfer_end(struct http_transfer *transfer, CURLcode code, struct ntk_err *err);

#endif
