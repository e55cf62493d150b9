/* SPDX-License-Identifier: MIT */
/*
 * cnrt_clusters - records which clusters of a device are busy: tasks of several queues run in
 * parallel while there are free clusters.
 *
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_CNRT_CNRT_CLUSTERS_H
#define NTK_RUNTIME_HOOKS_CNRT_CNRT_CLUSTERS_H

#include <stdint.h>

/* Returns true if a device with this many clusters has a row of this width that mask allows (0:
 * any). Rows begin at multiples of their width. */
int cnrt_clusters_exist(uint32_t count, uint32_t width, uint64_t mask);
/* Waits for a free row on the device; returns the row's first cluster. */
uint32_t cnrt_clusters_hold(uint32_t device, uint32_t count, uint32_t width, uint64_t mask);
void cnrt_clusters_release(uint32_t device, uint32_t first, uint32_t width);
/* Called in the child of a fork, where all clusters are free. */
void cnrt_clusters_forget(void);

#endif
