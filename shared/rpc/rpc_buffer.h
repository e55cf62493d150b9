/* SPDX-License-Identifier: MIT */
/*
 * rpc_buffer - converts messages to and from the byte buffers of gRPC's core.
 *
 * Owner:   the caller frees a buffer with grpc_byte_buffer_destroy(), a message with
 *          protobuf_c_message_free_unpacked().
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_RPC_RPC_BUFFER_H
#define NTK_SHARED_RPC_RPC_BUFFER_H

#include <grpc/byte_buffer.h>

#include "shared/rpc/rpc_message.h"

/* A numeric argument of a channel or a server. */
#define NTK_RPC_NUMBER(name, number)                                             \
    {                                                                            \
        .type = GRPC_ARG_INTEGER, .key = (name), .value = {.integer = (number) } \
    }

grpc_byte_buffer *ntk_rpc_buffer_pack(const ProtobufCMessage *message);
/* Sets *out_message to NULL on failure. */
enum ntk_rpc_fault ntk_rpc_buffer_unpack(const ProtobufCMessageDescriptor *type,
                                         grpc_byte_buffer *buffer, ProtobufCMessage **out_message);

#endif
