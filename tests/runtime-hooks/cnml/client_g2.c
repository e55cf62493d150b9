/* SPDX-License-Identifier: MIT */
/*
 * A client in the style of the second generation: a dense layer of 512 on two halves of a batch,
 * two queues, and notifiers around a forward.
 */
#include <stdio.h>
#include <stdlib.h>

#include "neuware/g2/cnml.h"

#define CHECK(call)                                                  \
    do {                                                             \
        int status_ = (int)(call);                                   \
        if (status_ != 0) {                                          \
            printf("line %d: %s is %d\n", __LINE__, #call, status_); \
            return 1;                                                \
        }                                                            \
    } while (0)

enum { SIZE = 512, PARTS = 2 };

static float *filled(int count, float value)
{
    float *made = (float *)malloc((size_t)count * sizeof(float));

    for (int i = 0; i < count; i++) {
        made[i] = value;
    }
    return made;
}

int main(void)
{
    float *in_host = filled(SIZE * PARTS, 0.5F);
    float *filter_host = filled(SIZE * SIZE, 2);
    float *bias_host = filled(SIZE, 2);
    float *out_host = filled(SIZE * PARTS, 0);
    cnmlTensor_t in = NULL, filter = NULL, bias = NULL, out = NULL;
    cnmlCpuTensor_t row_cpu = NULL, filter_cpu = NULL, bias_cpu = NULL;
    cnmlBaseOp_t mlp = NULL;
    cnrtQueue_t queue = NULL, other = NULL;
    cnrtNotifier_t start = NULL, end = NULL;
    int parts = PARTS;
    unsigned int clusters = 1;
    cnrtInvokeFuncParam_t how;
    void *in_mlu = NULL, *out_mlu = NULL, *other_mlu = NULL;
    float us = 0;

    how.data_parallelism = &parts;
    how.affinity = &clusters;
    how.end = CNRT_PARAM_END;
    CHECK(cnmlInit(0));
    CHECK(cnmlCreateTensor(&in, CNML_TENSOR, CNML_DATA_FLOAT16, 1, SIZE, 1, 1));
    CHECK(cnmlCreateTensor(&out, CNML_TENSOR, CNML_DATA_FLOAT16, 1, SIZE, 1, 1));
    CHECK(cnmlCreateTensor(&filter, CNML_FILTER, CNML_DATA_FLOAT16, SIZE, SIZE, 1, 1));
    CHECK(cnmlCreateTensor(&bias, CNML_CONST, CNML_DATA_FLOAT16, 1, SIZE, 1, 1));
    CHECK(cnmlCreateCpuTensor(&row_cpu, CNML_TENSOR, CNML_DATA_FLOAT32, CNML_NHWC, 1, SIZE, 1, 1));
    CHECK(cnmlCreateCpuTensor(&filter_cpu, CNML_FILTER, CNML_DATA_FLOAT32, CNML_NCHW, SIZE, SIZE, 1,
                              1));
    CHECK(cnmlCreateCpuTensor(&bias_cpu, CNML_CONST, CNML_DATA_FLOAT32, CNML_NCHW, 1, SIZE, 1, 1));
    CHECK(cnmlBindConstData(filter, filter_cpu, filter_host));
    CHECK(cnmlBindConstData(bias, bias_cpu, bias_host));
#ifdef __cplusplus
    CHECK(cnmlCreateMlpOp(&mlp, in, out, filter, bias));
#else
    CHECK(cnmlCreateMlpOp(&mlp, in, out, filter, bias, CNML_NoSparse));
#endif
    CHECK(cnmlCompileBaseOp(mlp, CNML_MLU100, 1));
    in_mlu = cnmlMallocBatchBuffer(in, PARTS);
    out_mlu = cnmlMallocBatchBuffer(out, PARTS);
    other_mlu = cnmlMallocBuffer(out);
    CHECK(cnmlMemcpyBatchTensorToDevice(row_cpu, in_host, in, in_mlu, PARTS));
    CHECK(cnrtCreateQueue(&queue));
    CHECK(cnrtCreateQueue(&other));
    CHECK(cnrtCreateNotifier(&start));
    CHECK(cnrtCreateNotifier(&end));
    CHECK(cnrtPlaceNotifier(start, queue));
    CHECK(cnmlComputeMlpOpForward(mlp, in_mlu, out_mlu, &how, queue));
    CHECK(cnrtPlaceNotifier(end, queue));
    CHECK(cnmlComputeMlpOpForward_V3(mlp, in_mlu, other_mlu, NULL, other));
    CHECK(cnrtSyncQueue(other));
    CHECK(cnrtSyncQueue(queue));
    CHECK(cnrtNotifierDuration(start, end, &us));
    CHECK(cnmlMemcpyBatchTensorToHost(out, out_mlu, row_cpu, out_host, PARTS));
    for (int i = 0; i < SIZE * PARTS; i++) {
        if (out_host[i] != 514) {
            printf("output %d is %g\n", i, (double)out_host[i]);
            return 1;
        }
    }
    CHECK(cnmlMemcpyTensorToHost(out, other_mlu, row_cpu, out_host));
    if (out_host[SIZE - 1] != 514 || !(us > 0)) {
        printf("%g, %g us\n", (double)out_host[SIZE - 1], (double)us);
        return 1;
    }
    CHECK(cnrtDestroyNotifier(&start));
    CHECK(cnrtDestroyNotifier(&end));
    CHECK(cnrtDestroyQueue(queue));
    CHECK(cnrtDestroyQueue(other));
    CHECK(cnmlFreeBuffer(in_mlu));
    CHECK(cnmlFreeBuffer(out_mlu));
    CHECK(cnmlFreeBuffer(other_mlu));
    CHECK(cnmlDestroyBaseOp(&mlp));
    CHECK(cnmlDestroyTensor(&in));
    CHECK(cnmlDestroyTensor(&out));
    CHECK(cnmlDestroyTensor(&filter));
    CHECK(cnmlDestroyTensor(&bias));
    CHECK(cnmlDestroyCpuTensor(&row_cpu));
    CHECK(cnmlDestroyCpuTensor(&filter_cpu));
    CHECK(cnmlDestroyCpuTensor(&bias_cpu));
    CHECK(cnmlExit());
    free(in_host);
    free(filter_host);
    free(bias_host);
    free(out_host);
    return 0;
}
