/* SPDX-License-Identifier: MIT */
/*
 * rpc_client - calls a gRPC service and waits for the response: transport only, for any messages.
 *
 * Errors:  -ECONNREFUSED no server answers (tried twice, like the daemon's clients), -ENOSYS the
 *          method is unknown, -ETIMEDOUT, -ENOMEM, -EPROTO for other errors: each with a message.
 *
 * Owner:   create / destroy; the caller frees a reply with protobuf_c_message_free_unpacked().
 * Threads: one at a time per client.
 */
#ifndef NTK_SHARED_RPC_RPC_CLIENT_H
#define NTK_SHARED_RPC_RPC_CLIENT_H

#include <protobuf-c/protobuf-c.h>
#include <stdint.h>

#include "shared/base/err.h"

struct ntk_rpc_client;

/* endpoint is in gRPC's form; the first call connects. timeout_s applies to each call. */
int ntk_rpc_client_create(const char *endpoint, uint32_t timeout_s,
                          struct ntk_rpc_client **out_client, struct ntk_err *err);
void ntk_rpc_client_destroy(struct ntk_rpc_client *client);

/* path is such as "/nrt.nmgr_v1/start". */
int ntk_rpc_client_call(struct ntk_rpc_client *client, const char *path,
                        const ProtobufCMessage *request, const ProtobufCMessageDescriptor *type,
                        ProtobufCMessage **out_reply, struct ntk_err *err);

/* A callback for the next request of a stream, borrowed until the next call. Returns NULL after
 * the last, or after an error in *out_ret, which ends the stream. */
typedef const ProtobufCMessage *ntk_rpc_client_next(void *ctx, int *out_ret, struct ntk_err *err);

/* Sends many requests and gets one reply. A service that answers early ends the stream. */
int ntk_rpc_client_stream(struct ntk_rpc_client *client, const char *path,
                          ntk_rpc_client_next *next, void *ctx,
                          const ProtobufCMessageDescriptor *type, ProtobufCMessage **out_reply,
                          struct ntk_err *err);

#endif
