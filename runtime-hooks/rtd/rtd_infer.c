/* SPDX-License-Identifier: MIT */
/* rtd_infer - the methods that post inferences, wait for them and fetch their results. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/rtd/rtd_inference.h"

void rtd_infer(struct rtd_manager *manager, struct ntk_rpc_call *call,
               const ProtobufCMessage *message)
{
    struct rtd_fault fault = { NRT__NERR__NERR_OK, "" };
    struct rtd_wait *wait = rtd_wait_begin(call);

    struct rtd_inference *inference =
        wait ? rtd_inference_post(manager, (const void *)message, wait, false, &fault) : NULL;
    if (inference && inference->reserved) {
        pthread_mutex_unlock(&manager->lock);
        ntk_core_queue_run(inference->reserved, &inference->item);
        pthread_mutex_lock(&manager->lock);
    } else if (wait && !inference && rtd_wait_end(wait)) {
        rtd_refuse(call, fault.code, "%s", fault.text);
    }
}

void rtd_infer_post(struct rtd_manager *manager, struct ntk_rpc_call *call,
                    const ProtobufCMessage *message)
{
    Nrt__InferPostResponse reply = NRT__INFER_POST_RESPONSE__INIT;
    Nrt__Status status = NRT__STATUS__INIT;
    struct rtd_fault fault = { NRT__NERR__NERR_OK, "" };
    const struct rtd_inference *inference =
        rtd_inference_post(manager, (const void *)message, NULL, true, &fault);

    if (!inference) {
        rtd_refuse(call, fault.code, "%s", fault.text);
        return;
    }
    reply.status = &status;
    reply.cookie = inference->cookie;
    rtd_gift(call, RTD_GIFT_COOKIE, inference->cookie);
    ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
}

/* Returns NULL if out of memory; the post's request counts then. */
static ProtobufCMessage *message_copy(const ProtobufCMessage *message)
{
    size_t bytes_count = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = malloc(bytes_count + 1);
    ProtobufCMessage *copy = NULL;

    if (bytes) {
        protobuf_c_message_pack(message, bytes);
        copy = protobuf_c_message_unpack(message->descriptor, NULL, bytes_count, bytes);
    }
    free(bytes);
    return copy;
}

static void collect(struct rtd_manager *manager, struct ntk_rpc_call *call,
                    const Nrt__InferWaitRequest *asked, bool waits)
{
    struct rtd_inference *inference = rtd_cookie_find(manager, asked->cookie);

    if (!inference) {
        rtd_refuse(call, NRT__NERR__NERR_INVALID_HANDLE, "unknown cookie %" PRIu64, asked->cookie);
        return;
    }
    if (!inference->is_done && !waits) {
        rtd_refuse(call, NRT__NERR__NERR_INFER_PENDING, "inference %" PRIu64 " is in progress",
                   asked->cookie);
        return;
    }
    if (!inference->is_done) {
        struct rtd_wait *wait = rtd_wait_begin(call);
        struct rtd_wait **last = &inference->waits;
        while (*last) {
            last = &(*last)->next;
        }
        *last = wait;
        if (wait && asked->n_shm_ofmap > 0) {
            wait->asked = message_copy(&asked->base);
        }
        return;
    }
    rtd_inference_deliver(manager, inference, call, asked);
}

void rtd_infer_wait(struct rtd_manager *manager, struct ntk_rpc_call *call,
                    const ProtobufCMessage *message)
{
    collect(manager, call, (const void *)message, true);
}

void rtd_infer_poll(struct rtd_manager *manager, struct ntk_rpc_call *call,
                    const ProtobufCMessage *message)
{
    collect(manager, call, (const void *)message, false);
}

void rtd_infer_check_completion(struct rtd_manager *manager, struct ntk_rpc_call *call,
                                const ProtobufCMessage *message)
{
    const Nrt__InferCheckCompletionRequest *asked = (const void *)message;
    Nrt__InferCheckCompletionResponse reply = NRT__INFER_CHECK_COMPLETION_RESPONSE__INIT;
    Nrt__Status status = NRT__STATUS__INIT;

    reply.cookie = calloc(asked->n_cookie + 1, sizeof *reply.cookie);
    reply.status = &status;
    for (size_t i = 0; i < asked->n_cookie && reply.cookie; i++) {
        const struct rtd_inference *inference = rtd_cookie_find(manager, asked->cookie[i]);
        if (!inference) {
            rtd_refuse(call, NRT__NERR__NERR_INVALID_HANDLE, "unknown cookie %" PRIu64,
                       asked->cookie[i]);
            free(reply.cookie);
            return;
        }
        if (inference->is_done) {
            reply.cookie[reply.n_cookie++] = asked->cookie[i];
        }
    }
    if (reply.cookie) {
        ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
    } else {
        rtd_refuse(call, NRT__NERR__NERR_RESOURCE, "out of memory");
    }
    free(reply.cookie);
}

void rtd_infer_take_back(struct rtd_manager *manager, uint64_t cookie)
{
    struct rtd_inference **at = rtd_cookie_slot(manager, cookie);
    struct rtd_inference *inference = *at;

    if (inference && inference->is_done) {
        rtd_cookie_remove(at);
        rtd_inference_free(inference);
    } else if (inference) {
        inference->is_unwanted = true;
    }
}

void rtd_infer_settle(struct rtd_manager *manager, uint64_t cookie, bool is_lost)
{
    struct rtd_inference **at = rtd_cookie_slot(manager, cookie);
    struct rtd_inference *inference = *at;

    if (inference && inference->is_handed && is_lost) {
        inference->is_handed = false;
    } else if (inference && inference->is_handed) {
        rtd_cookie_remove(at);
        rtd_inference_free(inference);
    }
}

void rtd_infer_forget(struct rtd_manager *manager, const struct rtd_model *model)
{
    for (size_t i = 0; i < RTD_COOKIE_SLOTS; i++) {
        for (struct rtd_inference **at = &manager->cookies[i]; *at;) {
            struct rtd_inference *inference = *at;
            if (inference->is_done && inference->model_id == model->id) {
                rtd_cookie_remove(at);
                rtd_inference_free(inference);
            } else {
                at = &inference->next;
            }
        }
    }
}

/* ---- for streams ---- */

struct rtd_inference *rtd_infer_begin(struct rtd_manager *manager, const Nrt__InferRequest *asked,
                                      void (*over)(void *ctx), void *ctx, enum _Nrt__Nerr *out_code,
                                      char out_details[NTK_ERR_TEXT_BYTES])
{
    struct rtd_fault fault = { NRT__NERR__NERR_OK, "" };
    struct rtd_inference *inference = rtd_inference_post(manager, asked, NULL, false, &fault);

    if (inference) {
        inference->over = over;
        inference->over_ctx = ctx;
    } else {
        *out_code = fault.code;
        memcpy(out_details, fault.text, sizeof fault.text);
    }
    return inference;
}

uint64_t rtd_infer_bytes_get(const struct rtd_inference *inference)
{
    return inference->output_bytes;
}

void rtd_infer_send(struct rtd_inference *inference, struct ntk_rpc_call *call)
{
    rtd_inference_answer(inference, call, false, ntk_rpc_call_send);
}

void rtd_infer_end(struct rtd_inference *inference)
{
    inference->over = NULL;
    inference->is_abandoned = true;
    if (inference->is_done) {
        rtd_inference_free(inference);
    }
}
