/* SPDX-License-Identifier: MIT */
/*
 * push - pushes pages in order to a receiver over HTTP: common code of remote write and OTLP.
 *
 * A receiver is described by struct ntk_push_peer. Snapshots become a page of points; the peer
 * encodes it into requests, and a push_sender delivers them.
 *
 * Owner:   ntk_push_create() allocates, ntk_push_destroy() frees, and destroys the peer's ctx.
 * Threads: same as for struct ntk_exporter; functions of the receiver run on the outbox's thread.
 */
#ifndef NTK_EXPORTERS_PUSH_PUSH_H
#define NTK_EXPORTERS_PUSH_PUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporters/exporter.h"
#include "exporters/push/push_sender.h"
#include "shared/base/buf.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_points_page;

#define NTK_PUSH_HOST_BYTES 256

typedef int ntk_push_emit(struct ntk_buf *request, uint64_t item_count, void *ctx,
                          struct ntk_err *err);

struct ntk_push_peer {
    struct ntk_push_receiver receiver;
    bool is_disabled; /* true: takes snapshots but sends nothing */
    bool keeps_fine_latencies;
    uint64_t interval_ns; /* interval of pages; 0: a page per snapshot */
    /* Called for each snapshot before its values are on the page; may be NULL. */
    void (*see)(void *ctx, const struct ntk_snapshot *snapshot);
    /* Calls emit with each request of the page. */
    int (*encode)(void *ctx, const struct ntk_points_page *page, uint64_t time_ns,
                  ntk_push_emit *emit, void *emit_ctx, struct ntk_err *err);
    void (*destroy)(void *ctx);
    void *ctx;
};

/* Copies the peer; the push owns the peer's ctx from then on, even after a failure. */
int ntk_push_create(const struct ntk_exporter_options *options, const struct ntk_push_peer *peer,
                    void **out_push, struct ntk_err *err);
/* Functions of struct ntk_exporter on the state from ntk_push_create(). */
int ntk_push_put(void *push, const struct ntk_snapshot *snapshot, struct ntk_err *err);
int ntk_push_resume(void *push, const struct ntk_snapshot *totals, struct ntk_err *err);
int ntk_push_drain(void *push, bool in_haste, struct ntk_err *err);
void ntk_push_destroy(void *push);

/* Returns true if a URL begins with http:// or https://. */
bool ntk_push_is_url(const char *url);

/* Returns the host name of this machine, or "localhost". */
void ntk_push_host_name(char out[NTK_PUSH_HOST_BYTES]);

#ifdef __cplusplus
}
#endif
#endif
