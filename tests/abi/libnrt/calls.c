/* SPDX-License-Identifier: MIT */
/*
 * Checks every row of nrt_calls.def against the public headers, in the form that NRT_ASYNC_3
 * chooses. Each function is declared again and called: a different signature or different arguments
 * do not compile.
 */
#include "nrt/ndebug_stream.h"
#include "nrt/nec.h"
#include "nrt/nrt.h"
#include "nrt/nrt_async.h"
#include "nrt/nrt_async_sendrecv.h"
#include "nrt/nrt_experimental.h"
#include "nrt/nrt_profile.h"
#include "nrt/nrt_sys_trace.h"
#include "nrt/nrt_version.h"

#ifdef __cplusplus
extern "C" {
#endif
#define NRT_CALL(result, name, parameters, arguments)                     \
    result name parameters;                                               \
    __attribute__((unused)) static inline result around_##name parameters \
    {                                                                     \
        return name arguments;                                            \
    }
#ifdef NRT_ASYNC_3
#define NRT_CALL_3 NRT_CALL
#else
#define NRT_CALL_2 NRT_CALL
#endif
#include "runtime-hooks/nrt/nrt_calls.def"
#ifdef __cplusplus
}
#endif
