/* SPDX-License-Identifier: MIT */
/*
 * kube_api - sends requests to a Kubernetes API server: finds its address and the client's
 * identity, and interprets responses.
 *
 * Inside a cluster no option is needed: the environment has the server, one file has the token of
 * the pod's service account (read for each request, because it is renewed), and another the CA
 * certificate.
 *
 * Owner:   create / destroy; the caller owns the document of a response.
 * Threads: one at a time per api; cancel from any.
 */
#ifndef NTK_EXPORTERS_KUBERNETES_KUBE_API_H
#define NTK_EXPORTERS_KUBERNETES_KUBE_API_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_KUBE_CONNECT_NS UINT64_C(5000000000)
#define NTK_KUBE_TIMEOUT_NS UINT64_C(10000000000)
#define NTK_KUBE_ANSWER_BYTES_MAX ((size_t)4 * 1024 * 1024)
#define NTK_KUBE_NAME_BYTES 254 /* size of object names with terminator */

struct ntk_kube_api_options {
    const char *url;        /* NULL: KUBERNETES_SERVICE_HOST and _PORT */
    const char *token_file; /* NULL: the pod's file if url is NULL; else none */
    const char *ca_file;    /* NULL: the pod's file if url is NULL; else the system's authorities */
};

struct ntk_kube_question {
    const char *method;
    const char *path;         /* path such as "/api/v1/..." */
    const char *content_type; /* type of the body; NULL without a body */
    const struct ntk_buf *body;
};

struct ntk_kube_api;

/* -EINVAL: the address of the server is unknown. find is getenv() or a replacement in tests. */
int ntk_kube_api_create(const struct ntk_kube_api_options *options, char *(*find)(const char *name),
                        struct ntk_kube_api **out_api, struct ntk_err *err);
/* Accepts NULL. */
void ntk_kube_api_destroy(struct ntk_kube_api *api);
/* Cancels the current request, or the next request, with -ECANCELED. */
void ntk_kube_api_cancel(struct ntk_kube_api *api);

/*
 * Returns 0 and the object of a 2xx response (out may be NULL). Otherwise returns a message with
 * the request and the server's reason, and -ENOENT (404), -EEXIST (409), -EACCES (401, 403),
 * -EBADMSG (not an object), -EREMOTEIO (any other status), or an error of ntk_http_client_ask().
 * *out_retry_ns: the pause that the server requests, or 0.
 */
int ntk_kube_api_ask(struct ntk_kube_api *api, const struct ntk_kube_question *question,
                     json_t **out, uint64_t *out_retry_ns, struct ntk_err *err);

/* Returns true if text is valid as an object name in a path: lower case letters, digits, '-' and
 * '.', not at its ends, at most 253. */
bool ntk_kube_is_name(const char *text);

#ifdef __cplusplus
}
#endif
#endif
