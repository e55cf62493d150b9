/* SPDX-License-Identifier: MIT */
/*
 * forward_3 - exports the names of version NRT_3.0.0, with the explicit interface in its 3.0 form.
 */
#include "runtime-hooks/interpose/forward.h"

#define NRT_ASYNC_3 1
#pragma GCC visibility push(default)
#include "nrt/nrt.h"
#include "nrt/nrt_async.h"
#include "nrt/nrt_experimental.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define NRT_CALL_3(result, name, parameters, arguments)                                \
    FORWARD(CALL_3_##name, result, parameters, arguments)                              \
    result export_3_##name parameters __attribute__((alias("forward_CALL_3_" #name))); \
    __asm__(".symver export_3_" #name "," #name "@@" INTERPOSE_NODE_3);
#include "runtime-hooks/nrt/nrt_calls.def"
#pragma GCC visibility pop

#define EXPORT(call) \
    [call] = { (interpose_function)forward_##call, (interpose_function)pick_##call },
const struct interpose_export interpose_exports_3[INTERPOSE_CALLS] = {
#define NRT_CALL_3(result, name, parameters, arguments) EXPORT(CALL_3_##name)
#include "runtime-hooks/nrt/nrt_calls.def"
};

const interpose_function interpose_absent_3[INTERPOSE_CALLS] = {
#define NRT_CALL_3(result, name, parameters, arguments) \
    [CALL_3_##name] = (interpose_function)absent_CALL_3_##name,
#include "runtime-hooks/nrt/nrt_calls.def"
};
