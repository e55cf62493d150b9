/* SPDX-License-Identifier: MIT */
/*
 * node_condition - writes the health of a machine as a condition of its Kubernetes node, and as an
 * event when it changes.
 *
 * As in node-problem-detector, True is a problem. Reasons are the vendor's names of faults if they
 * exist (NeuronHasError_HBM_UNCORRECTABLE_ERROR), else names with the same pattern; the message has
 * each device, its reason and an advice.
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
#define NTK_NODE_CONDITION_MESSAGE_BYTES 1025 /* the usual limit plus terminator */

struct ntk_node_condition {
    const char *status; /* "True", "False" or "Unknown" */
    char reason[96];
    char message[NTK_NODE_CONDITION_MESSAGE_BYTES];
};

void ntk_node_condition_make(const struct ntk_snapshot *snapshot, struct ntk_node_condition *out);
bool ntk_node_condition_is_same(const struct ntk_node_condition *a,
                                const struct ntk_node_condition *b);

/* Writes the body of PATCH /api/v1/nodes/NAME/status, a strategic merge. It has a transition time
 * only after a transition; otherwise the server keeps the old time. */
void ntk_node_condition_write_patch(const struct ntk_node_condition *condition, uint64_t now_ns,
                                    bool is_transition, struct ntk_buf *out);
/* Writes the body of POST /api/v1/namespaces/default/events. */
void ntk_node_condition_write_event(const struct ntk_node_condition *condition, const char *node,
                                    uint64_t now_ns, struct ntk_buf *out);
/* Returns the status of the agent's condition in a Node object; NULL if none. Borrowed from a
 * table. */
const char *ntk_node_condition_read_status(json_t *node);

#ifdef __cplusplus
}
#endif
#endif
