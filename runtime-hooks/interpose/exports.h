/* SPDX-License-Identifier: MIT */
/*
 * exports - the names that the loader finds in this library.
 *
 * A client that asks for a name, or refers to it weakly, must get the answer that the runtime
 * itself would give. An indirect function cannot say "absent": dlsym() returns its NULL without an
 * error, and callers that then read dlerror() crash. So names that the runtime lacks are hidden in
 * our own table of symbols, as it is in the memory of this process.
 *
 * Threads: _show() one at a time; _lacks() any.
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_EXPORTS_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_EXPORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime-hooks/interpose/calls.h"

/* Set for calls that the runtime lacks. */
struct interpose_absent {
    uint64_t words[(INTERPOSE_CALLS + 63) / 64];
};

static inline bool interpose_absent_has(const struct interpose_absent *absent, uint32_t call)
{
    return (__atomic_load_n(&absent->words[call / 64], __ATOMIC_RELAXED) >> call % 64 & 1) != 0;
}

/*
 * Hides missing calls and shows the others. After the first call, each name is an indirect
 * function. is_certain: the runtime is final; else references with a version still find the name,
 * and the loader asks interpose_pick() whether the current runtime has it.
 */
void interpose_exports_show(const struct interpose_absent *absent, bool is_certain);
/* Whether the latest _show() hid the call. */
bool interpose_exports_lack(enum interpose_call call);

/* forward_2.c, forward_3.c: the exported function of a call, and its resolver for the loader; NULL
 * in the table of the other form. */
struct interpose_export {
    interpose_function forward;
    interpose_function pick;
};
extern const struct interpose_export interpose_exports_2[INTERPOSE_CALLS];
extern const struct interpose_export interpose_exports_3[INTERPOSE_CALLS];

#endif
