/* SPDX-License-Identifier: MIT */
/* mlu_cnml_ops - expresses operators of MXNet in operators of CNML: the operators, parameters and
 * constants. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/mlugraph/mlu_device_cnml.h"

static struct mlu_cnml_internal_op *add_internal(struct mlu_cnml_op *op, enum mlu_cnml_form form,
                                                 struct mlu_cnml_tensor **in, int in_count,
                                                 struct mlu_cnml_tensor **out, int out_count)
{
    struct mlu_cnml_internal_op *internal = &op->internal_ops[op->internal_count++];

    *internal = (struct mlu_cnml_internal_op){
        .form = form, .in = in, .in_count = in_count, .out = out, .out_count = out_count
    };
    return internal;
}

static struct mlu_cnml_internal_op *add_one(struct mlu_cnml_op *op,
                                            __typeof__(cnmlComputeActiveOpForward_V3) *forward)
{
    struct mlu_cnml_internal_op *internal = add_internal(op, FORM_ONE, op->in, 1, op->out, 1);

    internal->forward.one = forward;
    return internal;
}

/* Creates a constant that is computed from bound constants: returns its tensor, or NULL with a
 * message. */
static struct mlu_cnml_tensor *derive(struct mlu_cnml_op *op, enum mlu_tensor_kind kind,
                                      enum mlu_dtype dtype, const struct mlu_shape *shape,
                                      double (*value)(const struct mlu_cnml_op *op, size_t index),
                                      struct ntk_err *err)
{
    const struct mlu_type type = { dtype, *shape };
    void *tensor = NULL;

    if (mlu_cnml_tensor_create(op->stream, kind, &type, &tensor, err) < 0) {
        return NULL;
    }
    op->derived[op->derived_count++] = (struct mlu_cnml_derived){ tensor, value };
    return tensor;
}

/* Returns the handles of an operator's constant inputs; NULL for other inputs. */
static cnmlTensor_t constant_of(const struct mlu_cnml_op *op, uint32_t input)
{
    return input < op->node->input_count && op->in[input] ? op->in[input]->handle : NULL;
}

static int create_conv(struct mlu_cnml_op *op, struct ntk_err *err)
{
    const struct mlu_op_param *p = op->param;
    cnmlConvOpParam_t param = NULL;
    cnmlTensor_t bias = p->has_bias ? constant_of(op, 2) : NULL;
    cnmlStatus_t status;

    status = mlu_cnml.cnmlCreateConvOpParam(&param, (int)p->stride[0], (int)p->stride[1],
                                            (int)p->dilate[0], (int)p->dilate[1],
                                            2 * (int)p->pad[0], 2 * (int)p->pad[1], CNML_NoSparse);
    if (status == CNML_STATUS_SUCCESS && p->num_group > 1) {
        struct mlu_cnml_internal_op *i = add_one(op, mlu_cnml.cnmlComputeConvGroupOpForward_V3);

        status =
            mlu_cnml.cnmlCreateConvGroupOp(&i->handle, param, op->in[0]->handle, op->out[0]->handle,
                                           op->in[1]->handle, bias, (int)p->num_group);
    } else if (status == CNML_STATUS_SUCCESS) {
        struct mlu_cnml_internal_op *i = add_one(op, mlu_cnml.cnmlComputeConvOpForward_V3);

        status = mlu_cnml.cnmlCreateConvOp(&i->handle, param, op->in[0]->handle, op->out[0]->handle,
                                           op->in[1]->handle, bias);
    }
    if (param) {
        (void)mlu_cnml.cnmlDestroyConvOpParam(&param);
    }
    return mlu_cnml_answer(status, "cnmlCreateConvOp", op->node->name, err);
}

/* Returns an element of a filter in which MXNet has the input channels first, CNML the output
 * channels. */
static double turned_filter(const struct mlu_cnml_op *op, size_t index)
{
    const struct mlu_array *weight = &op->in[1]->value;
    const uint64_t *dims = weight->shape.dims;
    size_t window = dims[2] * dims[3];
    size_t in = index / window % dims[0];
    size_t out = index / window / dims[0];

    return mlu_array_get(weight, (in * dims[1] + out) * window + index % window);
}

static int create_deconv(struct mlu_cnml_op *op, struct ntk_err *err)
{
    const struct mlu_op_param *p = op->param;
    const uint64_t *dims = op->in[1]->type.shape.dims;
    const struct mlu_shape shape = { 4, { dims[1], dims[0], dims[2], dims[3] } };
    cnmlDeconvOpParam_t param = NULL;
    cnmlStatus_t status;

    if (p->num_group > 1 || p->dilate[0] > 1 || p->dilate[1] > 1 || p->adj[0] > p->pad[0] ||
        p->adj[1] > p->pad[1]) {
        return UNSUPPORTED("node '%s': CNML does not support Deconvolution with groups, with "
                           "dilation, or with adj greater than pad",
                           op->node->name);
    }
    struct mlu_cnml_tensor *filter =
        derive(op, MLU_TENSOR_FILTER, op->in[1]->type.dtype, &shape, turned_filter, err);
    if (!filter) {
        return -EIO;
    }
    status = mlu_cnml.cnmlCreateDeconvOpParam(&param, (int)p->stride[0], (int)p->stride[1],
                                              (int)p->pad[0], (int)(p->pad[0] - p->adj[0]),
                                              (int)p->pad[1], (int)(p->pad[1] - p->adj[1]));
    if (status == CNML_STATUS_SUCCESS) {
        struct mlu_cnml_internal_op *i = add_one(op, mlu_cnml.cnmlComputeDeConvOpForward_V3);

        status =
            mlu_cnml.cnmlCreateDeconvOp(&i->handle, param, op->in[0]->handle, op->out[0]->handle,
                                        filter->handle, p->has_bias ? constant_of(op, 2) : NULL, 0);
    }
    if (param) {
        (void)mlu_cnml.cnmlDestroyDeconvOpParam(&param);
    }
    return mlu_cnml_answer(status, "cnmlCreateDeconvOp", op->node->name, err);
}

static int create_mlp(struct mlu_cnml_op *op, struct ntk_err *err)
{
    if (!op->param->flatten && op->in[0]->type.shape.dim_count > 2) {
        return UNSUPPORTED("node '%s': CNML does not support FullyConnected without flatten",
                           op->node->name);
    }
    struct mlu_cnml_internal_op *i = add_one(op, mlu_cnml.cnmlComputeMlpOpForward_V3);
    return mlu_cnml_answer(mlu_cnml.cnmlCreateMlpOp(
                               &i->handle, op->in[0]->handle, op->out[0]->handle, op->in[1]->handle,
                               op->param->has_bias ? constant_of(op, 2) : NULL, CNML_NoSparse),
                           "cnmlCreateMlpOp", op->node->name, err);
}

/* Returns true if a window extends beyond the padding, which MXNet does not count. */
static bool overhangs(const struct mlu_cnml_op *op)
{
    const struct mlu_op_param *p = op->param;

    for (int i = 0; i < 2; i++) {
        uint64_t last = (op->out[0]->type.shape.dims[2 + i] - 1) * p->stride[i] + p->kernel[i];

        if (last > op->in[0]->type.shape.dims[2 + i] + 2 * p->pad[i]) {
            return true;
        }
    }
    return false;
}

static int create_pool(struct mlu_cnml_op *op, struct ntk_err *err)
{
    const struct mlu_op_param *p = op->param;
    const uint64_t *dims = op->in[0]->type.shape.dims;
    cnmlPoolOpParam_t param = NULL;
    cnmlStatus_t status;

    if (p->pool == MLU_POOL_SUM ||
        (p->pool == MLU_POOL_AVG && !p->is_global && p->counts_padding && overhangs(op))) {
        return UNSUPPORTED("node '%s': CNML does not support sum pooling, or average pooling that "
                           "counts padding in windows beyond it",
                           op->node->name);
    }
    status = mlu_cnml.cnmlCreatePoolOpParam(
        &param, p->is_global ? (int)dims[2] : (int)p->kernel[0],
        p->is_global ? (int)dims[3] : (int)p->kernel[1], p->is_global ? 1 : (int)p->stride[0],
        p->is_global ? 1 : (int)p->stride[1], p->is_global ? 0 : 2 * (int)p->pad[0],
        p->is_global ? 0 : 2 * (int)p->pad[1], 1, 1,
        p->pool == MLU_POOL_MAX ? CNML_POOL_MAX : CNML_POOL_AVG,
        p->is_full ? CNML_POOL_KFULL : CNML_POOL_KVALID, !p->counts_padding);
    if (status == CNML_STATUS_SUCCESS) {
        struct mlu_cnml_internal_op *i = add_one(op, mlu_cnml.cnmlComputePoolOpForward_V3);

        status =
            mlu_cnml.cnmlCreatePoolOp(&i->handle, param, op->in[0]->handle, op->out[0]->handle);
    }
    if (param) {
        (void)mlu_cnml.cnmlDestroyPoolOpParam(&param);
    }
    return mlu_cnml_answer(status, "cnmlCreatePoolOp", op->node->name, err);
}

static double inverse_deviation(const struct mlu_cnml_op *op, size_t index)
{
    return 1 / sqrt(mlu_array_get(&op->in[4]->value, index) + op->param->eps);
}
static double bound_mean(const struct mlu_cnml_op *op, size_t index)
{
    return mlu_array_get(&op->in[3]->value, index);
}
static double bound_gamma(const struct mlu_cnml_op *op, size_t index)
{
    return op->param->fix_gamma ? 1 : mlu_array_get(&op->in[1]->value, index);
}
static double bound_beta(const struct mlu_cnml_op *op, size_t index)
{
    return mlu_array_get(&op->in[2]->value, index);
}

/* Creates two operators of CNML: (x - mean) / deviation, then times gamma plus beta. */
static int create_batch_norm(struct mlu_cnml_op *op, struct ntk_err *err)
{
    enum mlu_dtype dtype = op->in[0]->type.dtype;
    const struct mlu_shape *shape = &op->in[1]->type.shape;
    void *between = NULL;
    uint32_t axis;
    int ret;

    if (!mlu_axis_of(op->param->axis, op->in[0]->type.shape.dim_count, &axis) || axis != 1) {
        return UNSUPPORTED("node '%s': CNML supports BatchNorm only over channels", op->node->name);
    }
    ret = mlu_cnml_tensor_create(op->stream, MLU_TENSOR_DATA, &op->in[0]->type, &between, err);
    if (ret < 0 || !between) {
        return ret;
    }
    op->inter_data = between;
    struct mlu_cnml_tensor *mean = derive(op, MLU_TENSOR_CONST, dtype, shape, bound_mean, err);
    struct mlu_cnml_tensor *var =
        derive(op, MLU_TENSOR_CONST, dtype, shape, inverse_deviation, err);
    struct mlu_cnml_tensor *gamma = derive(op, MLU_TENSOR_CONST, dtype, shape, bound_gamma, err);
    struct mlu_cnml_tensor *beta = derive(op, MLU_TENSOR_CONST, dtype, shape, bound_beta, err);
    if (!mean || !var || !gamma || !beta) {
        return -EIO;
    }
    struct mlu_cnml_internal_op *norm = add_internal(op, FORM_ONE, op->in, 1, &op->inter_data, 1);
    norm->forward.one = mlu_cnml.cnmlComputeBatchNormOpForward_V3;
    ret = mlu_cnml_answer(mlu_cnml.cnmlCreateBatchNormOp(&norm->handle, op->in[0]->handle,
                                                         op->inter_data->handle, mean->handle,
                                                         var->handle),
                          "cnmlCreateBatchNormOp", op->node->name, err);
    if (ret < 0) {
        return ret;
    }
    struct mlu_cnml_internal_op *scale = add_internal(op, FORM_ONE, &op->inter_data, 1, op->out, 1);
    scale->forward.one = mlu_cnml.cnmlComputeScaleOpForward_V3;
    return mlu_cnml_answer(mlu_cnml.cnmlCreateScaleOp(&scale->handle, op->inter_data->handle,
                                                      op->out[0]->handle, gamma->handle,
                                                      beta->handle),
                           "cnmlCreateScaleOp", op->node->name, err);
}

static int create_active(struct mlu_cnml_op *op, struct ntk_err *err)
{
    static const cnmlActiveFunction_t functions[] = {
        [MLU_ACTIVE_BY_TYPE] = CNML_ACTIVE_NONE,
        [MLU_ACTIVE_RELU] = CNML_ACTIVE_RELU,
        [MLU_ACTIVE_SIGMOID] = CNML_ACTIVE_SIGMOID,
        [MLU_ACTIVE_TANH] = CNML_ACTIVE_TANH,
    };
    struct mlu_cnml_internal_op *i = add_one(op, mlu_cnml.cnmlComputeActiveOpForward_V3);

    return mlu_cnml_answer(mlu_cnml.cnmlCreateActiveOp(&i->handle, functions[op->param->active],
                                                       op->in[0]->handle, op->out[0]->handle),
                           "cnmlCreateActiveOp", op->node->name, err);
}

/* Returns the position of an axis of the value in n, c, h, w. */
static uint32_t place_of(const struct mlu_shape *shape, uint32_t axis)
{
    return shape->dim_count == 1 ? 1 : axis;
}

static int create_softmax(struct mlu_cnml_op *op, struct ntk_err *err)
{
    static const cnmlSoftmaxDim_t dims[] = { CNML_SOFTMAX_DIM_N, CNML_SOFTMAX_DIM_C,
                                             CNML_SOFTMAX_DIM_H, CNML_SOFTMAX_DIM_W };
    const struct mlu_shape *shape = &op->in[0]->type.shape;
    uint32_t axis = 1;

    if (op->param->temperature != 1 || (op->param->is_flat_softmax && shape->dim_count != 2) ||
        (!op->param->is_flat_softmax && !mlu_axis_of(op->param->axis, shape->dim_count, &axis))) {
        return UNSUPPORTED(
            "node '%s': CNML supports softmax only over one dimension and without temperature",
            op->node->name);
    }
    struct mlu_cnml_internal_op *i = add_one(op, mlu_cnml.cnmlComputeSoftmaxOpForward_V3);
    return mlu_cnml_answer(mlu_cnml.cnmlCreateSoftmaxOp(&i->handle, dims[place_of(shape, axis)],
                                                        op->in[0]->handle, op->out[0]->handle),
                           "cnmlCreateSoftmaxOp", op->node->name, err);
}

static int create_binary(struct mlu_cnml_op *op, struct ntk_err *err)
{
    const struct {
        __typeof__(cnmlCreateAddOp) *create;
        __typeof__(cnmlComputeAddOpForward_V3) *forward;
    } plain[] = {
        [MLU_BINARY_ADD] = { mlu_cnml.cnmlCreateAddOp, mlu_cnml.cnmlComputeAddOpForward_V3 },
        [MLU_BINARY_SUB] = { mlu_cnml.cnmlCreateSubOp, mlu_cnml.cnmlComputeSubOpForward_V3 },
        [MLU_BINARY_MUL] = { mlu_cnml.cnmlCreateMultOp, mlu_cnml.cnmlComputeMultOpForward_V3 },
        [MLU_BINARY_DIV] = { mlu_cnml.cnmlCreateRealDivOp, mlu_cnml.cnmlComputeRealDivOpForward_V3 },
    }, stretched[] = {
        [MLU_BINARY_ADD] = { mlu_cnml.cnmlCreateBroadcastAddOp,
                             mlu_cnml.cnmlComputeBroadcastAddOpForward_V3 },
        [MLU_BINARY_SUB] = { mlu_cnml.cnmlCreateBroadcastSubOp,
                             mlu_cnml.cnmlComputeBroadcastSubOpForward_V3 },
        [MLU_BINARY_MUL] = { mlu_cnml.cnmlCreateBroadcastMultOp,
                             mlu_cnml.cnmlComputeBroadcastMultOpForward_V3 },
        [MLU_BINARY_DIV] = { NULL, NULL },
    };
    enum mlu_binary binary = op->param->binary;
    bool is_plain = mlu_shape_equal(&op->in[0]->type.shape, &op->in[1]->type.shape);

    /* CNML can only broadcast the second input. */
    if (!is_plain && (!stretched[binary].create ||
                      !mlu_shape_equal(&op->in[0]->type.shape, &op->out[0]->type.shape))) {
        return UNSUPPORTED("node '%s': CNML broadcasts only the second value, and only in a sum, "
                           "difference or product",
                           op->node->name);
    }
    struct mlu_cnml_internal_op *i = add_internal(op, FORM_TWO, op->in, 2, op->out, 1);
    i->forward.two = (is_plain ? plain : stretched)[binary].forward;
    return mlu_cnml_answer(
        (is_plain ? plain : stretched)[binary].create(&i->handle, op->in[0]->handle,
                                                      op->in[1]->handle, op->out[0]->handle),
        "cnmlCreateAddOp", op->node->name, err);
}

static double scalar_factor(const struct mlu_cnml_op *op, size_t index)
{
    (void)index;
    return op->param->binary == MLU_BINARY_MUL   ? op->param->scalar
           : op->param->binary == MLU_BINARY_DIV ? 1 / op->param->scalar
                                                 : 1;
}
static double scalar_offset(const struct mlu_cnml_op *op, size_t index)
{
    (void)index;
    return op->param->binary == MLU_BINARY_ADD   ? op->param->scalar
           : op->param->binary == MLU_BINARY_SUB ? -op->param->scalar
                                                 : 0;
}

static int create_scalar(struct mlu_cnml_op *op, struct ntk_err *err)
{
    struct mlu_shape shape = { 1, { 1 } };
    int dims[4];

    mlu_cnml_four_dims(&op->in[0]->type.shape, dims);
    shape.dims[0] = (uint64_t)dims[1];
    struct mlu_cnml_tensor *alpha =
        derive(op, MLU_TENSOR_CONST, op->in[0]->type.dtype, &shape, scalar_factor, err);
    struct mlu_cnml_tensor *beta =
        derive(op, MLU_TENSOR_CONST, op->in[0]->type.dtype, &shape, scalar_offset, err);
    if (!alpha || !beta) {
        return -EIO;
    }
    struct mlu_cnml_internal_op *i = add_one(op, mlu_cnml.cnmlComputeScaleOpForward_V3);
    return mlu_cnml_answer(mlu_cnml.cnmlCreateScaleOp(&i->handle, op->in[0]->handle,
                                                      op->out[0]->handle, alpha->handle,
                                                      beta->handle),
                           "cnmlCreateScaleOp", op->node->name, err);
}

/* Returns the handles of a list of tensors; the caller frees them with free(). */
cnmlTensor_t *mlu_cnml_handles(struct mlu_cnml_tensor *const *tensors, uint32_t count)
{
    cnmlTensor_t *handles = calloc((size_t)count + 1, sizeof(cnmlTensor_t));

    for (uint32_t i = 0; handles && i < count; i++) {
        handles[i] = tensors[i]->handle;
    }
    return handles;
}

/* Concat and split use the same order of dimensions: c, n, h, w. */
static int create_lists(struct mlu_cnml_op *op, struct ntk_err *err)
{
    static const int modes[] = { CNML_CONCAT_BATCH, CNML_CONCAT_FEAT, CNML_CONCAT_HIGHT,
                                 CNML_CONCAT_WIDTH };
    bool joins = op->node->op->kind == MLU_OP_CONCAT;
    int in_count = joins ? (int)op->node->input_count : 1;
    int out_count = joins ? 1 : (int)op->node->output_count;
    const struct mlu_shape *shape = &op->in[0]->type.shape;
    cnmlConcatOpParam_t concat = NULL;
    cnmlSplitOpParam_t split = NULL;
    uint32_t axis = 0;
    cnmlStatus_t status = CNML_STATUS_BADALLOC;

    if (op->param->squeezes || !mlu_axis_of(op->param->axis, shape->dim_count, &axis)) {
        return UNSUPPORTED("node '%s': CNML does not support split with squeeze_axis",
                           op->node->name);
    }
    int mode = modes[place_of(shape, axis)];
    cnmlTensor_t *in = mlu_cnml_handles(op->in, (uint32_t)in_count);
    cnmlTensor_t *out = mlu_cnml_handles(op->out, (uint32_t)out_count);
    op->addresses = calloc((size_t)in_count + (size_t)out_count, sizeof *op->addresses);
    if (in && out && op->addresses) {
        struct mlu_cnml_internal_op *i =
            add_internal(op, FORM_LIST, op->in, in_count, op->out, out_count);

        if (joins) {
            i->forward.list = mlu_cnml.cnmlComputeConcatOpForward_V3;
            status = mlu_cnml.cnmlCreateConcatOpParam(&concat, in_count, 1, (cnmlConcatMode_t)mode);
            status = status != CNML_STATUS_SUCCESS
                         ? status
                         : mlu_cnml.cnmlCreateConcatOp(&i->handle, concat, in, in_count, out, 1);
        } else {
            i->forward.list = mlu_cnml.cnmlComputeSplitOpForward_V3;
            status = mlu_cnml.cnmlCreateSplitOpParam(&split, 1, out_count, (cnmlSplitMode_t)mode);
            status = status != CNML_STATUS_SUCCESS
                         ? status
                         : mlu_cnml.cnmlCreateSplitOp(&i->handle, split, in, 1, out, out_count);
        }
    }
    if (concat) {
        (void)mlu_cnml.cnmlDestroyConcatOpParam(&concat);
    }
    if (split) {
        (void)mlu_cnml.cnmlDestroySplitOpParam(&split);
    }
    free(in);
    free(out);
    return mlu_cnml_answer(status, joins ? "cnmlCreateConcatOp" : "cnmlCreateSplitOp",
                           op->node->name, err);
}

static int create_reshape(struct mlu_cnml_op *op, struct ntk_err *err)
{
    cnmlReshapeOpParam_t param = NULL;
    cnmlStatus_t status;
    int dims[4];

    mlu_cnml_four_dims(&op->out[0]->type.shape, dims);
    status =
        mlu_cnml.cnmlCreateReshapeOpParam(&param, dims[0], dims[1], dims[2], dims[3], CNML_NCHW);
    if (status == CNML_STATUS_SUCCESS) {
        struct mlu_cnml_internal_op *i = add_one(op, mlu_cnml.cnmlComputeReshapeOpForward_V3);

        status =
            mlu_cnml.cnmlCreateReshapeOp(&i->handle, param, op->in[0]->handle, op->out[0]->handle);
    }
    if (param) {
        (void)mlu_cnml.cnmlDestroyReshapeOpParam(&param);
    }
    return mlu_cnml_answer(status, "cnmlCreateReshapeOp", op->node->name, err);
}

/* Returns true if the shapes are unambiguous, because CNML infers the exchanged dimensions from
 * them. */
static bool is_clear_from_shapes(const struct mlu_cnml_op *op)
{
    const struct mlu_op_param *p = op->param;
    const struct mlu_shape *in = &op->in[0]->type.shape;
    uint32_t count = in->dim_count;

    if (count == 4 && p->shape_count == 4 && p->shape[0] == 0 && p->shape[1] == 1 &&
        p->shape[2] == 3) {
        return true; /* height and width; height comes first */
    }
    if (count == 1) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (in->dims[i] == in->dims[k]) {
                return false;
            }
        }
    }
    /* Added dimensions are 1, and equal to each other. */
    return count == 4 || mlu_shape_count(in) == 0 ||
           (count == 2 && in->dims[0] > 1 && in->dims[1] > 1);
}

static int create_transpose(struct mlu_cnml_op *op, struct ntk_err *err)
{
    if (!is_clear_from_shapes(op)) {
        return UNSUPPORTED("node '%s': CNML cannot derive the swapped dimensions from the shapes",
                           op->node->name);
    }
    struct mlu_cnml_internal_op *i = add_one(op, mlu_cnml.cnmlComputeTransposeOpForward_V3);
    return mlu_cnml_answer(
        mlu_cnml.cnmlCreateTransposeOp(&i->handle, op->in[0]->handle, op->out[0]->handle),
        "cnmlCreateTransposeOp", op->node->name, err);
}

static int create_cast(struct mlu_cnml_op *op, struct ntk_err *err)
{
    enum mlu_dtype from = op->in[0]->type.dtype;
    enum mlu_dtype to = op->out[0]->type.dtype;
    cnmlCastType_t type;

    if (from == MLU_DTYPE_FLOAT32 && to == MLU_DTYPE_FLOAT16) {
        type = CNML_CAST_FLOAT32_TO_FLOAT16;
    } else if (from == MLU_DTYPE_FLOAT16 && to == MLU_DTYPE_FLOAT32) {
        type = CNML_CAST_FLOAT16_TO_FLOAT32;
    } else if (from == MLU_DTYPE_UINT8 && to == MLU_DTYPE_FLOAT32) {
        type = CNML_CAST_UINT8_TO_FLOAT32;
    } else {
        return UNSUPPORTED("node '%s': CNML does not support a cast from %s to %s", op->node->name,
                           mlu_dtype_name(from), mlu_dtype_name(to));
    }
    struct mlu_cnml_internal_op *i = add_one(op, mlu_cnml.cnmlComputeCastOpForward_V3);
    return mlu_cnml_answer(
        mlu_cnml.cnmlCreateCastOp(&i->handle, type, op->in[0]->handle, op->out[0]->handle),
        "cnmlCreateCastOp", op->node->name, err);
}

static int create_pad(struct mlu_cnml_op *op, struct ntk_err *err)
{
    const int64_t *width = op->param->shape;
    cnmlAddPadOpParam_t param = NULL;
    cnmlStatus_t status;

    if (op->param->pad_mode != MLU_PAD_CONSTANT || op->in[0]->type.shape.dim_count != 4 ||
        width[0] + width[1] + width[2] + width[3] != 0 || width[4] != width[5] ||
        width[6] != width[7]) {
        return UNSUPPORTED(
            "node '%s': CNML supports Pad only with equal constant borders around height and width",
            op->node->name);
    }
    status = mlu_cnml.cnmlCreateAddPadOpParam(&param, (int)(2 * width[4]), (int)(2 * width[6]),
                                              (float)op->param->scalar);
    if (status == CNML_STATUS_SUCCESS) {
        struct mlu_cnml_internal_op *i = add_one(op, mlu_cnml.cnmlComputeAddPadOpForward_V3);

        status =
            mlu_cnml.cnmlCreateAddPadOp(&i->handle, param, op->in[0]->handle, op->out[0]->handle);
    }
    if (param) {
        (void)mlu_cnml.cnmlDestroyAddPadOpParam(&param);
    }
    return mlu_cnml_answer(status, "cnmlCreateAddPadOp", op->node->name, err);
}

static int create_copy(struct mlu_cnml_op *op, struct ntk_err *err)
{
    struct mlu_cnml_internal_op *i = add_one(op, mlu_cnml.cnmlComputeDeviceMemcpyOpForward_V3);

    return mlu_cnml_answer(
        mlu_cnml.cnmlCreateDeviceMemcpyOp(&i->handle, op->in[0]->handle, op->out[0]->handle),
        "cnmlCreateDeviceMemcpyOp", op->node->name, err);
}

int mlu_cnml_ops_create(struct mlu_cnml_op *op, struct ntk_err *err)
{
    static int (*const creators[MLU_OP_KIND_COUNT])(struct mlu_cnml_op * op,
                                                    struct ntk_err * err) = {
        [MLU_OP_CONVOLUTION] = create_conv,    [MLU_OP_DECONVOLUTION] = create_deconv,
        [MLU_OP_FULLY_CONNECTED] = create_mlp, [MLU_OP_ACTIVATION] = create_active,
        [MLU_OP_POOLING] = create_pool,        [MLU_OP_BATCH_NORM] = create_batch_norm,
        [MLU_OP_SOFTMAX] = create_softmax,     [MLU_OP_BINARY] = create_binary,
        [MLU_OP_SCALAR] = create_scalar,       [MLU_OP_CONCAT] = create_lists,
        [MLU_OP_SPLIT] = create_lists,         [MLU_OP_FLATTEN] = create_reshape,
        [MLU_OP_RESHAPE] = create_reshape,     [MLU_OP_TRANSPOSE] = create_transpose,
        [MLU_OP_CAST] = create_cast,           [MLU_OP_PAD] = create_pad,
        [MLU_OP_IDENTITY] = create_copy,       [MLU_OP_COPY] = create_copy,
    };

    return creators[op->node->op->kind](op, err);
}
