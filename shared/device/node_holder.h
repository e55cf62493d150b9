/* SPDX-License-Identifier: MIT */
/*
 * node_holder - which device nodes of a driver a process has open.
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_DEVICE_NODE_HOLDER_H
#define NTK_SHARED_DEVICE_NODE_HOLDER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bit i: the process has /dev/neuron<i> open. 0 also when this user may not know. */
uint64_t ntk_device_nodes_open(const char *proc_root, uint32_t pid);

#ifdef __cplusplus
}
#endif
#endif
