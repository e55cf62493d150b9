/* SPDX-License-Identifier: MIT */
/* cnml_reference - computes operators on the host, and contains the element-wise ones. */
#include "runtime-hooks/cnml/cnml_internal.h"

#include <math.h>

float cnml_active(int function, float x)
{
    switch (function) {
    case CNML_ACTIVE_SIGMOID:
        return 1.0F / (1.0F + expf(-x));
    case CNML_ACTIVE_RELU:
        return x > 0 ? x : 0;
    case CNML_ACTIVE_TANH:
        return tanhf(x);
    case CNML_ACTIVE_RELU1:
        return x > 1 ? 1 : x > 0 ? x : 0;
    case CNML_ACTIVE_RELU6:
        return x > 6 ? 6 : x > 0 ? x : 0;
    case CNML_HARD_SIGMOID:
        x = 0.2F * x + 0.5F;
        return x > 1 ? 1 : x > 0 ? x : 0;
    default:
        return x;
    }
}

static void softmax(const struct cnml_work *work, const struct cnml_array *in,
                    struct cnml_array *out)
{
    size_t strides[CNML_DIMS];
    size_t count = (size_t)in->dims[work->selector];
    size_t stride;

    cnml_order_strides(CNML_NCHW, in->dims, strides);
    stride = strides[work->selector];
    for (size_t first = 0; first < cnml_elements(in->dims); first++) {
        float greatest = -INFINITY;
        double sum = 0;

        if (first / stride % count != 0) {
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            greatest = fmaxf(greatest, in->values[first + i * stride]);
        }
        for (size_t i = 0; i < count; i++) {
            sum += exp((double)(in->values[first + i * stride] - greatest));
        }
        for (size_t i = 0; i < count; i++) {
            out->values[first + i * stride] =
                (float)(exp((double)(in->values[first + i * stride] - greatest)) / sum);
        }
    }
}

/* The index of the element of b that is combined with element i of a. */
static size_t repeated(size_t i, const int a[CNML_DIMS], const int b[CNML_DIMS])
{
    size_t strides[CNML_DIMS];
    size_t place = 0;

    cnml_order_strides(CNML_NCHW, b, strides);
    for (int d = CNML_DIMS - 1; d >= 0; d--) {
        place += i % (size_t)a[d] % (size_t)b[d] * strides[d];
        i /= (size_t)a[d];
    }
    return place;
}

static void pairs(const struct cnml_work *work, const struct cnml_array *in, struct cnml_array *out)
{
    for (size_t i = 0; i < cnml_elements(out->dims); i++) {
        float a = in[0].values[i];
        float b = in[1].values[repeated(i, in[0].dims, in[1].dims)];

        switch (work->id) {
        case CNML_OP_ADD:
        case CNML_OP_BROADCAST_ADD:
        case CNML_OP_CYCLE_ADD:
            out->values[i] = a + b;
            break;
        case CNML_OP_SUB:
        case CNML_OP_BROADCAST_SUB:
        case CNML_OP_CYCLE_SUB:
            out->values[i] = a - b;
            break;
        case CNML_OP_REAL_DIV:
            out->values[i] = a / b;
            break;
        default:
            out->values[i] = a * b;
        }
    }
}

int cnml_reference_element(const struct cnml_work *work, const struct cnml_array *in,
                           struct cnml_array *out, const struct cnml_array *consts)
{
    size_t area = (size_t)out->dims[CNML_H] * (size_t)out->dims[CNML_W];
    const float *alpha = consts ? consts[CNML_ALPHA_OF].values : NULL;
    const float *beta = consts ? consts[CNML_BETA_OF].values : NULL;

    for (size_t i = 0; i < cnml_elements(out->dims); i++) {
        size_t c = i / area % (size_t)out->dims[CNML_C];
        float x = in->values[i];

        if (work->id == CNML_OP_ACTIVE) {
            x = cnml_active(work->selector, x);
        } else if (work->id == CNML_OP_BATCH_NORM && alpha && beta) {
            x = (x - alpha[c]) * beta[c];
        } else if (work->id == CNML_OP_SCALE) {
            x = x * (alpha ? alpha[c] : 1) + (beta ? beta[c] : 0);
        } else if (work->id == CNML_OP_CAST && work->selector == 9) {
            x = truncf(x);
        }
        out->values[i] = x;
    }
    return CNML_STATUS_SUCCESS;
}

int cnml_reference(const struct cnml_work *work, const struct cnml_array *in, int in_count,
                   struct cnml_array *out, int out_count,
                   const struct cnml_array consts[CNML_CONSTS])
{
    switch (work->id) {
    case CNML_OP_CONV:
    case CNML_OP_CONV_GROUP:
    case CNML_OP_CONV_DEPTHWISE:
    case CNML_OP_CONV_FIRST:
    case CNML_OP_DECONV:
    case CNML_OP_MLP:
        return cnml_reference_conv(work, in, out, consts);
    case CNML_OP_POOL:
    case CNML_OP_L2_POOL:
        return cnml_reference_pool(work, in, out);
    case CNML_OP_SOFTMAX:
        softmax(work, in, out);
        return CNML_STATUS_SUCCESS;
    case CNML_OP_ACTIVE:
    case CNML_OP_BATCH_NORM:
    case CNML_OP_SCALE:
    case CNML_OP_CAST:
        return cnml_reference_element(work, in, out, consts);
    case CNML_OP_ADD_PAD:
    case CNML_OP_CONCAT:
    case CNML_OP_SPLIT:
    case CNML_OP_RESHAPE:
    case CNML_OP_TRANSPOSE:
    case CNML_OP_DEVICE_MEMCPY:
        return cnml_reference_move(work, in, in_count, out, out_count);
    default:
        pairs(work, in, out);
        return CNML_STATUS_SUCCESS;
    }
}
