/* SPDX-License-Identifier: MIT */
/*
 * mlu_ndarray - holds a value of a graph in any memory, like the NDArray in MXNet's executor.
 *
 * A value has at most one array on the host and one tensor per stream (cnml_tensor and mptr in
 * NDArray::Chunk). The value is valid where it was written last, and copied to other places on
 * demand, after the writing stream is done.
 *
 * Owner: the caller provides the storage, mlu_ndarray_fini() frees the content. Threads: one.
 */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_NDARRAY_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_NDARRAY_H

#include "runtime-hooks/mlugraph/mlu_device.h"

/* The queue of one device: mshadow::Stream<mlu>. */
struct mlu_stream {
    const struct mlu_device_ops *ops;
    int32_t device;
    void *handle;
};

struct mlu_chunk {
    const struct mlu_stream *stream;
    void *tensor;
    bool has_buffer;
    bool is_valid;
};

struct mlu_ndarray {
    struct mlu_type type;
    struct mlu_array host; /* created on demand */
    bool is_valid_on_host;
    struct mlu_chunk *chunks;
    uint32_t chunk_count;
};

void mlu_ndarray_fini(struct mlu_ndarray *array);
/* Returns the tensor on the stream, created if missing; NULL with the message in err. */
void *mlu_ndarray_tensor(struct mlu_ndarray *array, const struct mlu_stream *stream,
                         struct ntk_err *err);
/* Allocates memory on the host, with undefined contents. */
int mlu_ndarray_reserve(struct mlu_ndarray *array, struct ntk_err *err);
/* Makes the value valid on the host. */
int mlu_ndarray_to_host(struct mlu_ndarray *array, struct ntk_err *err);
int mlu_ndarray_to_device(struct mlu_ndarray *array, const struct mlu_stream *stream,
                          struct ntk_err *err);
/* Allocates a buffer on the device, to be written. */
int mlu_ndarray_reserve_on_device(struct mlu_ndarray *array, const struct mlu_stream *stream,
                                  struct ntk_err *err);
/* Marks the value as written on the stream (NULL: on the host); it is now valid only there. */
void mlu_ndarray_was_written(struct mlu_ndarray *array, const struct mlu_stream *stream);

#endif
