/* SPDX-License-Identifier: MIT */
/* aws_service - the finder of keys with HTTP below it, and a signed request. */
#include "shared/aws/aws_service.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/aws/aws_credentials.h"
#include "shared/aws/aws_process.h"
#include "shared/aws/aws_sigv4.h"
#include "shared/base/clock.h"
#include "shared/base/str.h"
#include "shared/http/http_client.h"

#define ANSWER_BYTES_MAX ((size_t)64 * 1024)
/* The services' own limit is 5 minutes or more; larger differences are corrected in signatures. */
#define SKEW_SECONDS_MAX 240

struct ntk_aws_service {
    const char *name;
    char *endpoint; /* NULL: AWS */
    char *region;   /* NULL until known */
    const char *ca_file;
    const struct ntk_clock *clock;
    struct ntk_aws_credentials *credentials;
    struct ntk_http_client *client;
    struct ntk_http_answer answer;
    int64_t skew_seconds; /* the service's clock minus ours, if the difference is too large */
    atomic_bool is_canceled;
};

/* -- access of the key finder to the outside --------------------------------------------------- */

static const char *environment(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name); /* constant while the program runs */
}

static int ask(void *ctx, const struct ntk_http_question *question, struct ntk_http_answer *answer,
               struct ntk_err *err)
{
    struct ntk_aws_service *service = ctx;

    if (ntk_aws_service_is_canceled(service)) {
        return ntk_err_set(err, -ECANCELED, NTK_ERR_NO_OFFSET, "cancelled: the program is exiting");
    }
    struct ntk_http_question with_authority = *question;
    with_authority.ca_file = question->ca_file ? question->ca_file : service->ca_file;
    return ntk_http_client_ask(service->client, &with_authority, answer, err);
}

static bool is_canceled(void *ctx)
{
    return ntk_aws_service_is_canceled(ctx);
}

static int run(void *ctx, const char *command, struct ntk_buf *out, struct ntk_err *err)
{
    return ntk_aws_process_run(command, NTK_AWS_PROCESS_NS, is_canceled, ctx, out, err);
}

/* -- a request --------------------------------------------------------------------------------- */

static int post(struct ntk_aws_service *service, const struct ntk_aws_post *request,
                uint64_t timeout_ns, struct ntk_aws_reply *out_reply, struct ntk_err *err)
{
    struct ntk_aws_post post = *request;
    struct ntk_aws_post_lines lines;

    *out_reply = (struct ntk_aws_reply){ .verdict = NTK_AWS_REFUSED };
    int ret = ntk_aws_credentials_get(service->credentials, &post.keys, err);
    if (ret < 0) {
        return ret;
    }
    post.method = post.method ? post.method : "POST";
    post.region = service->region;
    post.service = service->name;
    post.unix_seconds =
        ntk_clock_wall_ns(service->clock) / NTK_NS_PER_SECOND + (uint64_t)service->skew_seconds;
    ret = ntk_aws_post_sign(&post, &lines, err);
    const struct ntk_http_question question = { .method = post.method,
                                                .url = post.url,
                                                .headers = lines.lines,
                                                .body = post.body,
                                                .body_bytes = post.body_bytes,
                                                .timeout_ns = timeout_ns,
                                                .answer_bytes_max = ANSWER_BYTES_MAX };
    if (ret >= 0) {
        ret = ask(service, &question, &service->answer, err);
        out_reply->verdict = NTK_AWS_AGAIN;
    }
    ntk_aws_post_fini(&lines);
    return ret;
}

/* Reads the service's clock from a response that rejected ours. */
static void take_skew(struct ntk_aws_service *service)
{
    int64_t now = (int64_t)(ntk_clock_wall_ns(service->clock) / NTK_NS_PER_SECOND);
    uint64_t said;
    char text[64];

    if (ntk_http_answer_header_get(&service->answer, "date", text, sizeof text) &&
        ntk_aws_http_date_parse(text, &said) >= 0) {
        int64_t skew = (int64_t)said - now;
        service->skew_seconds = skew > SKEW_SECONDS_MAX || skew < -SKEW_SECONDS_MAX ? skew : 0;
    }
}

int ntk_aws_service_call(struct ntk_aws_service *service, const struct ntk_aws_post *request,
                         uint64_t timeout_ns, struct ntk_aws_reply *out_reply, struct ntk_err *err)
{
    for (int tries = 1;; tries++) {
        const struct ntk_http_answer *answer = &service->answer;
        struct ntk_aws_error error;
        int ret = post(service, request, timeout_ns, out_reply, err);
        if (ret < 0) {
            return ret;
        }
        ntk_aws_error_parse(ntk_buf_text_get(&answer->body), answer->body.bytes_count, &error);
        *out_reply = (struct ntk_aws_reply){ .verdict = ntk_aws_judge(answer->status, &error),
                                             .status = answer->status,
                                             .pause_ns = ntk_aws_pause_ns(answer) };
        ntk_str_copy(out_reply->code, sizeof out_reply->code, error.code);
        if (out_reply->verdict != NTK_AWS_TAKEN) {
            ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "status %ld%s%.80s%s%.140s", answer->status,
                        error.code[0] ? ", " : "", error.code, error.text[0] ? ": " : "",
                        error.text);
        }
        if (out_reply->verdict != NTK_AWS_RENEW) {
            return 0;
        }
        ntk_aws_credentials_forget(service->credentials);
        take_skew(service);
        if (tries == 2) {
            return 0;
        }
    }
}

void ntk_aws_service_cancel(struct ntk_aws_service *service)
{
    atomic_store(&service->is_canceled, true);
    ntk_http_client_cancel(service->client);
}

bool ntk_aws_service_is_canceled(const struct ntk_aws_service *service)
{
    return atomic_load(&service->is_canceled);
}

/* -- region and address ------------------------------------------------------------------------ */

const char *ntk_aws_service_endpoint_get(const struct ntk_aws_service *service)
{
    return service->endpoint;
}

int ntk_aws_service_region_find(struct ntk_aws_service *service, const char *fallback,
                                struct ntk_err *err)
{
    if (!service->region && fallback) {
        service->region = strdup(fallback);
    } else if (!service->region) {
        struct ntk_err ignored = { 0 };
        (void)ntk_aws_region_ask(service->credentials, &service->region, &ignored);
    }
    return service->region ? 0
                           : ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET,
                                         "no AWS region: set AWS_REGION or use --region");
}

char *ntk_aws_service_url_make(const struct ntk_aws_service *service, const char *prefix)
{
    return ntk_aws_endpoint_make(service->credentials, prefix, service->region);
}

/* -- open, close ------------------------------------------------------------------------------- */

/* Accepts an address that requests can be signed for; removes '/' at its end. */
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
    if (!scheme || bytes == scheme || path == url + scheme || strpbrk(url + scheme, "@?# \t\r\n") ||
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

static int configure(struct ntk_aws_service *service, const struct ntk_aws_service_options *options,
                     struct ntk_err *err)
{
    service->ca_file = getenv("AWS_CA_BUNDLE");
    service->ca_file = service->ca_file && *service->ca_file ? service->ca_file : NULL;
    if (options->region && !ntk_aws_region_is_good(options->region)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "invalid region '%.100s'",
                           options->region);
    }
    int ret = ntk_aws_profile_check(service->credentials, err);
    ret = ret < 0           ? ret
          : options->region ? take_text(options->region, &service->region, err)
                            : ntk_aws_region_find(service->credentials, &service->region, err);
    ret = ret < 0                 ? ret
          : options->endpoint_url ? take_text(options->endpoint_url, &service->endpoint, err)
                                  : ntk_aws_endpoint_find(service->credentials, options->variable,
                                                          &service->endpoint, err);
    return ret < 0 || !service->endpoint ? ret : check_endpoint(service->endpoint, err);
}

int ntk_aws_service_create(const struct ntk_aws_service_options *options,
                           struct ntk_aws_service **out_service, struct ntk_err *err)
{
    struct ntk_aws_service *service = calloc(1, sizeof *service);

    if (!service) {
        return ntk_err_no_memory(err);
    }
    service->name = options->name;
    service->clock = options->clock ? options->clock : ntk_clock_system_get();
    const struct ntk_aws_world world = { environment, ask, run, service, service->clock };
    service->credentials = ntk_aws_credentials_create(&world, options->profile);
    service->client = ntk_http_client_create();
    int ret = service->credentials && service->client ? configure(service, options, err)
                                                      : ntk_err_no_memory(err);
    if (ret < 0) {
        ntk_aws_service_destroy(service);
        return ret;
    }
    *out_service = service;
    return 0;
}

void ntk_aws_service_destroy(struct ntk_aws_service *service)
{
    if (!service) {
        return;
    }
    ntk_aws_credentials_destroy(service->credentials);
    ntk_http_client_destroy(service->client);
    ntk_http_answer_fini(&service->answer);
    free(service->endpoint);
    free(service->region);
    free(service);
}
