/* SPDX-License-Identifier: MIT */
/*
 * node_holder - the device nodes of a driver that a process has open.
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_DEVICE_NODE_HOLDER_H
#define NTK_SHARED_DEVICE_NODE_HOLDER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bit i: the process has the node of device i open. Also 0 if this user may not know. sysfs_root:
 * "/sys", or its replacement. */
uint64_t ntk_device_nodes_open(const char *proc_root, const char *sysfs_root, uint32_t pid);
/* For one entry of /proc/PID/fd, which links to target: the index of the device with this node;
 * NTK_DEVICES_MAX: another file. The number of the node decides, not its name. */
uint32_t ntk_device_node_of(const char *sysfs_root, int fd_folder, const char *name,
                            const char *target);

#ifdef __cplusplus
}
#endif
#endif
