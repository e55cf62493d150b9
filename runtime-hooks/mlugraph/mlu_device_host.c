/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/mlugraph/mlu_compute.h"
#include "runtime-hooks/mlugraph/mlu_device.h"
#include "shared/base/vec.h"

#define BAD(...) ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, __VA_ARGS__)

struct tensor {
    enum mlu_tensor_kind kind;
    struct mlu_type type;
    bool is_usable;         /* an operator that uses it is compiled */
    struct mlu_array array; /* the buffer or the bound value */
    uint32_t mark;          /* in a fusion: index among its tensors, + 1 */
};

struct op {
    const struct mlu_node *node;
    const struct mlu_op_param *param;
    struct tensor **in; /* input_count entries of the node */
    struct tensor **out;
    bool is_compiled;
    bool is_fused;
};

struct fusion {
    struct ntk_vec ops; /* elements are struct op * */
    struct tensor **in;
    uint32_t in_count;
    struct tensor **out;
    uint32_t out_count;
    struct ntk_vec inside; /* elements are struct tensor *, used only inside the fusion */
    bool is_compiled;
};

static int open_host(struct ntk_err *err)
{
    (void)err;
    return 0;
}

static void close_host(void)
{
}

/* Opens a stream without state, because work is done immediately. */
static int stream_open(int32_t device, void **out_stream, struct ntk_err *err)
{
    (void)device;
    *out_stream = malloc(1);
    return *out_stream ? 0 : ntk_err_no_memory(err);
}

static void stream_close(void *stream)
{
    free(stream);
}

static int stream_wait(void *stream, struct ntk_err *err)
{
    (void)stream;
    (void)err;
    return 0;
}

static int tensor_create(void *stream, enum mlu_tensor_kind kind, const struct mlu_type *type,
                         void **out_tensor, struct ntk_err *err)
{
    struct tensor *tensor = calloc(1, sizeof *tensor);

    (void)stream;
    if (!tensor) {
        return ntk_err_no_memory(err);
    }
    tensor->kind = kind;
    tensor->type = *type;
    *out_tensor = tensor;
    return 0;
}

static void tensor_destroy(void *handle)
{
    struct tensor *tensor = handle;

    if (tensor) {
        mlu_array_fini(&tensor->array);
        free(tensor);
    }
}

static bool fits(const struct tensor *tensor, const struct mlu_array *array)
{
    return tensor->type.dtype == array->dtype &&
           mlu_shape_equal(&tensor->type.shape, &array->shape);
}

static int tensor_bind(void *handle, const struct mlu_array *array, struct ntk_err *err)
{
    struct tensor *tensor = handle;

    if (tensor->kind == MLU_TENSOR_DATA || tensor->array.data || !fits(tensor, array)) {
        return BAD("cannot bind the tensor: it is not a constant, is already bound, or differs "
                   "from the array in type or shape");
    }
    return mlu_array_copy(&tensor->array, array, err);
}

static int tensor_allocate(void *handle, struct ntk_err *err)
{
    struct tensor *tensor = handle;

    if (!tensor->is_usable || tensor->kind != MLU_TENSOR_DATA || tensor->array.data) {
        return BAD("cannot allocate a buffer: the tensor is a constant, already has a buffer, or "
                   "is not used by a compiled operator");
    }
    return mlu_array_init(&tensor->array, tensor->type.dtype, &tensor->type.shape, err);
}

static int tensor_upload(void *handle, const struct mlu_array *from, struct ntk_err *err)
{
    struct tensor *tensor = handle;

    if (!tensor->array.data || !fits(tensor, from)) {
        return BAD("cannot copy to a tensor without a buffer or with a different type or shape");
    }
    memcpy(tensor->array.data, from->data, from->count * mlu_dtype_bytes(from->dtype));
    return 0;
}

static int tensor_download(void *handle, struct mlu_array *to, struct ntk_err *err)
{
    const struct tensor *tensor = handle;

    if (!tensor->array.data || !fits(tensor, to)) {
        return BAD("cannot copy from a tensor without a buffer or with a different type or shape");
    }
    memcpy(to->data, tensor->array.data, to->count * mlu_dtype_bytes(to->dtype));
    return 0;
}

static void op_destroy(void *handle)
{
    struct op *op = handle;

    if (op) {
        free(op->in);
        free(op->out);
        free(op);
    }
}

static int op_create(void *stream, const struct mlu_node *node, const struct mlu_op_param *param,
                     void *const *in, void *const *out, void **out_op, struct ntk_err *err)
{
    struct op *op = calloc(1, sizeof *op);

    (void)stream;
    if (op) {
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
    *out_op = op;
    return 0;
}

static int check_constants(const struct op *op, struct ntk_err *err)
{
    for (uint32_t i = 0; i < op->node->input_count; i++) {
        if (op->in[i] && op->in[i]->kind != MLU_TENSOR_DATA && !op->in[i]->array.data) {
            return BAD("node '%s': constant %u is not bound", op->node->name, i);
        }
    }
    return 0;
}

static void make_usable(struct op *op)
{
    for (uint32_t i = 0; i < op->node->input_count; i++) {
        if (op->in[i]) {
            op->in[i]->is_usable = true;
        }
    }
    for (uint32_t i = 0; i < op->node->output_count; i++) {
        op->out[i]->is_usable = true;
    }
}

static int op_compile(void *handle, struct ntk_err *err)
{
    struct op *op = handle;
    int ret = op->is_fused
                  ? BAD("node '%s' is part of a fusion operator and cannot be compiled alone",
                        op->node->name)
                  : check_constants(op, err);

    if (ret == 0) {
        op->is_compiled = true;
        make_usable(op);
    }
    return ret;
}

/* Runs an operator. inside: the buffers of the marked tensors, which have no buffer in the
 * operator. */
static int run(const struct op *op, struct mlu_array *inside, struct ntk_err *err)
{
    uint32_t inputs = op->node->input_count;
    const struct mlu_array **in = calloc((size_t)inputs + 1, sizeof *in);
    struct mlu_array **out = calloc((size_t)op->node->output_count + 1, sizeof *out);
    int ret = 0;

    if (!in || !out) {
        free(in);
        free(out);
        return ntk_err_no_memory(err);
    }
    for (uint32_t i = 0; ret == 0 && i < inputs; i++) {
        if (op->in[i]) {
            in[i] =
                op->in[i]->mark > 0 && inside ? &inside[op->in[i]->mark - 1] : &op->in[i]->array;
            ret = in[i]->data ? 0 : BAD("node '%s': input %u has no data", op->node->name, i);
        }
    }
    for (uint32_t i = 0; ret == 0 && i < op->node->output_count; i++) {
        out[i] =
            op->out[i]->mark > 0 && inside ? &inside[op->out[i]->mark - 1] : &op->out[i]->array;
        ret = out[i]->data ? 0 : BAD("node '%s': output %u has no buffer", op->node->name, i);
    }
    if (ret == 0) {
        ret = mlu_compute(op->node, op->param, in, out, err);
    }
    free(in);
    free(out);
    return ret;
}

static int op_forward(void *handle, struct ntk_err *err)
{
    struct op *op = handle;

    return op->is_compiled ? run(op, NULL, err) : BAD("node '%s' is not compiled", op->node->name);
}

static void fusion_destroy(void *handle)
{
    struct fusion *fusion = handle;

    if (fusion) {
        ntk_vec_fini(&fusion->ops);
        ntk_vec_fini(&fusion->inside);
        free(fusion->in);
        free(fusion->out);
        free(fusion);
    }
}

static int fusion_create(void *stream, void **out_fusion, struct ntk_err *err)
{
    struct fusion *fusion = calloc(1, sizeof *fusion);

    (void)stream;
    if (!fusion) {
        return ntk_err_no_memory(err);
    }
    ntk_vec_init(&fusion->ops, sizeof(struct op *));
    ntk_vec_init(&fusion->inside, sizeof(struct tensor *));
    *out_fusion = fusion;
    return 0;
}

static int fusion_add(void *handle, void *op_handle, struct ntk_err *err)
{
    struct fusion *fusion = handle;
    struct op *op = op_handle;

    if (fusion->is_compiled || op->is_fused || op->is_compiled) {
        return BAD("node '%s': cannot fuse after compilation, or twice", op->node->name);
    }
    op->is_fused = true;
    return ntk_vec_push(&fusion->ops, &op) < 0 ? ntk_err_no_memory(err) : 0;
}

static int fusion_set_io(void *handle, void *const *in, uint32_t in_count, void *const *out,
                         uint32_t out_count, struct ntk_err *err)
{
    struct fusion *fusion = handle;

    fusion->in = calloc((size_t)in_count + 1, sizeof *fusion->in);
    fusion->out = calloc((size_t)out_count + 1, sizeof *fusion->out);
    if (!fusion->in || !fusion->out) {
        return ntk_err_no_memory(err);
    }
    memcpy(fusion->in, in, in_count * sizeof *fusion->in);
    memcpy(fusion->out, out, out_count * sizeof *fusion->out);
    fusion->in_count = in_count;
    fusion->out_count = out_count;
    return 0;
}

static bool is_in(struct tensor *const *list, uint32_t count, const struct tensor *tensor)
{
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] == tensor) {
            return true;
        }
    }
    return false;
}

/* Compiles a fusion. Every tensor that it reads must be an input, a constant, or produced earlier;
 * produced tensors that are not outputs are inside. */
static int fusion_compile(void *handle, struct ntk_err *err)
{
    struct fusion *fusion = handle;

    ntk_vec_each(struct op *, at, &fusion->ops) {
        struct op *op = *at;
        int ret = check_constants(op, err);

        for (uint32_t i = 0; ret == 0 && i < op->node->input_count; i++) {
            struct tensor *tensor = op->in[i];

            if (tensor && tensor->kind == MLU_TENSOR_DATA && tensor->mark == 0 &&
                !is_in(fusion->in, fusion->in_count, tensor) &&
                !is_in(fusion->out, fusion->out_count, tensor)) {
                ret = BAD("node '%s': input %u has no producer", op->node->name, i);
            }
        }
        for (uint32_t i = 0; ret == 0 && i < op->node->output_count; i++) {
            if (!is_in(fusion->out, fusion->out_count, op->out[i])) {
                op->out[i]->mark = (uint32_t)fusion->inside.count + 1;
                ret = ntk_vec_push(&fusion->inside, &op->out[i]);
            }
        }
        if (ret < 0) {
            return ret == -ENOMEM ? ntk_err_no_memory(err) : ret;
        }
    }
    for (uint32_t i = 0; i < fusion->in_count; i++) {
        fusion->in[i]->is_usable = true;
    }
    for (uint32_t i = 0; i < fusion->out_count; i++) {
        fusion->out[i]->is_usable = true;
    }
    fusion->is_compiled = true;
    return 0;
}

static int fusion_forward(void *handle, struct ntk_err *err)
{
    struct fusion *fusion = handle;
    struct mlu_array *inside = calloc(fusion->inside.count + 1, sizeof *inside);
    int ret = inside ? 0 : ntk_err_no_memory(err);

    if (ret == 0 && !fusion->is_compiled) {
        ret = BAD("the fusion operator is not compiled");
    }
    for (size_t i = 0; ret == 0 && i < fusion->inside.count; i++) {
        const struct tensor *tensor = *(struct tensor **)ntk_vec_at(&fusion->inside, i);

        ret = mlu_array_init(&inside[i], tensor->type.dtype, &tensor->type.shape, err);
    }
    for (size_t i = 0; ret == 0 && i < fusion->ops.count; i++) {
        ret = run(*(struct op **)ntk_vec_at(&fusion->ops, i), inside, err);
    }
    for (size_t i = 0; inside && i < fusion->inside.count; i++) {
        mlu_array_fini(&inside[i]);
    }
    free(inside);
    return ret;
}

const struct mlu_device_ops mlu_device_host = {
    .name = "host",
    .open = open_host,
    .close = close_host,
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
