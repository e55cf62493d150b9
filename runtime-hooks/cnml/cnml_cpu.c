/* SPDX-License-Identifier: MIT */
/* cnml_cpu - the calls cnmlCpuCompute...: run operators on the host, with the client's data in any
 * dtype and order. */
#include "runtime-hooks/cnml/cnml_internal.h"

#include <stdlib.h>
#include <string.h>

struct operand {
    const struct cnmlCpuTensor *tensor;
    void *data;
};

static const struct cnml_quant plain = { 0, 1 };

static int read(const struct operand *operand, struct cnml_array *array)
{
    memcpy(array->dims, operand->tensor->dims, sizeof array->dims);
    array->values = cnml_host_read(operand->tensor, operand->data, plain);
    return array->values ? CNML_STATUS_SUCCESS : CNML_STATUS_BADALLOC;
}

static bool all_there(const struct operand *operands, int count)
{
    for (int i = 0; i < count; i++) {
        if (!operands[i].tensor || !operands[i].data) {
            return false;
        }
    }
    return true;
}

struct call {
    struct cnml_work work;
    const struct operand *in;
    const struct operand *out;
    int in_count, out_count;
    struct operand consts[CNML_CONSTS];
};

static int check(const struct call *call)
{
    int in[CNML_LIST_MAX][CNML_DIMS];
    int out[CNML_LIST_MAX][CNML_DIMS];
    const int *consts[CNML_CONSTS] = { NULL };

    for (int i = 0; i < call->in_count; i++) {
        memcpy(in[i], call->in[i].tensor->dims, sizeof in[i]);
    }
    for (int i = 0; i < call->out_count; i++) {
        memcpy(out[i], call->out[i].tensor->dims, sizeof out[i]);
    }
    for (int i = 0; i < CNML_CONSTS; i++) {
        if (!call->consts[i].tensor != !call->consts[i].data) {
            return CNML_STATUS_INVALIDPARAM;
        }
        consts[i] = call->consts[i].tensor ? call->consts[i].tensor->dims : NULL;
    }
    return cnml_shapes_check(&call->work, (const int(*)[CNML_DIMS])in, call->in_count,
                             (const int(*)[CNML_DIMS])out, call->out_count, consts);
}

static cnmlStatus_t compute(const struct call *call)
{
    struct cnml_array *in;
    struct cnml_array *out;
    struct cnml_array consts[CNML_CONSTS] = { 0 };
    int status;

    if (call->in_count < 1 || call->out_count < 1 || call->in_count > CNML_LIST_MAX ||
        call->out_count > CNML_LIST_MAX || !all_there(call->in, call->in_count) ||
        !all_there(call->out, call->out_count)) {
        return CNML_STATUS_INVALIDPARAM;
    }
    status = check(call);
    if (status != CNML_STATUS_SUCCESS) {
        return (cnmlStatus_t)status;
    }
    in = calloc((size_t)call->in_count, sizeof *in);
    out = calloc((size_t)call->out_count, sizeof *out);
    status = in && out ? CNML_STATUS_SUCCESS : CNML_STATUS_BADALLOC;
    for (int i = 0; status == CNML_STATUS_SUCCESS && i < call->in_count; i++) {
        status = read(&call->in[i], &in[i]);
    }
    for (int i = 0; status == CNML_STATUS_SUCCESS && i < CNML_CONSTS; i++) {
        if (call->consts[i].tensor) {
            status = read(&call->consts[i], &consts[i]);
        }
    }
    for (int i = 0; status == CNML_STATUS_SUCCESS && i < call->out_count; i++) {
        memcpy(out[i].dims, call->out[i].tensor->dims, sizeof out[i].dims);
        out[i].values = calloc(cnml_elements(out[i].dims), sizeof *out[i].values);
        status = out[i].values ? CNML_STATUS_SUCCESS : CNML_STATUS_BADALLOC;
    }
    if (status == CNML_STATUS_SUCCESS) {
        status = cnml_reference(&call->work, in, call->in_count, out, call->out_count, consts);
    }
    for (int i = 0; status == CNML_STATUS_SUCCESS && i < call->out_count; i++) {
        status = cnml_host_write(call->out[i].tensor, call->out[i].data, plain, out[i].values);
    }
    for (int i = 0; in && i < call->in_count; i++) {
        free(in[i].values);
    }
    for (int i = 0; out && i < call->out_count; i++) {
        free(out[i].values);
    }
    for (int i = 0; i < CNML_CONSTS; i++) {
        free(consts[i].values);
    }
    free(in);
    free(out);
    return (cnmlStatus_t)status;
}

static cnmlStatus_t one(enum cnml_op_id id, const struct cnml_param *param, int selector,
                        cnmlCpuTensor_t in_tensor, void *in, cnmlCpuTensor_t out_tensor, void *out)
{
    const struct operand from = { in_tensor, in };
    const struct operand to = { out_tensor, out };
    struct call call = { .work = { .id = id, .group = 1, .selector = selector },
                         .in = &from,
                         .out = &to,
                         .in_count = 1,
                         .out_count = 1 };

    if (param) {
        call.work.param = *param;
    }
    return compute(&call);
}

static cnmlStatus_t conv(enum cnml_op_id id, const struct cnml_param *param, int group,
                         cnmlCpuTensor_t in_tensor, void *in, cnmlCpuTensor_t out_tensor, void *out,
                         const struct operand *consts)
{
    const struct operand from = { in_tensor, in };
    const struct operand to = { out_tensor, out };
    struct call call = {
        .work = { .id = id, .group = group }, .in = &from, .out = &to, .in_count = 1, .out_count = 1
    };

    if (!param || group < 1 || !consts[CNML_FILTER_OF].tensor || !consts[CNML_FILTER_OF].data) {
        return CNML_STATUS_INVALIDPARAM;
    }
    memcpy(call.consts, consts, sizeof call.consts);
    call.work.param = *param;
    if (id == CNML_OP_CONV_DEPTHWISE && in_tensor) {
        call.work.group = in_tensor->dims[CNML_C];
    }
    return compute(&call);
}

static cnmlStatus_t list(enum cnml_op_id id, const struct cnml_param *param,
                         cnmlCpuTensor_t *in_tensors, void **in, int in_count,
                         cnmlCpuTensor_t *out_tensors, void **out, int out_count)
{
    struct operand from[CNML_LIST_MAX];
    struct operand to[CNML_LIST_MAX];
    struct call call = { .work = { .id = id, .group = 1 },
                         .in = from,
                         .out = to,
                         .in_count = in_count,
                         .out_count = out_count };

    if (!param || in_count != param->in_count || out_count != param->out_count || !in_tensors ||
        !in || !out_tensors || !out) {
        return CNML_STATUS_INVALIDPARAM;
    }
    call.work.param = *param;
    for (int i = 0; i < in_count; i++) {
        from[i] = (struct operand){ in_tensors[i], in[i] };
    }
    for (int i = 0; i < out_count; i++) {
        to[i] = (struct operand){ out_tensors[i], out[i] };
    }
    return compute(&call);
}

/* --- calls ----------------------------------------------------------------------------------- */

#define PARAM (param ? &param->is : NULL)

cnmlStatus_t cnmlCpuComputeConvOpForward(cnmlConvOpParam_t param, cnmlCpuTensor_t in_tensor,
                                         void *in, cnmlCpuTensor_t filter_tensor, void *filter,
                                         cnmlCpuTensor_t out_tensor, void *out,
                                         cnmlCpuTensor_t bias_tensor, void *bias)
{
    return conv(CNML_OP_CONV, PARAM, 1, in_tensor, in, out_tensor, out,
                (struct operand[CNML_CONSTS]){ { filter_tensor, filter }, { bias_tensor, bias } });
}

cnmlStatus_t cnmlCpuComputeConvGroupOpForward(cnmlConvOpParam_t param, cnmlCpuTensor_t in_tensor,
                                              void *in, cnmlCpuTensor_t filter_tensor, void *filter,
                                              cnmlCpuTensor_t out_tensor, void *out,
                                              cnmlCpuTensor_t bias_tensor, void *bias, int group)
{
    return conv(CNML_OP_CONV_GROUP, PARAM, group, in_tensor, in, out_tensor, out,
                (struct operand[CNML_CONSTS]){ { filter_tensor, filter }, { bias_tensor, bias } });
}

cnmlStatus_t cnmlCpuComputeConvDepthwiseOpForward(cnmlConvDepthwiseOpParam_t param,
                                                  cnmlCpuTensor_t in_tensor, void *in,
                                                  cnmlCpuTensor_t filter_tensor, void *filter,
                                                  cnmlCpuTensor_t out_tensor, void *out,
                                                  cnmlCpuTensor_t bias_tensor, void *bias)
{
    return conv(CNML_OP_CONV_DEPTHWISE, PARAM, 1, in_tensor, in, out_tensor, out,
                (struct operand[CNML_CONSTS]){ { filter_tensor, filter }, { bias_tensor, bias } });
}

cnmlStatus_t cnmlCpuComputeDeConvOpForward(cnmlDeconvOpParam_t param, cnmlCpuTensor_t in_tensor,
                                           void *in, cnmlCpuTensor_t filter_tensor, void *filter,
                                           cnmlCpuTensor_t out_tensor, void *out,
                                           cnmlCpuTensor_t bias_tensor, void *bias)
{
    return conv(CNML_OP_DECONV, PARAM, 1, in_tensor, in, out_tensor, out,
                (struct operand[CNML_CONSTS]){ { filter_tensor, filter }, { bias_tensor, bias } });
}

/* Reads a normalised copy, so that the client's image stays unchanged. */
cnmlStatus_t cnmlCpuComputeConvFirstOpForward(
    cnmlConvFirstOpParam_t param, cnmlCpuTensor_t in_tensor, void *in, cnmlCpuTensor_t mean_tensor,
    void *mean, cnmlCpuTensor_t out_tensor, void *out, cnmlCpuTensor_t filter_tensor, void *filter,
    cnmlCpuTensor_t bias_tensor, void *bias, cnmlCpuTensor_t std_tensor, void *std)
{
    return conv(CNML_OP_CONV_FIRST, PARAM, 1, in_tensor, in, out_tensor, out,
                (struct operand[CNML_CONSTS]){ { filter_tensor, filter },
                                               { bias_tensor, bias },
                                               { mean_tensor, mean },
                                               { std_tensor, std } });
}

cnmlStatus_t cnmlCpuComputeMlpOpForward(cnmlCpuTensor_t in_tensor, void *in,
                                        cnmlCpuTensor_t out_tensor, void *out,
                                        cnmlCpuTensor_t filter_tensor, void *filter,
                                        cnmlCpuTensor_t bias_tensor, void *bias)
{
    static const struct cnml_param none = {
        .stride_h = 1, .stride_w = 1, .dilation_h = 1, .dilation_w = 1
    };

    return conv(CNML_OP_MLP, &none, 1, in_tensor, in, out_tensor, out,
                (struct operand[CNML_CONSTS]){ { filter_tensor, filter }, { bias_tensor, bias } });
}

cnmlStatus_t cnmlCpuComputeActiveOpForward(cnmlActiveFunction_t function, cnmlCpuTensor_t in_tensor,
                                           void *in, cnmlCpuTensor_t out_tensor, void *out)
{
    if ((int)function < 0 || (int)function > CNML_HARD_SIGMOID) {
        return CNML_STATUS_INVALIDARG;
    }
    return one(CNML_OP_ACTIVE, NULL, (int)function, in_tensor, in, out_tensor, out);
}

cnmlStatus_t cnmlCpuComputeCastOpForward(cnmlCastType_t type, cnmlCpuTensor_t in_tensor, void *in,
                                         cnmlCpuTensor_t out_tensor, void *out)
{
    int status = in_tensor && out_tensor
                     ? cnml_cast_check((int)type, in_tensor->dtype, out_tensor->dtype)
                     : CNML_STATUS_INVALIDPARAM;

    return status == CNML_STATUS_SUCCESS
               ? one(CNML_OP_CAST, NULL, (int)type, in_tensor, in, out_tensor, out)
               : (cnmlStatus_t)status;
}

cnmlStatus_t cnml_cpu_softmax(int axis, cnmlCpuTensor_t in_tensor, void *in,
                              cnmlCpuTensor_t out_tensor, void *out)
{
    return axis < 0 ? CNML_STATUS_INVALIDARG
                    : one(CNML_OP_SOFTMAX, NULL, axis, in_tensor, in, out_tensor, out);
}

/* Calls with one input and output, and perhaps a parameter; with a pair; with two constants; with
 * arrays. */
#define ONE_IN(ID, Compute)                                                                \
    cnmlStatus_t cnmlCpuCompute##Compute##OpForward(cnmlCpuTensor_t in_tensor, void *in,   \
                                                    cnmlCpuTensor_t out_tensor, void *out) \
    {                                                                                      \
        return one(CNML_OP_##ID, NULL, 0, in_tensor, in, out_tensor, out);                 \
    }
#define WITH_PARAM(ID, Compute)                                                            \
    cnmlStatus_t cnmlCpuCompute##Compute##OpForward(cnml##Compute##OpParam_t param,        \
                                                    cnmlCpuTensor_t in_tensor, void *in,   \
                                                    cnmlCpuTensor_t out_tensor, void *out) \
    {                                                                                      \
        return param ? one(CNML_OP_##ID, &param->is, 0, in_tensor, in, out_tensor, out)    \
                     : CNML_STATUS_INVALIDPARAM;                                           \
    }
#define PAIR(ID, Compute)                                                                  \
    cnmlStatus_t cnmlCpuCompute##Compute##OpForward(cnmlCpuTensor_t a_tensor, void *a,     \
                                                    cnmlCpuTensor_t b_tensor, void *b,     \
                                                    cnmlCpuTensor_t out_tensor, void *out) \
    {                                                                                      \
        const struct operand from[] = { { a_tensor, a }, { b_tensor, b } };                \
        const struct operand to = { out_tensor, out };                                     \
                                                                                           \
        return compute(&(struct call){ .work = { .id = CNML_OP_##ID, .group = 1 },         \
                                       .in = from,                                         \
                                       .out = &to,                                         \
                                       .in_count = 2,                                      \
                                       .out_count = 1 });                                  \
    }
#define TWO_CONSTANTS(ID, Compute, x, y, both)                                                \
    cnmlStatus_t cnmlCpuCompute##Compute##OpForward(                                          \
        cnmlCpuTensor_t in_tensor, void *in, cnmlCpuTensor_t out_tensor, void *out,           \
        cnmlCpuTensor_t x##_tensor, void *x, cnmlCpuTensor_t y##_tensor, void *y)             \
    {                                                                                         \
        const struct operand from = { in_tensor, in };                                        \
        const struct operand to = { out_tensor, out };                                        \
                                                                                              \
        if (!x##_tensor || !x || ((both) && (!y##_tensor || !y))) {                           \
            return CNML_STATUS_INVALIDPARAM;                                                  \
        }                                                                                     \
        return compute(&(struct call){ .work = { .id = CNML_OP_##ID, .group = 1 },            \
                                       .in = &from,                                           \
                                       .out = &to,                                            \
                                       .in_count = 1,                                         \
                                       .out_count = 1,                                        \
                                       .consts = { { x##_tensor, x }, { y##_tensor, y } } }); \
    }
#define ARRAYS(ID, Compute)                                                                     \
    cnmlStatus_t cnmlCpuCompute##Compute##OpForward(                                            \
        cnml##Compute##OpParam_t param, cnmlCpuTensor_t in_tensors[], void *in[], int in_count, \
        cnmlCpuTensor_t out_tensors[], void *out[], int out_count)                              \
    {                                                                                           \
        return list(CNML_OP_##ID, param ? &param->is : NULL, in_tensors, in, in_count,          \
                    out_tensors, out, out_count);                                               \
    }

ONE_IN(DEVICE_MEMCPY, DeviceMemcpy)
ONE_IN(TRANSPOSE, Transpose)
WITH_PARAM(POOL, Pool)
WITH_PARAM(L2_POOL, L2_Pool)
WITH_PARAM(ADD_PAD, AddPad)
WITH_PARAM(RESHAPE, Reshape)
PAIR(ADD, Add)
PAIR(SUB, Sub)
PAIR(MULT, Mult)
PAIR(REAL_DIV, RealDiv)
PAIR(BROADCAST_ADD, BroadcastAdd)
PAIR(BROADCAST_SUB, BroadcastSub)
PAIR(BROADCAST_MULT, BroadcastMult)
PAIR(CYCLE_ADD, CycleAdd)
PAIR(CYCLE_SUB, CycleSub)
PAIR(CYCLE_MULT, CycleMult)
TWO_CONSTANTS(BATCH_NORM, BatchNorm, mean, var, true)
TWO_CONSTANTS(SCALE, Scale, alpha, beta, false)
ARRAYS(CONCAT, Concat)
ARRAYS(SPLIT, Split)
