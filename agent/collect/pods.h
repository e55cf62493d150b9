/* SPDX-License-Identifier: MIT */
/*
 * pods - which pod has which core and device, and which pod an application runs in.
 *
 * A separate thread asks the kubelet's pod-resources socket each period, and early when a new
 * application appears; no other thread waits for it. It also checks the names below
 * /var/log/containers, which tell pod, namespace and container of a container's id.
 *
 * An application's pod is that of its container (from its cgroup), else the one pod that all its
 * cores were given to. Unknown stays unknown: labels are absent.
 *
 * Owner:   ntk_pods_create() / _destroy(), which ends a question that is being asked.
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
#define NTK_PODS_LOGS "/var/log/containers" /* below the host's root */
#define NTK_PODS_PERIOD_NS UINT64_C(15000000000)
#define NTK_PODS_PERIOD_MIN_NS UINT64_C(1000000000) /* the kubelet limits how often it answers */
#define NTK_PODS_TIMEOUT_NS UINT64_C(10000000000)   /* of one question */
#define NTK_PODS_CONTAINERS_MAX 4096                /* whose names are kept; more are skipped */

/* Between two questions, however many applications begin. */
#define NTK_PODS_GAP_NS UINT64_C(1000000000)

struct ntk_clock;
struct ntk_pods;

struct ntk_pods_options {
    const char *socket_path;                  /* NULL: NTK_PODS_SOCKET */
    const char *host_root;                    /* where the host's root folder is; NULL: "/" */
    uint64_t period_ns;                       /* 0: NTK_PODS_PERIOD_NS */
    uint64_t timeout_ns;                      /* 0: NTK_PODS_TIMEOUT_NS */
    const struct ntk_pod_resource *resources; /* copied by pointer; NULL: the default ones */
    const struct ntk_clock *clock;            /* of periods; borrowed; NULL: the system's */
};

int ntk_pods_create(const struct ntk_pods_options *options, struct ntk_pods **out_pods,
                    struct ntk_err *err);
void ntk_pods_destroy(struct ntk_pods *pods);

/* Puts what is known now into the snapshot: k8s, and pod of the runtimes; ctx is the pods. */
void ntk_pods_get(struct ntk_snapshot *snapshot, void *ctx);
/* How many questions to the kubelet have ended, with any result (for tests). */
uint64_t ntk_pods_rounds(struct ntk_pods *pods);

/* "<pod>_<namespace>_<container>-<id>.log" to its pieces; false when the name is another one. */
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
