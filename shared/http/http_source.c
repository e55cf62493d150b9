/* SPDX-License-Identifier: MIT */
/* http_source - sends a response that is generated while it is sent, compressed on request. */
#include "shared/http/http_source.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "shared/http/http_gzip.h"

#define BLOCK_BYTES ((size_t)64 * 1024)

struct source_reader {
    struct ntk_http_source source;
    z_stream gzip;
    bool has_gzip;
    bool is_complete;    /* the source has no more parts */
    struct ntk_buf part; /* current part from the source */
    struct ntk_buf packed;
    size_t sent_bytes; /* bytes sent of the part, or of its compressed form */
};

static void reader_free(void *ctx)
{
    struct source_reader *reader = ctx;

    reader->source.end(reader->source.ctx);
    if (reader->has_gzip) {
        deflateEnd(&reader->gzip);
    }
    ntk_buf_fini(&reader->part);
    ntk_buf_fini(&reader->packed);
    free(reader);
}

/* The form of the part that the client gets. */
static struct ntk_buf *output_of(struct source_reader *reader)
{
    return reader->has_gzip ? &reader->packed : &reader->part;
}

static int pack(struct source_reader *reader)
{
    z_stream *gzip = &reader->gzip;
    int ret;

    ntk_buf_reset(&reader->packed);
    gzip->next_in = (Bytef *)reader->part.bytes;
    gzip->avail_in = (uInt)reader->part.bytes_count;
    do {
        char *to = ntk_buf_extend(&reader->packed, BLOCK_BYTES);
        if (!to) {
            return -1;
        }
        gzip->next_out = (Bytef *)to;
        gzip->avail_out = (uInt)BLOCK_BYTES;
        ret = deflate(gzip, reader->is_complete ? Z_FINISH : Z_NO_FLUSH);
        reader->packed.bytes_count -= gzip->avail_out;
    } while (ret == Z_OK && gzip->avail_out == 0);
    return ret == Z_OK || ret == Z_STREAM_END || ret == Z_BUF_ERROR ? 0 : -1;
}

static int make_part(struct source_reader *reader)
{
    ntk_buf_reset(&reader->part);
    reader->sent_bytes = 0;
    int ret = reader->source.next(reader->source.ctx, &reader->part);
    if (ret < 0 || !ntk_buf_ok(&reader->part)) {
        return -1;
    }
    reader->is_complete = ret == 0;
    return reader->has_gzip ? pack(reader) : 0;
}

static ssize_t reader_read(void *ctx, uint64_t position, char *to, size_t to_bytes)
{
    struct source_reader *reader = ctx;
    struct ntk_buf *output = output_of(reader);

    (void)position; /* always the next bytes */
    while (reader->sent_bytes == output->bytes_count) {
        if (reader->is_complete) {
            return MHD_CONTENT_READER_END_OF_STREAM;
        }
        if (make_part(reader) < 0) {
            return MHD_CONTENT_READER_END_WITH_ERROR; /* the client then gets no last chunk */
        }
    }
    size_t count = output->bytes_count - reader->sent_bytes;
    count = count < to_bytes ? count : to_bytes;
    memcpy(to, output->bytes + reader->sent_bytes, count);
    reader->sent_bytes += count;
    return (ssize_t)count;
}

struct MHD_Response *http_source_response(const struct ntk_http_source *source)
{
    struct source_reader *reader = calloc(1, sizeof *reader);
    struct MHD_Response *response = NULL;

    if (!reader) {
        source->end(source->ctx);
        return NULL;
    }
    reader->source = *source;
    if (source->is_gzip) {
        reader->has_gzip = ntk_http_gzip_begin(&reader->gzip) == 0;
    }
    if (reader->has_gzip == source->is_gzip) {
        response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, reader_read,
                                                     reader, reader_free);
    }
    if (!response) {
        reader_free(reader);
    }
    return response;
}
