/* SPDX-License-Identifier: MIT */
/*
 * node_holder - finds the driver's device nodes that a process has open.
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_DEVICE_NODE_HOLDER_H
#define NTK_SHARED_DEVICE_NODE_HOLDER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bit i is set if the process has the node of device i open. Returns 0 also if this user may not
 * see it. sysfs_root is "/sys" or its replacement. */
uint64_t ntk_device_nodes_open(const char *proc_root, const char *sysfs_root, uint32_t pid);
/* For one entry of /proc/PID/fd, which links to target: returns the index of the device that the
 * node belongs to, or NTK_DEVICES_MAX for any other file. The node's number decides, not its
 * name. */
uint32_t ntk_device_node_of(const char *sysfs_root, int fd_folder, const char *name,
                            const char *target);

#ifdef __cplusplus
}
#endif
#endif
