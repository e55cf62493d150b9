/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/mlugraph/mlu_op_executor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/mlugraph/mlu_compute.h"
#include "runtime-hooks/mlugraph/mlu_fuse_symbol.h"

static bool is_constant(const struct mlu_op_executor *e, uint32_t input)
{
    return e->in_array[input] && !mlu_node_reads_at_run(e->symbol, e->node, input);
}

/* Returns FILTER for the weight of a product, CONST for any other constant. */
static enum mlu_tensor_kind kind_of(const struct mlu_op_executor *e, uint32_t input)
{
    enum mlu_op_kind kind = e->node->op->kind;

    return input == 1 && (kind == MLU_OP_CONVOLUTION || kind == MLU_OP_DECONVOLUTION ||
                          kind == MLU_OP_FULLY_CONNECTED)
               ? MLU_TENSOR_FILTER
               : MLU_TENSOR_CONST;
}

static void destroy_constants(struct mlu_op_executor *e)
{
    for (uint32_t i = 0; e->constants && i < e->node->input_count; i++) {
        e->stream->ops->tensor_destroy(e->constants[i]);
    }
    free(e->constants);
    e->constants = NULL;
}

/* Keeps the operator on the CPU, with the reason from err, which is then not an error. */
static int stay_on_cpu(struct mlu_op_executor *e, struct ntk_err *err)
{
    e->why_on_cpu = strdup(err->text);
    destroy_constants(e);
    e->stream = NULL;
    return e->why_on_cpu ? 0 : ntk_err_no_memory(err);
}

int mlu_op_executor_init(struct mlu_op_executor *e, struct ntk_err *err)
{
    uint32_t inputs = e->node->input_count;
    uint32_t outputs = e->node->output_count;
    void **in;
    void **out;
    int ret = 0;

    if (!e->stream) {
        return 0;
    }
    in = calloc((size_t)inputs + 1, sizeof *in);
    out = calloc((size_t)outputs + 1, sizeof *out);
    e->constants = calloc((size_t)inputs + 1, sizeof *e->constants);
    if (!in || !out || !e->constants) {
        free(in);
        free(out);
        return ntk_err_no_memory(err);
    }
    for (uint32_t i = 0; ret == 0 && i < inputs; i++) {
        if (is_constant(e, i)) {
            ret = e->stream->ops->tensor_create(e->stream->handle, kind_of(e, i),
                                                &e->in_array[i]->type, &e->constants[i], err);
            in[i] = e->constants[i];
        } else if (e->in_array[i]) {
            in[i] = mlu_ndarray_tensor(e->in_array[i], e->stream, err);
            ret = in[i] ? 0 : -ENOMEM;
        }
    }
    for (uint32_t i = 0; ret == 0 && i < outputs; i++) {
        out[i] = mlu_ndarray_tensor(e->out_array[i], e->stream, err);
        ret = out[i] ? 0 : -ENOMEM;
    }
    if (ret == 0) {
        struct ntk_err said = { 0 };

        ret = e->stream->ops->op_create(e->stream->handle, e->node, &e->param, in, out, &e->op,
                                        &said);
        if (ret == -ENOTSUP) {
            ret = stay_on_cpu(e, &said);
        } else if (ret < 0 && err) {
            *err = said;
        }
    }
    free(in);
    free(out);
    return ret;
}

void mlu_op_executor_fini(struct mlu_op_executor *e)
{
    if (e->stream) {
        e->stream->ops->op_destroy(e->op);
        destroy_constants(e);
    }
    free(e->why_on_cpu);
    free(e->in_array);
    free(e->out_array);
    *e = (struct mlu_op_executor){ 0 };
}

int mlu_op_executor_bind(struct mlu_op_executor *e, struct ntk_err *err)
{
    int ret = 0;

    for (uint32_t i = 0; !e->is_bound && ret == 0 && i < e->node->input_count; i++) {
        if (e->constants[i]) {
            ret = mlu_ndarray_to_host(e->in_array[i], err);
            ret = ret < 0
                      ? ret
                      : e->stream->ops->tensor_bind(e->constants[i], &e->in_array[i]->host, err);
        }
    }
    e->is_bound = ret == 0;
    return ret;
}

static int run_on_cpu(struct mlu_op_executor *e, struct ntk_err *err)
{
    const struct mlu_array **in = calloc((size_t)e->node->input_count + 1, sizeof *in);
    struct mlu_array **out = calloc((size_t)e->node->output_count + 1, sizeof *out);
    int ret = 0;

    if (!in || !out) {
        free(in);
        free(out);
        return ntk_err_no_memory(err);
    }
    for (uint32_t i = 0; ret == 0 && i < e->node->input_count; i++) {
        if (e->in_array[i]) {
            ret = mlu_ndarray_to_host(e->in_array[i], err);
            in[i] = &e->in_array[i]->host;
        }
    }
    for (uint32_t i = 0; ret == 0 && i < e->node->output_count; i++) {
        ret = mlu_ndarray_reserve(e->out_array[i], err);
        out[i] = &e->out_array[i]->host;
    }
    if (ret == 0) {
        ret = mlu_compute(e->node, &e->param, in, out, err);
    }
    free(in);
    free(out);
    return ret;
}

static int run_on_mlu(struct mlu_op_executor *e, struct ntk_err *err)
{
    int ret = 0;

    if (!e->is_compiled) {
        ret = mlu_op_executor_bind(e, err);
        ret = ret < 0 ? ret : e->stream->ops->op_compile(e->op, err);
        e->is_compiled = ret == 0;
    }
    for (uint32_t i = 0; ret == 0 && i < e->node->input_count; i++) {
        if (e->in_array[i] && !e->constants[i]) {
            ret = mlu_ndarray_to_device(e->in_array[i], e->stream, err);
        }
    }
    for (uint32_t i = 0; ret == 0 && i < e->node->output_count; i++) {
        ret = mlu_ndarray_reserve_on_device(e->out_array[i], e->stream, err);
    }
    return ret < 0 ? ret : e->stream->ops->op_forward(e->op, err);
}

int mlu_op_executor_run(struct mlu_op_executor *e, struct ntk_err *err)
{
    int ret = e->stream ? run_on_mlu(e, err) : run_on_cpu(e, err);

    for (uint32_t i = 0; ret == 0 && i < e->node->output_count; i++) {
        mlu_ndarray_was_written(e->out_array[i], e->stream);
    }
    return ret;
}
