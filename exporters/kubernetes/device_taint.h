/* SPDX-License-Identifier: MIT */
/*
 * device_taint - computes the DeviceTaintRules of Kubernetes for a machine's unhealthy devices.
 *
 * Dynamic resource allocation (DRA) identifies devices by driver, pool and name, as published by
 * the driver in ResourceSlices. The attribute deviceId, with or without the driver's domain, is the
 * number N of the device. A rule taints one device: workloads that do not tolerate it are kept away
 * (NoSchedule) or also evicted (NoExecute), or it is only shown (None).
 *
 * A rule belongs to this agent if it has the agent's label and node in its annotation; other rules
 * are never changed.
 *
 * Source:  Kubernetes API, resource.k8s.io ResourceSlice, DeviceTaintRule (KEP-5055); attributes:
 *          the published ones of the Neuron DRA driver. Keys and effects that the vendor uses are
 *          unknown.
 *
 * Owner:   the caller provides the storage of a plan; ntk_taint_plan_fini() frees its content.
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
/* maximum per machine; further devices and rules are ignored */
#define NTK_DEVICE_TAINT_RULES_MAX 256
#define NTK_DEVICE_TAINT_VALUE_BYTES 64

/* Verdict and worst reason of each device in the machine. */
struct ntk_device_verdicts {
    size_t count;
    struct {
        uint32_t index;
        enum ntk_health_verdict verdict;
        enum ntk_health_reason reason; /* reason of an unhealthy device */
    } rows[NTK_TOPOLOGY_DEVICES_MAX];
};
void ntk_device_verdicts_make(const struct ntk_snapshot *snapshot, struct ntk_device_verdicts *out);
bool ntk_device_verdicts_are_same(const struct ntk_device_verdicts *a,
                                  const struct ntk_device_verdicts *b);

enum ntk_taint_step {
    NTK_TAINT_KEEP,
    NTK_TAINT_CREATE,
    NTK_TAINT_CHANGE, /* changes its taint */
    NTK_TAINT_DELETE,
};

struct ntk_taint_rule {
    enum ntk_taint_step step;
    char name[NTK_KUBE_NAME_BYTES];
    char pool[NTK_KUBE_NAME_BYTES];
    char device[NTK_KUBE_NAME_BYTES];
    char value[NTK_DEVICE_TAINT_VALUE_BYTES]; /* reason, as the taint's value */
    char effect[16];
};

struct ntk_taint_options {
    const char *node;
    const char *key;
    const char *effect;
};

struct ntk_taint_plan {
    struct ntk_taint_rule *rules; /* capacity NTK_DEVICE_TAINT_RULES_MAX */
    size_t count;
};
int ntk_taint_plan_init(struct ntk_taint_plan *plan, struct ntk_err *err);
void ntk_taint_plan_fini(struct ntk_taint_plan *plan);

/*
 * Compares existing rules (a DeviceTaintRuleList) with the rules that the devices (a
 * ResourceSliceList of the node) need. Rules of healthy devices are deleted, and rules of missing
 * devices if others are present; rules of devices without a verdict stay. Returns the number of
 * recognised devices; 0 may mean that the driver publishes no deviceId.
 */
size_t ntk_taint_plan_make(struct ntk_taint_plan *plan, json_t *rules, json_t *slices,
                           const struct ntk_device_verdicts *verdicts,
                           const struct ntk_taint_options *options);

/* Writes the body of POST .../devicetaintrules; version is "v1" or another version of
 * resource.k8s.io. */
void ntk_taint_rule_write(const struct ntk_taint_rule *rule, const char *version,
                          const struct ntk_taint_options *options, struct ntk_buf *out);
/* Writes the body of PATCH for the rule, a merge. */
void ntk_taint_rule_write_patch(const struct ntk_taint_rule *rule,
                                const struct ntk_taint_options *options, struct ntk_buf *out);

/* Returns true if the APIResourceList of a version includes the resource. */
bool ntk_taint_has_resource(json_t *resources, const char *name);

#ifdef __cplusplus
}
#endif
#endif
