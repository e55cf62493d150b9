/* SPDX-License-Identifier: MIT */
/* http_body - shared bytes with a reference count. */
#include <stdatomic.h>
#include <stdlib.h>

#include "shared/http/http_gzip.h"
#include "shared/http/http_server.h"

struct ntk_http_body {
    atomic_uint owners;
    size_t bytes_count;
    char *bytes;
};

struct ntk_http_body *ntk_http_body_create(struct ntk_buf *buf)
{
    struct ntk_http_body *body = calloc(1, sizeof *body);

    if (!body || !ntk_buf_ok(buf)) {
        free(body);
        ntk_buf_fini(buf);
        return NULL;
    }
    atomic_init(&body->owners, 1);
    body->bytes = ntk_buf_take(buf, &body->bytes_count);
    return body;
}

void ntk_http_response_put(struct ntk_http_response *response, struct ntk_buf *buf)
{
    response->body = ntk_http_body_create(buf);
    if (!response->body) {
        response->status = 500;
        response->content_type = NULL;
        response->text = "out of memory\n";
    }
}

struct ntk_http_body *ntk_http_body_ref(struct ntk_http_body *body)
{
    if (body) {
        atomic_fetch_add_explicit(&body->owners, 1, memory_order_relaxed);
    }
    return body;
}

void ntk_http_body_unref(struct ntk_http_body *body)
{
    /* acq_rel, so that other owners' reads are complete before the memory is freed. */
    if (body && atomic_fetch_sub_explicit(&body->owners, 1, memory_order_acq_rel) == 1) {
        free(body->bytes);
        free(body);
    }
}

const char *ntk_http_body_bytes_get(const struct ntk_http_body *body, size_t *out_bytes_count)
{
    *out_bytes_count = body->bytes_count;
    return body->bytes ? body->bytes : "";
}

struct ntk_http_body *ntk_http_body_gzip(const struct ntk_http_body *body)
{
    struct ntk_buf out = { 0 };
    size_t bytes_count;
    const char *bytes = ntk_http_body_bytes_get(body, &bytes_count);

    if (ntk_http_gzip(bytes, bytes_count, &out) < 0) {
        ntk_buf_fini(&out);
        return NULL;
    }
    return ntk_http_body_create(&out);
}
