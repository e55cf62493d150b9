/* SPDX-License-Identifier: MIT */
/*
 * forward_2 - exports the names of version NRT_2.0.0, with the explicit interface in its 2.x form.
 */
#include "runtime-hooks/interpose/forward.h"

#pragma GCC visibility push(default)
#include "nrt/ndebug_stream.h"
#include "nrt/nec.h"
#include "nrt/nrt.h"
#include "nrt/nrt_async.h"
#include "nrt/nrt_async_sendrecv.h"
#include "nrt/nrt_experimental.h"
#include "nrt/nrt_profile.h"
#include "nrt/nrt_sys_trace.h"
#include "nrt/nrt_version.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define NRT_CALL(result, name, parameters, arguments)   \
    FORWARD(CALL_##name, result, parameters, arguments) \
    result name parameters __attribute__((alias("forward_CALL_" #name)));

/* The version binding of a name: not the default if the other form has the name too. */
#define BIND_nrta_cc_prepare "@"
#define BIND_nrta_cc_schedule "@"
#define BIND_nrta_error_tracker_create "@@"
#define BIND_nrta_error_tracker_destroy "@@"
#define BIND_nrta_error_tracker_get_list "@@"
#define BIND_nrta_execute_schedule "@"
#define BIND_nrta_get_completion_handle "@@"
#define BIND_nrta_get_sequence "@"
#define BIND_nrta_is_completed "@"
#define BIND_nrta_tensor_copy "@"
#define BIND_nrta_tensor_read "@"
#define BIND_nrta_tensor_write "@"

#define NRT_CALL_2(result, name, parameters, arguments)                                \
    FORWARD(CALL_2_##name, result, parameters, arguments)                              \
    result export_2_##name parameters __attribute__((alias("forward_CALL_2_" #name))); \
    __asm__(".symver export_2_" #name "," #name BIND_##name INTERPOSE_NODE_2);
#include "runtime-hooks/nrt/nrt_calls.def"
#pragma GCC visibility pop

#define EXPORT(call) \
    [call] = { (interpose_function)forward_##call, (interpose_function)pick_##call },
const struct interpose_export interpose_exports_2[INTERPOSE_CALLS] = {
#define NRT_CALL(result, name, parameters, arguments) EXPORT(CALL_##name)
#define NRT_CALL_2(result, name, parameters, arguments) EXPORT(CALL_2_##name)
#include "runtime-hooks/nrt/nrt_calls.def"
};

const interpose_function interpose_absent_2[INTERPOSE_CALLS] = {
#define NRT_CALL(result, name, parameters, arguments) \
    [CALL_##name] = (interpose_function)absent_CALL_##name,
#define NRT_CALL_2(result, name, parameters, arguments) \
    [CALL_2_##name] = (interpose_function)absent_CALL_2_##name,
#include "runtime-hooks/nrt/nrt_calls.def"
};
