/* SPDX-License-Identifier: MIT */
/* mlu_device_cnml - implements mlu_device.h for MLUs with the calls of libcnml's second
 * generation. */
#include "runtime-hooks/mlugraph/mlu_device_cnml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The compilation target in the second generation; a software machine accepts any. */
#define CORE_VERSION CNML_MLU100

struct mlu_cnml mlu_cnml;
static unsigned users; /* number of executors between open and close */

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

int mlu_cnml_answer(cnmlStatus_t status, const char *what, const char *name, struct ntk_err *err)
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
                                                 what, mlu_cnml.cnrtGetErrorStr(ret), (int)ret);
}

/* ---- life, streams ---- */

static int library_open(struct ntk_err *err)
{
    int ret = mlu_cnml.cnmlInit ? 0 : mlu_cnml_open(&mlu_cnml, err);

    if (ret == 0 && users == 0) {
        ret = mlu_cnml_answer(mlu_cnml.cnmlInit(0), "cnmlInit", "libcnml", err);
    }
    users += ret == 0;
    return ret;
}

static void library_close(void)
{
    if (--users == 0) {
        (void)mlu_cnml.cnmlExit();
    }
}

static int make_current(const struct mlu_cnml_stream *stream, struct ntk_err *err)
{
    return cnrt_answer(mlu_cnml.cnrtSetCurrentDevice(stream->device), "cnrtSetCurrentDevice", err);
}

static int stream_open(int32_t device, void **out_stream, struct ntk_err *err)
{
    struct mlu_cnml_stream *stream = calloc(1, sizeof *stream);
    int ret;

    if (!stream) {
        return ntk_err_no_memory(err);
    }
    cnrtRet_t found = mlu_cnml.cnrtGetDeviceHandle(&stream->device, device);
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
    ret = ret < 0 ? ret
                  : cnrt_answer(mlu_cnml.cnrtCreateQueue(&stream->queue), "cnrtCreateQueue", err);
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
    struct mlu_cnml_stream *stream = handle;

    if (stream) {
        (void)mlu_cnml.cnrtDestroyQueue(stream->queue);
        free(stream);
    }
}

static int stream_wait(void *handle, struct ntk_err *err)
{
    const struct mlu_cnml_stream *stream = handle;
    int ret = make_current(stream, err);

    return ret < 0 ? ret : cnrt_answer(mlu_cnml.cnrtSyncQueue(stream->queue), "cnrtSyncQueue", err);
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

bool mlu_cnml_four_dims(const struct mlu_shape *shape, int dims[4])
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
    struct mlu_cnml_tensor *tensor = handle;

    if (tensor) {
        if (tensor->buffer) {
            (void)mlu_cnml.cnmlFreeBuffer(tensor->buffer);
        }
        if (tensor->handle) {
            (void)mlu_cnml.cnmlDestroyTensor(&tensor->handle);
        }
        if (tensor->host) {
            (void)mlu_cnml.cnmlDestroyCpuTensor(&tensor->host);
        }
        mlu_array_fini(&tensor->value);
        free(tensor);
    }
}

int mlu_cnml_tensor_create(void *stream, enum mlu_tensor_kind kind, const struct mlu_type *type,
                           void **out_tensor, struct ntk_err *err)
{
    static const cnmlTensorType_t kinds[] = { CNML_TENSOR, CNML_FILTER, CNML_CONST };
    struct mlu_cnml_tensor *tensor = calloc(1, sizeof *tensor);
    cnmlDataType_t dtype;
    int dims[4];
    int ret;

    if (!tensor) {
        return ntk_err_no_memory(err);
    }
    tensor->stream = stream;
    tensor->kind = kind;
    tensor->type = *type;
    /* A value without a tensor may belong to the CPU; operators search for the handle. */
    if (cnml_dtype(type->dtype, &dtype) && mlu_cnml_four_dims(&type->shape, dims) &&
        mlu_shape_count(&type->shape) > 0) {
        ret = mlu_cnml_answer(mlu_cnml.cnmlCreateTensor(&tensor->handle, kinds[kind], dtype,
                                                        dims[0], dims[1], dims[2], dims[3]),
                              "cnmlCreateTensor", "tensor", err);
        ret = ret < 0 ? ret
                      : mlu_cnml_answer(mlu_cnml.cnmlCreateCpuTensor(&tensor->host, kinds[kind],
                                                                     dtype, CNML_NCHW, dims[0],
                                                                     dims[1], dims[2], dims[3]),
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
    struct mlu_cnml_tensor *tensor = handle;

    return mlu_array_copy(&tensor->value, array, err);
}

static int tensor_allocate(void *handle, struct ntk_err *err)
{
    struct mlu_cnml_tensor *tensor = handle;
    int ret = make_current(tensor->stream, err);

    if (ret == 0 && !tensor->buffer) {
        tensor->buffer = mlu_cnml.cnmlMallocBuffer(tensor->handle);
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
    struct mlu_cnml_tensor *tensor = handle;
    int ret = make_current(tensor->stream, err);

    return ret < 0 ? ret
                   : mlu_cnml_answer(mlu_cnml.cnmlMemcpyTensorToDevice(
                                         tensor->host, from->data, tensor->handle, tensor->buffer),
                                     "cnmlMemcpyTensorToDevice", "tensor", err);
}

static int tensor_download(void *handle, struct mlu_array *to, struct ntk_err *err)
{
    struct mlu_cnml_tensor *tensor = handle;
    int ret = make_current(tensor->stream, err);

    return ret < 0 ? ret
                   : mlu_cnml_answer(mlu_cnml.cnmlMemcpyTensorToHost(tensor->handle, tensor->buffer,
                                                                     tensor->host, to->data),
                                     "cnmlMemcpyTensorToHost", "tensor", err);
}

/* ---- one operator of MXNet ---- */

static void op_destroy(void *handle)
{
    struct mlu_cnml_op *op = handle;

    if (!op) {
        return;
    }
    for (int i = 0; i < op->internal_count; i++) {
        if (op->internal_ops[i].handle) {
            (void)mlu_cnml.cnmlDestroyBaseOp(&op->internal_ops[i].handle);
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

/* Rejects values without CNML tensors, and constants computed at run time. */
static int check_tensors(const struct mlu_cnml_op *op, struct ntk_err *err)
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

static int op_create(void *stream, const struct mlu_node *node, const struct mlu_op_param *param,
                     void *const *in, void *const *out, void **out_op, struct ntk_err *err)
{
    struct mlu_cnml_op *op = calloc(1, sizeof *op);
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
    ret = ret < 0 ? ret : mlu_cnml_ops_create(op, err);
    if (ret < 0) {
        op_destroy(op);
        return ret;
    }
    *out_op = op;
    return 0;
}

static int bind_value(struct mlu_cnml_tensor *tensor, const struct mlu_cnml_op *op,
                      struct ntk_err *err)
{
    return mlu_cnml_answer(
        mlu_cnml.cnmlBindConstData(tensor->handle, tensor->host, tensor->value.data),
        "cnmlBindConstData", op->node->name, err);
}

/* Sets all constants; derived constants are computed here. */
static int bind_constants(struct mlu_cnml_op *op, struct ntk_err *err)
{
    int ret = make_current(op->stream, err);

    for (int i = 0; ret == 0 && i < op->derived_count; i++) {
        struct mlu_cnml_tensor *tensor = op->derived[i].tensor;

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
    struct mlu_cnml_op *op = handle;
    int ret = bind_constants(op, err);

    for (int i = 0; ret == 0 && i < op->internal_count; i++) {
        ret =
            mlu_cnml_answer(mlu_cnml.cnmlCompileBaseOp(op->internal_ops[i].handle, CORE_VERSION, 1),
                            "cnmlCompileBaseOp", op->node->name, err);
    }
    return ret;
}

static cnmlStatus_t forward(struct mlu_cnml_op *op, struct mlu_cnml_internal_op *internal)
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
    struct mlu_cnml_op *op = handle;
    int ret = make_current(op->stream, err);

    if (ret == 0 && op->inter_data) {
        ret = tensor_allocate(op->inter_data, err);
    }
    for (int i = 0; ret == 0 && i < op->internal_count; i++) {
        ret = mlu_cnml_answer(forward(op, &op->internal_ops[i]), "Forward", op->node->name, err);
    }
    return ret;
}

/* ---- fusion operators ---- */

static void fusion_destroy(void *handle)
{
    struct mlu_cnml_fusion *fusion = handle;

    if (fusion) {
        if (fusion->handle) {
            (void)mlu_cnml.cnmlDestroyFusionOp(&fusion->handle);
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
    struct mlu_cnml_fusion *fusion = calloc(1, sizeof *fusion);
    int ret;

    if (!fusion) {
        return ntk_err_no_memory(err);
    }
    fusion->stream = stream;
    ntk_vec_init(&fusion->ops, sizeof(struct mlu_cnml_op *));
    ret = make_current(stream, err);
    ret = ret < 0 ? ret
                  : mlu_cnml_answer(mlu_cnml.cnmlCreateFusionOp(&fusion->handle),
                                    "cnmlCreateFusionOp", "fusion", err);
    if (ret < 0) {
        fusion_destroy(fusion);
        return ret;
    }
    *out_fusion = fusion;
    return 0;
}

static int fusion_add(void *handle, void *op_handle, struct ntk_err *err)
{
    struct mlu_cnml_fusion *fusion = handle;
    struct mlu_cnml_op *op = op_handle;
    int ret = 0;

    for (int i = 0; ret == 0 && i < op->internal_count; i++) {
        ret = mlu_cnml_answer(mlu_cnml.cnmlFuseOp(op->internal_ops[i].handle, fusion->handle),
                              "cnmlFuseOp", op->node->name, err);
    }
    return ret < 0 ? ret : ntk_vec_push(&fusion->ops, &op) < 0 ? ntk_err_no_memory(err) : 0;
}

static struct mlu_cnml_tensor **copy_list(void *const *from, uint32_t count)
{
    struct mlu_cnml_tensor **list = calloc((size_t)count + 1, sizeof *list);

    if (list) {
        memcpy(list, from, count * sizeof *list);
    }
    return list;
}

static int fusion_set_io(void *handle, void *const *in, uint32_t in_count, void *const *out,
                         uint32_t out_count, struct ntk_err *err)
{
    struct mlu_cnml_fusion *fusion = handle;
    cnmlStatus_t status = CNML_STATUS_BADALLOC;

    fusion->in = copy_list(in, in_count);
    fusion->out = copy_list(out, out_count);
    fusion->addresses = calloc((size_t)in_count + out_count + 1, sizeof *fusion->addresses);
    fusion->in_count = (int)in_count;
    fusion->out_count = (int)out_count;
    if (!fusion->in || !fusion->out || !fusion->addresses) {
        return ntk_err_no_memory(err);
    }
    cnmlTensor_t *in_handles = mlu_cnml_handles(fusion->in, in_count);
    cnmlTensor_t *out_handles = mlu_cnml_handles(fusion->out, out_count);
    if (in_handles && out_handles) {
        status = mlu_cnml.cnmlSetFusionIO(fusion->handle, in_handles, fusion->in_count, out_handles,
                                          fusion->out_count);
    }
    free(in_handles);
    free(out_handles);
    return mlu_cnml_answer(status, "cnmlSetFusionIO", "fusion", err);
}

static int fusion_compile(void *handle, struct ntk_err *err)
{
    struct mlu_cnml_fusion *fusion = handle;
    int ret = 0;

    for (size_t i = 0; ret == 0 && i < fusion->ops.count; i++) {
        ret = bind_constants(*(struct mlu_cnml_op **)ntk_vec_at(&fusion->ops, i), err);
    }
    return ret < 0 ? ret
                   : mlu_cnml_answer(mlu_cnml.cnmlCompileFusionOp(fusion->handle, CORE_VERSION, 1),
                                     "cnmlCompileFusionOp", "fusion", err);
}

static int fusion_forward(void *handle, struct ntk_err *err)
{
    struct mlu_cnml_fusion *fusion = handle;
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
    return mlu_cnml_answer(
        mlu_cnml.cnmlComputeFusionOpForward_V3(fusion->handle, fusion->addresses, fusion->in_count,
                                               fusion->addresses + fusion->in_count,
                                               fusion->out_count, NULL, fusion->stream->queue),
        "cnmlComputeFusionOpForward", "fusion", err);
}

const struct mlu_device_ops mlu_device_cnml = {
    .name = "cnml",
    .open = library_open,
    .close = library_close,
    .stream_open = stream_open,
    .stream_close = stream_close,
    .stream_wait = stream_wait,
    .tensor_create = mlu_cnml_tensor_create,
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
