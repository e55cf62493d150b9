/* SPDX-License-Identifier: MIT */
/* cnml_fusion - operators that are compiled together. */
#include "runtime-hooks/cnml/cnml_internal.h"

#include <stdio.h>
#include <stdlib.h>

enum { OPS_MAX = 4096 };

cnmlStatus_t cnmlCreateFusionOp(cnmlFusionOp_t *op)
{
    struct cnmlFusionOp *made;

    if (!op) {
        return CNML_STATUS_INVALIDARG;
    }
    made = calloc(1, sizeof *made);
    if (!made) {
        return CNML_STATUS_BADALLOC;
    }
    *op = made;
    return CNML_STATUS_SUCCESS;
}

static void drop_all(struct cnmlTensor **tensors, int count)
{
    for (int i = 0; i < count; i++) {
        cnml_tensor_drop(tensors[i]);
    }
    free(tensors);
}

cnmlStatus_t cnmlDestroyFusionOp(cnmlFusionOp_t *op)
{
    struct cnmlFusionOp *gone;

    if (!op || !*op) {
        return CNML_STATUS_INVALIDARG;
    }
    gone = *op;
    for (int i = 0; i < gone->op_count; i++) {
        gone->ops[i]->fusion = NULL;
        cnml_op_drop(gone->ops[i]);
    }
    free(gone->ops);
    drop_all(gone->inputs, gone->input_count);
    drop_all(gone->outputs, gone->output_count);
    cnml_program_drop(gone->program);
    free(gone);
    *op = NULL;
    return CNML_STATUS_SUCCESS;
}

cnmlStatus_t cnmlFuseOp(cnmlBaseOp_t op, cnmlFusionOp_t fusion)
{
    struct cnmlBaseOp **grown;

    if (!op || !fusion) {
        return CNML_STATUS_INVALIDARG;
    }
    if (fusion->program) {
        return CNML_STATUS_INVALIDPARAM;
    }
    if (op->fusion || fusion->op_count == OPS_MAX) {
        return CNML_STATUS_INVALIDARG;
    }
    grown = realloc(fusion->ops, ((size_t)fusion->op_count + 1) * sizeof(struct cnmlBaseOp *));
    if (!grown) {
        return CNML_STATUS_BADALLOC;
    }
    fusion->ops = grown;
    fusion->ops[fusion->op_count++] = cnml_op_hold(op);
    op->fusion = fusion;
    return CNML_STATUS_SUCCESS;
}

static bool contains(struct cnmlTensor *const *tensors, int count, const struct cnmlTensor *tensor)
{
    for (int i = 0; i < count; i++) {
        if (tensors[i] == tensor) {
            return true;
        }
    }
    return false;
}

static int add(struct cnmlTensor ***list, int *count, struct cnmlTensor *tensor)
{
    struct cnmlTensor **grown;

    if (!tensor || !tensor->has_shape || tensor->type != CNML_TENSOR) {
        return CNML_STATUS_INVALIDPARAM;
    }
    if (*count == CNML_LIST_MAX || contains(*list, *count, tensor)) {
        return CNML_STATUS_INVALIDARG;
    }
    grown = realloc(*list, ((size_t)*count + 1) * sizeof(struct cnmlTensor *));
    if (!grown) {
        return CNML_STATUS_BADALLOC;
    }
    *list = grown;
    grown[(*count)++] = cnml_tensor_hold(tensor);
    return CNML_STATUS_SUCCESS;
}

cnmlStatus_t cnmlAddFusionInput(cnmlFusionOp_t op, cnmlTensor_t tensor)
{
    if (!op) {
        return CNML_STATUS_INVALIDARG;
    }
    return (cnmlStatus_t)(op->program ? CNML_STATUS_INVALIDPARAM
                                      : add(&op->inputs, &op->input_count, tensor));
}

cnmlStatus_t cnmlAddFusionOutput(cnmlFusionOp_t op, cnmlTensor_t tensor)
{
    if (!op) {
        return CNML_STATUS_INVALIDARG;
    }
    return (cnmlStatus_t)(op->program ? CNML_STATUS_INVALIDPARAM
                                      : add(&op->outputs, &op->output_count, tensor));
}

cnmlStatus_t cnmlSetFusionIO(cnmlFusionOp_t op, cnmlTensor_t *inputs, int input_count,
                             cnmlTensor_t *outputs, int output_count)
{
    struct cnmlFusionOp made = { 0 };
    int status = CNML_STATUS_SUCCESS;

    if (!op || input_count < 0 || output_count < 1 || (input_count > 0 && !inputs) || !outputs) {
        return CNML_STATUS_INVALIDARG;
    }
    if (op->program) {
        return CNML_STATUS_INVALIDPARAM;
    }
    for (int i = 0; status == CNML_STATUS_SUCCESS && i < input_count; i++) {
        status = add(&made.inputs, &made.input_count, inputs[i]);
    }
    for (int i = 0; status == CNML_STATUS_SUCCESS && i < output_count; i++) {
        status = add(&made.outputs, &made.output_count, outputs[i]);
    }
    if (status != CNML_STATUS_SUCCESS) {
        drop_all(made.inputs, made.input_count);
        drop_all(made.outputs, made.output_count);
        return (cnmlStatus_t)status;
    }
    drop_all(op->inputs, op->input_count);
    drop_all(op->outputs, op->output_count);
    op->inputs = made.inputs;
    op->input_count = made.input_count;
    op->outputs = made.outputs;
    op->output_count = made.output_count;
    return CNML_STATUS_SUCCESS;
}

static bool is_produced(const struct cnmlFusionOp *fusion, int before,
                        const struct cnmlTensor *tensor)
{
    for (int i = 0; i < before; i++) {
        if (contains(fusion->ops[i]->outputs, fusion->ops[i]->output_count, tensor)) {
            return true;
        }
    }
    return false;
}

/* Checks that each value is an input, bound, or produced by an earlier operator, and is produced
 * only once. */
static int check_graph(const struct cnmlFusionOp *fusion)
{
    for (int i = 0; i < fusion->op_count; i++) {
        const struct cnmlBaseOp *op = fusion->ops[i];

        for (int k = 0; k < op->input_count; k++) {
            if (op->inputs[k]->type == CNML_TENSOR && !is_produced(fusion, i, op->inputs[k]) &&
                !contains(fusion->inputs, fusion->input_count, op->inputs[k])) {
                return CNML_STATUS_INVALIDPARAM;
            }
        }
        for (int k = 0; k < op->output_count; k++) {
            if (is_produced(fusion, i, op->outputs[k]) ||
                contains(fusion->inputs, fusion->input_count, op->outputs[k])) {
                return CNML_STATUS_INVALIDPARAM;
            }
        }
    }
    for (int i = 0; i < fusion->output_count; i++) {
        if (!is_produced(fusion, fusion->op_count, fusion->outputs[i])) {
            return CNML_STATUS_INVALIDPARAM;
        }
    }
    return CNML_STATUS_SUCCESS;
}

/* Makes a name such as "Fusion(Conv,Active)", as monitors show it. */
static void name_of(const struct cnmlFusionOp *fusion, char *name, size_t bytes)
{
    size_t used = 0;

    for (int i = 0; i < fusion->op_count && used + 16 < bytes; i++) {
        const char *part = cnml_op_rows[fusion->ops[i]->work.id].name;
        /* Truncates a longer name; the last byte is for the parenthesis. */
        int added = snprintf(name + used, bytes - 1 - used, "%s%s", i == 0 ? "Fusion(" : ",", part);

        used += added > 0 ? (size_t)added : 0;
        used = used < bytes - 2 ? used : bytes - 2;
    }
    (void)snprintf(name + used, bytes - used, ")");
}

int cnml_fusion_compile(struct cnmlFusionOp *fusion, int core_version, int parallelism)
{
    int status = fusion ? cnml_version_check(core_version) : CNML_STATUS_INVALIDARG;
    char name[64];

    if (status != CNML_STATUS_SUCCESS) {
        return status;
    }
    if (parallelism < 1 || fusion->op_count == 0 || fusion->output_count == 0) {
        return CNML_STATUS_INVALIDPARAM;
    }
    if (fusion->program) {
        return CNML_STATUS_SUCCESS;
    }
    status = check_graph(fusion);
    for (int i = 0; status == CNML_STATUS_SUCCESS && i < fusion->op_count; i++) {
        status = cnml_op_prepare(fusion->ops[i]);
    }
    if (status != CNML_STATUS_SUCCESS) {
        return status;
    }
    name_of(fusion, name, sizeof name);
    status = cnml_program_create(fusion->ops, fusion->op_count, fusion->inputs, fusion->input_count,
                                 fusion->outputs, fusion->output_count, name, &fusion->program);
    if (status == CNML_STATUS_SUCCESS) {
        fusion->core_version = core_version;
        fusion->core_count = fusion->core_count ? fusion->core_count : parallelism;
        for (int i = 0; i < fusion->op_count; i++) {
            cnml_op_mark(fusion->ops[i]);
        }
    }
    return status;
}

cnmlStatus_t cnmlCompileFusionOp(cnmlFusionOp_t op, cnmlCoreVersion_t version,
                                 int model_parallelism)
{
    return (cnmlStatus_t)cnml_fusion_compile(op, (int)version, model_parallelism);
}

int cnml_fusion_forward(struct cnmlFusionOp *fusion, void *const *in, int in_count,
                        void *const *out, int out_count, const struct cnml_how *how, void *queue)
{
    if (!fusion || !out || (in_count > 0 && !in) || !fusion->program) {
        return CNML_STATUS_INVALIDPARAM;
    }
    if (in_count != fusion->input_count || out_count != fusion->output_count) {
        return CNML_STATUS_INVALIDARG;
    }
    return cnml_forward(fusion->program, in, in_count, out, out_count, how, queue);
}

cnmlStatus_t cnmlGetFusionMaxMemUsed(cnmlFusionOp_t op, int64_t *total, int64_t *share,
                                     int64_t *priv)
{
    return (cnmlStatus_t)(op ? cnml_program_memory(op->program, total, share, priv)
                             : CNML_STATUS_INVALIDARG);
}
