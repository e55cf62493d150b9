/* SPDX-License-Identifier: MIT */
/*
 * marker - what libneuron-hooks.so exports next to the runtime's names: to distinguish a copy of it
 * from a runtime, and to find its functions from the auditing library.
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_MARKER_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_MARKER_H

#include <stdint.h>

#define INTERPOSE_MARKER_NODE "HOOKS_1"

#define INTERPOSE_MARKER_NAME "neuron_hooks_marker"
extern const char neuron_hooks_marker[]; /* our version */

/*
 * The function that observes a call of the runtime that is at path and is loaded at base, and
 * passes it on there. NULL: the call is not observed, or we are in front of another runtime
 * already, or the program is starting still.
 */
#define INTERPOSE_WRAPPER_NAME "neuron_hooks_wrapper"
typedef void *neuron_hooks_wrapper_function(const char *path, uintptr_t base, const char *name,
                                            const char *version);
neuron_hooks_wrapper_function neuron_hooks_wrapper;

#endif
