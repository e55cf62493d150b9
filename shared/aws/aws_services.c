/* SPDX-License-Identifier: MIT */
/* aws_services - gets keys from a container's endpoint and from the instance metadata service
 * (IMDSv2 only). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shared/aws/aws_finder.h"
#include "shared/base/buf.h"

#define URL_BYTES 1024
#define HEADER_BYTES (NTK_AWS_VALUE_BYTES_MAX + 64)
#define CONTAINER_HOST "http://169.254.170.2"
#define CONTAINER_TIMEOUT_NS (2 * NTK_NS_PER_SECOND)
#define IMDS_TIMEOUT_NS NTK_NS_PER_SECOND

/* Hosts to which a token may be sent without TLS: this machine, and the container services. */
static bool is_container_host(const char *url)
{
    static const char *const hosts[] = { "localhost", "169.254.170.2", "169.254.170.23",
                                         "[fd00:ec2::23]", "[::1]" };
    const char *host;
    size_t bytes;

    if (!strncmp(url, "https://", 8)) {
        return true;
    }
    if (strncmp(url, "http://", 7) != 0) {
        return false;
    }
    host = url + 7;
    bytes = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/?#");
    if (memchr(host, '@', strcspn(host, "/?#"))) {
        return false;
    }
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        if (bytes == strlen(hosts[i]) && !strncasecmp(host, hosts[i], bytes)) {
            return true;
        }
    }
    /* Accept 127.0.0.0/8 only as numbers: "127.example.org" is another host. */
    return !strncmp(host, "127.", 4) && strspn(host, "0123456789.") == bytes;
}

static int container_token(const struct ntk_aws_credentials *c, char *header, struct ntk_err *err)
{
    const char *path = ntk_aws_variable(c, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const char *said = ntk_aws_variable(c, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
    char token[NTK_AWS_VALUE_BYTES_MAX];

    header[0] = '\0';
    if (path) {
        int ret = ntk_aws_token_read(path, token, err);
        if (ret < 0) {
            return ret;
        }
        said = token;
    }
    if (said && (said[strcspn(said, "\r\n")] || strlen(said) >= NTK_AWS_VALUE_BYTES_MAX)) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                           "AWS_CONTAINER_AUTHORIZATION_TOKEN: invalid token");
    }
    if (said) {
        (void)snprintf(header, HEADER_BYTES, "Authorization: %s", said);
    }
    explicit_bzero(token, sizeof token);
    return 0;
}

int ntk_aws_from_container(struct ntk_aws_credentials *c, struct ntk_aws_keys *keys,
                           struct ntk_err *err)
{
    const char *relative = ntk_aws_variable(c, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = ntk_aws_variable(c, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
    char header[HEADER_BYTES];
    char url[URL_BYTES];
    const char *headers[] = { NULL, NULL };

    if (!relative && !full) {
        return 0;
    }
    int bytes = snprintf(url, sizeof url, "%s%s", relative ? CONTAINER_HOST : "",
                         relative ? relative : full);
    if (bytes < 0 || bytes >= URL_BYTES || (relative && relative[0] != '/')) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "invalid address for the container's credentials");
    }
    if (!is_container_host(url)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither HTTPS nor on this "
                           "machine");
    }
    int ret = container_token(c, header, err);
    if (ret < 0) {
        return ret;
    }
    headers[0] = header[0] ? header : NULL;
    const struct ntk_http_question question = { .url = url,
                                                .headers = headers,
                                                .timeout_ns = CONTAINER_TIMEOUT_NS,
                                                .answer_bytes_max = NTK_AWS_ANSWER_BYTES_MAX,
                                                .no_proxy = true };
    ret = ntk_aws_ask(c, &question, err);
    explicit_bzero(header, sizeof header);
    if (ret >= 0) {
        ret = ntk_aws_keys_from_json(ntk_buf_text_get(&c->answer.body), c->answer.body.bytes_count,
                                     keys, err);
        if (ret < 0) {
            ntk_err_prefix(err, "%.200s", url);
        }
    }
    return ret < 0 ? ret : 1;
}

/* Requests a path below the metadata service's base, with a session token, and returns the body as
 * text without its line end. Returns 1, 0 if the service is off, or negative. */
static int ask_imds(struct ntk_aws_credentials *c, const char *path, struct ntk_err *err)
{
    const char *base = ntk_aws_variable(c, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
    const char *mode = ntk_aws_variable(c, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
    char url[URL_BYTES];
    char header[512];
    const char *headers[] = { "X-aws-ec2-metadata-token-ttl-seconds: 60", NULL };
    struct ntk_http_question question = { .method = "PUT",
                                          .url = url,
                                          .headers = headers,
                                          .timeout_ns = IMDS_TIMEOUT_NS,
                                          .answer_bytes_max = NTK_AWS_ANSWER_BYTES_MAX,
                                          .no_proxy = true };

    if (ntk_aws_is_on(c, "AWS_EC2_METADATA_DISABLED")) {
        return 0;
    }
    if (!base) {
        base =
            mode && !strcasecmp(mode, "ipv6") ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
    }
    int length = (int)strlen(base);
    length -= length && base[length - 1] == '/';
    (void)snprintf(url, sizeof url, "%.*s/latest/api/token", length, base);
    int ret = ntk_aws_ask(c, &question, err);
    if (ret < 0) {
        return ret;
    }
    const char *token = ntk_buf_text_get(&c->answer.body);
    int bytes = snprintf(header, sizeof header, "X-aws-ec2-metadata-token: %s", token);
    if (bytes >= (int)sizeof header || token[strcspn(token, "\r\n")]) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s: invalid token", url);
    }
    headers[0] = header;
    question.method = NULL;
    (void)snprintf(url, sizeof url, "%.*s%s", length, base, path);
    ret = ntk_aws_ask(c, &question, err);
    return ret < 0 ? ret : 1;
}

int ntk_aws_from_instance(struct ntk_aws_credentials *c, struct ntk_aws_keys *keys,
                          struct ntk_err *err)
{
    static const char roles[] = "/latest/meta-data/iam/security-credentials/";
    char path[URL_BYTES / 2];

    int ret = ask_imds(c, roles, err);
    if (ret <= 0) {
        return ret;
    }
    const char *role = ntk_buf_text_get(&c->answer.body);
    int role_bytes = (int)strcspn(role, "\r\n");
    int bytes = snprintf(path, sizeof path, "%s%.*s", roles, role_bytes, role);
    if (!role_bytes || bytes >= (int)sizeof path) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "the instance has no IAM role");
    }
    ret = ask_imds(c, path, err);
    if (ret > 0) {
        ret = ntk_aws_keys_from_json(ntk_buf_text_get(&c->answer.body), c->answer.body.bytes_count,
                                     keys, err);
    }
    return ret < 0 ? ret : 1;
}

int ntk_aws_region_ask(struct ntk_aws_credentials *c, char **out_region, struct ntk_err *err)
{
    *out_region = NULL;
    int ret = ask_imds(c, "/latest/meta-data/placement/region", err);
    if (ret <= 0) {
        return ret;
    }
    const char *text = ntk_buf_text_get(&c->answer.body);
    char *region = strndup(text, strcspn(text, "\r\n"));
    return region ? ntk_aws_region_take(region, out_region, err) : ntk_err_no_memory(err);
}
