/* SPDX-License-Identifier: MIT */
/* cnrt_g3 - calls of the third generation that the second lacks or defines differently. */
#pragma GCC visibility push(default)
#include "neuware/g3/cnrt.h"
#pragma GCC visibility pop

#include <stdio.h>
#include <string.h>

#include "runtime-hooks/cnrt/cnrt_front.h"

/* --- devices ---------------------------------------------------------------------------------- */

static int device_info(cnrtDeviceInfo_t *out_info, int ordinal)
{
    cnrtDeviceInfo_t info = { .core_version = (cnrtCoreVersion_t)cnrt_core_version(3) };

    if (!out_info) {
        return CNRT_ERR_INVALID;
    }
    if (ordinal < 0 || (uint32_t)ordinal >= cnrt_front_device_count()) {
        return CNRT_ERR_NODEV;
    }
    (void)snprintf(info.device_name, sizeof info.device_name, "%s", cnrt_device_name());
    info.core_num = (int)(cnrt_front_device((uint32_t)ordinal)->nc_count * cnrt_cluster_cores());
    *out_info = info;
    return CNRT_OK;
}

cnrtRet_t cnrtGetDeviceInfo(cnrtDeviceInfo_t *info, int ordinal)
{
    CNRT_INSIDE(device_info(info, ordinal));
}

/* --- queues and notifiers --------------------------------------------------------------------- */

cnrtRet_t cnrtCreateQueue(cnrtQueue_t *queue)
{
    CNRT_INSIDE(cnrt_queue_create((void **)queue, CNRT_QUEUES_MAX_3));
}

cnrtRet_t cnrtWaitNotifier(cnrtNotifier_t notifier)
{
    CNRT_INSIDE(cnrt_notifier_wait(notifier));
}

cnrtRet_t cnrtQueryNotifier(cnrtNotifier_t notifier)
{
    CNRT_INSIDE(cnrt_notifier_query(notifier));
}

cnrtRet_t cnrtQueueWaitNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue, unsigned int flag)
{
    CNRT_INSIDE(cnrt_notifier_queue_wait(notifier, queue, flag));
}

/* --- memory ----------------------------------------------------------------------------------- */

static enum cnrt_direction direction_of(cnrtMemTransDir_t dir)
{
    switch ((int)dir) {
    case CNRT_MEM_TRANS_DIR_HOST2DEV:
        return CNRT_HOST_TO_DEVICE;
    case CNRT_MEM_TRANS_DIR_DEV2DEV:
        return CNRT_DEVICE_TO_DEVICE;
    case CNRT_MEM_TRANS_DIR_DEV2HOST:
        return CNRT_DEVICE_TO_HOST;
    case CNRT_MEM_TRANS_DIR_HOST2HOST:
        return CNRT_UNSUPPORTED_DIRECTION;
    case CNRT_MEM_TRANS_DIR_PEER2PEER:
        return CNRT_PEER_TO_PEER;
    case CNRT_MEM_TRANS_DIR_NODIR:
        return CNRT_ANY_DIRECTION;
    default:
        return CNRT_NO_DIRECTION;
    }
}

cnrtRet_t cnrtMemcpy(void *dst, void *src, size_t bytes, cnrtMemTransDir_t dir)
{
    CNRT_INSIDE(cnrt_memory_copy(dst, src, bytes, direction_of(dir)));
}

cnrtRet_t cnrtMemcpyAsync(void *dst, void *src, size_t bytes, cnrtQueue_t queue,
                          cnrtMemTransDir_t dir)
{
    CNRT_INSIDE(cnrt_memory_copy_async(dst, src, bytes, queue, direction_of(dir)));
}
