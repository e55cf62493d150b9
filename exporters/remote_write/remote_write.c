/* SPDX-License-Identifier: MIT */
/*
 * remote_write - when and where to: each snapshot becomes samples of its time, pushed in order to a
 * receiver of Prometheus remote write 1.0.
 */
#include "exporters/remote_write/remote_write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporters/prometheus/prometheus_page.h"
#include "exporters/remote_write/remote_write_encode.h"
#include "exporters/transport/outbox.h"
#include "exporters/transport/push_status.h"
#include "shared/base/clock.h"
#include "shared/base/str.h"
#include "shared/http/http_client.h"

#define JOB "neuron-monitor"
#define HOST_BYTES 256
/* A receiver that takes longer is asked again: it knows samples that it has. */
#define TIMEOUT_NS (10 * NTK_NS_PER_SECOND)

struct ntk_remote_write_target ntk_remote_write_target;

static const struct ntk_opt option_rows[] = {
    { 0, "remote-write", "URL", NTK_OPT_TEXT, &ntk_remote_write_target.url,
      "push metrics to a receiver of Prometheus remote write" },
    { 0, "remote-write-token-file", "FILE", NTK_OPT_TEXT, &ntk_remote_write_target.token_file,
      "bearer token for the receiver, read again for each request" },
    { 0, "remote-write-spool", "DIR", NTK_OPT_TEXT, &ntk_remote_write_target.spool_folder,
      "keep there what the receiver did not take yet; else in memory" },
    { 0, "remote-write-native-histograms", 0, NTK_OPT_FLAG, &ntk_remote_write_target.has_native,
      "push latencies as native histograms too, to a receiver that takes them" },
    { 0 },
};

static int is_asked(struct ntk_err *err)
{
    const struct ntk_remote_write_target *target = &ntk_remote_write_target;

    if (!target->url && (target->token_file || target->spool_folder || target->has_native)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "--remote-write-... needs --remote-write");
    }
    return target->url != NULL;
}

struct remote_write {
    struct ntk_prometheus_page page;
    char *url;
    char *token_file; /* NULL: none */
    char instance[HOST_BYTES];
    struct ntk_remote_write *encoder;
    struct ntk_http_client *client;
    struct ntk_http_answer answer;
    struct ntk_outbox *outbox;
};

/* -- sending, on the outbox's thread ----------------------------------------------------------- */

static void send_request(void *ctx, const void *bytes, size_t bytes_count,
                         struct ntk_outbox_answer *answer)
{
    struct remote_write *state = ctx;
    const char *headers[] = { "Content-Encoding: snappy", "Content-Type: application/x-protobuf",
                              "X-Prometheus-Remote-Write-Version: 0.1.0", NULL };
    const struct ntk_http_question question = { .url = state->url,
                                                .headers = headers,
                                                .body = bytes,
                                                .body_bytes = bytes_count,
                                                .timeout_ns = TIMEOUT_NS,
                                                .token_file = state->token_file,
                                                .answer_bytes_max = 64 * 1024 };
    struct ntk_err err = { 0 };

    answer->result = NTK_OUTBOX_RETRY;
    if (ntk_http_client_ask(state->client, &question, &state->answer, &err) < 0) {
        (void)snprintf(answer->text, sizeof answer->text, "%.250s", err.text);
    } else {
        ntk_push_status_judge(NTK_PUSH_REMOTE_WRITE, &state->answer,
                              ntk_buf_text_get(&state->answer.body), answer);
    }
}

static void cancel(void *ctx)
{
    struct remote_write *state = ctx;

    ntk_http_client_cancel(state->client);
}

/* -- the exporter ------------------------------------------------------------------------------ */

static void destroy(void *ctx)
{
    struct remote_write *state = ctx;

    if (!state) {
        return;
    }
    ntk_outbox_destroy(state->outbox);
    ntk_http_client_destroy(state->client);
    ntk_http_answer_fini(&state->answer);
    ntk_remote_write_destroy(state->encoder);
    ntk_prometheus_page_fini(&state->page);
    free(state->url);
    free(state->token_file);
    free(state);
}

static int create(const struct ntk_exporter_options *options, void **out_state, struct ntk_err *err)
{
    const struct ntk_remote_write_target *target = &ntk_remote_write_target;
    struct ntk_outbox_options outbox = { .name = "remote write",
                                         .send = send_request,
                                         .cancel = cancel,
                                         .spool_folder = target->spool_folder };
    struct remote_write *state;

    if (strncmp(target->url, "http://", 7) != 0 && strncmp(target->url, "https://", 8) != 0) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "remote write needs a URL with http:// or https://");
    }
    state = calloc(1, sizeof *state);
    if (!state) {
        return ntk_err_no_memory(err);
    }
    state->page.application_max = ntk_exporter_application_max(options);
    state->page.has_pid_label = options->pid_label;
    state->page.labels = options->labels;
    state->page.names = options->names ? *options->names : 0;
    state->page.fills_zeros = options->zero_fill;
    state->page.keeps_fine_latencies = target->has_native;
    state->url = strdup(target->url);
    state->token_file = target->token_file ? strdup(target->token_file) : NULL;
    if (gethostname(state->instance, sizeof state->instance - 1) < 0 || !state->instance[0]) {
        ntk_str_copy(state->instance, sizeof state->instance, "localhost");
    }
    const struct ntk_remote_write_options encoder = { .job = JOB,
                                                      .instance = state->instance,
                                                      .vendor_only = options->vendor_only,
                                                      .has_native = target->has_native };
    state->encoder = ntk_remote_write_create(&encoder);
    state->client = ntk_http_client_create();
    int ret = 0;
    if (!state->url || !state->encoder || !state->client ||
        (target->token_file && !state->token_file)) {
        ret = ntk_err_no_memory(err);
    }
    outbox.ctx = state;
    ret = ret < 0 ? ret : ntk_outbox_create(&outbox, &state->outbox, err);
    if (ret < 0) {
        destroy(state);
        return ret;
    }
    *out_state = state;
    return 0;
}

/* A page being put. */
struct page_put {
    struct ntk_outbox *outbox;
    struct ntk_err *err;
    int ret; /* of the first request that the outbox refused */
};

/* What the outbox refuses it counts as lost; the rest of the page still has its chance. */
static int emit(struct ntk_buf *request, uint64_t sample_count, void *ctx, struct ntk_err *err)
{
    struct page_put *page = ctx;
    int ret = ntk_outbox_put(page->outbox, request, sample_count, page->ret < 0 ? NULL : page->err);

    (void)err;
    page->ret = page->ret < 0 ? page->ret : ret;
    return 0;
}

static int resume(void *ctx, const struct ntk_snapshot *totals, struct ntk_err *err)
{
    struct remote_write *state = ctx;

    return ntk_prometheus_page_resume(&state->page, totals) < 0 ? ntk_err_no_memory(err) : 0;
}

static int put(void *ctx, const struct ntk_snapshot *snapshot, struct ntk_err *err)
{
    struct remote_write *state = ctx;
    uint64_t realtime_ns = snapshot->realtime_ns ? snapshot->realtime_ns : ntk_clock_realtime_ns();

    int updated = ntk_prometheus_page_update(&state->page, snapshot);
    ntk_prometheus_page_update_process(&state->page);
    struct page_put page = { state->outbox, err, 0 };
    int ret = ntk_remote_write_encode(state->encoder, &state->page,
                                      (int64_t)(realtime_ns / NTK_NS_PER_MS), emit, &page, err);
    ret = ret < 0 ? ret : page.ret;
    return ret < 0       ? ret
           : updated < 0 ? ntk_err_set(err, updated, NTK_ERR_NO_OFFSET,
                                       "no room for all runtimes; some are missing")
                         : 0;
}

static int drain(void *ctx, bool in_haste, struct ntk_err *err)
{
    struct remote_write *state = ctx;

    return ntk_outbox_drain(state->outbox, in_haste, err);
}

const struct ntk_exporter ntk_exporter_remote_write = {
    .name = "remote-write",
    .options = option_rows,
    .is_asked = is_asked,
    .has_secrets = true,
    .create = create,
    .put = put,
    .resume = resume,
    .drain = drain,
    .destroy = destroy,
};
