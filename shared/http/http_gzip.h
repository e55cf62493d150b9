/* SPDX-License-Identifier: MIT */
/*
 * http_gzip - compresses bytes to gzip and back, for bodies with Content-Encoding: gzip.
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_HTTP_HTTP_GZIP_H
#define NTK_SHARED_HTTP_HTTP_GZIP_H

#include <stddef.h>
#include <zlib.h>

#include "shared/base/buf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Appends a gzip member to out. Returns 0, -ENOMEM, or -EMSGSIZE beyond 2 GiB. */
int ntk_http_gzip(const void *bytes, size_t bytes_count, struct ntk_buf *out);
/* Begins a gzip member. The caller passes its bytes to deflate() in parts. Returns 0 or
 * -ENOMEM. */
int ntk_http_gzip_begin(z_stream *stream);
/* Appends the content of a gzip member. Returns 0, -ENOMEM, -EBADMSG, or -EMSGSIZE beyond bytes_max
 * bytes. */
int ntk_http_gunzip(const void *bytes, size_t bytes_count, size_t bytes_max, struct ntk_buf *out);

#ifdef __cplusplus
}
#endif
#endif
