/* SPDX-License-Identifier: MIT */
/* aws_sts - keys for a role, in exchange for a token or for other keys. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/aws/aws_finder.h"
#include "shared/aws/aws_post.h"
#include "shared/base/buf.h"

#define SESSION_NAME "neuron-monitor-cloudwatch"
#define CONTENT_TYPE "application/x-www-form-urlencoded; charset=utf-8"
#define TIMEOUT_NS (10 * NTK_NS_PER_SECOND)

static void add_form(struct ntk_buf *body, const char *name, const char *value)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";

    ntk_buf_add_format(body, "&%s=", name);
    for (; *value; value++) {
        if (strchr(plain, *value)) {
            ntk_buf_add_char(body, *value);
        } else {
            ntk_buf_add_format(body, "%%%02X", (unsigned char)*value);
        }
    }
}

/* Finds the address of the service, and the region for which requests are signed. */
static int find_service(const struct ntk_aws_credentials *c, char **out_region, char **out_url,
                        struct ntk_err *err)
{
    char *region = NULL;

    int ret = ntk_aws_region_find(c, &region, err);
    if (ret >= 0 && !region) {
        region = strdup("us-east-1");
        ret = region ? 0 : ntk_err_no_memory(err);
    }
    ret = ret < 0 ? ret : ntk_aws_endpoint_find(c, "STS", out_url, err);
    if (ret >= 0 && !*out_url) {
        *out_url = ntk_aws_endpoint_make(c, "sts", region);
        ret = *out_url ? 0 : ntk_err_no_memory(err);
    }
    if (ret >= 0 && *out_url && !strstr(*out_url, "://")) {
        ret =
            ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "invalid STS endpoint '%.200s'", *out_url);
    }
    if (ret < 0) {
        free(region);
        free(*out_url);
        *out_url = NULL;
        return ret;
    }
    *out_region = region;
    return 0;
}

/* with is NULL for a request that is authorized by a token in its body. */
static int post(struct ntk_aws_credentials *c, const char *url, const char *region,
                const struct ntk_buf *body, const struct ntk_aws_keys *with, struct ntk_err *err)
{
    static const char *const plain[] = { "Content-Type: " CONTENT_TYPE, "Accept: */*", NULL };
    struct ntk_aws_post_lines lines = { 0 };
    int ret = 0;

    if (with) {
        const struct ntk_aws_post post = {
            .url = url,
            .region = region,
            .service = "sts",
            .keys = with,
            .unix_seconds = c->world.clock->realtime_ns(c->world.clock->ctx) / NTK_NS_PER_SECOND,
            .content_type = CONTENT_TYPE,
            .body = body->bytes,
            .body_bytes = body->bytes_count
        };
        ret = ntk_aws_post_sign(&post, &lines, err);
    }
    const struct ntk_http_question question = { .method = "POST",
                                                .url = url,
                                                .headers = with ? lines.lines : plain,
                                                .body = body->bytes,
                                                .body_bytes = body->bytes_count,
                                                .timeout_ns = TIMEOUT_NS,
                                                .answer_bytes_max = NTK_AWS_ANSWER_BYTES_MAX };
    ret = ret < 0 ? ret : ntk_aws_ask(c, &question, err);
    ntk_aws_post_fini(&lines);
    return ret;
}

static int exchange(struct ntk_aws_credentials *c, const struct ntk_buf *body,
                    const struct ntk_aws_keys *with, struct ntk_aws_keys *keys, struct ntk_err *err)
{
    char *region = NULL;
    char *url = NULL;

    int ret = find_service(c, &region, &url, err);
    if (ret >= 0) {
        ret = post(c, url, region, body, with, err);
        if (ret >= 0) {
            ret = ntk_aws_keys_from_sts(ntk_buf_text_get(&c->answer.body),
                                        c->answer.body.bytes_count, keys, err);
            if (ret < 0) {
                ntk_err_prefix(err, "%.200s", url);
            }
        }
    }
    free(region);
    free(url);
    return ret < 0 ? ret : 1;
}

static void begin(const struct ntk_aws_credentials *c, const char *action,
                  const struct ntk_aws_role *role, struct ntk_buf *body)
{
    const char *session =
        role->session_name ? role->session_name : ntk_aws_variable(c, "AWS_ROLE_SESSION_NAME");

    ntk_buf_add_format(body, "Action=%s&Version=2011-06-15", action);
    add_form(body, "RoleArn", role->arn);
    add_form(body, "RoleSessionName", session ? session : SESSION_NAME);
    if (role->duration_seconds) {
        add_form(body, "DurationSeconds", role->duration_seconds);
    }
    if (role->external_id) {
        add_form(body, "ExternalId", role->external_id);
    }
}

static void wipe(struct ntk_buf *body)
{
    if (body->bytes) {
        explicit_bzero(body->bytes, body->bytes_count);
    }
    ntk_buf_fini(body);
}

int ntk_aws_from_identity(struct ntk_aws_credentials *c, const struct ntk_aws_role *role,
                          struct ntk_aws_keys *keys, struct ntk_err *err)
{
    char token[NTK_AWS_VALUE_BYTES_MAX];
    struct ntk_buf body = { 0 };

    int ret = ntk_aws_token_read(role->token_file, token, err);
    if (ret < 0) {
        return ret;
    }
    begin(c, "AssumeRoleWithWebIdentity", role, &body);
    add_form(&body, "WebIdentityToken", token);
    explicit_bzero(token, sizeof token);
    ret = ntk_buf_ok(&body) ? exchange(c, &body, NULL, keys, err) : ntk_err_no_memory(err);
    wipe(&body);
    return ret;
}

int ntk_aws_from_role(struct ntk_aws_credentials *c, const struct ntk_aws_role *role,
                      const struct ntk_aws_keys *with, struct ntk_aws_keys *keys,
                      struct ntk_err *err)
{
    struct ntk_buf body = { 0 };

    begin(c, "AssumeRole", role, &body);
    int ret = ntk_buf_ok(&body) ? exchange(c, &body, with, keys, err) : ntk_err_no_memory(err);
    wipe(&body);
    return ret;
}

int ntk_aws_from_web_identity(struct ntk_aws_credentials *c, struct ntk_aws_keys *keys,
                              struct ntk_err *err)
{
    const struct ntk_aws_role role = { .arn = ntk_aws_variable(c, "AWS_ROLE_ARN"),
                                       .token_file =
                                           ntk_aws_variable(c, "AWS_WEB_IDENTITY_TOKEN_FILE") };

    if (!role.token_file) {
        return 0;
    }
    if (!role.arn) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not");
    }
    return ntk_aws_from_identity(c, &role, keys, err);
}
