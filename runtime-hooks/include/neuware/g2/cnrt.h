/* SPDX-License-Identifier: MIT */
/*
 * cnrt.h - the CNRT interface, second generation (2018 to 2019): queues, notifiers, functions with
 * parameters.
 *
 * The names are the library's plain symbols. A binary works with the generation of the header that
 * it was compiled with, and with this library.
 *
 * Handles from the caller are checked before use; device pointers may be moved inside their
 * allocation by arithmetic. What each call does on software cores: docs/cnrt-status.md.
 *
 * Threads: any thread may make any call. The current device, the channel and the last error are per
 *          thread.
 */

#ifndef NEUWARE_CNRT_H
#define NEUWARE_CNRT_H

#define CNRT_GENERATION 2

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/cnrt_ret.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CNRT_DLL_API

/* Ends the list of members of a parameter struct. */
#define CNRT_PARAM_END ((void *)0xFFFFFFFF)

/* --- types ------------------------------------------------------------------------------------ */

typedef uint64_t cnrtDev_t;
typedef struct cnrtQueue *cnrtQueue_t;
typedef struct cnrtNotifier *cnrtNotifier_t;
typedef struct cnrtModel *cnrtModel_t;
typedef struct cnrtFunction *cnrtFunction_t;

typedef enum cnrtMemTransDir {
    CNRT_MEM_TRANS_DIR_HOST2DEV = 0,
    CNRT_MEM_TRANS_DIR_DEV2DEV = 1,
    CNRT_MEM_TRANS_DIR_DEV2HOST = 2,
    CNRT_MEM_TRANS_DIR_HOST2HOST = 3,
    CNRT_MEM_TRANS_DIR_NODIR = 4
} cnrtMemTransDir_t;

/* The number of cores that run a function. */
typedef enum cnrtFunctionType {
    CNRT_FUNC_TYPE_BLOCK = 1,
    CNRT_FUNC_TYPE_UNION1 = 4,
    CNRT_FUNC_TYPE_UNION2 = 5,
    CNRT_FUNC_TYPE_UNION4 = 6,
    CNRT_FUNC_TYPE_UNION8 = 7,
    CNRT_FUNC_TYPE_MUTABLE = 8
} cnrtFunctionType_t;

typedef enum cnrtMemType {
    CNRT_MEMTYPE_DEFAULT = 0,
    CNRT_MEMTYPE_LOCKED = 1,
    CNRT_MEMTYPE_DEV = 2
} cnrtMemType_t;

/* Channels of the device's memory. */
typedef enum cnrtChannelType {
    CNRT_CHANNEL_TYPE_NONE = -1,
    CNRT_CHANNEL_TYPE_0 = 0,
    CNRT_CHANNEL_TYPE_1 = 1,
    CNRT_CHANNEL_TYPE_2 = 2,
    CNRT_CHANNEL_TYPE_3 = 3
} cnrtChannelType_t;

typedef enum cnrtCoreVersion { CNRT_1H8 = 0, CNRT_1H16 = 1 } cnrtCoreVersion_t;

/* One digit per dimension, from the slowest to the fastest: N 0, C 1, H 2, W 3. */
typedef enum cnrtDimOrder {
    CNRT_NCHW = 0x0123,
    CNRT_NHWC = 0x0231,
    CNRT_HWCN = 0x2310
} cnrtDimOrder_t;

typedef enum cnrtDataType {
    CNRT_INVALID = 0x0,
    CNRT_FLOAT16 = 0x12,
    CNRT_FLOAT32 = 0x13,
    CNRT_FLOAT64 = 0x14,
    CNRT_INT8 = 0x21,
    CNRT_INT16 = 0x22,
    CNRT_INT32 = 0x23,
    CNRT_UINT8 = 0x31,
    CNRT_UINT32 = 0x33,
    CNRT_FIX8 = 0x41,
    CNRT_QUANT8 = 0x51,
    CNRT_BOOL = 0x61
} cnrtDataType_t;

typedef struct cnrtDim3 {
    unsigned int x;
    unsigned int y;
    unsigned int z;
} cnrtDim3_t;

/* Settings of an invocation; a NULL member keeps its default. */
typedef struct cnrtInvokeFuncParam {
    int *data_parallelism;  /* number of parallel batches; NULL means 1 */
    unsigned int *affinity; /* bit c allows cluster c of cores; NULL allows all */
    void *end;              /* CNRT_PARAM_END */
} cnrtInvokeFuncParam_t;

typedef struct cnrtInitFuncParam {
    bool *muta;
    int *data_parallelism;
    unsigned int *affinity;
    void *end; /* CNRT_PARAM_END */
} cnrtInitFuncParam_t;

/* Describes an input or output of a function; owned by the library. */
typedef struct cnrtDataDesc *cnrtDataDesc_t;
typedef cnrtDataDesc_t *cnrtDataDescArray_t;

/* --- life ------------------------------------------------------------------------------------- */

/* Repeated calls are allowed. */
extern CNRT_DLL_API cnrtRet_t cnrtInit(unsigned int flags);
/* Frees all resources of the library. */
extern CNRT_DLL_API void cnrtDestroy(void);

/* *ver: major * 10000 + minor * 100 + patch */
extern CNRT_DLL_API cnrtRet_t cnrtGetVersion(unsigned int *ver);

extern CNRT_DLL_API const char *cnrtGetErrorStr(cnrtRet_t err);
/* Returns the last error of this thread; it stays until the next error. */
extern CNRT_DLL_API cnrtRet_t cnrtGetLastErr(void);

/* --- devices ---------------------------------------------------------------------------------- */

extern CNRT_DLL_API cnrtRet_t cnrtGetDeviceCount(unsigned int *dev_num);
extern CNRT_DLL_API cnrtRet_t cnrtGetDeviceHandle(cnrtDev_t *dev, int ordinal);
extern CNRT_DLL_API cnrtRet_t cnrtSetCurrentDevice(cnrtDev_t dev);
extern CNRT_DLL_API cnrtRet_t cnrtGetCurrentDevice(cnrtDev_t *dev);

/* Waits for the work that this process has queued on the current device. */
extern CNRT_DLL_API cnrtRet_t cnrtSyncDevice(void);
extern CNRT_DLL_API cnrtRet_t cnrtSetCurrentChannel(cnrtChannelType_t channel);
extern CNRT_DLL_API cnrtRet_t cnrtGetCurrentChannel(cnrtChannelType_t *channel);

/* --- queues ----------------------------------------------------------------------------------- */

extern CNRT_DLL_API cnrtRet_t cnrtCreateQueue(cnrtQueue_t *queue);
/* Waits for queued items, then destroys the queue. */
extern CNRT_DLL_API cnrtRet_t cnrtDestroyQueue(cnrtQueue_t queue);
extern CNRT_DLL_API cnrtRet_t cnrtSyncQueue(cnrtQueue_t queue);

/* --- notifiers -------------------------------------------------------------------------------- */

/* Creates a notifier for the current device. */
extern CNRT_DLL_API cnrtRet_t cnrtCreateNotifier(cnrtNotifier_t *notifier);
extern CNRT_DLL_API cnrtRet_t cnrtDestroyNotifier(cnrtNotifier_t *notifier);
extern CNRT_DLL_API cnrtRet_t cnrtPlaceNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue);

/* Returns the time between two notifiers in microseconds. */
extern CNRT_DLL_API cnrtRet_t cnrtNotifierDuration(cnrtNotifier_t start, cnrtNotifier_t end,
                                                   float *us);

/* --- memory ----------------------------------------------------------------------------------- */

extern CNRT_DLL_API cnrtRet_t cnrtMalloc(void **ptr, size_t bytes);
/* Accepts NULL. Running tasks keep the memory until they end. */
extern CNRT_DLL_API cnrtRet_t cnrtFree(void *ptr);
extern CNRT_DLL_API cnrtRet_t cnrtFreeArray(void **ptr, int length);

/* Allocates `parallelism` aligned parts of this size. */
extern CNRT_DLL_API cnrtRet_t cnrtMallocBatch(void **ptr, size_t bytes, int parallelism);

extern CNRT_DLL_API cnrtRet_t cnrtMallocHost(void **ptr, size_t bytes, cnrtMemType_t type);
extern CNRT_DLL_API cnrtRet_t cnrtFreeHost(void *ptr);

/* Copies and returns after completion. */
extern CNRT_DLL_API cnrtRet_t cnrtMemcpy(void *dst, void *src, size_t bytes, cnrtMemTransDir_t dir);

/* Sets bytes in device memory. */
extern CNRT_DLL_API cnrtRet_t cnrtMemset(void *ptr, int value, size_t bytes);

/* --- offline models and functions ------------------------------------------------------------- */

extern CNRT_DLL_API cnrtRet_t cnrtLoadModel(cnrtModel_t *model, const char *path);
extern CNRT_DLL_API cnrtRet_t cnrtLoadModelFromMem(cnrtModel_t *model, char *bytes);
extern CNRT_DLL_API cnrtRet_t cnrtUnloadModel(cnrtModel_t model);
extern CNRT_DLL_API cnrtRet_t cnrtGetModelSize(const char *path, int *size);

extern CNRT_DLL_API cnrtRet_t cnrtQueryModelParallelism(cnrtModel_t model, int *parallelism);

extern CNRT_DLL_API cnrtRet_t cnrtGetFunctionNumber(cnrtModel_t model, int *count);
extern CNRT_DLL_API cnrtRet_t cnrtCreateFunction(cnrtFunction_t *function);
/* symbol: name of the function, "subnet0" if the model was saved without a name */
extern CNRT_DLL_API cnrtRet_t cnrtExtractFunction(cnrtFunction_t *function, cnrtModel_t model,
                                                  const char *symbol);
extern CNRT_DLL_API cnrtRet_t cnrtCopyFunction(cnrtFunction_t *dst, cnrtFunction_t src);
extern CNRT_DLL_API cnrtRet_t cnrtDestroyFunction(cnrtFunction_t function);

extern CNRT_DLL_API cnrtRet_t cnrtInitFunctionMemory_V2(cnrtFunction_t function,
                                                        cnrtInitFuncParam_t *param);
/* params: device pointers of the inputs, then of the outputs. extra: cnrtInvokeFuncParam_t or
 * NULL. */
extern CNRT_DLL_API cnrtRet_t cnrtInvokeFunction_V2(cnrtFunction_t function, cnrtDim3_t dim,
                                                    void **params, cnrtFunctionType_t type,
                                                    cnrtQueue_t queue, void *extra);

/* The function owns the array and the descriptors. */
extern CNRT_DLL_API cnrtRet_t cnrtGetInputDataDesc(cnrtDataDescArray_t *descs, int *count,
                                                   cnrtFunction_t function);
extern CNRT_DLL_API cnrtRet_t cnrtGetOutputDataDesc(cnrtDataDescArray_t *descs, int *count,
                                                    cnrtFunction_t function);

/* --- values ----------------------------------------------------------------------------------- */

/* Returns the size in bytes; 0 for a type of unknown size. */
extern CNRT_DLL_API int cnrtDataTypeSize(cnrtDataType_t type);

extern CNRT_DLL_API cnrtRet_t cnrtConvertFloatToHalf(uint16_t *half, float value);
extern CNRT_DLL_API cnrtRet_t cnrtConvertHalfToFloat(float *value, uint16_t half);

#ifdef __cplusplus
}
#endif
#endif
