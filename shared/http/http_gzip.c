/* SPDX-License-Identifier: MIT */
/* http_gzip - one call of zlib each way, with a limit on the way back. */
#include "shared/http/http_gzip.h"

#include <errno.h>
#include <stdint.h>
#include <zlib.h>

/* Speed matters more than size: a page of metrics shrinks to a twentieth at any level. */
#define LEVEL 1
#define WINDOW_BITS_GZIP (15 + 16)

int ntk_http_gzip_begin(z_stream *stream)
{
    *stream = (z_stream){ 0 };
    return deflateInit2(stream, LEVEL, Z_DEFLATED, WINDOW_BITS_GZIP, 8, Z_DEFAULT_STRATEGY) == Z_OK
               ? 0
               : -ENOMEM;
}

int ntk_http_gzip(const void *bytes, size_t bytes_count, struct ntk_buf *out)
{
    z_stream stream;
    size_t before = out->bytes_count;

    if (bytes_count > UINT32_MAX / 2) {
        return -EMSGSIZE;
    }
    if (ntk_http_gzip_begin(&stream) < 0) {
        return -ENOMEM;
    }
    size_t room = deflateBound(&stream, (uLong)bytes_count);
    void *to = ntk_buf_extend(out, room);
    int ret = Z_MEM_ERROR;
    if (to) {
        stream.next_in = (Bytef *)(uintptr_t)bytes;
        stream.avail_in = (uInt)bytes_count;
        stream.next_out = to;
        stream.avail_out = (uInt)room;
        ret = deflate(&stream, Z_FINISH);
        out->bytes_count = before + stream.total_out;
    }
    deflateEnd(&stream);
    return ret == Z_STREAM_END ? 0 : -ENOMEM;
}

int ntk_http_gunzip(const void *bytes, size_t bytes_count, size_t bytes_max, struct ntk_buf *out)
{
    z_stream stream = { .next_in = (Bytef *)(uintptr_t)bytes };
    size_t before = out->bytes_count;

    if (bytes_count > UINT32_MAX / 2 || bytes_max > UINT32_MAX / 2) {
        return -EMSGSIZE;
    }
    void *to = ntk_buf_extend(out, bytes_max);
    if (!to || inflateInit2(&stream, WINDOW_BITS_GZIP) != Z_OK) {
        out->bytes_count = before;
        return -ENOMEM;
    }
    stream.avail_in = (uInt)bytes_count;
    stream.next_out = to;
    stream.avail_out = (uInt)bytes_max;
    int ret = inflate(&stream, Z_FINISH);
    out->bytes_count = before + (ret == Z_STREAM_END ? stream.total_out : 0);
    out->bytes[out->bytes_count] = '\0'; /* more room was reserved than used */
    inflateEnd(&stream);
    return ret == Z_STREAM_END                           ? 0
           : ret == Z_BUF_ERROR && stream.avail_out == 0 ? -EMSGSIZE
                                                         : -EBADMSG;
}
