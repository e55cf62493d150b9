/* SPDX-License-Identifier: MIT */
/* kube_api - sends requests to a Kubernetes API server. */
#include "exporters/kubernetes/kube_api.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/str.h"
#include "shared/http/http_client.h"

#define ACCOUNT_FOLDER "/var/run/secrets/kubernetes.io/serviceaccount"
#define URL_BYTES 2048
#define SAID_BYTES 201

struct ntk_kube_api {
    char *server; /* without a trailing slash */
    const char *token_file;
    const char *ca_file;
    struct ntk_http_client *client;
    struct ntk_http_answer answer;
};

static const char *if_readable(const char *path)
{
    return access(path, R_OK) == 0 ? path : NULL;
}

/* Finds the server in the environment of a pod. */
static int find_server(char *(*find)(const char *), char **out_server, struct ntk_err *err)
{
    const char *host = find("KUBERNETES_SERVICE_HOST");
    const char *port = find("KUBERNETES_SERVICE_PORT");

    if (!host || !*host) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "KUBERNETES_SERVICE_HOST is not set (outside a pod?): use --k8s-api");
    }
    bool is_v6 = strchr(host, ':') && host[0] != '[';
    return asprintf(out_server, "https://%s%s%s:%s", is_v6 ? "[" : "", host, is_v6 ? "]" : "",
                    port && *port ? port : "443") < 0
               ? ntk_err_no_memory(err)
               : 0;
}

int ntk_kube_api_create(const struct ntk_kube_api_options *options, char *(*find)(const char *name),
                        struct ntk_kube_api **out_api, struct ntk_err *err)
{
    struct ntk_kube_api *api = calloc(1, sizeof *api);
    int ret = 0;

    if (!api) {
        return ntk_err_no_memory(err);
    }
    api->token_file = options->token_file;
    api->ca_file = options->ca_file;
    if (options->url) {
        api->server = strdup(options->url);
    } else {
        ret = find_server(find, &api->server, err);
        api->token_file = api->token_file ? api->token_file : ACCOUNT_FOLDER "/token";
        api->ca_file = api->ca_file ? api->ca_file : if_readable(ACCOUNT_FOLDER "/ca.crt");
    }
    api->client = ntk_http_client_create();
    if (ret >= 0 && (!api->server || !api->client)) {
        ret = ntk_err_no_memory(err);
    }
    if (ret < 0 || !api->server) {
        ntk_kube_api_destroy(api);
        return ret;
    }
    while (ntk_str_ends_with(api->server, "/")) {
        api->server[strlen(api->server) - 1] = '\0';
    }
    *out_api = api;
    return 0;
}

void ntk_kube_api_destroy(struct ntk_kube_api *api)
{
    if (!api) {
        return;
    }
    ntk_http_client_destroy(api->client);
    ntk_http_answer_fini(&api->answer);
    free(api->server);
    free(api);
}

void ntk_kube_api_cancel(struct ntk_kube_api *api)
{
    ntk_http_client_cancel(api->client);
}

/* Reads the server's message for a rejected request: the message in a Status object, or the start
 * of the body. */
static void read_said(const struct ntk_http_answer *answer, char said[SAID_BYTES])
{
    json_t *root = json_loadb((const char *)answer->body.bytes, answer->body.bytes_count, 0, NULL);
    const char *message = json_string_value(json_object_get(root, "message"));
    const char *text = message ? message : ntk_buf_text_get(&answer->body);

    ntk_str_copy_clean(said, SAID_BYTES, text, strlen(text));
    json_decref(root);
}

static int judge(const struct ntk_http_answer *answer, const char *what, json_t **out,
                 struct ntk_err *err)
{
    char said[SAID_BYTES];

    if (answer->status / 100 != 2) {
        read_said(answer, said);
        return ntk_err_set(err,
                           answer->status == 404                            ? -ENOENT
                           : answer->status == 409                          ? -EEXIST
                           : answer->status == 401 || answer->status == 403 ? -EACCES
                                                                            : -EREMOTEIO,
                           NTK_ERR_NO_OFFSET, "%s: the API server returned HTTP %ld: %s", what,
                           answer->status, said[0] ? said : "no reason given");
    }
    if (!out) {
        return 0;
    }
    *out = json_loadb((const char *)answer->body.bytes, answer->body.bytes_count, 0, NULL);
    if (json_is_object(*out)) {
        return 0;
    }
    json_decref(*out);
    *out = NULL;
    return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                       "%s: response of the API server is not a JSON object", what);
}

int ntk_kube_api_ask(struct ntk_kube_api *api, const struct ntk_kube_question *question,
                     json_t **out, uint64_t *out_retry_ns, struct ntk_err *err)
{
    char url[URL_BYTES];
    char type[128] = "";
    char what[320];
    const char *headers[] = { "Accept: application/json", question->content_type ? type : NULL,
                              NULL };
    const struct ntk_http_question http = {
        .method = question->method,
        .url = url,
        .headers = headers,
        .body = question->body ? question->body->bytes : NULL,
        .body_bytes = question->body ? question->body->bytes_count : 0,
        .connect_ns = NTK_KUBE_CONNECT_NS,
        .timeout_ns = NTK_KUBE_TIMEOUT_NS,
        .answer_bytes_max = NTK_KUBE_ANSWER_BYTES_MAX,
        .token_file = api->token_file,
        .ca_file = api->ca_file,
    };

    *out_retry_ns = 0;
    if ((size_t)snprintf(url, sizeof url, "%s%s", api->server, question->path) >= sizeof url) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "the address of the API server is too "
                           "long");
    }
    (void)snprintf(type, sizeof type, "Content-Type: %s",
                   question->content_type ? question->content_type : "");
    (void)snprintf(what, sizeof what, "%s %.*s", question->method,
                   (int)strcspn(question->path, "?"), question->path);
    int ret = ntk_http_client_ask(api->client, &http, &api->answer, err);
    if (ret < 0) {
        return ret;
    }
    *out_retry_ns = api->answer.retry_after_ns;
    return judge(&api->answer, what, out, err);
}

bool ntk_kube_is_name(const char *text)
{
    size_t bytes = strlen(text);

    return bytes > 0 && bytes < NTK_KUBE_NAME_BYTES &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.-") == bytes &&
           !strchr(".-", text[0]) && !strchr(".-", text[bytes - 1]);
}
