/* SPDX-License-Identifier: MIT */
/*
 * rpc_daemon - calls of the runtime daemon of the first generation: its answers have a separate
 * status, which becomes a message here.
 *
 * Owner:   replies are freed with protobuf_c_message_free_unpacked().
 * Threads: as for rpc_client.h.
 */
#ifndef NTK_SHARED_RPC_RPC_DAEMON_H
#define NTK_SHARED_RPC_RPC_DAEMON_H

#include "shared/base/err.h"
#include "shared/rpc/proto/nmgr.pb-c.h"
#include "shared/rpc/rpc_client.h"

/* One successful call; *out_reply (may be NULL) is freed with protobuf_c_message_free_unpacked().
 * what: "cannot start model 3", put before the message of an answer with an error: -EIO. */
int ntk_rpc_daemon_call(struct ntk_rpc_client *client, const char *path,
                        const ProtobufCMessage *request, const ProtobufCMessageDescriptor *type,
                        const char *what, ProtobufCMessage **out_reply, struct ntk_err *err);
/* Same, for a status from elsewhere; NULL is success. */
int ntk_rpc_daemon_check(const Nrt__Status *status, const char *what, struct ntk_err *err);
/* Details have a line for each layer that an error passed, deepest first, without a NUL: joined
 * with "; " and truncated. */
void ntk_rpc_daemon_details(const Nrt__Status *status, char *text, size_t text_bytes);

#endif
