/* SPDX-License-Identifier: MIT */
#include "shared/rpc/rpc_message.h"

#include <stdbool.h>
#include <string.h>

#define DEPTH_MAX 16 /* deeper than any of our messages */

struct reader {
    const uint8_t *at, *end;
};

static bool varint_read(struct reader *reader, uint64_t *out_value)
{
    *out_value = 0;
    for (unsigned shift = 0; shift < 64 && reader->at < reader->end; shift += 7) {
        uint8_t byte = *reader->at++;

        *out_value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            return true;
        }
    }
    return false;
}

/* Finds input that protobuf-c accepts but we reject: a text with a NUL, or a field with number 0,
 * which no message has. Bytes that are not a message pass this check; unpacking them fails. */
static enum ntk_rpc_fault look(const ProtobufCMessageDescriptor *type, struct reader reader,
                               unsigned depth)
{
    uint64_t key;
    uint64_t length;

    while (depth < DEPTH_MAX && varint_read(&reader, &key)) {
        if (key >> 3 == 0) {
            return NTK_RPC_MESSAGE_BROKEN;
        }
        switch (key & 7) {
        case 0:
            if (!varint_read(&reader, &length)) {
                return NTK_RPC_MESSAGE_GOOD;
            }
            continue;
        case 1:
        case 5:
            length = (key & 7) == 1 ? 8 : 4;
            break;
        case 2:
            if (varint_read(&reader, &length)) {
                break;
            }
            return NTK_RPC_MESSAGE_GOOD;
        default:
            return NTK_RPC_MESSAGE_GOOD;
        }
        if (length > (uint64_t)(reader.end - reader.at)) {
            return NTK_RPC_MESSAGE_GOOD;
        }
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field(type, (unsigned)(key >> 3));
        struct reader inner = { reader.at, reader.at + length };

        reader.at += length;
        if (!field || (key & 7) != 2) {
            continue;
        }
        if (field->type == PROTOBUF_C_TYPE_STRING && memchr(inner.at, '\0', length)) {
            return NTK_RPC_MESSAGE_NUL;
        }
        enum ntk_rpc_fault fault = field->type == PROTOBUF_C_TYPE_MESSAGE
                                       ? look(field->descriptor, inner, depth + 1)
                                       : NTK_RPC_MESSAGE_GOOD;
        if (fault != NTK_RPC_MESSAGE_GOOD) {
            return fault;
        }
    }
    return NTK_RPC_MESSAGE_GOOD;
}

enum ntk_rpc_fault ntk_rpc_unpack(const ProtobufCMessageDescriptor *type, const uint8_t *bytes,
                                  size_t bytes_count, ProtobufCMessage **out_message)
{
    *out_message = protobuf_c_message_unpack(type, NULL, bytes_count, bytes);
    if (!*out_message) {
        return NTK_RPC_MESSAGE_BROKEN;
    }
    enum ntk_rpc_fault fault = look(type, (struct reader){ bytes, bytes + bytes_count }, 0);
    if (fault != NTK_RPC_MESSAGE_GOOD) {
        protobuf_c_message_free_unpacked(*out_message, NULL);
        *out_message = NULL;
    }
    return fault;
}
