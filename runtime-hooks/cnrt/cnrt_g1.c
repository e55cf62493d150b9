/* SPDX-License-Identifier: MIT */
/*
 * cnrt_g1 - calls of the first generation that the second lacks or defines differently. The others
 * are aliases of the second's functions (CNRT_IN_1).
 */
#pragma GCC visibility push(default)
#include "neuware/g1/cnrt.h"
#pragma GCC visibility pop

#include "runtime-hooks/cnrt/cnrt_front.h"
#include "runtime-hooks/cnrt/cnrt_function.h"
#include "runtime-hooks/cnrt/cnrt_half.h"

#include <assert.h>

#define MIB (UINT64_C(1) << 20)

const char *cnrtGetErrorStr(cnrtRet_t err)
{
    return cnrt_code_text((int)err, 1);
}

/* --- devices ---------------------------------------------------------------------------------- */

static int capability(cnrtCap_t *out_cap, cnrtDev_t dev)
{
    uint32_t ordinal = 0;

    if (!out_cap) {
        return CNRT_ERR_INVALID;
    }
    int code = cnrt_device_of(dev, &ordinal);
    if (code == CNRT_OK) {
        *out_cap =
            (cnrtCap_t){ .core_num = cnrt_front_device(ordinal)->nc_count * cnrt_cluster_cores(),
                         .max_stream_num = CNRT_QUEUES_MAX_1 };
    }
    return code;
}

cnrtRet_t cnrtGetDeviceCapability(cnrtCap_t *cap, cnrtDev_t dev)
{
    CNRT_INSIDE(capability(cap, dev));
}

static int memory_size(unsigned long *out_mib)
{
    const struct ntk_core_machine *machine = ntk_core_machine_get(cnrt_front_core());

    if (!out_mib) {
        return CNRT_ERR_INVALID;
    }
    *out_mib = machine->stacks_per_device * machine->stack_bytes / MIB;
    return CNRT_OK;
}

cnrtRet_t cnrtGetDeviceMemorySize(unsigned long *size)
{
    CNRT_INSIDE(memory_size(size));
}

static int hardware_version(cnrtHardwareVersion_t *out_version)
{
    if (!out_version) {
        return CNRT_ERR_INVALID;
    }
    *out_version = (cnrtHardwareVersion_t){
        .platform_version = 1,
        .core_version = (uint32_t)cnrt_core_version(1),
    };
    return CNRT_OK;
}

cnrtRet_t cnrtGetHardwareVersion(cnrtHardwareVersion_t *version)
{
    CNRT_INSIDE(hardware_version(version));
}

/* --- streams ---------------------------------------------------------------------------------- */

cnrtRet_t cnrtCreateStream(cnrtStream_t *stream)
{
    CNRT_INSIDE(cnrt_queue_create((void **)stream, CNRT_QUEUES_MAX_1));
}

/* Creates a stream. All streams are processed alike; whether calls wait is chosen here. */
static int stream_create(cnrtStream_t *stream, int priority, cnrtStreamAttr_t attr)
{
    if (priority < CNRT_STREAM_PRIORITY_LOW || priority > CNRT_STREAM_PRIORITY_HIGH) {
        return CNRT_ERR_INVALID;
    }
    if (attr != CNRT_STREAM_ASYNC && attr != CNRT_STREAM_SYNC) {
        return CNRT_ERR_INVALID;
    }
    return cnrt_queue_create_waiting((void **)stream, CNRT_QUEUES_MAX_1, attr == CNRT_STREAM_SYNC);
}

cnrtRet_t cnrtCreateStreamEx(cnrtStream_t *stream, int priority, cnrtStreamAttr_t attr)
{
    CNRT_INSIDE(stream_create(stream, priority, attr));
}

cnrtRet_t cnrtDestroyStream(cnrtStream_t stream)
{
    CNRT_INSIDE(cnrt_queue_destroy(stream));
}

cnrtRet_t cnrtSyncStream(cnrtStream_t stream)
{
    CNRT_INSIDE(cnrt_queue_sync(stream));
}

cnrtRet_t cnrtQueryStream(cnrtStream_t stream)
{
    CNRT_INSIDE(cnrt_queue_query(stream));
}

/* --- events ----------------------------------------------------------------------------------- */

cnrtRet_t cnrtCreateEvent(cnrtEvent_t *event)
{
    CNRT_INSIDE(cnrt_notifier_create((void **)event));
}

cnrtRet_t cnrtDestroyEvent(cnrtEvent_t event)
{
    CNRT_INSIDE(cnrt_notifier_destroy(event));
}

cnrtRet_t cnrtPlaceEvent(cnrtEvent_t event, cnrtStream_t stream)
{
    CNRT_INSIDE(cnrt_notifier_place(event, stream));
}

cnrtRet_t cnrtWaitEvent(cnrtEvent_t event)
{
    CNRT_INSIDE(cnrt_notifier_wait(event));
}

cnrtRet_t cnrtQueryEvent(cnrtEvent_t event)
{
    CNRT_INSIDE(cnrt_notifier_query(event));
}

cnrtRet_t cnrtStreamWaitEvent(cnrtEvent_t event, cnrtStream_t stream, unsigned int flag)
{
    CNRT_INSIDE(cnrt_notifier_queue_wait(event, stream, flag));
}

cnrtRet_t cnrtEventElapsedTime(cnrtEvent_t start, cnrtEvent_t end, float *us)
{
    CNRT_INSIDE(cnrt_notifier_duration(start, end, us));
}

/* --- memory ----------------------------------------------------------------------------------- */

cnrtRet_t cnrtMallocHost(void **ptr, size_t bytes, cnrtMemType_t type)
{
    bool is_known = (int)type >= CNRT_MEMTYPE_DEFAULT && (int)type <= CNRT_MEMTYPE_DEV;

    CNRT_INSIDE(is_known ? cnrt_memory_host_take(ptr, bytes) : CNRT_ERR_INVALID);
}

cnrtRet_t cnrtMemcpy(void *dst, const void *src, size_t bytes, cnrtMemTransDir_t dir)
{
    static const enum cnrt_direction directions[] = {
        [CNRT_MEM_TRANS_DIR_HOST2DEV] = CNRT_HOST_TO_DEVICE,
        [CNRT_MEM_TRANS_DIR_DEV2DEV] = CNRT_DEVICE_TO_DEVICE,
        [CNRT_MEM_TRANS_DIR_DEV2HOST] = CNRT_DEVICE_TO_HOST,
        [CNRT_MEM_TRANS_DIR_HOST2HOST] = CNRT_UNSUPPORTED_DIRECTION,
    };
    bool is_known = (unsigned int)dir < sizeof directions / sizeof *directions;

    CNRT_INSIDE(cnrt_memory_copy(dst, src, bytes, is_known ? directions[dir] : CNRT_NO_DIRECTION));
}

/* --- functions -------------------------------------------------------------------------------- */

static uint32_t cores_of(cnrtFunctionType_t type)
{
    static const uint32_t cores[] = {
        [CNRT_FUNC_TYPE_BLOCK] = 1,   [CNRT_FUNC_TYPE_BLOCK0] = 1,  [CNRT_FUNC_TYPE_BLOCK1] = 1,
        [CNRT_FUNC_TYPE_UNION1] = 4,  [CNRT_FUNC_TYPE_UNION2] = 8,  [CNRT_FUNC_TYPE_UNION4] = 16,
        [CNRT_FUNC_TYPE_UNION8] = 32, [CNRT_FUNC_TYPE_MUTABLE] = 1,
    };

    return (unsigned int)type < sizeof cores / sizeof *cores ? cores[type] : 0;
}

cnrtRet_t cnrtInitFunctionMemory(cnrtFunction_t function, cnrtFunctionType_t type)
{
    CNRT_INSIDE(cnrt_function_check(function, cores_of(type)));
}

cnrtRet_t cnrtInvokeFunction(cnrtFunction_t function, cnrtDim3_t dim, void **params,
                             cnrtFunctionType_t type, cnrtStream_t stream, void *extra)
{
    (void)dim; /* only for functions written for single tasks, which these are not */
    (void)extra;
    CNRT_INSIDE(cnrt_function_invoke(function, params, cores_of(type), stream, NULL));
}

static_assert(sizeof(cnrtDataDesc) == CNRT_ELEMENT_BYTES, "an element");

static int descs_get(bool is_output, cnrtDataDescArray_t *out_descs, int *out_count,
                     cnrtFunction_t function)
{
    void *array = NULL;
    int code = cnrt_function_array(function, is_output, &array, out_count);

    for (int i = 0; code == CNRT_OK && i < *out_count; i++) {
        cnrtDataDesc *desc = (cnrtDataDesc *)array + i;

        *desc = (cnrtDataDesc){ .ptr = desc, .direction = is_output };
    }
    if (code == CNRT_OK && out_descs) {
        *out_descs = array;
    }
    return out_descs ? code : CNRT_ERR_INVALID;
}

cnrtRet_t cnrtGetInputDataDesc(cnrtDataDescArray_t *descs, int *count, cnrtFunction_t function)
{
    CNRT_INSIDE(descs_get(false, descs, count, function));
}

cnrtRet_t cnrtGetOutputDataDesc(cnrtDataDescArray_t *descs, int *count, cnrtFunction_t function)
{
    CNRT_INSIDE(descs_get(true, descs, count, function));
}

/* --- values ----------------------------------------------------------------------------------- */

cnrtRet_t cnrtConvertFloatToHalf(int16_t *half, float value)
{
    if (!half) {
        return cnrt_front_end(CNRT_ERR_INVALID);
    }
    *half = (int16_t)cnrt_half_from_float(value);
    return CNRT_RET_SUCCESS;
}

cnrtRet_t cnrtConvertHalfToFloat(float *value, int16_t half)
{
    if (!value) {
        return cnrt_front_end(CNRT_ERR_INVALID);
    }
    *value = cnrt_half_to_float((uint16_t)half);
    return CNRT_RET_SUCCESS;
}
