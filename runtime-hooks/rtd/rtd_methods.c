/* SPDX-License-Identifier: MIT */
/* rtd_methods - lists every served path, and implements the common start of all methods. */
#include "runtime-hooks/rtd/rtd_manager.h"
#include "shared/base/log.h"
#include "shared/rpc/proto/grpc/health/v1/health.pb-c.h"
#include "shared/rpc/proto/grpc/reflection/v1/reflection.pb-c.h"
#include "shared/rpc/proto/openneuron_rtd.pb-c.h"

#define MODULE "methods"

typedef void unary(struct rtd_manager *manager, struct ntk_rpc_call *call,
                   const ProtobufCMessage *asked);

/* Answers a call. A daemon without a core keeps running, and reports the missing core in every
 * answer. */
static bool answer(struct ntk_rpc_call *call, const ProtobufCMessage *asked, unary *method)
{
    struct rtd_manager *manager = ntk_rpc_call_ctx_get(call);

    ntk_log_trace(MODULE, "%s", ntk_rpc_call_method_get(call)->path);
    if (!manager->core) {
        rtd_refuse(call, NRT__NERR__NERR_HW_ERROR, "%s", manager->why.text);
        return false;
    }
    pthread_mutex_lock(&manager->lock);
    method(manager, call, asked);
    pthread_mutex_unlock(&manager->lock);
    return false;
}

static void refuse(struct ntk_rpc_call *call, const char *why)
{
    rtd_refuse(call, NRT__NERR__NERR_INVALID, "%s", why);
}

/* Refuses with gRPC's own codes, for services that use them. */
static void refuse_argument(struct ntk_rpc_call *call, const char *why)
{
    ntk_rpc_call_finish(call, NULL, NTK_RPC_INVALID_ARGUMENT, why);
}

static void forget(struct ntk_rpc_call *call)
{
    struct rtd_manager *manager = ntk_rpc_call_ctx_get(call);

    pthread_mutex_lock(&manager->lock);
    rtd_wait_forget(call);
    rtd_gift_settle(manager, call);
    pthread_mutex_unlock(&manager->lock);
}

#define RTD_UNARY(path, symbol, request, reply)                                            \
    static bool symbol##_message(struct ntk_rpc_call *call, const ProtobufCMessage *asked) \
    {                                                                                      \
        return answer(call, asked, rtd_##symbol);                                          \
    }
#include "runtime-hooks/rtd/rtd_methods.def"
#undef RTD_UNARY

const struct ntk_rpc_method rtd_methods[] = {
#define RTD_UNARY(path_text, symbol, request_type, reply_type) \
    { .path = (path_text),                                     \
      .request = &request_type##__descriptor,                  \
      .reply = &reply_type##__descriptor,                      \
      .refused = refuse,                                       \
      .message = symbol##_message,                             \
      .gone = forget },
#include "runtime-hooks/rtd/rtd_methods.def"
#undef RTD_UNARY
    { .path = "/nrt.nmgr_v1/load",
      .takes_streams = true,
      .request = &nrt__load_request__descriptor,
      .reply = &nrt__load_response__descriptor,
      .refused = refuse,
      .message = rtd_load_message,
      .ended = rtd_load_ended,
      .gone = rtd_load_gone },
    { .path = "/nrt.nmgr_session_manager/session_monitor",
      .takes_streams = true,
      .request = &nrt__session_monitor_request__descriptor,
      .reply = &nrt__session_monitor_response__descriptor,
      .opened = rtd_session_opened,
      .refused = refuse,
      .message = rtd_session_message,
      .ended = rtd_session_ended,
      .gone = rtd_session_gone },
    { .path = "/nrt.nmgr_stream/infer_stream",
      .takes_streams = true,
      .request = &nrt__infer_request__descriptor,
      .reply = &nrt__infer_response__descriptor,
      .opened = rtd_stream_opened,
      .refused = rtd_stream_refused,
      .message = rtd_stream_message,
      .ended = rtd_stream_ended,
      .sent = rtd_stream_sent,
      .gone = rtd_stream_gone },
    { .path = "/grpc.health.v1.Health/Check",
      .request = &grpc__health__v1__health_check_request__descriptor,
      .reply = &grpc__health__v1__health_check_response__descriptor,
      .refused = refuse_argument,
      .message = rtd_health_check },
    { .path = "/grpc.health.v1.Health/Watch",
      .request = &grpc__health__v1__health_check_request__descriptor,
      .reply = &grpc__health__v1__health_check_response__descriptor,
      .refused = refuse_argument,
      .message = rtd_health_watch,
      .sent = rtd_health_sent,
      .gone = rtd_health_gone },
#define REFLECTION(version)                                                           \
    {                                                                                 \
        .path = "/grpc.reflection." version ".ServerReflection/ServerReflectionInfo", \
        .takes_streams = true,                                                        \
        .request = &grpc__reflection__v1__server_reflection_request__descriptor,      \
        .reply = &grpc__reflection__v1__server_reflection_response__descriptor,       \
        .refused = refuse_argument, .message = rtd_reflection_message,                \
        .ended = rtd_reflection_ended                                                 \
    }
    REFLECTION("v1"),
    REFLECTION("v1alpha"),
#undef REFLECTION
    { 0 },
};
