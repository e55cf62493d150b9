/* SPDX-License-Identifier: MIT */
/*
 * otlp_peer - describes a collector as the receiver of one signal: its configuration, the address
 * of requests over HTTP or gRPC, and the meaning of responses.
 *
 * Owner:   the caller provides the storage, zeroed before _init; _fini frees the content, also
 *          after a failure.
 * Threads: address and judge run on the outbox's thread, all others on the caller's.
 */
#ifndef NTK_EXPORTERS_OTLP_OTLP_PEER_H
#define NTK_EXPORTERS_OTLP_OTLP_PEER_H

#include "exporters/otlp/otlp_config.h"
#include "exporters/push/push_sender.h"
#include "shared/base/buf.h"
#include "shared/http/http_client.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_otlp_peer {
    struct ntk_otlp_config config;
    char *header_texts[NTK_OTLP_HEADERS_MAX];
    struct ntk_buf framed; /* message with its frame, used by the sending thread */
};

/* Reads the environment; endpoint is the same as for ntk_otlp_config_read(). */
int ntk_otlp_peer_init(struct ntk_otlp_peer *peer, enum ntk_otlp_signal signal,
                       const char *endpoint, struct ntk_err *err);
void ntk_otlp_peer_fini(struct ntk_otlp_peer *peer);
/* Returns the receiver. The peer must outlive the sender that uses it. */
struct ntk_push_receiver ntk_otlp_peer_receiver(struct ntk_otlp_peer *peer, const char *name,
                                                const char *items, const char *spool_folder);

/* Callbacks of struct ntk_push_receiver; ctx is a peer. */
int ntk_otlp_peer_address(void *ctx, const void *bytes, size_t bytes_count, const char **headers,
                          struct ntk_http_question *question, struct ntk_err *err);
bool ntk_otlp_peer_judge(void *ctx, const struct ntk_http_answer *answer,
                         struct ntk_outbox_answer *out_answer);

#ifdef __cplusplus
}
#endif
#endif
