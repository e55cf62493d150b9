/* SPDX-License-Identifier: MIT */
#include "shared/http/http_body_response.h"

#include <stdint.h>
#include <string.h>

static void body_free(void *ctx)
{
    ntk_http_body_unref(ctx);
}

#if MHD_VERSION >= 0x00097302
struct MHD_Response *http_body_response(struct ntk_http_body *body)
{
    size_t bytes_count;
    const char *bytes = ntk_http_body_bytes_get(body, &bytes_count);

    return MHD_create_response_from_buffer_with_free_callback_cls(
        bytes_count, (void *)(uintptr_t)bytes, body_free, body);
}
#else
#define BLOCK_BYTES ((size_t)64 * 1024)

static ssize_t body_read(void *ctx, uint64_t at, char *to, size_t bytes_max)
{
    size_t bytes_count;
    const char *bytes = ntk_http_body_bytes_get(ctx, &bytes_count);

    if (at >= bytes_count) {
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    if (bytes_max > bytes_count - at) {
        bytes_max = (size_t)(bytes_count - at);
    }
    memcpy(to, bytes + at, bytes_max);
    return (ssize_t)bytes_max;
}

struct MHD_Response *http_body_response(struct ntk_http_body *body)
{
    size_t bytes_count;

    (void)ntk_http_body_bytes_get(body, &bytes_count);
    return MHD_create_response_from_callback(bytes_count, BLOCK_BYTES, body_read, body, body_free);
}
#endif
