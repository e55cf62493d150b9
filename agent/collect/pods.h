/* SPDX-License-Identifier: MIT */
/*
 * pods - maps cores and devices to pods, and applications to their pods.
 *
 * A separate thread sends a request to the kubelet's pod-resources socket each period, and early
 * when a new application appears; no other thread waits for it. The thread also reads the names in
 * /var/log/containers, which map a container id to its pod, namespace and container.
 *
 * The pod of an application is the pod of its container (from its cgroup), else the pod that has
 * all its cores. If the pod is unknown, the labels are absent.
 *
 * Owner:   ntk_pods_create() / _destroy(), which cancels a running request.
 * Threads: ntk_pods_get() from any.
 */
#ifndef NTK_AGENT_COLLECT_PODS_H
#define NTK_AGENT_COLLECT_PODS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/collect/pod_list.h"
#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_PODS_SOCKET "/var/lib/kubelet/pod-resources/kubelet.sock"
#define NTK_PODS_LOGS "/var/log/containers" /* relative to the root of the host */
#define NTK_PODS_PERIOD_NS UINT64_C(15000000000)
#define NTK_PODS_PERIOD_MIN_NS UINT64_C(1000000000) /* the kubelet limits the rate of requests */
#define NTK_PODS_TIMEOUT_NS UINT64_C(10000000000)   /* per request */
/* Maximum number of containers with known names; more are skipped */
#define NTK_PODS_CONTAINERS_MAX 4096

/* Minimum interval between two requests, even if many applications start. */
#define NTK_PODS_GAP_NS UINT64_C(1000000000)

struct ntk_clock;
struct ntk_pods;

struct ntk_pods_options {
    const char *socket_path; /* NULL for NTK_PODS_SOCKET */
    const char *host_root;   /* root folder of the host; NULL for "/" */
    uint64_t period_ns;      /* 0 for NTK_PODS_PERIOD_NS */
    uint64_t timeout_ns;     /* 0 for NTK_PODS_TIMEOUT_NS */
    /* only the pointer is copied; NULL for the default resources */
    const struct ntk_pod_resource *resources;
    const struct ntk_clock *clock; /* for periods; borrowed; NULL for the system clock */
};

int ntk_pods_create(const struct ntk_pods_options *options, struct ntk_pods **out_pods,
                    struct ntk_err *err);
void ntk_pods_destroy(struct ntk_pods *pods);

/* Copies the known pods to the snapshot: k8s, and the pod of each runtime; ctx is the pods. */
void ntk_pods_get(struct ntk_snapshot *snapshot, void *ctx);
/* Returns the number of completed requests to the kubelet, with any result (for tests). */
uint64_t ntk_pods_rounds(struct ntk_pods *pods);

/* Parts of a name "<pod>_<namespace>_<container>-<id>.log"; parsing returns false if the name has
 * another form. */
struct ntk_container_name {
    char id[65];
    char pod[254];
    char namespace_name[64];
    char container[64];
};
bool ntk_container_name_parse(const char *file_name, struct ntk_container_name *out);

#ifdef __cplusplus
}
#endif
#endif
