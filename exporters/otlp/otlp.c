/* SPDX-License-Identifier: MIT */
/*
 * otlp - turns snapshots into requests of OTLP over HTTP or gRPC and pushes them in order to a
 * collector: each report, or one per interval and the last.
 */
#include "exporters/otlp/otlp.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/otlp/otlp_config.h"
#include "exporters/otlp/otlp_encode.h"
#include "exporters/transport/grpc_call.h"
#include "exporters/push/push.h"
#include "exporters/transport/push_status.h"
#include "shared/base/log.h"
#include "shared/base/str.h"
#include "shared/http/http_client.h"
#include "shared/metrics/snapshot.h"

#define ANSWER_BYTES_MAX ((size_t)4 * 1024 * 1024)
#define OWN_HEADERS 3

struct ntk_otlp_target ntk_otlp_target;

static const struct ntk_opt option_rows[] = {
    { 0, "otlp", "[=URL]", NTK_OPT_TEXT, &ntk_otlp_target.url,
      "push metrics to an OpenTelemetry collector by OTLP over HTTP or gRPC; /v1/metrics is "
      "appended "
      "for HTTP (default URL: OTEL_EXPORTER_OTLP_ENDPOINT)" },
    { 0, "otlp-spool", "FOLDER", NTK_OPT_TEXT, &ntk_otlp_target.spool_folder,
      "keep undelivered data in this folder (default: in memory)" },
    { 0 },
};

static int is_asked(struct ntk_err *err)
{
    if (ntk_otlp_target.spool_folder && !ntk_otlp_target.url) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "--otlp-spool requires --otlp");
    }
    if (ntk_otlp_target.url && ntk_otlp_target.url[0] && !ntk_push_is_url(ntk_otlp_target.url)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "--otlp requires a URL with http:// or https://");
    }
    return ntk_otlp_target.url != NULL;
}

static_assert(NTK_OTLP_HEADERS_MAX + OWN_HEADERS < NTK_PUSH_HEADERS_MAX, "and a NULL");

struct otlp {
    struct ntk_otlp_config config;
    char host_name[NTK_PUSH_HOST_BYTES];
    struct ntk_otlp *encoder;
    char *header_texts[NTK_OTLP_HEADERS_MAX];
    struct ntk_buf framed; /* used by the sending thread: the message with its frame */
};

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

static bool judge(void *ctx, const struct ntk_http_answer *answer,
                  struct ntk_outbox_answer *out_answer)
{
    const struct otlp *state = ctx;
    const struct ntk_buf *body = &answer->body;

    if (state->config.is_grpc) {
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

static int address(void *ctx, const void *bytes, size_t bytes_count, const char **headers,
                   struct ntk_http_question *question, struct ntk_err *err)
{
    struct otlp *state = ctx;
    const uint8_t *start = bytes;
    /* A spool may hold compressed or uncompressed messages of another run; an uncompressed request
     * starts with another byte. */
    bool is_gzip = bytes_count > 1 && start[0] == 0x1f && start[1] == 0x8b;
    size_t count = 0;

    question->url = state->config.url;
    question->timeout_ns = state->config.timeout_ns;
    question->ca_file = state->config.ca_file;
    question->cert_file = state->config.cert_file;
    question->key_file = state->config.key_file;
    question->answer_bytes_max = ANSWER_BYTES_MAX;
    if (state->config.is_grpc) {
        ntk_buf_reset(&state->framed);
        if (ntk_grpc_frame(bytes, bytes_count, is_gzip, &state->framed) < 0) {
            return ntk_err_no_memory(err);
        }
        question->body = state->framed.bytes;
        question->body_bytes = state->framed.bytes_count;
        question->http2 = true;
        headers[count++] = "Content-Type: application/grpc";
        headers[count++] = "TE: trailers";
    } else {
        headers[count++] = "Content-Type: application/x-protobuf";
    }
    if (is_gzip) {
        headers[count++] = state->config.is_grpc ? "grpc-encoding: gzip" : "Content-Encoding: gzip";
    }
    for (size_t i = 0; i < state->config.headers.count; i++) {
        headers[count++] = state->header_texts[i];
    }
    return 0;
}

static void see(void *ctx, const struct ntk_snapshot *snapshot)
{
    struct otlp *state = ctx;

    if (snapshot->host_name[0]) {
        ntk_str_copy_clean(state->host_name, sizeof state->host_name, snapshot->host_name,
                           strlen(snapshot->host_name));
    }
}

static int encode(void *ctx, const struct ntk_points_page *page, uint64_t time_ns,
                  ntk_push_emit *emit, void *emit_ctx, struct ntk_err *err)
{
    const struct otlp *state = ctx;

    return ntk_otlp_encode(state->encoder, page, state->host_name, time_ns, emit, emit_ctx, err);
}

static void destroy(void *ctx)
{
    struct otlp *state = ctx;

    ntk_otlp_destroy(state->encoder);
    for (size_t i = 0; i < NTK_OTLP_HEADERS_MAX; i++) {
        free(state->header_texts[i]);
    }
    ntk_otlp_config_fini(&state->config);
    ntk_buf_fini(&state->framed);
    free(state);
}

/* Opens what the configuration requires. */
static int open_state(struct otlp *state, const struct ntk_exporter_options *options,
                      struct ntk_err *err)
{
    const struct ntk_otlp_options encoder = { .vendor_only = options->vendor_only,
                                              .has_exponential = state->config.has_exponential,
                                              .attributes = &state->config.attributes };

    for (size_t i = 0; i < state->config.headers.count; i++) {
        const struct ntk_otlp_pair *pair = ntk_vec_at(&state->config.headers, i);
        /* libcurl reads a bare name as "omit this header", and "Name;" as a header without a
         * value. */
        if (asprintf(&state->header_texts[i], pair->value[0] ? "%s: %s" : "%s;%s", pair->name,
                     pair->value) < 0) {
            state->header_texts[i] = NULL;
            return ntk_err_no_memory(err);
        }
    }
    ntk_push_host_name(state->host_name);
    state->encoder = ntk_otlp_create(&encoder);
    return state->encoder ? 0 : ntk_err_no_memory(err);
}

static int create(const struct ntk_exporter_options *options, void **out_state, struct ntk_err *err)
{
    struct otlp *state = calloc(1, sizeof *state);

    if (!state) {
        return ntk_err_no_memory(err);
    }
    int ret = ntk_otlp_config_read(&state->config, ntk_otlp_target.url, getenv, err);
    if (ret >= 0 && state->config.is_disabled) {
        ntk_log_info("otlp", "disabled by the environment; no metrics are pushed");
    } else if (ret >= 0) {
        ret = open_state(state, options, err);
    }
    if (ret < 0) {
        destroy(state);
        return ret;
    }
    const struct ntk_push_peer peer = { .name = "otlp",
                                        .items = "data points",
                                        .spool_folder = ntk_otlp_target.spool_folder,
                                        .is_disabled = state->config.is_disabled,
                                        .keeps_fine_latencies = state->config.has_exponential,
                                        .has_gzip = state->config.has_gzip,
                                        .refuses_long_answers = true,
                                        .interval_ns = state->config.interval_ns,
                                        .address = address,
                                        .judge = judge,
                                        .see = see,
                                        .encode = encode,
                                        .destroy = destroy,
                                        .ctx = state };
    return ntk_push_create(options, &peer, out_state, err);
}

const struct ntk_exporter ntk_exporter_otlp = {
    .name = "otlp",
    .options = option_rows,
    .is_asked = is_asked,
    .has_secrets = true,
    .create = create,
    .put = ntk_push_put,
    .resume = ntk_push_resume,
    .drain = ntk_push_drain,
    .destroy = ntk_push_destroy,
};
