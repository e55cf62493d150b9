/* SPDX-License-Identifier: MIT */
/*
 * http_many - sends requests to many HTTP servers in parallel, on one thread.
 *
 * There is a fixed number of places, each with at most one pending request. A place that is used
 * repeatedly for one peer keeps its connection. Each request has limits (http_client.h).
 *
 * Owner:   create / destroy; data of a request must live until it has ended.
 * Threads: one; ntk_http_many_wake() from any.
 */
#ifndef NTK_SHARED_HTTP_HTTP_MANY_H
#define NTK_SHARED_HTTP_HTTP_MANY_H

#include "shared/http/http_client.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_http_many;

/* Returns NULL with a message if out of memory or if libcurl cannot be loaded. */
struct ntk_http_many *ntk_http_many_create(size_t places, struct ntk_err *err);
/* Pending requests end without a callback. Accepts NULL. */
void ntk_http_many_destroy(struct ntk_http_many *many);
/* Ends the current wait, or the next one. */
void ntk_http_many_wake(struct ntk_http_many *many);

/* Starts a request at a place that has no pending request. Returns a negative value as in
 * ntk_http_client_ask(): then the place has no pending request afterwards. */
int ntk_http_many_start(struct ntk_http_many *many, size_t place,
                        const struct ntk_http_question *question, struct ntk_err *err);

struct ntk_http_many_end {
    size_t place;
    int result; /* same as the result of ntk_http_client_ask() */
    struct ntk_err err;
    const struct ntk_http_answer *answer; /* valid until the next request at this place */
};
/* Returns true if a request has ended; false after at least wait_ns, or if another thread woke
 * it. */
bool ntk_http_many_wait(struct ntk_http_many *many, uint64_t wait_ns,
                        struct ntk_http_many_end *out_end);

#ifdef __cplusplus
}
#endif
#endif
