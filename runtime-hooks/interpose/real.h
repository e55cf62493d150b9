/* SPDX-License-Identifier: MIT */
/*
 * real - the library that we are in front of: found, opened at the first call, its calls by number.
 *
 * It is NEURON_HOOKS_LIBNRT, else what is loaded already under the name libnrt.so.1, else what the
 * loader would take without us: of the paths in loaded objects, LD_LIBRARY_PATH, the loader's cache
 * and folders, at last the vendor's folder. Never ourselves, nor a copy. It is opened into the
 * global scope: names that our table does not have resolve there.
 *
 * Where there is none, one message says so, and each call answers as one that failed.
 *
 * Owner:   it stays open until the process ends.
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

/* Opens the library when no thread has; its function, or one that fails. */
interpose_function interpose_real_open(enum interpose_call call);

static inline interpose_function interpose_real_get(enum interpose_call call)
{
    interpose_function function = __atomic_load_n(&interpose_real[call], __ATOMIC_ACQUIRE);

    return __builtin_expect(function != NULL, 1) ? function : interpose_real_open(call);
}

/* A call of the real library: REAL(nrt_load)(...). The name's declared type. */
#define REAL(name) ((__typeof__(&name))interpose_real_get(CALL_##name))

/* The library has no versions and the explicit interface in its 2.x form: that is what its callers
 * mean by any of those names. */
extern bool interpose_real_is_form_2;

/* Whether the library has the call; opens it. */
bool interpose_real_has(enum interpose_call call);
/* Shows under our names the calls of the library that would be opened now; reads its file, opens
 * nothing through the loader. is_asked: by a client. One that asks although no object was loaded
 * since the last time has a handle, for which the loader would have loaded that library: it
 * stays. */
void interpose_real_look(bool is_asked);

/* forward_2.c, forward_3.c: the answer to a missing call, each for its form; else NULL. */
extern const interpose_function interpose_absent_2[INTERPOSE_CALLS];
extern const interpose_function interpose_absent_3[INTERPOSE_CALLS];

/* The runtime at path, loaded at base by another process, is the one behind us from now on, or is
 * it already; false: another one is. */
bool interpose_real_adopt(const char *path, uintptr_t base);

/* A fork waits a while for a thread that opens the library, so that the child finds it whole, and
 * may open it itself where that was too long. */
void interpose_real_before_fork(void);
void interpose_real_after_fork(void);
/* fork.c: from now on. */
void interpose_fork_watch(void);

/* real_search.c: the path; false: there is none. out_is_certain: it is named, or the loader has
 * been asked for a libnrt.so.1 already, so that a library which comes later changes nothing.
 * Allocates nothing. */
bool interpose_real_find(char path[PATH_MAX], bool *out_is_certain);
/* Whether a loaded object names libnrt.so.1, or is another one. */
bool interpose_real_is_needed(void);

#endif
