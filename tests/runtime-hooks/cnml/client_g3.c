/* SPDX-License-Identifier: MIT */
/*
 * A client in the style of the third generation: descriptors built in steps, float32 constants, a
 * fusion of an 8-bit integer convolution with an activation, and raw copies in the device's order.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "neuware/g3/cnml.h"

#define CHECK(call)                                                  \
    do {                                                             \
        int status_ = (int)(call);                                   \
        if (status_ != 0) {                                          \
            printf("line %d: %s is %d\n", __LINE__, #call, status_); \
            return 1;                                                \
        }                                                            \
    } while (0)

enum { C = 4, SIDE = 5, COUNT = C * SIDE * SIDE };

static cnmlTensor_t tensor_make(cnmlTensorType_t type, cnmlDataType_t dtype, int n, int c, int h,
                                int w)
{
    cnmlTensor_t made = NULL;
    int shape[4] = { n, c, h, w };

    if (cnmlCreateTensor_V2(&made, type) != CNML_STATUS_SUCCESS ||
        cnmlSetTensorShape_V2(made, 4, shape, NULL) != CNML_STATUS_SUCCESS ||
        cnmlSetTensorDataType(made, dtype) != CNML_STATUS_SUCCESS) {
        return NULL;
    }
    return made;
}

int main(void)
{
    float in_host[COUNT], out_host[COUNT], filter_host[C * C], bias_host[C];
    cnmlTensor_t in = tensor_make(CNML_TENSOR, CNML_DATA_FLOAT32, 1, C, SIDE, SIDE);
    cnmlTensor_t middle = tensor_make(CNML_TENSOR, CNML_DATA_FLOAT32, 1, C, SIDE, SIDE);
    cnmlTensor_t out = tensor_make(CNML_TENSOR, CNML_DATA_FLOAT32, 1, C, SIDE, SIDE);
    cnmlTensor_t filter = tensor_make(CNML_FILTER, CNML_DATA_FLOAT32, C, C, 1, 1);
    cnmlTensor_t bias = tensor_make(CNML_CONST, CNML_DATA_FLOAT32, 1, C, 1, 1);
    cnmlConvOpParam_t param = NULL;
    cnmlQuantizedParam_t data_quant = NULL, filter_quant = NULL;
    cnmlBaseOp_t conv = NULL, relu = NULL, softmax = NULL;
    cnmlFusionOp_t fusion = NULL;
    cnrtQueue_t queue = NULL;
    void *in_mlu = NULL, *out_mlu = NULL;

    if (!in || !middle || !out || !filter || !bias) {
        puts("tensors");
        return 1;
    }
    for (int i = 0; i < COUNT; i++) { /* channels innermost */
        in_host[i] = (float)(i % 17 - 8) / 8;
    }
    for (int i = 0; i < C * C; i++) {
        filter_host[i] = i % (C + 1) == 0 ? 0.5F : -0.25F;
    }
    for (int i = 0; i < C; i++) {
        bias_host[i] = (float)i;
    }
    CHECK(cnmlInit(0));
    CHECK(cnmlBindConstData_V2(filter, filter_host, false));
    CHECK(cnmlBindConstData_V2(bias, bias_host, false));
    CHECK(cnmlCreateConvOpParam(&param, 1, 1, 1, 1, 0, 0));
    CHECK(cnmlCreateConvOp(&conv, param, in, middle, filter, bias));
    CHECK(cnmlCreateQuantizedParam(&data_quant, -6, 1, 0));
    CHECK(cnmlCreateQuantizedParam(&filter_quant, -7, 1, 0));
    CHECK(cnmlSetOperationComputingDataType(conv, in, CNML_DATA_INT8, data_quant));
    CHECK(cnmlSetOperationComputingDataType(conv, filter, CNML_DATA_INT8, filter_quant));
    CHECK(cnmlSetOperationComputingLayout(conv, CNML_NHWC));
    CHECK(cnmlDestroyQuantizedParam(&data_quant));
    CHECK(cnmlDestroyQuantizedParam(&filter_quant));
    CHECK(cnmlCreateActiveOp(&relu, CNML_ACTIVE_RELU, middle, out));
    CHECK(cnmlCreateSoftmaxOp(&softmax, CNML_DIM_C, in, out));
    CHECK(cnmlSetBaseOpCorenum(softmax, 4));
    CHECK(cnmlSetBaseOpCoreVersion(softmax, CNML_MLU270));
    CHECK(cnmlCompileBaseOp_V2(softmax));
    CHECK(cnmlSetBaseOpCorenum(softmax, 4)); /* as clients do before each forward */
    CHECK(cnmlSetBaseOpCoreVersion(softmax, CNML_MLU270));
    if (cnmlSetBaseOpCorenum(softmax, 1) != CNML_STATUS_INVALIDPARAM ||
        cnmlSetBaseOpCoreVersion(softmax, CNML_MLU220) != CNML_STATUS_INVALIDPARAM) {
        puts("another core number or version after compiling");
        return 1;
    }
    CHECK(cnmlCreateFusionOp(&fusion));
    CHECK(cnmlFuseOp(conv, fusion));
    CHECK(cnmlFuseOp(relu, fusion));
    CHECK(cnmlSetFusionIO(fusion, &in, 1, &out, 1));
    CHECK(cnmlSetFusionOpCorenum(fusion, 4));
    CHECK(cnmlSetFusionOpCoreVersion(fusion, CNML_MLU270));
    CHECK(cnmlCompileFusionOp_V2(fusion));
    CHECK(cnmlSetFusionOpCorenum(fusion, 4));
    CHECK(cnmlSetFusionOpCoreVersion(fusion, CNML_MLU270));
    if (cnmlSetFusionOpCorenum(fusion, 8) != CNML_STATUS_INVALIDPARAM ||
        cnmlSetFusionOpCoreVersion(fusion, CNML_MLU220) != CNML_STATUS_INVALIDPARAM) {
        puts("another core number or version of a compiled fusion");
        return 1;
    }
    CHECK(cnrtMalloc(&in_mlu, sizeof in_host));
    CHECK(cnrtMalloc(&out_mlu, sizeof out_host));
    CHECK(cnrtMemcpy(in_mlu, in_host, sizeof in_host, CNRT_MEM_TRANS_DIR_HOST2DEV));
    CHECK(cnrtCreateQueue(&queue));
    CHECK(cnmlComputeFusionOpForward_V4(fusion, &in, &in_mlu, 1, &out, &out_mlu, 1, queue, NULL));
    CHECK(cnrtSyncQueue(queue));
    CHECK(cnrtMemcpy(out_host, out_mlu, sizeof out_host, CNRT_MEM_TRANS_DIR_DEV2HOST));
    for (int i = 0; i < COUNT; i++) { /* every value is a multiple of 2^-13 */
        float sum = bias_host[i % C];

        for (int k = 0; k < C; k++) {
            sum += in_host[i / C * C + k] * filter_host[i % C * C + k];
        }
        if (out_host[i] != (sum > 0 ? sum : 0)) {
            printf("%d: %g instead of %g\n", i, (double)out_host[i], (double)sum);
            return 1;
        }
    }
    CHECK(cnmlComputeSoftmaxOpForward_V4(softmax, NULL, in_mlu, NULL, out_mlu, queue, NULL));
    CHECK(cnrtSyncQueue(queue));
    CHECK(cnrtMemcpy(out_host, out_mlu, sizeof out_host, CNRT_MEM_TRANS_DIR_DEV2HOST));
    if (fabs((double)(out_host[0] + out_host[1] + out_host[2] + out_host[3]) - 1) > 1e-5) {
        puts("softmax");
        return 1;
    }
    CHECK(cnrtDestroyQueue(queue));
    CHECK(cnrtFree(in_mlu));
    CHECK(cnrtFree(out_mlu));
    CHECK(cnmlDestroyFusionOp(&fusion));
    CHECK(cnmlDestroyBaseOp(&conv));
    CHECK(cnmlDestroyBaseOp(&relu));
    CHECK(cnmlDestroyBaseOp(&softmax));
    CHECK(cnmlDestroyConvOpParam(&param));
    CHECK(cnmlDestroyTensor(&in));
    CHECK(cnmlDestroyTensor(&middle));
    CHECK(cnmlDestroyTensor(&out));
    CHECK(cnmlDestroyTensor(&filter));
    CHECK(cnmlDestroyTensor(&bias));
    CHECK(cnmlExit());
    return 0;
}
