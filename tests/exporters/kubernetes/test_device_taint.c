/* SPDX-License-Identifier: MIT */
/* Which rules are created, changed, kept and deleted. Method: lists as a server returns them, with
 * verdicts. */
#include "exporters/kubernetes/device_taint.h"

#include <string.h>

#include "tests/support/unit.h"

#define RULE(name, device, value, effect)                                                     \
    "{\"metadata\":{\"name\":\"" name "\",\"labels\":{\"app.kubernetes.io/managed-by\":"      \
    "\"neuron-monitor\"},\"annotations\":{\"neuron-monitor/node\":\"n1\"}},\"spec\":"         \
    "{\"deviceSelector\":{\"driver\":\"neuron.aws.com\",\"pool\":\"n1\",\"device\":\"" device \
    "\"},\"taint\":{\"key\":\"k/v\",\"value\":\"" value "\",\"effect\":\"" effect             \
    "\",\"timeAdded\":\"2026-01-01T00:00:00Z\"}}}"
#define DEVICE(name, id) "{\"name\":\"" name "\",\"attributes\":{\"deviceId\":{\"int\":" id "}}}"
#define SLICE(driver, node, pool, devices)                                                      \
    "{\"spec\":{\"driver\":\"" driver "\",\"nodeName\":\"" node "\",\"pool\":{\"name\":\"" pool \
    "\"},\"devices\":[" devices "]}}"
#define LIST(items) "{\"items\":[" items "]}"

static const struct ntk_taint_options options = { "n1", "k/v", "NoSchedule" };

/* One letter and the name of each rule: K(eep), C(reate), P(atch), D(elete). */
static size_t plan(const char *rules_text, const char *slices_text,
                   const struct ntk_device_verdicts *verdicts, char *out, size_t out_bytes)
{
    json_t *rules = json_loads(rules_text, 0, NULL);
    json_t *slices = json_loads(slices_text, 0, NULL);
    struct ntk_taint_plan made;

    assert_non_null(rules);
    assert_non_null(slices);
    assert_int_equal(ntk_taint_plan_init(&made, NULL), 0);
    size_t recognised = ntk_taint_plan_make(&made, rules, slices, verdicts, &options);
    out[0] = '\0';
    for (size_t i = 0; i < made.count; i++) {
        size_t used = strlen(out);

        (void)snprintf(out + used, out_bytes - used, "%s%c:%s=%s", used ? " " : "",
                       "KCPD"[made.rules[i].step], made.rules[i].name, made.rules[i].value);
    }
    ntk_taint_plan_fini(&made);
    json_decref(rules);
    json_decref(slices);
    return recognised;
}

static void an_unhealthy_device_gets_a_taint_rule_until_it_is_healthy(void **state)
{
    const struct ntk_device_verdicts verdicts = {
        .count = 4,
        .rows = { { 0, NTK_HEALTH_UNHEALTHY, NTK_HEALTH_REASON_DMA_ABORT },
                  { 1, NTK_HEALTH_HEALTHY, 0 },
                  { 2, NTK_HEALTH_UNHEALTHY, NTK_HEALTH_REASON_DMA_ABORT },
                  { 3, NTK_HEALTH_UNKNOWN, 0 } }
    };
    char said[512];

    (void)state;
    size_t recognised = plan(
        LIST(RULE("r1", "d1", "dma_abort", "NoSchedule") "," RULE(
            "r2", "d2", "hbm_uncorrectable",
            "NoSchedule") "," RULE("r3", "d3", "dma_abort",
                                   "NoSchedule") "," RULE("gone", "d9", "dma_abort", "NoSchedule")),
        LIST(SLICE(
            "neuron.aws.com", "n1", "n1",
            DEVICE("d0", "0") "," DEVICE("d1", "1") "," DEVICE("d2", "2") "," DEVICE("d3", "3"))),
        &verdicts, said, sizeof said);
    assert_int_equal(recognised, 4);
    assert_string_equal(said, "D:r1=dma_abort P:r2=dma_abort K:r3=dma_abort D:gone=dma_abort "
                              "C:neuron-monitor-n1-d0=dma_abort");
}

static void a_correct_taint_rule_is_kept(void **state)
{
    const struct ntk_device_verdicts verdicts = {
        .count = 1, .rows = { { 0, NTK_HEALTH_UNHEALTHY, NTK_HEALTH_REASON_DMA_ABORT } }
    };
    char said[256];

    (void)state;
    plan(LIST(RULE("r", "d0", "dma_abort", "NoSchedule")),
         LIST(SLICE("neuron.aws.com", "n1", "n1", DEVICE("d0", "0"))), &verdicts, said,
         sizeof said);
    assert_string_equal(said, "K:r=dma_abort");
    plan(LIST(RULE("r", "d0", "dma_abort", "NoExecute")),
         LIST(SLICE("neuron.aws.com", "n1", "n1", DEVICE("d0", "0"))), &verdicts, said,
         sizeof said);
    assert_string_equal(said, "P:r=dma_abort");
}

static void slices_of_other_drivers_nodes_or_unnumbered_devices_are_ignored(void **state)
{
    const struct ntk_device_verdicts verdicts = {
        .count = 1, .rows = { { 0, NTK_HEALTH_UNHEALTHY, NTK_HEALTH_REASON_DMA_ABORT } }
    };
    char said[256];

    (void)state;
    size_t recognised =
        plan(LIST("{\"metadata\":{\"name\":\"by-hand\"},\"spec\":{}}"),
             LIST(SLICE("gpu.example.com", "n1", "n1", DEVICE("g0", "0")) "," SLICE(
                 "neuron.aws.com", "n2", "n2",
                 DEVICE("d0", "0")) "," SLICE("neuron.aws.com", "n1", "n1", "{\"name\":\"d0\"}")),
             &verdicts, said, sizeof said);
    assert_int_equal(recognised, 0);
    assert_string_equal(said, "");
}

/* A driver that is loading publishes nothing; that is not a report about any device. */
static void taint_rules_are_kept_while_no_devices_are_published(void **state)
{
    const struct ntk_device_verdicts verdicts = { .count = 1,
                                                  .rows = { { 0, NTK_HEALTH_HEALTHY, 0 } } };
    char said[256];

    (void)state;
    plan(LIST(RULE("r", "d0", "dma_abort", "NoSchedule")), LIST(""), &verdicts, said, sizeof said);
    assert_string_equal(said, "K:r=dma_abort");
}

static void old_resource_slices_and_partitioned_pools_are_read(void **state)
{
    const struct ntk_device_verdicts verdicts = {
        .count = 1, .rows = { { 5, NTK_HEALTH_UNHEALTHY, NTK_HEALTH_REASON_DMA_ABORT } }
    };
    char said[256];

    (void)state;
    plan(LIST(""),
         LIST(SLICE("neuron.aws.com", "n1", "n1/trn",
                    "{\"name\":\"d5\",\"basic\":{\"attributes\":{\"neuron.aws.com/deviceId\":"
                    "{\"int\":5}}}}")),
         &verdicts, said, sizeof said);
    assert_string_equal(said, "C:neuron-monitor-n1.trn-d5=dma_abort");
}

static void a_taint_rule_selects_exactly_one_device(void **state)
{
    struct ntk_taint_rule rule = {
        .name = "r", .pool = "n1", .device = "d0", .value = "dma_abort", .effect = "NoSchedule"
    };
    struct ntk_buf body = { 0 };

    (void)state;
    ntk_taint_rule_write(&rule, "v1beta2", &options, &body);
    assert_string_equal(
        ntk_buf_text_get(&body),
        "{\"apiVersion\":\"resource.k8s.io/v1beta2\",\"kind\":\"DeviceTaintRule\",\"metadata\":"
        "{\"name\":\"r\",\"labels\":{\"app.kubernetes.io/managed-by\":\"neuron-monitor\"},"
        "\"annotations\":{\"neuron-monitor/node\":\"n1\"}},\"spec\":{\"deviceSelector\":"
        "{\"driver\":\"neuron.aws.com\",\"pool\":\"n1\",\"device\":\"d0\"},\"taint\":{\"key\":"
        "\"k/v\",\"value\":\"dma_abort\",\"effect\":\"NoSchedule\"}}}");
    ntk_buf_fini(&body);
}

static void a_fault_reported_only_by_a_process_taints_no_device(void **state)
{
    struct ntk_health_sample health[] = { { .reason = NTK_HEALTH_REASON_CORE_DEAD },
                                          { .reason = NTK_HEALTH_REASON_DMA_ABORT } };
    struct ntk_device_sample devices[] = {
        { .has = NTK_DEVICE_HAS_HEALTH,
          .verdict = NTK_HEALTH_UNHEALTHY,
          .health = health,
          .health_count = 1 },
        { .has = NTK_DEVICE_HAS_HEALTH,
          .index = 1,
          .verdict = NTK_HEALTH_UNHEALTHY,
          .health = health,
          .health_count = 2 },
    };
    const struct ntk_snapshot snapshot = { .devices = devices, .device_count = 2 };
    struct ntk_device_verdicts verdicts;

    ntk_device_verdicts_make(&snapshot, &verdicts);
    assert_int_equal(verdicts.rows[0].verdict, NTK_HEALTH_HEALTHY);
    assert_int_equal(verdicts.rows[1].verdict, NTK_HEALTH_UNHEALTHY);
    assert_int_equal(verdicts.rows[1].reason, NTK_HEALTH_REASON_DMA_ABORT);
}

static void only_valid_kubernetes_names_are_used_in_paths(void **state)
{
    (void)state;
    assert_true(ntk_kube_is_name("ip-10-0-0-1.ec2.internal"));
    assert_false(ntk_kube_is_name(""));
    assert_false(ntk_kube_is_name("../x"));
    assert_false(ntk_kube_is_name("a/b"));
    assert_false(ntk_kube_is_name("a?b"));
    assert_false(ntk_kube_is_name("Node"));
    assert_false(ntk_kube_is_name("a-"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unhealthy_device_gets_a_taint_rule_until_it_is_healthy),
        cmocka_unit_test(a_correct_taint_rule_is_kept),
        cmocka_unit_test(slices_of_other_drivers_nodes_or_unnumbered_devices_are_ignored),
        cmocka_unit_test(taint_rules_are_kept_while_no_devices_are_published),
        cmocka_unit_test(old_resource_slices_and_partitioned_pools_are_read),
        cmocka_unit_test(a_fault_reported_only_by_a_process_taints_no_device),
        cmocka_unit_test(a_taint_rule_selects_exactly_one_device),
        cmocka_unit_test(only_valid_kubernetes_names_are_used_in_paths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
