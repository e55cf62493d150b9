/* SPDX-License-Identifier: MIT */
/*
 * real - the wrapped library: found, opened at the first call, with its calls by number.
 *
 * It is NEURON_HOOKS_LIBNRT, else a loaded libnrt.so.1, else what the loader would find without us:
 * by the paths in loaded objects, LD_LIBRARY_PATH, the loader's cache and folders, and finally the
 * vendor's folder. Never our own library or a copy of it. It is opened into the global scope, so
 * that names missing in our table resolve there.
 *
 * If there is none, one message reports it, and every call fails.
 *
 * Owner:   it stays open until the process exits.
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_REAL_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_REAL_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#include "runtime-hooks/interpose/calls.h"

/* By call; NULL until the library is open, never NULL afterwards. */
extern interpose_function interpose_real[INTERPOSE_CALLS];

/* Opens the library if necessary; returns its function, or one that fails. */
interpose_function interpose_real_open(enum interpose_call call);

static inline interpose_function interpose_real_get(enum interpose_call call)
{
    interpose_function function = __atomic_load_n(&interpose_real[call], __ATOMIC_ACQUIRE);

    return __builtin_expect(function != NULL, 1) ? function : interpose_real_open(call);
}

/* A call of the real library: REAL(nrt_load)(...), with the declared type. */
#define REAL(name) ((__typeof__(&name))interpose_real_get(CALL_##name))

/* The library has no versions and the 2.x form of the explicit interface, so its callers mean that
 * form by these names. */
extern bool interpose_real_is_form_2;

/* Shows the calls of the library that would be opened now; reads its file, without the loader.
 * is_asked: a client is looking up a name. If no object was loaded since the last time, it has a
 * handle, for which the loader would have loaded that library: it is final. */
void interpose_real_look(bool is_asked);

/* forward_2.c, forward_3.c: the function for a missing call, in its form; else NULL. */
extern const interpose_function interpose_absent_2[INTERPOSE_CALLS];
extern const interpose_function interpose_absent_3[INTERPOSE_CALLS];

/* From now on the wrapped runtime is the one at path, loaded at base by the program (true also if
 * it already is); false: another one is. */
bool interpose_real_adopt(const char *path, uintptr_t base);

/* A fork waits some time for a thread that opens the library, so that the child finds it complete;
 * if it takes too long, the child may open it itself. */
void interpose_real_before_fork(void);
void interpose_real_after_fork(void);
/* fork.c: from now on. */
void interpose_fork_watch(void);

/* real_search.c: the path; false: none. out_is_certain: it is configured, or a libnrt.so.1 was
 * already requested from the loader, so that libraries loaded later do not matter. Allocates
 * nothing. */
bool interpose_real_find(char path[PATH_MAX], bool *out_is_certain);
/* Whether a loaded object needs libnrt.so.1, or is another one. */
bool interpose_real_is_needed(void);

#endif
