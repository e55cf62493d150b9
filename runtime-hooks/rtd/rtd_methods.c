/* SPDX-License-Identifier: MIT */
/* rtd_methods - every path that is served, and what all methods do first. */
#include "runtime-hooks/rtd/rtd_manager.h"

typedef void unary(struct rtd_manager *manager, struct ntk_rpc_call *call,
                   const ProtobufCMessage *asked);

/* A daemon without a core stays, and says so to whoever asks. */
static bool answer(struct ntk_rpc_call *call, const ProtobufCMessage *asked, unary *method)
{
    struct rtd_manager *manager = ntk_rpc_call_ctx_get(call);

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

static void forget(struct ntk_rpc_call *call)
{
    struct rtd_manager *manager = ntk_rpc_call_ctx_get(call);

    pthread_mutex_lock(&manager->lock);
    rtd_wait_forget(call);
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
      .request = &nrt__##request_type##__descriptor,           \
      .reply = &nrt__##reply_type##__descriptor,               \
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
    { 0 },
};
