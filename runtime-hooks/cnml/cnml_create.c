/* SPDX-License-Identifier: MIT */
/* cnml_create - the calls cnmlCreate...Op: most come from the table, the others are written
 * here. */
#include "runtime-hooks/cnml/cnml_internal.h"

#define PARAM (param ? &param->is : NULL)

#define CREATE_IO(ID, Name)                                                                \
    cnmlStatus_t cnmlCreate##Name##Op(cnmlBaseOp_t *op, cnmlTensor_t in, cnmlTensor_t out) \
    {                                                                                      \
        return (cnmlStatus_t)cnml_op_create_plain(op, CNML_OP_##ID, NULL, in, NULL, out);  \
    }
#define CREATE_ABO(ID, Name)                                                            \
    cnmlStatus_t cnmlCreate##Name##Op(cnmlBaseOp_t *op, cnmlTensor_t a, cnmlTensor_t b, \
                                      cnmlTensor_t out)                                 \
    {                                                                                   \
        return (cnmlStatus_t)cnml_op_create_plain(op, CNML_OP_##ID, NULL, a, b, out);   \
    }
#define CREATE_PIO(ID, Name)                                                                      \
    cnmlStatus_t cnmlCreate##Name##Op(cnmlBaseOp_t *op, cnml##Name##OpParam_t param,              \
                                      cnmlTensor_t in, cnmlTensor_t out)                          \
    {                                                                                             \
        return param ? (cnmlStatus_t)cnml_op_create_plain(op, CNML_OP_##ID, &param->is, in, NULL, \
                                                          out)                                    \
                     : CNML_STATUS_INVALIDARG;                                                    \
    }
#define CREATE_PIOFB(ID, Name)                                                                   \
    cnmlStatus_t cnmlCreate##Name##Op(cnmlBaseOp_t *op, cnml##Name##OpParam_t param,             \
                                      cnmlTensor_t in, cnmlTensor_t out, cnmlTensor_t filter,    \
                                      cnmlTensor_t bias)                                         \
    {                                                                                            \
        return (cnmlStatus_t)cnml_op_create_conv(op, CNML_OP_##ID, PARAM, in, out, filter, bias, \
                                                 1);                                             \
    }
#define CREATE_LIST(ID, Name)                                                                \
    cnmlStatus_t cnmlCreate##Name##Op(cnmlBaseOp_t *op, cnml##Name##OpParam_t param,         \
                                      cnmlTensor_t in[], int in_count, cnmlTensor_t out[],   \
                                      int out_count)                                         \
    {                                                                                        \
        return (cnmlStatus_t)cnml_op_create_list(op, CNML_OP_##ID, PARAM, in, in_count, out, \
                                                 out_count);                                 \
    }
#define CREATE_PIOFBG(ID, Name)
#define CREATE_PIOFBO(ID, Name)
#define CREATE_FIRST(ID, Name)
#define CREATE_FIO(ID, Name)
#define CREATE_MLP(ID, Name)
#define CREATE_DIO(ID, Name)
#define CREATE_IOXY(ID, Name)
#define CREATE_TIO(ID, Name)

#define CNML_PARAM(generations, kind, Name, arguments)
#define CNML_CALL(generations, kind, type, name, arguments)
#define CNML_OP(ID, Name, Compute, operands, arity) CREATE_##operands(ID, Name)
#include "runtime-hooks/cnml/cnml_ops.def"
#undef CNML_OP
#undef CNML_PARAM
#undef CNML_CALL

cnmlStatus_t cnmlCreateConvGroupOp(cnmlBaseOp_t *op, cnmlConvOpParam_t param, cnmlTensor_t in,
                                   cnmlTensor_t out, cnmlTensor_t filter, cnmlTensor_t bias,
                                   int group)
{
    return (cnmlStatus_t)cnml_op_create_conv(op, CNML_OP_CONV_GROUP, PARAM, in, out, filter, bias,
                                             group);
}

cnmlStatus_t cnmlCreateDeconvOp(cnmlBaseOp_t *op, cnmlDeconvOpParam_t param, cnmlTensor_t in,
                                cnmlTensor_t out, cnmlTensor_t filter, cnmlTensor_t bias, int opt)
{
    (void)opt; /* the optimisation level does not change the result */
    return (cnmlStatus_t)cnml_op_create_conv(op, CNML_OP_DECONV, PARAM, in, out, filter, bias, 1);
}

cnmlStatus_t cnmlCreateConvFirstOp(cnmlBaseOp_t *op, cnmlConvFirstOpParam_t param, cnmlTensor_t in,
                                   cnmlTensor_t mean, cnmlTensor_t out, cnmlTensor_t filter,
                                   cnmlTensor_t bias, cnmlTensor_t std)
{
    struct cnml_op_make make = { .work = { .id = CNML_OP_CONV_FIRST, .group = 1 },
                                 .inputs = &in,
                                 .outputs = &out,
                                 .input_count = 1,
                                 .output_count = 1,
                                 .consts = { filter, bias, mean, std },
                                 .needs = { true } };

    if (!param) {
        return CNML_STATUS_INVALIDARG;
    }
    make.work.param = param->is;
    return (cnmlStatus_t)cnml_op_create(op, &make);
}

cnmlStatus_t cnmlCreateActiveOp(cnmlBaseOp_t *op, cnmlActiveFunction_t function, cnmlTensor_t in,
                                cnmlTensor_t out)
{
    struct cnml_op_make make = {
        .work = { .id = CNML_OP_ACTIVE, .group = 1, .selector = (int)function },
        .inputs = &in,
        .outputs = &out,
        .input_count = 1,
        .output_count = 1
    };

    return (int)function < CNML_ACTIVE_NONE || (int)function > CNML_HARD_SIGMOID
               ? CNML_STATUS_INVALIDARG
               : (cnmlStatus_t)cnml_op_create(op, &make);
}

cnmlStatus_t cnmlCreateMlpOp(cnmlBaseOp_t *op, cnmlTensor_t in, cnmlTensor_t out,
                             cnmlTensor_t filter, cnmlTensor_t bias, cnmlSparseMode_t sparse)
{
    return sparse == CNML_NoSparse || sparse == CNML_Sparse
               ? (cnmlStatus_t)cnml_op_create_mlp(op, in, out, filter, bias)
               : CNML_STATUS_INVALIDARG;
}

/* Converts a cnmlSoftmaxDim_t to an axis. */
static int softmax_axis(cnmlSoftmaxDim_t dim)
{
    switch (dim) {
    case CNML_SOFTMAX_DIM_C:
        return CNML_C;
    case CNML_SOFTMAX_DIM_W:
        return CNML_W;
    case CNML_SOFTMAX_DIM_H:
        return CNML_H;
    case CNML_SOFTMAX_DIM_N:
        return CNML_N;
    default:
        return -1;
    }
}

cnmlStatus_t cnmlCreateSoftmaxOp(cnmlBaseOp_t *op, cnmlSoftmaxDim_t dim, cnmlTensor_t in,
                                 cnmlTensor_t out)
{
    return (cnmlStatus_t)cnml_op_create_softmax(op, softmax_axis(dim), in, out);
}

cnmlStatus_t cnmlCpuComputeSoftmaxOpForward(cnmlSoftmaxDim_t dim, cnmlCpuTensor_t in_tensor,
                                            void *in, cnmlCpuTensor_t out_tensor, void *out)
{
    return (cnmlStatus_t)cnml_cpu_softmax(softmax_axis(dim), in_tensor, in, out_tensor, out);
}

static cnmlStatus_t with_constants(cnmlBaseOp_t *op, enum cnml_op_id id, cnmlTensor_t in,
                                   cnmlTensor_t out, cnmlTensor_t x, cnmlTensor_t y, bool needs_y)
{
    struct cnml_op_make make = { .work = { .id = id, .group = 1 },
                                 .inputs = &in,
                                 .outputs = &out,
                                 .input_count = 1,
                                 .output_count = 1,
                                 .consts = { x, y },
                                 .needs = { true, needs_y } };

    return (cnmlStatus_t)cnml_op_create(op, &make);
}

cnmlStatus_t cnmlCreateBatchNormOp(cnmlBaseOp_t *op, cnmlTensor_t in, cnmlTensor_t out,
                                   cnmlTensor_t mean, cnmlTensor_t var)
{
    return with_constants(op, CNML_OP_BATCH_NORM, in, out, mean, var, true);
}

cnmlStatus_t cnmlCreateBatchNormOpForward(cnmlBaseOp_t *op, cnmlTensor_t in, cnmlTensor_t out,
                                          cnmlTensor_t mean, cnmlTensor_t var)
{
    return cnmlCreateBatchNormOp(op, in, out, mean, var);
}

cnmlStatus_t cnmlCreateScaleOp(cnmlBaseOp_t *op, cnmlTensor_t in, cnmlTensor_t out,
                               cnmlTensor_t alpha, cnmlTensor_t beta)
{
    return with_constants(op, CNML_OP_SCALE, in, out, alpha, beta, false);
}

/* Checks the types of each kind of cast. */
int cnml_cast_check(int type, int from, int to)
{
    static const struct {
        int from, to;
    } casts[] = {
        { CNML_DATA_FLOAT32, CNML_DATA_UINT8 },   { CNML_DATA_UINT8, CNML_DATA_FLOAT32 },
        { CNML_DATA_FIX8, CNML_DATA_FLOAT16 },    { CNML_DATA_FIX8, CNML_DATA_FLOAT16 },
        { CNML_DATA_FLOAT16, CNML_DATA_FLOAT32 }, { CNML_DATA_FLOAT16, CNML_DATA_FIX8 },
        { CNML_DATA_FLOAT32, CNML_DATA_FLOAT16 }, { CNML_DATA_INT16, CNML_DATA_FLOAT16 },
        { CNML_DATA_FLOAT16, CNML_DATA_INT16 },   { CNML_DATA_FLOAT16, CNML_DATA_INT16 },
        { CNML_DATA_FLOAT16, CNML_DATA_UINT8 },   { CNML_DATA_UINT8, CNML_DATA_FLOAT16 },
        { CNML_DATA_FIX8, CNML_DATA_FLOAT32 },    { CNML_DATA_FLOAT32, CNML_DATA_FIX8 },
        { CNML_DATA_INT16, CNML_DATA_FLOAT32 },   { CNML_DATA_FLOAT32, CNML_DATA_INT16 },
        { CNML_DATA_FLOAT16, CNML_DATA_INT16 },   { CNML_DATA_FLOAT16, CNML_DATA_FLOAT16 },
    };

    from = from == CNML_INT8_OF_G1 ? CNML_DATA_FIX8 : from;
    to = to == CNML_INT8_OF_G1 ? CNML_DATA_FIX8 : to;
    if (type < 0 || (size_t)type >= sizeof casts / sizeof casts[0]) {
        return CNML_STATUS_INVALIDARG;
    }
    return casts[type].from == from && casts[type].to == to ? CNML_STATUS_SUCCESS
                                                            : CNML_STATUS_BADCAST;
}

cnmlStatus_t cnmlCreateCastOp(cnmlBaseOp_t *op, cnmlCastType_t type, cnmlTensor_t in,
                              cnmlTensor_t out)
{
    struct cnml_op_make make = { .work = { .id = CNML_OP_CAST, .group = 1, .selector = (int)type },
                                 .inputs = &in,
                                 .outputs = &out,
                                 .input_count = 1,
                                 .output_count = 1 };
    int status =
        in && out ? cnml_cast_check((int)type, in->dtype, out->dtype) : CNML_STATUS_INVALIDPARAM;

    return (cnmlStatus_t)(status == CNML_STATUS_SUCCESS ? cnml_op_create(op, &make) : status);
}
