/* SPDX-License-Identifier: MIT */
/*
 * cnrt.h - the CNRT interface, third generation (2019 to 2021): queues, notifiers, runtime
 * contexts.
 *
 * Names with the same meaning in the second generation are the same symbol; others have a separate
 * symbol (cnrt3_*).
 *
 * Handles from the caller are checked before use; device pointers may be moved inside their
 * allocation by arithmetic. What each call does on software cores: docs/cnrt-status.md.
 *
 * Threads: any thread may make any call. The current device, the channel and the last error are per
 *          thread.
 */

#ifndef NEUWARE_CNRT_H
#define NEUWARE_CNRT_H

#define CNRT_GENERATION 3

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/cnrt_ret.h"

#define cnrtCreateQueue cnrt3_CreateQueue
#define cnrtMemcpy cnrt3_Memcpy

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

typedef struct cnrtRuntimeContext *cnrtRuntimeContext_t;
typedef struct cnrtQuantizedParam *cnrtQuantizedParam_t;

typedef enum cnrtMemTransDir {
    CNRT_MEM_TRANS_DIR_HOST2DEV = 0,
    CNRT_MEM_TRANS_DIR_DEV2DEV = 1,
    CNRT_MEM_TRANS_DIR_DEV2HOST = 2,
    CNRT_MEM_TRANS_DIR_HOST2HOST = 3,
    CNRT_MEM_TRANS_DIR_PEER2PEER = 4,
    CNRT_MEM_TRANS_DIR_NODIR = 5
} cnrtMemTransDir_t;

/* The number of cores that run a function. */
typedef enum cnrtFunctionType {
    CNRT_FUNC_TYPE_BLOCK = 1,
    CNRT_FUNC_TYPE_BLOCK0 = 1,
    CNRT_FUNC_TYPE_BLOCK1 = 2,
    CNRT_FUNC_TYPE_UNION1 = 4,
    CNRT_FUNC_TYPE_UNION2 = 8,
    CNRT_FUNC_TYPE_UNION4 = 16,
    CNRT_FUNC_TYPE_UNION8 = 32,
    CNRT_FUNC_TYPE_MUTABLE = -1
} cnrtFunctionType_t;

typedef enum cnrtMemType {
    CNRT_MEMTYPE_DEFAULT = 0,
    CNRT_MEMTYPE_LOCKED = 1,
    CNRT_MEMTYPE_DEV = 2
} cnrtMemType_t;

/* Channels of the device's memory. */
typedef enum cnrtChannelType {
    CNRT_CHANNEL_TYPE_DUPLICATE = -2,
    CNRT_CHANNEL_TYPE_NONE = -1,
    CNRT_CHANNEL_TYPE_0 = 0,
    CNRT_CHANNEL_TYPE_1 = 1,
    CNRT_CHANNEL_TYPE_2 = 2,
    CNRT_CHANNEL_TYPE_3 = 3
} cnrtChannelType_t;

typedef enum cnrtCoreVersion {
    CNRT_1H8 = 0,
    CNRT_1H16 = 1,
    CNRT_MLU100 = 3,
    CNRT_1H8MINI = 4,
    CNRT_MLU270 = 5,
    CNRT_MLU220 = 6
} cnrtCoreVersion_t;

/* One digit per dimension, from the slowest to the fastest: N 0, C 1, H 2, W 3, T 4, D 5. */
typedef enum cnrtDimOrder {
    CNRT_NCHW = 0x0123,
    CNRT_NHWC = 0x0231,
    CNRT_HWCN = 0x2310,
    CNRT_TNC = 0x401,
    CNRT_NTC = 0x041,
    CNRT_NCDHW = 0x01523,
    CNRT_NDHWC = 0x05231,
    CNRT_DHWCN = 0x52310
} cnrtDimOrder_t;

typedef enum cnrtDataType {
    CNRT_INVALID = 0x0,
    CNRT_FLOAT16 = 0x12,
    CNRT_FLOAT32 = 0x13,
    CNRT_FLOAT64 = 0x14,
    CNRT_INT4 = 0x20,
    CNRT_INT8 = 0x21,
    CNRT_INT16 = 0x22,
    CNRT_INT32 = 0x23,
    CNRT_INT64 = 0x24,
    CNRT_AUTO = 0x25,
    CNRT_UINT8 = 0x31,
    CNRT_UINT16 = 0x32,
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

typedef struct cnrtDeviceInfo {
    char device_name[64];
    cnrtCoreVersion_t core_version;
    int core_num;
} cnrtDeviceInfo_t;

typedef struct cnrtDeviceAffinity {
    uint32_t cpu_count;
    uint32_t cpu_bitmap[1024];
} cnrtDeviceAffinity_t;

typedef struct cnrtKernelParamsBuffer {
    void *host_ptr;
    unsigned int max_param;
    unsigned int cur_param;
    int *input_index;
    int input_num;
    int *output_index;
    int output_num;
    int *static_index;
    int static_num;
    void *dim_info;
    int dim_num;
} cnrtKernelParamsBuffer;
typedef cnrtKernelParamsBuffer *cnrtKernelParamsBuffer_t;

/* --- life ------------------------------------------------------------------------------------- */

/* flags: 0 uses the devices of the machine; 1 uses a fake device, for calls that need no device.
 * Repeated calls are allowed. */
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

extern CNRT_DLL_API cnrtRet_t cnrtGetDeviceInfo(cnrtDeviceInfo_t *info, int ordinal);

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

extern CNRT_DLL_API cnrtRet_t cnrtWaitNotifier(cnrtNotifier_t notifier);
/* CNRT_RET_ERR_BUSY until the queue has reached the notifier. */
extern CNRT_DLL_API cnrtRet_t cnrtQueryNotifier(cnrtNotifier_t notifier);
/* Makes later items of the queue wait for the notifier; flag is 0. */
extern CNRT_DLL_API cnrtRet_t cnrtQueueWaitNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue,
                                                    unsigned int flag);

/* Returns the time between two notifiers in microseconds. */
extern CNRT_DLL_API cnrtRet_t cnrtNotifierDuration(cnrtNotifier_t start, cnrtNotifier_t end,
                                                   float *us);

/* --- memory ----------------------------------------------------------------------------------- */

extern CNRT_DLL_API cnrtRet_t cnrtMalloc(void **ptr, size_t bytes);
/* Accepts NULL. Running tasks keep the memory until they end. */
extern CNRT_DLL_API cnrtRet_t cnrtFree(void *ptr);
extern CNRT_DLL_API cnrtRet_t cnrtFreeArray(void **ptr, int length);

extern CNRT_DLL_API cnrtRet_t cnrtMallocHost(void **ptr, size_t bytes, cnrtMemType_t type);
extern CNRT_DLL_API cnrtRet_t cnrtFreeHost(void *ptr);

/* Copies and returns after completion. */
extern CNRT_DLL_API cnrtRet_t cnrtMemcpy(void *dst, void *src, size_t bytes, cnrtMemTransDir_t dir);

extern CNRT_DLL_API cnrtRet_t cnrtMemcpyAsync(void *dst, void *src, size_t bytes, cnrtQueue_t queue,
                                              cnrtMemTransDir_t dir);

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

/* The function owns the array. */
extern CNRT_DLL_API cnrtRet_t cnrtGetInputDataSize(int64_t **sizes, int *count,
                                                   cnrtFunction_t function);
extern CNRT_DLL_API cnrtRet_t cnrtGetOutputDataSize(int64_t **sizes, int *count,
                                                    cnrtFunction_t function);

/* --- runtime contexts ------------------------------------------------------------------------- */

extern CNRT_DLL_API cnrtRet_t cnrtCreateRuntimeContext(cnrtRuntimeContext_t *context,
                                                       cnrtFunction_t function, void *extra);
extern CNRT_DLL_API cnrtRet_t cnrtSetRuntimeContextDeviceId(cnrtRuntimeContext_t context,
                                                            int ordinal);
extern CNRT_DLL_API cnrtRet_t cnrtInitRuntimeContext(cnrtRuntimeContext_t context, void *extra);
/* The caller destroys the queue. */
extern CNRT_DLL_API cnrtRet_t cnrtRuntimeContextCreateQueue(cnrtRuntimeContext_t context,
                                                            cnrtQueue_t *queue);
/* params: device pointers of the inputs, then of the outputs. */
extern CNRT_DLL_API cnrtRet_t cnrtInvokeRuntimeContext(cnrtRuntimeContext_t context, void **params,
                                                       cnrtQueue_t queue, void *extra);
extern CNRT_DLL_API cnrtRet_t cnrtDestroyRuntimeContext(cnrtRuntimeContext_t context);

/* --- values ----------------------------------------------------------------------------------- */

/* Returns the size in bytes; 0 for a type of unknown size. */
extern CNRT_DLL_API int cnrtDataTypeSize(cnrtDataType_t type);

extern CNRT_DLL_API cnrtRet_t cnrtConvertFloatToHalf(uint16_t *half, float value);
extern CNRT_DLL_API cnrtRet_t cnrtConvertHalfToFloat(float *value, uint16_t half);

extern CNRT_DLL_API cnrtRet_t cnrtCreateQuantizedParam(cnrtQuantizedParam_t *param, int position,
                                                       float scale, int offset);
extern CNRT_DLL_API cnrtRet_t cnrtDestroyQuantizedParam(cnrtQuantizedParam_t param);
extern CNRT_DLL_API cnrtRet_t cnrtCastDataType(void *src, cnrtDataType_t src_type, void *dst,
                                               cnrtDataType_t dst_type, int count,
                                               cnrtQuantizedParam_t param);
/* dims: dimensions of src; order[i]: dimension of src that becomes dimension i of dst. */
extern CNRT_DLL_API cnrtRet_t cnrtTransDataOrder(void *src, cnrtDataType_t type, void *dst,
                                                 int dim_num, int dims[], int order[]);

#ifdef __cplusplus
}
#endif
#endif
