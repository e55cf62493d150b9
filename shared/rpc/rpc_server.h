/* SPDX-License-Identifier: MIT */
/*
 * rpc_server - delivers calls of gRPC clients as callbacks: transport only, for any messages.
 *
 * One thread at a time delivers events, so callbacks never run in parallel, except with a callback
 * that lingers. A handler that must wait returns and answers later, from any thread.
 *
 * Owner:   a call belongs to the server; it may be used from `opened` until `gone` returns.
 * Threads: callbacks in ntk_rpc_server_run(); ntk_rpc_call_* from any, one at a time per call.
 */
#ifndef NTK_SHARED_RPC_RPC_SERVER_H
#define NTK_SHARED_RPC_RPC_SERVER_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

struct ntk_rpc_server;
struct ntk_rpc_call;

/* The gRPC statuses that this server sends. */
enum ntk_rpc_status {
    NTK_RPC_OK = 0,
    NTK_RPC_INVALID_ARGUMENT = 3,
    NTK_RPC_NOT_FOUND = 5,
    NTK_RPC_UNIMPLEMENTED = 12,
    NTK_RPC_INTERNAL = 13,
};

struct ntk_rpc_method {
    const char *path;   /* such as "/nrt.nmgr_v1/load" */
    bool takes_streams; /* any number of messages; otherwise exactly one */
    const ProtobufCMessageDescriptor *request, *reply;
    /* Callbacks, each may be NULL. message: gets a message, which is freed afterwards; returning
     * true reads the next one. refused: answers a message that handlers must not see. ended: the
     * client sends no further message. sent: the message of ntk_rpc_call_send() was sent. gone: the
     * last callback, after the call was answered or cancelled, or the connection was lost. */
    void (*opened)(struct ntk_rpc_call *call);
    bool (*message)(struct ntk_rpc_call *call, const ProtobufCMessage *message);
    void (*refused)(struct ntk_rpc_call *call, const char *why);
    void (*ended)(struct ntk_rpc_call *call);
    void (*sent)(struct ntk_rpc_call *call);
    void (*gone)(struct ntk_rpc_call *call);
};

/* ctx is passed for every call. methods end with a path of NULL. endpoint is in gRPC's form:
 * "unix:/run/x", "host:port". Returns -EADDRINUSE if a server answers at the endpoint. */
int ntk_rpc_server_create(const char *endpoint, const struct ntk_rpc_method *methods, void *ctx,
                          struct ntk_rpc_server **out_server, struct ntk_err *err);
/* Runs until ntk_rpc_server_stop(), which also ends open calls. */
void ntk_rpc_server_run(struct ntk_rpc_server *server);
/* May be called once, from any thread or from the thread that handles signals. */
void ntk_rpc_server_stop(struct ntk_rpc_server *server);
void ntk_rpc_server_destroy(struct ntk_rpc_server *server);

void *ntk_rpc_call_ctx_get(const struct ntk_rpc_call *call);
const struct ntk_rpc_method *ntk_rpc_call_method_get(const struct ntk_rpc_call *call);
/* The handler's data for the call; initially NULL. */
void *ntk_rpc_call_own_get(const struct ntk_rpc_call *call);
void ntk_rpc_call_own_set(struct ntk_rpc_call *call, void *own);
/* A number for the handler, such as the id that its response reports; initially 0. */
uint64_t ntk_rpc_call_note_get(const struct ntk_rpc_call *call);
void ntk_rpc_call_note_set(struct ntk_rpc_call *call, uint64_t note);
/* Only in `message` of a method that takes one message: the rest of the callback may take long. If
 * it does, the events of other calls, and `gone` of this one, are delivered meanwhile. Returns
 * false if they would have to wait. */
bool ntk_rpc_call_may_linger(struct ntk_rpc_call *call);
/* Only in `gone`: whether the client cancelled, or was lost, before the last message was sent. */
bool ntk_rpc_call_is_lost(const struct ntk_rpc_call *call);

/* Sends a first message before the client sends any: only in `opened`. */
void ntk_rpc_call_greet(struct ntk_rpc_call *call, const ProtobufCMessage *message);
/* Sends one of several messages, one at a time. If the method has no `sent`, the client's next
 * message is read after this one was sent. */
void ntk_rpc_call_send(struct ntk_rpc_call *call, const ProtobufCMessage *message);
/* Reads the client's next message, if `message` returned false. */
void ntk_rpc_call_read(struct ntk_rpc_call *call);
/* Sends the last message, once; message may be NULL. */
void ntk_rpc_call_finish(struct ntk_rpc_call *call, const ProtobufCMessage *message,
                         enum ntk_rpc_status status, const char *text);

#endif
