/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/mlugraph/mlu_infer.h"

#include <errno.h>
#include <string.h>

#define BAD(...) ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, __VA_ARGS__)

bool mlu_axis_of(int64_t axis, uint32_t dim_count, uint32_t *out_axis)
{
    int64_t from_start = axis < 0 ? axis + dim_count : axis;

    if (from_start < 0 || from_start >= (int64_t)dim_count) {
        return false;
    }
    *out_axis = (uint32_t)from_start;
    return true;
}

/* Reports an error such as "conv0": an input of shape ... does not fit */
static int bad_shape(const struct mlu_node *node, uint32_t input, const struct mlu_type *type,
                     const char *why, struct ntk_err *err)
{
    char text[MLU_SHAPE_TEXT_BYTES];

    return BAD("node '%s': input %u has the shape %s; %s", node->name, input,
               mlu_shape_text(&type->shape, text), why);
}

static bool has_shape(const struct mlu_type *type, uint32_t dim_count, uint64_t d0, uint64_t d1,
                      uint64_t d2, uint64_t d3)
{
    const uint64_t dims[4] = { d0, d1, d2, d3 };

    return type->shape.dim_count == dim_count &&
           memcmp(type->shape.dims, dims, dim_count * sizeof dims[0]) == 0;
}

static int infer_convolution(const struct mlu_node *node, const struct mlu_op_param *p,
                             const struct mlu_type *const *in, struct mlu_type *out,
                             struct ntk_err *err)
{
    bool transposed = node->op->kind == MLU_OP_DECONVOLUTION;

    if (in[0]->shape.dim_count != 4) {
        return bad_shape(node, 0, in[0], "expected four dimensions", err);
    }
    uint64_t channels = in[0]->shape.dims[1];
    if (channels == 0 || channels % p->num_group != 0 || p->num_filter % p->num_group != 0) {
        return bad_shape(node, 0, in[0],
                         "num_group must divide the numbers of channels and of filters", err);
    }
    if (transposed ? !has_shape(in[1], 4, channels, p->num_filter / p->num_group, p->kernel[0],
                                p->kernel[1])
                   : !has_shape(in[1], 4, p->num_filter, channels / p->num_group, p->kernel[0],
                                p->kernel[1])) {
        return bad_shape(node, 1, in[1], "the weight does not match the data and the attributes",
                         err);
    }
    if (p->has_bias && !has_shape(in[2], 1, p->num_filter, 0, 0, 0)) {
        return bad_shape(node, 2, in[2], "expected one bias value per filter", err);
    }
    out->shape = (struct mlu_shape){ 4, { in[0]->shape.dims[0], p->num_filter } };
    for (int i = 0; i < 2; i++) {
        uint64_t size = in[0]->shape.dims[2 + i];
        uint64_t window = p->dilate[i] * (p->kernel[i] - 1) + 1;

        if (transposed) {
            uint64_t full = size == 0 ? 0 : p->stride[i] * (size - 1) + window + p->adj[i];

            if (full <= 2 * p->pad[i]) {
                return bad_shape(node, 0, in[0], "the output is empty: too much padding", err);
            }
            out->shape.dims[2 + i] = full - 2 * p->pad[i];
        } else {
            if (size + 2 * p->pad[i] < window) {
                return bad_shape(node, 0, in[0], "the kernel is larger than the padded input", err);
            }
            out->shape.dims[2 + i] = (size + 2 * p->pad[i] - window) / p->stride[i] + 1;
        }
    }
    return 0;
}

static int infer_fully_connected(const struct mlu_node *node, const struct mlu_op_param *p,
                                 const struct mlu_type *const *in, struct mlu_type *out,
                                 struct ntk_err *err)
{
    const struct mlu_shape *data = &in[0]->shape;
    uint64_t width;

    if (data->dim_count == 0) {
        return bad_shape(node, 0, in[0], "expected at least one dimension", err);
    }
    if (p->flatten) {
        struct mlu_shape rest = { data->dim_count - 1, { 0 } };

        memcpy(rest.dims, data->dims + 1, rest.dim_count * sizeof rest.dims[0]);
        width = mlu_shape_count(&rest);
        out->shape = (struct mlu_shape){ 2, { data->dims[0], p->num_hidden } };
    } else {
        width = data->dims[data->dim_count - 1];
        out->shape = *data;
        out->shape.dims[data->dim_count - 1] = p->num_hidden;
    }
    if (!has_shape(in[1], 2, p->num_hidden, width, 0, 0)) {
        return bad_shape(node, 1, in[1], "the weight does not match the data and num_hidden", err);
    }
    if (p->has_bias && !has_shape(in[2], 1, p->num_hidden, 0, 0, 0)) {
        return bad_shape(node, 2, in[2], "expected num_hidden bias values", err);
    }
    return 0;
}

static int infer_pooling(const struct mlu_node *node, const struct mlu_op_param *p,
                         const struct mlu_type *const *in, struct mlu_type *out,
                         struct ntk_err *err)
{
    if (in[0]->shape.dim_count != 4) {
        return bad_shape(node, 0, in[0], "expected four dimensions", err);
    }
    out->shape = in[0]->shape;
    for (int i = 0; i < 2; i++) {
        uint64_t size = in[0]->shape.dims[2 + i] + 2 * p->pad[i];

        if (p->is_global) {
            if (in[0]->shape.dims[2 + i] == 0) {
                return bad_shape(node, 0, in[0], "no input to pool", err);
            }
            out->shape.dims[2 + i] = 1;
            continue;
        }
        if (size < p->kernel[i]) {
            return bad_shape(node, 0, in[0], "the window is larger than the padded input", err);
        }
        if (p->pad[i] >= p->kernel[i]) {
            return BAD("node '%s': the padding must be smaller than the window", node->name);
        }
        uint64_t steps = size - p->kernel[i];
        out->shape.dims[2 + i] = (p->is_full ? steps + p->stride[i] - 1 : steps) / p->stride[i] + 1;
    }
    return 0;
}

static int infer_batch_norm(const struct mlu_node *node, const struct mlu_op_param *p,
                            const struct mlu_type *const *in, struct mlu_type *out,
                            struct ntk_err *err)
{
    uint32_t axis;

    if (!mlu_axis_of(p->axis, in[0]->shape.dim_count, &axis)) {
        return bad_shape(node, 0, in[0], "unknown axis", err);
    }
    for (uint32_t i = 1; i < 5; i++) {
        if (!has_shape(in[i], 1, in[0]->shape.dims[axis], 0, 0, 0)) {
            return bad_shape(node, i, in[i], "expected one value per channel", err);
        }
    }
    out->shape = in[0]->shape;
    return 0;
}

static int infer_binary(const struct mlu_node *node, const struct mlu_op_param *p,
                        const struct mlu_type *const *in, struct mlu_type *out, struct ntk_err *err)
{
    const struct mlu_shape *a = &in[0]->shape;
    const struct mlu_shape *b = &in[1]->shape;

    out->shape = *a;
    if (!p->broadcasts) {
        return mlu_shape_equal(a, b)
                   ? 0
                   : bad_shape(node, 1, in[1], "expected the same shape as input 0", err);
    }
    if (a->dim_count != b->dim_count) {
        return bad_shape(node, 1, in[1], "expected as many dimensions as input 0", err);
    }
    for (uint32_t i = 0; i < a->dim_count; i++) {
        if (a->dims[i] != b->dims[i] && a->dims[i] != 1 && b->dims[i] != 1) {
            return bad_shape(node, 1, in[1], "it cannot be broadcast to the shape of input 0", err);
        }
        out->shape.dims[i] = a->dims[i] == 1 ? b->dims[i] : a->dims[i];
    }
    return 0;
}

static int infer_concat(const struct mlu_node *node, const struct mlu_op_param *p,
                        const struct mlu_type *const *in, struct mlu_type *out, struct ntk_err *err)
{
    uint32_t axis;

    if (!mlu_axis_of(p->axis, in[0]->shape.dim_count, &axis)) {
        return bad_shape(node, 0, in[0], "unknown axis", err);
    }
    out->shape = in[0]->shape;
    for (uint32_t i = 1; i < node->input_count; i++) {
        struct mlu_shape rest = in[i]->shape;

        if (rest.dim_count == out->shape.dim_count) {
            rest.dims[axis] = out->shape.dims[axis];
        }
        if (!mlu_shape_equal(&rest, &out->shape) ||
            __builtin_add_overflow(out->shape.dims[axis], in[i]->shape.dims[axis],
                                   &out->shape.dims[axis])) {
            return bad_shape(
                node, i, in[i],
                "it differs from input 0 in rank or in an axis other than the concatenation axis",
                err);
        }
    }
    return 0;
}

static int infer_split(const struct mlu_node *node, const struct mlu_op_param *p,
                       const struct mlu_type *const *in, struct mlu_type *out, struct ntk_err *err)
{
    struct mlu_shape shape = in[0]->shape;
    uint32_t axis;

    if (!mlu_axis_of(p->axis, shape.dim_count, &axis)) {
        return bad_shape(node, 0, in[0], "unknown axis", err);
    }
    if (shape.dims[axis] == 0 || shape.dims[axis] % node->output_count != 0) {
        return bad_shape(node, 0, in[0],
                         "the length of the axis must be a positive multiple of num_outputs", err);
    }
    shape.dims[axis] /= node->output_count;
    if (p->squeezes) {
        if (shape.dims[axis] != 1) {
            return bad_shape(node, 0, in[0], "squeeze_axis requires parts of length 1", err);
        }
        memmove(&shape.dims[axis], &shape.dims[axis + 1],
                (shape.dim_count - axis - 1) * sizeof shape.dims[0]);
        shape.dim_count--;
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        out[i].shape = shape;
    }
    return 0;
}

static void turn_around(int64_t *list, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        int64_t other = list[count - 1 - i];

        list[count - 1 - i] = list[i];
        list[i] = other;
    }
}

/* A reshape during computation from codes to dimensions. */
struct reshape {
    const struct mlu_node *node;
    const struct mlu_type *in;
    struct mlu_shape from;
    uint32_t at; /* index in the source dimensions */
    int64_t codes[MLU_DIMS_MAX * 2];
    uint32_t code_count;
    int64_t dims[MLU_DIMS_MAX];
    uint32_t count;
    int64_t left; /* position of the -1; -1 if none */
};

/* Implements `reverse`: codes and dimensions are matched from the end. */
static int reshape_reverse(struct reshape *r, struct ntk_err *err)
{
    for (uint32_t i = 0; i + 2 < r->code_count; i++) {
        if (r->codes[i] == -4) { /* the two numbers of the code would precede it */
            return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                               "node '%s': reshape with reverse does not support -4",
                               r->node->name);
        }
    }
    turn_around(r->codes, r->code_count);
    for (uint32_t i = 0; i < r->from.dim_count; i++) {
        r->from.dims[i] = r->in->shape.dims[r->from.dim_count - 1 - i];
    }
    return 0;
}

static int reshape_put(struct reshape *r, int64_t dim, struct ntk_err *err)
{
    if (r->count == MLU_DIMS_MAX || (dim == -1 && r->left >= 0)) {
        return BAD("node '%s': attribute shape contains %s", r->node->name,
                   r->count == MLU_DIMS_MAX ? "too many dimensions" : "two -1");
    }
    if (dim == -1) {
        r->left = r->count;
    }
    r->dims[r->count++] = dim;
    return 0;
}

/* Handles code -4: the next two codes divide one dimension; one of them may be -1. */
static int reshape_divide(struct reshape *r, int64_t first, int64_t second, struct ntk_err *err)
{
    int64_t pair[2] = { first, second };
    uint64_t whole = r->from.dims[r->at++];

    for (int k = 0; k < 2; k++) {
        if (pair[k] == -1 && pair[1 - k] > 0) {
            pair[k] = (int64_t)whole / pair[1 - k];
        }
    }
    if (pair[0] < 0 || pair[1] < 0 || (uint64_t)pair[0] * (uint64_t)pair[1] != whole) {
        return bad_shape(r->node, 0, r->in, "the two factors after -4 do not match the dimension",
                         err);
    }
    int ret = reshape_put(r, pair[0], err);
    return ret < 0 ? ret : reshape_put(r, pair[1], err);
}

/* Handles the codes of MXNet: 0 keeps a dimension, -1 is the rest, -2 keeps all others, -3 merges
 * two, -4 splits one in two. */
static int reshape_code(struct reshape *r, uint32_t *index, struct ntk_err *err)
{
    int64_t code = r->codes[*index];
    uint32_t rest = r->from.dim_count > r->at ? r->from.dim_count - r->at : 0;
    uint64_t both;

    if (code == 0 && rest > 0) {
        return reshape_put(r, (int64_t)r->from.dims[r->at++], err);
    }
    if (code == -1 || code > 0) {
        r->at++;
        return reshape_put(r, code, err);
    }
    if (code == -2) {
        while (r->at < r->from.dim_count && r->count < MLU_DIMS_MAX) {
            r->dims[r->count++] = (int64_t)r->from.dims[r->at++];
        }
        return 0;
    }
    if (code == -3 && rest > 1) {
        if (__builtin_mul_overflow(r->from.dims[r->at], r->from.dims[r->at + 1], &both) ||
            both > INT64_MAX) {
            return bad_shape(r->node, 0, r->in, "too large", err);
        }
        r->at += 2;
        return reshape_put(r, (int64_t)both, err);
    }
    if (code == -4 && rest > 0 && *index + 2 < r->code_count) {
        *index += 2;
        return reshape_divide(r, r->codes[*index - 1], r->codes[*index], err);
    }
    return BAD("node '%s': attribute shape does not match %u dimensions", r->node->name,
               r->from.dim_count);
}

/* Computes the dimension for -1 from the unchanged number of elements. */
static int reshape_settle(struct reshape *r, struct ntk_err *err)
{
    uint64_t all = mlu_shape_count(&r->in->shape);
    uint64_t known = 1;

    for (uint32_t i = 0; i < r->count; i++) {
        if ((int64_t)i != r->left && __builtin_mul_overflow(known, (uint64_t)r->dims[i], &known)) {
            return bad_shape(r->node, 0, r->in, "not enough elements", err);
        }
    }
    if (r->left >= 0) {
        if (known == 0 || all % known != 0) {
            return bad_shape(r->node, 0, r->in,
                             "the requested shape does not divide the number of elements", err);
        }
        r->dims[r->left] = (int64_t)(all / known);
        known = all;
    }
    return known == all ? 0
                        : bad_shape(r->node, 0, r->in,
                                    "the requested shape has a different number of elements", err);
}

static int infer_reshape(const struct mlu_node *node, const struct mlu_op_param *p,
                         const struct mlu_type *const *in, struct mlu_type *out,
                         struct ntk_err *err)
{
    struct reshape r = {
        .node = node, .in = in[0], .from = in[0]->shape, .code_count = p->shape_count, .left = -1
    };
    int ret = 0;

    memcpy(r.codes, p->shape, sizeof r.codes);
    if (p->reverse) {
        ret = reshape_reverse(&r, err);
    }
    for (uint32_t i = 0; i < r.code_count && ret == 0; i++) {
        ret = reshape_code(&r, &i, err);
    }
    ret = ret < 0 ? ret : reshape_settle(&r, err);
    if (ret < 0) {
        return ret;
    }
    if (p->reverse) {
        turn_around(r.dims, r.count);
    }
    out->shape.dim_count = r.count;
    for (uint32_t i = 0; i < r.count; i++) {
        out->shape.dims[i] = (uint64_t)r.dims[i];
    }
    return 0;
}

static int infer_transpose(const struct mlu_node *node, const struct mlu_op_param *p,
                           const struct mlu_type *const *in, struct mlu_type *out,
                           struct ntk_err *err)
{
    uint32_t count = in[0]->shape.dim_count;
    uint32_t seen = 0;

    if (p->shape_count != 0 && p->shape_count != count) {
        return bad_shape(node, 0, in[0], "wrong number of axes", err);
    }
    out->shape.dim_count = count;
    for (uint32_t i = 0; i < count; i++) {
        int64_t axis = p->shape_count == 0 ? (int64_t)(count - 1 - i) : p->shape[i];

        if (axis < 0 || axis >= (int64_t)count || seen >> axis & 1) {
            return BAD("node '%s': axes must contain each dimension once", node->name);
        }
        seen |= 1U << axis;
        out->shape.dims[i] = in[0]->shape.dims[axis];
    }
    return 0;
}

static int infer_pad(const struct mlu_node *node, const struct mlu_op_param *p,
                     const struct mlu_type *const *in, struct mlu_type *out, struct ntk_err *err)
{
    if (p->shape_count != 2 * in[0]->shape.dim_count) {
        return bad_shape(node, 0, in[0], "pad_width must have two numbers per dimension", err);
    }
    out->shape = in[0]->shape;
    for (uint32_t i = 0; i < out->shape.dim_count; i++) {
        uint64_t before = (uint64_t)p->shape[2 * i];
        uint64_t after = (uint64_t)p->shape[2 * i + 1];

        if ((before > 0 || after > 0) && p->pad_mode != MLU_PAD_CONSTANT &&
            (out->shape.dims[i] == 0 ||
             (p->pad_mode == MLU_PAD_REFLECT &&
              (before >= out->shape.dims[i] || after >= out->shape.dims[i])))) {
            return bad_shape(node, 0, in[0], "not enough elements to pad with", err);
        }
        out->shape.dims[i] += before + after;
    }
    return 0;
}

/* Infers types: all inputs and outputs have the same type; a Cast has its own. */
static int infer_dtypes(const struct mlu_node *node, const struct mlu_op_param *p,
                        const struct mlu_type *const *in, struct mlu_type *out, struct ntk_err *err)
{
    for (uint32_t i = 1; i < node->input_count; i++) {
        /* MXNet keeps the parameters of a BatchNorm in float32 if its data is float16. */
        if (in[i] && in[i]->dtype != in[0]->dtype && node->op->kind != MLU_OP_BATCH_NORM) {
            return BAD("node '%s': input %u is %s, but input 0 is %s", node->name, i,
                       mlu_dtype_name(in[i]->dtype), mlu_dtype_name(in[0]->dtype));
        }
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        out[i].dtype = node->op->kind == MLU_OP_CAST ? p->dtype : in[0]->dtype;
    }
    return 0;
}

int mlu_infer(const struct mlu_node *node, const struct mlu_op_param *param,
              const struct mlu_type *const *in, struct mlu_type *out, struct ntk_err *err)
{
    uint32_t axis;
    int ret = infer_dtypes(node, param, in, out, err);

    if (ret < 0) {
        return ret;
    }
    switch (node->op->kind) {
    case MLU_OP_CONVOLUTION:
    case MLU_OP_DECONVOLUTION:
        ret = infer_convolution(node, param, in, out, err);
        break;
    case MLU_OP_FULLY_CONNECTED:
        ret = infer_fully_connected(node, param, in, out, err);
        break;
    case MLU_OP_POOLING:
        ret = infer_pooling(node, param, in, out, err);
        break;
    case MLU_OP_BATCH_NORM:
        ret = infer_batch_norm(node, param, in, out, err);
        break;
    case MLU_OP_BINARY:
        ret = infer_binary(node, param, in, out, err);
        break;
    case MLU_OP_CONCAT:
        ret = infer_concat(node, param, in, out, err);
        break;
    case MLU_OP_SPLIT:
        ret = infer_split(node, param, in, out, err);
        break;
    case MLU_OP_RESHAPE:
        ret = infer_reshape(node, param, in, out, err);
        break;
    case MLU_OP_FLATTEN:
        if (in[0]->shape.dim_count == 0) {
            return bad_shape(node, 0, in[0], "expected at least one dimension", err);
        }
        struct mlu_shape rest = { in[0]->shape.dim_count - 1, { 0 } };
        memcpy(rest.dims, in[0]->shape.dims + 1, rest.dim_count * sizeof rest.dims[0]);
        out->shape = (struct mlu_shape){ 2, { in[0]->shape.dims[0], mlu_shape_count(&rest) } };
        break;
    case MLU_OP_TRANSPOSE:
        ret = infer_transpose(node, param, in, out, err);
        break;
    case MLU_OP_PAD:
        ret = infer_pad(node, param, in, out, err);
        break;
    case MLU_OP_SOFTMAX:
        if (param->is_flat_softmax ? in[0]->shape.dim_count == 0
                                   : !mlu_axis_of(param->axis, in[0]->shape.dim_count, &axis)) {
            return bad_shape(node, 0, in[0], "unknown axis", err);
        }
        out->shape = in[0]->shape;
        break;
    default: /* operators element by element */
        out->shape = in[0]->shape;
        break;
    }
    for (uint32_t i = 0; ret == 0 && i < node->output_count; i++) {
        if (mlu_shape_count(&out[i].shape) > MLU_ARRAY_BYTES_MAX / mlu_dtype_bytes(out[i].dtype)) {
            char text[MLU_SHAPE_TEXT_BYTES];

            return ntk_err_set(err, -EFBIG, NTK_ERR_NO_OFFSET,
                               "node '%s': an output of shape %s is larger than 4 GiB", node->name,
                               mlu_shape_text(&out[i].shape, text));
        }
    }
    return ret;
}
