/* SPDX-License-Identifier: MIT */
/*
 * ndebug_stream - reads tensors that a program prints while it runs.
 *
 * One client per core, in the process that runs the program. Tensors printed without a client are
 * dropped, and so are those that do not fit in a full buffer (NEURON_RT_DEBUG_STREAM_BUFFER_SIZE
 * events).
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
    uint64_t data_size; /* bytes of the payload */
    uint32_t type;      /* ndebug_stream_event_type_t */
    char reserved[52];
} ndebug_stream_event_header_t;

typedef struct ndebug_stream_payload_debug_tensor_read {
    char prefix[512]; /* NUL-ended text of the program */
    uint32_t logical_nc_id;
    uint32_t pipe;
    char tensor_dtype[16];
    uint64_t tensor_shape[8]; /* 0 after the last dimension */
    uint64_t tensor_data_size;
    char reserved0[416];
    char tensor_data[]; /* tensor_data_size bytes */
} ndebug_stream_payload_debug_tensor_read_t;

/* *stream_fd is for poll, select and epoll only: readable while there are events. NRT_INVALID:
 * unknown core, or it has a client. */
NRT_STATUS nrt_debug_client_connect(int logical_nc_idx, int *stream_fd);
void nrt_debug_client_connect_close(int stream_fd);
/* Never waits: NRT_QUEUE_EMPTY without an event. The caller frees *payload with free(). */
NRT_STATUS nrt_debug_client_read_one_event(int stream_fd, ndebug_stream_event_header_t *header,
                                           void **payload);

#ifdef __cplusplus
}
#endif
#endif
