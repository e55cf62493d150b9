/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/mlugraph/mlu_compute.h"

#include <math.h>
#include <stdlib.h>

#include "runtime-hooks/mlugraph/mlu_compute_private.h"

double *mlu_compute_doubles(const struct mlu_array *array)
{
    double *values = calloc(array->count + 1, sizeof *values);

    for (size_t i = 0; values && i < array->count; i++) {
        values[i] = mlu_array_get(array, i);
    }
    return values;
}

static double activate(enum mlu_active active, double x)
{
    switch (active) {
    case MLU_ACTIVE_SIGMOID:
        return 1 / (1 + exp(-x));
    case MLU_ACTIVE_TANH:
        return tanh(x);
    default: /* a NaN remains a NaN */
        return x < 0 ? 0 : x;
    }
}

static double combine(enum mlu_binary binary, double a, double b)
{
    switch (binary) {
    case MLU_BINARY_ADD:
        return a + b;
    case MLU_BINARY_SUB:
        return a - b;
    case MLU_BINARY_MUL:
        return a * b;
    default:
        return a / b;
    }
}

static void compute_activation(const struct mlu_call *call)
{
    for (size_t i = 0; i < call->out[0]->count; i++) {
        mlu_array_set(call->out[0], i,
                      activate(call->param->active, mlu_array_get(call->in[0], i)));
    }
}

static void compute_scalar(const struct mlu_call *call)
{
    for (size_t i = 0; i < call->out[0]->count; i++) {
        mlu_array_set(
            call->out[0], i,
            combine(call->param->binary, mlu_array_get(call->in[0], i), call->param->scalar));
    }
}

/* Returns the index of the source of an output element, in an input with broadcast dimensions of
 * 1. */
static size_t stretched(const struct mlu_array *out, size_t index, const struct mlu_array *in)
{
    size_t at = 0;
    size_t step = 1;

    for (uint32_t d = out->shape.dim_count; d > 0; d--) {
        size_t place = index % out->shape.dims[d - 1];

        index /= out->shape.dims[d - 1];
        at += in->shape.dims[d - 1] == 1 ? 0 : place * step;
        step *= in->shape.dims[d - 1];
    }
    return at;
}

static void compute_binary(const struct mlu_call *call)
{
    const struct mlu_array *a = call->in[0];
    const struct mlu_array *b = call->in[1];
    struct mlu_array *out = call->out[0];
    bool is_plain = mlu_shape_equal(&a->shape, &b->shape);

    for (size_t i = 0; i < out->count; i++) {
        mlu_array_set(out, i,
                      combine(call->param->binary,
                              mlu_array_get(a, is_plain ? i : stretched(out, i, a)),
                              mlu_array_get(b, is_plain ? i : stretched(out, i, b))));
    }
}

static void compute_batch_norm(const struct mlu_call *call)
{
    const struct mlu_array *x = call->in[0];
    uint32_t axis = 0;
    size_t inner = 1;

    mlu_axis_of(call->param->axis, x->shape.dim_count, &axis);
    for (uint32_t d = axis + 1; d < x->shape.dim_count; d++) {
        inner *= x->shape.dims[d];
    }
    for (size_t i = 0; i < x->count; i++) {
        size_t channel = i / inner % x->shape.dims[axis];
        double gamma = call->param->fix_gamma ? 1 : mlu_array_get(call->in[1], channel);
        double centred = mlu_array_get(x, i) - mlu_array_get(call->in[3], channel);
        double deviation = sqrt(mlu_array_get(call->in[4], channel) + call->param->eps);

        mlu_array_set(call->out[0], i,
                      centred / deviation * gamma + mlu_array_get(call->in[2], channel));
    }
}

/* Normalises one line of numbers to a sum of 1. */
static void softmax_line(const struct mlu_call *call, size_t first, size_t count, size_t step)
{
    double largest = -INFINITY;
    double sum = 0;

    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, mlu_array_get(call->in[0], first + i * step));
    }
    for (size_t i = 0; i < count; i++) {
        sum += exp((mlu_array_get(call->in[0], first + i * step) - largest) /
                   call->param->temperature);
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = first + i * step;

        mlu_array_set(call->out[0], at,
                      exp((mlu_array_get(call->in[0], at) - largest) / call->param->temperature) /
                          sum);
    }
}

static void compute_softmax(const struct mlu_call *call)
{
    const struct mlu_shape *shape = &call->in[0]->shape;
    uint32_t axis = 0;
    size_t count = 1;
    size_t step = 1;

    if (call->in[0]->count == 0) {
        return;
    }
    if (call->param->is_flat_softmax) {
        count = call->in[0]->count / shape->dims[0];
    } else {
        mlu_axis_of(call->param->axis, shape->dim_count, &axis);
        count = shape->dims[axis];
        for (uint32_t d = axis + 1; d < shape->dim_count; d++) {
            step *= shape->dims[d];
        }
    }
    for (size_t outer = 0; outer < call->in[0]->count; outer += count * step) {
        for (size_t inner = 0; inner < step; inner++) {
            softmax_line(call, outer + inner, count, step);
        }
    }
}

static void compute_cast(const struct mlu_call *call)
{
    bool to_float = mlu_dtype_is_float(call->out[0]->dtype);

    for (size_t i = 0; i < call->out[0]->count; i++) {
        double value = mlu_array_get(call->in[0], i);

        /* Convert from float to integer as C does: towards 0. */
        mlu_array_set(call->out[0], i,
                      to_float || call->out[0]->dtype == MLU_DTYPE_BOOL ? value : trunc(value));
    }
}

int mlu_compute(const struct mlu_node *node, const struct mlu_op_param *param,
                const struct mlu_array *const *in, struct mlu_array *const *out,
                struct ntk_err *err)
{
    const struct mlu_call call = { node, param, in, out, err };

    switch (node->op->kind) {
    case MLU_OP_CONVOLUTION:
        return mlu_compute_convolution(&call);
    case MLU_OP_DECONVOLUTION:
        return mlu_compute_deconvolution(&call);
    case MLU_OP_FULLY_CONNECTED:
        return mlu_compute_fully_connected(&call);
    case MLU_OP_POOLING:
        return mlu_compute_pooling(&call);
    case MLU_OP_ACTIVATION:
        compute_activation(&call);
        break;
    case MLU_OP_BATCH_NORM:
        compute_batch_norm(&call);
        break;
    case MLU_OP_SOFTMAX:
        compute_softmax(&call);
        break;
    case MLU_OP_BINARY:
        compute_binary(&call);
        break;
    case MLU_OP_SCALAR:
        compute_scalar(&call);
        break;
    case MLU_OP_CONCAT:
        mlu_compute_concat(&call);
        break;
    case MLU_OP_SPLIT:
        mlu_compute_split(&call);
        break;
    case MLU_OP_TRANSPOSE:
        mlu_compute_transpose(&call);
        break;
    case MLU_OP_CAST:
        compute_cast(&call);
        break;
    case MLU_OP_PAD:
        mlu_compute_pad(&call);
        break;
    case MLU_OP_FLATTEN:
    case MLU_OP_RESHAPE:
    case MLU_OP_IDENTITY:
    case MLU_OP_COPY:
    case MLU_OP_KIND_COUNT:
        mlu_compute_copy(&call);
        break;
    }
    return 0;
}
