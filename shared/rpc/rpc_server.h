/* SPDX-License-Identifier: MIT */
/*
 * rpc_server - calls of gRPC clients as callbacks: transport only, for any messages.
 *
 * One thread handles all events, so callbacks never run in parallel. A handler that must wait
 * returns and answers later, from any thread.
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
    const char *path;   /* "/nrt.nmgr_v1/load" */
    bool takes_streams; /* any number of messages; else exactly one */
    const ProtobufCMessageDescriptor *request, *reply;
    /* Any may be NULL. message: the message is freed when it returns; true reads the next one.
     * refused: a message that handlers must not see; it answers. ended: the client sends no further
     * message. sent: the message of ntk_rpc_call_send() was sent. gone: the last callback;
     * answered, cancelled, or the connection is lost. */
    void (*opened)(struct ntk_rpc_call *call);
    bool (*message)(struct ntk_rpc_call *call, const ProtobufCMessage *message);
    void (*refused)(struct ntk_rpc_call *call, const char *why);
    void (*ended)(struct ntk_rpc_call *call);
    void (*sent)(struct ntk_rpc_call *call);
    void (*gone)(struct ntk_rpc_call *call);
};

/* ctx: for every call. methods end with a path of NULL. endpoint in gRPC's form: "unix:/run/x",
 * "host:port". -EADDRINUSE if a server answers there. */
int ntk_rpc_server_create(const char *endpoint, const struct ntk_rpc_method *methods, void *ctx,
                          struct ntk_rpc_server **out_server, struct ntk_err *err);
/* Runs until ntk_rpc_server_stop(), which ends open calls. */
void ntk_rpc_server_run(struct ntk_rpc_server *server);
/* From any thread and from a signal's handler thread; once. */
void ntk_rpc_server_stop(struct ntk_rpc_server *server);
void ntk_rpc_server_destroy(struct ntk_rpc_server *server);

void *ntk_rpc_call_ctx_get(const struct ntk_rpc_call *call);
const struct ntk_rpc_method *ntk_rpc_call_method_get(const struct ntk_rpc_call *call);
/* The handler's data for the call; NULL at first. */
void *ntk_rpc_call_own_get(const struct ntk_rpc_call *call);
void ntk_rpc_call_own_set(struct ntk_rpc_call *call, void *own);
/* A number for the handler, such as the id that its answer reports. 0 at first. */
uint64_t ntk_rpc_call_note_get(const struct ntk_rpc_call *call);
void ntk_rpc_call_note_set(struct ntk_rpc_call *call, uint64_t note);
/* Only in `gone`: the client gave up, or was lost, before the last message was sent. */
bool ntk_rpc_call_is_lost(const struct ntk_rpc_call *call);

/* A first message before any of the client's: only in `opened`. */
void ntk_rpc_call_greet(struct ntk_rpc_call *call, const ProtobufCMessage *message);
/* One message of several, one at a time. If the method has no `sent`, the client's next message is
 * read after this one was sent. */
void ntk_rpc_call_send(struct ntk_rpc_call *call, const ProtobufCMessage *message);
/* Reads the client's next message if `message` did not. */
void ntk_rpc_call_read(struct ntk_rpc_call *call);
/* The last message, once; message may be NULL. */
void ntk_rpc_call_finish(struct ntk_rpc_call *call, const ProtobufCMessage *message,
                         enum ntk_rpc_status status, const char *text);

#endif
