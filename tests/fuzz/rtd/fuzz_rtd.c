/* SPDX-License-Identifier: MIT */
/* Any bytes as the request of a method, which the first byte chooses: refused, or a message that
 * survives being packed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/rtd/rtd_manager.h"
#include "shared/rpc/rpc_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static ProtobufCMessage *read_again(const ProtobufCMessageDescriptor *type, const uint8_t *bytes,
                                    size_t bytes_count)
{
    ProtobufCMessage *again;

    if (ntk_rpc_unpack(type, bytes, bytes_count, &again) != NTK_RPC_MESSAGE_GOOD) {
        abort();
    }
    return again;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct ntk_rpc_method *method = rtd_methods;
    ProtobufCMessage *message;

    for (unsigned i = 0; size > 0 && i < data[0] % 32; i++) {
        method = method[1].path ? method + 1 : rtd_methods;
    }
    if (size == 0 ||
        ntk_rpc_unpack(method->request, data + 1, size - 1, &message) != NTK_RPC_MESSAGE_GOOD) {
        return 0;
    }
    size_t first_bytes = protobuf_c_message_get_packed_size(message);
    uint8_t *first = malloc(first_bytes + 1);
    if (!first) {
        abort();
    }
    protobuf_c_message_pack(message, first);
    ProtobufCMessage *again = read_again(method->request, first, first_bytes);
    size_t second_bytes = protobuf_c_message_get_packed_size(again);
    uint8_t *second = malloc(second_bytes + 1);
    if (!second) {
        abort();
    }
    protobuf_c_message_pack(again, second);
    if (first_bytes != second_bytes || memcmp(first, second, first_bytes) != 0) {
        abort();
    }
    protobuf_c_message_free_unpacked(message, NULL);
    protobuf_c_message_free_unpacked(again, NULL);
    free(first);
    free(second);
    return 0;
}
