/* SPDX-License-Identifier: MIT */
/*
 * rpc_client - calls of a gRPC service that wait for their answer: transport only, it knows no
 * message.
 *
 * Errors:  -ECONNREFUSED no server answers there (tried twice, as the daemon's clients do), -ENOSYS
 * the service has no such method, -ETIMEDOUT, -ENOMEM, -EPROTO everything else: each with its
 * message.
 *
 * Owner:   create / destroy; a reply is freed with protobuf_c_message_free_unpacked().
 * Threads: one at a time for each client.
 */
#ifndef NTK_SHARED_RPC_RPC_CLIENT_H
#define NTK_SHARED_RPC_RPC_CLIENT_H

#include <protobuf-c/protobuf-c.h>
#include <stdint.h>

#include "shared/base/err.h"

struct ntk_rpc_client;

/* endpoint as gRPC has it; connects with the first call. timeout_s: of each call. */
int ntk_rpc_client_create(const char *endpoint, uint32_t timeout_s,
                          struct ntk_rpc_client **out_client, struct ntk_err *err);
void ntk_rpc_client_destroy(struct ntk_rpc_client *client);

/* path: "/nrt.nmgr_v1/start". */
int ntk_rpc_client_call(struct ntk_rpc_client *client, const char *path,
                        const ProtobufCMessage *request, const ProtobufCMessageDescriptor *type,
                        ProtobufCMessage **out_reply, struct ntk_err *err);

/* The next request of a stream, borrowed until the next call of it; NULL: there is none, and after
 * its own error, which *out_ret is then, none is sent any more. */
typedef const ProtobufCMessage *ntk_rpc_client_next(void *ctx, int *out_ret, struct ntk_err *err);

/* Many requests, one reply. A service that answers before it has heard all ends the stream. */
int ntk_rpc_client_stream(struct ntk_rpc_client *client, const char *path,
                          ntk_rpc_client_next *next, void *ctx,
                          const ProtobufCMessageDescriptor *type, ProtobufCMessage **out_reply,
                          struct ntk_err *err);

#endif
