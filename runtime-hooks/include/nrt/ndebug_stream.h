/* SPDX-License-Identifier: MIT */
/*
 * ndebug_stream - reads tensors that a program prints while it runs.
 *
 * Each core has at most one client, in the process that runs the program. Tensors are dropped
 * without a client, or if the buffer is full (NEURON_RT_DEBUG_STREAM_BUFFER_SIZE events).
 */
#ifndef NRT_NDEBUG_STREAM_H
#define NRT_NDEBUG_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "nrt/nrt_status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ndebug_stream_event_type {
    NDEBUG_STREAM_EVENT_TYPE_INVALID = 0,
    NDEBUG_STREAM_EVENT_TYPE_DEBUG_TENSOR_READ = 1,
} ndebug_stream_event_type_t;

typedef struct ndebug_stream_event_header {
    uint64_t data_size; /* bytes in the payload */
    uint32_t type;      /* ndebug_stream_event_type_t */
    char reserved[52];
} ndebug_stream_event_header_t;

typedef struct ndebug_stream_payload_debug_tensor_read {
    char prefix[512]; /* NUL-terminated text from the program */
    uint32_t logical_nc_id;
    uint32_t pipe;
    char tensor_dtype[16];
    uint64_t tensor_shape[8]; /* a dimension after the last one is 0 */
    uint64_t tensor_data_size;
    char reserved0[416];
    char tensor_data[]; /* tensor_data_size bytes */
} ndebug_stream_payload_debug_tensor_read_t;

/* *stream_fd may only be used with poll, select and epoll: it is readable while there are events.
 * NRT_INVALID: the core is unknown or already has a client. */
NRT_STATUS nrt_debug_client_connect(int logical_nc_idx, int *stream_fd);
void nrt_debug_client_connect_close(int stream_fd);
/* Never waits: returns NRT_QUEUE_EMPTY if no event waits. The caller frees *payload with
 * free(). */
NRT_STATUS nrt_debug_client_read_one_event(int stream_fd, ndebug_stream_event_header_t *header,
                                           void **payload);

#ifdef __cplusplus
}
#endif
#endif
