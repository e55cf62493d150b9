/* SPDX-License-Identifier: MIT */
/*
 * exports - changes the names that the loader finds in this library.
 *
 * A client that asks for a name, or refers to it weakly, must get the same answer as from the
 * runtime. An indirect function cannot say "absent": dlsym() returns its NULL without an error, and
 * callers that then read dlerror() crash. So names that the runtime lacks are hidden in the symbol
 * table of this library, in the memory of this process.
 *
 * Threads: _show() one at a time; _lacks() any.
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_EXPORTS_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_EXPORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime-hooks/interpose/calls.h"

/* Counts that are set for calls missing in the runtime. */
struct interpose_absent {
    uint64_t words[(INTERPOSE_CALLS + 63) / 64];
};

static inline bool interpose_absent_has(const struct interpose_absent *absent, uint32_t call)
{
    return (__atomic_load_n(&absent->words[call / 64], __ATOMIC_RELAXED) >> call % 64 & 1) != 0;
}

/*
 * Hides missing calls and shows the others. After the first call, each name is an indirect
 * function. is_certain: the runtime is final; otherwise references with a version still find the
 * name, and the loader calls interpose_pick() to ask if the current runtime has it.
 */
void interpose_exports_show(const struct interpose_absent *absent, bool is_certain);
/* Returns true if the latest _show() hid the call. */
bool interpose_exports_lack(enum interpose_call call);

/* In forward_2.c and forward_3.c: the exported function of a call, and its resolver for the loader;
 * NULL in the table of the other form. */
struct interpose_export {
    interpose_function forward;
    interpose_function pick;
};
extern const struct interpose_export interpose_exports_2[INTERPOSE_CALLS];
extern const struct interpose_export interpose_exports_3[INTERPOSE_CALLS];

#endif
