/* SPDX-License-Identifier: MIT */
/*
 * rpc_message - parses received bytes into a protobuf-c message.
 *
 * Owner:   the caller frees messages with protobuf_c_message_free_unpacked().
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_RPC_RPC_MESSAGE_H
#define NTK_SHARED_RPC_RPC_MESSAGE_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

enum ntk_rpc_fault {
    NTK_RPC_MESSAGE_GOOD,
    NTK_RPC_MESSAGE_BROKEN,
    NTK_RPC_MESSAGE_NUL, /* a text contains a NUL, after which protobuf-c would lose data */
};

/* The caller frees *out_message with protobuf_c_message_free_unpacked(); it is NULL on failure. */
enum ntk_rpc_fault ntk_rpc_unpack(const ProtobufCMessageDescriptor *type, const uint8_t *bytes,
                                  size_t bytes_count, ProtobufCMessage **out_message);

#endif
