/* SPDX-License-Identifier: MIT */
/*
 * nrt_debug_stream - converts events of the core to the layout of the public header.
 */
#include "runtime-hooks/libnrt/nrt_front.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/core/core_debug.h"
#include "runtime-hooks/libnrt/nrt_env.h"
#include "runtime-hooks/libnrt/nrt_status_map.h"

static_assert(sizeof(ndebug_stream_event_header_t) == 64, "public layout");
static_assert(offsetof(ndebug_stream_payload_debug_tensor_read_t, tensor_data) == 1024,
              "public layout");

NRT_STATUS nrt_debug_client_connect(int logical_nc_idx, int *stream_fd)
{
    struct ntk_err err = { 0 };
    uint32_t event_count = 0;
    NRT_FRONT_SCOPE;

    if (!stream_fd || logical_nc_idx < 0 ||
        (uint32_t)logical_nc_idx >= ntk_core_count(nrt_front_core_get())) {
        status = NRT_INVALID;
    } else {
        int ret = nrt_env_debug_events_get(&event_count, &err);

        if (ret == 0) {
            ret = ntk_core_debug_connect((uint32_t)logical_nc_idx, event_count, stream_fd);
            if (ret == -EBUSY) {
                ret = ntk_err_set(&err, -EINVAL, NTK_ERR_NO_OFFSET,
                                  "core %d already has a debug client", logical_nc_idx);
            } else if (ret < 0) {
                ntk_err_set(&err, ret, NTK_ERR_NO_OFFSET, "cannot create a debug stream: %s",
                            strerror(-ret));
            }
        }
        status = ret < 0 ? nrt_front_fail("nrt_debug_client_connect", ret, &err) : NRT_SUCCESS;
    }
    return status;
}

void nrt_debug_client_connect_close(int stream_fd)
{
    (void)ntk_core_debug_close(stream_fd);
}

NRT_STATUS nrt_debug_client_read_one_event(int stream_fd, ndebug_stream_event_header_t *header,
                                           void **payload)
{
    struct ntk_core_debug_record *record = NULL;
    NRT_STATUS status = nrt_front_enter();

    if (status != NRT_SUCCESS) {
        return status;
    }
    nrt_front_leave();
    if (!header || !payload) {
        return NRT_INVALID;
    }
    int ret = ntk_core_debug_take(stream_fd, &record);
    if (ret < 0) {
        return ret == -EAGAIN ? NRT_QUEUE_EMPTY : NRT_INVALID;
    }
    size_t head_bytes = offsetof(ndebug_stream_payload_debug_tensor_read_t, tensor_data);
    ndebug_stream_payload_debug_tensor_read_t *out = calloc(1, head_bytes + record->data_bytes);
    if (out) {
        memcpy(out->prefix, record->prefix, sizeof out->prefix);
        memcpy(out->tensor_dtype, record->dtype, sizeof out->tensor_dtype);
        memcpy(out->tensor_shape, record->shape, sizeof out->tensor_shape);
        out->logical_nc_id = record->nc;
        out->pipe = record->pipe;
        out->tensor_data_size = record->data_bytes;
        memcpy(out->tensor_data, record->data, record->data_bytes);
        *header = (ndebug_stream_event_header_t){
            .data_size = head_bytes + record->data_bytes,
            .type = NDEBUG_STREAM_EVENT_TYPE_DEBUG_TENSOR_READ,
        };
        *payload = out;
    }
    free(record);
    return out ? NRT_SUCCESS : NRT_RESOURCE;
}
