/* SPDX-License-Identifier: MIT */
/*
 * device_sysfs - reads one sysfs-like tree below a root, and no other place.
 *
 * The folders of every device are walked once. Known leaves are remembered by their meaning, not by
 * their place, so both layouts of the driver are read in the same way.
 *
 * Owner:   ntk_sysfs_open() allocates, _close() frees.
 * Threads: one at a time per struct.
 */
#ifndef NTK_SHARED_DEVICE_DEVICE_SYSFS_H
#define NTK_SHARED_DEVICE_DEVICE_SYSFS_H

#include "shared/device/device.h"

/* Limits, because a tree may be hostile. */
#define NTK_SYSFS_DEPTH_MAX 8
#define NTK_SYSFS_ENTRIES_MAX 65536 /* maximum for the whole walk */
/* maximum descriptors that stay open; at most half of RLIMIT_NOFILE */
#define NTK_SYSFS_OPEN_MAX 2048

struct ntk_sysfs;

/* Returns -ENOENT if root has no devices/virtual/neuron_device, or a different one at every
 * attempt; -ENOMEM. Walks again if the tree changed during the walk. Fills the parts of *out_tree
 * that come from the tree (ntk_sysfs_close frees devices). infos_only: see device.h. */
int ntk_sysfs_open(const char *root, bool infos_only, struct ntk_sysfs **out_sysfs,
                   struct ntk_device_tree *out_tree);
void ntk_sysfs_close(struct ntk_sysfs *sysfs);
/* Returns true if the folders under root have changed since the walk, or were so new then that more
 * may have been added. */
bool ntk_sysfs_changed(struct ntk_sysfs *sysfs);
/* See ntk_device_source_skip(). */
void ntk_sysfs_skip(struct ntk_sysfs *sysfs, const uint8_t skipped[NTK_DEVICES_MAX]);
/* Fills reading i for device i of the tree; capacity is at least its device_count. */
void ntk_sysfs_read(struct ntk_sysfs *sysfs, unsigned int read, struct ntk_device_reading *readings,
                    size_t capacity);

/* For this module: reads the first line of <root>/<name>, cleaned; "" if it cannot be read. */
void ntk_sysfs_read_root_text(const char *root, const char *name, char *buf, size_t buf_bytes);

/* In device_machine.c. */
size_t ntk_sysfs_places(const char *root, bool in_order, const struct ntk_device_tree *tree,
                        struct ntk_device_place *places, size_t capacity);
/* See ntk_device_source_pci(). */
size_t ntk_sysfs_pci(const char *root, const struct ntk_device_tree *tree,
                     struct ntk_device_place *places, size_t capacity);
/* See ntk_device_source_nodes(). */
uint64_t ntk_sysfs_nodes(const char *root, const struct ntk_device_tree *tree,
                         const char *dev_root);
void ntk_sysfs_server(const char *root, struct ntk_device_server *out_server);

/* In device_soft.c. */
bool ntk_device_soft_trusted(const char *hooks_dir);
void ntk_device_soft_machine_type(const char *hooks_dir, char *buf, size_t buf_bytes);

#endif
