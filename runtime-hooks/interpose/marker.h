/* SPDX-License-Identifier: MIT */
/*
 * marker - the name by which this library is told from a runtime, wherever a copy of it lies.
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_MARKER_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_MARKER_H

#define INTERPOSE_MARKER_NAME "neuron_hooks_marker"
#define INTERPOSE_MARKER_NODE "HOOKS_1"

#endif
