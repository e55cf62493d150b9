/* SPDX-License-Identifier: MIT */
/*
 * observed - selects the function for an exported name.
 */
#include <string.h>

#include "runtime-hooks/interpose/forward.h"
#pragma GCC visibility push(default)
#include "runtime-hooks/interpose/marker.h"
#pragma GCC visibility pop
#include "runtime-hooks/interpose/observe.h"

#include "runtime-hooks/interpose/early.h"

/* The explicit interface needs only addresses, because each form has its own types. */
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

interpose_function interpose_pick(enum interpose_call call, interpose_function forward)
{
    interpose_real_look(true);
    if (interpose_exports_lack(call)) {
        return NULL;
    }
    return interpose_observed[call] ? interpose_observed[call] : forward;
}

/* Shows the names; from now on a client may look up any name. */
static void names_show(void)
{
    interpose_real_look(false);
    __atomic_store_n(&interpose_started, 1u, __ATOMIC_RELEASE);
}

#ifdef INTERPOSE_IS_INSTRUMENTED
/* Instrumented code must not run before the constructors of the sanitizer's library. */
#define NAMES_BEGIN names_show
#else
/* The loader calls this resolver when it relocates this library, before the objects that need the
 * library, which then bind the names that they find. If no object needs it, weak references of the
 * program find nothing without this library. */
static void (*names_pick(void))(void)
{
    bool is_needed = interpose_real_is_needed();
    struct interpose_absent absent;

    for (size_t i = 0; i < sizeof absent.words / sizeof *absent.words; i++) {
        absent.words[i] = is_needed ? 0 : UINT64_MAX;
    }
    interpose_exports_show(&absent, !is_needed);
    if (is_needed) {
        interpose_real_look(false);
    }
    return names_show;
}
static void names_begin(void) __attribute__((ifunc("names_pick")));
#define NAMES_BEGIN names_begin
#endif

__attribute__((constructor)) static void start(void)
{
    NAMES_BEGIN();
}

void *neuron_hooks_wrapper(const char *path, uintptr_t base, const char *name, const char *version)
{
    void *function = NULL;

    if (!early_is_over()) {
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
