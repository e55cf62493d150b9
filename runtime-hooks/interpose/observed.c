/* SPDX-License-Identifier: MIT */
/*
 * Which function an exported name is.
 */
#include <string.h>

#include "runtime-hooks/interpose/forward.h"
#pragma GCC visibility push(default)
#include "runtime-hooks/interpose/marker.h"
#pragma GCC visibility pop
#include "runtime-hooks/interpose/observe.h"

/* Of the explicit interface addresses alone: each form has types of its own. */
#define OBSERVED(name)
#define OBSERVED_2(name) extern void observed_2_##name(void);
#define OBSERVED_3(name) extern void observed_3_##name(void);
#include "runtime-hooks/interpose/interpose.def"

const interpose_function interpose_observed[INTERPOSE_CALLS] = {
#define OBSERVED(name) [CALL_##name] = (interpose_function)observed_##name,
#define OBSERVED_2(name) [CALL_2_##name] = observed_2_##name,
#define OBSERVED_3(name) [CALL_3_##name] = observed_3_##name,
#include "runtime-hooks/interpose/interpose.def"
};

#pragma GCC visibility push(default)
const char neuron_hooks_marker[] = NTK_VERSION;
#pragma GCC visibility pop

/* Set when the C library and ourselves can be used freely. */
static uint32_t is_started;

__attribute__((constructor)) static void start(void)
{
    __atomic_store_n(&is_started, 1u, __ATOMIC_RELEASE);
}

/* While a program starts no file is read: each name is there, and what the runtime lacks fails when
 * called. */
__attribute__((no_sanitize("address", "undefined", "thread"))) interpose_function
interpose_pick(enum interpose_call call, interpose_function forward)
{
    if (__atomic_load_n(&is_started, __ATOMIC_ACQUIRE) != 0 && !interpose_real_file_has(call)) {
        return NULL;
    }
    return interpose_observed[call] ? interpose_observed[call] : forward;
}

void *neuron_hooks_wrapper(const char *path, uintptr_t base, const char *name, const char *version)
{
    void *function = NULL;

    if (__atomic_load_n(&is_started, __ATOMIC_ACQUIRE) == 0) {
        return NULL;
    }
    for (uint32_t i = 0; i < INTERPOSE_CALLS && !function; i++) {
        if (interpose_observed[i] && strcmp(interpose_calls[i].name, name) == 0 &&
            (version[0] == '\0' || strcmp(interpose_calls[i].version, version) == 0)) {
            memcpy(&function, &interpose_observed[i], sizeof function);
        }
    }
    return function && interpose_real_adopt(path, base) ? function : NULL;
}
