/* SPDX-License-Identifier: MIT */
/* popef_stream - the data of one blob, inflated if it is compressed. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "shared/base/str.h"
#include "shared/formats/popef/popef_private.h"

#define INPUT_BYTES (64u << 10)

struct popef_stream {
    struct ntk_popef_file *file;
    uint64_t data_offset; /* position in the file */
    uint64_t stored_bytes, full_bytes;
    uint64_t taken;    /* stored bytes that were read */
    uint64_t position; /* position in the full data */
    bool is_compressed;
    bool is_begun;
    bool is_ended; /* the zlib stream, including its checksum, has ended */
    int failed;    /* error that persists */
    struct popef_error error;
    z_stream inflater;
    uint8_t *input; /* INPUT_BYTES bytes */
    char name[64];  /* name in error messages */
};

int ntk_popef_stream_open(struct ntk_popef_file *file, const struct popef_blob *blob,
                          struct popef_stream **out_stream, struct popef_error *err)
{
    struct popef_stream *stream = calloc(1, sizeof *stream);

    if (!stream) {
        return ntk_popef_no_memory(err);
    }
    stream->data_offset = blob->offset + (blob->size - blob->available_read_size);
    stream->stored_bytes = blob->available_read_size;
    stream->full_bytes = blob->data_size;
    stream->is_compressed = blob->is_compressed;
    ntk_str_copy_clean(stream->name, sizeof stream->name, blob->name, strlen(blob->name));
    if (stream->is_compressed) {
        stream->input = malloc(INPUT_BYTES);
        if (!stream->input || inflateInit(&stream->inflater) != Z_OK) {
            free(stream->input);
            free(stream);
            return ntk_popef_no_memory(err);
        }
        stream->is_begun = true;
    }
    stream->file = ntk_popef_file_keep(file);
    *out_stream = stream;
    return 0;
}

void popef_stream_close(struct popef_stream *stream)
{
    if (stream) {
        if (stream->is_begun) {
            (void)inflateEnd(&stream->inflater);
        }
        free(stream->input);
        ntk_popef_file_release(stream->file);
        free(stream);
    }
}

uint64_t popef_stream_size(const struct popef_stream *stream)
{
    return stream->full_bytes;
}

uint64_t popef_stream_left(const struct popef_stream *stream)
{
    return stream->full_bytes - stream->position;
}

static int bad_compression(const struct popef_stream *stream, struct popef_error *err)
{
    return ntk_popef_fail(err, POPEF_ERROR_COMPRESSION, stream->data_offset,
                          "%s: %s: invalid compressed data", stream->file->name, stream->name);
}

/* Inflates into out until it is full or the zlib stream ends; returns the number of bytes. */
static int inflate_some(struct popef_stream *stream, uint8_t *out, size_t bytes_count,
                        size_t *out_given, struct popef_error *err)
{
    z_stream *z = &stream->inflater;
    size_t given = 0;

    while (given < bytes_count && !stream->is_ended) {
        size_t room = bytes_count - given < INT32_MAX ? bytes_count - given : INT32_MAX;

        if (z->avail_in == 0 && stream->taken < stream->stored_bytes) {
            uint64_t left = stream->stored_bytes - stream->taken;
            size_t take = left < INPUT_BYTES ? (size_t)left : INPUT_BYTES;
            int ret = ntk_popef_file_read(stream->file, stream->data_offset + stream->taken,
                                          stream->input, take, err);

            if (ret < 0) {
                return ret;
            }
            stream->taken += take;
            z->next_in = stream->input;
            z->avail_in = (uInt)take;
        }
        z->next_out = out + given;
        z->avail_out = (uInt)room;
        int status = inflate(z, Z_NO_FLUSH);
        given += room - z->avail_out;
        if (status == Z_STREAM_END) {
            stream->is_ended = true;
        } else if (status == Z_MEM_ERROR) {
            return ntk_popef_no_memory(err);
        } else if (status != Z_OK) { /* Z_BUF_ERROR: the stored bytes end before the stream does */
            return bad_compression(stream, err);
        }
    }
    *out_given = given;
    return 0;
}

static int read_inflated(struct popef_stream *stream, uint8_t *to, size_t bytes_count,
                         struct popef_error *err)
{
    uint8_t beyond;
    size_t given = 0;
    int ret = inflate_some(stream, to, bytes_count, &given, err);

    if (ret == 0 && given < bytes_count) {
        ret = bad_compression(stream, err);
    }
    /* Together with the last byte, check that the stream has ended, its checksum is right, and
     * nothing follows. */
    if (ret == 0 && stream->position + bytes_count == stream->full_bytes) {
        ret = inflate_some(stream, &beyond, 1, &given, err);
        if (ret == 0 &&
            (given > 0 || stream->inflater.avail_in > 0 || stream->taken < stream->stored_bytes)) {
            ret = bad_compression(stream, err);
        }
    }
    return ret;
}

int64_t popef_stream_read(struct popef_stream *stream, void *to, size_t bytes_count,
                          struct popef_error *err)
{
    uint64_t left = stream->full_bytes - stream->position;
    struct popef_error own = { 0 };

    if (stream->failed == 0) {
        bytes_count = bytes_count < left ? bytes_count : (size_t)left;
        bytes_count = bytes_count < INT64_MAX ? bytes_count : INT64_MAX;
        stream->failed =
            stream->is_compressed
                ? read_inflated(stream, to, bytes_count, &own)
                : ntk_popef_file_read(stream->file, stream->data_offset + stream->position, to,
                                      bytes_count, &own);
        stream->error = own;
    }
    if (stream->failed < 0) {
        if (err) {
            *err = stream->error;
        }
        return stream->failed;
    }
    stream->position += bytes_count;
    return (int64_t)bytes_count;
}

int popef_stream_seek(struct popef_stream *stream, uint64_t position, struct popef_error *err)
{
    if (stream->is_compressed || position > stream->full_bytes) {
        return ntk_popef_fail(
            err, POPEF_ERROR_ARGUMENT, POPEF_NO_OFFSET, "%s: %s", stream->file->name,
            stream->is_compressed ? "compressed data can only be read from its start"
                                  : "position past the end of the data");
    }
    stream->position = position;
    return 0;
}
