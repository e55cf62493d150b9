/* SPDX-License-Identifier: MIT */
/*
 * rpc_daemon - calls the first generation's runtime daemon. Its responses have a separate status,
 * which becomes an error message here.
 *
 * Owner:   the caller frees replies with protobuf_c_message_free_unpacked().
 * Threads: the same as for rpc_client.h.
 */
#ifndef NTK_SHARED_RPC_RPC_DAEMON_H
#define NTK_SHARED_RPC_RPC_DAEMON_H

#include "shared/base/err.h"
#include "shared/rpc/proto/nmgr.pb-c.h"
#include "shared/rpc/rpc_client.h"

/* Makes one call; the caller frees *out_reply (may be NULL) with
 * protobuf_c_message_free_unpacked(). what, such as "cannot start model 3", precedes the message if
 * the response contains an error: -EIO. */
int ntk_rpc_daemon_call(struct ntk_rpc_client *client, const char *path,
                        const ProtobufCMessage *request, const ProtobufCMessageDescriptor *type,
                        const char *what, ProtobufCMessage **out_reply, struct ntk_err *err);
/* Same, for a status from another source; NULL means success. */
int ntk_rpc_daemon_check(const Nrt__Status *status, const char *what, struct ntk_err *err);
/* Copies details: they have a line for each layer that an error passed, deepest first, without a
 * NUL. The lines are joined with "; " and truncated. */
void ntk_rpc_daemon_details(const Nrt__Status *status, char *text, size_t text_bytes);

#endif
