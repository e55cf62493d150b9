/* SPDX-License-Identifier: MIT */
/*
 * MLUs by libcnml: implements mlu_device.h with the calls of its second generation.
 *
 * An operator of MXNet is one or two of CNML (internal_ops of the proposal) with a tensor between
 * them (inter_data). Values of up to four dimensions become n, c, h, w; missing ones are 1, and a
 * single dimension is c. Operators that CNML computes differently are -ENOTSUP.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/mlugraph/mlu_cnml_library.h"
#include "runtime-hooks/mlugraph/mlu_device.h"
#include "shared/base/vec.h"

/* The target of compilation in the second generation; a software machine accepts any. */
#define CORE_VERSION CNML_MLU100
#define INTERNAL_OPS_MAX 2
#define CONSTANTS_MAX 4

static struct mlu_cnml cnml;
static unsigned users; /* executors between open and close */

struct op;

struct stream {
    cnrtDev_t device;
    cnrtQueue_t queue;
};

struct tensor {
    struct stream *stream;
    enum mlu_tensor_kind kind;
    struct mlu_type type;
    cnmlTensor_t handle;
    cnmlCpuTensor_t host;   /* the same on the host, in MXNet's order */
    void *buffer;           /* on the device */
    struct mlu_array value; /* of a constant, until it is compiled */
};

/* A constant that differs from the bound one: computed when the operator is compiled. */
struct derived {
    struct tensor *tensor;
    double (*value)(const struct op *op, size_t index);
};

/* One operator of CNML: called with one input, with two, or with lists. */
enum form { FORM_ONE, FORM_TWO, FORM_LIST };

struct internal_op {
    cnmlBaseOp_t handle;
    enum form form;
    union {
        __typeof__(cnmlComputeActiveOpForward_V3) *one;
        __typeof__(cnmlComputeAddOpForward_V3) *two;
        __typeof__(cnmlComputeConcatOpForward_V3) *list;
    } forward;
    struct tensor **in; /* borrowed lists */
    int in_count;
    struct tensor **out;
    int out_count;
};

struct op {
    struct stream *stream;
    const struct mlu_node *node;
    const struct mlu_op_param *param;
    struct tensor **in; /* per input of the node */
    struct tensor **out;
    struct internal_op internal_ops[INTERNAL_OPS_MAX];
    int internal_count;
    struct tensor *inter_data; /* between the two; NULL: only one operator */
    struct derived derived[CONSTANTS_MAX];
    int derived_count;
    void **addresses; /* for a forward with lists */
};

struct fusion {
    struct stream *stream;
    cnmlFusionOp_t handle;
    struct ntk_vec ops; /* struct op * */
    struct tensor **in;
    int in_count;
    struct tensor **out;
    int out_count;
    void **addresses;
};

/* ---- answers ---- */

static const char *status_name(cnmlStatus_t status)
{
    static const char *const names[] = { "SUCCESS",      "DOMAINERR", "INVALIDARG",  "LENGTHERR",
                                         "OUTOFRANGE",   "RANGEERR",  "OVERFLOWERR", "UNDERFLOWERR",
                                         "INVALIDPARAM", "BADALLOC",  "BADTYPEID",   "BADCAST",
                                         "UNSUPPORT" };

    return status == CNML_STATUS_NODEVICE                                   ? "NODEVICE"
           : status >= 0 && (size_t)status < sizeof names / sizeof names[0] ? names[status]
                                                                            : "unknown";
}

static int cnml_answer(cnmlStatus_t status, const char *what, const char *name, struct ntk_err *err)
{
    return status == CNML_STATUS_SUCCESS
               ? 0
               : ntk_err_set(err, status == CNML_STATUS_UNSUPPORT ? -ENOTSUP : -EIO,
                             NTK_ERR_NO_OFFSET, "node '%s': %s failed: %s (%d)", name, what,
                             status_name(status), (int)status);
}

static int cnrt_answer(cnrtRet_t ret, const char *what, struct ntk_err *err)
{
    return ret == CNRT_RET_SUCCESS ? 0
                                   : ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "%s failed: %s (%d)",
                                                 what, cnml.cnrtGetErrorStr(ret), (int)ret);
}

#define UNSUPPORTED(...) ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET, __VA_ARGS__)

/* ---- life, streams ---- */

static int library_open(struct ntk_err *err)
{
    int ret = cnml.cnmlInit ? 0 : mlu_cnml_open(&cnml, err);

    if (ret == 0 && users == 0) {
        ret = cnml_answer(cnml.cnmlInit(0), "cnmlInit", "libcnml", err);
    }
    users += ret == 0;
    return ret;
}

static void library_close(void)
{
    if (--users == 0) {
        (void)cnml.cnmlExit();
    }
}

static int make_current(const struct stream *stream, struct ntk_err *err)
{
    return cnrt_answer(cnml.cnrtSetCurrentDevice(stream->device), "cnrtSetCurrentDevice", err);
}

static int stream_open(int32_t device, void **out_stream, struct ntk_err *err)
{
    struct stream *stream = calloc(1, sizeof *stream);
    int ret;

    if (!stream) {
        return ntk_err_no_memory(err);
    }
    cnrtRet_t found = cnml.cnrtGetDeviceHandle(&stream->device, device);
    if (found == CNRT_RET_ERR_NODEV) {
        free(stream);
        return ntk_err_set(
            err, -ENODEV, NTK_ERR_NO_OFFSET,
            "mlu%d does not exist on this machine: choose other MLUs with --ctx and --group, set "
            "NEURON_SOFT_INSTANCE=mlu270x4 for four MLUs, or use --mlu host",
            device);
    }
    ret = cnrt_answer(found, "cnrtGetDeviceHandle", err);
    ret = ret < 0 ? ret : make_current(stream, err);
    ret = ret < 0 ? ret : cnrt_answer(cnml.cnrtCreateQueue(&stream->queue), "cnrtCreateQueue", err);
    if (ret < 0) {
        ntk_err_prefix(err, "mlu%d", device);
        free(stream);
        return ret;
    }
    *out_stream = stream;
    return 0;
}

static void stream_close(void *handle)
{
    struct stream *stream = handle;

    if (stream) {
        (void)cnml.cnrtDestroyQueue(stream->queue);
        free(stream);
    }
}

static int stream_wait(void *handle, struct ntk_err *err)
{
    const struct stream *stream = handle;
    int ret = make_current(stream, err);

    return ret < 0 ? ret : cnrt_answer(cnml.cnrtSyncQueue(stream->queue), "cnrtSyncQueue", err);
}

/* ---- tensors ---- */

static bool cnml_dtype(enum mlu_dtype dtype, cnmlDataType_t *out_dtype)
{
    switch (dtype) {
    case MLU_DTYPE_FLOAT32:
        *out_dtype = CNML_DATA_FLOAT32;
        return true;
    case MLU_DTYPE_FLOAT16:
        *out_dtype = CNML_DATA_FLOAT16;
        return true;
    case MLU_DTYPE_UINT8:
        *out_dtype = CNML_DATA_UINT8;
        return true;
    case MLU_DTYPE_INT32:
        *out_dtype = CNML_DATA_INT32;
        return true;
    default:
        return false;
    }
}

/* False if it has more than four dimensions, or one is too large. */
static bool four_dims(const struct mlu_shape *shape, int dims[4])
{
    for (uint32_t i = 0; i < 4; i++) {
        dims[i] = 1;
    }
    for (uint32_t i = 0; i < shape->dim_count; i++) {
        if (i == 4 || shape->dims[i] > INT32_MAX) {
            return false;
        }
        dims[shape->dim_count == 1 ? 1 : i] = (int)shape->dims[i];
    }
    return true;
}

static void tensor_destroy(void *handle)
{
    struct tensor *tensor = handle;

    if (tensor) {
        if (tensor->buffer) {
            (void)cnml.cnmlFreeBuffer(tensor->buffer);
        }
        if (tensor->handle) {
            (void)cnml.cnmlDestroyTensor(&tensor->handle);
        }
        if (tensor->host) {
            (void)cnml.cnmlDestroyCpuTensor(&tensor->host);
        }
        mlu_array_fini(&tensor->value);
        free(tensor);
    }
}

static int tensor_create(void *stream, enum mlu_tensor_kind kind, const struct mlu_type *type,
                         void **out_tensor, struct ntk_err *err)
{
    static const cnmlTensorType_t kinds[] = { CNML_TENSOR, CNML_FILTER, CNML_CONST };
    struct tensor *tensor = calloc(1, sizeof *tensor);
    cnmlDataType_t dtype;
    int dims[4];
    int ret;

    if (!tensor) {
        return ntk_err_no_memory(err);
    }
    tensor->stream = stream;
    tensor->kind = kind;
    tensor->type = *type;
    /* A value without a tensor may still belong to the CPU; operators look for the handle. */
    if (cnml_dtype(type->dtype, &dtype) && four_dims(&type->shape, dims) &&
        mlu_shape_count(&type->shape) > 0) {
        ret = cnml_answer(cnml.cnmlCreateTensor(&tensor->handle, kinds[kind], dtype, dims[0],
                                                dims[1], dims[2], dims[3]),
                          "cnmlCreateTensor", "tensor", err);
        ret =
            ret < 0
                ? ret
                : cnml_answer(cnml.cnmlCreateCpuTensor(&tensor->host, kinds[kind], dtype, CNML_NCHW,
                                                       dims[0], dims[1], dims[2], dims[3]),
                              "cnmlCreateCpuTensor", "tensor", err);
        if (ret < 0) {
            tensor_destroy(tensor);
            return ret;
        }
    }
    *out_tensor = tensor;
    return 0;
}

static int tensor_bind(void *handle, const struct mlu_array *array, struct ntk_err *err)
{
    struct tensor *tensor = handle;

    return mlu_array_copy(&tensor->value, array, err);
}

static int tensor_allocate(void *handle, struct ntk_err *err)
{
    struct tensor *tensor = handle;
    int ret = make_current(tensor->stream, err);

    if (ret == 0 && !tensor->buffer) {
        tensor->buffer = cnml.cnmlMallocBuffer(tensor->handle);
        if (!tensor->buffer) {
            ret = ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET,
                              "cnmlMallocBuffer failed: no memory on the device, or no compiled "
                              "operator uses the tensor");
        }
    }
    return ret;
}

static int tensor_upload(void *handle, const struct mlu_array *from, struct ntk_err *err)
{
    struct tensor *tensor = handle;
    int ret = make_current(tensor->stream, err);

    return ret < 0 ? ret
                   : cnml_answer(cnml.cnmlMemcpyTensorToDevice(tensor->host, from->data,
                                                               tensor->handle, tensor->buffer),
                                 "cnmlMemcpyTensorToDevice", "tensor", err);
}

static int tensor_download(void *handle, struct mlu_array *to, struct ntk_err *err)
{
    struct tensor *tensor = handle;
    int ret = make_current(tensor->stream, err);

    return ret < 0 ? ret
                   : cnml_answer(cnml.cnmlMemcpyTensorToHost(tensor->handle, tensor->buffer,
                                                             tensor->host, to->data),
                                 "cnmlMemcpyTensorToHost", "tensor", err);
}

/* ---- operators of CNML ---- */

static struct internal_op *add_internal(struct op *op, enum form form, struct tensor **in,
                                        int in_count, struct tensor **out, int out_count)
{
    struct internal_op *internal = &op->internal_ops[op->internal_count++];

    *internal = (struct internal_op){
        .form = form, .in = in, .in_count = in_count, .out = out, .out_count = out_count
    };
    return internal;
}

static struct internal_op *add_one(struct op *op,
                                   __typeof__(cnmlComputeActiveOpForward_V3) *forward)
{
    struct internal_op *internal = add_internal(op, FORM_ONE, op->in, 1, op->out, 1);

    internal->forward.one = forward;
    return internal;
}

/* A constant computed from bound ones: its tensor, or NULL with a message. */
static struct tensor *derive(struct op *op, enum mlu_tensor_kind kind, enum mlu_dtype dtype,
                             const struct mlu_shape *shape,
                             double (*value)(const struct op *op, size_t index),
                             struct ntk_err *err)
{
    const struct mlu_type type = { dtype, *shape };
    void *tensor = NULL;

    if (tensor_create(op->stream, kind, &type, &tensor, err) < 0) {
        return NULL;
    }
    op->derived[op->derived_count++] = (struct derived){ tensor, value };
    return tensor;
}

/* The handles of an operator's constant inputs; NULL for other inputs. */
static cnmlTensor_t constant_of(const struct op *op, uint32_t input)
{
    return input < op->node->input_count && op->in[input] ? op->in[input]->handle : NULL;
}

static int create_conv(struct op *op, struct ntk_err *err)
{
    const struct mlu_op_param *p = op->param;
    cnmlConvOpParam_t param = NULL;
    cnmlTensor_t bias = p->has_bias ? constant_of(op, 2) : NULL;
    cnmlStatus_t status;

    status = cnml.cnmlCreateConvOpParam(&param, (int)p->stride[0], (int)p->stride[1],
                                        (int)p->dilate[0], (int)p->dilate[1], 2 * (int)p->pad[0],
                                        2 * (int)p->pad[1], CNML_NoSparse);
    if (status == CNML_STATUS_SUCCESS && p->num_group > 1) {
        struct internal_op *i = add_one(op, cnml.cnmlComputeConvGroupOpForward_V3);

        status =
            cnml.cnmlCreateConvGroupOp(&i->handle, param, op->in[0]->handle, op->out[0]->handle,
                                       op->in[1]->handle, bias, (int)p->num_group);
    } else if (status == CNML_STATUS_SUCCESS) {
        struct internal_op *i = add_one(op, cnml.cnmlComputeConvOpForward_V3);

        status = cnml.cnmlCreateConvOp(&i->handle, param, op->in[0]->handle, op->out[0]->handle,
                                       op->in[1]->handle, bias);
    }
    if (param) {
        (void)cnml.cnmlDestroyConvOpParam(&param);
    }
    return cnml_answer(status, "cnmlCreateConvOp", op->node->name, err);
}

/* In this filter, MXNet has the input channels first, CNML the output channels. */
static double turned_filter(const struct op *op, size_t index)
{
    const struct mlu_array *weight = &op->in[1]->value;
    const uint64_t *dims = weight->shape.dims;
    size_t window = dims[2] * dims[3];
    size_t in = index / window % dims[0];
    size_t out = index / window / dims[0];

    return mlu_array_get(weight, (in * dims[1] + out) * window + index % window);
}

static int create_deconv(struct op *op, struct ntk_err *err)
{
    const struct mlu_op_param *p = op->param;
    const uint64_t *dims = op->in[1]->type.shape.dims;
    const struct mlu_shape shape = { 4, { dims[1], dims[0], dims[2], dims[3] } };
    cnmlDeconvOpParam_t param = NULL;
    cnmlStatus_t status;

    if (p->num_group > 1 || p->dilate[0] > 1 || p->dilate[1] > 1 || p->adj[0] > p->pad[0] ||
        p->adj[1] > p->pad[1]) {
        return UNSUPPORTED(
            "node '%s': CNML does not support Deconvolution with groups, dilation or "
            "more adj than pad",
            op->node->name);
    }
    struct tensor *filter =
        derive(op, MLU_TENSOR_FILTER, op->in[1]->type.dtype, &shape, turned_filter, err);
    if (!filter) {
        return -EIO;
    }
    status = cnml.cnmlCreateDeconvOpParam(&param, (int)p->stride[0], (int)p->stride[1],
                                          (int)p->pad[0], (int)(p->pad[0] - p->adj[0]),
                                          (int)p->pad[1], (int)(p->pad[1] - p->adj[1]));
    if (status == CNML_STATUS_SUCCESS) {
        struct internal_op *i = add_one(op, cnml.cnmlComputeDeConvOpForward_V3);

        status =
            cnml.cnmlCreateDeconvOp(&i->handle, param, op->in[0]->handle, op->out[0]->handle,
                                    filter->handle, p->has_bias ? constant_of(op, 2) : NULL, 0);
    }
    if (param) {
        (void)cnml.cnmlDestroyDeconvOpParam(&param);
    }
    return cnml_answer(status, "cnmlCreateDeconvOp", op->node->name, err);
}

static int create_mlp(struct op *op, struct ntk_err *err)
{
    if (!op->param->flatten && op->in[0]->type.shape.dim_count > 2) {
        return UNSUPPORTED("node '%s': CNML does not support FullyConnected without flatten",
                           op->node->name);
    }
    struct internal_op *i = add_one(op, cnml.cnmlComputeMlpOpForward_V3);
    return cnml_answer(
        cnml.cnmlCreateMlpOp(&i->handle, op->in[0]->handle, op->out[0]->handle, op->in[1]->handle,
                             op->param->has_bias ? constant_of(op, 2) : NULL, CNML_NoSparse),
        "cnmlCreateMlpOp", op->node->name, err);
}

/* Whether a window extends beyond the padding, which MXNet does not count. */
static bool overhangs(const struct op *op)
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

static int create_pool(struct op *op, struct ntk_err *err)
{
    const struct mlu_op_param *p = op->param;
    const uint64_t *dims = op->in[0]->type.shape.dims;
    cnmlPoolOpParam_t param = NULL;
    cnmlStatus_t status;

    if (p->pool == MLU_POOL_SUM ||
        (p->pool == MLU_POOL_AVG && !p->is_global && p->counts_padding && overhangs(op))) {
        return UNSUPPORTED("node '%s': CNML does not support this Pooling", op->node->name);
    }
    status = cnml.cnmlCreatePoolOpParam(
        &param, p->is_global ? (int)dims[2] : (int)p->kernel[0],
        p->is_global ? (int)dims[3] : (int)p->kernel[1], p->is_global ? 1 : (int)p->stride[0],
        p->is_global ? 1 : (int)p->stride[1], p->is_global ? 0 : 2 * (int)p->pad[0],
        p->is_global ? 0 : 2 * (int)p->pad[1], 1, 1,
        p->pool == MLU_POOL_MAX ? CNML_POOL_MAX : CNML_POOL_AVG,
        p->is_full ? CNML_POOL_KFULL : CNML_POOL_KVALID, !p->counts_padding);
    if (status == CNML_STATUS_SUCCESS) {
        struct internal_op *i = add_one(op, cnml.cnmlComputePoolOpForward_V3);

        status = cnml.cnmlCreatePoolOp(&i->handle, param, op->in[0]->handle, op->out[0]->handle);
    }
    if (param) {
        (void)cnml.cnmlDestroyPoolOpParam(&param);
    }
    return cnml_answer(status, "cnmlCreatePoolOp", op->node->name, err);
}

static double inverse_deviation(const struct op *op, size_t index)
{
    return 1 / sqrt(mlu_array_get(&op->in[4]->value, index) + op->param->eps);
}
static double bound_mean(const struct op *op, size_t index)
{
    return mlu_array_get(&op->in[3]->value, index);
}
static double bound_gamma(const struct op *op, size_t index)
{
    return op->param->fix_gamma ? 1 : mlu_array_get(&op->in[1]->value, index);
}
static double bound_beta(const struct op *op, size_t index)
{
    return mlu_array_get(&op->in[2]->value, index);
}

/* Two of CNML: (x - mean) / deviation, then times gamma plus beta. */
static int create_batch_norm(struct op *op, struct ntk_err *err)
{
    enum mlu_dtype dtype = op->in[0]->type.dtype;
    const struct mlu_shape *shape = &op->in[1]->type.shape;
    void *between = NULL;
    uint32_t axis;
    int ret;

    if (!mlu_axis_of(op->param->axis, op->in[0]->type.shape.dim_count, &axis) || axis != 1) {
        return UNSUPPORTED("node '%s': CNML supports BatchNorm only over channels", op->node->name);
    }
    ret = tensor_create(op->stream, MLU_TENSOR_DATA, &op->in[0]->type, &between, err);
    if (ret < 0 || !between) {
        return ret;
    }
    op->inter_data = between;
    struct tensor *mean = derive(op, MLU_TENSOR_CONST, dtype, shape, bound_mean, err);
    struct tensor *var = derive(op, MLU_TENSOR_CONST, dtype, shape, inverse_deviation, err);
    struct tensor *gamma = derive(op, MLU_TENSOR_CONST, dtype, shape, bound_gamma, err);
    struct tensor *beta = derive(op, MLU_TENSOR_CONST, dtype, shape, bound_beta, err);
    if (!mean || !var || !gamma || !beta) {
        return -EIO;
    }
    struct internal_op *norm = add_internal(op, FORM_ONE, op->in, 1, &op->inter_data, 1);
    norm->forward.one = cnml.cnmlComputeBatchNormOpForward_V3;
    ret = cnml_answer(cnml.cnmlCreateBatchNormOp(&norm->handle, op->in[0]->handle,
                                                 op->inter_data->handle, mean->handle, var->handle),
                      "cnmlCreateBatchNormOp", op->node->name, err);
    if (ret < 0) {
        return ret;
    }
    struct internal_op *scale = add_internal(op, FORM_ONE, &op->inter_data, 1, op->out, 1);
    scale->forward.one = cnml.cnmlComputeScaleOpForward_V3;
    return cnml_answer(cnml.cnmlCreateScaleOp(&scale->handle, op->inter_data->handle,
                                              op->out[0]->handle, gamma->handle, beta->handle),
                       "cnmlCreateScaleOp", op->node->name, err);
}

static int create_active(struct op *op, struct ntk_err *err)
{
    static const cnmlActiveFunction_t functions[] = {
        [MLU_ACTIVE_BY_TYPE] = CNML_ACTIVE_NONE,
        [MLU_ACTIVE_RELU] = CNML_ACTIVE_RELU,
        [MLU_ACTIVE_SIGMOID] = CNML_ACTIVE_SIGMOID,
        [MLU_ACTIVE_TANH] = CNML_ACTIVE_TANH,
    };
    struct internal_op *i = add_one(op, cnml.cnmlComputeActiveOpForward_V3);

    return cnml_answer(cnml.cnmlCreateActiveOp(&i->handle, functions[op->param->active],
                                               op->in[0]->handle, op->out[0]->handle),
                       "cnmlCreateActiveOp", op->node->name, err);
}

/* The position of an axis of the value in n, c, h, w. */
static uint32_t place_of(const struct mlu_shape *shape, uint32_t axis)
{
    return shape->dim_count == 1 ? 1 : axis;
}

static int create_softmax(struct op *op, struct ntk_err *err)
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
    struct internal_op *i = add_one(op, cnml.cnmlComputeSoftmaxOpForward_V3);
    return cnml_answer(cnml.cnmlCreateSoftmaxOp(&i->handle, dims[place_of(shape, axis)],
                                                op->in[0]->handle, op->out[0]->handle),
                       "cnmlCreateSoftmaxOp", op->node->name, err);
}

static int create_binary(struct op *op, struct ntk_err *err)
{
    const struct {
        __typeof__(cnmlCreateAddOp) *create;
        __typeof__(cnmlComputeAddOpForward_V3) *forward;
    } plain[] = {
        [MLU_BINARY_ADD] = { cnml.cnmlCreateAddOp, cnml.cnmlComputeAddOpForward_V3 },
        [MLU_BINARY_SUB] = { cnml.cnmlCreateSubOp, cnml.cnmlComputeSubOpForward_V3 },
        [MLU_BINARY_MUL] = { cnml.cnmlCreateMultOp, cnml.cnmlComputeMultOpForward_V3 },
        [MLU_BINARY_DIV] = { cnml.cnmlCreateRealDivOp, cnml.cnmlComputeRealDivOpForward_V3 },
    }, stretched[] = {
        [MLU_BINARY_ADD] = { cnml.cnmlCreateBroadcastAddOp,
                             cnml.cnmlComputeBroadcastAddOpForward_V3 },
        [MLU_BINARY_SUB] = { cnml.cnmlCreateBroadcastSubOp,
                             cnml.cnmlComputeBroadcastSubOpForward_V3 },
        [MLU_BINARY_MUL] = { cnml.cnmlCreateBroadcastMultOp,
                             cnml.cnmlComputeBroadcastMultOpForward_V3 },
        [MLU_BINARY_DIV] = { NULL, NULL },
    };
    enum mlu_binary binary = op->param->binary;
    bool is_plain = mlu_shape_equal(&op->in[0]->type.shape, &op->in[1]->type.shape);

    /* CNML only broadcasts the second. */
    if (!is_plain && (!stretched[binary].create ||
                      !mlu_shape_equal(&op->in[0]->type.shape, &op->out[0]->type.shape))) {
        return UNSUPPORTED("node '%s': CNML broadcasts only the second value, and only in a sum, "
                           "difference or product",
                           op->node->name);
    }
    struct internal_op *i = add_internal(op, FORM_TWO, op->in, 2, op->out, 1);
    i->forward.two = (is_plain ? plain : stretched)[binary].forward;
    return cnml_answer((is_plain ? plain : stretched)[binary].create(
                           &i->handle, op->in[0]->handle, op->in[1]->handle, op->out[0]->handle),
                       "cnmlCreateAddOp", op->node->name, err);
}

static double scalar_factor(const struct op *op, size_t index)
{
    (void)index;
    return op->param->binary == MLU_BINARY_MUL   ? op->param->scalar
           : op->param->binary == MLU_BINARY_DIV ? 1 / op->param->scalar
                                                 : 1;
}
static double scalar_offset(const struct op *op, size_t index)
{
    (void)index;
    return op->param->binary == MLU_BINARY_ADD   ? op->param->scalar
           : op->param->binary == MLU_BINARY_SUB ? -op->param->scalar
                                                 : 0;
}

static int create_scalar(struct op *op, struct ntk_err *err)
{
    struct mlu_shape shape = { 1, { 1 } };
    int dims[4];

    four_dims(&op->in[0]->type.shape, dims);
    shape.dims[0] = (uint64_t)dims[1];
    struct tensor *alpha =
        derive(op, MLU_TENSOR_CONST, op->in[0]->type.dtype, &shape, scalar_factor, err);
    struct tensor *beta =
        derive(op, MLU_TENSOR_CONST, op->in[0]->type.dtype, &shape, scalar_offset, err);
    if (!alpha || !beta) {
        return -EIO;
    }
    struct internal_op *i = add_one(op, cnml.cnmlComputeScaleOpForward_V3);
    return cnml_answer(cnml.cnmlCreateScaleOp(&i->handle, op->in[0]->handle, op->out[0]->handle,
                                              alpha->handle, beta->handle),
                       "cnmlCreateScaleOp", op->node->name, err);
}

/* The handles of a list of tensors, freed with free(). */
static cnmlTensor_t *handles_of(struct tensor *const *tensors, uint32_t count)
{
    cnmlTensor_t *handles = calloc((size_t)count + 1, sizeof(cnmlTensor_t));

    for (uint32_t i = 0; handles && i < count; i++) {
        handles[i] = tensors[i]->handle;
    }
    return handles;
}

/* Concat and split use the same order of dimensions: c, n, h, w. */
static int create_lists(struct op *op, struct ntk_err *err)
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
    cnmlTensor_t *in = handles_of(op->in, (uint32_t)in_count);
    cnmlTensor_t *out = handles_of(op->out, (uint32_t)out_count);
    op->addresses = calloc((size_t)in_count + (size_t)out_count, sizeof *op->addresses);
    if (in && out && op->addresses) {
        struct internal_op *i = add_internal(op, FORM_LIST, op->in, in_count, op->out, out_count);

        if (joins) {
            i->forward.list = cnml.cnmlComputeConcatOpForward_V3;
            status = cnml.cnmlCreateConcatOpParam(&concat, in_count, 1, (cnmlConcatMode_t)mode);
            status = status != CNML_STATUS_SUCCESS
                         ? status
                         : cnml.cnmlCreateConcatOp(&i->handle, concat, in, in_count, out, 1);
        } else {
            i->forward.list = cnml.cnmlComputeSplitOpForward_V3;
            status = cnml.cnmlCreateSplitOpParam(&split, 1, out_count, (cnmlSplitMode_t)mode);
            status = status != CNML_STATUS_SUCCESS
                         ? status
                         : cnml.cnmlCreateSplitOp(&i->handle, split, in, 1, out, out_count);
        }
    }
    if (concat) {
        (void)cnml.cnmlDestroyConcatOpParam(&concat);
    }
    if (split) {
        (void)cnml.cnmlDestroySplitOpParam(&split);
    }
    free(in);
    free(out);
    return cnml_answer(status, joins ? "cnmlCreateConcatOp" : "cnmlCreateSplitOp", op->node->name,
                       err);
}

static int create_reshape(struct op *op, struct ntk_err *err)
{
    cnmlReshapeOpParam_t param = NULL;
    cnmlStatus_t status;
    int dims[4];

    four_dims(&op->out[0]->type.shape, dims);
    status = cnml.cnmlCreateReshapeOpParam(&param, dims[0], dims[1], dims[2], dims[3], CNML_NCHW);
    if (status == CNML_STATUS_SUCCESS) {
        struct internal_op *i = add_one(op, cnml.cnmlComputeReshapeOpForward_V3);

        status = cnml.cnmlCreateReshapeOp(&i->handle, param, op->in[0]->handle, op->out[0]->handle);
    }
    if (param) {
        (void)cnml.cnmlDestroyReshapeOpParam(&param);
    }
    return cnml_answer(status, "cnmlCreateReshapeOp", op->node->name, err);
}

/* CNML infers the exchanged dimensions from shapes, so they must be unambiguous. */
static bool is_told_by_shapes(const struct op *op)
{
    const struct mlu_op_param *p = op->param;
    const struct mlu_shape *in = &op->in[0]->type.shape;
    uint32_t count = in->dim_count;

    if (count == 4 && p->shape_count == 4 && p->shape[0] == 0 && p->shape[1] == 1 &&
        p->shape[2] == 3) {
        return true; /* height and width, which comes first */
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

static int create_transpose(struct op *op, struct ntk_err *err)
{
    if (!is_told_by_shapes(op)) {
        return UNSUPPORTED("node '%s': CNML cannot derive the swapped dimensions from the shapes",
                           op->node->name);
    }
    struct internal_op *i = add_one(op, cnml.cnmlComputeTransposeOpForward_V3);
    return cnml_answer(
        cnml.cnmlCreateTransposeOp(&i->handle, op->in[0]->handle, op->out[0]->handle),
        "cnmlCreateTransposeOp", op->node->name, err);
}

static int create_cast(struct op *op, struct ntk_err *err)
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
    struct internal_op *i = add_one(op, cnml.cnmlComputeCastOpForward_V3);
    return cnml_answer(
        cnml.cnmlCreateCastOp(&i->handle, type, op->in[0]->handle, op->out[0]->handle),
        "cnmlCreateCastOp", op->node->name, err);
}

static int create_pad(struct op *op, struct ntk_err *err)
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
    status = cnml.cnmlCreateAddPadOpParam(&param, (int)(2 * width[4]), (int)(2 * width[6]),
                                          (float)op->param->scalar);
    if (status == CNML_STATUS_SUCCESS) {
        struct internal_op *i = add_one(op, cnml.cnmlComputeAddPadOpForward_V3);

        status = cnml.cnmlCreateAddPadOp(&i->handle, param, op->in[0]->handle, op->out[0]->handle);
    }
    if (param) {
        (void)cnml.cnmlDestroyAddPadOpParam(&param);
    }
    return cnml_answer(status, "cnmlCreateAddPadOp", op->node->name, err);
}

static int create_copy(struct op *op, struct ntk_err *err)
{
    struct internal_op *i = add_one(op, cnml.cnmlComputeDeviceMemcpyOpForward_V3);

    return cnml_answer(
        cnml.cnmlCreateDeviceMemcpyOp(&i->handle, op->in[0]->handle, op->out[0]->handle),
        "cnmlCreateDeviceMemcpyOp", op->node->name, err);
}

/* ---- one operator of MXNet ---- */

static void op_destroy(void *handle)
{
    struct op *op = handle;

    if (!op) {
        return;
    }
    for (int i = 0; i < op->internal_count; i++) {
        if (op->internal_ops[i].handle) {
            (void)cnml.cnmlDestroyBaseOp(&op->internal_ops[i].handle);
        }
    }
    for (int i = 0; i < op->derived_count; i++) {
        tensor_destroy(op->derived[i].tensor);
    }
    tensor_destroy(op->inter_data);
    free(op->in);
    free(op->out);
    free(op->addresses);
    free(op);
}

/* Values without CNML tensors, and constants made at run time. */
static int check_tensors(const struct op *op, struct ntk_err *err)
{
    for (uint32_t i = 0; i < op->node->input_count; i++) {
        if (op->in[i] && !op->in[i]->handle) {
            return UNSUPPORTED("node '%s': CNML has no tensor for input %u", op->node->name, i);
        }
        if (op->in[i] && op->in[i]->kind == MLU_TENSOR_DATA &&
            mlu_op_role(op->node->op, i) != MLU_ROLE_DATA) {
            return UNSUPPORTED("node '%s': input %u is a weight, which must be a constant in CNML",
                               op->node->name, i);
        }
    }
    for (uint32_t i = 0; i < op->node->output_count; i++) {
        if (!op->out[i]->handle) {
            return UNSUPPORTED("node '%s': CNML has no tensor for output %u", op->node->name, i);
        }
    }
    return 0;
}

static int create_internal(struct op *op, struct ntk_err *err)
{
    static int (*const creators[MLU_OP_KIND_COUNT])(struct op * op, struct ntk_err * err) = {
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

static int op_create(void *stream, const struct mlu_node *node, const struct mlu_op_param *param,
                     void *const *in, void *const *out, void **out_op, struct ntk_err *err)
{
    struct op *op = calloc(1, sizeof *op);
    int ret;

    if (op) {
        op->stream = stream;
        op->node = node;
        op->param = param;
        op->in = calloc((size_t)node->input_count + 1, sizeof *op->in);
        op->out = calloc((size_t)node->output_count + 1, sizeof *op->out);
    }
    if (!op || !op->in || !op->out) {
        op_destroy(op);
        return ntk_err_no_memory(err);
    }
    memcpy(op->in, in, node->input_count * sizeof *op->in);
    memcpy(op->out, out, node->output_count * sizeof *op->out);
    ret = check_tensors(op, err);
    ret = ret < 0 ? ret : create_internal(op, err);
    if (ret < 0) {
        op_destroy(op);
        return ret;
    }
    *out_op = op;
    return 0;
}

static int bind_value(struct tensor *tensor, const struct op *op, struct ntk_err *err)
{
    return cnml_answer(cnml.cnmlBindConstData(tensor->handle, tensor->host, tensor->value.data),
                       "cnmlBindConstData", op->node->name, err);
}

/* Sets all constants; derived ones are computed now. */
static int bind_constants(struct op *op, struct ntk_err *err)
{
    int ret = make_current(op->stream, err);

    for (int i = 0; ret == 0 && i < op->derived_count; i++) {
        struct tensor *tensor = op->derived[i].tensor;

        ret = mlu_array_init(&tensor->value, tensor->type.dtype, &tensor->type.shape, err);
        for (size_t k = 0; ret == 0 && k < tensor->value.count; k++) {
            mlu_array_set(&tensor->value, k, op->derived[i].value(op, k));
        }
        ret = ret < 0 ? ret : bind_value(tensor, op, err);
    }
    for (uint32_t i = 0; ret == 0 && i < op->node->input_count; i++) {
        if (op->in[i] && op->in[i]->value.data) {
            ret = bind_value(op->in[i], op, err);
        }
    }
    return ret;
}

static int op_compile(void *handle, struct ntk_err *err)
{
    struct op *op = handle;
    int ret = bind_constants(op, err);

    for (int i = 0; ret == 0 && i < op->internal_count; i++) {
        ret = cnml_answer(cnml.cnmlCompileBaseOp(op->internal_ops[i].handle, CORE_VERSION, 1),
                          "cnmlCompileBaseOp", op->node->name, err);
    }
    return ret;
}

static cnmlStatus_t forward(struct op *op, struct internal_op *internal)
{
    cnrtQueue_t queue = op->stream->queue;

    switch (internal->form) {
    case FORM_ONE:
        return internal->forward.one(internal->handle, internal->in[0]->buffer,
                                     internal->out[0]->buffer, NULL, queue);
    case FORM_TWO:
        return internal->forward.two(internal->handle, internal->in[0]->buffer,
                                     internal->in[1]->buffer, internal->out[0]->buffer, NULL,
                                     queue);
    default:
        for (int i = 0; i < internal->in_count; i++) {
            op->addresses[i] = internal->in[i]->buffer;
        }
        for (int i = 0; i < internal->out_count; i++) {
            op->addresses[internal->in_count + i] = internal->out[i]->buffer;
        }
        return internal->forward.list(internal->handle, op->addresses, internal->in_count,
                                      op->addresses + internal->in_count, internal->out_count, NULL,
                                      queue);
    }
}

static int op_forward(void *handle, struct ntk_err *err)
{
    struct op *op = handle;
    int ret = make_current(op->stream, err);

    if (ret == 0 && op->inter_data) {
        ret = tensor_allocate(op->inter_data, err);
    }
    for (int i = 0; ret == 0 && i < op->internal_count; i++) {
        ret = cnml_answer(forward(op, &op->internal_ops[i]), "Forward", op->node->name, err);
    }
    return ret;
}

/* ---- fusion operators ---- */

static void fusion_destroy(void *handle)
{
    struct fusion *fusion = handle;

    if (fusion) {
        if (fusion->handle) {
            (void)cnml.cnmlDestroyFusionOp(&fusion->handle);
        }
        ntk_vec_fini(&fusion->ops);
        free(fusion->in);
        free(fusion->out);
        free(fusion->addresses);
        free(fusion);
    }
}

static int fusion_create(void *stream, void **out_fusion, struct ntk_err *err)
{
    struct fusion *fusion = calloc(1, sizeof *fusion);
    int ret;

    if (!fusion) {
        return ntk_err_no_memory(err);
    }
    fusion->stream = stream;
    ntk_vec_init(&fusion->ops, sizeof(struct op *));
    ret = make_current(stream, err);
    ret = ret < 0 ? ret
                  : cnml_answer(cnml.cnmlCreateFusionOp(&fusion->handle), "cnmlCreateFusionOp",
                                "fusion", err);
    if (ret < 0) {
        fusion_destroy(fusion);
        return ret;
    }
    *out_fusion = fusion;
    return 0;
}

static int fusion_add(void *handle, void *op_handle, struct ntk_err *err)
{
    struct fusion *fusion = handle;
    struct op *op = op_handle;
    int ret = 0;

    for (int i = 0; ret == 0 && i < op->internal_count; i++) {
        ret = cnml_answer(cnml.cnmlFuseOp(op->internal_ops[i].handle, fusion->handle), "cnmlFuseOp",
                          op->node->name, err);
    }
    return ret < 0 ? ret : ntk_vec_push(&fusion->ops, &op) < 0 ? ntk_err_no_memory(err) : 0;
}

static struct tensor **copy_list(void *const *from, uint32_t count)
{
    struct tensor **list = calloc((size_t)count + 1, sizeof *list);

    if (list) {
        memcpy(list, from, count * sizeof *list);
    }
    return list;
}

static int fusion_set_io(void *handle, void *const *in, uint32_t in_count, void *const *out,
                         uint32_t out_count, struct ntk_err *err)
{
    struct fusion *fusion = handle;
    cnmlStatus_t status = CNML_STATUS_BADALLOC;

    fusion->in = copy_list(in, in_count);
    fusion->out = copy_list(out, out_count);
    fusion->addresses = calloc((size_t)in_count + out_count + 1, sizeof *fusion->addresses);
    fusion->in_count = (int)in_count;
    fusion->out_count = (int)out_count;
    if (!fusion->in || !fusion->out || !fusion->addresses) {
        return ntk_err_no_memory(err);
    }
    cnmlTensor_t *in_handles = handles_of(fusion->in, in_count);
    cnmlTensor_t *out_handles = handles_of(fusion->out, out_count);
    if (in_handles && out_handles) {
        status = cnml.cnmlSetFusionIO(fusion->handle, in_handles, fusion->in_count, out_handles,
                                      fusion->out_count);
    }
    free(in_handles);
    free(out_handles);
    return cnml_answer(status, "cnmlSetFusionIO", "fusion", err);
}

static int fusion_compile(void *handle, struct ntk_err *err)
{
    struct fusion *fusion = handle;
    int ret = 0;

    for (size_t i = 0; ret == 0 && i < fusion->ops.count; i++) {
        ret = bind_constants(*(struct op **)ntk_vec_at(&fusion->ops, i), err);
    }
    return ret < 0 ? ret
                   : cnml_answer(cnml.cnmlCompileFusionOp(fusion->handle, CORE_VERSION, 1),
                                 "cnmlCompileFusionOp", "fusion", err);
}

static int fusion_forward(void *handle, struct ntk_err *err)
{
    struct fusion *fusion = handle;
    int ret = make_current(fusion->stream, err);

    if (ret < 0) {
        return ret;
    }
    for (int i = 0; i < fusion->in_count; i++) {
        fusion->addresses[i] = fusion->in[i]->buffer;
    }
    for (int i = 0; i < fusion->out_count; i++) {
        fusion->addresses[fusion->in_count + i] = fusion->out[i]->buffer;
    }
    return cnml_answer(
        cnml.cnmlComputeFusionOpForward_V3(fusion->handle, fusion->addresses, fusion->in_count,
                                           fusion->addresses + fusion->in_count, fusion->out_count,
                                           NULL, fusion->stream->queue),
        "cnmlComputeFusionOpForward", "fusion", err);
}

const struct mlu_device_ops mlu_device_cnml = {
    .name = "cnml",
    .open = library_open,
    .close = library_close,
    .stream_open = stream_open,
    .stream_close = stream_close,
    .stream_wait = stream_wait,
    .tensor_create = tensor_create,
    .tensor_destroy = tensor_destroy,
    .tensor_bind = tensor_bind,
    .tensor_allocate = tensor_allocate,
    .tensor_upload = tensor_upload,
    .tensor_download = tensor_download,
    .op_create = op_create,
    .op_destroy = op_destroy,
    .op_compile = op_compile,
    .op_forward = op_forward,
    .fusion_create = fusion_create,
    .fusion_destroy = fusion_destroy,
    .fusion_add = fusion_add,
    .fusion_set_io = fusion_set_io,
    .fusion_compile = fusion_compile,
    .fusion_forward = fusion_forward,
};
