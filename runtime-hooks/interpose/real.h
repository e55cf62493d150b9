/* SPDX-License-Identifier: MIT */
/*
 * real - finds the wrapped library, opens it at the first call, and returns its functions by
 * number.
 *
 * The library is NEURON_HOOKS_LIBNRT, else a loaded libnrt.so.1, else the file that the loader
 * would find without this library: by the paths in loaded objects, LD_LIBRARY_PATH, the loader's
 * cache and folders, and finally the vendor's folder. It is never this library or a copy. It is
 * opened into the global scope, so that names missing in the table resolve there.
 *
 * If no library is found, one message is printed and every call fails.
 *
 * Owner:   the library stays open until the process exits.
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_REAL_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_REAL_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#include "runtime-hooks/interpose/calls.h"

/* Functions by call; NULL until the library is open, never NULL afterwards. */
extern interpose_function interpose_real[INTERPOSE_CALLS];

/* Opens the library if necessary; returns its function, or a function that fails. */
interpose_function interpose_real_open(enum interpose_call call);

static inline interpose_function interpose_real_get(enum interpose_call call)
{
    interpose_function function = __atomic_load_n(&interpose_real[call], __ATOMIC_ACQUIRE);

    return __builtin_expect(function != NULL, 1) ? function : interpose_real_open(call);
}

/* Calls the wrapped library with the declared type: REAL(nrt_load)(...). */
#define REAL(name) ((__typeof__(&name))interpose_real_get(CALL_##name))

/* True if the library has no versions and the 2.x form of the explicit interface, so that callers
 * mean that form by these names. */
extern bool interpose_real_is_form_2;

/* Shows the calls of the library that would be opened now; reads its file without the loader.
 * is_asked: a client is looking up a name. If no object was loaded since the last call, the client
 * has a handle for which the loader would have loaded the library, so the choice is final. */
void interpose_real_look(bool is_asked);

/* In forward_2.c and forward_3.c: the function for a missing call in its form; else NULL. */
extern const interpose_function interpose_absent_2[INTERPOSE_CALLS];
extern const interpose_function interpose_absent_3[INTERPOSE_CALLS];

/* Wraps the runtime at `path`, loaded at `base` by the program, from now on. Returns true also if
 * it is already wrapped; false if another runtime is. */
bool interpose_real_adopt(const char *path, uintptr_t base);

/* Makes a fork wait for a thread that opens the library, so that the child finds it complete; after
 * the maximum time the child may open it again. */
void interpose_real_before_fork(void);
void interpose_real_after_fork(void);
/* In fork.c: watches forks from now on. */
void interpose_fork_watch(void);

/* In real_search.c: returns the path; false if it finds no library. out_is_certain: the path is
 * configured, or a libnrt.so.1 was already requested from the loader, so that libraries loaded
 * later do not matter. Allocates nothing. */
bool interpose_real_find(char path[PATH_MAX], bool *out_is_certain);
/* Returns true if a loaded object needs libnrt.so.1, or is another libnrt.so.1. */
bool interpose_real_is_needed(void);

#endif
