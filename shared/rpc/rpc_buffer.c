/* SPDX-License-Identifier: MIT */
#include "shared/rpc/rpc_buffer.h"

#include <grpc/byte_buffer_reader.h>
#include <grpc/slice.h>

grpc_byte_buffer *ntk_rpc_buffer_pack(const ProtobufCMessage *message)
{
    grpc_slice slice = grpc_slice_malloc(protobuf_c_message_get_packed_size(message));
    grpc_byte_buffer *buffer;

    protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(slice));
    buffer = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    return buffer;
}

enum ntk_rpc_fault ntk_rpc_buffer_unpack(const ProtobufCMessageDescriptor *type,
                                         grpc_byte_buffer *buffer, ProtobufCMessage **out_message)
{
    enum ntk_rpc_fault fault = NTK_RPC_MESSAGE_BROKEN;
    grpc_byte_buffer_reader reader;

    *out_message = NULL;
    if (grpc_byte_buffer_reader_init(&reader, buffer)) {
        grpc_slice all = grpc_byte_buffer_reader_readall(&reader);
        fault =
            ntk_rpc_unpack(type, GRPC_SLICE_START_PTR(all), GRPC_SLICE_LENGTH(all), out_message);
        grpc_slice_unref(all);
        grpc_byte_buffer_reader_destroy(&reader);
    }
    return fault;
}
