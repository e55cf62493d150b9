/* SPDX-License-Identifier: MIT */
/* A program of the second generation, valid as C and as C++: a slow function on one queue, a fast
 * one on another, with a notifier before and after. */
#include <stdio.h>
#include <stdlib.h>

#include "cnrt.h"

#define CHECK(call)                                                         \
    do {                                                                    \
        cnrtRet_t check_ret = (call);                                       \
        if (check_ret != CNRT_RET_SUCCESS) {                                \
            fprintf(stderr, "%s: %s\n", #call, cnrtGetErrorStr(check_ret)); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

static cnrtFunction_t function_of(cnrtModel_t model, const char *symbol)
{
    cnrtFunction_t function;

    CHECK(cnrtCreateFunction(&function));
    CHECK(cnrtExtractFunction(&function, model, symbol));
    CHECK(cnrtInitFunctionMemory_V2(function, NULL));
    return function;
}

int main(int argc, char **argv)
{
    static float x[128 * 64];
    static float y[128 * 64];
    int rounds = argc > 2 ? atoi(argv[2]) : 1;
    int parallelism = 1;
    cnrtInvokeFuncParam_t param;
    cnrtDev_t dev;
    cnrtModel_t model;
    cnrtQueue_t slow_queue, fast_queue;
    cnrtNotifier_t begin, end;
    cnrtDim3_t dim = { 1, 1, 1 };
    void *slow_params[2], *fast_params[2];
    float us = 0;
    int fast_first = 1;

    if (argc < 2) {
        return 2;
    }
    param.data_parallelism = &parallelism;
    param.affinity = NULL;
    param.end = CNRT_PARAM_END;
    CHECK(cnrtInit(0));
    CHECK(cnrtGetDeviceHandle(&dev, 0));
    CHECK(cnrtSetCurrentDevice(dev));
    CHECK(cnrtLoadModel(&model, argv[1]));
    cnrtFunction_t fast = function_of(model, "subnet0");
    cnrtFunction_t slow = function_of(model, "slow");
    CHECK(cnrtCreateQueue(&slow_queue));
    CHECK(cnrtCreateQueue(&fast_queue));
    CHECK(cnrtCreateNotifier(&begin));
    CHECK(cnrtCreateNotifier(&end));
    for (int i = 0; i < 2; i++) {
        CHECK(cnrtMalloc(&slow_params[i], sizeof x));
        CHECK(cnrtMalloc(&fast_params[i], sizeof x));
    }
    CHECK(cnrtMemcpy(fast_params[0], x, sizeof x, CNRT_MEM_TRANS_DIR_HOST2DEV));
    CHECK(cnrtMemcpy(slow_params[0], x, sizeof x, CNRT_MEM_TRANS_DIR_HOST2DEV));
    for (int round = 0; round < rounds; round++) {
        CHECK(cnrtPlaceNotifier(begin, slow_queue));
        CHECK(cnrtInvokeFunction_V2(slow, dim, slow_params, CNRT_FUNC_TYPE_BLOCK, slow_queue,
                                    &param));
        CHECK(cnrtPlaceNotifier(end, slow_queue));
        CHECK(
            cnrtInvokeFunction_V2(fast, dim, fast_params, CNRT_FUNC_TYPE_BLOCK, fast_queue, NULL));
        CHECK(cnrtSyncQueue(fast_queue));
        /* The duration of the slow one is unknown until it is done. */
        fast_first = fast_first && cnrtNotifierDuration(begin, end, &us) != CNRT_RET_SUCCESS;
        CHECK(cnrtSyncQueue(slow_queue));
        CHECK(cnrtNotifierDuration(begin, end, &us));
    }
    CHECK(cnrtMemcpy(y, fast_params[1], sizeof y, CNRT_MEM_TRANS_DIR_DEV2HOST));
    CHECK(cnrtSyncDevice());
    CHECK(cnrtDestroyNotifier(&begin));
    CHECK(cnrtDestroyNotifier(&end));
    CHECK(cnrtDestroyQueue(slow_queue));
    CHECK(cnrtDestroyQueue(fast_queue));
    CHECK(cnrtFreeArray(slow_params, 2));
    CHECK(cnrtFreeArray(fast_params, 2));
    cnrtDestroy();
    printf("%g %s %s\n", (double)y[7], fast_first ? "fast first" : "slow first",
           us > 0 ? "timed" : "no time");
    return 0;
}
