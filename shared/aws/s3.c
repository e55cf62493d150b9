/* SPDX-License-Identifier: MIT */
/* s3 - puts objects into a bucket, one request each. */
#include "shared/aws/s3.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/aws/aws_service.h"
#include "shared/aws/aws_sigv4.h"
#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/str.h"

#define SERVICE "s3"
#define SCHEME "s3://"
#define OTHER_REGION "us-east-1"
#define CONTENT_TYPE "application/vnd.apache.parquet"
/* Time limit for an upload, and the addition per byte: 100 KB/s. */
#define TIMEOUT_NS (60 * NTK_NS_PER_SECOND)
#define TIMEOUT_NS_PER_BYTE UINT64_C(10000)
#define PAUSE_NS_MAX (30 * NTK_NS_PER_SECOND)
#define PAUSE_STEP_NS (100 * NTK_NS_PER_MS)

struct ntk_s3 {
    char *bucket;
    char *prefix; /* "" or "path/" */
    const struct ntk_clock *clock;
    struct ntk_aws_service *service;
};

/* ---- addresses ---- */

/* S3 encodes paths once in signatures and leaves '/' unchanged. */
static void add_encoded(struct ntk_buf *url, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || strchr("-._~/", c);
        ntk_buf_add_format(url, is_plain ? "%c" : "%%%02X", c);
    }
}

static int make_url(struct ntk_s3 *s3, const char *path, struct ntk_buf *url, struct ntk_err *err)
{
    const char *endpoint = ntk_aws_service_endpoint_get(s3->service);
    bool is_in_host = !endpoint && !strchr(s3->bucket, '.'); /* * in a certificate is one label */
    char host[96];

    if (endpoint) {
        ntk_buf_add_text(url, endpoint);
    } else {
        (void)snprintf(host, sizeof host, "%s%s" SERVICE, is_in_host ? s3->bucket : "",
                       is_in_host ? "." : "");
        char *aws = ntk_aws_service_url_make(s3->service, host);
        ntk_buf_add_text(url, aws ? aws : "");
        url->failed = url->failed || !aws;
        free(aws);
    }
    ntk_buf_add_text(url, "/");
    if (!is_in_host) {
        ntk_buf_add_format(url, "%s/", s3->bucket);
    }
    add_encoded(url, s3->prefix);
    add_encoded(url, path);
    return ntk_buf_ok(url) ? 0 : ntk_err_no_memory(err);
}

/* ---- an attempt ---- */

enum outcome { PUT_DONE, PUT_KEPT, PUT_AGAIN, PUT_FAILED };

/* err gives the reason, except for the first two outcomes. */
static enum outcome try_put(struct ntk_s3 *s3, const struct ntk_aws_post *put,
                            uint64_t *out_pause_ns, struct ntk_err *err)
{
    static const char *const finals[] = { "NoSuchBucket", "PermanentRedirect", "InvalidBucketName",
                                          "AuthorizationHeaderMalformed", "MethodNotAllowed" };
    struct ntk_aws_reply reply;

    memset(err, 0, sizeof *err);
    *out_pause_ns = 0;
    int ret = ntk_aws_service_call(s3->service, put,
                                   TIMEOUT_NS + TIMEOUT_NS_PER_BYTE * put->body_bytes, &reply, err);
    if (ret < 0) {
        bool is_final = ret == -ECANCELED || ret == -EINVAL || ret == -ENOMEM;
        return is_final || reply.verdict != NTK_AWS_AGAIN ? PUT_FAILED : PUT_AGAIN;
    }
    if (reply.status == 412 && put->if_none_match) {
        return PUT_KEPT;
    }
    if (reply.verdict == NTK_AWS_TAKEN) {
        return PUT_DONE;
    }
    *out_pause_ns = reply.pause_ns;
    ntk_err_prefix(err, "%.300s", put->url);
    for (size_t i = 0; i < sizeof finals / sizeof *finals; i++) {
        if (strcmp(reply.code, finals[i]) == 0) {
            return PUT_FAILED;
        }
    }
    return reply.verdict == NTK_AWS_AGAIN ? PUT_AGAIN : PUT_FAILED;
}

static int is_canceled(void *ctx)
{
    return ntk_aws_service_is_canceled(ctx);
}

int ntk_s3_put(struct ntk_s3 *s3, const char *path, const void *bytes, size_t bytes_count,
               bool keeps, struct ntk_err *err)
{
    char sha256[NTK_AWS_SHA256_BYTES];
    struct ntk_buf url = { 0 };
    struct ntk_err why = { 0 };
    uint64_t pause_ns = NTK_S3_PAUSE_NS;
    enum outcome outcome;

    int ret = ntk_aws_service_region_find(
        s3->service, ntk_aws_service_endpoint_get(s3->service) ? OTHER_REGION : NULL, err);
    ret = ret < 0 ? ret : make_url(s3, path, &url, err);
    if (ret < 0 || ntk_aws_sha256(bytes, bytes_count, sha256) < 0) {
        ntk_buf_fini(&url);
        return ret < 0 ? ret : ntk_err_no_memory(err);
    }
    const struct ntk_aws_post put = { .method = "PUT",
                                      .url = ntk_buf_text_get(&url),
                                      .content_type = CONTENT_TYPE,
                                      .if_none_match = keeps ? "*" : NULL,
                                      .body_sha256 = sha256,
                                      .body = bytes,
                                      .body_bytes = bytes_count };
    for (int tries = 1;; tries++) {
        uint64_t asked_ns;
        outcome = try_put(s3, &put, &asked_ns, &why);
        if (outcome != PUT_AGAIN || tries >= NTK_S3_TRIES ||
            ntk_aws_service_is_canceled(s3->service)) {
            break;
        }
        uint64_t wait_ns = asked_ns < PAUSE_NS_MAX ? asked_ns : PAUSE_NS_MAX;
        (void)ntk_cond_rounds(s3->clock, wait_ns > pause_ns ? wait_ns : pause_ns, PAUSE_STEP_NS,
                              is_canceled, s3->service);
        pause_ns = pause_ns * 2 < PAUSE_NS_MAX ? pause_ns * 2 : PAUSE_NS_MAX;
    }
    ntk_buf_fini(&url);
    if (outcome == PUT_DONE || outcome == PUT_KEPT) {
        return outcome == PUT_KEPT;
    }
    return ntk_err_set(err, ntk_aws_service_is_canceled(s3->service) ? -ECANCELED : why.code,
                       NTK_ERR_NO_OFFSET, "%s", why.text);
}

void ntk_s3_cancel(struct ntk_s3 *s3)
{
    ntk_aws_service_cancel(s3->service);
}

/* ---- open, close ---- */

void ntk_s3_destroy(struct ntk_s3 *s3)
{
    if (!s3) {
        return;
    }
    ntk_aws_service_destroy(s3->service);
    free(s3->bucket);
    free(s3->prefix);
    free(s3);
}

/* Returns true if HTTP clients keep every part of the path unchanged. */
static bool is_plain_path(const char *path)
{
    while (*path) {
        size_t length = strcspn(path, "/");
        if (length == 0 || (length <= 2 && strspn(path, ".") >= length)) {
            return false;
        }
        path += length;
        path += *path == '/';
    }
    return true;
}

static int take_place(struct ntk_s3 *s3, const char *place, struct ntk_err *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";
    const char *bucket = place + strlen(SCHEME);
    size_t length = strcspn(bucket, "/");
    const char *prefix = bucket + length + (bucket[length] == '/');
    size_t prefix_length = strlen(prefix);

    if (length < 3 || length > 63 || strspn(bucket, letters) < length || bucket[0] == '.' ||
        bucket[0] == '-') {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "invalid bucket in '%.200s': expected s3://BUCKET or s3://BUCKET/PREFIX",
                           place);
    }
    if (!is_plain_path(prefix)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "'%.200s': parts of a prefix must not be empty, '.' or '..'", place);
    }
    prefix_length -= prefix_length && prefix[prefix_length - 1] == '/';
    s3->bucket = strndup(bucket, length);
    return s3->bucket && asprintf(&s3->prefix, "%.*s%s", (int)prefix_length, prefix,
                                  prefix_length ? "/" : "") >= 0
               ? 0
               : ntk_err_no_memory(err);
}

int ntk_s3_create(const struct ntk_s3_options *options, struct ntk_s3 **out_s3, struct ntk_err *err)
{
    struct ntk_s3 *s3 = calloc(1, sizeof *s3);

    if (!s3) {
        return ntk_err_no_memory(err);
    }
    const struct ntk_aws_service_options service = { .name = SERVICE,
                                                     .variable = "S3",
                                                     .endpoint_url = options->endpoint_url,
                                                     .region = options->region,
                                                     .profile = options->profile,
                                                     .clock = options->clock };
    s3->clock = options->clock;
    int ret = take_place(s3, options->place, err);
    ret = ret < 0 ? ret : ntk_aws_service_create(&service, &s3->service, err);
    if (ret == 0 && !ntk_aws_service_endpoint_get(s3->service) &&
        ntk_str_is_true(getenv("AWS_USE_DUALSTACK_ENDPOINT"))) {
        ret =
            ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                        "the S3 dual-stack endpoint must be set explicitly: use --endpoint-url or "
                        "AWS_ENDPOINT_URL_S3");
    }
    if (ret < 0) {
        ntk_s3_destroy(s3);
        return ret;
    }
    *out_s3 = s3;
    return 0;
}
