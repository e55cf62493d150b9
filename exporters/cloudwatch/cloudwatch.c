/* SPDX-License-Identifier: MIT */
/* cloudwatch - one request after the other to one endpoint, from the outbox's thread. */
#include "exporters/cloudwatch/cloudwatch.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "shared/aws/aws_credentials.h"
#include "shared/aws/aws_post.h"
#include "shared/aws/aws_process.h"
#include "shared/aws/aws_sigv4.h"
#include "shared/aws/aws_verdict.h"
#include "exporters/cloudwatch/cloudwatch_gather.h"
#include "exporters/cloudwatch/cloudwatch_request.h"
#include "shared/base/str.h"
#include "shared/http/http_client.h"
#include "shared/metrics/snapshot.h"

#define SERVICE "monitoring"
#define MINUTE_MS 60000u
#define SECOND_MS 1000u
#define TIMEOUT_NS (20 * NTK_NS_PER_SECOND)
#define ANSWER_BYTES_MAX ((size_t)64 * 1024)
/* The service's own limit is 5 minutes; larger clock differences are corrected in signatures. */
#define SKEW_SECONDS_MAX 240
/* Like the SDKs, unless AWS_REQUEST_MIN_COMPRESSION_SIZE_BYTES is set. */
#define GZIP_BYTES_MIN 10240u
#define GZIP_WINDOW_BITS (15 + 16)
#define REGION_BYTES 64

struct ntk_cloudwatch {
    struct ntk_cloudwatch_gather gather;
    char *namespace_name;
    const struct ntk_clock *clock;
    bool is_high_resolution;
    bool is_flushed;
    const char *ca_file;     /* from the environment */
    uint64_t gzip_bytes_min; /* UINT64_MAX: never */
    struct ntk_outbox *outbox;
    struct ntk_http_client *client;
    atomic_bool is_stopping;
    pthread_mutex_t lock;
    char report_region[REGION_BYTES]; /* protected by the lock; "" until a report has it */
    /* Only for the sending thread, after create(). */
    struct ntk_aws_credentials *credentials;
    struct ntk_http_answer answer;
    char *region;         /* NULL until known */
    char *url;            /* without a '/' at its end; NULL until the region is known */
    int64_t skew_seconds; /* the service's clock minus ours, if the difference is too large */
};

/* -- sending, on the outbox's thread ----------------------------------------------------------- */

static int ask(void *ctx, const struct ntk_http_question *question, struct ntk_http_answer *answer,
               struct ntk_err *err)
{
    struct ntk_cloudwatch *c = ctx;

    if (atomic_load(&c->is_stopping)) {
        return ntk_err_set(err, -ECANCELED, NTK_ERR_NO_OFFSET, "canceled: the program is exiting");
    }
    struct ntk_http_question with_authority = *question;
    with_authority.ca_file = question->ca_file ? question->ca_file : c->ca_file;
    return ntk_http_client_ask(c->client, &with_authority, answer, err);
}

static bool is_stopping(void *ctx)
{
    struct ntk_cloudwatch *c = ctx;

    return atomic_load(&c->is_stopping);
}

static int run(void *ctx, const char *command, struct ntk_buf *out, struct ntk_err *err)
{
    return ntk_aws_process_run(command, NTK_AWS_PROCESS_NS, is_stopping, ctx, out, err);
}

/* Finds region and URL from the sources known so far. */
static int find_place(struct ntk_cloudwatch *c, struct ntk_err *err)
{
    if (!c->region) {
        pthread_mutex_lock(&c->lock);
        c->region = c->report_region[0] ? strdup(c->report_region) : NULL;
        pthread_mutex_unlock(&c->lock);
    }
    if (!c->region) {
        struct ntk_err ignored = { 0 };
        (void)ntk_aws_region_ask(c->credentials, &c->region, &ignored);
    }
    if (!c->region) {
        return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "no AWS region: use --region");
    }
    if (!c->url) {
        c->url = ntk_aws_endpoint_make(c->credentials, SERVICE, c->region);
    }
    return c->url ? 0 : ntk_err_no_memory(err);
}

/* Compresses the body if worthwhile; otherwise out stays empty. */
static void zip(const struct ntk_cloudwatch *c, const void *bytes, size_t bytes_count,
                struct ntk_buf *out)
{
    z_stream stream = { 0 };

    if (bytes_count < c->gzip_bytes_min || bytes_count > UINT32_MAX / 2 ||
        deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW_BITS, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        return;
    }
    size_t room = deflateBound(&stream, (uLong)bytes_count);
    void *to = ntk_buf_extend(out, room);
    if (to) {
        stream.next_in = (Bytef *)(uintptr_t)bytes;
        stream.avail_in = (uInt)bytes_count;
        stream.next_out = to;
        stream.avail_out = (uInt)room;
    }
    if (!to || deflate(&stream, Z_FINISH) != Z_STREAM_END) {
        ntk_buf_reset(out);
    } else {
        out->bytes_count = stream.total_out;
    }
    deflateEnd(&stream);
}

/* Signs and sends once. */
static int post(struct ntk_cloudwatch *c, const struct ntk_aws_keys *keys, const void *bytes,
                size_t bytes_count, bool is_zipped, struct ntk_err *err)
{
    const struct ntk_aws_post post = {
        .url = c->url,
        .region = c->region,
        .service = SERVICE,
        .keys = keys,
        .unix_seconds = ntk_clock_wall_ns(c->clock) / NTK_NS_PER_SECOND + (uint64_t)c->skew_seconds,
        .content_type = NTK_CLOUDWATCH_CONTENT_TYPE,
        .content_encoding = is_zipped ? "gzip" : NULL,
        .target = NTK_CLOUDWATCH_TARGET,
        .body = bytes,
        .body_bytes = bytes_count
    };
    struct ntk_aws_post_lines lines;

    int ret = ntk_aws_post_sign(&post, &lines, err);
    const struct ntk_http_question question = { .method = "POST",
                                                .url = c->url,
                                                .headers = lines.lines,
                                                .body = bytes,
                                                .body_bytes = bytes_count,
                                                .timeout_ns = TIMEOUT_NS,
                                                .answer_bytes_max = ANSWER_BYTES_MAX };
    ret = ret < 0 ? ret : ask(c, &question, &c->answer, err);
    ntk_aws_post_fini(&lines);
    return ret;
}

/* Takes the service's clock from an answer that rejected ours. */
static void take_skew(struct ntk_cloudwatch *c)
{
    int64_t now = (int64_t)(ntk_clock_wall_ns(c->clock) / NTK_NS_PER_SECOND);
    uint64_t said;
    char text[64];

    if (ntk_http_answer_header_get(&c->answer, "date", text, sizeof text) &&
        ntk_aws_http_date_parse(text, &said) >= 0) {
        int64_t skew = (int64_t)said - now;
        c->skew_seconds = skew > SKEW_SECONDS_MAX || skew < -SKEW_SECONDS_MAX ? skew : 0;
    }
}

/* One attempt; returns whether to retry at once with other keys. */
static bool try_send(struct ntk_cloudwatch *c, const void *bytes, size_t bytes_count,
                     bool is_zipped, struct ntk_outbox_answer *answer)
{
    const struct ntk_aws_keys *keys;
    struct ntk_aws_error said;
    struct ntk_err err = { 0 };

    answer->result = NTK_OUTBOX_RETRY;
    int ret = find_place(c, &err);
    ret = ret < 0 ? ret : ntk_aws_credentials_get(c->credentials, &keys, &err);
    ret = ret < 0 ? ret : post(c, keys, bytes, bytes_count, is_zipped, &err);
    if (ret < 0) {
        (void)snprintf(answer->text, sizeof answer->text, "%.250s", err.text);
        return false;
    }
    ntk_aws_error_parse(ntk_buf_text_get(&c->answer.body), c->answer.body.bytes_count, &said);
    enum ntk_aws_verdict verdict = ntk_aws_judge(c->answer.status, &said);
    if (verdict == NTK_AWS_TAKEN) {
        answer->result = NTK_OUTBOX_SENT;
        answer->text[0] = '\0'; /* drop the message of an attempt with older keys */
        return false;
    }
    (void)snprintf(answer->text, sizeof answer->text, "status %ld%s%.80s%s%.140s", c->answer.status,
                   said.code[0] ? ", " : "", said.code, said.text[0] ? ": " : "", said.text);
    answer->retry_after_ns = ntk_aws_pause_ns(&c->answer);
    if (verdict == NTK_AWS_REFUSED) {
        answer->result = NTK_OUTBOX_REFUSED;
    } else if (verdict == NTK_AWS_RENEW) {
        ntk_aws_credentials_forget(c->credentials);
        take_skew(c);
    }
    return verdict == NTK_AWS_RENEW;
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
    const void *body = is_zipped ? zipped.bytes : bytes;
    size_t body_bytes = is_zipped ? zipped.bytes_count : bytes_count;
    if (try_send(c, body, body_bytes, is_zipped, answer)) {
        (void)try_send(c, body, body_bytes, is_zipped, answer);
    }
    ntk_buf_fini(&zipped);
}

static void cancel(void *ctx)
{
    struct ntk_cloudwatch *c = ctx;

    atomic_store(&c->is_stopping, true);
    ntk_http_client_cancel(c->client);
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

static const char *environment(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name); /* constant while the program runs */
}

void ntk_cloudwatch_destroy(struct ntk_cloudwatch *c)
{
    if (!c) {
        return;
    }
    if (c->outbox) {
        ntk_outbox_destroy(c->outbox);
    }
    ntk_aws_credentials_destroy(c->credentials);
    ntk_http_client_destroy(c->client);
    ntk_http_answer_fini(&c->answer);
    ntk_cloudwatch_gather_fini(&c->gather);
    pthread_mutex_destroy(&c->lock);
    free(c->namespace_name);
    free(c->region);
    free(c->url);
    free(c);
}

/* A URL that requests can be signed for; a '/' at its end is removed. */
static int check_url(char *url, struct ntk_err *err)
{
    size_t scheme = ntk_str_starts_with(url, "https://") ? 8 : 7;
    bool is_http = scheme == 8 || ntk_str_starts_with(url, "http://");
    char *host = is_http ? url + scheme : url;
    size_t host_bytes = strcspn(host, "/");
    size_t bytes = strlen(url);

    if (!is_http || host_bytes == 0 || strpbrk(host, "@?# \t\r\n") ||
        (host[host_bytes] && ntk_aws_path_check(host + host_bytes) < 0)) {
        return ntk_err_set(
            err, -EINVAL, NTK_ERR_NO_OFFSET,
            "invalid endpoint '%.200s': expected http:// or https://, a host and optionally a path",
            url);
    }
    if (host[host_bytes] == '/' && host[host_bytes + 1] == '\0') {
        url[bytes - 1] = '\0';
    }
    return 0;
}

static int take_text(const char *text, char **out, struct ntk_err *err)
{
    *out = text ? strdup(text) : NULL;
    return !text || *out ? 0 : ntk_err_no_memory(err);
}

/* Reads options, environment and files. Sending looks up what is still unknown. */
static int configure(struct ntk_cloudwatch *c, const struct ntk_cloudwatch_options *options,
                     struct ntk_err *err)
{
    const char *minimum = getenv("AWS_REQUEST_MIN_COMPRESSION_SIZE_BYTES");
    int ret = take_text(options->namespace_name, &c->namespace_name, err);

    c->ca_file = getenv("AWS_CA_BUNDLE");
    c->ca_file = c->ca_file && *c->ca_file ? c->ca_file : NULL;
    c->gzip_bytes_min = GZIP_BYTES_MIN;
    if (ntk_str_is_true(getenv("AWS_DISABLE_REQUEST_COMPRESSION"))) {
        c->gzip_bytes_min = UINT64_MAX;
    } else if (minimum && *minimum && ntk_str_parse_u64(minimum, &c->gzip_bytes_min) < 0) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "AWS_REQUEST_MIN_COMPRESSION_SIZE_BYTES: not a number");
    }
    if (options->region && !ntk_aws_region_is_good(options->region)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "invalid region '%.100s'",
                           options->region);
    }
    ret = ret < 0           ? ret
          : options->region ? take_text(options->region, &c->region, err)
                            : ntk_aws_region_find(c->credentials, &c->region, err);
    ret = ret < 0 ? ret
          : options->endpoint_url
              ? take_text(options->endpoint_url, &c->url, err)
              : ntk_aws_endpoint_find(c->credentials, "CLOUDWATCH", &c->url, err);
    return ret < 0 || !c->url ? ret : check_url(c->url, err);
}

int ntk_cloudwatch_create(const struct ntk_cloudwatch_options *options,
                          struct ntk_cloudwatch **out_cloudwatch, struct ntk_err *err)
{
    struct ntk_cloudwatch *c = calloc(1, sizeof *c);

    if (!c) {
        return ntk_err_no_memory(err);
    }
    const struct ntk_aws_world world = { environment, ask, run, c,
                                         options->clock ? options->clock : ntk_clock_system_get() };
    const struct ntk_outbox_options outbox = { .name = "cloudwatch",
                                               .items = "metrics",
                                               .send = send_request,
                                               .cancel = cancel,
                                               .ctx = c,
                                               .spool_folder = options->spool_folder,
                                               .spool_bytes_max = options->spool_bytes_max,
                                               .clock = options->clock };

    pthread_mutex_init(&c->lock, NULL);
    c->clock = options->clock;
    c->is_high_resolution = options->is_high_resolution;
    c->gather.step_ms = options->is_high_resolution ? SECOND_MS : MINUTE_MS;
    c->gather.metric_mask = options->metric_mask;
    c->gather.deliver = deliver;
    c->gather.ctx = c;
    c->credentials = ntk_aws_credentials_create(&world, options->profile);
    c->client = ntk_http_client_create();
    int ret = c->credentials && c->client ? configure(c, options, err) : ntk_err_no_memory(err);
    ret = ret < 0 ? ret : ntk_outbox_create(&outbox, &c->outbox, err);
    if (ret < 0) {
        ntk_cloudwatch_destroy(c);
        return ret;
    }
    *out_cloudwatch = c;
    return 0;
}
