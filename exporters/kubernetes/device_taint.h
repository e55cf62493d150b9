/* SPDX-License-Identifier: MIT */
/*
 * device_taint - which DeviceTaintRules of Kubernetes a machine's unhealthy devices need; pure.
 *
 * Dynamic resource allocation (DRA) knows devices by driver, pool and name, as the driver publishes
 * them in ResourceSlices. The attribute deviceId shows which of them is our device N, with the
 * driver's domain or without. A rule taints one device: workloads that do not tolerate it are kept
 * away (NoSchedule), evicted too (NoExecute), or it only shows (None).
 *
 * A rule is ours when it has our label and our node in its annotation; no other is ever touched.
 *
 * Source:  Kubernetes API, resource.k8s.io ResourceSlice, DeviceTaintRule (KEP-5055); attributes:
 * the published ones of the Neuron DRA driver. Keys and effects that the vendor uses are unknown.
 *
 * Owner:   a plan is the caller's storage; ntk_taint_plan_fini() frees what it points to.
 * Threads: any; one at a time per plan.
 */
#ifndef NTK_EXPORTERS_KUBERNETES_DEVICE_TAINT_H
#define NTK_EXPORTERS_KUBERNETES_DEVICE_TAINT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "exporters/kubernetes/kube_api.h"
#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"
#include "shared/metrics/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_DEVICE_TAINT_DRIVER "neuron.aws.com"
#define NTK_DEVICE_TAINT_KEY "neuron-monitor/unhealthy"
#define NTK_DEVICE_TAINT_LABEL "app.kubernetes.io/managed-by"
#define NTK_DEVICE_TAINT_OWNER "neuron-monitor"
#define NTK_DEVICE_TAINT_RULES_MAX 256 /* of a machine; further devices and rules are left alone */
#define NTK_DEVICE_TAINT_VALUE_BYTES 64

/* What is wanted: of each device of the machine its verdict and the worst reason. */
struct ntk_device_verdicts {
    size_t count;
    struct {
        uint32_t index;
        enum ntk_health_verdict verdict;
        enum ntk_health_reason reason; /* of an unhealthy one */
    } rows[NTK_TOPOLOGY_DEVICES_MAX];
};
void ntk_device_verdicts_make(const struct ntk_snapshot *snapshot, struct ntk_device_verdicts *out);
bool ntk_device_verdicts_are_same(const struct ntk_device_verdicts *a,
                                  const struct ntk_device_verdicts *b);

enum ntk_taint_step {
    NTK_TAINT_KEEP,
    NTK_TAINT_CREATE,
    NTK_TAINT_CHANGE, /* its taint */
    NTK_TAINT_DELETE,
};

struct ntk_taint_rule {
    enum ntk_taint_step step;
    char name[NTK_KUBE_NAME_BYTES];
    char pool[NTK_KUBE_NAME_BYTES];
    char device[NTK_KUBE_NAME_BYTES];
    char value[NTK_DEVICE_TAINT_VALUE_BYTES]; /* our reason */
    char effect[16];
};

struct ntk_taint_options {
    const char *node;
    const char *key;
    const char *effect;
};

struct ntk_taint_plan {
    struct ntk_taint_rule *rules; /* room for NTK_DEVICE_TAINT_RULES_MAX */
    size_t count;
};
int ntk_taint_plan_init(struct ntk_taint_plan *plan, struct ntk_err *err);
void ntk_taint_plan_fini(struct ntk_taint_plan *plan);

/*
 * Beginning with the rules that there are (a DeviceTaintRuleList), then what the devices (a
 * ResourceSliceList of the node) need: rules of devices that are well, or gone while others are
 * there, go; those of devices without a verdict stay as they are. How many devices were recognised;
 * 0 may mean that the driver publishes no deviceId.
 */
size_t ntk_taint_plan_make(struct ntk_taint_plan *plan, json_t *rules, json_t *slices,
                           const struct ntk_device_verdicts *verdicts,
                           const struct ntk_taint_options *options);

/* The body of POST .../devicetaintrules; version is "v1" or another one of resource.k8s.io. */
void ntk_taint_rule_write(const struct ntk_taint_rule *rule, const char *version,
                          const struct ntk_taint_options *options, struct ntk_buf *out);
/* That of a PATCH of one, a merge. */
void ntk_taint_rule_write_patch(const struct ntk_taint_rule *rule,
                                const struct ntk_taint_options *options, struct ntk_buf *out);

/* Whether an APIResourceList of a version has the resource. */
bool ntk_taint_has_resource(json_t *resources, const char *name);

#ifdef __cplusplus
}
#endif
#endif
