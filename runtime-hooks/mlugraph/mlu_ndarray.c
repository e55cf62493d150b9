/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/mlugraph/mlu_ndarray.h"

#include <errno.h>
#include <stdlib.h>

void mlu_ndarray_fini(struct mlu_ndarray *array)
{
    for (uint32_t i = 0; i < array->chunk_count; i++) {
        array->chunks[i].stream->ops->tensor_destroy(array->chunks[i].tensor);
    }
    free(array->chunks);
    mlu_array_fini(&array->host);
    *array = (struct mlu_ndarray){ 0 };
}

static struct mlu_chunk *chunk_on(struct mlu_ndarray *array, const struct mlu_stream *stream,
                                  struct ntk_err *err)
{
    for (uint32_t i = 0; i < array->chunk_count; i++) {
        if (array->chunks[i].stream == stream) {
            return &array->chunks[i];
        }
    }
    struct mlu_chunk *grown =
        reallocarray(array->chunks, (size_t)array->chunk_count + 1, sizeof *grown);
    if (!grown) {
        ntk_err_no_memory(err);
        return NULL;
    }
    array->chunks = grown;
    struct mlu_chunk *chunk = &grown[array->chunk_count];
    *chunk = (struct mlu_chunk){ .stream = stream };
    if (stream->ops->tensor_create(stream->handle, MLU_TENSOR_DATA, &array->type, &chunk->tensor,
                                   err) < 0) {
        return NULL;
    }
    array->chunk_count++;
    return chunk;
}

void *mlu_ndarray_tensor(struct mlu_ndarray *array, const struct mlu_stream *stream,
                         struct ntk_err *err)
{
    struct mlu_chunk *chunk = chunk_on(array, stream, err);

    return chunk ? chunk->tensor : NULL;
}

int mlu_ndarray_reserve(struct mlu_ndarray *array, struct ntk_err *err)
{
    return array->host.data
               ? 0
               : mlu_array_init(&array->host, array->type.dtype, &array->type.shape, err);
}

int mlu_ndarray_to_host(struct mlu_ndarray *array, struct ntk_err *err)
{
    int ret = 0;

    if (array->is_valid_on_host) {
        return 0;
    }
    for (uint32_t i = 0; i < array->chunk_count; i++) {
        const struct mlu_chunk *chunk = &array->chunks[i];

        if (chunk->is_valid) {
            ret = mlu_ndarray_reserve(array, err);
            ret = ret < 0 ? ret : chunk->stream->ops->stream_wait(chunk->stream->handle, err);
            ret = ret < 0 ? ret
                          : chunk->stream->ops->tensor_download(chunk->tensor, &array->host, err);
            array->is_valid_on_host = ret == 0;
            return ret;
        }
    }
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "a value is read before it is computed");
}

int mlu_ndarray_reserve_on_device(struct mlu_ndarray *array, const struct mlu_stream *stream,
                                  struct ntk_err *err)
{
    struct mlu_chunk *chunk = chunk_on(array, stream, err);
    int ret = 0;

    if (!chunk) {
        return err && err->code < 0 ? err->code : -ENOMEM;
    }
    if (!chunk->has_buffer) {
        ret = stream->ops->tensor_allocate(chunk->tensor, err);
        chunk->has_buffer = ret == 0;
    }
    return ret;
}

int mlu_ndarray_to_device(struct mlu_ndarray *array, const struct mlu_stream *stream,
                          struct ntk_err *err)
{
    int ret = mlu_ndarray_reserve_on_device(array, stream, err);
    struct mlu_chunk *chunk = ret < 0 ? NULL : chunk_on(array, stream, err);

    if (!chunk || chunk->is_valid) {
        return ret;
    }
    ret = mlu_ndarray_to_host(array, err);
    /* A copy is not queued: work queued earlier may still read the data that it overwrites. */
    ret = ret < 0 ? ret : stream->ops->stream_wait(stream->handle, err);
    ret = ret < 0 ? ret : stream->ops->tensor_upload(chunk->tensor, &array->host, err);
    chunk->is_valid = ret == 0;
    return ret;
}

void mlu_ndarray_was_written(struct mlu_ndarray *array, const struct mlu_stream *stream)
{
    array->is_valid_on_host = !stream;
    for (uint32_t i = 0; i < array->chunk_count; i++) {
        array->chunks[i].is_valid = array->chunks[i].stream == stream;
    }
}
