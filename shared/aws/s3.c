/* SPDX-License-Identifier: MIT */
/* s3 - puts objects into a bucket, one request each. */
#include "shared/aws/s3.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/aws/aws_credentials.h"
#include "shared/aws/aws_post.h"
#include "shared/aws/aws_process.h"
#include "shared/aws/aws_sigv4.h"
#include "shared/aws/aws_verdict.h"
#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/str.h"
#include "shared/http/http_client.h"

#define SERVICE "s3"
#define SCHEME "s3://"
#define OTHER_REGION "us-east-1"
#define CONTENT_TYPE "application/vnd.apache.parquet"
#define ANSWER_BYTES_MAX ((size_t)64 * 1024)
/* Time limit for an upload, and the addition per byte: 100 KB/s. */
#define TIMEOUT_NS (60 * NTK_NS_PER_SECOND)
#define TIMEOUT_NS_PER_BYTE UINT64_C(10000)
#define PAUSE_NS_MAX (30 * NTK_NS_PER_SECOND)
#define PAUSE_STEP_NS (100 * NTK_NS_PER_MS)

struct ntk_s3 {
    char *bucket;
    char *prefix;   /* "" or "path/" */
    char *endpoint; /* without a '/' at its end; NULL: AWS */
    char *region;   /* NULL until known */
    const char *ca_file;
    const struct ntk_clock *clock;
    struct ntk_aws_credentials *credentials;
    struct ntk_http_client *client;
    struct ntk_http_answer answer;
    atomic_bool is_stopping;
};

/* ---- access of the key finder to the outside ---- */

static const char *environment(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name); /* constant while the program runs */
}

static int ask(void *ctx, const struct ntk_http_question *question, struct ntk_http_answer *answer,
               struct ntk_err *err)
{
    struct ntk_s3 *s3 = ctx;

    if (atomic_load(&s3->is_stopping)) {
        return ntk_err_set(err, -ECANCELED, NTK_ERR_NO_OFFSET, "canceled: the program is exiting");
    }
    struct ntk_http_question with_authority = *question;
    with_authority.ca_file = question->ca_file ? question->ca_file : s3->ca_file;
    return ntk_http_client_ask(s3->client, &with_authority, answer, err);
}

static bool is_stopping(void *ctx)
{
    struct ntk_s3 *s3 = ctx;

    return atomic_load(&s3->is_stopping);
}

static int run(void *ctx, const char *command, struct ntk_buf *out, struct ntk_err *err)
{
    return ntk_aws_process_run(command, NTK_AWS_PROCESS_NS, is_stopping, ctx, out, err);
}

/* ---- addresses ---- */

static int find_region(struct ntk_s3 *s3, struct ntk_err *err)
{
    if (!s3->region && s3->endpoint) {
        s3->region = strdup(OTHER_REGION);
    } else if (!s3->region) {
        struct ntk_err ignored = { 0 };
        (void)ntk_aws_region_ask(s3->credentials, &s3->region, &ignored);
    }
    return s3->region ? 0
                      : ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET,
                                    "no region for the bucket: use --region");
}

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
    bool is_in_host =
        /* a wildcard certificate does not cover further dots */
        !s3->endpoint && !strchr(s3->bucket, '.');
    char host[96];

    ntk_buf_reset(url);
    if (s3->endpoint) {
        ntk_buf_add_text(url, s3->endpoint);
    } else {
        (void)snprintf(host, sizeof host, "%s%s" SERVICE, is_in_host ? s3->bucket : "",
                       is_in_host ? "." : "");
        char *endpoint = ntk_aws_endpoint_make(s3->credentials, host, s3->region);
        ntk_buf_add_text(url, endpoint ? endpoint : "");
        url->failed = url->failed || !endpoint;
        free(endpoint);
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

struct object {
    const char *url;
    const void *bytes;
    size_t bytes_count;
    char sha256[NTK_AWS_SHA256_BYTES];
    bool keeps;
};

static int put(struct ntk_s3 *s3, const struct object *object, const struct ntk_aws_keys *keys,
               struct ntk_err *err)
{
    const struct ntk_aws_post post = { .method = "PUT",
                                       .url = object->url,
                                       .region = s3->region,
                                       .service = SERVICE,
                                       .keys = keys,
                                       .unix_seconds =
                                           ntk_clock_wall_ns(s3->clock) / NTK_NS_PER_SECOND,
                                       .content_type = CONTENT_TYPE,
                                       .if_none_match = object->keeps ? "*" : NULL,
                                       .body_sha256 = object->sha256,
                                       .body = object->bytes,
                                       .body_bytes = object->bytes_count };
    struct ntk_aws_post_lines lines;

    int ret = ntk_aws_post_sign(&post, &lines, err);
    const struct ntk_http_question question = { .method = "PUT",
                                                .url = object->url,
                                                .headers = lines.lines,
                                                .body = object->bytes,
                                                .body_bytes = object->bytes_count,
                                                .timeout_ns = TIMEOUT_NS + TIMEOUT_NS_PER_BYTE *
                                                                               object->bytes_count,
                                                .answer_bytes_max = ANSWER_BYTES_MAX };
    ret = ret < 0 ? ret : ask(s3, &question, &s3->answer, err);
    ntk_aws_post_fini(&lines);
    return ret;
}

enum outcome { PUT_DONE, PUT_KEPT, PUT_AGAIN, PUT_RENEW, PUT_FAILED };

/* err gives the reason, except for the first two outcomes. */
static enum outcome try_put(struct ntk_s3 *s3, const struct object *object, uint64_t *out_pause_ns,
                            struct ntk_err *err)
{
    static const char *const finals[] = { "NoSuchBucket", "PermanentRedirect", "InvalidBucketName",
                                          "AuthorizationHeaderMalformed", "MethodNotAllowed" };
    const struct ntk_aws_keys *keys;
    struct ntk_aws_error said;

    memset(err, 0, sizeof *err);
    *out_pause_ns = 0;
    int ret = ntk_aws_credentials_get(s3->credentials, &keys, err);
    if (ret < 0) {
        return PUT_FAILED;
    }
    ret = put(s3, object, keys, err);
    if (ret < 0) {
        return ret == -ECANCELED || ret == -EINVAL || ret == -ENOMEM ? PUT_FAILED : PUT_AGAIN;
    }
    long status = s3->answer.status;
    if (status == 412 && object->keeps) {
        return PUT_KEPT;
    }
    ntk_aws_error_parse(ntk_buf_text_get(&s3->answer.body), s3->answer.body.bytes_count, &said);
    enum ntk_aws_verdict verdict = ntk_aws_judge(status, &said);
    if (verdict == NTK_AWS_TAKEN) {
        return PUT_DONE;
    }
    *out_pause_ns = ntk_aws_pause_ns(&s3->answer);
    ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "%.300s: status %ld%s%.80s%s%.140s", object->url,
                status, said.code[0] ? ", " : "", said.code, said.text[0] ? ": " : "", said.text);
    for (size_t i = 0; i < sizeof finals / sizeof *finals; i++) {
        if (strcmp(said.code, finals[i]) == 0) {
            return PUT_FAILED;
        }
    }
    return verdict == NTK_AWS_RENEW     ? PUT_RENEW
           : verdict == NTK_AWS_REFUSED ? PUT_FAILED
                                        : PUT_AGAIN;
}

static void wait_ns(struct ntk_s3 *s3, uint64_t pause_ns)
{
    uint64_t now_ns = ntk_clock_now_ns(s3->clock);

    for (uint64_t end_ns = now_ns + pause_ns; now_ns < end_ns && !atomic_load(&s3->is_stopping);
         now_ns = ntk_clock_now_ns(s3->clock)) {
        uint64_t left_ns = end_ns - now_ns;
        ntk_cond_sleep(s3->clock, now_ns + (left_ns < PAUSE_STEP_NS ? left_ns : PAUSE_STEP_NS));
    }
}

int ntk_s3_put(struct ntk_s3 *s3, const char *path, const void *bytes, size_t bytes_count,
               bool keeps, struct ntk_err *err)
{
    struct object object = { .bytes = bytes, .bytes_count = bytes_count, .keeps = keeps };
    struct ntk_buf url = { 0 };
    struct ntk_err why = { 0 };
    uint64_t pause_ns = NTK_S3_PAUSE_NS;
    bool is_renewed = false;
    enum outcome outcome = PUT_FAILED;

    int ret = find_region(s3, err);
    ret = ret < 0 ? ret : make_url(s3, path, &url, err);
    if (ret < 0 || ntk_aws_sha256(bytes, bytes_count, object.sha256) < 0) {
        ntk_buf_fini(&url);
        return ret < 0 ? ret : ntk_err_no_memory(err);
    }
    object.url = ntk_buf_text_get(&url);
    for (int tries = 1;; tries++) {
        uint64_t asked_ns;
        outcome = try_put(s3, &object, &asked_ns, &why);
        bool renews = outcome == PUT_RENEW && !is_renewed;
        if (outcome == PUT_RENEW) {
            ntk_aws_credentials_forget(s3->credentials);
            is_renewed = true;
        }
        if ((!renews && outcome != PUT_AGAIN) || tries >= NTK_S3_TRIES ||
            atomic_load(&s3->is_stopping)) {
            break;
        }
        if (!renews) {
            wait_ns(s3, asked_ns > pause_ns ? (asked_ns < PAUSE_NS_MAX ? asked_ns : PAUSE_NS_MAX)
                                            : pause_ns);
            pause_ns = pause_ns * 2 < PAUSE_NS_MAX ? pause_ns * 2 : PAUSE_NS_MAX;
        }
    }
    ntk_buf_fini(&url);
    if (outcome == PUT_DONE || outcome == PUT_KEPT) {
        return outcome == PUT_KEPT;
    }
    return ntk_err_set(err, atomic_load(&s3->is_stopping) ? -ECANCELED : why.code,
                       NTK_ERR_NO_OFFSET, "%s", why.text);
}

void ntk_s3_cancel(struct ntk_s3 *s3)
{
    atomic_store(&s3->is_stopping, true);
    ntk_http_client_cancel(s3->client);
}

/* ---- open, close ---- */

void ntk_s3_destroy(struct ntk_s3 *s3)
{
    if (!s3) {
        return;
    }
    ntk_aws_credentials_destroy(s3->credentials);
    ntk_http_client_destroy(s3->client);
    ntk_http_answer_fini(&s3->answer);
    free(s3->bucket);
    free(s3->prefix);
    free(s3->endpoint);
    free(s3->region);
    free(s3);
}

/* Whether HTTP clients leave every part of the path unchanged. */
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

static int check_endpoint(char *url, struct ntk_err *err)
{
    size_t scheme = ntk_str_starts_with(url, "https://")  ? 8
                    : ntk_str_starts_with(url, "http://") ? 7
                                                          : 0;
    size_t bytes = strlen(url);

    while (scheme && bytes > scheme && url[bytes - 1] == '/') {
        url[--bytes] = '\0';
    }
    const char *path = scheme ? strchr(url + scheme, '/') : NULL;
    if (!scheme || bytes == scheme || strpbrk(url + scheme, "@?# \t\r\n") ||
        (path && ntk_aws_path_check(path) < 0)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "invalid endpoint '%.200s': expected http:// or https://, a host and "
                           "optionally a plain path",
                           url);
    }
    return 0;
}

static int take_text(const char *text, char **out, struct ntk_err *err)
{
    *out = strdup(text);
    return *out ? 0 : ntk_err_no_memory(err);
}

static int configure(struct ntk_s3 *s3, const struct ntk_s3_options *options, struct ntk_err *err)
{
    s3->ca_file = getenv("AWS_CA_BUNDLE");
    s3->ca_file = s3->ca_file && *s3->ca_file ? s3->ca_file : NULL;
    if (options->region && !ntk_aws_region_is_good(options->region)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "invalid region '%.100s'",
                           options->region);
    }
    int ret = take_place(s3, options->place, err);
    ret = ret < 0           ? ret
          : options->region ? take_text(options->region, &s3->region, err)
                            : ntk_aws_region_find(s3->credentials, &s3->region, err);
    ret = ret < 0 ? ret
          : options->endpoint_url
              ? take_text(options->endpoint_url, &s3->endpoint, err)
              : ntk_aws_endpoint_find(s3->credentials, "S3", &s3->endpoint, err);
    if (ret == 0 && !s3->endpoint && ntk_str_is_true(getenv("AWS_USE_DUALSTACK_ENDPOINT"))) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "the S3 dual-stack endpoint must be set explicitly: use --endpoint or "
                           "AWS_ENDPOINT_URL_S3");
    }
    return ret < 0 || !s3->endpoint ? ret : check_endpoint(s3->endpoint, err);
}

int ntk_s3_create(const struct ntk_s3_options *options, struct ntk_s3 **out_s3, struct ntk_err *err)
{
    struct ntk_s3 *s3 = calloc(1, sizeof *s3);

    if (!s3) {
        return ntk_err_no_memory(err);
    }
    const struct ntk_aws_world world = { environment, ask, run, s3,
                                         options->clock ? options->clock : ntk_clock_system_get() };
    s3->clock = options->clock;
    s3->credentials = ntk_aws_credentials_create(&world, options->profile);
    s3->client = ntk_http_client_create();
    int ret = s3->credentials && s3->client ? configure(s3, options, err) : ntk_err_no_memory(err);
    if (ret < 0) {
        ntk_s3_destroy(s3);
        return ret;
    }
    *out_s3 = s3;
    return 0;
}
