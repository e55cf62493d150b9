/* SPDX-License-Identifier: MIT */
/*
 * A client in the style of the first generation's samples: streams, kinds of tasks, sizes by type;
 * results are compared with the host function of the library. C++ omits arguments with defaults.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "neuware/g1/cnml.h"

#define CHECK(call)                                                  \
    do {                                                             \
        int status_ = (int)(call);                                   \
        if (status_ != 0) {                                          \
            printf("line %d: %s is %d\n", __LINE__, #call, status_); \
            return 1;                                                \
        }                                                            \
    } while (0)

enum { CI = 16, CO = 8, SIDE = 12, IN = CI * SIDE * SIDE, OUT = CO * SIDE * SIDE };

static float *numbers(int count, float scale)
{
    float *made = (float *)malloc((size_t)count * sizeof(float));

    for (int i = 0; i < count; i++) {
        made[i] = ((float)(i * 37 % 101) - 50.0F) / 50.0F * scale;
    }
    return made;
}

int main(void)
{
    float *in_host = numbers(IN, 1);
    float *filter_host = numbers(CO * CI * 9, 0.25F);
    float *bias_host = numbers(CO, 1);
    float *out_host = numbers(OUT, 0);
    float *expected = numbers(OUT, 0);
    cnmlTensor_t in = NULL, filter = NULL, bias = NULL, out = NULL;
    cnmlCpuTensor_t in_cpu = NULL, filter_cpu = NULL, bias_cpu = NULL, out_cpu = NULL;
    cnmlConvOpParam_t param = NULL;
    cnmlBaseOp_t conv = NULL;
    cnrtStream_t stream = NULL;
    cnrtEvent_t start = NULL, end = NULL;
    void *in_mlu = NULL, *out_mlu = NULL;
    float us = 0;
    double difference = 0, magnitude = 0;

    CHECK(cnmlInit(0));
    CHECK(cnmlCreateTensor(&in, CNML_TENSOR, CNML_DATA_FLOAT16, 1, CI, SIDE, SIDE));
    CHECK(cnmlCreateTensor(&filter, CNML_FILTER, CNML_DATA_FLOAT16, CO, CI, 3, 3));
    CHECK(cnmlCreateTensor(&bias, CNML_CONST, CNML_DATA_FLOAT16, 1, CO, 1, 1));
    CHECK(cnmlCreateTensor(&out, CNML_TENSOR, CNML_DATA_FLOAT16, 1, CO, SIDE, SIDE));
    CHECK(
        cnmlCreateCpuTensor(&in_cpu, CNML_TENSOR, CNML_DATA_FLOAT32, CNML_NCHW, 1, CI, SIDE, SIDE));
    CHECK(
        cnmlCreateCpuTensor(&filter_cpu, CNML_FILTER, CNML_DATA_FLOAT32, CNML_NCHW, CO, CI, 3, 3));
    CHECK(cnmlCreateCpuTensor(&bias_cpu, CNML_CONST, CNML_DATA_FLOAT32, CNML_NCHW, 1, CO, 1, 1));
    CHECK(cnmlCreateCpuTensor(&out_cpu, CNML_TENSOR, CNML_DATA_FLOAT32, CNML_NCHW, 1, CO, SIDE,
                              SIDE));
    CHECK(cnmlBindConstData(filter, filter_cpu, filter_host));
    CHECK(cnmlBindConstData(bias, bias_cpu, bias_host));
#ifdef __cplusplus
    CHECK(cnmlCreateConvOpParam(&param, 1, 1, 1, 1, 2, 2));
#else
    CHECK(cnmlCreateConvOpParam(&param, 1, 1, 1, 1, 2, 2, CNML_NoSparse));
#endif
    CHECK(cnmlCreateConvOp(&conv, param, in, out, filter, bias));
    CHECK(cnmlCompileBaseOp(conv, CNML_C10));
    if (cnmlGetTensorSize(in, CNML_TENSOR) != IN * 2U) {
        puts("size");
        return 1;
    }
    in_mlu = cnmlMallocBuffer(in);
    out_mlu = cnmlMallocBuffer(out);
    CHECK(cnmlMemcpyTensorToDevice(in_cpu, in_host, in, in_mlu));
    CHECK(cnrtCreateStream(&stream));
    CHECK(cnrtCreateEvent(&start));
    CHECK(cnrtCreateEvent(&end));
    CHECK(cnrtPlaceEvent(start, stream));
    CHECK(cnmlComputeConvOpForward(conv, in_mlu, out_mlu, CNRT_FUNC_TYPE_BLOCK, stream));
    CHECK(cnrtPlaceEvent(end, stream));
    CHECK(cnrtSyncStream(stream));
    CHECK(cnrtEventElapsedTime(start, end, &us));
    CHECK(cnmlMemcpyTensorToHost(out, out_mlu, out_cpu, out_host));
    CHECK(cnmlCpuComputeConvOpForward(param, in_cpu, in_host, filter_cpu, filter_host, out_cpu,
                                      expected, bias_cpu, bias_host));
    for (int i = 0; i < OUT; i++) {
        difference += fabs((double)(out_host[i] - expected[i]));
        magnitude += fabs((double)expected[i]);
    }
    if (!(us > 0) || magnitude == 0 || difference / magnitude > 1e-3) {
        printf("%g us, %g of %g\n", (double)us, difference, magnitude);
        return 1;
    }
    CHECK(cnrtDestroyEvent(start));
    CHECK(cnrtDestroyEvent(end));
    CHECK(cnrtDestroyStream(stream));
    CHECK(cnmlFreeBuffer(in_mlu));
    CHECK(cnmlFreeBuffer(out_mlu));
    CHECK(cnmlDestroyBaseOp(&conv));
    CHECK(cnmlDestroyConvOpParam(&param));
    CHECK(cnmlDestroyTensor(&in));
    CHECK(cnmlDestroyTensor(&filter));
    CHECK(cnmlDestroyTensor(&bias));
    CHECK(cnmlDestroyTensor(&out));
    CHECK(cnmlDestroyCpuTensor(&in_cpu));
    CHECK(cnmlDestroyCpuTensor(&filter_cpu));
    CHECK(cnmlDestroyCpuTensor(&bias_cpu));
    CHECK(cnmlDestroyCpuTensor(&out_cpu));
    CHECK(cnmlExit());
    free(in_host);
    free(filter_host);
    free(bias_host);
    free(out_host);
    free(expected);
    return 0;
}
