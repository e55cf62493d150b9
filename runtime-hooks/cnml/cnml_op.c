/* SPDX-License-Identifier: MIT */
/* cnml_op - operators, from creation to the forward call. */
#include "runtime-hooks/cnml/cnml_internal.h"

#include <stdlib.h>
#include <string.h>

#define CNML_PARAM(generations, kind, Name, arguments)
#define CNML_CALL(generations, kind, type, name, arguments)
#define CNML_OP(ID, Name, Compute, operands, arity) [CNML_OP_##ID] = { #Name, CNML_##arity },
const struct cnml_op_row cnml_op_rows[CNML_OP_COUNT] = {
#include "runtime-hooks/cnml/cnml_ops.def"
};
#undef CNML_OP
#undef CNML_PARAM
#undef CNML_CALL

/* --- creation -------------------------------------------------------------------------------- */

struct cnmlBaseOp *cnml_op_hold(struct cnmlBaseOp *op)
{
    __atomic_add_fetch(&op->references, 1, __ATOMIC_RELAXED);
    return op;
}

static void drop_all(struct cnmlTensor **tensors, int count)
{
    for (int i = 0; tensors && i < count; i++) {
        cnml_tensor_drop(tensors[i]);
    }
    free(tensors);
}

void cnml_op_drop(struct cnmlBaseOp *op)
{
    if (!op || __atomic_sub_fetch(&op->references, 1, __ATOMIC_ACQ_REL) > 0) {
        return;
    }
    drop_all(op->inputs, op->input_count);
    drop_all(op->outputs, op->output_count);
    for (int i = 0; i < CNML_CONSTS; i++) {
        cnml_tensor_drop(op->consts[i]);
    }
    cnml_program_drop(op->program);
    free(op);
}

static struct cnmlTensor **hold_all(struct cnmlTensor *const *tensors, int count)
{
    struct cnmlTensor **held = calloc((size_t)count, sizeof(struct cnmlTensor *));

    for (int i = 0; held && i < count; i++) {
        held[i] = cnml_tensor_hold(tensors[i]);
    }
    return held;
}

static int check_tensors(struct cnmlTensor *const *tensors, int count)
{
    if (count < 1 || count > CNML_LIST_MAX || !tensors) {
        return CNML_STATUS_INVALIDARG;
    }
    for (int i = 0; i < count; i++) {
        if (!tensors[i] || !tensors[i]->has_shape) {
            return CNML_STATUS_INVALIDPARAM;
        }
    }
    return CNML_STATUS_SUCCESS;
}

int cnml_op_create(cnmlBaseOp_t *out_op, const struct cnml_op_make *make)
{
    struct cnmlBaseOp *op;
    int status;

    if (!out_op) {
        return CNML_STATUS_INVALIDARG;
    }
    status = check_tensors(make->inputs, make->input_count);
    if (status == CNML_STATUS_SUCCESS) {
        status = check_tensors(make->outputs, make->output_count);
    }
    for (int i = 0; status == CNML_STATUS_SUCCESS && i < CNML_CONSTS; i++) {
        const struct cnmlTensor *tensor = make->consts[i];

        if (tensor ? !tensor->has_shape || tensor->type == CNML_TENSOR : make->needs[i]) {
            status = CNML_STATUS_INVALIDPARAM;
        }
    }
    for (int i = 0; status == CNML_STATUS_SUCCESS && i < make->output_count; i++) {
        if (make->outputs[i]->type != CNML_TENSOR) {
            status = CNML_STATUS_INVALIDPARAM;
        }
    }
    if (status != CNML_STATUS_SUCCESS) {
        return status;
    }
    op = calloc(1, sizeof *op);
    if (!op) {
        return CNML_STATUS_BADALLOC;
    }
    op->references = 1;
    op->work = make->work;
    op->inputs = hold_all(make->inputs, make->input_count);
    op->outputs = hold_all(make->outputs, make->output_count);
    if (!op->inputs || !op->outputs) {
        cnml_op_drop(op);
        return CNML_STATUS_BADALLOC;
    }
    op->input_count = make->input_count;
    op->output_count = make->output_count;
    for (int i = 0; i < CNML_CONSTS; i++) {
        op->consts[i] = cnml_tensor_hold(make->consts[i]);
    }
    *out_op = op;
    return CNML_STATUS_SUCCESS;
}

int cnml_op_create_plain(cnmlBaseOp_t *out_op, enum cnml_op_id id, const struct cnml_param *param,
                         cnmlTensor_t a, cnmlTensor_t b, cnmlTensor_t out)
{
    struct cnmlTensor *inputs[] = { a, b };
    struct cnml_op_make make = { .work = { .id = id, .group = 1 },
                                 .inputs = inputs,
                                 .outputs = &out,
                                 .input_count = cnml_op_rows[id].arity,
                                 .output_count = 1 };

    if (param) {
        make.work.param = *param;
    }
    return cnml_op_create(out_op, &make);
}

int cnml_op_create_conv(cnmlBaseOp_t *out_op, enum cnml_op_id id, const struct cnml_param *param,
                        cnmlTensor_t in, cnmlTensor_t out, cnmlTensor_t filter, cnmlTensor_t bias,
                        int group)
{
    struct cnml_op_make make = { .work = { .id = id, .group = group },
                                 .inputs = &in,
                                 .outputs = &out,
                                 .input_count = 1,
                                 .output_count = 1,
                                 .consts = { filter, bias },
                                 .needs = { true } };

    if (!param || group < 1) {
        return CNML_STATUS_INVALIDARG;
    }
    make.work.param = *param;
    if (id == CNML_OP_CONV_DEPTHWISE && in) {
        make.work.group = in->dims[CNML_C];
    }
    return cnml_op_create(out_op, &make);
}

int cnml_op_create_mlp(cnmlBaseOp_t *out_op, cnmlTensor_t in, cnmlTensor_t out, cnmlTensor_t filter,
                       cnmlTensor_t bias)
{
    static const struct cnml_param none = {
        .stride_h = 1, .stride_w = 1, .dilation_h = 1, .dilation_w = 1
    };

    return cnml_op_create_conv(out_op, CNML_OP_MLP, &none, in, out, filter, bias, 1);
}

int cnml_op_create_softmax(cnmlBaseOp_t *out_op, int axis, cnmlTensor_t in, cnmlTensor_t out)
{
    struct cnml_op_make make = { .work = { .id = CNML_OP_SOFTMAX, .group = 1, .selector = axis },
                                 .inputs = &in,
                                 .outputs = &out,
                                 .input_count = 1,
                                 .output_count = 1 };

    return axis < 0 ? CNML_STATUS_INVALIDARG : cnml_op_create(out_op, &make);
}

int cnml_op_create_list(cnmlBaseOp_t *out_op, enum cnml_op_id id, const struct cnml_param *param,
                        cnmlTensor_t *in, int in_count, cnmlTensor_t *out, int out_count)
{
    struct cnml_op_make make = { .work = { .id = id, .group = 1 },
                                 .inputs = in,
                                 .outputs = out,
                                 .input_count = in_count,
                                 .output_count = out_count };

    if (!param || in_count != param->in_count || out_count != param->out_count) {
        return CNML_STATUS_INVALIDARG;
    }
    make.work.param = *param;
    return cnml_op_create(out_op, &make);
}

/* --- compilation ----------------------------------------------------------------------------- */

static int check_op(const struct cnmlBaseOp *op)
{
    int in[CNML_LIST_MAX][CNML_DIMS];
    int out[CNML_LIST_MAX][CNML_DIMS];
    const int *consts[CNML_CONSTS];

    for (int i = 0; i < op->input_count; i++) {
        memcpy(in[i], op->inputs[i]->dims, sizeof in[i]);
    }
    for (int i = 0; i < op->output_count; i++) {
        memcpy(out[i], op->outputs[i]->dims, sizeof out[i]);
    }
    for (int i = 0; i < CNML_CONSTS; i++) {
        consts[i] = op->consts[i] ? op->consts[i]->dims : NULL;
    }
    return cnml_shapes_check(&op->work, (const int(*)[CNML_DIMS])in, op->input_count,
                             (const int(*)[CNML_DIMS])out, op->output_count, consts);
}

int cnml_op_prepare(struct cnmlBaseOp *op)
{
    int status = check_op(op);

    for (int i = 0; status == CNML_STATUS_SUCCESS && i < CNML_CONSTS; i++) {
        if (op->consts[i]) {
            status = cnml_tensor_consume(op->consts[i]);
        }
    }
    for (int i = 0; status == CNML_STATUS_SUCCESS && i < op->input_count; i++) {
        if (op->inputs[i]->type != CNML_TENSOR) {
            status = cnml_tensor_consume(op->inputs[i]);
        }
    }
    return status;
}

void cnml_op_mark(struct cnmlBaseOp *op)
{
    for (int i = 0; i < op->input_count; i++) {
        op->inputs[i]->is_compiled = true;
    }
    for (int i = 0; i < op->output_count; i++) {
        op->outputs[i]->is_compiled = true;
    }
    for (int i = 0; i < CNML_CONSTS; i++) {
        if (op->consts[i]) {
            op->consts[i]->is_compiled = true;
        }
    }
}

int cnml_version_check(int core_version)
{
    return core_version >= CNML_1H8 && core_version <= CNML_MLU220 ? CNML_STATUS_SUCCESS
                                                                   : CNML_STATUS_INVALIDARG;
}

int cnml_op_compile(struct cnmlBaseOp *op, int core_version, int parallelism)
{
    int status = op ? cnml_version_check(core_version) : CNML_STATUS_INVALIDARG;
    struct cnmlTensor *inputs[CNML_LIST_MAX];
    int input_count = 0;

    if (status != CNML_STATUS_SUCCESS) {
        return status;
    }
    if (parallelism < 1 || op->fusion) {
        return CNML_STATUS_INVALIDPARAM;
    }
    if (op->program) {
        return CNML_STATUS_SUCCESS;
    }
    status = cnml_op_prepare(op);
    if (status != CNML_STATUS_SUCCESS) {
        return status;
    }
    for (int i = 0; i < op->input_count; i++) {
        if (op->inputs[i]->type == CNML_TENSOR) {
            inputs[input_count++] = op->inputs[i];
        }
    }
    status = cnml_program_create(&op, 1, inputs, input_count, op->outputs, op->output_count,
                                 cnml_op_rows[op->work.id].name, &op->program);
    if (status == CNML_STATUS_SUCCESS) {
        op->core_version = core_version;
        op->core_count = op->core_count ? op->core_count : parallelism;
        cnml_op_mark(op);
    }
    return status;
}

int cnml_op_forward(struct cnmlBaseOp *op, int arity, void *const *in, int in_count,
                    void *const *out, int out_count, const struct cnml_how *how, void *queue)
{
    void *runtime_in[CNML_LIST_MAX];
    int runtime_count = 0;

    if (!op || !in || !out || cnml_op_rows[op->work.id].arity != arity) {
        return CNML_STATUS_INVALIDPARAM;
    }
    if (in_count != op->input_count || out_count != op->output_count) {
        return CNML_STATUS_INVALIDARG;
    }
    if (!op->program) {
        return CNML_STATUS_INVALIDPARAM;
    }
    /* Skip inputs with bound data: their address is not checked. */
    for (int i = 0; i < in_count; i++) {
        if (op->inputs[i]->type == CNML_TENSOR) {
            runtime_in[runtime_count++] = in[i];
        }
    }
    return cnml_forward(op->program, runtime_in, runtime_count, out, out_count, how, queue);
}

/* --- calls of all generations ---------------------------------------------------------------- */

cnmlStatus_t cnmlDestroyBaseOp(cnmlBaseOp_t *op)
{
    if (!op || !*op) {
        return CNML_STATUS_INVALIDARG;
    }
    cnml_op_drop(*op);
    *op = NULL;
    return CNML_STATUS_SUCCESS;
}

cnmlStatus_t cnmlCheckBaseOpRunnable(cnmlBaseOp_t op, cnmlCoreVersion_t version)
{
    int status = op ? cnml_version_check((int)version) : CNML_STATUS_INVALIDARG;

    return (cnmlStatus_t)(status == CNML_STATUS_SUCCESS ? check_op(op) : status);
}

cnmlStatus_t cnmlCompileBaseOp(cnmlBaseOp_t op, cnmlCoreVersion_t version, int model_parallelism)
{
    return (cnmlStatus_t)cnml_op_compile(op, (int)version, model_parallelism);
}

cnmlStatus_t cnmlGetMaxMemUsed(cnmlBaseOp_t op, int64_t *total, int64_t *share, int64_t *priv)
{
    return (cnmlStatus_t)(op ? cnml_program_memory(op->program, total, share, priv)
                             : CNML_STATUS_INVALIDARG);
}

static cnmlStatus_t quantise(cnmlBaseOp_t op, bool is_mlp)
{
    bool fits = op && (is_mlp ? op->work.id == CNML_OP_MLP
                              : op->work.id == CNML_OP_CONV || op->work.id == CNML_OP_CONV_GROUP ||
                                    op->work.id == CNML_OP_CONV_DEPTHWISE ||
                                    op->work.id == CNML_OP_CONV_FIRST);

    if (!op) {
        return CNML_STATUS_INVALIDARG;
    }
    if (!fits || op->program) {
        return CNML_STATUS_INVALIDPARAM;
    }
    op->is_quantised = true;
    return CNML_STATUS_SUCCESS;
}

cnmlStatus_t cnmlEnableConvOpFix8Mode(cnmlBaseOp_t op)
{
    return quantise(op, false);
}

cnmlStatus_t cnmlEnableMlpOpFix8Mode(cnmlBaseOp_t op)
{
    return quantise(op, true);
}

cnmlStatus_t cnmlEnableConvOpInt8Mode(cnmlBaseOp_t op)
{
    return quantise(op, false);
}

cnmlStatus_t cnmlEnableMlpOpInt8Mode(cnmlBaseOp_t op)
{
    return quantise(op, true);
}
