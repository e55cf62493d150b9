/* SPDX-License-Identifier: MIT */
/*
 * cnrt.h - the CNRT interface, first generation (2018): streams and events.
 *
 * Names of this generation are aliases of separate symbols (cnrt1_*): in the second generation some
 * of these names and numbers have a different meaning, and one library contains both.
 *
 * Handles from the caller are checked before use; device pointers may be moved inside their
 * allocation by arithmetic. What each call does on software cores: docs/cnrt-status.md.
 *
 * Threads: any thread may make any call. The current device, the channel and the last error are per
 *          thread.
 */

#ifndef NEUWARE_CNRT_H
#define NEUWARE_CNRT_H

#define CNRT_GENERATION 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/cnrt_ret.h"

#define cnrtConvertFloatToHalf cnrt1_ConvertFloatToHalf
#define cnrtConvertHalfToFloat cnrt1_ConvertHalfToFloat
#define cnrtCopyFunction cnrt1_CopyFunction
#define cnrtCreateEvent cnrt1_CreateEvent
#define cnrtCreateFunction cnrt1_CreateFunction
#define cnrtCreateStream cnrt1_CreateStream
#define cnrtCreateStreamEx cnrt1_CreateStreamEx
#define cnrtDataTypeSize cnrt1_DataTypeSize
#define cnrtDestroy cnrt1_Destroy
#define cnrtDestroyEvent cnrt1_DestroyEvent
#define cnrtDestroyFunction cnrt1_DestroyFunction
#define cnrtDestroyStream cnrt1_DestroyStream
#define cnrtEventElapsedTime cnrt1_EventElapsedTime
#define cnrtExtractFunction cnrt1_ExtractFunction
#define cnrtFree cnrt1_Free
#define cnrtFreeArray cnrt1_FreeArray
#define cnrtFreeHost cnrt1_FreeHost
#define cnrtGetCurrentChannel cnrt1_GetCurrentChannel
#define cnrtGetCurrentDevice cnrt1_GetCurrentDevice
#define cnrtGetDeviceCapability cnrt1_GetDeviceCapability
#define cnrtGetDeviceCount cnrt1_GetDeviceCount
#define cnrtGetDeviceHandle cnrt1_GetDeviceHandle
#define cnrtGetDeviceMemorySize cnrt1_GetDeviceMemorySize
#define cnrtGetErrorStr cnrt1_GetErrorStr
#define cnrtGetFunctionNumber cnrt1_GetFunctionNumber
#define cnrtGetHardwareVersion cnrt1_GetHardwareVersion
#define cnrtGetInputDataDesc cnrt1_GetInputDataDesc
#define cnrtGetLastErr cnrt1_GetLastErr
#define cnrtGetModelSize cnrt1_GetModelSize
#define cnrtGetOutputDataDesc cnrt1_GetOutputDataDesc
#define cnrtInit cnrt1_Init
#define cnrtInitFunctionMemory cnrt1_InitFunctionMemory
#define cnrtInvokeFunction cnrt1_InvokeFunction
#define cnrtLoadModel cnrt1_LoadModel
#define cnrtLoadModelFromMem cnrt1_LoadModelFromMem
#define cnrtMalloc cnrt1_Malloc
#define cnrtMallocBatch cnrt1_MallocBatch
#define cnrtMallocHost cnrt1_MallocHost
#define cnrtMemcpy cnrt1_Memcpy
#define cnrtMemset cnrt1_Memset
#define cnrtPlaceEvent cnrt1_PlaceEvent
#define cnrtQueryEvent cnrt1_QueryEvent
#define cnrtQueryStream cnrt1_QueryStream
#define cnrtSetCurrentChannel cnrt1_SetCurrentChannel
#define cnrtSetCurrentDevice cnrt1_SetCurrentDevice
#define cnrtStreamWaitEvent cnrt1_StreamWaitEvent
#define cnrtSyncDevice cnrt1_SyncDevice
#define cnrtSyncStream cnrt1_SyncStream
#define cnrtUnloadModel cnrt1_UnloadModel
#define cnrtWaitEvent cnrt1_WaitEvent

#ifdef __cplusplus
extern "C" {
#endif

#define CNRT_DLL_API

/* --- types ------------------------------------------------------------------------------------ */

typedef unsigned long cnrtDev_t;
typedef struct cnrtStream *cnrtStream_t;
typedef struct cnrtEvent *cnrtEvent_t;
typedef struct cnrtModel *cnrtModel_t;
typedef struct cnrtFunction *cnrtFunction_t;

typedef enum cnrtMemTransDir {
    CNRT_MEM_TRANS_DIR_HOST2DEV = 0,
    CNRT_MEM_TRANS_DIR_DEV2DEV = 1,
    CNRT_MEM_TRANS_DIR_DEV2HOST = 2,
    CNRT_MEM_TRANS_DIR_HOST2HOST = 3
} cnrtMemTransDir_t;

/* The number of cores that run a function. */
typedef enum cnrtFunctionType {
    CNRT_FUNC_TYPE_BLOCK = 0,
    CNRT_FUNC_TYPE_BLOCK0 = 1,
    CNRT_FUNC_TYPE_BLOCK1 = 2,
    CNRT_FUNC_TYPE_UNION1 = 3,
    CNRT_FUNC_TYPE_UNION2 = 4,
    CNRT_FUNC_TYPE_UNION4 = 5,
    CNRT_FUNC_TYPE_UNION8 = 6,
    CNRT_FUNC_TYPE_MUTABLE = 7
} cnrtFunctionType_t;

typedef enum cnrtMemType {
    CNRT_MEMTYPE_DEFAULT = 0,
    CNRT_MEMTYPE_LOCKED = 1,
    CNRT_MEMTYPE_MAPPED = 2,
    CNRT_MEMTYPE_WC = 3,
    CNRT_MEMTYPE_CR = 4,
    CNRT_MEMTYPE_REG = 5,
    CNRT_MEMTYPE_DEV = 6
} cnrtMemType_t;

/* Channels of the device's memory. */
typedef enum cnrtChannelType {
    CNRT_CHANNEL_TYPE_NONE = -1,
    CNRT_CHANNEL_TYPE_0 = 0,
    CNRT_CHANNEL_TYPE_1 = 1,
    CNRT_CHANNEL_TYPE_2 = 2,
    CNRT_CHANNEL_TYPE_3 = 3
} cnrtChannelType_t;

typedef enum cnrtCoreVersion { CNRT_1H8 = 0, CNRT_1H16 = 1, CNRT_UNKNOWN = 2 } cnrtCoreVersion_t;

/* One digit per dimension, from the slowest to the fastest: N 0, C 1, H 2, W 3. */
typedef enum cnrtDimOrder { CNRT_NCHW = 0x0123, CNRT_NHWC = 0x0231 } cnrtDimOrder_t;

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

typedef enum cnrtStreamPriority {
    CNRT_STREAM_PRIORITY_LOW = -16,
    CNRT_STREAM_PRIORITY_MID = 0,
    CNRT_STREAM_PRIORITY_HIGH = 16
} cnrtStreamPriority_t;

typedef enum cnrtStreamAttr { CNRT_STREAM_ASYNC = 0, CNRT_STREAM_SYNC = 1 } cnrtStreamAttr_t;

typedef enum cnrtEventAttr { CNRT_EVENT_NORMAL = 0, CNRT_EVENT_CROSS_PROCESS = 1 } cnrtEventAttr_t;

typedef struct cnrtDim3 {
    unsigned int x;
    unsigned int y;
    unsigned int z;
} cnrtDim3_t;

typedef struct cnrtHardwareVersion {
    uint32_t platform_version;
    uint32_t platform_revision;
    uint32_t core_version;
    uint32_t core_revision;
} cnrtHardwareVersion_t;

typedef struct cnrtCap {
    uint32_t core_num;
    uint32_t max_stream_num;
} cnrtCap_t;

/* Describes an input or output of a function. */
typedef struct cnrtDataDesc {
    void *ptr;       /* owned by the library */
    int direction;   /* 0 for an input, 1 for an output */
    bool is_mutable; /* the size is not fixed */
} cnrtDataDesc;
typedef cnrtDataDesc *cnrtDataDescArray_t;

typedef struct cnrtWeightDesc {
    void *desc;
    void *host_data;
    void *device_data;
} cnrtWeightDesc;

typedef struct cnrtKernelParamsBuffer {
    void *host_ptr;
    unsigned int max_param;
    unsigned int cur_param;
} cnrtKernelParamsBuffer;
typedef cnrtKernelParamsBuffer *cnrtKernelParamsBuffer_t;

/* --- life ------------------------------------------------------------------------------------- */

/* Repeated calls are allowed. */
extern CNRT_DLL_API cnrtRet_t cnrtInit(unsigned int flags);
/* Frees all resources of the library. */
extern CNRT_DLL_API void cnrtDestroy(void);

extern CNRT_DLL_API const char *cnrtGetErrorStr(cnrtRet_t err);
/* Returns the last error of this thread; it stays until the next error. */
extern CNRT_DLL_API cnrtRet_t cnrtGetLastErr(void);

/* --- devices ---------------------------------------------------------------------------------- */

extern CNRT_DLL_API cnrtRet_t cnrtGetDeviceCount(unsigned int *dev_num);
extern CNRT_DLL_API cnrtRet_t cnrtGetDeviceHandle(cnrtDev_t *dev, int ordinal);
extern CNRT_DLL_API cnrtRet_t cnrtSetCurrentDevice(cnrtDev_t dev);
extern CNRT_DLL_API cnrtRet_t cnrtGetCurrentDevice(cnrtDev_t *dev);

extern CNRT_DLL_API cnrtRet_t cnrtGetDeviceCapability(cnrtCap_t *cap, cnrtDev_t dev);
/* Returns the memory size of the current device in MiB. */
extern CNRT_DLL_API cnrtRet_t cnrtGetDeviceMemorySize(unsigned long *size);
extern CNRT_DLL_API cnrtRet_t cnrtGetHardwareVersion(cnrtHardwareVersion_t *version);

/* Waits for the work that this process has queued on the current device. */
extern CNRT_DLL_API cnrtRet_t cnrtSyncDevice(void);
extern CNRT_DLL_API cnrtRet_t cnrtSetCurrentChannel(cnrtChannelType_t channel);
extern CNRT_DLL_API cnrtRet_t cnrtGetCurrentChannel(cnrtChannelType_t *channel);

/* --- streams ---------------------------------------------------------------------------------- */

extern CNRT_DLL_API cnrtRet_t cnrtCreateStream(cnrtStream_t *stream);
extern CNRT_DLL_API cnrtRet_t cnrtCreateStreamEx(cnrtStream_t *stream, int priority,
                                                 cnrtStreamAttr_t attr);
/* Waits for queued items of the stream, then destroys it. */
extern CNRT_DLL_API cnrtRet_t cnrtDestroyStream(cnrtStream_t stream);
extern CNRT_DLL_API cnrtRet_t cnrtSyncStream(cnrtStream_t stream);
/* CNRT_RET_ERR_BUSY while the stream has unfinished items. */
extern CNRT_DLL_API cnrtRet_t cnrtQueryStream(cnrtStream_t stream);

/* --- events ----------------------------------------------------------------------------------- */

extern CNRT_DLL_API cnrtRet_t cnrtCreateEvent(cnrtEvent_t *event);
extern CNRT_DLL_API cnrtRet_t cnrtDestroyEvent(cnrtEvent_t event);
extern CNRT_DLL_API cnrtRet_t cnrtPlaceEvent(cnrtEvent_t event, cnrtStream_t stream);
extern CNRT_DLL_API cnrtRet_t cnrtWaitEvent(cnrtEvent_t event);
/* CNRT_RET_ERR_BUSY until the stream has reached the event. */
extern CNRT_DLL_API cnrtRet_t cnrtQueryEvent(cnrtEvent_t event);
/* Makes later items of the stream wait for the event; flag is 0. */
extern CNRT_DLL_API cnrtRet_t cnrtStreamWaitEvent(cnrtEvent_t event, cnrtStream_t stream,
                                                  unsigned int flag);
/* Returns the time between two events in microseconds. */
extern CNRT_DLL_API cnrtRet_t cnrtEventElapsedTime(cnrtEvent_t start, cnrtEvent_t end, float *us);

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
extern CNRT_DLL_API cnrtRet_t cnrtMemcpy(void *dst, const void *src, size_t bytes,
                                         cnrtMemTransDir_t dir);

/* Sets bytes in device memory. */
extern CNRT_DLL_API cnrtRet_t cnrtMemset(void *ptr, int value, size_t bytes);

/* --- offline models and functions ------------------------------------------------------------- */

extern CNRT_DLL_API cnrtRet_t cnrtLoadModel(cnrtModel_t *model, const char *path);
extern CNRT_DLL_API cnrtRet_t cnrtLoadModelFromMem(cnrtModel_t *model, char *bytes);
extern CNRT_DLL_API cnrtRet_t cnrtUnloadModel(cnrtModel_t model);
extern CNRT_DLL_API cnrtRet_t cnrtGetModelSize(const char *path, int *size);

extern CNRT_DLL_API cnrtRet_t cnrtGetFunctionNumber(cnrtModel_t model, int *count);
extern CNRT_DLL_API cnrtRet_t cnrtCreateFunction(cnrtFunction_t *function);
/* symbol: name of the function, "subnet0" if the model was saved without a name */
extern CNRT_DLL_API cnrtRet_t cnrtExtractFunction(cnrtFunction_t *function, cnrtModel_t model,
                                                  const char *symbol);
extern CNRT_DLL_API cnrtRet_t cnrtCopyFunction(cnrtFunction_t *dst, cnrtFunction_t src);
extern CNRT_DLL_API cnrtRet_t cnrtDestroyFunction(cnrtFunction_t function);

extern CNRT_DLL_API cnrtRet_t cnrtInitFunctionMemory(cnrtFunction_t function,
                                                     cnrtFunctionType_t type);
/* params: device pointers of the inputs, then of the outputs. */
extern CNRT_DLL_API cnrtRet_t cnrtInvokeFunction(cnrtFunction_t function, cnrtDim3_t dim,
                                                 void **params, cnrtFunctionType_t type,
                                                 cnrtStream_t stream, void *extra);

/* The function owns the array and the descriptors. */
extern CNRT_DLL_API cnrtRet_t cnrtGetInputDataDesc(cnrtDataDescArray_t *descs, int *count,
                                                   cnrtFunction_t function);
extern CNRT_DLL_API cnrtRet_t cnrtGetOutputDataDesc(cnrtDataDescArray_t *descs, int *count,
                                                    cnrtFunction_t function);

/* --- values ----------------------------------------------------------------------------------- */

/* Returns the size in bytes; 0 for a type of unknown size. */
extern CNRT_DLL_API int cnrtDataTypeSize(cnrtDataType_t type);

extern CNRT_DLL_API cnrtRet_t cnrtConvertFloatToHalf(int16_t *half, float value);
extern CNRT_DLL_API cnrtRet_t cnrtConvertHalfToFloat(float *value, int16_t half);

#ifdef __cplusplus
}
#endif
#endif
