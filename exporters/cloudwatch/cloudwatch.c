/* SPDX-License-Identifier: MIT */
/* cloudwatch - sends one request after the other to one endpoint, in the outbox's thread. */
#include "exporters/cloudwatch/cloudwatch.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/aws/aws_credentials.h"
#include "shared/aws/aws_service.h"
#include "exporters/cloudwatch/cloudwatch_gather.h"
#include "exporters/cloudwatch/cloudwatch_request.h"
#include "shared/base/str.h"
#include "shared/http/http_gzip.h"
#include "shared/metrics/snapshot.h"

#define SERVICE "monitoring"
#define MINUTE_MS 60000u
#define SECOND_MS 1000u
#define TIMEOUT_NS (20 * NTK_NS_PER_SECOND)
/* Same default as in the SDKs, unless AWS_REQUEST_MIN_COMPRESSION_SIZE_BYTES is set. */
#define GZIP_BYTES_MIN 10240u
#define REGION_BYTES 64

struct ntk_cloudwatch {
    struct ntk_cloudwatch_gather gather;
    char *namespace_name;
    bool is_high_resolution;
    bool is_flushed;
    uint64_t gzip_bytes_min; /* UINT64_MAX for never */
    struct ntk_outbox *outbox;
    pthread_mutex_t lock;
    char report_region[REGION_BYTES]; /* protected by the lock; "" until a report has it */
    /* The members below are only used by the sending thread, after create(). */
    struct ntk_aws_service *service;
    char *url; /* NULL until the region is known */
};

/* -- sending, on the outbox's thread ----------------------------------------------------------- */

/* Finds the region and the URL from the sources known so far. */
static int find_place(struct ntk_cloudwatch *c, struct ntk_err *err)
{
    char region[REGION_BYTES];

    if (c->url) {
        return 0;
    }
    pthread_mutex_lock(&c->lock);
    memcpy(region, c->report_region, sizeof region);
    pthread_mutex_unlock(&c->lock);
    int ret = ntk_aws_service_region_find(c->service, region[0] ? region : NULL, err);
    if (ret < 0) {
        return ret;
    }
    const char *endpoint = ntk_aws_service_endpoint_get(c->service);
    c->url = endpoint ? strdup(endpoint) : ntk_aws_service_url_make(c->service, SERVICE);
    return c->url ? 0 : ntk_err_no_memory(err);
}

/* Compresses the body if it is worthwhile; otherwise out stays empty. */
static void zip(const struct ntk_cloudwatch *c, const void *bytes, size_t bytes_count,
                struct ntk_buf *out)
{
    if (bytes_count >= c->gzip_bytes_min && ntk_http_gzip(bytes, bytes_count, out) < 0) {
        ntk_buf_reset(out);
    }
}

static void send_body(struct ntk_cloudwatch *c, struct ntk_aws_post *post,
                      struct ntk_outbox_answer *answer)
{
    struct ntk_aws_reply reply;
    struct ntk_err err = { 0 };

    answer->result = NTK_OUTBOX_RETRY;
    int ret = find_place(c, &err);
    post->url = c->url;
    ret = ret < 0 ? ret : ntk_aws_service_call(c->service, post, TIMEOUT_NS, &reply, &err);
    if (ret >= 0 && reply.verdict == NTK_AWS_TAKEN) {
        answer->result = NTK_OUTBOX_SENT;
        return;
    }
    (void)snprintf(answer->text, sizeof answer->text, "%.250s", err.text);
    if (ret >= 0) {
        answer->retry_after_ns = reply.pause_ns;
        answer->result = reply.verdict == NTK_AWS_REFUSED ? NTK_OUTBOX_REFUSED : NTK_OUTBOX_RETRY;
    }
}

static void send_request(void *ctx, const void *bytes, size_t bytes_count,
                         struct ntk_outbox_answer *answer)
{
    static const char begin[] = "{\"Namespace\":";
    struct ntk_cloudwatch *c = ctx;
    struct ntk_buf zipped = { 0 };

    if (bytes_count < sizeof begin - 1 || memcmp(bytes, begin, sizeof begin - 1) != 0) {
        answer->result = NTK_OUTBOX_REFUSED;
        (void)snprintf(answer->text, sizeof answer->text,
                       "the spool contains data from a different exporter");
        return;
    }
    zip(c, bytes, bytes_count, &zipped);
    bool is_zipped = zipped.bytes_count > 0;
    struct ntk_aws_post post = { .content_type = NTK_CLOUDWATCH_CONTENT_TYPE,
                                 .content_encoding = is_zipped ? "gzip" : NULL,
                                 .target = NTK_CLOUDWATCH_TARGET,
                                 .body = is_zipped ? zipped.bytes : bytes,
                                 .body_bytes = is_zipped ? zipped.bytes_count : bytes_count };
    send_body(c, &post, answer);
    ntk_buf_fini(&zipped);
}

static void cancel(void *ctx)
{
    struct ntk_cloudwatch *c = ctx;

    ntk_aws_service_cancel(c->service);
}

/* -- appending --------------------------------------------------------------------------------- */

static int emit(struct ntk_buf *body, uint64_t metric_count, void *ctx, struct ntk_err *err)
{
    struct ntk_cloudwatch *c = ctx;

    return ntk_outbox_put(c->outbox, body, metric_count, err);
}

static int deliver(struct ntk_cloudwatch_data *data, uint64_t time_ms, void *ctx,
                   struct ntk_err *err)
{
    struct ntk_cloudwatch *c = ctx;
    const struct ntk_cloudwatch_request_options options = {
        .namespace_name = c->namespace_name,
        .time_ms = time_ms,
        .is_high_resolution = c->is_high_resolution,
        .emit = emit,
        .ctx = c,
    };

    ntk_cloudwatch_data_sort(data);
    return ntk_cloudwatch_request(data, &options, err);
}

int ntk_cloudwatch_put(struct ntk_cloudwatch *c, const struct ntk_snapshot *snapshot,
                       struct ntk_err *err)
{
    if (ntk_aws_region_is_good(snapshot->instance.region)) {
        pthread_mutex_lock(&c->lock);
        ntk_str_copy(c->report_region, sizeof c->report_region, snapshot->instance.region);
        pthread_mutex_unlock(&c->lock);
    }
    return ntk_cloudwatch_gather_put(&c->gather, snapshot, err);
}

int ntk_cloudwatch_drain(struct ntk_cloudwatch *c, bool in_haste, struct ntk_err *err)
{
    if (!c->is_flushed) {
        c->is_flushed = true;
        int ret = ntk_cloudwatch_gather_flush(&c->gather, err);
        if (ret < 0) {
            return ret;
        }
    }
    return ntk_outbox_drain(c->outbox, in_haste, err);
}

/* -- open, close ------------------------------------------------------------------------------- */

void ntk_cloudwatch_destroy(struct ntk_cloudwatch *c)
{
    if (!c) {
        return;
    }
    if (c->outbox) {
        ntk_outbox_destroy(c->outbox);
    }
    ntk_aws_service_destroy(c->service);
    ntk_cloudwatch_gather_fini(&c->gather);
    pthread_mutex_destroy(&c->lock);
    free(c->namespace_name);
    free(c->url);
    free(c);
}

/* Reads options, environment and files. Sending looks up values that are still unknown. */
static int configure(struct ntk_cloudwatch *c, const struct ntk_cloudwatch_options *options,
                     struct ntk_err *err)
{
    const char *minimum = getenv("AWS_REQUEST_MIN_COMPRESSION_SIZE_BYTES");
    const struct ntk_aws_service_options service = { .name = SERVICE,
                                                     .variable = "CLOUDWATCH",
                                                     .endpoint_url = options->endpoint_url,
                                                     .region = options->region,
                                                     .profile = options->profile,
                                                     .clock = options->clock };

    c->gzip_bytes_min = GZIP_BYTES_MIN;
    if (ntk_str_is_true(getenv("AWS_DISABLE_REQUEST_COMPRESSION"))) {
        c->gzip_bytes_min = UINT64_MAX;
    } else if (minimum && *minimum && ntk_str_parse_u64(minimum, &c->gzip_bytes_min) < 0) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "AWS_REQUEST_MIN_COMPRESSION_SIZE_BYTES: not a number");
    }
    c->namespace_name = options->namespace_name ? strdup(options->namespace_name) : NULL;
    if (options->namespace_name && !c->namespace_name) {
        return ntk_err_no_memory(err);
    }
    return ntk_aws_service_create(&service, &c->service, err);
}

int ntk_cloudwatch_create(const struct ntk_cloudwatch_options *options,
                          struct ntk_cloudwatch **out_cloudwatch, struct ntk_err *err)
{
    struct ntk_cloudwatch *c = calloc(1, sizeof *c);

    if (!c) {
        return ntk_err_no_memory(err);
    }
    const struct ntk_outbox_options outbox = { .name = "cloudwatch",
                                               .items = "metrics",
                                               .send = send_request,
                                               .cancel = cancel,
                                               .ctx = c,
                                               .spool_folder = options->spool_folder,
                                               .spool_bytes_max = options->spool_bytes_max,
                                               .clock = options->clock };

    pthread_mutex_init(&c->lock, NULL);
    c->is_high_resolution = options->is_high_resolution;
    c->gather.step_ms = options->is_high_resolution ? SECOND_MS : MINUTE_MS;
    c->gather.metric_mask = options->metric_mask;
    c->gather.deliver = deliver;
    c->gather.ctx = c;
    int ret = configure(c, options, err);
    ret = ret < 0 ? ret : ntk_outbox_create(&outbox, &c->outbox, err);
    if (ret < 0) {
        ntk_cloudwatch_destroy(c);
        return ret;
    }
    *out_cloudwatch = c;
    return 0;
}
