/* SPDX-License-Identifier: MIT */
/*
 * push_sender - delivers finished messages in order to a receiver over HTTP, through an outbox.
 *
 * Owner:   ntk_push_sender_create() allocates, ntk_push_sender_destroy() frees; the caller keeps
 *          ctx.
 * Threads: one; address() and judge() run on the outbox's thread.
 */
#ifndef NTK_EXPORTERS_PUSH_PUSH_SENDER_H
#define NTK_EXPORTERS_PUSH_PUSH_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporters/transport/outbox.h"
#include "shared/base/buf.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_http_answer;
struct ntk_http_question;

#define NTK_PUSH_HEADERS_MAX 72
/* Returns true if the request sets this header itself, so that users cannot set it. */
bool ntk_push_header_is_own(const char *name, size_t name_bytes);

struct ntk_push_receiver {
    const char *name;              /* name of the outbox; static */
    const char *items;             /* unit of the counts in messages, such as "samples"; borrowed */
    const char *spool_folder;      /* NULL: memory only */
    const struct ntk_clock *clock; /* for pauses; borrowed; NULL for the system clock */
    bool puts_again;               /* same as in struct ntk_outbox_options */
    bool has_gzip;                 /* requests use gzip */
    /* if a response is too long: drop the request instead of retrying it */
    bool refuses_long_answers;
    /* Fills the request. The body is the message, unless this function sets another form; headers
     * end with NULL and have space for NTK_PUSH_HEADERS_MAX. -EBADMSG: the message can never be
     * sent; other errors are retried. */
    int (*address)(void *ctx, const void *bytes, size_t bytes_count, const char **headers,
                   struct ntk_http_question *question, struct ntk_err *err);
    /* Returns true to send the message again immediately, to the result of address(). */
    bool (*judge)(void *ctx, const struct ntk_http_answer *answer,
                  struct ntk_outbox_answer *out_answer);
    void *ctx;
};

struct ntk_push_sender;

int ntk_push_sender_create(const struct ntk_push_receiver *receiver,
                           struct ntk_push_sender **out_sender, struct ntk_err *err);
/* Accepts NULL. */
void ntk_push_sender_destroy(struct ntk_push_sender *sender);
/* Same as ntk_outbox_put(). */
int ntk_push_sender_put(struct ntk_push_sender *sender, struct ntk_buf *message,
                        uint64_t item_count, struct ntk_err *err);
/* Same as ntk_outbox_drain(). */
int ntk_push_sender_drain(struct ntk_push_sender *sender, bool in_haste, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
