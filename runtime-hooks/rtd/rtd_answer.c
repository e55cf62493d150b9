/* SPDX-License-Identifier: MIT */
/* rtd_answer - sends answers, handles calls that wait for an answer, and maps results to status
 * codes for clients. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/rtd/rtd_manager.h"
#include "shared/abi/event_abi.h"

#define DETAILS_BYTES 1024

/* Sends a reply of the call's method with only this status. */
static void reply_status(struct ntk_rpc_call *call, int code, const char *details)
{
    const ProtobufCMessageDescriptor *type = ntk_rpc_call_method_get(call)->reply;
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(type, "status");
    Nrt__Status status = NRT__STATUS__INIT;
    ProtobufCMessage *reply = calloc(1, type->sizeof_message);

    status.code = code;
    status.details.data = (uint8_t *)details;
    status.details.len = strlen(details);
    if (!reply) {
        ntk_rpc_call_finish(call, NULL, NTK_RPC_INTERNAL, "out of memory");
        return;
    }
    protobuf_c_message_init(type, reply);
    if (type == &nrt__status__descriptor) {
        ntk_rpc_call_finish(call, &status.base, NTK_RPC_OK, NULL);
    } else {
        if (field) {
            memcpy((char *)reply + field->offset, &(void *){ &status }, sizeof(void *));
        }
        ntk_rpc_call_finish(call, reply, NTK_RPC_OK, NULL);
    }
    free(reply);
}

void rtd_refuse(struct ntk_rpc_call *call, enum _Nrt__Nerr code, const char *format, ...)
{
    char details[DETAILS_BYTES];
    va_list list;

    va_start(list, format);
    (void)vsnprintf(details, sizeof details, format, list);
    va_end(list);
    reply_status(call, (int)code, details);
}

void rtd_good(struct ntk_rpc_call *call)
{
    reply_status(call, NRT__NERR__NERR_OK, "");
}

/* ---- waiting ---- */

struct rtd_wait *rtd_wait_begin(struct ntk_rpc_call *call)
{
    struct rtd_wait *wait = calloc(1, sizeof *wait);

    if (!wait) {
        rtd_refuse(call, NRT__NERR__NERR_RESOURCE, "out of memory");
        return NULL;
    }
    wait->call = call;
    ntk_rpc_call_own_set(call, wait);
    return wait;
}

struct ntk_rpc_call *rtd_wait_end(struct rtd_wait *wait)
{
    struct ntk_rpc_call *call = wait ? wait->call : NULL;

    if (call) {
        ntk_rpc_call_own_set(call, NULL);
    }
    free(wait);
    return call;
}

void rtd_wait_forget(struct ntk_rpc_call *call)
{
    struct rtd_wait *wait = ntk_rpc_call_own_get(call);

    if (wait) {
        wait->call = NULL;
        ntk_rpc_call_own_set(call, NULL);
    }
}

void rtd_waits_answer(struct rtd_wait **waits, enum _Nrt__Nerr code, const char *details)
{
    while (*waits) {
        struct rtd_wait *wait = *waits;
        *waits = wait->next;
        struct ntk_rpc_call *call = rtd_wait_end(wait);
        if (call) {
            rtd_refuse(call, code, "%s", details);
        }
    }
}

/* ---- resources without an owner ---- */

#define GIFT_SHIFT 60 /* numbers count from 1 and stay below it */

void rtd_gift(struct ntk_rpc_call *call, enum rtd_gift_kind kind, uint64_t number)
{
    ntk_rpc_call_note_set(call, (uint64_t)kind << GIFT_SHIFT | number);
}

void rtd_gift_settle(struct rtd_manager *manager, const struct ntk_rpc_call *call)
{
    uint64_t note = ntk_rpc_call_note_get(call);
    uint64_t number = note & ((UINT64_C(1) << GIFT_SHIFT) - 1);
    bool is_lost = ntk_rpc_call_is_lost(call);

    switch ((enum rtd_gift_kind)(note >> GIFT_SHIFT)) {
    case RTD_GIFT_GROUP:
        if (is_lost) {
            rtd_group_take_back(manager, (uint32_t)number);
        }
        break;
    case RTD_GIFT_MODEL:
        if (is_lost) {
            rtd_model_take_back(manager, (uint32_t)number);
        }
        break;
    case RTD_GIFT_COOKIE:
        if (is_lost) {
            rtd_infer_take_back(manager, number);
        }
        break;
    case RTD_GIFT_RESULT:
        rtd_infer_settle(manager, number, is_lost);
        break;
    case RTD_GIFT_NONE:
        break;
    }
}

/* ---- codes ---- */

enum _Nrt__Nerr rtd_nerr_of_error(int error)
{
    switch (error) {
    case 0:
        return NRT__NERR__NERR_OK;
    case -EINVAL:
    case -EBADMSG:
        return NRT__NERR__NERR_INVALID;
    case -ENOTSUP:
        return NRT__NERR__NERR_UNSUPPORTED_VERSION;
    case -ENOMEM:
        return NRT__NERR__NERR_RESOURCE;
    case -ECHRNG:
    case -EBUSY:
        return NRT__NERR__NERR_RESOURCE_NC;
    default:
        return NRT__NERR__NERR_FAIL;
    }
}

enum _Nrt__Nerr rtd_nerr_of_outcome(enum ntk_core_outcome outcome)
{
    switch (outcome) {
    case NTK_CORE_COMPLETED:
        return NRT__NERR__NERR_OK;
    case NTK_CORE_NUMERICAL_ERROR:
        return NRT__NERR__NERR_INFER_COMPLETED_WITH_NUM_ERR;
    case NTK_CORE_TIMED_OUT:
        return NRT__NERR__NERR_TIMEOUT;
    case NTK_CORE_INVALID:
    case NTK_CORE_BAD_INPUT:
        return NRT__NERR__NERR_INFER_BAD_INPUT;
    case NTK_CORE_NO_MEMORY:
        return NRT__NERR__NERR_RESOURCE;
    case NTK_CORE_DEAD:
        return NRT__NERR__NERR_FAILED_STATE;
    default:
        return NRT__NERR__NERR_INFER_COMPLETED_WITH_ERR;
    }
}

/* Classifies an outcome, with the common table of results. */
static const struct result {
    uint8_t outcome, error_class;
} results[NTK_CORE_OUTCOMES] = {
#define NTK_RESULT(symbol, status, outcome_name, class_name, counter) \
    [NTK_CORE_##symbol] = { NTK_OUTCOME_##outcome_name, NTK_ERROR_##class_name },
#include "shared/abi/result.def"
#undef NTK_RESULT
};

enum _Nrt__InferStatus rtd_status_of_outcome(enum ntk_core_outcome outcome)
{
    static const enum _Nrt__InferStatus statuses[NTK_OUTCOME_COUNT] = {
        [NTK_OUTCOME_COMPLETED] = NRT__INFER_STATUS__IST_OK,
        [NTK_OUTCOME_COMPLETED_WITH_NUM_ERR] = NRT__INFER_STATUS__IST_COMPLETED_WITH_NUM_ERR,
        [NTK_OUTCOME_COMPLETED_WITH_ERR] = NRT__INFER_STATUS__IST_COMPLETED_WITH_ERR,
        [NTK_OUTCOME_TIMED_OUT] = NRT__INFER_STATUS__IST_TIMEOUT,
        [NTK_OUTCOME_INCORRECT_INPUT] = NRT__INFER_STATUS__IST_BAD_INPUT,
        [NTK_OUTCOME_FAILED_TO_QUEUE] = NRT__INFER_STATUS__IST_COMPLETED_WITH_ERR,
    };
    return statuses[results[outcome].outcome];
}

enum _Nrt__InferErrorSubtype rtd_subtype_of_outcome(enum ntk_core_outcome outcome)
{
    switch (results[outcome].error_class) {
    case NTK_ERROR_CLASS_NONE:
        return NRT__INFER_ERROR_SUBTYPE__INFER_ERROR_SUBTYPE_NONE;
    case NTK_ERROR_NUMERICAL:
        return NRT__INFER_ERROR_SUBTYPE__INFER_ERROR_SUBTYPE_NUMERICAL;
    case NTK_ERROR_TRANSIENT:
        return NRT__INFER_ERROR_SUBTYPE__INFER_ERROR_SUBTYPE_TRANSIENT;
    case NTK_ERROR_HARDWARE:
        return NRT__INFER_ERROR_SUBTYPE__INFER_ERROR_SUBTYPE_HW_ERROR;
    case NTK_ERROR_RUNTIME:
        return NRT__INFER_ERROR_SUBTYPE__INFER_ERROR_SUBTYPE_RT;
    default:
        return NRT__INFER_ERROR_SUBTYPE__INFER_ERROR_SUBTYPE_MODEL;
    }
}
