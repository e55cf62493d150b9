/* SPDX-License-Identifier: MIT */
/* A program of the first generation, as its users write them: streams and events. */
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "cnrt.h"

#define CHECK(call)                                                              \
    do {                                                                         \
        cnrtRet_t check_ret = (call);                                            \
        if (check_ret != CNRT_RET_SUCCESS) {                                     \
            std::fprintf(stderr, "%s: %s\n", #call, cnrtGetErrorStr(check_ret)); \
            std::exit(1);                                                        \
        }                                                                        \
    } while (0)

int main(int argc, char **argv)
{
    const int count = 128 * 64;
    std::vector<float> x(count), y(count);
    cnrtDev_t dev;
    unsigned int devices;
    cnrtModel_t model;
    cnrtFunction_t function;
    cnrtStream_t stream;
    cnrtEvent_t begin, end;
    cnrtDim3_t dim = { 1, 1, 1 };
    void *params[2];
    float us = 0;

    if (argc < 2) {
        return 2;
    }
    CHECK(cnrtInit(0));
    CHECK(cnrtGetDeviceCount(&devices));
    CHECK(cnrtGetDeviceHandle(&dev, 0));
    CHECK(cnrtSetCurrentDevice(dev));
    CHECK(cnrtLoadModel(&model, argv[1]));
    CHECK(cnrtCreateFunction(&function));
    CHECK(cnrtExtractFunction(&function, model, "subnet0"));
    CHECK(cnrtInitFunctionMemory(function, CNRT_FUNC_TYPE_BLOCK));
    CHECK(cnrtMalloc(&params[0], x.size() * sizeof(float)));
    CHECK(cnrtMalloc(&params[1], y.size() * sizeof(float)));
    for (int i = 0; i < count; i++) {
        x[i] = 1;
    }
    CHECK(cnrtMemcpy(params[0], x.data(), x.size() * sizeof(float), CNRT_MEM_TRANS_DIR_HOST2DEV));
    CHECK(cnrtCreateStream(&stream));
    CHECK(cnrtCreateEvent(&begin));
    CHECK(cnrtCreateEvent(&end));
    CHECK(cnrtPlaceEvent(begin, stream));
    CHECK(cnrtInvokeFunction(function, dim, params, CNRT_FUNC_TYPE_BLOCK, stream, nullptr));
    CHECK(cnrtPlaceEvent(end, stream));
    CHECK(cnrtSyncStream(stream));
    CHECK(cnrtEventElapsedTime(begin, end, &us));
    CHECK(cnrtMemcpy(y.data(), params[1], y.size() * sizeof(float), CNRT_MEM_TRANS_DIR_DEV2HOST));
    CHECK(cnrtDestroyEvent(begin));
    CHECK(cnrtDestroyEvent(end));
    CHECK(cnrtDestroyStream(stream));
    CHECK(cnrtFreeArray(params, 2));
    CHECK(cnrtDestroyFunction(function));
    CHECK(cnrtUnloadModel(model));
    cnrtDestroy();
    std::printf("%u %g %g %s\n", devices, (double)y[0], (double)y[5], us > 0 ? "timed" : "no time");
    return 0;
}
