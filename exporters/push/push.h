/* SPDX-License-Identifier: MIT */
/*
 * push - pushes pages in order to a receiver over HTTP: common to remote write and OTLP.
 *
 * A receiver is described by struct ntk_push_peer. Snapshots become a page of points; the peer
 * encodes it into requests, and an outbox sends them.
 *
 * Owner:   ntk_push_create() allocates, ntk_push_destroy() frees, and destroys the peer's ctx.
 * Threads: as for struct ntk_exporter; address() and judge() run on the outbox's thread.
 */
#ifndef NTK_EXPORTERS_PUSH_PUSH_H
#define NTK_EXPORTERS_PUSH_PUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporters/exporter.h"
#include "exporters/transport/outbox.h"
#include "shared/base/buf.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_http_answer;
struct ntk_http_question;
struct ntk_points_page;

#define NTK_PUSH_HEADERS_MAX 72
/* Whether the request sets this header itself; users cannot set it then. */
bool ntk_push_header_is_own(const char *name, size_t name_bytes);
#define NTK_PUSH_HOST_BYTES 256

typedef int ntk_push_emit(struct ntk_buf *request, uint64_t item_count, void *ctx,
                          struct ntk_err *err);

struct ntk_push_peer {
    const char *name;         /* of the outbox; static */
    const char *items;        /* what emit counts, in messages: "samples"; borrowed */
    const char *spool_folder; /* NULL: memory only */
    bool is_disabled;         /* takes snapshots and sends nothing */
    bool keeps_fine_latencies;
    bool has_gzip;             /* of requests */
    bool refuses_long_answers; /* drop a request whose answer is too long, instead of retrying it */
    uint64_t interval_ns;      /* between two pages; 0: a page per snapshot */
    /* Fills the request. Its body is the message, unless it sets another form; headers end with
     * NULL and have room for NTK_PUSH_HEADERS_MAX. -EBADMSG: the message can never be sent; other
     * errors are retried. */
    int (*address)(void *ctx, const void *bytes, size_t bytes_count, const char **headers,
                   struct ntk_http_question *question, struct ntk_err *err);
    /* True: send the message again at once, to the result of address(). */
    bool (*judge)(void *ctx, const struct ntk_http_answer *answer,
                  struct ntk_outbox_answer *out_answer);
    /* Called for each snapshot before it is on the page; may be NULL. */
    void (*see)(void *ctx, const struct ntk_snapshot *snapshot);
    /* Calls emit with each request of the page. */
    int (*encode)(void *ctx, const struct ntk_points_page *page, uint64_t time_ns,
                  ntk_push_emit *emit, void *emit_ctx, struct ntk_err *err);
    void (*destroy)(void *ctx);
    void *ctx;
};

/* The peer is copied; the push owns its ctx from then on, also after a failure. */
int ntk_push_create(const struct ntk_exporter_options *options, const struct ntk_push_peer *peer,
                    void **out_push, struct ntk_err *err);
/* Functions of struct ntk_exporter on the state from ntk_push_create(). */
int ntk_push_put(void *push, const struct ntk_snapshot *snapshot, struct ntk_err *err);
int ntk_push_resume(void *push, const struct ntk_snapshot *totals, struct ntk_err *err);
int ntk_push_drain(void *push, bool in_haste, struct ntk_err *err);
void ntk_push_destroy(void *push);

/* Whether a URL begins with http:// or https://. */
bool ntk_push_is_url(const char *url);

/* The host name of this machine, or "localhost". */
void ntk_push_host_name(char out[NTK_PUSH_HOST_BYTES]);

#ifdef __cplusplus
}
#endif
#endif
