/* SPDX-License-Identifier: MIT */
/*
 * http_many - asks many HTTP servers at once, on one thread.
 *
 * A fixed number of places, each with at most one pending question; a place that is asked
 * repeatedly for one peer keeps its connection. Bounds are those of each question (http_client.h).
 *
 * Owner:   create / destroy; what a question points to must live until it has ended.
 * Threads: one; ntk_http_many_wake() from any.
 */
#ifndef NTK_SHARED_HTTP_HTTP_MANY_H
#define NTK_SHARED_HTTP_HTTP_MANY_H

#include "shared/http/http_client.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_http_many;

/* NULL if out of memory. */
struct ntk_http_many *ntk_http_many_create(size_t places);
/* Requests in progress end without a callback. NULL is fine. */
void ntk_http_many_destroy(struct ntk_http_many *many);
/* Ends the current wait, or the next one. */
void ntk_http_many_wake(struct ntk_http_many *many);

/* The place has no question on its way. Negative as ntk_http_client_ask(): it has none now
 * either. */
int ntk_http_many_start(struct ntk_http_many *many, size_t place,
                        const struct ntk_http_question *question, struct ntk_err *err);

struct ntk_http_many_end {
    size_t place;
    int result; /* as ntk_http_client_ask() has it */
    struct ntk_err err;
    const struct ntk_http_answer *answer; /* until the next question at this place */
};
/* True when a question has ended; else at least wait_ns have passed, or another thread woke it. */
bool ntk_http_many_wait(struct ntk_http_many *many, uint64_t wait_ns,
                        struct ntk_http_many_end *out_end);

#ifdef __cplusplus
}
#endif
#endif
