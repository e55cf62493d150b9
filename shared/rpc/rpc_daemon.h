/* SPDX-License-Identifier: MIT */
/*
 * rpc_daemon - calls of the runtime daemon of the first generation: its answers carry their own
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

/* One call whose answer is good; *out_reply (may be NULL) is freed with
 * protobuf_c_message_free_unpacked(). what: "cannot start model 3", put before the message of an
 * answer with an error: -EIO. */
int ntk_rpc_daemon_call(struct ntk_rpc_client *client, const char *path,
                        const ProtobufCMessage *request, const ProtobufCMessageDescriptor *type,
                        const char *what, ProtobufCMessage **out_reply, struct ntk_err *err);
/* The same for a status that came some other way; NULL is good. */
int ntk_rpc_daemon_check(const Nrt__Status *status, const char *what, struct ntk_err *err);
/* Details are a line for each layer that an error went through, deepest first, and no text that
 * ends: joined with "; ", truncated at the size of the text. */
void ntk_rpc_daemon_details(const Nrt__Status *status, char *text, size_t text_bytes);

#endif
