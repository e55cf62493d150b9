/* SPDX-License-Identifier: MIT */
/* cnml_shape - computes the output shapes of operators, and checks given shapes. */
#include "runtime-hooks/cnml/cnml_internal.h"

#include <string.h>

static int span(int window, int dilation)
{
    return (window - 1) * dilation + 1;
}

/* The number of windows along one axis; 0 if none fits. */
static int steps(int64_t room, int window, int stride, bool overhangs)
{
    int64_t left = room - window;

    if (left < 0) {
        return 0;
    }
    return (int)((overhangs ? (left + stride - 1) / stride : left / stride) + 1);
}

void cnml_window_dims(const struct cnml_param *param, const int in[CNML_DIMS], int window_h,
                      int window_w, bool overhangs, int out[CNML_DIMS])
{
    out[CNML_N] = in[CNML_N];
    out[CNML_C] = in[CNML_C];
    out[CNML_H] = steps((int64_t)in[CNML_H] + param->top + param->bottom,
                        span(window_h, param->dilation_h), param->stride_h, overhangs);
    out[CNML_W] = steps((int64_t)in[CNML_W] + param->left + param->right,
                        span(window_w, param->dilation_w), param->stride_w, overhangs);
}

static int answer(bool is_good)
{
    return is_good ? CNML_STATUS_SUCCESS : CNML_STATUS_INVALIDPARAM;
}

/* Returns true if the shape has one value per channel. */
static bool is_channel(const int *dims, int channels)
{
    return !dims ||
           (cnml_elements(dims) == (size_t)channels &&
            (dims[CNML_C] == channels || dims[CNML_N] == channels || dims[CNML_W] == channels));
}

static int check_conv(const struct cnml_work *work, const int *in, const int *out,
                      const int *const consts[CNML_CONSTS])
{
    const int *filter = consts[CNML_FILTER_OF];
    int expected[CNML_DIMS];
    int group = work->group;
    bool is_depthwise = work->id == CNML_OP_CONV_DEPTHWISE;
    int channels;

    if (work->id == CNML_OP_DECONV) {
        expected[CNML_N] = in[CNML_N];
        expected[CNML_H] = (in[CNML_H] - 1) * work->param.stride_h + filter[CNML_H] -
                           work->param.top - work->param.bottom;
        expected[CNML_W] = (in[CNML_W] - 1) * work->param.stride_w + filter[CNML_W] -
                           work->param.left - work->param.right;
    } else {
        cnml_window_dims(&work->param, in, filter[CNML_H], filter[CNML_W], false, expected);
    }
    /* A depthwise filter has one row per channel, in its first or second dimension. */
    if (is_depthwise) {
        channels = filter[CNML_N] * filter[CNML_C];
        expected[CNML_C] = channels;
        if (channels % in[CNML_C] != 0 || (filter[CNML_N] != 1 && filter[CNML_C] != 1)) {
            return CNML_STATUS_INVALIDPARAM;
        }
    } else {
        expected[CNML_C] = filter[CNML_N];
        if (in[CNML_C] % group != 0 || filter[CNML_N] % group != 0 ||
            filter[CNML_C] != in[CNML_C] / group) {
            return CNML_STATUS_INVALIDPARAM;
        }
    }
    return answer(expected[CNML_H] > 0 && expected[CNML_W] > 0 && cnml_same_dims(expected, out) &&
                  is_channel(consts[CNML_BIAS_OF], expected[CNML_C]) &&
                  (!consts[CNML_MEAN_OF] || is_channel(consts[CNML_MEAN_OF], in[CNML_C]) ||
                   cnml_elements(consts[CNML_MEAN_OF]) == cnml_elements(in) / (size_t)in[CNML_N]) &&
                  is_channel(consts[CNML_STD_OF], in[CNML_C]));
}

static int check_mlp(const int *in, const int *out, const int *const consts[CNML_CONSTS])
{
    const int *filter = consts[CNML_FILTER_OF];
    size_t depth = cnml_elements(in) / (size_t)in[CNML_N];

    return answer(
        cnml_elements(filter) == depth * (size_t)filter[CNML_N] && out[CNML_N] == in[CNML_N] &&
        cnml_elements(out) == (size_t)out[CNML_N] * (size_t)filter[CNML_N] &&
        out[CNML_C] == filter[CNML_N] && is_channel(consts[CNML_BIAS_OF], filter[CNML_N]));
}

/* Returns true if b can be repeated along the axes where it is smaller. */
static bool broadcasts(const int *a, const int *b, bool cycles)
{
    for (int i = 0; i < CNML_DIMS; i++) {
        if (b[i] != a[i] && b[i] != 1 && (!cycles || a[i] % b[i] != 0)) {
            return false;
        }
    }
    return true;
}

int cnml_list_axis(int mode)
{
    static const int axes[] = { CNML_C, CNML_N, CNML_H, CNML_W };

    return mode >= 0 && mode < 4 ? axes[mode] : -1;
}

static int check_list(const struct cnml_work *work, const int (*parts)[CNML_DIMS], int count,
                      const int *whole)
{
    int axis = cnml_list_axis(work->param.mode);
    int64_t sum = 0;

    if (axis < 0) {
        return CNML_STATUS_INVALIDARG;
    }
    for (int i = 0; i < count; i++) {
        for (int d = 0; d < CNML_DIMS; d++) {
            if (d != axis && parts[i][d] != whole[d]) {
                return CNML_STATUS_INVALIDPARAM;
            }
        }
        sum += parts[i][axis];
    }
    return answer(sum == whole[axis]);
}

bool cnml_transpose_axes(const int in[CNML_DIMS], const int out[CNML_DIMS], int axes[CNML_DIMS])
{
    /* Orders that keep height and width first, then the others in lexical order, the identity
     * last. */
    static const char *const orders[] = { "0132", "0213", "0231", "0312", "0321", "1023",
                                          "1032", "1203", "1230", "1302", "1320", "2013",
                                          "2031", "2103", "2130", "2301", "2310", "3012",
                                          "3021", "3102", "3120", "3201", "3210", "0123" };

    for (size_t o = 0; o < sizeof orders / sizeof orders[0]; o++) {
        bool fits = true;

        for (int i = 0; i < CNML_DIMS; i++) {
            axes[i] = orders[o][i] - '0';
            fits = fits && out[i] == in[axes[i]];
        }
        if (fits) {
            return true;
        }
    }
    return false;
}

int cnml_shapes_check(const struct cnml_work *work, const int (*in)[CNML_DIMS], int in_count,
                      const int (*out)[CNML_DIMS], int out_count,
                      const int *const consts[CNML_CONSTS])
{
    const struct cnml_param *param = &work->param;
    int expected[CNML_DIMS];
    int axes[CNML_DIMS];

    switch (work->id) {
    case CNML_OP_CONV:
    case CNML_OP_CONV_GROUP:
    case CNML_OP_CONV_DEPTHWISE:
    case CNML_OP_CONV_FIRST:
    case CNML_OP_DECONV:
        return check_conv(work, in[0], out[0], consts);
    case CNML_OP_MLP:
        return check_mlp(in[0], out[0], consts);
    case CNML_OP_POOL:
    case CNML_OP_L2_POOL:
        cnml_window_dims(param, in[0], param->window_h, param->window_w,
                         param->strategy == CNML_POOL_KFULL, expected);
        return answer(expected[CNML_H] > 0 && expected[CNML_W] > 0 &&
                      cnml_same_dims(expected, out[0]));
    case CNML_OP_ADD_PAD:
        memcpy(expected, in[0], sizeof expected);
        expected[CNML_H] += param->top + param->bottom;
        expected[CNML_W] += param->left + param->right;
        return answer(cnml_same_dims(expected, out[0]));
    case CNML_OP_ACTIVE:
    case CNML_OP_SOFTMAX:
    case CNML_OP_CAST:
        return answer(cnml_same_dims(in[0], out[0]));
    case CNML_OP_DEVICE_MEMCPY:
        return answer(cnml_elements(in[0]) == cnml_elements(out[0]));
    case CNML_OP_BATCH_NORM:
    case CNML_OP_SCALE:
        return answer(cnml_same_dims(in[0], out[0]) &&
                      is_channel(consts[CNML_ALPHA_OF], in[0][CNML_C]) &&
                      is_channel(consts[CNML_BETA_OF], in[0][CNML_C]));
    case CNML_OP_ADD:
    case CNML_OP_SUB:
    case CNML_OP_MULT:
    case CNML_OP_REAL_DIV:
        return answer(cnml_same_dims(in[0], in[1]) && cnml_same_dims(in[0], out[0]));
    case CNML_OP_BROADCAST_ADD:
    case CNML_OP_BROADCAST_SUB:
    case CNML_OP_BROADCAST_MULT:
        return answer(cnml_same_dims(in[0], out[0]) && broadcasts(in[0], in[1], false));
    case CNML_OP_CYCLE_ADD:
    case CNML_OP_CYCLE_SUB:
    case CNML_OP_CYCLE_MULT:
        return answer(cnml_same_dims(in[0], out[0]) && broadcasts(in[0], in[1], true));
    case CNML_OP_CONCAT:
        return out_count == 1 ? check_list(work, in, in_count, out[0]) : CNML_STATUS_INVALIDARG;
    case CNML_OP_SPLIT:
        return in_count == 1 ? check_list(work, out, out_count, in[0]) : CNML_STATUS_INVALIDARG;
    case CNML_OP_RESHAPE:
        return answer(cnml_elements(in[0]) == cnml_elements(param->dims) &&
                      cnml_same_dims(param->dims, out[0]));
    case CNML_OP_TRANSPOSE:
        return answer(cnml_transpose_axes(in[0], out[0], axes));
    default:
        return CNML_STATUS_UNSUPPORT;
    }
}
