/* SPDX-License-Identifier: MIT */
/* otlp_peer - addresses requests of a signal, and interprets responses. */
#include "exporters/otlp/otlp_peer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/otlp/otlp_encode.h"
#include "exporters/transport/grpc_call.h"
#include "exporters/transport/push_status.h"
#include "shared/base/log.h"
#include "shared/base/str.h"

#define ANSWER_BYTES_MAX ((size_t)4 * 1024 * 1024)
#define OWN_HEADERS 3

static_assert(NTK_OTLP_HEADERS_MAX + OWN_HEADERS < NTK_PUSH_HEADERS_MAX, "and a NULL");

int ntk_otlp_peer_init(struct ntk_otlp_peer *peer, enum ntk_otlp_signal signal,
                       const char *endpoint, struct ntk_err *err)
{
    int ret = ntk_otlp_config_read(&peer->config, signal, endpoint, getenv, err);

    if (ret >= 0 && peer->config.is_disabled) {
        ntk_log_info("otlp", "disabled by the environment; no %s are pushed",
                     strrchr(ntk_otlp_signals[signal].path, '/') + 1);
    }
    for (size_t i = 0; ret >= 0 && i < peer->config.headers.count; i++) {
        const struct ntk_otlp_pair *pair = ntk_vec_at(&peer->config.headers, i);
        /* libcurl reads a bare name as "omit this header", and "Name;" as a header without a
         * value. */
        if (asprintf(&peer->header_texts[i], pair->value[0] ? "%s: %s" : "%s;%s", pair->name,
                     pair->value) < 0) {
            peer->header_texts[i] = NULL;
            return ntk_err_no_memory(err);
        }
    }
    return ret;
}

void ntk_otlp_peer_fini(struct ntk_otlp_peer *peer)
{
    for (size_t i = 0; i < NTK_OTLP_HEADERS_MAX; i++) {
        free(peer->header_texts[i]);
    }
    ntk_otlp_config_fini(&peer->config);
    ntk_buf_fini(&peer->framed);
}

struct ntk_push_receiver ntk_otlp_peer_receiver(struct ntk_otlp_peer *peer, const char *name,
                                                const char *items, const char *spool_folder)
{
    return (struct ntk_push_receiver){ .name = name,
                                       .items = items,
                                       .spool_folder = spool_folder,
                                       .has_gzip = peer->config.has_gzip,
                                       .refuses_long_answers = true,
                                       .address = ntk_otlp_peer_address,
                                       .judge = ntk_otlp_peer_judge,
                                       .ctx = peer };
}

static bool is_protobuf(const struct ntk_http_answer *answer)
{
    char type[64] = "";

    return ntk_http_answer_header_get(answer, "content-type", type, sizeof type) &&
           ntk_str_starts_with(type, "application/x-protobuf");
}

static bool judge_grpc(const struct ntk_http_answer *answer, struct ntk_outbox_answer *out_answer)
{
    struct ntk_buf message = { 0 };

    ntk_grpc_judge(answer, out_answer);
    if (out_answer->result == NTK_OUTBOX_SENT && ntk_grpc_message(&answer->body, &message) == 0) {
        (void)ntk_otlp_read_partial(message.bytes, message.bytes_count, &out_answer->refused_items,
                                    out_answer->text, sizeof out_answer->text);
    }
    ntk_buf_fini(&message);
    return false;
}

bool ntk_otlp_peer_judge(void *ctx, const struct ntk_http_answer *answer,
                         struct ntk_outbox_answer *out_answer)
{
    const struct ntk_otlp_peer *peer = ctx;
    const struct ntk_buf *body = &answer->body;

    if (peer->config.is_grpc) {
        return judge_grpc(answer, out_answer);
    }
    char said[200] = "";
    bool has_said = is_protobuf(answer) &&
                    ntk_otlp_read_status(body->bytes, body->bytes_count, said, sizeof said);

    ntk_push_status_judge(NTK_PUSH_OTLP, answer, has_said ? said : ntk_buf_text_get(body),
                          out_answer);
    if (out_answer->result == NTK_OUTBOX_SENT) {
        (void)ntk_otlp_read_partial(body->bytes, body->bytes_count, &out_answer->refused_items,
                                    out_answer->text, sizeof out_answer->text);
    }
    return false;
}

int ntk_otlp_peer_address(void *ctx, const void *bytes, size_t bytes_count, const char **headers,
                          struct ntk_http_question *question, struct ntk_err *err)
{
    struct ntk_otlp_peer *peer = ctx;
    const uint8_t *start = bytes;
    /* A spool may hold compressed or uncompressed messages of another run; an uncompressed request
     * starts with another byte. */
    bool is_gzip = bytes_count > 1 && start[0] == 0x1f && start[1] == 0x8b;
    size_t count = 0;

    question->url = peer->config.url;
    question->timeout_ns = peer->config.timeout_ns;
    question->ca_file = peer->config.ca_file;
    question->cert_file = peer->config.cert_file;
    question->key_file = peer->config.key_file;
    question->answer_bytes_max = ANSWER_BYTES_MAX;
    if (peer->config.is_grpc) {
        ntk_buf_reset(&peer->framed);
        if (ntk_grpc_frame(bytes, bytes_count, is_gzip, &peer->framed) < 0) {
            return ntk_err_no_memory(err);
        }
        question->body = peer->framed.bytes;
        question->body_bytes = peer->framed.bytes_count;
        question->http2 = true;
        headers[count++] = "Content-Type: application/grpc";
        headers[count++] = "TE: trailers";
    } else {
        headers[count++] = "Content-Type: application/x-protobuf";
    }
    if (is_gzip) {
        headers[count++] = peer->config.is_grpc ? "grpc-encoding: gzip" : "Content-Encoding: gzip";
    }
    for (size_t i = 0; i < peer->config.headers.count; i++) {
        headers[count++] = peer->header_texts[i];
    }
    return 0;
}
