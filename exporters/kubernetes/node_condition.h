/* SPDX-License-Identifier: MIT */
/*
 * node_condition - the health of a machine as a condition of its Kubernetes node, and as an event
 * when it changes; pure.
 *
 * The convention is that of node-problem-detector: True is a problem. Reasons are the vendor's
 * words where it has one for a fault (NeuronHasError_HBM_UNCORRECTABLE_ERROR), else ours after the
 * same pattern; the message names each device, its reason and what to do.
 *
 * Source of the condition's form: Kubernetes API, core/v1 NodeCondition.
 *
 * Threads: any; one at a time per struct.
 */
#ifndef NTK_EXPORTERS_KUBERNETES_NODE_CONDITION_H
#define NTK_EXPORTERS_KUBERNETES_NODE_CONDITION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_NODE_CONDITION_TYPE "NeuronHealth"
#define NTK_NODE_CONDITION_MESSAGE_BYTES 1025 /* as others bound it, with its end */

struct ntk_node_condition {
    const char *status; /* "True", "False" or "Unknown" */
    char reason[96];
    char message[NTK_NODE_CONDITION_MESSAGE_BYTES];
};

void ntk_node_condition_make(const struct ntk_snapshot *snapshot, struct ntk_node_condition *out);
bool ntk_node_condition_is_same(const struct ntk_node_condition *a,
                                const struct ntk_node_condition *b);

/* The body of PATCH /api/v1/nodes/NAME/status, a strategic merge. The time of the transition is
 * only said if there is one: else the server's stays. */
void ntk_node_condition_write_patch(const struct ntk_node_condition *condition, uint64_t now_ns,
                                    bool is_transition, struct ntk_buf *out);
/* The body of POST /api/v1/namespaces/default/events. */
void ntk_node_condition_write_event(const struct ntk_node_condition *condition, const char *node,
                                    uint64_t now_ns, struct ntk_buf *out);
/* The status that a Node object has of our condition; NULL: none that could be ours. Borrowed
 * from a table. */
const char *ntk_node_condition_read_status(json_t *node);

#ifdef __cplusplus
}
#endif
#endif
