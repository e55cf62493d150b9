/* SPDX-License-Identifier: MIT */
/* Any document as an API server's response about a node, its devices and the existing rules: every
 * planned change is about our own rules, with names that are valid in a path. The document's
 * "rules" and "slices" are the two lists. */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/kubernetes/device_taint.h"
#include "exporters/kubernetes/node_condition.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct ntk_taint_options options = { .node = "n", .key = "k/v", .effect = "NoSchedule" };
    const struct ntk_device_verdicts verdicts = { .count = 3,
                                                  .rows = { { 0, NTK_HEALTH_UNHEALTHY, 0 },
                                                            { 1, NTK_HEALTH_UNKNOWN, 0 },
                                                            { 2, NTK_HEALTH_HEALTHY, 0 } } };
    json_t *root = json_loadb((const char *)data, size, 0, NULL);
    struct ntk_taint_plan plan = { 0 };
    struct ntk_buf body = { 0 };

    (void)ntk_node_condition_read_status(root);
    (void)ntk_taint_has_resource(root, "devicetaintrules");
    if (ntk_taint_plan_init(&plan, NULL) == 0) {
        (void)ntk_taint_plan_make(&plan, json_object_get(root, "rules"),
                                  json_object_get(root, "slices"), &verdicts, &options);
        for (size_t i = 0; i < plan.count; i++) {
            const struct ntk_taint_rule *rule = &plan.rules[i];

            ntk_buf_reset(&body);
            ntk_taint_rule_write(rule, "v1", &options, &body);
            if (!ntk_kube_is_name(rule->name) ||
                (rule->step == NTK_TAINT_CREATE && (!rule->pool[0] || !rule->device[0]))) {
                abort();
            }
        }
    }
    ntk_buf_fini(&body);
    ntk_taint_plan_fini(&plan);
    json_decref(root);
    return 0;
}
