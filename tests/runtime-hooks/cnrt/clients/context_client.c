/* SPDX-License-Identifier: MIT */
/* A program of the third generation, valid as C and as C++: a runtime context, casts and orders. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cnrt.h"

#define CHECK(call)                                                         \
    do {                                                                    \
        cnrtRet_t check_ret = (call);                                       \
        if (check_ret != CNRT_RET_SUCCESS) {                                \
            fprintf(stderr, "%s: %s\n", #call, cnrtGetErrorStr(check_ret)); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

int main(int argc, char **argv)
{
    static float image[128 * 64];
    static uint8_t pixels[128 * 64];
    static float x[128 * 64];
    static float y[128 * 64];
    int dims[4] = { 1, 64, 32, 4 };
    int order[4] = { 0, 3, 1, 2 };
    cnrtDev_t dev;
    cnrtDeviceInfo_t info;
    cnrtModel_t model;
    cnrtFunction_t function;
    cnrtRuntimeContext_t context;
    cnrtQueue_t queue;
    int64_t *input_sizes, *output_sizes;
    int input_count, output_count;
    void *params[2];

    if (argc < 2) {
        return 2;
    }
    CHECK(cnrtInit(0));
    CHECK(cnrtGetDeviceHandle(&dev, 0));
    CHECK(cnrtSetCurrentDevice(dev));
    CHECK(cnrtGetDeviceInfo(&info, 0));
    CHECK(cnrtLoadModel(&model, argv[1]));
    CHECK(cnrtCreateFunction(&function));
    CHECK(cnrtExtractFunction(&function, model, "subnet0"));
    CHECK(cnrtCreateRuntimeContext(&context, function, NULL));
    CHECK(cnrtSetRuntimeContextDeviceId(context, 0));
    CHECK(cnrtInitRuntimeContext(context, NULL));
    CHECK(cnrtRuntimeContextCreateQueue(context, &queue));
    CHECK(cnrtGetInputDataSize(&input_sizes, &input_count, function));
    CHECK(cnrtGetOutputDataSize(&output_sizes, &output_count, function));
    CHECK(cnrtMalloc(&params[0], (size_t)input_sizes[0]));
    CHECK(cnrtMalloc(&params[1], (size_t)output_sizes[0]));
    memset(pixels, 200, sizeof pixels);
    CHECK(cnrtCastDataType(pixels, CNRT_UINT8, image, CNRT_FLOAT32, 128 * 64, NULL));
    CHECK(cnrtTransDataOrder(image, CNRT_FLOAT32, x, 4, dims, order));
    CHECK(cnrtMemcpy(params[0], x, sizeof x, CNRT_MEM_TRANS_DIR_HOST2DEV));
    CHECK(cnrtInvokeRuntimeContext(context, params, queue, NULL));
    CHECK(cnrtSyncQueue(queue));
    CHECK(cnrtMemcpy(y, params[1], sizeof y, CNRT_MEM_TRANS_DIR_DEV2HOST));
    CHECK(cnrtDestroyQueue(queue));
    CHECK(cnrtDestroyRuntimeContext(context));
    CHECK(cnrtDestroyFunction(function));
    CHECK(cnrtUnloadModel(model));
    CHECK(cnrtFree(params[0]));
    CHECK(cnrtFree(params[1]));
    cnrtDestroy();
    printf("%s %d %d %d %g\n", info.device_name, info.core_num, input_count, output_count,
           (double)y[9]);
    return 0;
}
