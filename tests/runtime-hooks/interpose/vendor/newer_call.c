/* SPDX-License-Identifier: MIT */
/* A call that a later runtime has and runtime-hooks/nrt/nrt_calls.def does not. */
#include "tests/runtime-hooks/interpose/vendor/newer_call.h"

__attribute__((visibility("default"))) int nrt_newer_call(int value)
{
    return value + NEWER_CALL_ADDS;
}
