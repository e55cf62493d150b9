/* SPDX-License-Identifier: MIT */
/*
 * Which function an exported name is.
 */
#include "runtime-hooks/interpose/forward.h"
#include "runtime-hooks/interpose/observe.h"

const interpose_function interpose_observed[INTERPOSE_CALLS] = {
#define OBSERVED(name) [CALL_##name] = (interpose_function)observed_##name,
#include "runtime-hooks/interpose/interpose.def"
};

/* By this name the library is known (marker.h); a program that finds it may ask whether it is there. */
__attribute__((visibility("default"))) const char neuron_hooks_marker[] = NTK_VERSION;

/* Set when the C library and ourselves can be used freely. */
static uint32_t is_started;

__attribute__((constructor)) static void start(void)
{
    __atomic_store_n(&is_started, 1u, __ATOMIC_RELEASE);
}

/* While a program starts no file is read: each name is there, and what the runtime lacks fails when called. */
__attribute__((no_sanitize("address", "undefined", "thread"))) interpose_function
interpose_pick(enum interpose_call call, interpose_function forward)
{
    if (__atomic_load_n(&is_started, __ATOMIC_ACQUIRE) != 0 && !interpose_real_file_has(call)) {
        return NULL;
    }
    return interpose_observed[call] ? interpose_observed[call] : forward;
}
