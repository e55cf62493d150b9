/* SPDX-License-Identifier: MIT */
/* mlu_compute_move - operators that only move elements: concatenate, slice, transpose, pad. */
#include <string.h>

#include "runtime-hooks/mlugraph/mlu_compute_private.h"

static size_t bytes_of(const struct mlu_array *array)
{
    return mlu_dtype_bytes(array->dtype);
}

void mlu_compute_copy(const struct mlu_call *call)
{
    memcpy(call->out[0]->data, call->in[0]->data, call->in[0]->count * bytes_of(call->in[0]));
}

/* Return the number of elements before the axis, and the bytes in one step of those elements. */
static size_t outer_count(const struct mlu_shape *shape, uint32_t axis)
{
    size_t count = 1;

    for (uint32_t d = 0; d < axis; d++) {
        count *= shape->dims[d];
    }
    return count;
}

void mlu_compute_concat(const struct mlu_call *call)
{
    struct mlu_array *out = call->out[0];
    uint32_t axis = 0;
    size_t offset = 0;

    mlu_axis_of(call->param->axis, out->shape.dim_count, &axis);
    size_t outer = outer_count(&out->shape, axis);
    if (out->count == 0) {
        return;
    }
    size_t row = out->count / outer * bytes_of(out);
    for (uint32_t i = 0; i < call->node->input_count; i++) {
        const struct mlu_array *in = call->in[i];
        size_t part = in->count / outer * bytes_of(in);

        for (size_t o = 0; o < outer; o++) {
            memcpy((uint8_t *)out->data + o * row + offset, (const uint8_t *)in->data + o * part,
                   part);
        }
        offset += part;
    }
}

void mlu_compute_split(const struct mlu_call *call)
{
    const struct mlu_array *in = call->in[0];
    uint32_t axis = 0;

    mlu_axis_of(call->param->axis, in->shape.dim_count, &axis);
    size_t outer = outer_count(&in->shape, axis);
    if (in->count == 0) {
        return;
    }
    size_t row = in->count / outer * bytes_of(in);
    size_t part = row / call->node->output_count;
    for (uint32_t i = 0; i < call->node->output_count; i++) {
        for (size_t o = 0; o < outer; o++) {
            memcpy((uint8_t *)call->out[i]->data + o * part,
                   (const uint8_t *)in->data + o * row + i * part, part);
        }
    }
}

/* Advances to the next index in C order. */
static void advance(uint64_t index[MLU_DIMS_MAX], const struct mlu_shape *shape)
{
    for (uint32_t d = shape->dim_count; d > 0 && ++index[d - 1] == shape->dims[d - 1]; d--) {
        index[d - 1] = 0;
    }
}

void mlu_compute_transpose(const struct mlu_call *call)
{
    const struct mlu_array *in = call->in[0];
    struct mlu_array *out = call->out[0];
    uint64_t steps[MLU_DIMS_MAX] = { 0 }; /* steps in the input, per dimension of the output */
    uint64_t index[MLU_DIMS_MAX] = { 0 };
    uint32_t count = in->shape.dim_count;
    size_t bytes = bytes_of(in);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t axis =
            call->param->shape_count == 0 ? count - 1 - i : (uint32_t)call->param->shape[i];

        steps[i] = 1;
        for (uint32_t d = axis + 1; d < count; d++) {
            steps[i] *= in->shape.dims[d];
        }
    }
    for (size_t n = 0; n < out->count; n++) {
        uint64_t at = 0;

        for (uint32_t d = 0; d < count; d++) {
            at += index[d] * steps[d];
        }
        memcpy((uint8_t *)out->data + n * bytes, (const uint8_t *)in->data + at * bytes, bytes);
        advance(index, &out->shape);
    }
}

/* Returns the input index for an index in an output dimension; -1 for the constant. */
static int64_t source_of(enum mlu_pad mode, int64_t place, int64_t before, int64_t size)
{
    int64_t at = place - before;

    if (at >= 0 && at < size) {
        return at;
    }
    switch (mode) {
    case MLU_PAD_EDGE:
        return at < 0 ? 0 : size - 1;
    case MLU_PAD_REFLECT: /* the border itself is not repeated */
        return at < 0 ? -at : 2 * (size - 1) - at;
    default:
        return -1;
    }
}

void mlu_compute_pad(const struct mlu_call *call)
{
    const struct mlu_array *in = call->in[0];
    struct mlu_array *out = call->out[0];
    uint64_t index[MLU_DIMS_MAX] = { 0 };
    size_t bytes = bytes_of(in);

    for (size_t n = 0; n < out->count; n++) {
        uint64_t at = 0;
        bool is_inside = true;

        for (uint32_t d = 0; d < in->shape.dim_count; d++) {
            int64_t source = source_of(call->param->pad_mode, (int64_t)index[d],
                                       call->param->shape[2 * d], (int64_t)in->shape.dims[d]);

            is_inside = is_inside && source >= 0;
            at = at * in->shape.dims[d] + (uint64_t)(source < 0 ? 0 : source);
        }
        if (is_inside) {
            memcpy((uint8_t *)out->data + n * bytes, (const uint8_t *)in->data + at * bytes, bytes);
        } else {
            mlu_array_set(out, n, call->param->scalar);
        }
        advance(index, &out->shape);
    }
}
