/* SPDX-License-Identifier: MIT */
/*
 * pods - finds the pods of containers on this machine from the names of their logs.
 *
 * On machines with a kubelet, /var/log/containers has a link POD_NAMESPACE_CONTAINER-ID.log for
 * each container; ID is the same as in the control group of its processes. Reading the folder needs
 * no credential and no connection, and does not block; the agent, which also labels devices, uses
 * the kubelet instead.
 *
 * Owner: init / fini. Threads: one.
 */
#ifndef NTK_TOP_SOURCE_PODS_H
#define NTK_TOP_SOURCE_PODS_H

#include "shared/base/map.h"
#include "shared/metrics/snapshot.h"

#define NTK_TOP_PODS_FOLDER "/var/log/containers"
#define NTK_TOP_PODS_MAX 4096 /* maximum number of remembered containers */

struct ntk_top_pods {
    const char *folder;          /* owned by the caller */
    struct ntk_map by_container; /* maps a container id to its entry */
};

void ntk_top_pods_init(struct ntk_top_pods *pods, const char *folder);
void ntk_top_pods_fini(struct ntk_top_pods *pods);
/* Sets the pods of runtimes that have a container and no pod. A pod that is not found stays "". */
void ntk_top_pods_fill(struct ntk_top_pods *pods, struct ntk_snapshot *snapshot);

#endif
