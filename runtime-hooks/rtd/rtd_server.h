/* SPDX-License-Identifier: MIT */
/*
 * rtd_server - calls of gRPC clients as callbacks: transport only, it knows no message.
 *
 * One thread takes all events: no two callbacks run at once. What waits for something returns and
 * answers later, from any thread.
 *
 * Owner:   a call belongs to the server; it may be used from opened until gone returns.
 * Threads: callbacks in rtd_server_run(); rtd_call_* from any, one at a time per call.
 */
#ifndef NTK_RUNTIME_HOOKS_RTD_RTD_SERVER_H
#define NTK_RUNTIME_HOOKS_RTD_RTD_SERVER_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

struct rtd_server;
struct rtd_call;

/* The gRPC statuses that are used; others never leave this server. */
enum rtd_grpc_status {
    RTD_GRPC_OK = 0,
    RTD_GRPC_NOT_FOUND = 5,
    RTD_GRPC_UNIMPLEMENTED = 12,
    RTD_GRPC_INTERNAL = 13,
};

struct rtd_method {
    const char *path;   /* "/nrt.nmgr_v1/load" */
    bool takes_streams; /* any number of messages; else exactly one */
    const ProtobufCMessageDescriptor *request, *reply;
    /* Any may be NULL. message: the message is gone when it returns; true asks for the next one.
     * ended: the client sends no further message. gone: the last one; answered, cancelled, or the
     * connection is lost. */
    void (*opened)(struct rtd_call *call);
    bool (*message)(struct rtd_call *call, const ProtobufCMessage *message);
    void (*ended)(struct rtd_call *call);
    void (*gone)(struct rtd_call *call);
};

/* ctx: of every call. methods end with a path of NULL. endpoint as gRPC has it: "unix:/run/x",
 * "host:port". -EADDRINUSE when somebody answers there. */
int rtd_server_create(const char *endpoint, const struct rtd_method *methods, void *ctx,
                      struct rtd_server **out_server, struct ntk_err *err);
/* Until rtd_server_stop(); calls that are open then are gone with it. */
void rtd_server_run(struct rtd_server *server);
/* From any thread and from a signal's handler thread; once. */
void rtd_server_stop(struct rtd_server *server);
void rtd_server_destroy(struct rtd_server *server);

void *rtd_call_ctx_get(const struct rtd_call *call);
const struct rtd_method *rtd_call_method_get(const struct rtd_call *call);
/* What a handler keeps with the call; NULL at first. */
void *rtd_call_own_get(const struct rtd_call *call);
void rtd_call_own_set(struct rtd_call *call, void *own);

/* A first message before any of the client's: in opened only. */
void rtd_call_greet(struct rtd_call *call, const ProtobufCMessage *message);
/* One message of several; the next one of the client is read when it is sent. */
void rtd_call_send(struct rtd_call *call, const ProtobufCMessage *message);
/* The last word, once: message may be NULL. */
void rtd_call_finish(struct rtd_call *call, const ProtobufCMessage *message,
                     enum rtd_grpc_status status, const char *text);

#endif
