/* SPDX-License-Identifier: MIT */
/*
 * cnrt_clusters - which clusters of a device are at work: tasks of several queues run side by side
 * as long as there are free ones.
 *
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_CNRT_CNRT_CLUSTERS_H
#define NTK_RUNTIME_HOOKS_CNRT_CNRT_CLUSTERS_H

#include <stdint.h>

/* Whether a device with this many clusters has rows of this width that mask allows (0: any). Rows
 * are adjacent, from the first cluster on. */
int cnrt_clusters_exist(uint32_t count, uint32_t width, uint64_t mask);
/* Waits for a free row on the device; returns its first cluster. */
uint32_t cnrt_clusters_hold(uint32_t device, uint32_t count, uint32_t width, uint64_t mask);
void cnrt_clusters_release(uint32_t device, uint32_t first, uint32_t width);
/* Called in a child after fork: all are free. */
void cnrt_clusters_forget(void);

#endif
