/* SPDX-License-Identifier: MIT */
/*
 * otlp - when and where to: snapshots become requests of OTLP over HTTP, pushed in order to a
 * collector; each report, or one per interval and the last.
 */
#include "exporters/otlp/otlp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporters/otlp/otlp_config.h"
#include "exporters/otlp/otlp_encode.h"
#include "exporters/prometheus/prometheus_page.h"
#include "exporters/transport/outbox.h"
#include "exporters/transport/push_status.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/str.h"
#include "shared/http/http_client.h"
#include "shared/http/http_gzip.h"

#define HOST_BYTES 256
#define ANSWER_BYTES_MAX ((size_t)4 * 1024 * 1024)
#define OWN_HEADERS 2

struct ntk_otlp_target ntk_otlp_target;

static const struct ntk_opt option_rows[] = {
    { 0, "otlp", "[=URL]", NTK_OPT_TEXT, &ntk_otlp_target.url,
      "push metrics to an OpenTelemetry collector, OTLP over HTTP; /v1/metrics is added; without a "
      "URL where OTEL_EXPORTER_OTLP_ENDPOINT says" },
    { 0, "otlp-spool", "DIR", NTK_OPT_TEXT, &ntk_otlp_target.spool_folder,
      "keep there what the collector did not take yet; else in memory" },
    { 0 },
};

static int is_asked(struct ntk_err *err)
{
    if (ntk_otlp_target.spool_folder && !ntk_otlp_target.url) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "--otlp-spool needs --otlp");
    }
    return ntk_otlp_target.url != NULL;
}

struct otlp {
    struct ntk_otlp_config config;
    struct ntk_prometheus_page page;
    char host_name[HOST_BYTES];
    struct ntk_otlp *encoder;
    uint64_t time_ns;   /* of the last snapshot, Unix time */
    uint64_t pushed_ns; /* of the one that was pushed last; 0: none */
    char *header_texts[NTK_OTLP_HEADERS_MAX];
    struct ntk_http_client *client;
    struct ntk_http_answer answer;
    struct ntk_outbox *outbox; /* NULL when disabled */
};

/* -- sending, on the outbox's thread ----------------------------------------------------------- */

static bool is_protobuf(const struct ntk_http_answer *answer)
{
    char type[64] = "";

    return ntk_http_answer_header_get(answer, "content-type", type, sizeof type) &&
           ntk_str_starts_with(type, "application/x-protobuf");
}

static void judge(const struct otlp *state, struct ntk_outbox_answer *answer)
{
    const struct ntk_buf *body = &state->answer.body;
    char said[200] = "";
    bool has_said = is_protobuf(&state->answer) &&
                    ntk_otlp_read_status(body->bytes, body->bytes_count, said, sizeof said);

    ntk_push_status_judge(NTK_PUSH_OTLP, &state->answer, has_said ? said : ntk_buf_text_get(body),
                          answer);
    if (answer->result == NTK_OUTBOX_SENT) {
        (void)ntk_otlp_read_partial(body->bytes, body->bytes_count, &answer->refused_items,
                                    answer->text, sizeof answer->text);
    }
}

static void send_request(void *ctx, const void *bytes, size_t bytes_count,
                         struct ntk_outbox_answer *answer)
{
    struct otlp *state = ctx;
    const uint8_t *start = bytes;
    const char *headers[NTK_OTLP_HEADERS_MAX + OWN_HEADERS + 1] = {
        "Content-Type: application/x-protobuf"
    };
    const struct ntk_http_question question = { .url = state->config.url,
                                                .headers = headers,
                                                .body = bytes,
                                                .body_bytes = bytes_count,
                                                .timeout_ns = state->config.timeout_ns,
                                                .ca_file = state->config.ca_file,
                                                .cert_file = state->config.cert_file,
                                                .key_file = state->config.key_file,
                                                .answer_bytes_max = ANSWER_BYTES_MAX };
    struct ntk_err err = { 0 };
    size_t count = 1;

    /* A spool may hold what another run compressed, or did not; a request begins with another
     * byte. */
    if (bytes_count > 1 && start[0] == 0x1f && start[1] == 0x8b) {
        headers[count++] = "Content-Encoding: gzip";
    }
    for (size_t i = 0; i < state->config.headers.count; i++) {
        headers[count++] = state->header_texts[i];
    }
    answer->result = NTK_OUTBOX_RETRY;
    int ret = ntk_http_client_ask(state->client, &question, &state->answer, &err);
    if (ret >= 0) {
        judge(state, answer);
        return;
    }
    if (ret == -EMSGSIZE) {
        answer->result = NTK_OUTBOX_REFUSED; /* it would be so again */
    }
    (void)snprintf(answer->text, sizeof answer->text, "%.250s", err.text);
}

static void cancel(void *ctx)
{
    struct otlp *state = ctx;

    ntk_http_client_cancel(state->client);
}

/* -- the exporter ------------------------------------------------------------------------------ */

static void destroy(void *ctx)
{
    struct otlp *state = ctx;

    if (!state) {
        return;
    }
    ntk_outbox_destroy(state->outbox);
    ntk_http_client_destroy(state->client);
    ntk_http_answer_fini(&state->answer);
    ntk_otlp_destroy(state->encoder);
    ntk_prometheus_page_fini(&state->page);
    for (size_t i = 0; i < NTK_OTLP_HEADERS_MAX; i++) {
        free(state->header_texts[i]);
    }
    ntk_otlp_config_fini(&state->config);
    free(state);
}

/* What the configuration asks for. */
static int open_state(struct otlp *state, const struct ntk_exporter_options *options,
                      struct ntk_err *err)
{
    const struct ntk_otlp_options encoder = { .vendor_only = options->vendor_only,
                                              .has_exponential = state->config.has_exponential,
                                              .attributes = &state->config.attributes };
    const struct ntk_outbox_options outbox = { .name = "otlp",
                                               .send = send_request,
                                               .cancel = cancel,
                                               .ctx = state,
                                               .spool_folder = ntk_otlp_target.spool_folder };

    for (size_t i = 0; i < state->config.headers.count; i++) {
        const struct ntk_otlp_pair *pair = ntk_vec_at(&state->config.headers, i);
        /* libcurl takes a name alone for "not this header", and "Name;" for one without a value. */
        if (asprintf(&state->header_texts[i], pair->value[0] ? "%s: %s" : "%s;%s", pair->name,
                     pair->value) < 0) {
            state->header_texts[i] = NULL;
            return ntk_err_no_memory(err);
        }
    }
    if (gethostname(state->host_name, sizeof state->host_name - 1) < 0 || !state->host_name[0]) {
        ntk_str_copy(state->host_name, sizeof state->host_name, "localhost");
    }
    state->page.application_max = ntk_exporter_application_max(options);
    state->page.has_pid_label = options->pid_label;
    state->page.labels = options->labels;
    state->page.names = options->names ? *options->names : 0;
    state->page.fills_zeros = options->zero_fill;
    state->page.keeps_fine_latencies = state->config.has_exponential;
    state->encoder = ntk_otlp_create(&encoder);
    state->client = ntk_http_client_create();
    if (!state->encoder || !state->client) {
        return ntk_err_no_memory(err);
    }
    return ntk_outbox_create(&outbox, &state->outbox, err);
}

static int create(const struct ntk_exporter_options *options, void **out_state, struct ntk_err *err)
{
    struct otlp *state = calloc(1, sizeof *state);

    if (!state) {
        return ntk_err_no_memory(err);
    }
    int ret = ntk_otlp_config_read(&state->config, ntk_otlp_target.url, getenv, err);
    if (ret >= 0 && state->config.is_disabled) {
        ntk_log_info("otlp", "disabled by the environment; nothing is pushed");
    } else if (ret >= 0) {
        ret = open_state(state, options, err);
    }
    if (ret < 0) {
        destroy(state);
        return ret;
    }
    *out_state = state;
    return 0;
}

static int emit(struct ntk_buf *request, uint64_t point_count, void *ctx, struct ntk_err *err)
{
    struct otlp *state = ctx;
    struct ntk_buf packed = { 0 };

    if (!state->config.has_gzip) {
        return ntk_outbox_put(state->outbox, request, point_count, err);
    }
    int ret = ntk_http_gzip(request->bytes, request->bytes_count, &packed);
    if (ret < 0) {
        ntk_buf_fini(&packed);
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "a request cannot be compressed");
    }
    return ntk_outbox_put(state->outbox, &packed, point_count, err);
}

static int push(struct otlp *state, struct ntk_err *err)
{
    state->pushed_ns = state->time_ns;
    ntk_prometheus_page_update_process(&state->page);
    return ntk_otlp_encode(state->encoder, &state->page, state->host_name, state->time_ns, emit,
                           state, err);
}

static int resume(void *ctx, const struct ntk_snapshot *totals, struct ntk_err *err)
{
    struct otlp *state = ctx;

    return ntk_prometheus_page_resume(&state->page, totals) < 0 ? ntk_err_no_memory(err) : 0;
}

static int put(void *ctx, const struct ntk_snapshot *snapshot, struct ntk_err *err)
{
    struct otlp *state = ctx;

    if (!state->outbox) {
        return 0;
    }
    state->time_ns = snapshot->realtime_ns ? snapshot->realtime_ns : ntk_clock_realtime_ns();
    if (snapshot->host_name[0]) {
        ntk_str_copy_clean(state->host_name, sizeof state->host_name, snapshot->host_name,
                           strlen(snapshot->host_name));
    }
    int updated = ntk_prometheus_page_update(&state->page, snapshot);
    /* A clock that was set back is no reason to wait. */
    bool is_due = !state->pushed_ns || state->time_ns < state->pushed_ns ||
                  state->time_ns - state->pushed_ns >= state->config.interval_ns;
    int ret = is_due ? push(state, err) : 0;
    return ret < 0       ? ret
           : updated < 0 ? ntk_err_set(err, updated, NTK_ERR_NO_OFFSET,
                                       "no room for all runtimes; some are missing")
                         : 0;
}

static int drain(void *ctx, bool in_haste, struct ntk_err *err)
{
    struct otlp *state = ctx;
    int ret = 0;

    if (!state->outbox) {
        return 1;
    }
    if (state->pushed_ns != state->time_ns) {
        ret = push(state, err); /* what came since, within the interval */
    }
    return ret < 0 ? ret : ntk_outbox_drain(state->outbox, in_haste, err);
}

const struct ntk_exporter ntk_exporter_otlp = {
    .name = "otlp",
    .options = option_rows,
    .is_asked = is_asked,
    .has_secrets = true,
    .create = create,
    .put = put,
    .resume = resume,
    .drain = drain,
    .destroy = destroy,
};
