/* SPDX-License-Identifier: MIT */
/*
 * marker - additional exports of libneuron-hooks.so, which distinguish its copies from a runtime
 * and let the auditing library find its functions.
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_MARKER_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_MARKER_H

#include <stdint.h>

#define INTERPOSE_MARKER_NODE "HOOKS_1"

extern const char neuron_hooks_marker[]; /* NTK_NRT_HOOKS_MARKER with the version of this library */

/*
 * Returns the observing function for a call of the runtime at `path`, loaded at `base`; the
 * function passes the call on to it. NULL: the call is not observed, another runtime is already in
 * use, or the program is still starting.
 */
#define INTERPOSE_WRAPPER_NAME "neuron_hooks_wrapper"
typedef void *neuron_hooks_wrapper_function(const char *path, uintptr_t base, const char *name,
                                            const char *version);
neuron_hooks_wrapper_function neuron_hooks_wrapper;

#endif
