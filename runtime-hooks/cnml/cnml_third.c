/* SPDX-License-Identifier: MIT */
/* cnml_third - calls of the third generation with another form: stepwise descriptors, settings of
 * operators. */
#include "runtime-hooks/cnml/cnml_internal.h"

#include <stdlib.h>
#include <string.h>

struct cnmlQuantizedParam {
    struct cnml_quant quant;
};

/* The third generation's header is not included, so its types are declared here. */
typedef struct cnmlQuantizedParam *cnmlQuantizedParam_t;
cnmlStatus_t cnmlCreateTensor_V2(cnmlTensor_t *tensor, cnmlTensorType_t type);
cnmlStatus_t cnmlSetTensorShape_V2(cnmlTensor_t tensor, int dim_count, int *dims, int *strides);
cnmlStatus_t cnmlSetTensorShape(cnmlTensor_t tensor, int dim_count, int *dims);
cnmlStatus_t cnmlSetTensorDataType(cnmlTensor_t tensor, cnmlDataType_t dtype);
cnmlStatus_t cnmlBindConstData_V2(cnmlTensor_t tensor, void *host, bool to_free);
cnmlStatus_t cnmlCreateQuantizedParam(cnmlQuantizedParam_t *param, int position, float scale,
                                      float offset);
cnmlStatus_t cnmlDestroyQuantizedParam(cnmlQuantizedParam_t *param);
cnmlStatus_t cnmlSetOperationComputingDataType(cnmlBaseOp_t op, cnmlTensor_t tensor,
                                               cnmlDataType_t dtype, cnmlQuantizedParam_t param);
cnmlStatus_t cnmlSetOperationComputingLayout(cnmlBaseOp_t op, cnmlDataOrder_t order);
cnmlStatus_t cnmlSetBaseOpCorenum(cnmlBaseOp_t op, int count);
cnmlStatus_t cnmlSetBaseOpCoreVersion(cnmlBaseOp_t op, cnmlCoreVersion_t version);
cnmlStatus_t cnmlCompileBaseOp_V2(cnmlBaseOp_t op);
cnmlStatus_t cnmlSetFusionOpCorenum(cnmlFusionOp_t op, int count);
cnmlStatus_t cnmlSetFusionOpCoreVersion(cnmlFusionOp_t op, cnmlCoreVersion_t version);
cnmlStatus_t cnmlCompileFusionOp_V2(cnmlFusionOp_t op);
cnmlStatus_t cnml3_CreateConvOpParam(cnmlConvOpParam_t *param, int stride_h, int stride_w,
                                     int dilation_h, int dilation_w, int pad_h, int pad_w);
cnmlStatus_t cnml3_CreateConvFirstOpParam(cnmlConvFirstOpParam_t *param, int stride_h, int stride_w,
                                          int pad_l, int pad_r, int pad_t, int pad_b);
cnmlStatus_t cnml3_CreateMlpOp(cnmlBaseOp_t *op, cnmlTensor_t in, cnmlTensor_t out,
                               cnmlTensor_t filter, cnmlTensor_t bias);
cnmlStatus_t cnml3_CreateSoftmaxOp(cnmlBaseOp_t *op, cnmlDimension_t dim, cnmlTensor_t in,
                                   cnmlTensor_t out);
cnmlStatus_t cnml3_CpuComputeSoftmaxOpForward(cnmlDimension_t dim, cnmlCpuTensor_t in_tensor,
                                              void *in, cnmlCpuTensor_t out_tensor, void *out);

/* --- tensors --------------------------------------------------------------------------------- */

cnmlStatus_t cnmlCreateTensor_V2(cnmlTensor_t *tensor, cnmlTensorType_t type)
{
    return (cnmlStatus_t)cnml_tensor_make(tensor, (int)type, CNML_DATA_FLOAT16, NULL);
}

/* With fewer than four dimensions, n and c come first and the others are 1. Strides must be those
 * of dense data. */
cnmlStatus_t cnmlSetTensorShape_V2(cnmlTensor_t tensor, int dim_count, int *dims, int *strides)
{
    int full[CNML_DIMS] = { 1, 1, 1, 1 };
    int64_t elements = 1;

    if (!tensor || !dims || dim_count < 1) {
        return CNML_STATUS_INVALIDARG;
    }
    if (dim_count > CNML_DIMS) {
        return CNML_STATUS_UNSUPPORT;
    }
    if (tensor->is_compiled) {
        return CNML_STATUS_INVALIDPARAM;
    }
    for (int i = 0; i < dim_count; i++) {
        if (dims[i] < 1 || elements > CNML_ELEMENTS_MAX / dims[i]) {
            return CNML_STATUS_INVALIDARG;
        }
        full[i] = dims[i];
        elements *= dims[i];
    }
    elements = 1;
    for (int i = dim_count - 1; strides && i >= 0; i--) {
        if (dims[i] > 1 && strides[i] != elements) {
            return CNML_STATUS_UNSUPPORT;
        }
        elements *= dims[i];
    }
    memcpy(tensor->dims, full, sizeof tensor->dims);
    tensor->has_shape = true;
    return CNML_STATUS_SUCCESS;
}

cnmlStatus_t cnmlSetTensorShape(cnmlTensor_t tensor, int dim_count, int *dims)
{
    return cnmlSetTensorShape_V2(tensor, dim_count, dims, NULL);
}

cnmlStatus_t cnmlSetTensorDataType(cnmlTensor_t tensor, cnmlDataType_t dtype)
{
    return (cnmlStatus_t)cnml_tensor_set_dtype(tensor, (int)dtype);
}

/* The data is float32, or the tensor's dtype if that is not a float: then the order is the same. */
cnmlStatus_t cnmlBindConstData_V2(cnmlTensor_t tensor, void *host, bool to_free)
{
    cnmlCpuTensor_t form = NULL;
    int status;

    if (!tensor || !host || !tensor->has_shape) {
        return CNML_STATUS_INVALIDPARAM;
    }
    status = cnml_cpu_tensor_make(
        &form, tensor->type, tensor->dtype == CNML_DATA_FLOAT16 ? CNML_DATA_FLOAT32 : tensor->dtype,
        CNML_NCHW, tensor->dims);
    if (status == CNML_STATUS_SUCCESS) {
        status = (int)cnmlBindConstData(tensor, form, host);
    }
    if (status == CNML_STATUS_SUCCESS && to_free) {
        tensor->bound_free = host;
    }
    cnml_cpu_tensor_drop(form);
    return (cnmlStatus_t)status;
}

/* --- integers -------------------------------------------------------------------------------- */

cnmlStatus_t cnmlCreateQuantizedParam(cnmlQuantizedParam_t *param, int position, float scale,
                                      float offset)
{
    struct cnmlQuantizedParam *made;

    if (!param || position < -64 || position > 64 || !(scale > 0)) {
        return CNML_STATUS_INVALIDARG;
    }
    if (offset != 0) {
        return CNML_STATUS_UNSUPPORT;
    }
    made = malloc(sizeof *made);
    if (!made) {
        return CNML_STATUS_BADALLOC;
    }
    made->quant = (struct cnml_quant){ position, scale };
    *param = made;
    return CNML_STATUS_SUCCESS;
}

cnmlStatus_t cnmlDestroyQuantizedParam(cnmlQuantizedParam_t *param)
{
    if (!param || !*param) {
        return CNML_STATUS_INVALIDARG;
    }
    free(*param);
    *param = NULL;
    return CNML_STATUS_SUCCESS;
}

cnmlStatus_t cnmlSetOperationComputingDataType(cnmlBaseOp_t op, cnmlTensor_t tensor,
                                               cnmlDataType_t dtype, cnmlQuantizedParam_t param)
{
    bool is_product = op && (op->work.id <= CNML_OP_CONV_FIRST || op->work.id == CNML_OP_MLP);

    if (!op || !tensor) {
        return CNML_STATUS_INVALIDARG;
    }
    if (op->program) {
        return CNML_STATUS_INVALIDPARAM;
    }
    if (dtype == CNML_DATA_FLOAT16 || dtype == CNML_DATA_FLOAT32) {
        return CNML_STATUS_SUCCESS; /* sums are always float32 */
    }
    if (dtype != CNML_DATA_INT8 || !is_product) {
        return CNML_STATUS_UNSUPPORT;
    }
    if (tensor == op->inputs[0]) {
        op->is_quantised = true;
        if (param) {
            op->has_input_quant = true;
            op->input_quant = param->quant;
        }
    } else if (tensor == op->consts[CNML_FILTER_OF]) {
        op->is_quantised = true;
        if (param) {
            op->has_filter_quant = true;
            op->filter_quant = param->quant;
        }
    } else {
        return CNML_STATUS_INVALIDPARAM;
    }
    return CNML_STATUS_SUCCESS;
}

/* --- operators ------------------------------------------------------------------------------- */

cnmlStatus_t cnmlSetOperationComputingLayout(cnmlBaseOp_t op, cnmlDataOrder_t order)
{
    if (!op || !cnml_order_is_known((int)order)) {
        return CNML_STATUS_INVALIDARG;
    }
    return op->program ? CNML_STATUS_INVALIDPARAM : CNML_STATUS_SUCCESS;
}

/* Sets a value of an operator, also of one in a fusion. The target of a compiled operator is fixed,
 * but the same value may be set again. */
static cnmlStatus_t value_set(int *value, int now, bool is_compiled)
{
    if (is_compiled) {
        return *value == now ? CNML_STATUS_SUCCESS : CNML_STATUS_INVALIDPARAM;
    }
    *value = now;
    return CNML_STATUS_SUCCESS;
}

cnmlStatus_t cnmlSetBaseOpCorenum(cnmlBaseOp_t op, int count)
{
    return op && count >= 1 ? value_set(&op->core_count, count, op->program)
                            : CNML_STATUS_INVALIDARG;
}

cnmlStatus_t cnmlSetBaseOpCoreVersion(cnmlBaseOp_t op, cnmlCoreVersion_t version)
{
    return op && cnml_version_check((int)version) == CNML_STATUS_SUCCESS
               ? value_set(&op->core_version, (int)version, op->program)
               : CNML_STATUS_INVALIDARG;
}

cnmlStatus_t cnmlCompileBaseOp_V2(cnmlBaseOp_t op)
{
    return op ? (cnmlStatus_t)cnml_op_compile(op, op->core_version ? op->core_version : CNML_MLU270,
                                              1)
              : CNML_STATUS_INVALIDARG;
}

cnmlStatus_t cnmlSetFusionOpCorenum(cnmlFusionOp_t op, int count)
{
    return op && count >= 1 ? value_set(&op->core_count, count, op->program)
                            : CNML_STATUS_INVALIDARG;
}

cnmlStatus_t cnmlSetFusionOpCoreVersion(cnmlFusionOp_t op, cnmlCoreVersion_t version)
{
    return op && cnml_version_check((int)version) == CNML_STATUS_SUCCESS
               ? value_set(&op->core_version, (int)version, op->program)
               : CNML_STATUS_INVALIDARG;
}

cnmlStatus_t cnmlCompileFusionOp_V2(cnmlFusionOp_t op)
{
    return op ? (cnmlStatus_t)cnml_fusion_compile(
                    op, op->core_version ? op->core_version : CNML_MLU270, 1)
              : CNML_STATUS_INVALIDARG;
}

cnmlStatus_t cnml3_CreateConvOpParam(cnmlConvOpParam_t *param, int stride_h, int stride_w,
                                     int dilation_h, int dilation_w, int pad_h, int pad_w)
{
    return cnmlCreateConvParam(param, stride_h, stride_w, dilation_h, dilation_w, pad_h, pad_w);
}

cnmlStatus_t cnml3_CreateConvFirstOpParam(cnmlConvFirstOpParam_t *param, int stride_h, int stride_w,
                                          int pad_l, int pad_r, int pad_t, int pad_b)
{
    return cnmlCreateConvFirstOpParam(param, stride_h, stride_w, pad_l, pad_r, pad_t, pad_b,
                                      CNML_NoSparse);
}

cnmlStatus_t cnml3_CreateMlpOp(cnmlBaseOp_t *op, cnmlTensor_t in, cnmlTensor_t out,
                               cnmlTensor_t filter, cnmlTensor_t bias)
{
    return (cnmlStatus_t)cnml_op_create_mlp(op, in, out, filter, bias);
}

static int axis_of(cnmlDimension_t dim)
{
    return (int)dim >= CNML_DIM_N && (int)dim <= CNML_DIM_W ? (int)dim : -1;
}

cnmlStatus_t cnml3_CreateSoftmaxOp(cnmlBaseOp_t *op, cnmlDimension_t dim, cnmlTensor_t in,
                                   cnmlTensor_t out)
{
    return (cnmlStatus_t)cnml_op_create_softmax(op, axis_of(dim), in, out);
}

cnmlStatus_t cnml3_CpuComputeSoftmaxOpForward(cnmlDimension_t dim, cnmlCpuTensor_t in_tensor,
                                              void *in, cnmlCpuTensor_t out_tensor, void *out)
{
    return cnml_cpu_softmax(axis_of(dim), in_tensor, in, out_tensor, out);
}
