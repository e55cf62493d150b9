/* SPDX-License-Identifier: MIT */
/* node_condition - writes a verdict in the form of Kubernetes. */
#include "exporters/kubernetes/node_condition.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/json.h"
#include "shared/base/str.h"
#include "shared/base/timestamp.h"
#include "shared/metrics/health.h"

/* Indexed by enum ntk_health_verdict. */
static const struct {
    const char *status;
    const char *reason; /* used if no device has a reason */
} statuses[NTK_HEALTH_VERDICT_COUNT] = {
    [NTK_HEALTH_HEALTHY] = { "False", "NeuronHasNoError" },
    [NTK_HEALTH_UNKNOWN] = { "Unknown", "NeuronHealthIsUnknown" },
    [NTK_HEALTH_UNHEALTHY] = { "True", "NeuronHasError" },
};

/* Names of faults in the vendor's detector. */
static const struct {
    enum ntk_health_reason reason;
    const char *code;
} vendor_codes[] = {
    { NTK_HEALTH_REASON_HBM_UNCORRECTABLE, "HBM_UNCORRECTABLE_ERROR" },
    { NTK_HEALTH_REASON_SRAM_UNCORRECTABLE, "SRAM_UNCORRECTABLE_ERROR" },
    { NTK_HEALTH_REASON_DMA_ABORT, "DMA_ERROR" },
    { NTK_HEALTH_REASON_COLLECTIVES_HANG, "HANG_ON_COLLECTIVES" },
};

static void set_reason(struct ntk_node_condition *out, enum ntk_health_reason reason)
{
    for (size_t i = 0; i < sizeof vendor_codes / sizeof *vendor_codes; i++) {
        if (vendor_codes[i].reason == reason) {
            (void)snprintf(out->reason, sizeof out->reason, "NeuronHasError_%s",
                           vendor_codes[i].code);
            return;
        }
    }
    (void)snprintf(out->reason, sizeof out->reason, "NeuronHasError_%s",
                   ntk_health_reasons[reason].name);
    for (char *c = strchr(out->reason, '_'); *c; c++) {
        *c = (char)toupper((unsigned char)*c);
    }
}

/* Adds a device with this verdict and reason. */
static void add_device(struct ntk_node_condition *out, const struct ntk_device_sample *device,
                       const struct ntk_health_sample *health)
{
    size_t used = strlen(out->message);
    char text[NTK_HEALTH_SENTENCE_BYTES];

    if (!health) {
        return;
    }
    ntk_health_reason_format(device->index, health->reason, text, sizeof text);
    if (used + 2 + strlen(text) < sizeof out->message) {
        (void)snprintf(out->message + used, sizeof out->message - used, "%s%s", used ? "; " : "",
                       text);
    }
}

void ntk_node_condition_make(const struct ntk_snapshot *snapshot, struct ntk_node_condition *out)
{
    struct ntk_health_node node = { 0 };
    const struct ntk_health_sample *worst = NULL;

    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < snapshot->device_count; i++) {
        const struct ntk_health_sample *health;

        ntk_health_node_add(&node, ntk_health_driver_verdict(&snapshot->devices[i], &health));
    }
    if (!node.is_known) {
        node.verdict = NTK_HEALTH_UNKNOWN;
        ntk_str_copy(out->message, sizeof out->message, "no Neuron devices");
    }
    for (size_t i = 0; i < snapshot->device_count && node.verdict != NTK_HEALTH_HEALTHY; i++) {
        const struct ntk_device_sample *device = &snapshot->devices[i];
        const struct ntk_health_sample *health;

        if (ntk_health_driver_verdict(device, &health) == node.verdict) {
            add_device(out, device, health);
            worst = worst ? worst : health;
        }
    }
    out->status = statuses[node.verdict].status;
    ntk_str_copy(out->reason, sizeof out->reason, statuses[node.verdict].reason);
    if (node.verdict == NTK_HEALTH_UNHEALTHY && worst) {
        set_reason(out, worst->reason);
    }
    if (!out->message[0]) {
        ntk_str_copy(out->message, sizeof out->message,
                     node.verdict == NTK_HEALTH_HEALTHY ? "no Neuron errors"
                                                        : "a device has no verdict yet");
    }
}

bool ntk_node_condition_is_same(const struct ntk_node_condition *a,
                                const struct ntk_node_condition *b)
{
    return a->status == b->status && strcmp(a->reason, b->reason) == 0 &&
           strcmp(a->message, b->message) == 0;
}

/* Adds a time in whole seconds, as in conditions and events of Kubernetes. */
static void add_time(struct ntk_json *json, const char *key, uint64_t ns)
{
    char text[NTK_TIMESTAMP_BYTES];

    ntk_timestamp_format(ns - ns % UINT64_C(1000000000), text, sizeof text);
    ntk_json_key_text(json, key, text);
}

void ntk_node_condition_write_patch(const struct ntk_node_condition *condition, uint64_t now_ns,
                                    bool is_transition, struct ntk_buf *out)
{
    struct ntk_json json;

    ntk_json_init(&json, out, false);
    ntk_json_object_begin(&json);
    ntk_json_key_object_begin(&json, "status");
    ntk_json_key_array_begin(&json, "conditions");
    ntk_json_object_begin(&json);
    ntk_json_key_text(&json, "type", NTK_NODE_CONDITION_TYPE);
    ntk_json_key_text(&json, "status", condition->status);
    add_time(&json, "lastHeartbeatTime", now_ns);
    if (is_transition) {
        add_time(&json, "lastTransitionTime", now_ns);
    }
    ntk_json_key_text(&json, "reason", condition->reason);
    ntk_json_key_text(&json, "message", condition->message);
    ntk_json_object_end(&json);
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    ntk_json_object_end(&json);
}

void ntk_node_condition_write_event(const struct ntk_node_condition *condition, const char *node,
                                    uint64_t now_ns, struct ntk_buf *out)
{
    struct ntk_json json;
    char name[512];

    (void)snprintf(name, sizeof name, "%.236s.%llx", node, (unsigned long long)now_ns);
    ntk_json_init(&json, out, false);
    ntk_json_object_begin(&json);
    ntk_json_key_text(&json, "apiVersion", "v1");
    ntk_json_key_text(&json, "kind", "Event");
    ntk_json_key_object_begin(&json, "metadata");
    ntk_json_key_text(&json, "name", name);
    ntk_json_key_text(&json, "namespace", "default");
    ntk_json_object_end(&json);
    ntk_json_key_object_begin(&json, "involvedObject");
    ntk_json_key_text(&json, "kind", "Node");
    ntk_json_key_text(&json, "name", node);
    /* same value as from the kubelet; kubectl describe selects by it */
    ntk_json_key_text(&json, "uid", node);
    ntk_json_object_end(&json);
    ntk_json_key_text(&json, "type",
                      condition->status == statuses[NTK_HEALTH_HEALTHY].status ? "Normal"
                                                                               : "Warning");
    ntk_json_key_text(&json, "reason", condition->reason);
    ntk_json_key_text(&json, "message", condition->message);
    ntk_json_key_object_begin(&json, "source");
    ntk_json_key_text(&json, "component", "neuron-monitor");
    ntk_json_key_text(&json, "host", node);
    ntk_json_object_end(&json);
    add_time(&json, "firstTimestamp", now_ns);
    add_time(&json, "lastTimestamp", now_ns);
    ntk_json_key_u64(&json, "count", 1);
    ntk_json_object_end(&json);
}

const char *ntk_node_condition_read_status(json_t *node)
{
    json_t *conditions = json_object_get(json_object_get(node, "status"), "conditions");
    json_t *condition;
    size_t i;

    json_array_foreach(conditions, i, condition)
    {
        const char *type = json_string_value(json_object_get(condition, "type"));
        const char *status = json_string_value(json_object_get(condition, "status"));

        if (!type || !status || strcmp(type, NTK_NODE_CONDITION_TYPE) != 0) {
            continue;
        }
        for (size_t k = 0; k < NTK_HEALTH_VERDICT_COUNT; k++) {
            if (strcmp(statuses[k].status, status) == 0) {
                return statuses[k].status;
            }
        }
    }
    return NULL;
}
