/* SPDX-License-Identifier: MIT */
/* device_taint - compares existing and required rules. */
#include "exporters/kubernetes/device_taint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/json.h"
#include "shared/base/str.h"

#define ANNOTATION "neuron-monitor/node"

void ntk_device_verdicts_make(const struct ntk_snapshot *snapshot, struct ntk_device_verdicts *out)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < snapshot->device_count && out->count < NTK_TOPOLOGY_DEVICES_MAX; i++) {
        const struct ntk_device_sample *device = &snapshot->devices[i];
        const struct ntk_health_sample *worst;
        enum ntk_health_verdict verdict = ntk_health_driver_verdict(device, &worst);

        out->rows[out->count].index = device->index;
        out->rows[out->count].verdict = verdict;
        out->rows[out->count].reason = worst && verdict == NTK_HEALTH_UNHEALTHY
                                           ? (enum ntk_health_reason)worst->reason
                                           : (enum ntk_health_reason)0;
        out->count++;
    }
}

bool ntk_device_verdicts_are_same(const struct ntk_device_verdicts *a,
                                  const struct ntk_device_verdicts *b)
{
    return a->count == b->count && memcmp(a->rows, b->rows, a->count * sizeof *a->rows) == 0;
}

int ntk_taint_plan_init(struct ntk_taint_plan *plan, struct ntk_err *err)
{
    plan->count = 0;
    plan->rules = calloc(NTK_DEVICE_TAINT_RULES_MAX, sizeof *plan->rules);
    return plan->rules ? 0 : ntk_err_no_memory(err);
}

void ntk_taint_plan_fini(struct ntk_taint_plan *plan)
{
    free(plan->rules);
    memset(plan, 0, sizeof *plan);
}

/* -- documents --------------------------------------------------------------------------------- */

static const char *text_of(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* Copies a valid name; any other name stays empty. */
static void take_name(char to[NTK_KUBE_NAME_BYTES], const char *from)
{
    if (!ntk_str_copy(to, NTK_KUBE_NAME_BYTES, from)) {
        to[0] = '\0';
    }
}

bool ntk_taint_has_resource(json_t *resources, const char *name)
{
    json_t *row;
    size_t i;

    json_array_foreach(json_object_get(resources, "resources"), i, row)
    {
        if (strcmp(text_of(row, "name"), name) == 0) {
            return true;
        }
    }
    return false;
}

/* Adds the existing rules of the agent, each to be deleted unless a device needs it. */
static void add_rules(struct ntk_taint_plan *plan, json_t *list, const char *node)
{
    json_t *item;
    size_t i;

    json_array_foreach(json_object_get(list, "items"), i, item)
    {
        struct ntk_taint_rule *rule = &plan->rules[plan->count];
        json_t *meta = json_object_get(item, "metadata");
        json_t *spec = json_object_get(item, "spec");
        json_t *selector = json_object_get(spec, "deviceSelector");
        json_t *taint = json_object_get(spec, "taint");

        if (plan->count == NTK_DEVICE_TAINT_RULES_MAX) {
            return;
        }
        if (!ntk_kube_is_name(text_of(meta, "name")) ||
            strcmp(text_of(json_object_get(meta, "labels"), NTK_DEVICE_TAINT_LABEL),
                   NTK_DEVICE_TAINT_OWNER) != 0 ||
            strcmp(text_of(json_object_get(meta, "annotations"), ANNOTATION), node) != 0) {
            continue;
        }
        memset(rule, 0, sizeof *rule);
        rule->step = NTK_TAINT_DELETE;
        take_name(rule->name, text_of(meta, "name"));
        take_name(rule->pool, text_of(selector, "pool"));
        take_name(rule->device, text_of(selector, "device"));
        (void)ntk_str_copy(rule->value, sizeof rule->value, text_of(taint, "value"));
        (void)ntk_str_copy(rule->effect, sizeof rule->effect, text_of(taint, "effect"));
        plan->count++;
    }
}

/* Returns the driver's number of a device in a slice; -1 if none. */
static int64_t device_id(json_t *device)
{
    json_t *basic = json_object_get(device, "basic"); /* up to v1beta1 */
    json_t *attributes = json_object_get(basic ? basic : device, "attributes");
    json_t *id = json_object_get(attributes, "deviceId");

    id = id ? id : json_object_get(attributes, NTK_DEVICE_TAINT_DRIVER "/deviceId");
    json_t *number = json_object_get(id, "int");
    return json_is_integer(number) && json_integer_value(number) >= 0 ? json_integer_value(number)
                                                                      : -1;
}

/* -- the plan ---------------------------------------------------------------------------------- */

static struct ntk_taint_rule *find_rule(struct ntk_taint_plan *plan, const char *pool,
                                        const char *device)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (strcmp(plan->rules[i].pool, pool) == 0 && strcmp(plan->rules[i].device, device) == 0) {
            return &plan->rules[i];
        }
    }
    return NULL;
}

/* Adds a rule with a name derived from its device, so that the name is unique. NULL if there are
 * too many, or if no name is valid. */
static struct ntk_taint_rule *add_rule(struct ntk_taint_plan *plan, const char *pool,
                                       const char *device)
{
    struct ntk_taint_rule *rule = &plan->rules[plan->count];

    /* A selector without a name would match all devices. */
    if (plan->count == NTK_DEVICE_TAINT_RULES_MAX || !pool[0] || !device[0]) {
        return NULL;
    }
    memset(rule, 0, sizeof *rule);
    int length =
        snprintf(rule->name, sizeof rule->name, NTK_DEVICE_TAINT_OWNER "-%s-%s", pool, device);
    for (char *c = rule->name; *c; c++) {
        *c = *c == '/' ? '.' : *c; /* pools may have a name with several parts */
    }
    if (length < 0 || (size_t)length >= sizeof rule->name || !ntk_kube_is_name(rule->name)) {
        return NULL;
    }
    take_name(rule->pool, pool);
    take_name(rule->device, device);
    plan->count++;
    return rule;
}

static void judge_device(struct ntk_taint_plan *plan, const char *pool, const char *device,
                         enum ntk_health_verdict verdict, enum ntk_health_reason reason,
                         const struct ntk_taint_options *options)
{
    struct ntk_taint_rule *rule = find_rule(plan, pool, device);
    const char *value = ntk_health_reasons[reason].name;

    if (verdict == NTK_HEALTH_HEALTHY) {
        return; /* the existing rule is deleted */
    }
    if (verdict == NTK_HEALTH_UNKNOWN) {
        if (rule) {
            rule->step = NTK_TAINT_KEEP;
        }
        return;
    }
    if (rule) {
        bool is_right =
            strcmp(rule->value, value) == 0 && strcmp(rule->effect, options->effect) == 0;

        rule->step = is_right ? NTK_TAINT_KEEP : NTK_TAINT_CHANGE;
    } else if ((rule = add_rule(plan, pool, device))) {
        rule->step = NTK_TAINT_CREATE;
    }
    if (rule) {
        (void)ntk_str_copy(rule->value, sizeof rule->value, value);
        (void)ntk_str_copy(rule->effect, sizeof rule->effect, options->effect);
    }
}

size_t ntk_taint_plan_make(struct ntk_taint_plan *plan, json_t *rules, json_t *slices,
                           const struct ntk_device_verdicts *verdicts,
                           const struct ntk_taint_options *options)
{
    size_t recognised = 0;
    json_t *slice;
    json_t *device;
    size_t i;
    size_t k;

    plan->count = 0;
    add_rules(plan, rules, options->node);
    json_array_foreach(json_object_get(slices, "items"), i, slice)
    {
        json_t *spec = json_object_get(slice, "spec");
        const char *pool = text_of(json_object_get(spec, "pool"), "name");

        if (strcmp(text_of(spec, "driver"), NTK_DEVICE_TAINT_DRIVER) != 0 ||
            strcmp(text_of(spec, "nodeName"), options->node) != 0) {
            continue;
        }
        json_array_foreach(json_object_get(spec, "devices"), k, device)
        {
            int64_t id = device_id(device);
            /* unknown for a device that is not visible here */
            enum ntk_health_verdict verdict = NTK_HEALTH_UNKNOWN;
            enum ntk_health_reason reason = (enum ntk_health_reason)0;

            for (size_t row = 0; row < verdicts->count; row++) {
                if (verdicts->rows[row].index == id) {
                    verdict = verdicts->rows[row].verdict;
                    reason = verdicts->rows[row].reason;
                }
            }
            recognised += id >= 0;
            judge_device(plan, pool, text_of(device, "name"), verdict, reason, options);
        }
    }
    /* Without any device, for example while a driver is loaded, no rule may be deleted. */
    for (size_t row = 0; row < plan->count && recognised == 0; row++) {
        plan->rules[row].step = NTK_TAINT_KEEP;
    }
    return recognised;
}

/* -- bodies ------------------------------------------------------------------------------------ */

static void write_taint(struct ntk_json *json, const struct ntk_taint_rule *rule,
                        const struct ntk_taint_options *options)
{
    ntk_json_key_object_begin(json, "taint");
    ntk_json_key_text(json, "key", options->key);
    ntk_json_key_text(json, "value", rule->value);
    ntk_json_key_text(json, "effect", rule->effect);
    ntk_json_object_end(json);
}

void ntk_taint_rule_write(const struct ntk_taint_rule *rule, const char *version,
                          const struct ntk_taint_options *options, struct ntk_buf *out)
{
    char api_version[64];
    struct ntk_json json;

    (void)snprintf(api_version, sizeof api_version, "resource.k8s.io/%s", version);
    ntk_json_init(&json, out, false);
    ntk_json_object_begin(&json);
    ntk_json_key_text(&json, "apiVersion", api_version);
    ntk_json_key_text(&json, "kind", "DeviceTaintRule");
    ntk_json_key_object_begin(&json, "metadata");
    ntk_json_key_text(&json, "name", rule->name);
    ntk_json_key_object_begin(&json, "labels");
    ntk_json_key_text(&json, NTK_DEVICE_TAINT_LABEL, NTK_DEVICE_TAINT_OWNER);
    ntk_json_object_end(&json);
    ntk_json_key_object_begin(&json, "annotations");
    ntk_json_key_text(&json, ANNOTATION, options->node);
    ntk_json_object_end(&json);
    ntk_json_object_end(&json);
    ntk_json_key_object_begin(&json, "spec");
    ntk_json_key_object_begin(&json, "deviceSelector");
    ntk_json_key_text(&json, "driver", NTK_DEVICE_TAINT_DRIVER);
    ntk_json_key_text(&json, "pool", rule->pool);
    ntk_json_key_text(&json, "device", rule->device);
    ntk_json_object_end(&json);
    write_taint(&json, rule, options);
    ntk_json_object_end(&json);
    ntk_json_object_end(&json);
}

void ntk_taint_rule_write_patch(const struct ntk_taint_rule *rule,
                                const struct ntk_taint_options *options, struct ntk_buf *out)
{
    struct ntk_json json;

    ntk_json_init(&json, out, false);
    ntk_json_object_begin(&json);
    ntk_json_key_object_begin(&json, "spec");
    write_taint(&json, rule, options);
    ntk_json_object_end(&json);
    ntk_json_object_end(&json);
}
