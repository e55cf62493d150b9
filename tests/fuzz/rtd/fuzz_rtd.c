/* SPDX-License-Identifier: MIT */
/* Any bytes as the request of a method: rejected, or a message that survives packing. The first
 * line names the method, as in seeds, or the first byte selects it. */
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

/* Returns how many bytes that took. */
static size_t method_choose(const uint8_t *data, size_t size, const struct ntk_rpc_method **method)
{
    const uint8_t *end = memchr(data, '\n', size);
    size_t length = end ? (size_t)(end - data) : 0;

    for (const struct ntk_rpc_method *each = rtd_methods; each->path && length > 0; each++) {
        if (strlen(each->path) == length && memcmp(each->path, data, length) == 0) {
            *method = each;
            return length + 1;
        }
    }
    for (unsigned i = 0; i < data[0] % 64; i++) {
        *method = (*method)[1].path ? *method + 1 : rtd_methods;
    }
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct ntk_rpc_method *method = rtd_methods;
    ProtobufCMessage *message;

    size_t used = size > 0 ? method_choose(data, size, &method) : 0;
    if (used == 0 || ntk_rpc_unpack(method->request, data + used, size - used, &message) !=
                         NTK_RPC_MESSAGE_GOOD) {
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
